// SPDX-License-Identifier: Apache-2.0
// Check classes of operators whose weights have a scale for every block of neighbours.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/quantize/block_weights.h"

#include <inttypes.h>

// w [rows, columns] of 4 or 8 bits, scales and zero points [rows, blocks].
static samara_status check_block_weights(const struct smr_job *job, const struct smr_tensor *w,
                                         const struct smr_tensor *scales,
                                         const struct smr_tensor *zeros) {
  const uint32_t bytes = SMR_DTYPE_I8 | SMR_DTYPE_U8;
  SMR_TRY(smr_expect_dtype(job, w, "w", SMR_DTYPE_I8 | SMR_DTYPES_PACKED));
  SMR_TRY(smr_expect_rank(job, w, "w", 2, 2));
  const int64_t block = SMR_ATTR(job, matmul_blocks, block)->i;
  if (block < SMR_BLOCKS_LEAST || block > SMR_BLOCKS_MOST || (block & (block - 1)) != 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: block is %" PRId64 ", expected a power of two from %d on",
             job->op->name, block, (int)SMR_BLOCKS_LEAST);
  const int64_t dims[2] = {w->dims[0], w->dims[1] / block + (w->dims[1] % block != 0)};
  SMR_TRY(smr_expect_dtype(job, scales, "scales", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_dims(job, scales, "scales", dims, 2));
  if (zeros == NULL) return SAMARA_OK;
  SMR_TRY(smr_expect_dtype(job, zeros, "zero_points", bytes | SMR_DTYPES_PACKED));
  return smr_expect_dims(job, zeros, "zero_points", dims, 2);
}

// x [..., M, K], w [N, K], bias [N]; the output is [..., M, N].
samara_status smr_check_matmul_blocks(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  const struct smr_tensor *bias = smr_optional_input(job, SMR_BLOCKS_BIAS);
  SMR_TRY(smr_expect_dtype(job, x, "x", SMR_DTYPE_F32));
  SMR_TRY(smr_expect_rank(job, x, "x", 2, SAMARA_MAX_RANK));
  SMR_TRY(check_block_weights(job, w, job->inputs[2], smr_optional_input(job, 3)));
  if (x->dims[x->rank - 1] != w->dims[1])
    SMR_FAIL(job->error, BAD_SHAPE, "%s: x has %" PRId64 " columns, w has %" PRId64, job->op->name,
             x->dims[x->rank - 1], w->dims[1]);
  if (bias != NULL) {
    SMR_TRY(smr_expect_dtype(job, bias, "bias", SMR_DTYPE_F32));
    SMR_TRY(smr_expect_dims(job, bias, "bias", w->dims, 1));
  }
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i + 1 < x->rank; i++) dims[i] = x->dims[i];
  dims[x->rank - 1] = w->dims[0];
  SMR_TRY(smr_expect_same_dtype(job, x, job->outputs[0], "x and output"));
  SMR_TRY(smr_expect_dims(job, job->outputs[0], "output", dims, x->rank));
  if (w->layout == SMR_LAYOUT_PLAIN) return SAMARA_OK;
  if (w->layout != SMR_LAYOUT_PANEL)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: weights are in layout %u", job->op->name,
             (unsigned)w->layout);
  return smr_check_panels(job, w, (w->dims[0] + SMR_PANEL - 1) / SMR_PANEL, w->dims[1]);
}

// w [V, D]; the output is float32, the dims of the indices and then D.
samara_status smr_check_gather_blocks(const struct smr_job *job) {
  const struct smr_tensor *w = job->inputs[0], *indices = job->inputs[2], *y = job->outputs[0];
  SMR_TRY(check_block_weights(job, w, job->inputs[1], smr_optional_input(job, 3)));
  SMR_TRY(smr_expect_dtype(job, indices, "indices", SMR_DTYPE_I32 | SMR_DTYPE_I64));
  SMR_TRY(smr_expect_rank(job, indices, "indices", 0, SAMARA_MAX_RANK - 1));
  SMR_TRY(smr_expect_dtype(job, y, "output", SMR_DTYPE_F32));
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < indices->rank; i++) dims[i] = indices->dims[i];
  dims[indices->rank] = w->dims[1];
  return smr_expect_dims(job, y, "output", dims, indices->rank + 1u);
}
