// SPDX-License-Identifier: Apache-2.0
// Upper bounds of dims: an interval pass over a function's expressions.
#include "base/fp.h"

#include "session/plan/plan.h"

#include "base/checked.h"

// The interval of an element of the dtype, as an expression reads it.
static void bounds_of_read(const struct smr_frame *frame, const struct smr_expr *expr, int64_t *lo,
                           int64_t *hi) {
  const uint8_t dtype = frame->function->values[expr->a].dtype;
  *lo = INT64_MIN;
  if (dtype == SAMARA_INT8) *lo = -128, *hi = 127;
  if (dtype == SAMARA_UINT8) *lo = 0, *hi = 255;
  if (dtype == SAMARA_BOOL) *lo = 0, *hi = 1;
  if (expr->c >= 0 && frame->hi[expr->c] < *hi) *hi = frame->hi[expr->c];
}

void smr_frame_bounds(struct smr_frame *frame, uint32_t exact_stages) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; SMR_HAS_BOUNDS && i < f->expr_count; i++) {
    const struct smr_expr *e = &f->exprs[i];
    int64_t *lo = &frame->lo[i], *hi = &frame->hi[i];
    *lo = 0;
    *hi = SMR_UNBOUNDED_DIM;
    if (exact_stages > 0 && smr_expr_known(f, i, exact_stages - 1)) {
      *lo = *hi = frame->exprs[i];
    } else if (e->op == SMR_EXPR_CONST) {
      *lo = *hi = e->k;
    } else if (SMR_HAS(late) && e->op == SMR_EXPR_READ) {
      bounds_of_read(frame, e, lo, hi);
    } else if (SMR_HAS(late) && e->op == SMR_EXPR_BORN) {
      if (e->k >= 0) *hi = frame->hi[e->k];
    } else if (SMR_HAS(symbolic) && e->op == SMR_EXPR_INPUT_DIM) {
      *lo = frame->input_lo[e->a][e->b];
      *hi = frame->input_hi[e->a][e->b];
    } else if (SMR_HAS(symbolic)) {
      smr_expr_interval(f->exprs, i, frame->lo, frame->hi, lo, hi);
    }
  }
}

int64_t smr_value_dim_bound(const struct smr_frame *frame, uint32_t id, uint32_t axis) {
  const int64_t hi = smr_expr_hi(frame, frame->function->values[id].dims[axis]);
  return hi > 0 ? hi : 0;
}

size_t smr_value_bytes_bound(const struct smr_frame *frame, uint32_t id) {
  if (!SMR_HAS_BOUNDS) return frame->values[id].tensor.size_bytes;
  const struct smr_value *v = &frame->function->values[id];
  size_t bytes = smr_dtype_bytes(v->dtype);
  bool bounded = true;
  for (uint32_t i = 0; i < v->rank; i++) {
    const int64_t hi = smr_value_dim_bound(frame, id, i);
    if (hi == 0) return 0;
    bounded = bounded && hi != SMR_UNBOUNDED_DIM && (uint64_t)hi <= SIZE_MAX &&
              smr_mul_size(bytes, (size_t)hi, &bytes);
  }
  return bounded ? smr_packed_bytes(v->dtype, bytes) : SMR_UNBOUNDED_BYTES;
}

void smr_frame_widen_input(const struct smr_frame *frame, uint32_t value, struct smr_frame *callee,
                           uint32_t input) {
  const struct smr_value *v = &frame->function->values[value];
  for (uint32_t axis = 0; axis < v->rank; axis++) {
    const int64_t lo = frame->lo[v->dims[axis]], hi = smr_value_dim_bound(frame, value, axis);
    int64_t *to_lo = &callee->input_lo[input][axis], *to_hi = &callee->input_hi[input][axis];
    if (!callee->called || lo < *to_lo) *to_lo = lo > 0 ? lo : 0;
    if (!callee->called || hi > *to_hi) *to_hi = hi;
  }
}
