// SPDX-License-Identifier: Apache-2.0
// Products of lstm and gru with quantized weights.
#include "base/fp.h"

#include "ops/recurrent/recurrent_narrow.h"

#include "kernels/i8_dynamic/i8_dynamic.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"

#include <math.h>

enum { NARROW_GATE_AXIS = 1 };

static samara_status narrow_check_operand(const struct smr_job *job, uint32_t input,
                                          const char *what) {
  const struct smr_tensor *t = job->inputs[input];
  SMR_TRY(smr_expect_dtype(job, t, what, SMR_DTYPE_QS8));
  const struct smr_quant *quant = t->quant;
  if (quant != NULL &&
      ((quant->axis < 0 && quant->count == 1) ||
       (quant->axis == NARROW_GATE_AXIS && (int64_t)quant->count == t->dims[NARROW_GATE_AXIS])))
    return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE,
           "%s: %s is quantized along axis %d, expected one scale or one"
           " per row of the gates",
           job->op->name, what, quant != NULL ? (int)quant->axis : -1);
}

samara_status smr_recurrent_narrow_check(const struct smr_job *job) {
  if ((job->op->flags & SMR_OP_TRAINING) != 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: weights are quantized, expected floats in training",
             job->op->name);
  SMR_TRY(smr_expect_dtype(job, job->inputs[SMR_RECURRENT_X], "x", SMR_DTYPE_F32));
  SMR_TRY(narrow_check_operand(job, SMR_RECURRENT_W, "w"));
  return narrow_check_operand(job, SMR_RECURRENT_R, "r");
}

static size_t narrow_padded(const struct smr_recurrent_weights *weights) {
  return smr_panels(weights->n) * SMR_PANEL;
}

samara_status smr_recurrent_narrow_scratch(struct smr_job *job, struct smr_recurrent *all) {
  struct smr_recurrent_narrow *s = &all->narrow8;
  const size_t f = sizeof(float), rows = all->steps * all->batch;
  SMR_TRY(smr_scratch_take(job, 3 * narrow_padded(&all->w), f, &s->w_columns));
  for (uint32_t i = 0; i < all->r_parts; i++)
    SMR_TRY(smr_scratch_take(job, 3 * narrow_padded(&all->r[i]), f, &s->r_columns[i]));
  SMR_TRY(smr_scratch_take(job, rows * all->inputs, 1, &s->x_offset));
  SMR_TRY(smr_scratch_take(job, rows, f, &s->x_scale_offset));
  SMR_TRY(smr_scratch_take(job, all->batch * all->hidden, 1, &s->row_offset));
  SMR_TRY(smr_scratch_take(job, all->batch, f, &s->row_scale_offset));
  return smr_scratch_take(job, all->batch * all->gates * all->hidden, f, &s->sum_offset);
}

static struct smr_i8_gemm_args narrow_args(const struct smr_recurrent_weights *weights,
                                           size_t rows) {
  return (struct smr_i8_gemm_args){.batch = 1,
                                   .m = rows,
                                   .n = weights->n,
                                   .k = weights->k,
                                   .taps = 1,
                                   .a_stride = weights->k,
                                   .panel_stride_bytes = weights->panel_stride_bytes,
                                   .to = SMR_I8_TO_F32,
                                   .f32_lo = -INFINITY,
                                   .f32_hi = INFINITY};
}

samara_status smr_recurrent_narrow_plan(struct smr_job *job, struct smr_recurrent *all) {
  SMR_NEED(job, i8_gemm_to_f32);
  SMR_NEED(job, i8_gemm_w_zero);  // without zero points the arrays hold zeros
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(job->isa);
  const struct smr_i8_gemm_args x = narrow_args(&all->w, all->steps * all->batch);
  smr_i8_gemm_plan_make(config, &x, &all->narrow8.w_plan);
  for (uint32_t i = 0; i < all->r_parts; i++) {
    const struct smr_i8_gemm_args args = narrow_args(&all->r[i], all->batch);
    smr_i8_gemm_plan_make(config, &args, &all->narrow8.r_plans[i]);
  }
  job->kernel = all->narrow8.r_plans[0].kernel;
  return SAMARA_OK;
}

void smr_recurrent_narrow_pack(const struct smr_job *job,
                               const struct smr_recurrent_weights *weights, const void *src,
                               void *out) {
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(job->isa);
  int8_t *panels = (int8_t *)out + weights->offset_bytes;
  smr_i8_pack(weights->k, weights->n, (const int8_t *)src + weights->first * weights->k, 1,
              weights->k, panels);
  // A zero point that cancels the offset to -1 makes the start value the plain sum.
  int32_t *sums = (int32_t *)(void *)(panels + weights->sums_bytes);
  smr_i8_gemm_start(config, weights->k, weights->n, panels, NULL, -1 - config->a_offset, NULL,
                    sums);
}

// ---- running ----

static void *narrow_at(const struct smr_recurrent_run *run, size_t offset) {
  return run->area + offset;
}

