// SPDX-License-Identifier: Apache-2.0
// Controls of the OpenCL library without a device that fails on request (fault_opencl.c).
#ifndef SMR_TESTS_BACKENDS_FAULT_OPENCL_H
#define SMR_TESTS_BACKENDS_FAULT_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/opencl/cl.h"
#include "base/os.h"

/// Computes a launch from the kernel's arguments. Unused buffers are NULL; offsets are added to the
/// others.
typedef void (*fault_kernel_fn)(const char *name, unsigned char **buffers, const int32_t *ints,
                                const float *floats, uint32_t dims, const size_t *items);

enum fault_kind {
  FAULT_ERROR,  // call `at` fails with `code`
  FAULT_LOST,   // it and all after it do
  FAULT_LIE,    // it does nothing and reports success
};

/// Kernels that read weights from images, or those that do not.
enum fault_slow { FAULT_SLOW_IMAGES = 1, FAULT_SLOW_BUFFERS };

/// Called with the source of every program.
typedef void (*fault_source_fn)(const char *text, size_t size);

struct fault_opencl {
  long at;  // of calls, from 0; negative: none
  int kind;
  int32_t code;
  long calls;           // so far
  long live;            // objects
  long misuse;          // handles of no object, or of another kind
  uint64_t max_alloc;   // bytes of one buffer
  int lag;              // an event is seen as not done that many times
  int32_t event_error;  // of the next command, when it is done; 0: none
  long builds;          // of sources
  long binaries;        // that were accepted
  long enqueued;        // kernels
  long images;          // made
  uint64_t texels;      // of the largest image; 0: the device has no images
  bool no_images;       // reports images, and refuses each
  bool refuse_texels;   // its compiler lacks images
  int slow;             // launches that take long: FAULT_SLOW_IMAGES, FAULT_SLOW_BUFFERS
  int deaf;             // the device never finishes an event that is asked for
  const char *version;  // of the device
  uint64_t kinds;       // of the device, which is the only one; 0: a CPU, beside an old GPU
  const char *extensions;
  uint32_t numeric_version;  // 0: the device does not say
  uint32_t subgroups;        // of a work-group; 0: there are none
  size_t group;              // items of a work-group, at most
  bool grouped;              // the last launch set the group size
  const char *refused;       // sources with this are not compiled; NULL: those with #error
  char options[128];         // of the last build
  fault_kernel_fn kernel;
  fault_source_fn source;  // may be NULL
};

/// The name of the exported function that returns the controls.
#define FAULT_OPENCL_ENTRY "fault_opencl"

/// Load the library and have drivers load it from now on. NULL, with a message, where that fails;
/// else smr_os_library_close(*library) ends it.
static inline struct fault_opencl *fault_opencl_load(const char *path, void **library) {
  setenv("SAMARA_OPENCL", path, 1);
  *library = smr_os_library_open(path);
  if (*library == NULL) {
    fprintf(stderr, "cannot load %s\n", path);
    return NULL;
  }
  const smr_os_function entry = smr_os_library_function(*library, FAULT_OPENCL_ENTRY);
  return ((struct fault_opencl * (*)(void)) entry)();
}

/// Nothing fails any more. Objects that are alive stay counted.
static inline void fault_opencl_reset(struct fault_opencl *faults, fault_kernel_fn kernel) {
  *faults = (struct fault_opencl){.at = -1,
                                  .code = SMR_CL_OUT_OF_HOST_MEMORY,
                                  .live = faults->live,
                                  .max_alloc = 1 << 20,
                                  .group = 64,
                                  .version = "OpenCL 1.2 fault",
                                  .extensions = "cl_khr_fp16 cl_khr_fp64x",
                                  .kernel = kernel};
}

#endif
