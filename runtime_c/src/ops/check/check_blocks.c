// SPDX-License-Identifier: Apache-2.0
// The check of weights that have one scale per block of a row.
#include "base/fp.h"

#include "ops/check/check.h"
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
