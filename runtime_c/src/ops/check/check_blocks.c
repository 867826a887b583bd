// SPDX-License-Identifier: Apache-2.0
// The check of weights that have one scale per block of a row.
#include "base/fp.h"

#include "kernels/f32_gemm/f32_gemm.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/quantize/block_weights.h"

#include <inttypes.h>

samara_status smr_blocks_check(const struct smr_job *job, const struct smr_tensor *w,
                               const struct smr_tensor *scales, const struct smr_tensor *zeros) {
  SMR_TRY(smr_expect_dtype(job, w, "w", SMR_DTYPE_I8 | SMR_DTYPES_PACKED));
  const int64_t block = SMR_ATTR(job, matmul_blocks, block)->i, columns = w->dims[1];
  if (block < SMR_BLOCKS_LEAST || block > SMR_BLOCKS_MOST || (block & (block - 1)) != 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: block is %" PRId64 ", expected a power of two from %d on",
             job->op->name, block, (int)SMR_BLOCKS_LEAST);
  const int64_t dims[2] = {w->dims[0], columns / block + (columns % block != 0)};
  SMR_TRY(smr_expect_dtype(job, scales, "scales", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_dims(job, scales, "scales", dims, 2));
  return zeros == NULL ? SAMARA_OK
                       : smr_expect_dtype(job, zeros, "zero_points",
                                          SMR_DTYPE_I8 | SMR_DTYPE_U8 | SMR_DTYPES_PACKED);
}

samara_status smr_blocks_check_layouts(const struct smr_job *job, const struct smr_tensor *w,
                                       const struct smr_tensor *scales) {
  const struct smr_tensor *both[] = {w, scales};
  const int64_t panels = w->dims[0] / SMR_PANEL + (w->dims[0] % SMR_PANEL != 0);
  for (int i = 0; i < 2; i++) {
    const struct smr_tensor *t = both[i];
    if (t->layout == SMR_LAYOUT_PLAIN) continue;
    if (t->layout != SMR_LAYOUT_PANEL)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: %s are in layout %u", job->op->name,
               i == 0 ? "weights" : "scales", (unsigned)t->layout);
    SMR_TRY(smr_check_panels(job, t, panels, t->dims[1]));
  }
  return SAMARA_OK;
}
