// SPDX-License-Identifier: Apache-2.0
// The check every node passes, and what check classes are made of.
#include "base/fp.h"

#include "ops/check.h"

#include <inttypes.h>
#include <stdio.h>

struct smr_dims_text smr_dims_text(const int64_t *dims, uint32_t rank) {
  struct smr_dims_text out;
  size_t used = 0;
  out.text[used++] = '[';
  for (uint32_t i = 0; i < rank && i < SAMARA_MAX_RANK; i++) {
    const size_t room = sizeof out.text - used;
    const int n = snprintf(out.text + used, room, "%s%" PRId64, i ? ", " : "", dims[i]);
    if (n < 0 || (size_t)n >= room - 1) break;
    used += (size_t)n;
  }
  out.text[used++] = ']';
  out.text[used] = '\0';
  return out;
}

samara_status smr_expect_dims(const struct smr_job *job, const struct smr_tensor *t,
                              const char *what, const int64_t *dims, uint32_t rank) {
  bool same = t->rank == rank;
  for (uint32_t i = 0; same && i < rank; i++) same = t->dims[i] == dims[i];
  if (same) return SAMARA_OK;
  const struct smr_dims_text got = smr_dims_text(t->dims, t->rank);
  const struct smr_dims_text want = smr_dims_text(dims, rank);
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %s has dims %s, expected %s", job->op->name, what, got.text,
           want.text);
}

samara_status smr_expect_rank(const struct smr_job *job, const struct smr_tensor *t,
                              const char *what, uint32_t least, uint32_t most) {
  if (t->rank >= least && t->rank <= most) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %s has rank %u, expected %u to %u", job->op->name, what,
           (unsigned)t->rank, (unsigned)least, (unsigned)most);
}

samara_status smr_expect_dtype(const struct smr_job *job, const struct smr_tensor *t,
                               const char *what, uint32_t set) {
  if (t->dtype < 32 && (set >> t->dtype & 1u)) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %s cannot have dtype %s", job->op->name, what,
           smr_dtype_name(t->dtype));
}

samara_status smr_expect_same_dtype(const struct smr_job *job, const struct smr_tensor *a,
                                    const struct smr_tensor *b, const char *what) {
  if (a->dtype == b->dtype) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %s differ in dtype: %s and %s", job->op->name, what,
           smr_dtype_name(a->dtype), smr_dtype_name(b->dtype));
}

samara_status smr_expect_axis(const struct smr_job *job, int64_t axis, uint32_t rank,
                              uint32_t *out) {
  if (axis < -(int64_t)rank || axis >= (int64_t)rank)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: axis %" PRId64 " is out of range for rank %u",
             job->op->name, axis, (unsigned)rank);
  *out = (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
  return SAMARA_OK;
}

samara_status smr_expect_ints(const struct smr_job *job, const char *name, uint32_t count,
                              int64_t least, int64_t most, const int64_t **out) {
  const struct smr_attr *attr = smr_op_attr(job, name);
  if (attr->count != count)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %s has %u elements, expected %u", job->op->name, name,
             (unsigned)attr->count, (unsigned)count);
  for (uint32_t i = 0; i < count; i++)
    if (attr->ints[i] < least || attr->ints[i] > most)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: %s[%u] is %" PRId64 ", expected %" PRId64 " to %" PRId64,
               job->op->name, name, (unsigned)i, attr->ints[i], least, most);
  *out = attr->ints;
  return SAMARA_OK;
}

bool smr_broadcast_dims(int64_t *dims, uint32_t *rank, const int64_t *more, uint32_t more_rank) {
  const uint32_t longest = *rank > more_rank ? *rank : more_rank;
  int64_t out[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < longest; i++) {  // axis i counted from the end
    const int64_t a = i < *rank ? dims[*rank - 1 - i] : 1;
    const int64_t b = i < more_rank ? more[more_rank - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) return false;
    out[longest - 1 - i] = a == 1 ? b : a;
  }
  for (uint32_t i = 0; i < longest; i++) dims[i] = out[i];
  *rank = longest;
  return true;
}

