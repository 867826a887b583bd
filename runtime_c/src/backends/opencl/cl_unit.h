// SPDX-License-Identifier: Apache-2.0
// Compiled kernels: built by cl_program.c, launched by cl_prepare.c.
#ifndef SMR_BACKENDS_OPENCL_CL_UNIT_H
#define SMR_BACKENDS_OPENCL_CL_UNIT_H

#include "backends/opencl/cl_device.h"

/// A compiled kernel; lives until the device closes.
struct smr_cl_unit {
  struct smr_cl_unit *next;
  const char *dialect;
  const struct smr_cl_text *text;  // of a step: `own`
  uint32_t texel_bytes;            // 0: weights are read from a buffer, not an image
  struct smr_cl_text own;
  char name[SMR_CL_STEP_NAME], *body;  // of a step, which `own` points at; else NULL
  smr_cl_program_id id;
  // A spare kernel object made by the build, to detect errors early. The first launch takes it.
  smr_cl_kernel_id spare;
};

/// The kernels of a region.
struct smr_cl_units {
  struct smr_cl_unit *units[SMR_CL_STEP_KERNEL];  // NULL: not in the program
  uint32_t step_count;
  struct smr_cl_unit *steps[];
};

/// The unit of a text or of the body of a step, compiled at the first call. Under units_mutex.
samara_status smr_cl_unit_of(struct smr_cl_device *device, const char *dialect,
                             const struct smr_cl_text *text, const char *body, uint32_t texel_bytes,
                             struct smr_cl_unit **out, samara_error *error);
/// Make a new spare kernel object of the unit. Under units_mutex.
samara_status smr_cl_unit_kernel(const struct smr_cl_device *device, struct smr_cl_unit *unit,
                                 samara_error *error);

#endif
