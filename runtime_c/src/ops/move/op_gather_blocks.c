// SPDX-License-Identifier: Apache-2.0
// gather_blocks: selects rows of a 4- or 8-bit table. Only the selected rows are converted to
// floats.
//
// A table that is also the weights of a product lies in its panels (kernels/f32_narrow): a row is
// then collected from its panel.
#include "base/fp.h"

#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/f32_narrow/f32_narrow.h"
#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/quantize/block_weights.h"
#include "ops/table/attrs.h"
#include "ops/table/funcs.h"
#include "simd/half.h"

struct gather_blocks_state {
  struct smr_units units;  // indices
  size_t width, block, count;
  bool wrap;            // negative indices count from the end
  size_t scale_stride;  // elements of a panel of scales; 0: they are row-major
};

static samara_status gather_blocks_prepare(struct smr_job *job) {
  struct gather_blocks_state *s = job->state;
  const struct smr_tensor *w = job->inputs[0];
  *s = (struct gather_blocks_state){.width = (size_t)w->dims[1],
                                    .block = (size_t)SMR_ATTR(job, gather_blocks, block)->i,
                                    .wrap = SMR_ATTR(job, gather_blocks, wrap)->i != 0};
  s->count = s->width / s->block + (s->width % s->block != 0);
  if (job->inputs[1]->layout != SMR_LAYOUT_PLAIN) {
    const size_t element = smr_dtype_bytes(job->inputs[1]->dtype);
    s->scale_stride = (s->count * SMR_PANEL * element + 63) / 64 * 64 / element;
  }
  const size_t rows = s->width > 0 ? (size_t)smr_numel(job->inputs[2]) : 0;
  s->units = smr_units_make(job, rows, s->width * sizeof(float));
  job->kernel = "gather_blocks";
  return SAMARA_OK;
}

// Converts `n` elements of row `row` of a table in panels, from `first` on.
static void gather_blocks_collect(const struct smr_tensor *w, size_t width, size_t row,
                                  size_t first, size_t n, float zero, float scale, float *out) {
  const bool bytes = w->dtype == SAMARA_INT8;
  const size_t stride = smr_narrow_panel_bytes(bytes ? SMR_NARROW_I8 : SMR_NARROW_I4, width);
  const uint8_t *lane = (const uint8_t *)w->data + row / SMR_PANEL * stride + row % SMR_PANEL * 4;
  const int32_t less = w->dtype == SAMARA_INT4 ? 8 : 0;
  for (size_t i = 0; i < n; i++) {
    const size_t k = first + i, within = k % SMR_NARROW_ROWS_4;
    int32_t q;
    if (bytes) {
      q = (int8_t)lane[k / 4 * 64 + k % 4];
    } else {
      const uint8_t byte = lane[(k / SMR_NARROW_ROWS_4 * 4 + within % 16 / 4) * 64 + k % 4];
      q = ((within < 16 ? byte & 15 : byte >> 4) ^ less) - less;
    }
    out[i] = ((float)q - zero) * scale;
  }
}

// The same for a row-major table; `first` counts from its start.
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
    size_t scale_at = at;
    if (s->scale_stride != 0)
      scale_at = row / SMR_PANEL * s->scale_stride + b * SMR_PANEL + row % SMR_PANEL;
    const size_t n = s->width - first < s->block ? s->width - first : s->block;
    const float scale = scales->dtype == SAMARA_FLOAT16
                            ? smr_f16_to_f32(((const uint16_t *)scales->data)[scale_at])
                            : ((const float *)scales->data)[scale_at];
    const float zero = zeros != NULL ? (float)smr_blocks_at(zeros, at) : 0.0f;
    const struct smr_tensor *w = job->inputs[0];
    if (w->layout != SMR_LAYOUT_PLAIN)
      gather_blocks_collect(w, s->width, row, first, n, zero, scale, out + first);
    else
      gather_blocks_expand(w, row * s->width + first, n, zero, scale, out + first);
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
  SMR_TRY(smr_blocks_check_layouts(job, job->inputs[0], job->inputs[1]));
  SMR_TRY(smr_expect_dtype(job, job->inputs[2], "indices", SMR_DTYPE_I32 | SMR_DTYPE_I64));
  return smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_F32);
}

const struct smr_op_funcs smr_op_gather_blocks_funcs = {
    .check = gather_blocks_check,
    .prepare = gather_blocks_prepare,
    .run = gather_blocks_run,
    .state_bytes = sizeof(struct gather_blocks_state),
    .more_dtypes = SMR_DTYPES_PACKED,
    .packed_inputs = 1u << 0 | 1u << 1};
