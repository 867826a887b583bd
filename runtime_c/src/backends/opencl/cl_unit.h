// SPDX-License-Identifier: Apache-2.0
// Compiled kernels, as cl_program.c, which makes them, and cl_prepare.c, which launches them, share
// them.
#ifndef SMR_BACKENDS_OPENCL_CL_UNIT_H
#define SMR_BACKENDS_OPENCL_CL_UNIT_H

#include "backends/opencl/cl_device.h"

/// A compiled kernel, for as long as the device is open.
struct smr_cl_unit {
  struct smr_cl_unit *next;
  const char *dialect;
  const struct smr_cl_text *text;  // of a step: `own`
  uint32_t texel_bytes;            // 0: weights are read from a buffer, not an image
  struct smr_cl_text own;
  char name[SMR_CL_STEP_NAME], *body;  // of a step, which `own` points at; else NULL
  smr_cl_program_id id;
  // One object, made by the build: what is missing or wrong shows there. The first launch takes it.
  smr_cl_kernel_id spare;
};

/// The kernels of a region.
struct smr_cl_units {
  struct smr_cl_unit *units[SMR_CL_STEP_KERNEL];  // NULL: not in the program
  uint32_t step_count;
  struct smr_cl_unit *steps[];
};

/// The unit of a text or of the body of a step, compiled the first time. Under the lock of units.
samara_status smr_cl_unit_of(struct smr_cl_device *device, const char *dialect,
                             const struct smr_cl_text *text, const char *body, uint32_t texel_bytes,
                             struct smr_cl_unit **out, samara_error *error);
/// Make another kernel object, the unit's spare one. Under the lock of units.
samara_status smr_cl_unit_kernel(const struct smr_cl_device *device, struct smr_cl_unit *unit,
                                 samara_error *error);

#endif
