// SPDX-License-Identifier: Apache-2.0
// A driver that runs launches as C11, one work-item after the other, on memory of malloc.
#ifndef SMR_TESTS_REFERENCE_DRIVER_H
#define SMR_TESTS_REFERENCE_DRIVER_H

#include "backends/opencl/driver.h"

/// Its device is a struct smr_cl_features *, which `open` allocates: of a CPU.
extern const struct smr_cl_driver smr_reference_driver;

/// Lanes of a subgroup in launches with groups, at most.
extern int smr_reference_lanes;

/// Run one launch now, of a kernel of rows.inc.
void smr_reference_launch(const struct smr_cl_launch *launch);
/// Run it with weights from an image; false if its kernel or weights do not allow that.
bool smr_reference_launch_texels(const struct smr_cl_launch *launch);

/// The number of a step's kernel, by its name, among those of reference_fused.inc; -1: there is
/// none.
int smr_reference_fused(const char *name);
/// For an OpenCL source of `size` bytes, which may be that of a step: print the row that it should
/// have if there is none.
void smr_reference_expect(const char *source, size_t size);
/// Run one launch of it now.
void smr_reference_launch_fused(const struct smr_cl_launch *launch, int fused);
/// Run one launch of the kernel of that name now; false where there is none. Its number must be 0.
bool smr_reference_launch_named(struct smr_cl_launch *launch, const char *name);

#endif
