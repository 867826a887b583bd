// SPDX-License-Identifier: Apache-2.0
// The check class of attention and its gradient.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/table/opattrs.h"

#include <inttypes.h>

samara_status smr_check_attention(const struct smr_job *job) {
  const bool grad = smr_has_form(job, SMR_FORM_GRAD);
  const struct smr_tensor *q = job->inputs[0], *k = job->inputs[1], *v = job->inputs[2];
  const struct smr_tensor *mask = smr_optional_input(job, grad ? 4 : 3);
  const int64_t layout = SMR_ATTR(job, attention, layout)->i;
  if (layout != SMR_ATTENTION_LAYOUT_BHSD && layout != SMR_ATTENTION_LAYOUT_BSHD)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: unknown layout %" PRId64, job->op->name, layout);
  const uint32_t least = layout == SMR_ATTENTION_LAYOUT_BSHD ? 3 : 2;
  SMR_TRY(smr_expect_rank(job, q, "q", least, 5));
  SMR_TRY(smr_expect_rank(job, k, "k", q->rank, q->rank));
  SMR_TRY(smr_expect_rank(job, v, "v", q->rank, q->rank));
  const uint32_t rows = q->rank - least, last = q->rank - 1u;
  const int64_t align = SMR_ATTR(job, attention, align)->i;
  if (align != SMR_ATTENTION_ALIGN_START && align != SMR_ATTENTION_ALIGN_END)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: unknown align %" PRId64, job->op->name, align);
  if (SMR_ATTR(job, attention, window)->i < 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: window %" PRId64 " is negative", job->op->name,
             SMR_ATTR(job, attention, window)->i);

  int64_t dims[SAMARA_MAX_RANK] = {0};
  for (uint32_t i = 0; i <= last; i++) dims[i] = q->dims[i];
  const int64_t groups = SMR_ATTR(job, attention, groups)->i;
  if (groups != 1) {
    const uint32_t heads = q->rank - (layout == SMR_ATTENTION_LAYOUT_BSHD ? 2u : 3u);
    if (groups < 1 || q->rank < 3 || dims[heads] % groups != 0) {
      const struct smr_dims_text text = smr_dims_text(q->dims, q->rank);
      SMR_FAIL(job->error, BAD_SHAPE, "%s: q %s has no groups of %" PRId64 " heads", job->op->name,
               text.text, groups);
    }
    dims[heads] /= groups;
  }
  dims[rows] = k->dims[rows];
  SMR_TRY(smr_expect_dims(job, k, "k", dims, q->rank));
  dims[last] = v->dims[last];
  SMR_TRY(smr_expect_dims(job, v, "v", dims, q->rank));
  for (uint32_t i = 0; i < last; i++) dims[i] = q->dims[i];
  SMR_TRY(smr_expect_dims(job, grad ? job->inputs[3] : job->outputs[0], grad ? "dy" : "output",
                          dims, q->rank));
  for (uint32_t i = 0; grad && i < job->output_count; i++)
    SMR_TRY(smr_expect_dims(job, job->outputs[i], "gradient", job->inputs[i]->dims,
                            job->inputs[i]->rank));

  if (mask == NULL) return SAMARA_OK;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < last; i++)
    if (i != rows) dims[rank++] = q->dims[i];
  dims[rank++] = q->dims[rows];
  dims[rank++] = k->dims[rows];
  SMR_TRY(smr_expect_rank(job, mask, "mask", 0, rank));
  for (uint32_t i = 1; i <= mask->rank; i++) {
    const int64_t got = mask->dims[mask->rank - i];
    if (got == 1 || got == dims[rank - i]) continue;
    const struct smr_dims_text a = smr_dims_text(mask->dims, mask->rank);
    const struct smr_dims_text b = smr_dims_text(dims, rank);
    SMR_FAIL(job->error, BAD_SHAPE, "%s: the mask %s does not broadcast to the scores %s",
             job->op->name, a.text, b.text);
  }
  return SAMARA_OK;
}
