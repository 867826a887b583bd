// SPDX-License-Identifier: Apache-2.0
// Check class of matmul.
#include "base/fp.h"

#include "kernels/f32_gemm/f32_gemm.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"

#include <inttypes.h>

samara_status smr_check_panels(const struct smr_job *job, const struct smr_tensor *w,
                               int64_t panels, int64_t rows) {
  const int64_t element = (int64_t)smr_dtype_bytes(w->dtype);
  int64_t bytes;
  // Vectors of bytes span several rows, so rows are padded to whole groups; see
  // docs/reference/format.md.
  const bool bytewise = element == 1 && w->layout == SMR_LAYOUT_PANEL;
  const int64_t together = !bytewise ? 1 : smr_dtype_packed(w->dtype) ? 32 : 4;
  if (!smr_add_i64(rows, together - 1, &rows)) rows = -1;
  if (rows > 0) rows -= rows % together;
  if (rows > 0 && smr_dtype_packed(w->dtype)) rows /= 2;  // two per byte
  bool fits = rows >= 0 && w->constant >= 0 && smr_mul_i64(rows, SMR_PANEL * element, &bytes) &&
              smr_add_i64(bytes, 63, &bytes);
  if (fits) fits = smr_mul_i64(bytes & ~(int64_t)63, panels, &bytes);
  if (fits && (uint64_t)bytes <= w->size_bytes) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE,
           "%s: packed weights have %zu bytes, too few for %" PRId64 " panels of %" PRId64 " rows",
           job->op->name, w->size_bytes, panels, rows);
}

samara_status smr_check_matmul(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  const struct smr_tensor *bias = smr_optional_input(job, 2),
                          *residual = smr_optional_input(job, 3);
  SMR_TRY(smr_expect_rank(job, x, "x", 2, SAMARA_MAX_RANK));
  SMR_TRY(smr_expect_rank(job, w, "w", 2, SAMARA_MAX_RANK));
  const bool dynamic = job->op->code == SMR_CODE_MATMUL_DYNAMIC;  // has no attribute transpose_x
  const uint32_t tx = !dynamic && SMR_ATTR(job, matmul, transpose_x)->i != 0;
  const uint32_t tw =
      (dynamic ? SMR_ATTR(job, matmul_dynamic, transpose_w) : SMR_ATTR(job, matmul, transpose_w))
          ->i != 0;
  const int64_t m = x->dims[x->rank - 2 + tx], k = x->dims[x->rank - 1 - tx];
  const int64_t w_k = w->dims[w->rank - 2 + tw], n = w->dims[w->rank - 1 - tw];
  if (k != w_k)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: x has %" PRId64 " columns, w has %" PRId64 " rows",
             job->op->name, k, w_k);
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank = x->rank - 2u;
  for (uint32_t i = 0; i < rank; i++) dims[i] = x->dims[i];
  if (!smr_broadcast_dims(dims, &rank, w->dims, w->rank - 2u)) {
    const struct smr_dims_text a = smr_dims_text(x->dims, x->rank);
    const struct smr_dims_text b = smr_dims_text(w->dims, w->rank);
    SMR_FAIL(job->error, BAD_SHAPE, "%s: leading dims of %s and %s do not broadcast", job->op->name,
             a.text, b.text);
  }
  dims[rank++] = m;
  dims[rank++] = n;
  SMR_TRY(smr_expect_dims(job, job->outputs[0], "output", dims, rank));
  if (bias != NULL) SMR_TRY(smr_expect_dims(job, bias, "bias", &n, 1));
  if (residual != NULL) SMR_TRY(smr_expect_dims(job, residual, "residual", dims, rank));
  if (w->layout == SMR_LAYOUT_PLAIN) return SAMARA_OK;
  if (w->layout != SMR_LAYOUT_PANEL)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: weights are in layout %u", job->op->name,
             (unsigned)w->layout);
  // The dims are checked, so no product overflows, not even after rounding up.
  const int64_t batch = smr_product(w->dims, w->rank - 2u);
  return smr_check_panels(job, w, batch * ((n + SMR_PANEL - 1) / SMR_PANEL), k);
}
