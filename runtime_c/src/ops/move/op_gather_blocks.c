// SPDX-License-Identifier: Apache-2.0
// gather_blocks: selects rows of a 4- or 8-bit table. Only the selected rows are converted to
// floats.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/quantize/block_weights.h"
#include "ops/table/attrs.h"
#include "ops/table/funcs.h"
#include "simd/half.h"

struct gather_blocks_state {
  struct smr_units units;  // indices
  size_t width, block, count;
  bool wrap;  // negative indices count from the end
};

static samara_status gather_blocks_prepare(struct smr_job *job) {
  struct gather_blocks_state *s = job->state;
  const struct smr_tensor *w = job->inputs[0];
  *s = (struct gather_blocks_state){.width = (size_t)w->dims[1],
                                    .block = (size_t)SMR_ATTR(job, gather_blocks, block)->i,
                                    .wrap = SMR_ATTR(job, gather_blocks, wrap)->i != 0};
  s->count = s->width / s->block + (s->width % s->block != 0);
  const size_t rows = s->width > 0 ? (size_t)smr_numel(job->inputs[2]) : 0;
  s->units = smr_units_make(job, rows, s->width * sizeof(float));
  job->kernel = "gather_blocks";
  return SAMARA_OK;
}

// Converts `n` elements of a row, from `first` on.
static void gather_blocks_expand(const struct smr_tensor *w, size_t first, size_t n, float zero,
                                 float scale, float *out) {
  if (w->dtype == SAMARA_INT8) {
    const int8_t *q = (const int8_t *)w->data + first;
    for (size_t i = 0; i < n; i++) out[i] = ((float)q[i] - zero) * scale;
    return;
  }
  // A table of all 16 values.
  const int32_t less = w->dtype == SAMARA_INT4 ? 8 : 0;
  float values[16];
  for (int32_t i = 0; i < 16; i++) values[i] = ((float)((i ^ less) - less) - zero) * scale;
  const uint8_t *bytes = (const uint8_t *)w->data + first / 2;
  size_t i = 0;
  if (first % 2 != 0 && n > 0) out[i++] = values[*bytes++ >> 4];
  for (; i + 2 <= n; i += 2, bytes++) {
    out[i] = values[*bytes & 15];
    out[i + 1] = values[*bytes >> 4];
  }
  if (i < n) out[i] = values[*bytes & 15];
}

static void gather_blocks_row(const struct smr_job *job, const struct gather_blocks_state *s,
                              size_t row, float *out) {
  const struct smr_tensor *scales = job->inputs[1], *zeros = smr_optional_input(job, 3);
  for (size_t b = 0; b < s->count; b++) {
    const size_t at = row * s->count + b, first = b * s->block;
    const size_t n = s->width - first < s->block ? s->width - first : s->block;
    const float scale = scales->dtype == SAMARA_FLOAT16
                            ? smr_f16_to_f32(((const uint16_t *)scales->data)[at])
                            : ((const float *)scales->data)[at];
    const float zero = zeros != NULL ? (float)smr_blocks_at(zeros, at) : 0.0f;
    gather_blocks_expand(job->inputs[0], row * s->width + first, n, zero, scale, out + first);
  }
}

static samara_status gather_blocks_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *scratch) {
  (void)scratch;
  const struct gather_blocks_state *s = job->state;
  const struct smr_tensor *indices = job->inputs[2];
  const size_t last = smr_units_begin(&s->units, end);
  for (size_t i = smr_units_begin(&s->units, begin); i < last; i++) {
    size_t row;
    SMR_TRY(
        smr_move_index(job, smr_index_at(indices, i), i, job->inputs[0]->dims[0], s->wrap, &row));
    gather_blocks_row(job, s, row, (float *)job->outputs[0]->data + i * s->width);
  }
  return SAMARA_OK;
}

static samara_status gather_blocks_check(const struct smr_job *job) {
  SMR_TRY(smr_blocks_check(job, job->inputs[0], job->inputs[1], smr_optional_input(job, 3)));
  SMR_TRY(smr_expect_dtype(job, job->inputs[2], "indices", SMR_DTYPE_I32 | SMR_DTYPE_I64));
  return smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_F32);
}

const struct smr_op_funcs smr_op_gather_blocks_funcs = {
    .check = gather_blocks_check,
    .prepare = gather_blocks_prepare,
    .run = gather_blocks_run,
    .state_bytes = sizeof(struct gather_blocks_state),
    .more_dtypes = SMR_DTYPES_PACKED};
