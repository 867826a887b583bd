// SPDX-License-Identifier: Apache-2.0
// The rows of operators: none yet.
#include "base/fp.h"

#include "backends/opencl/driver.h"

const struct smr_cl_row *smr_cl_row(const char *op) {
  (void)op;
  return NULL;
}

const char smr_cl_dialect[] = "";
const struct smr_cl_text smr_cl_texts[SMR_CL_KERNELS] = {{"copy_4", NULL, ""}};
