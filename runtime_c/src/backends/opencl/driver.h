// SPDX-License-Identifier: Apache-2.0
// What runs launches: OpenCL (driver_opencl.c), or C11 in the tests. The functions of the backend
// (cl_backend.c) are the same over both.
#ifndef SMR_BACKENDS_OPENCL_DRIVER_H
#define SMR_BACKENDS_OPENCL_DRIVER_H

#include "backends/opencl/cl_fuse.h"
#include "backends/opencl/launch.h"

/// All functions may be called from any thread, but for one kernel object one at a time. Failures
/// write a text to `error`.
struct smr_cl_driver {
  const char *backend;  // samara_device_info.backend
  /// Open device `request->index`; fills `info` and `features`.
  samara_status (*open)(const samara_probe *request, void **device, samara_device_info *info,
                        struct smr_cl_features *features, samara_error *error);
  /// Called once, last.
  void (*close)(void *device);
  /// Bytes that tensors are aligned to in memory.
  size_t (*alignment)(void *device);
  uint64_t (*max_memory)(void *device);
  samara_status (*allocate)(void *device, size_t size_bytes, const void *initial, void **memory,
                            samara_error *error);  // initial: NULL or size_bytes to copy
  void (*release)(void *device, void *memory);
  /// Compile the kernels k with kernels[k] set; the text of each is in smr_cl_texts. And those of
  /// the steps, which launches call SMR_CL_STEP_KERNEL + their number. One program may be made
  /// while another runs.
  samara_status (*build)(void *device, const bool *kernels, const struct smr_cl_steps *steps,
                         void **program, samara_error *error);
  void (*release_program)(void *device, void *program);
  /// Prepare a launch: a kernel object with its arguments. Reuses *prepared where it is not NULL
  /// and was made for the same kernel of the same program.
  samara_status (*prepare)(void *device, void *program, const struct smr_cl_launch *launch,
                           void **prepared, samara_error *error);
  void (*release_prepared)(void *device, void *prepared);
  /// Begin launches [0, count), in order, after what was begun before.
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
  const char *text;     // packed; NULL where this build leaves it out
  const char *defines;  // "A=1 OF=(x==0)": a value begins after the first '='; NAME is `name`
};
/// Whether it has the defines of the text before it, too, and the lanes of a subgroup do together
/// what an item of that kernel does: SHARE=1, the only defines that begin so.
static inline bool smr_cl_shares(const struct smr_cl_text *text) { return text->defines[0] == 'S'; }
extern const struct smr_cl_text smr_cl_texts[SMR_CL_KERNELS + 1];  // the last is none
/// What comes before all texts: the dialect in OpenCL C 1.2, packed.
extern const char *const smr_cl_dialect;
/// What comes behind that, for kernels of integers; NULL where the build has no integers.
extern const char *const smr_cl_integers;
/// Write the text that a packed one stands for to `out`, without a zero at its end; NULL: nowhere.
/// Returns its length. ASCII stands for itself.
size_t smr_cl_unpack(const char *text, char *out);

/// The functions of a backend over a driver (cl_backend.c): `device` of these is a struct of its
/// own.

/// The table of OpenCL; NULL where this build leaves it out.
const samara_backend_table *smr_opencl_backend(void);

/// A table's functions over `driver`, which must outlive the device, for tests.
samara_status smr_cl_probe(const struct smr_cl_driver *driver, const samara_probe *request,
                           void **device, samara_device_info *info, samara_error *error);
/// All functions of the table but probe.
extern const samara_backend_table smr_cl_functions;

#endif