// Bytes of the dense tensor when every dim of 0 counts as 1: what offsets are computed in.
static samara_status op_check_tensor(const struct smr_job *job, const struct smr_tensor *t,
                                     const char *role, uint32_t index, bool packed_allowed) {
  const size_t element = smr_dtype_bytes(t->dtype);
  const uint32_t more = job->op->funcs != NULL ? job->op->funcs->more_dtypes : UINT32_MAX;
  if (t->dtype > SAMARA_BOOL && element != 0 && (more >> t->dtype & 1u) == 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %s %u cannot have dtype %s", job->op->name, role,
             (unsigned)index, smr_dtype_name(t->dtype));
  if (element == 0 || t->rank > SAMARA_MAX_RANK)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %s %u has dtype %s and rank %u", job->op->name, role,
             (unsigned)index, smr_dtype_name(t->dtype), (unsigned)t->rank);
  size_t bytes = element;
  bool fits = true, empty = false;
  for (uint32_t i = 0; i < t->rank; i++) {
    const int64_t dim = t->dims[i];
    empty = empty || dim == 0;
    fits = fits && dim >= 0 && (uint64_t)dim <= SIZE_MAX &&
           smr_mul_size(bytes, dim ? (size_t)dim : 1, &bytes) && bytes <= PTRDIFF_MAX / 2;
  }
  if (!fits) {
    const struct smr_dims_text dims = smr_dims_text(t->dims, t->rank);
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %s %u has dims %s", job->op->name, role, (unsigned)index,
             dims.text);
  }
  if (t->layout != SMR_LAYOUT_PLAIN && !packed_allowed)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %s %u is packed (layout %u), which only weights can be",
             job->op->name, role, (unsigned)index, (unsigned)t->layout);
  bytes = smr_packed_bytes(t->dtype, bytes);
  if (t->constant >= 0 && t->layout == SMR_LAYOUT_PLAIN && !empty && t->size_bytes < bytes)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: constant input %u has %zu bytes, its dims need %zu",
             job->op->name, (unsigned)index, t->size_bytes, bytes);
  return SAMARA_OK;
}

static samara_status op_check_count(const struct smr_job *job, const char *what, uint32_t count,
                                    uint32_t least, uint32_t most) {
  if (count >= least && (most == 255 || count <= most)) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE, "%s: has %u %s, expected %u to %u", job->op->name,
           (unsigned)count, what, (unsigned)least, (unsigned)most);
}

static samara_status op_check_tensors(const struct smr_job *job) {
  const struct smr_op *op = job->op;
  SMR_TRY(op_check_count(job, "inputs", job->input_count, op->min_inputs, op->max_inputs));
  SMR_TRY(op_check_count(job, "outputs", job->output_count, op->min_outputs, op->max_outputs));
  const bool weights = op->check_class == smr_check_matmul || op->check_class == smr_check_conv ||
                       op->check_class == smr_check_matmul_blocks;
  for (uint32_t i = 0; i < job->input_count; i++) {
    const bool optional = i >= op->min_inputs && op->max_inputs != 255;
    if (job->inputs[i] == NULL && optional) continue;
    if (job->inputs[i] == NULL)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: input %u is required", op->name, (unsigned)i);
    SMR_TRY(op_check_tensor(job, job->inputs[i], "input", i, weights && i == 1));
  }
  const bool measured = op->funcs != NULL && op->funcs->measure != NULL;
  for (uint32_t i = 0; i < job->output_count; i++) {
    if (job->outputs[i] == NULL)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: output %u is required", op->name, (unsigned)i);
    if (!measured) SMR_TRY(op_check_tensor(job, job->outputs[i], "output", i, false));
  }
  return SAMARA_OK;
}

samara_status smr_op_check(const struct smr_job *job) {
  SMR_TRY(op_check_tensors(job));
  if (job->op->check_class != NULL) SMR_TRY(job->op->check_class(job));
  if (job->op->funcs != NULL && job->op->funcs->check != NULL) SMR_TRY(job->op->funcs->check(job));
  return SAMARA_OK;
}
