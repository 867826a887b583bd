// SPDX-License-Identifier: Apache-2.0
// What lstm_grad and gru_grad share.
#include "base/fp.h"

#include "ops/recurrent/recurrent_grad.h"

#include "kernels/pack/pack_f32.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/recurrent/recurrent.h"

#include <math.h>
#include <string.h>

// Inputs by position. The last two belong to lstm_grad only.
enum {
  RECURRENT_GRAD_GATES,
  RECURRENT_GRAD_BEFORE,
  RECURRENT_GRAD_R,
  RECURRENT_GRAD_LENGTHS,
  RECURRENT_GRAD_DY,
  RECURRENT_GRAD_DY_H,
  RECURRENT_GRAD_DY_C,
  RECURRENT_GRAD_P
};

samara_status smr_recurrent_grad_check(const struct smr_job *job) {
  const struct smr_tensor *gates = job->inputs[RECURRENT_GRAD_GATES];
  SMR_TRY(smr_recurrent_check_sizes(job, smr_optional_input(job, RECURRENT_GRAD_LENGTHS),
                                    gates->dims[0]));
  SMR_TRY(smr_expect_dtype(job, gates, "gates", SMR_DTYPES_FLOAT));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (i != RECURRENT_GRAD_LENGTHS && job->inputs[i] != NULL)
      SMR_TRY(smr_expect_same_dtype(job, gates, job->inputs[i], "gates and another input"));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_expect_same_dtype(job, gates, job->outputs[i], "gates and an output"));
  const float clip = SMR_ATTR(job, lstm_grad, clip)->f;
  if (!(clip >= 0))
    SMR_FAIL(job->error, BAD_SHAPE, "%s: clip is %g, expected at least 0", job->op->name,
             smr_g(clip));
  return SAMARA_OK;
}

static struct smr_f32_gemm_args recurrent_grad_args(const struct smr_recurrent_grad *all,
                                                    const struct smr_recurrent_grad_part *part,
                                                    size_t a_stride) {
  return (struct smr_f32_gemm_args){.batch = 1,
                                    .m = all->batch,
                                    .n = all->hidden,
                                    .k = part->k,
                                    .taps = 1,
                                    .a_stride = a_stride,
                                    .panel_stride_bytes = part->panel_stride_bytes,
                                    .out_stride = all->hidden,
                                    .residual_stride = all->hidden,
                                    .lo = -INFINITY,
                                    .hi = INFINITY};
}

static samara_status recurrent_grad_part(struct smr_job *job, struct smr_recurrent_grad *all,
                                         size_t first, size_t k) {
  struct smr_recurrent_grad_part *part = &all->part[all->parts++];
  // r is in memory, but padding its columns to panels can be sixteen times as large.
  if (k > PTRDIFF_MAX / 2 / (SMR_PANEL * sizeof(float)))
    SMR_FAIL(job->error, LIMIT, "%s: packed weights do not fit memory", job->op->name);
  *part = (struct smr_recurrent_grad_part){
      .first = first, .k = k, .panel_stride_bytes = smr_panel_stride_bytes(k, sizeof(float))};
  SMR_TRY(smr_scratch_take(job, smr_panels(all->hidden), part->panel_stride_bytes, &part->offset));
  const struct smr_f32_gemm_args args = recurrent_grad_args(all, part, all->gates * all->hidden);
  SMR_TRY(smr_linear_need(job, &args, job->dims_vary));
  smr_f32_gemm_plan_make(smr_linear_config(job), &args, &part->plan);
  return SAMARA_OK;
}

samara_status smr_recurrent_grad_prepare(struct smr_job *job, struct smr_recurrent_grad *all,
                                         size_t gates, size_t head) {
  const struct smr_tensor *kept = job->inputs[RECURRENT_GRAD_GATES];
  const float clip = SMR_ATTR(job, lstm_grad, clip)->f;
  *all = (struct smr_recurrent_grad){.steps = (size_t)kept->dims[1],
                                     .batch = (size_t)kept->dims[2],
                                     .hidden = (size_t)SMR_ATTR(job, lstm_grad, hidden)->i,
                                     .gates = gates,
                                     .directions = (size_t)kept->dims[0],
                                     .direction = SMR_ATTR(job, lstm_grad, direction)->i,
                                     .clip = clip > 0 ? clip : INFINITY,
                                     .cell = smr_f32_cell_grad_kernels(job->isa)};
  job->scratch_bytes = job->thread_scratch_bytes = 0;
  SMR_TRY(recurrent_grad_part(job, all, 0, head * all->hidden));
  if (head < gates)
    SMR_TRY(recurrent_grad_part(job, all, head * all->hidden, (gates - head) * all->hidden));
  SMR_TRY(smr_scratch_take(job, all->batch * all->hidden, sizeof(float), &all->more_offset));
  all->area_bytes = job->scratch_bytes;
  if (!smr_mul_size(all->area_bytes, all->directions, &job->scratch_bytes) ||
      job->scratch_bytes > PTRDIFF_MAX)
    SMR_FAIL(job->error, LIMIT, "%s: needs %zu bytes of scratch per direction", job->op->name,
             all->area_bytes);
  job->kernel = all->part[0].plan.kernel;
  job->tiles = all->batch > 0 ? all->directions : 0;
  return SAMARA_OK;
}

