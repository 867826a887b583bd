// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that rearrange, cut, join and repeat.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

samara_status smr_check_reshape(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_shape(job, SMR_ATTR(job, reshape, shape)));
  if (smr_numel(x) == smr_numel(y)) return SAMARA_OK;
  const struct smr_dims_text from = smr_dims_text(x->dims, x->rank);
  const struct smr_dims_text to = smr_dims_text(y->dims, y->rank);
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %s has %" PRId64 " elements, %s has %" PRId64, job->op->name,
           from.text, smr_numel(x), to.text, smr_numel(y));
}

samara_status smr_check_transpose(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t *perm;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, transpose, perm), x->rank, 0, (int64_t)x->rank - 1,
                          &perm));
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t seen = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (seen >> perm[i] & 1u)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: perm names axis %" PRId64 " twice", job->op->name,
               perm[i]);
    seen |= 1u << perm[i];
    dims[i] = x->dims[perm[i]];
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}

samara_status smr_check_concat(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, concat, axis)->i, x->rank, &axis));
  int64_t dims[SAMARA_MAX_RANK], total = 0;
  for (uint32_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  for (uint32_t i = 0; i < job->input_count; i++) {
    const struct smr_tensor *t = job->inputs[i];
    if (t->rank == x->rank) dims[axis] = t->dims[axis];
    SMR_TRY(smr_expect_dims(job, t, "an input", dims, x->rank));
    if (!smr_add_i64(total, dims[axis], &total))
      SMR_FAIL(job->error, BAD_SHAPE, "%s: the extents along axis %u overflow", job->op->name,
               (unsigned)axis);
  }
  dims[axis] = total;
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}

samara_status smr_check_split(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, split, axis)->i, x->rank, &axis));
  const int64_t *sizes;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, split, sizes), job->output_count, 0, x->dims[axis],
                          &sizes));
  int64_t dims[SAMARA_MAX_RANK], rest = x->dims[axis];
  for (uint32_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  for (uint32_t i = 0; i < job->output_count; i++) {
    dims[axis] = sizes[i];
    SMR_TRY(smr_expect_dims(job, job->outputs[i], "an output", dims, x->rank));
    // Cannot fall below -2^63: every size is at most the extent, and a negative sum is refused at
    // once.
    rest -= sizes[i];
    if (rest < 0) break;
  }
  if (rest == 0) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE, "%s: sizes do not sum to %" PRId64 ", the extent of axis %u",
           job->op->name, x->dims[axis], (unsigned)axis);
}

samara_status smr_check_slice(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t *begin, *end, *step;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, slice, begin), x->rank, INT64_MIN, INT64_MAX, &begin));
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, slice, end), x->rank, INT64_MIN, INT64_MAX, &end));
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, slice, step), x->rank, -INT64_MAX, INT64_MAX, &step));
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) {
    const int64_t d = x->dims[i], b = begin[i], e = end[i], s = step[i];
    const bool fits = s > 0   ? b >= 0 && b <= d && e >= 0 && e <= d
                      : s < 0 ? b >= -1 && b < d && e >= -1 && e < d
                              : false;
    if (!fits)
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: axis %u of extent %" PRId64 " cannot be sliced from %" PRId64 " to %" PRId64
               " by %" PRId64,
               job->op->name, (unsigned)i, d, b, e, s);
    // No overflow: both distances are in [0, d].
    const int64_t distance = s > 0 ? e - b : b - e, by = s > 0 ? s : -s;
    dims[i] = distance > 0 ? (distance - 1) / by + 1 : 0;
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}

samara_status smr_check_pad(const struct smr_job *job) {
  enum { CONSTANT, REFLECT, EDGE, WRAP, MODES };
  const struct smr_tensor *x = job->inputs[0], *value = smr_optional_input(job, 1);
  const int64_t *pads, mode = SMR_ATTR(job, pad, mode)->i;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, pad, pads), 2u * x->rank, -PTRDIFF_MAX / 4,
                          PTRDIFF_MAX / 4, &pads));
  if (mode < 0 || mode >= MODES)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: mode %" PRId64 " is unknown", job->op->name, mode);
  if (value != NULL) {
    SMR_TRY(smr_expect_same_dtype(job, x, value, "input and value"));
    if (smr_numel(value) != 1) SMR_TRY(smr_expect_dims(job, value, "value", x->dims, 0));
  }
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) {
    const int64_t before = pads[i], after = pads[x->rank + i];
    const int64_t rest =
        x->dims[i] + (before < 0 ? before : 0) + (after < 0 ? after : 0);  // length after cropping
    const int64_t longest = before > after ? before : after;
    const int64_t most = mode == REFLECT ? rest - 1 : mode != CONSTANT && rest == 0 ? 0 : INT64_MAX;
    if (rest < 0 || (longest > 0 && longest > most))
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: axis %u of extent %" PRId64 " cannot be padded by %" PRId64 " and %" PRId64,
               job->op->name, (unsigned)i, x->dims[i], before, after);
    dims[i] = x->dims[i] + before + after;
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}

samara_status smr_check_tile(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t *repeats;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, tile, repeats), x->rank, 0, INT64_MAX, &repeats));
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++)
    if (!smr_mul_i64(x->dims[i], repeats[i], &dims[i]))
      SMR_FAIL(job->error, BAD_SHAPE, "%s: %" PRId64 " repeats of %" PRId64 " overflow",
               job->op->name, repeats[i], x->dims[i]);
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}
