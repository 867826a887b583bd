// SPDX-License-Identifier: Apache-2.0
// The interface that runs launches: OpenCL (driver_opencl.c), or C11 in tests. cl_backend.c works
// with both.
#ifndef SMR_BACKENDS_OPENCL_DRIVER_H
#define SMR_BACKENDS_OPENCL_DRIVER_H

#include "backends/opencl/cl_fuse.h"
#include "backends/opencl/launch.h"

/// All functions may be called from any thread, concurrently except for one kernel object. Failures
/// write a message to `error`.
struct smr_cl_driver {
  const char *backend;  // samara_device_info.backend
  /// Open device `request->index`; fills `info` and `features`.
  samara_status (*open)(const samara_probe *request, void **device, samara_device_info *info,
                        struct smr_cl_features *features, samara_error *error);
  /// Called once, last.
  void (*close)(void *device);
  /// Alignment of tensors in bytes.
  size_t (*alignment)(void *device);
  uint64_t (*max_memory)(void *device);
  samara_status (*allocate)(void *device, size_t size_bytes, const void *initial, void **memory,
                            samara_error *error);  // initial: NULL or size_bytes to copy
  void (*release)(void *device, void *memory);
  /// Compile the kernels k with kernels[k] set, whose texts are in smr_cl_texts, and those of
  /// steps, which are kernels SMR_CL_STEP_KERNEL + step in launches. May be called while another
  /// program runs.
  samara_status (*build)(void *device, const bool *kernels, const struct smr_cl_steps *steps,
                         void **program, samara_error *error);
  void (*release_program)(void *device, void *program);
  /// Prepare a launch: a kernel object with its arguments. Reuses *prepared if it is not NULL and
  /// was made for the same kernel of the same program.
  samara_status (*prepare)(void *device, void *program, const struct smr_cl_launch *launch,
                           void **prepared, samara_error *error);
  void (*release_prepared)(void *device, void *prepared);
  /// Begin launches [0, count), in order, after all earlier work.
  samara_status (*run)(void *device, void *const *prepared, const struct smr_cl_launch *launches,
                       size_t count, uint64_t *ticket, samara_error *error);
  samara_status (*copy)(void *device, const samara_copy *copy, uint64_t *ticket,
                        samara_error *error);
  samara_status (*wait)(void *device, uint64_t ticket, uint64_t timeout_ns, bool *done,
                        samara_error *error);
  /// The rows of operators, for tests; NULL: smr_cl_row.
  const struct smr_cl_row *(*row)(const char *op);
};

/// The text of each kernel's file, its defines, and its name: kernels/texts.inc, generated.
struct smr_cl_text {
  const char *name;     // of the kernel function
  const char *text;     // packed; NULL if this build leaves it out
  const char *defines;  // "A=1 OF=(x==0)": a value begins after the first '='; NAME is `name`
};
/// Whether it also has the defines of the previous text, and the lanes of a subgroup share the work
/// of an item of that kernel: the defines begin with SHARE=1.
static inline bool smr_cl_shares(const struct smr_cl_text *text) { return text->defines[0] == 'S'; }
extern const struct smr_cl_text smr_cl_texts[SMR_CL_KERNELS + 1];  // the last is none
/// The prefix of all texts: the dialect in OpenCL C 1.2, packed.
extern const char *const smr_cl_dialect;
/// The second prefix, for kernels of integers; NULL if the build has none.
extern const char *const smr_cl_integers;
/// Unpack a text to `out` (may be NULL), without a terminating zero. Returns its length. ASCII
/// characters are unchanged.
size_t smr_cl_unpack(const char *text, char *out);

/// The functions of a backend on top of a driver (cl_backend.c), with their own `device` struct.

/// The table of OpenCL; NULL if this build leaves it out.
const samara_backend_table *smr_opencl_backend(void);

/// For tests: a table's functions with another `driver`, which must outlive the device.
samara_status smr_cl_probe(const struct smr_cl_driver *driver, const samara_probe *request,
                           void **device, samara_device_info *info, samara_error *error);
/// All functions of the table but probe.
extern const samara_backend_table smr_cl_functions;

#endif