// Three consecutive arrays: start values, zero points, multipliers.
static void narrow_fill_columns(const struct smr_recurrent_run *run, uint32_t input,
                                const struct smr_recurrent_weights *weights, const void *panels,
                                size_t offset) {
  const struct smr_quant *quant = run->job->inputs[input]->quant;
  const uint32_t a_offset = (uint32_t)smr_i8_gemm_config(run->job->isa)->a_offset;
  const size_t padded = narrow_padded(weights);
  const int32_t *sums = (const int32_t *)(const void *)((const char *)panels + weights->sums_bytes);
  int32_t *start = narrow_at(run, offset), *zeros = start + padded;
  float *multiplier = (float *)narrow_at(run, offset) + 2 * padded;
  for (size_t j = 0; j < padded; j++) {
    const bool used = j < weights->n;
    const size_t at = quant->axis < 0 ? 0 : weights->first + j;
    zeros[j] = used ? quant->zero_points[at] : 0;
    multiplier[j] = used ? quant->scales[at] : 0.0f;
    start[j] =
        (int32_t)(a_offset * ((uint32_t)weights->k * (uint32_t)zeros[j] - (uint32_t)sums[j]));
  }
}

static struct smr_i8_gemm_columns narrow_columns(const struct smr_recurrent_run *run,
                                                 const struct smr_recurrent_weights *weights,
                                                 size_t offset, const float *bias) {
  const size_t padded = narrow_padded(weights);
  const int32_t *start = narrow_at(run, offset);
  return (struct smr_i8_gemm_columns){
      .start = start,
      .w_zero = start + padded,
      .multiplier = (const float *)narrow_at(run, offset) + 2 * padded,
      .bias = bias,
  };
}

static void narrow_quantize(const struct smr_recurrent_run *run, size_t rows, size_t width,
                            const float *x, int8_t *q, float *scales) {
  const struct smr_i8_dynamic_kernels *kernels = smr_i8_dynamic_kernels(run->job->isa);
  for (size_t i = 0; i < rows; i++, x += width, q += width) {
    const struct smr_i8_dynamic_scale found = smr_i8_dynamic_scale(kernels->peak(width, x));
    smr_i8_dynamic_row(kernels, width, x, found.inv, q);
    scales[i] = found.scale;
  }
}

void smr_recurrent_narrow_start(const struct smr_recurrent_run *run) {
  const struct smr_recurrent *all = run->all;
  const struct smr_recurrent_narrow *s = &all->narrow8;
  narrow_fill_columns(run, SMR_RECURRENT_W, &all->w, run->w, s->w_columns);
  for (uint32_t i = 0; i < all->r_parts; i++)
    narrow_fill_columns(run, SMR_RECURRENT_R, &all->r[i], run->r[i], s->r_columns[i]);
  narrow_quantize(run, all->steps * all->batch, all->inputs,
                  run->job->inputs[SMR_RECURRENT_X]->data, narrow_at(run, s->x_offset),
                  narrow_at(run, s->x_scale_offset));
}

// Multiply-adds of a unit, for the deadline check.
static size_t narrow_work(const struct smr_i8_gemm_plan *plan,
                          const struct smr_i8_gemm_args *args) {
  const double work = (double)args->m * (double)args->n * (double)args->k;
  const double unit = work / (plan->units ? (double)plan->units : 1.0) + 1.0;
  return unit < (double)SMR_DEADLINE_WORK ? (size_t)unit : SMR_DEADLINE_WORK;
}

static samara_status narrow_multiply(struct smr_recurrent_run *run,
                                     const struct smr_i8_gemm_plan *plan,
                                     const struct smr_i8_gemm_args *args, size_t begin,
                                     size_t end) {
  const size_t work = narrow_work(plan, args);
  for (size_t at = begin; at < end; at++) {
    SMR_TRY(smr_deadline_step(&run->watch, work));
    smr_i8_gemm_run(plan, args, at, at + 1);
  }
  return SAMARA_OK;
}

samara_status smr_recurrent_narrow_input(struct smr_recurrent_run *run, size_t begin, size_t end) {
  const struct smr_recurrent *all = run->all;
  const struct smr_recurrent_narrow *s = &all->narrow8;
  struct smr_i8_gemm_args args = narrow_args(&all->w, all->steps * all->batch);
  args.a = narrow_at(run, s->x_offset);
  args.row_scale = narrow_at(run, s->x_scale_offset);
  args.w = run->w;
  args.columns = narrow_columns(run, &all->w, s->w_columns, run->bias);
  args.out = run->gates;
  args.out_stride = all->gate_stride;
  return narrow_multiply(run, &s->w_plan, &args, begin, end);
}

samara_status smr_recurrent_narrow_product(struct smr_recurrent_run *run, uint32_t part,
                                           const float *a, const float *bias, bool add, float *out,
                                           size_t out_stride) {
  const struct smr_recurrent *all = run->all;
  const struct smr_recurrent_narrow *s = &all->narrow8;
  const struct smr_recurrent_weights *weights = &all->r[part];
  float *sums = narrow_at(run, s->sum_offset);
  narrow_quantize(run, all->batch, weights->k, a, narrow_at(run, s->row_offset),
                  narrow_at(run, s->row_scale_offset));
  struct smr_i8_gemm_args args = narrow_args(weights, all->batch);
  args.a = narrow_at(run, s->row_offset);
  args.row_scale = narrow_at(run, s->row_scale_offset);
  args.w = run->r[part];
  args.columns = narrow_columns(run, weights, s->r_columns[part], bias);
  args.out = add ? sums : out;
  args.out_stride = add ? weights->n : out_stride;
  SMR_TRY(narrow_multiply(run, &s->r_plans[part], &args, 0, s->r_plans[part].units));
  for (size_t i = 0; add && i < all->batch; i++)
    for (size_t j = 0; j < weights->n; j++) out[i * out_stride + j] += sums[i * weights->n + j];
  return SAMARA_OK;
}
