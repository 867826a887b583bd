// SPDX-License-Identifier: Apache-2.0
// Weights of products whose other operand is quantized at run time.
#include "base/fp.h"

#include "ops/matmul/dynamic.h"

#include "ops/check/check.h"
#include "simd/common.h"

#include <string.h>

static size_t dynamic_columns(const struct smr_linear *l) {
  return l->groups * smr_panels(l->n) * SMR_PANEL;
}

samara_status smr_dynamic_prepare(struct smr_job *job, const struct smr_attrs_epilogue *epilogue,
                                  struct smr_dynamic *d) {
  SMR_TRY(smr_linear_prepare(job, epilogue, &d->linear));
  const size_t columns = dynamic_columns(&d->linear);
  const struct smr_quant *quant = job->inputs[1]->quant;
  d->shifted = false;
  for (uint32_t i = 0; i < quant->count; i++) d->shifted = d->shifted || quant->zero_points[i] != 0;
  SMR_NEED(job, i8_gemm_to_f32);
  if (d->shifted) SMR_NEED(job, i8_gemm_w_zero);
  if (job->inputs[1]->constant >= 0 && d->linear.weight_key != 0 && columns > 0) {
    d->sums_from = SMR_LINEAR_DERIVED;
    const uint32_t key = SMR_LINEAR_KEY_SUMS | (d->linear.weight_key % SMR_LINEAR_KEY_LIMIT);
    d->sums_derived = smr_linear_derive(job, 1, key, columns * sizeof(int32_t));
  } else {
    d->sums_from = SMR_LINEAR_SCRATCH;
    SMR_TRY(smr_scratch_take(job, columns, sizeof(int32_t), &d->sums_offset));
  }
  SMR_TRY(smr_scratch_take(job, columns, sizeof(int32_t), &d->start_offset));
  SMR_TRY(smr_scratch_take(job, columns, sizeof(float), &d->multiplier_offset));
  return smr_scratch_take(job, columns, sizeof(int32_t), &d->zero_offset);
}

samara_status smr_dynamic_pack_to(const struct smr_job *job, const struct smr_dynamic *d,
                                  const struct smr_derived *what, void *out) {
  if (what->layout / SMR_LINEAR_KEY_LIMIT != SMR_LINEAR_KEY_SUMS / SMR_LINEAR_KEY_LIMIT)
    return smr_linear_pack_to(job, &d->linear, what, out);
  smr_linear_sums(job, &d->linear, out);
  return SAMARA_OK;
}

samara_status smr_dynamic_pack(const struct smr_job *job, const struct smr_derived *what,
                               void *out) {
  return smr_dynamic_pack_to(job, job->state, what, out);
}

static void *dynamic_scratch(const struct smr_job *job, size_t offset) {
  return (char *)job->scratch + offset;
}

static const int32_t *dynamic_sums(const struct smr_job *job, const struct smr_dynamic *d) {
  return d->sums_from == SMR_LINEAR_SCRATCH ? dynamic_scratch(job, d->sums_offset)
                                            : job->derived[d->sums_derived].data;
}

// The scales of the file are the multipliers of whole panels.
static bool dynamic_scales_fit(const struct smr_job *job, const struct smr_linear *l) {
  return job->inputs[1]->quant->axis >= 0 && l->n % SMR_PANEL == 0;
}

SMR_HOT_VECTORIZED static void dynamic_start(size_t n, uint32_t offset, uint32_t rows,
                                             const int32_t *restrict sums,
                                             const int32_t *restrict zeros,
                                             int32_t *restrict start) {
  for (size_t i = 0; i < n; i++)
    start[i] = (int32_t)(offset * (rows * (uint32_t)zeros[i] - (uint32_t)sums[i]));
}

void smr_dynamic_prologue_row(const struct smr_job *job, const struct smr_dynamic *d) {
  const struct smr_linear *l = &d->linear;
  const struct smr_quant *quant = job->inputs[1]->quant;
  const size_t padded = smr_panels(l->n) * SMR_PANEL;
  smr_linear_prologue(job, l);
  if (dynamic_scales_fit(job, l)) return;
  for (size_t g = 0; g < l->groups; g++) {
    float *m = (float *)dynamic_scratch(job, d->multiplier_offset) + g * padded;
    const size_t at = quant->axis < 0 ? 0 : g * l->n, step = quant->axis < 0 ? 0 : 1;
    for (size_t i = 0; i < padded; i++) m[i] = i < l->n ? quant->scales[at + i * step] : 0.0f;
  }
}

