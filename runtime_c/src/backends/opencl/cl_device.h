// SPDX-License-Identifier: Apache-2.0
// A device of OpenCL as the files of the driver share it: cl_find.c finds it, driver_opencl.c
// opens it and runs work, cl_program.c makes programs and launches ready.
#ifndef SMR_BACKENDS_OPENCL_CL_DEVICE_H
#define SMR_BACKENDS_OPENCL_CL_DEVICE_H

#include "backends/opencl/cl.h"
#include "backends/opencl/driver.h"

enum {
  SMR_CL_EVENTS = 256,         // tickets that may be under way; one more waits for the oldest
  SMR_CL_MAX_TEXT = 64 * 1024  // bytes believed of a text that a driver gives
};

/// Work that was begun, and the event that says when it is done.
struct smr_cl_pending {
  uint64_t ticket;
  smr_cl_event event;
};

struct smr_cl_unit;

struct smr_cl_device {
  struct smr_cl_api api;
  samara_allocator allocator;
  samara_log_fn log;
  void *log_user;
  smr_cl_platform_id platform;
  smr_cl_device_id id;
  smr_cl_context context;
  smr_cl_queue queue;
  uint64_t max_memory;
  const char *options[2];            // for its compiler: of most kernels, of those with subgroups
  struct smr_cl_features *features;  // of whoever opened it
  char *name, *version, *platform_version, *cache_folder;  // cache_folder: NULL where none is kept

  struct smr_os_mutex units_mutex;  // of units
  struct smr_cl_unit *units;        // kernels that are compiled
  struct smr_os_mutex mutex;        // of all below, and of what is begun in the queue
  uint64_t last_ticket, done_ticket;
  struct smr_cl_pending pending[SMR_CL_EVENTS];  // in order; the oldest first
  size_t pending_count;
  uint64_t releases;  // of memory: a later handle may be equal to one that was released
  bool unflushed;     // begun, but the driver may sit on it
  bool untracked;     // work was begun that no ticket stands for
  bool failed;        // work failed: what memory holds is not known any more
  samara_error failure;
};

/// Fails in the name of a function of OpenCL that returned `code`.
samara_status smr_cl_failed(samara_error *error, const char *function, int32_t code);
/// The same for functions that make an object: OK where there is one and `code` is no error.
samara_status smr_cl_created(samara_error *error, const char *function, const void *object,
                             int32_t code);
void smr_cl_log(const struct smr_cl_device *device, samara_log_level level, const char *format, ...)
    SMR_PRINTF(3, 4);

/// Set platform and id of `device`, whose functions are loaded, to device `index` of all: GPUs
/// first, then accelerators, then CPUs. Fills its texts, `info` and `features`.
samara_status smr_cl_find(struct smr_cl_device *device, uint32_t index, samara_device_info *info,
                          struct smr_cl_features *features, samara_error *error);

/// Functions of the driver: see driver.h.
samara_status smr_cl_build(void *device, const bool *kernels, const struct smr_cl_steps *steps,
                           void **program, samara_error *error);
void smr_cl_release_program(void *device, void *program);
samara_status smr_cl_prepare(void *device, void *program, const struct smr_cl_launch *launch,
                             void **prepared, samara_error *error);
void smr_cl_release_prepared(void *device, void *prepared);
/// Give back the compiled kernels, when the device closes.
void smr_cl_release_units(struct smr_cl_device *device);
/// The kernel of a prepared launch.
smr_cl_kernel_id smr_cl_prepared_kernel(const void *prepared);

/// smr_cl_build of other texts, for tests. They must live as long as the device.
samara_status smr_cl_build_texts(void *device, const char *dialect, const struct smr_cl_text *texts,
                                 const bool *kernels, const struct smr_cl_steps *steps,
                                 void **program, samara_error *error);

/// The driver of OpenCL.
extern const struct smr_cl_driver smr_opencl_driver;

#endif
