// SPDX-License-Identifier: Apache-2.0
// A driver that runs launches as C11, one work-item after the other, on memory of malloc.
#ifndef SMR_TESTS_REFERENCE_DRIVER_H
#define SMR_TESTS_REFERENCE_DRIVER_H

#include "backends/opencl/driver.h"

/// Its device is a struct smr_cl_features *, which `open` allocates: of a CPU.
extern const struct smr_cl_driver smr_reference_driver;

/// Run one launch now.
void smr_reference_launch(const struct smr_cl_launch *launch);

#endif
