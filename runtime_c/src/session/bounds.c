// SPDX-License-Identifier: Apache-2.0
// Upper bounds of dims: an interval pass over a function's expressions.
#include "base/fp.h"

#include "session/session.h"

#include "base/checked.h"

static int64_t bounds_min(int64_t a, int64_t b) { return a < b ? a : b; }

// What an element of that type can be, as an expression sees it.
static void bounds_of_read(const struct smr_frame *frame, const struct smr_expr *expr, int64_t *lo,
                           int64_t *hi) {
  switch (frame->function->values[expr->a].dtype) {
    case SAMARA_BOOL:
      *lo = 0, *hi = 1;
      break;
    case SAMARA_UINT8:
      *lo = 0, *hi = 255;
      break;
    case SAMARA_INT8:
      *lo = -128, *hi = 127;
      break;
    default:
      *lo = INT64_MIN, *hi = SMR_UNBOUNDED_DIM;
      break;
  }
  if (expr->c >= 0) *hi = bounds_min(*hi, frame->hi[expr->c]);
}

void smr_frame_bounds(struct smr_frame *frame, uint32_t exact_stages) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->expr_count; i++) {
    const struct smr_expr *e = &f->exprs[i];
    int64_t *lo = &frame->lo[i], *hi = &frame->hi[i];
    if (f->expr_stage[i] < exact_stages) {
      *lo = *hi = frame->exprs[i];
      continue;
    }
    switch (e->op) {
      case SMR_EXPR_INPUT_DIM:
        *lo = frame->input_lo[e->a][e->b];
        *hi = frame->input_hi[e->a][e->b];
        break;
      case SMR_EXPR_READ:
        bounds_of_read(frame, e, lo, hi);
        break;
      case SMR_EXPR_BORN:
        *lo = 0;
        *hi = e->k >= 0 ? frame->hi[e->k] : SMR_UNBOUNDED_DIM;
        break;
      default:
        smr_expr_interval(f->exprs, i, frame->lo, frame->hi, lo, hi);
        break;
    }
  }
}

int64_t smr_value_dim_bound(const struct smr_frame *frame, uint32_t id, uint32_t axis) {
  const int64_t hi = frame->hi[frame->function->values[id].dims[axis]];
  return hi > 0 ? hi : 0;
}

size_t smr_value_bytes_bound(const struct smr_frame *frame, uint32_t id) {
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

void smr_frame_widen_input(struct smr_frame *callee, uint32_t input, uint32_t axis, int64_t lo,
                           int64_t hi) {
  int64_t *to_lo = &callee->input_lo[input][axis], *to_hi = &callee->input_hi[input][axis];
  if (!callee->called || lo < *to_lo) *to_lo = lo;
  if (!callee->called || hi > *to_hi) *to_hi = hi;
}