static const float *recurrent_grad_data(const struct smr_job *job, uint32_t input) {
  const struct smr_tensor *t = smr_optional_input(job, input);
  return t != NULL ? (const float *)t->data : NULL;
}

// The gradient of a state: starts as input `input`, or as 0.
static float *recurrent_grad_state(const struct smr_job *job, uint32_t output, uint32_t input,
                                   size_t at, size_t n) {
  float *state = (float *)job->outputs[output]->data + at;
  const float *last = recurrent_grad_data(job, input);
  if (last != NULL)
    memcpy(state, last + at, n * sizeof *state);
  else
    memset(state, 0, n * sizeof *state);
  return state;
}

void smr_recurrent_grad_begin(const struct smr_job *job, const struct smr_recurrent_grad *all,
                              size_t direction, uint32_t first_state,
                              struct smr_recurrent_grad_run *run) {
  const size_t states = all->batch * all->hidden, rows = all->gates * all->hidden;
  char *area = (char *)job->scratch + direction * all->area_bytes;
  *run = (struct smr_recurrent_grad_run){.all = all,
                                         .job = job,
                                         .watch = {.job = job},
                                         .direction = direction,
                                         .reverse = all->direction == 1 || direction == 1,
                                         .area = area,
                                         .more = (float *)(void *)(area + all->more_offset)};
  run->dh = recurrent_grad_state(job, first_state, RECURRENT_GRAD_DY_H, direction * states, states);
  if (first_state + 1 < job->output_count)
    run->dc =
        recurrent_grad_state(job, first_state + 1, RECURRENT_GRAD_DY_C, direction * states, states);
  const float *p = recurrent_grad_data(job, RECURRENT_GRAD_P);
  if (p != NULL) run->peepholes = p + direction * 3 * all->hidden;
  const float *r = recurrent_grad_data(job, RECURRENT_GRAD_R) + direction * rows * all->hidden;
  for (uint32_t i = 0; i < all->parts; i++) {
    const struct smr_recurrent_grad_part *part = &all->part[i];
    const struct smr_pack_f32_args args = {.k = part->k,
                                           .n = all->hidden,
                                           .src = r + part->first * all->hidden,
                                           .type = SMR_GEMM_F32,
                                           .k_stride = all->hidden,
                                           .n_stride = 1,
                                           .dst = area + part->offset,
                                           .panel_stride_bytes = part->panel_stride_bytes};
    smr_pack_f32(&args, job->isa, 0, smr_panels(all->hidden));
  }
}

bool smr_recurrent_grad_row(const struct smr_recurrent_grad_run *run, size_t t, size_t n,
                            struct smr_recurrent_grad_row *row) {
  const struct smr_recurrent_grad *all = run->all;
  const size_t hidden = all->hidden, d = run->direction;
  const size_t index = (d * all->steps + t) * all->batch + n;
  const float *dy = recurrent_grad_data(run->job, RECURRENT_GRAD_DY);
  const struct smr_tensor *lengths = smr_optional_input(run->job, RECURRENT_GRAD_LENGTHS);
  *row = (struct smr_recurrent_grad_row){
      .kept = recurrent_grad_data(run->job, RECURRENT_GRAD_GATES) + index * 4 * hidden,
      .before = recurrent_grad_data(run->job, RECURRENT_GRAD_BEFORE) + index * hidden,
      .dy = dy != NULL ? dy + ((t * all->directions + d) * all->batch + n) * hidden : NULL,
      .index = index};
  return lengths == NULL || (int64_t)t < (int64_t)((const int32_t *)lengths->data)[n];
}

samara_status smr_recurrent_grad_product(struct smr_recurrent_grad_run *run, uint32_t part,
                                         const float *a, size_t a_stride, bool add, float *out) {
  const struct smr_recurrent_grad_part *p = &run->all->part[part];
  struct smr_f32_gemm_args args = recurrent_grad_args(run->all, p, a_stride);
  args.a = a;
  args.w = run->area + p->offset;
  args.out = out;
  args.residual = add ? out : NULL;
  return smr_linear_multiply(&run->watch, &p->plan, &args, 0, p->plan.units);
}
