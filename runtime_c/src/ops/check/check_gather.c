// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that take index tensors. The operators check the index values when
// they run.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

static samara_status check_indices_dtype(const struct smr_job *job) {
  return smr_expect_dtype(job, job->inputs[1], "indices", SMR_DTYPE_I32 | SMR_DTYPE_I64);
}

// A list of dims, limited to the largest rank.
struct gathered_dims {
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank;
  bool full;
};

static void gathered_append(struct gathered_dims *list, const int64_t *dims, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (list->rank == SAMARA_MAX_RANK)
      list->full = true;
    else
      list->dims[list->rank++] = dims[i];
  }
}

static samara_status gathered_expect(const struct smr_job *job, const struct smr_tensor *t,
                                     const char *what, const struct gathered_dims *list) {
  if (list->full)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %s would have a rank above %d", job->op->name, what,
             SAMARA_MAX_RANK);
  return smr_expect_dims(job, t, what, list->dims, list->rank);
}

samara_status smr_check_gather(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  SMR_TRY(check_indices_dtype(job));
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, gather, axis)->i, x->rank, &axis));
  struct gathered_dims want = {.rank = 0};
  gathered_append(&want, x->dims, axis);
  gathered_append(&want, indices->dims, indices->rank);
  gathered_append(&want, x->dims + axis + 1, x->rank - axis - 1);
  return gathered_expect(job, job->outputs[0], "output", &want);
}

samara_status smr_check_gather_elements(const struct smr_job *job) {
  const bool scatter = smr_has_form(job, SMR_FORM_SCATTER);
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  SMR_TRY(check_indices_dtype(job));
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, gather_elements, axis)->i, x->rank, &axis));
  SMR_TRY(smr_expect_rank(job, indices, "indices", x->rank, x->rank));
  for (uint32_t i = 0; i < x->rank; i++)
    if (i != axis && indices->dims[i] > x->dims[i])
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: indices have %" PRId64 " along axis %u, the input has %" PRId64, job->op->name,
               indices->dims[i], (unsigned)i, x->dims[i]);
  if (!scatter) return smr_expect_dims(job, job->outputs[0], "output", indices->dims, x->rank);
  SMR_TRY(smr_expect_same_dtype(job, x, job->inputs[2], "input and updates"));
  SMR_TRY(smr_expect_dims(job, job->inputs[2], "updates", indices->dims, x->rank));
  return smr_expect_dims(job, job->outputs[0], "output", x->dims, x->rank);
}

samara_status smr_check_gather_nd(const struct smr_job *job) {
  const bool scatter = smr_has_form(job, SMR_FORM_SCATTER);
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  const int64_t batch_dims = scatter ? 0 : SMR_ATTR(job, gather_nd, batch_dims)->i;
  SMR_TRY(check_indices_dtype(job));
  SMR_TRY(smr_expect_rank(job, indices, "indices", 1, SAMARA_MAX_RANK));
  if (batch_dims < 0 || batch_dims > (int64_t)x->rank || batch_dims >= (int64_t)indices->rank)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: batch_dims is %" PRId64 ", ranks are %u and %u",
             job->op->name, batch_dims, (unsigned)x->rank, (unsigned)indices->rank);
  const uint32_t batch = (uint32_t)batch_dims, left = x->rank - batch;
  const int64_t depth = indices->dims[indices->rank - 1];  // axes addressed by an index
  if (depth > (int64_t)left)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: indices address %" PRId64 " axes, the input has %u to address", job->op->name,
             depth, (unsigned)left);
  for (uint32_t i = 0; i < batch; i++)
    if (x->dims[i] != indices->dims[i])
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: batch axis %u is %" PRId64 " in input, %" PRId64 " in indices", job->op->name,
               (unsigned)i, x->dims[i], indices->dims[i]);
  struct gathered_dims want = {.rank = 0};
  gathered_append(&want, indices->dims, indices->rank - 1u);
  gathered_append(&want, x->dims + batch + depth, left - (uint32_t)depth);
  if (!scatter) return gathered_expect(job, job->outputs[0], "output", &want);
  SMR_TRY(smr_expect_same_dtype(job, x, job->inputs[2], "input and updates"));
  SMR_TRY(gathered_expect(job, job->inputs[2], "updates", &want));
  return smr_expect_dims(job, job->outputs[0], "output", x->dims, x->rank);
}
