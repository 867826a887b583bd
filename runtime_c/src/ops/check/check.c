// SPDX-License-Identifier: Apache-2.0
// The check that every node must pass, and helpers of the check classes.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

#include "base/format.h"

struct smr_dims_text smr_dims_text(const int64_t *dims, uint32_t rank) {
  struct smr_dims_text out;
  size_t used = 0;
  out.text[used++] = '[';
  for (uint32_t i = 0; i < rank && i < SAMARA_MAX_RANK; i++) {
    const size_t room = sizeof out.text - used;
    const size_t n = smr_format(out.text + used, room, "%s%" PRId64, i ? ", " : "", dims[i]);
    if (n >= room - 1) break;
    used += n;
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

samara_status smr_expect_one_dtype(const struct smr_job *job, uint32_t set) {
  const struct smr_tensor *x = job->inputs[0];
  SMR_TRY(smr_expect_dtype(job, x, "input", set));
  const uint32_t inputs = job->input_count;
  for (uint32_t i = 1; i < inputs + job->output_count; i++) {
    const struct smr_tensor *t = i < inputs ? job->inputs[i] : job->outputs[i - inputs];
    if (t != NULL)
      SMR_TRY(smr_expect_same_dtype(job, x, t, i < inputs ? "inputs" : "input and output"));
  }
  return SAMARA_OK;
}

samara_status smr_expect_pixels(const struct smr_job *job, const struct smr_tensor *x) {
  for (uint32_t i = 1; i + 1 < x->rank; i++)
    if (x->dims[i] < 1 || x->dims[i] > INT32_MAX)
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: spatial axis %u of x has extent %" PRId64 ", expected 1 to 2147483647",
               job->op->name, (unsigned)i - 1, x->dims[i]);
  return SAMARA_OK;
}

samara_status smr_expect_axis(const struct smr_job *job, int64_t axis, uint32_t rank,
                              uint32_t *out) {
  if (axis < -(int64_t)rank || axis >= (int64_t)rank)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: axis %" PRId64 " is out of range for rank %u",
             job->op->name, axis, (unsigned)rank);
  *out = (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
  return SAMARA_OK;
}

samara_status smr_expect_ints(const struct smr_job *job, const struct smr_attr *attr,
                              uint32_t count, int64_t least, int64_t most, const int64_t **out) {
  const char *name = smr_attr_name(&smr_attr_descs[job->op->attr_first + (attr - job->attrs)]);
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

samara_status smr_expect_shape(const struct smr_job *job, const struct smr_attr *attr) {
  const struct smr_tensor *y = job->outputs[0];
  const int64_t *shape;
  SMR_TRY(smr_expect_ints(job, attr, y->rank, 0, INT64_MAX, &shape));
  return smr_expect_dims(job, y, "output", shape, y->rank);
}

bool smr_broadcast_dims(int64_t *dims, uint32_t *rank, const int64_t *more, uint32_t more_rank) {
  const uint32_t longest = *rank > more_rank ? *rank : more_rank;
  int64_t out[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < longest; i++) {  // axis i, counted from the end
    const int64_t a = i < *rank ? dims[*rank - 1 - i] : 1;
    const int64_t b = i < more_rank ? more[more_rank - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) return false;
    out[longest - 1 - i] = a == 1 ? b : a;
  }
  for (uint32_t i = 0; i < longest; i++) dims[i] = out[i];
  *rank = longest;
  return true;
}

// The decoder has already checked counts, dtypes, ranks and sizes of constants of a model. Only
// single operators (`eager`) come unchecked from the caller.

static samara_status op_check_tensor(const struct smr_job *job, const struct smr_tensor *t,
                                     bool packed_allowed) {
  const size_t element = smr_dtype_bytes(t->dtype);
  const char *dtype = smr_dtype_name(t->dtype);
  const uint32_t more = job->op->funcs != NULL ? job->op->funcs->more_dtypes : UINT32_MAX;
  if (SMR_HAS(eager) && (element == 0 || t->rank > SAMARA_MAX_RANK))
    SMR_FAIL(job->error, BAD_SHAPE, "has dtype %s and rank %u", dtype, (unsigned)t->rank);
  const bool fits_op = t->dtype <= SAMARA_BOOL || (more >> t->dtype & 1u) != 0;
  if (!fits_op || (job->op->dtypes >> t->dtype & 1u) == 0)
    return smr_fail(job->error, fits_op ? SAMARA_UNSUPPORTED : SAMARA_BAD_SHAPE,
                    "cannot have dtype %s%s", dtype, fits_op ? " in this build" : "");
  size_t bytes;
  if (SMR_HAS(eager) && !smr_dims_bytes(t->dtype, t->rank, t->dims, &bytes))
    SMR_FAIL(job->error, BAD_SHAPE, "has dims out of range: dim %zu is %" PRId64, bytes,
             t->dims[bytes]);
  if (t->layout != SMR_LAYOUT_PLAIN && !packed_allowed)
    SMR_FAIL(job->error, BAD_SHAPE, "is packed (layout %u), which only weights can be",
             (unsigned)t->layout);
  if (SMR_HAS(eager) && t->constant >= 0 && t->layout == SMR_LAYOUT_PLAIN && t->size_bytes < bytes)
    SMR_FAIL(job->error, BAD_SHAPE, "has %zu bytes, its dims need %zu", t->size_bytes, bytes);
  return SAMARA_OK;
}

// Optional inputs may be absent, unless the operator takes any number of inputs. The dims of
// measured outputs are not known yet.
static samara_status op_check_tensors(const struct smr_job *job, bool is_input) {
  const struct smr_op *op = job->op;
  const char *role = is_input ? "input" : "output";
  struct smr_tensor *const *tensors = is_input ? job->inputs : job->outputs;
  const uint32_t count = is_input ? job->input_count : job->output_count;
  const uint32_t least = is_input ? op->min_inputs : op->min_outputs;
  const uint32_t most = is_input ? op->max_inputs : op->max_outputs;
  if (SMR_HAS(eager) && (count < least || (most != 255 && count > most)))
    SMR_FAIL(job->error, BAD_SHAPE, "%s: has %u %ss, expected %u to %u", op->name, (unsigned)count,
             role, (unsigned)least, (unsigned)most);
  for (uint32_t i = 0; i < count; i++) {
    samara_status status = SAMARA_OK;
    if (tensors[i] == NULL) {
      if (!SMR_HAS(eager) || (is_input && i >= least && most != 255)) continue;
      status = smr_fail(job->error, SAMARA_BAD_SHAPE, "is required");
    } else if (is_input || op->funcs == NULL || op->funcs->measure == NULL) {
      const uint32_t inputs = ((op->flags & SMR_OP_PACKED_IN) != 0 ? 1u << 1 : 0u) |
                              (op->funcs != NULL ? op->funcs->packed_inputs : 0u);
      const bool packed = is_input && i < 32 && (inputs >> i & 1u) != 0;
      status = op_check_tensor(job, tensors[i], packed);
    }
    if (status != SAMARA_OK)
      return smr_fail_prefix(job->error, status, "%s: %s %u ", op->name, role, (unsigned)i);
  }
  return SAMARA_OK;
}

samara_status smr_op_check(const struct smr_job *job) {
  SMR_TRY(op_check_tensors(job, true));
  SMR_TRY(op_check_tensors(job, false));
  if (job->op->check_class != NULL) SMR_TRY(job->op->check_class(job));
  if (job->op->funcs != NULL && job->op->funcs->check != NULL) SMR_TRY(job->op->funcs->check(job));
  return SAMARA_OK;
}