void smr_dynamic_prologue(const struct smr_job *job, const struct smr_dynamic *d) {
  const struct smr_linear *l = &d->linear;
  const struct smr_quant *quant = job->inputs[1]->quant;
  const uint32_t offset = (uint32_t)smr_i8_gemm_config(job->isa)->a_offset;
  const size_t columns = dynamic_columns(l), padded = smr_panels(l->n) * SMR_PANEL;
  smr_dynamic_prologue_row(job, d);
  if (d->sums_from == SMR_LINEAR_SCRATCH)
    smr_linear_sums(job, l, dynamic_scratch(job, d->sums_offset));
  int32_t *start = dynamic_scratch(job, d->start_offset);
  int32_t *zeros = dynamic_scratch(job, d->zero_offset);
  for (size_t g = 0; d->shifted && g < l->groups; g++) {
    int32_t *z = zeros + g * padded;
    const size_t at = quant->axis < 0 ? 0 : g * l->n, step = quant->axis < 0 ? 0 : 1;
    for (size_t i = 0; i < padded; i++) z[i] = i < l->n ? quant->zero_points[at + i * step] : 0;
  }
  if (!d->shifted) memset(zeros, 0, columns * sizeof *zeros);
  // Subtract what the offset adds to the sum of (q + offset) * w. The kernel handles zero points.
  if (offset == 0)
    memset(start, 0, columns * sizeof *start);
  else
    dynamic_start(columns, offset, (uint32_t)(l->taps * l->k), dynamic_sums(job, d), zeros, start);
}

// -zero * sum of (w - z_w) of a column.
static uint32_t dynamic_shift(const struct smr_job *job, const struct smr_dynamic *d, int32_t zero,
                              size_t column) {
  const int32_t *sums = dynamic_sums(job, d), *zeros = dynamic_scratch(job, d->zero_offset);
  const uint32_t rows = (uint32_t)(d->linear.taps * d->linear.k);
  return 0u - (uint32_t)zero * ((uint32_t)sums[column] - rows * (uint32_t)zeros[column]);
}

void smr_dynamic_shift(const struct smr_job *job, const struct smr_dynamic *d, int32_t zero) {
  int32_t *start = dynamic_scratch(job, d->start_offset);
  for (size_t i = 0; i < dynamic_columns(&d->linear); i++)
    start[i] = (int32_t)((uint32_t)start[i] + dynamic_shift(job, d, zero, i));
}

void smr_dynamic_shifts(const struct smr_job *job, const struct smr_dynamic *d, int32_t zero,
                        int32_t *shifts) {
  for (size_t i = 0; i < d->linear.n; i++) shifts[i] = (int32_t)dynamic_shift(job, d, zero, i);
}

static void dynamic_post(void *context, float *out, size_t rows, size_t columns,
                         size_t out_stride) {
  smr_linear_post(context, out, rows, columns, out_stride, SMR_GEMM_F32);
}

void smr_dynamic_args(const struct smr_job *job, const struct smr_dynamic *d,
                      struct smr_i8_gemm_args *args) {
  const struct smr_linear *l = &d->linear;
  args->batch = l->groups;
  args->n = l->n;
  args->taps = 1;
  args->w = smr_linear_weights(job, l);
  args->panel_stride_bytes = l->panel_stride_bytes;
  args->w_batch_stride_bytes = l->w_group_bytes;
  args->columns_batch_stride = smr_panels(l->n) * SMR_PANEL;
  args->to = SMR_I8_TO_F32;
  args->f32_lo = l->lo;
  args->f32_hi = l->hi;
  if (SMR_HAS(linear_post) && l->post.function != NULL) args->post = dynamic_post;
  args->post_context = (void *)(uintptr_t)&l->post;
  if (job->scratch == NULL) return;  // a plan only asks for sizes
  args->columns = (struct smr_i8_gemm_columns){
      .start = dynamic_scratch(job, d->start_offset),
      .w_zero = d->shifted ? dynamic_scratch(job, d->zero_offset) : NULL,
      .multiplier = dynamic_scales_fit(job, l) ? job->inputs[1]->quant->scales
                                               : dynamic_scratch(job, d->multiplier_offset),
      .bias = smr_linear_bias(job, l),
  };
}
