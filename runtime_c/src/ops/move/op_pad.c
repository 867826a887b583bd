// SPDX-License-Identifier: Apache-2.0
// pad: one row at a time, along the last axis that is padded or cropped.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"

enum { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };  // attribute `mode`

struct pad_axis {
  size_t out;           // extent of the output
  size_t kept;          // elements of the input left after cropping
  size_t crop_begin;    // elements cropped at the beginning
  ptrdiff_t grown;      // elements added there
  size_t stride_bytes;  // of the input
};

struct pad_state {
  struct smr_units units;  // rows
  struct pad_axis axes[SAMARA_MAX_RANK];
  uint32_t row_axis;   // axis of the rows
  size_t block_bytes;  // bytes per index of row_axis
  size_t element_bytes;
  int64_t mode;
};

static samara_status pad_prepare(struct smr_job *job) {
  struct pad_state *state = (struct pad_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const int64_t *pads = SMR_ATTR(job, pad, pads)->ints;
  size_t strides[SAMARA_MAX_RANK];
  smr_dense_strides(x, strides);
  *state = (struct pad_state){.mode = SMR_ATTR(job, pad, mode)->i,
                              .element_bytes = smr_dtype_bytes(x->dtype)};
  for (uint32_t i = 0; i < x->rank; i++) {
    const int64_t before = pads[i], after = pads[x->rank + i];
    const int64_t crop_begin = before < 0 ? -before : 0, crop_end = after < 0 ? -after : 0;
    state->axes[i] = (struct pad_axis){.out = (size_t)y->dims[i],
                                       .kept = (size_t)(x->dims[i] - crop_begin - crop_end),
                                       .crop_begin = (size_t)crop_begin,
                                       .grown = (ptrdiff_t)(before > 0 ? before : 0),
                                       .stride_bytes = strides[i]};
    if (before != 0 || after != 0) state->row_axis = i;
  }
  state->block_bytes = state->element_bytes;
  if (x->rank > 0) state->block_bytes *= smr_extent(y, state->row_axis + 1, y->rank);
  const size_t row_bytes =
      state->block_bytes * (x->rank > 0 ? state->axes[state->row_axis].out : 1);
  const size_t rows = row_bytes > 0 ? smr_extent(y, 0, x->rank > 0 ? state->row_axis : 0) : 0;
  state->units = smr_units_make(job, rows, row_bytes);
  job->kernel = "pad";
  return SAMARA_OK;
}

// Index of the input element for output index `i` of an axis; -1: the padding value.
static ptrdiff_t pad_source(const struct pad_axis *axis, int64_t mode, size_t i) {
  const ptrdiff_t kept = (ptrdiff_t)axis->kept;
  ptrdiff_t c = (ptrdiff_t)i - axis->grown;
  if (c < 0 || c >= kept) {
    switch (mode) {
      case PAD_REFLECT:
        c = c < 0 ? -c : 2 * (kept - 1) - c;
        break;
      case PAD_EDGE:
        c = c < 0 ? 0 : kept - 1;
        break;
      case PAD_WRAP:
        c %= kept;
        if (c < 0) c += kept;
        break;
      default:
        return -1;
    }
  }
  return c + (ptrdiff_t)axis->crop_begin;
}

// Writes `bytes` of repeated elements.
static void pad_fill(char *dst, size_t bytes, const char *value, size_t element_bytes) {
  bool one_byte = true;
  for (size_t i = 1; i < element_bytes; i++) one_byte = one_byte && value[i] == value[0];
  if (one_byte)
    memset(dst, value[0], bytes);
  else
    for (size_t i = 0; i < bytes; i += element_bytes) smr_copy_block(dst + i, value, element_bytes);
}

// Writes one row. `src` is the input's row. There is at least one element to copy or a padding
// value.
static void pad_row(const struct pad_state *state, const char *src, char *dst, const char *value) {
  const struct pad_axis *axis = &state->axes[state->row_axis];
  const size_t block = state->block_bytes;
  const size_t left = (size_t)axis->grown;  // kept elements follow, then the padding at the end
  const size_t right = left + axis->kept;
  memcpy(dst + left * block, src + axis->crop_begin * block, axis->kept * block);
  if (state->mode == PAD_CONSTANT) {
    pad_fill(dst, left * block, value, state->element_bytes);
    pad_fill(dst + right * block, (axis->out - right) * block, value, state->element_bytes);
    return;
  }
  for (size_t i = 0; i < axis->out; i++) {
    if (i == left) i = right;
    if (i == axis->out) break;
    smr_copy_block(dst + i * block, src + (size_t)pad_source(axis, state->mode, i) * block, block);
  }
}

static samara_status pad_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  const struct pad_state *state = (const struct pad_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  const struct smr_tensor *given = job->input_count > 1 ? job->inputs[1] : NULL;
  char zero[8] = {0};  // for qint8: the byte that represents 0
  if (x->quant != NULL) zero[0] = (char)x->quant->zero_points[0];
  const char *value = given != NULL ? (const char *)given->data : zero;
  const size_t row_bytes =
      state->block_bytes * (x->rank > 0 ? state->axes[state->row_axis].out : 1);
  const size_t last = smr_units_begin(&state->units, end);
  for (size_t row = smr_units_begin(&state->units, begin); row < last; row++) {
    char *dst = (char *)job->outputs[0]->data + row * row_bytes;
    if (x->rank == 0) {
      memcpy(dst, x->data, row_bytes);
      continue;
    }
    const char *src = (const char *)x->data;
    size_t rest = row;
    bool inside = true;
    for (uint32_t i = state->row_axis; i-- > 0;) {
      const ptrdiff_t from = pad_source(&state->axes[i], state->mode, rest % state->axes[i].out);
      rest /= state->axes[i].out;
      inside = inside && from >= 0;
      if (inside) src += (size_t)from * state->axes[i].stride_bytes;
    }
    if (inside && state->axes[state->row_axis].kept > 0)
      pad_row(state, src, dst, value);
    else
      pad_fill(dst, row_bytes, value, state->element_bytes);
  }
  return SAMARA_OK;
}

// A quantized tensor must have one zero point, so that one byte represents 0.
static samara_status pad_check(const struct smr_job *job) {
  const struct smr_quant *quant = job->inputs[0]->quant;
  SMR_TRY(smr_move_check(job));
  if (quant == NULL || (quant->count == 1 && quant->axis == -1)) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE,
           "pad: the input is quantized along axis %d, expected one scale and zero point",
           (int)quant->axis);
}

const struct smr_op_funcs smr_op_pad_funcs = {.check = pad_check,
                                              .prepare = pad_prepare,
                                              .run = pad_run,
                                              .state_bytes = sizeof(struct pad_state),
                                              .more_dtypes = SMR_DTYPES_MORE};
