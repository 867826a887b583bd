// SPDX-License-Identifier: Apache-2.0
// What lstm and gru share.
#include "base/fp.h"

#include "ops/recurrent/recurrent.h"

#include "base/checked.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/recurrent/recurrent_narrow.h"
#include "ops/recurrent/recurrent_pack.h"
#include "ops/table/attrs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// Sharing below these costs more than it gains: multiply-adds of an input product, whose results
// the steps must fetch from another core; bytes of weights that a step reads.
enum { RECURRENT_SHARED_WORK = 1 << 22, RECURRENT_SHARED_BYTES = 192 << 10 };
enum { RECURRENT_BLOCKS_PER_THREAD = 2 };
enum { RECURRENT_PADDED = 16 };  // pack gates separately if that adds at most 1/16 to the panels

samara_status smr_recurrent_check_sizes(const struct smr_job *job, const struct smr_tensor *lengths,
                                        int64_t directions) {
  const int64_t hidden = SMR_ATTR(job, lstm, hidden)->i;
  const int64_t direction = SMR_ATTR(job, lstm, direction)->i;
  if (hidden < 1 || hidden > INT32_MAX / 16 || direction < 0 || direction > 2 ||
      directions != (direction == 2 ? 2 : 1))
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: hidden is %" PRId64 ", direction %" PRId64 " with dims for %" PRId64
             " directions",
             job->op->name, hidden, direction, directions);
  return lengths != NULL ? smr_expect_dtype(job, lengths, "lengths", SMR_DTYPE_I32) : SAMARA_OK;
}

samara_status smr_recurrent_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[SMR_RECURRENT_X];
  SMR_TRY(smr_recurrent_check_sizes(job, smr_optional_input(job, SMR_RECURRENT_LENGTHS),
                                    job->inputs[SMR_RECURRENT_W]->dims[0]));
  SMR_TRY(smr_expect_dtype(job, x, "x", SMR_DTYPES_FLOAT));
  const struct smr_tensor *w = job->inputs[SMR_RECURRENT_W], *r = job->inputs[SMR_RECURRENT_R];
  const bool quantized = w->dtype == SAMARA_QINT8;
  // Only for inference, float16 weights may stand beside float32 x.
  const bool light = x->dtype == SAMARA_FLOAT32 && w->dtype == SAMARA_FLOAT16 &&
                     (job->op->flags & SMR_OP_TRAINING) == 0;
  if (quantized) SMR_TRY(smr_recurrent_narrow_check(job));
  if (light) SMR_TRY(smr_expect_same_dtype(job, w, r, "w and r"));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (i != SMR_RECURRENT_LENGTHS && job->inputs[i] != NULL &&
        !((quantized || light) && (i == SMR_RECURRENT_W || i == SMR_RECURRENT_R)))
      SMR_TRY(smr_expect_same_dtype(job, x, job->inputs[i], "x and another input"));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_expect_same_dtype(job, x, job->outputs[i], "x and an output"));
  const float clip = SMR_ATTR(job, lstm, clip)->f;
  if (!(clip >= 0))
    SMR_FAIL(job->error, BAD_SHAPE, "%s: clip is %g, expected at least 0", job->op->name,
             smr_g(clip));
  return SAMARA_OK;
}

// ---- preparing ----

static size_t recurrent_element(const struct smr_recurrent *all) {
  return all->half ? sizeof(uint16_t) : sizeof(float);
}

static void recurrent_read(const struct smr_job *job, struct smr_recurrent *all, size_t gates) {
  const struct smr_tensor *x = job->inputs[SMR_RECURRENT_X];
  const float clip = SMR_ATTR(job, lstm, clip)->f;
  *all =
      (struct smr_recurrent){.steps = (size_t)x->dims[0],
                             .batch = (size_t)x->dims[1],
                             .inputs = (size_t)x->dims[2],
                             .hidden = (size_t)SMR_ATTR(job, lstm, hidden)->i,
                             .gates = gates,
                             .direction = SMR_ATTR(job, lstm, direction)->i,
                             .clip = clip > 0 ? clip : INFINITY,
                             .half = x->dtype == SAMARA_FLOAT16,
                             .half_weights = job->inputs[SMR_RECURRENT_W]->dtype == SAMARA_FLOAT16,
                             .cell = smr_f32_cell_kernels(job->isa),
                             .widen = smr_f16_to_f32_kernel(job->isa),
                             .narrow = smr_f32_to_f16_kernel(job->isa),
                             .config = smr_linear_config(job)};
  // Only the operators without gradients have the attribute, and quantized weights.
  if (job->inputs[SMR_RECURRENT_W]->dtype == SAMARA_QINT8) {
    all->quantized = SMR_ATTR(job, lstm, dynamic)->i != 0;
    all->widened = !all->quantized;
  }
  all->directions = all->direction == 2 ? 2 : 1;
  all->states = gates == SMR_RECURRENT_KEPT ? 2 : 1;
  all->kept = job->output_count > 1 + all->states ? 1 + all->states : 0;
  all->gate_stride = (all->kept ? SMR_RECURRENT_KEPT : gates) * all->hidden;
}

static samara_status recurrent_scratch(struct smr_job *job, struct smr_recurrent *all) {
  const size_t wide = all->gates * all->hidden, states = all->batch * all->hidden;
  size_t rows, gates;
  if (!smr_mul_size(all->steps, all->batch, &rows) || !smr_mul_size(rows, all->gate_stride, &gates))
    SMR_FAIL(job->error, LIMIT, "%s: the gates of all steps do not fit memory", job->op->name);
  const size_t f = sizeof(float);
  SMR_TRY(smr_scratch_take(job, smr_panels(wide) * SMR_PANEL, f, &all->bias_offset));
  SMR_TRY(smr_scratch_take(job, smr_panels(all->hidden) * SMR_PANEL, f, &all->inner_offset));
  SMR_TRY(smr_scratch_take(job, 3 * all->hidden, f, &all->peephole_offset));
  SMR_TRY(smr_scratch_take(job, smr_recurrent_is_half(all) ? rows * all->inputs : 0, f,
                           &all->x_offset));
  SMR_TRY(smr_scratch_take(job, all->kept && !smr_recurrent_is_half(all) ? 0 : gates, f,
                           &all->gates_offset));
  for (int i = 0; i < SMR_RECURRENT_STATES; i++)
    SMR_TRY(smr_scratch_take(job, states, f, &all->state_offset[i]));
  SMR_TRY(smr_scratch_take(job, 2 * states, f, &all->more_offset));
  if (smr_recurrent_has_bytes(all)) SMR_TRY(smr_recurrent_narrow_scratch(job, all));
  all->area_bytes = job->scratch_bytes;
  if (!smr_mul_size(all->area_bytes, all->directions, &job->scratch_bytes) ||
      job->scratch_bytes > PTRDIFF_MAX)
    SMR_FAIL(job->error, LIMIT, "%s: needs %zu bytes of scratch per direction", job->op->name,
             all->area_bytes);
  return SAMARA_OK;
}

samara_status smr_recurrent_prepare(struct smr_job *job, struct smr_recurrent *all, size_t gates,
                                    uint32_t r_parts) {
  recurrent_read(job, all, gates);
  if (all->quantized) SMR_NEED(job, recurrent_narrow);
  if (all->widened) SMR_NEED(job, recurrent_widened);
  if (gates == SMR_RECURRENT_KEPT) SMR_NEED(job, f32_cell_lstm);
  if (gates != SMR_RECURRENT_KEPT) SMR_NEED(job, f32_cell_gru);
  job->scratch_bytes = job->thread_scratch_bytes = job->tiles = 0;
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  const size_t wide = gates * all->hidden, head = r_parts > 1 ? wide - all->hidden : wide;
  // Blocks of hidden units can be computed separately if each gate has its own panels.
  const size_t panels = smr_panels(wide), more = gates * smr_panels(all->hidden) - panels;
  const bool pads = more > panels / RECURRENT_PADDED;
  const size_t apart = r_parts > 1 || smr_recurrent_has_bytes(all) || pads ? 1 : gates;
  SMR_TRY(smr_recurrent_weights_make(job, all, &all->w, 0, wide, 1, all->inputs,
                                     all->steps * all->batch, &all->w_bytes));
  SMR_TRY(smr_recurrent_weights_make(job, all, &all->r[0], 0, head / apart, apart, all->hidden,
                                     all->batch, &all->r_bytes));
  if (r_parts > 1)
    SMR_TRY(smr_recurrent_weights_make(job, all, &all->r[1], head, all->hidden, 1, all->hidden,
                                       all->batch, &all->r_bytes));
  all->r_parts = r_parts;
  SMR_TRY(smr_recurrent_place(job, all, SMR_RECURRENT_W, 1, all->w_bytes, &all->w_derived,
                              &all->w_offset));
  SMR_TRY(smr_recurrent_place(job, all, SMR_RECURRENT_R, apart, all->r_bytes, &all->r_derived,
                              &all->r_offset));
  SMR_TRY(recurrent_scratch(job, all));
  SMR_TRY(smr_recurrent_take_unfolded(job, all));

  const struct smr_f32_gemm_config *config = smr_linear_config(job);
  const struct smr_f32_gemm_args x_args =
      smr_recurrent_args(all, &all->w, all->steps * all->batch, false);
  if (!all->quantized) SMR_TRY(smr_recurrent_need(job, all, &x_args));
  smr_f32_gemm_plan_make(config, &x_args, &all->w_plan);
  for (uint32_t i = 0; i < r_parts; i++) {
    const struct smr_f32_gemm_args args = smr_recurrent_args(all, &all->r[i], all->batch, false);
    if (!all->quantized) SMR_TRY(smr_recurrent_need(job, all, &args));
    smr_f32_gemm_plan_make(config, &args, &all->r_plans[i]);
  }
  job->kernel = all->r_plans[0].kernel;
  if (smr_recurrent_has_bytes(all)) SMR_TRY(smr_recurrent_narrow_plan(job, all));
  job->tiles = all->batch > 0 && all->hidden > 0 ? all->directions : 0;
  job->phase_tiles = all->step_tiles = 0;
  size_t row = all->inputs * wide;  // a row of x is multiplied by all weights, whose size is in
                                    // range
  if (smr_recurrent_has_bytes(all)) row = row / SMR_I8_GROUP + 1;
  if (job->tiles > 0 && row > 0 && x_args.m / (RECURRENT_SHARED_WORK / row + 1) > 0) {
    all->product_tiles =
        smr_recurrent_has_bytes(all) ? all->narrow8.w_plan.units : all->w_plan.units;
    job->barriers[0] = all->directions;
    job->barriers[1] = all->directions * (1 + all->product_tiles);
    job->tiles = job->barriers[1] + all->directions;
  }
  return SAMARA_OK;
}

void smr_recurrent_share_steps(struct smr_job *job, struct smr_recurrent *all) {
  if (job->threads <= 1 || all->product_tiles == 0 || all->r[0].count == 1 || all->kept != 0 ||
      all->r_bytes < RECURRENT_SHARED_BYTES || all->steps == 0)
    return;
  const struct smr_f32_gemm_args args = smr_recurrent_args(all, &all->r[0], all->batch, true);
  smr_f32_gemm_plan_make(smr_linear_config(job), &args, &all->step_plan);
  const size_t groups = all->step_plan.groups, most = job->threads * RECURRENT_BLOCKS_PER_THREAD;
  const size_t blocks = groups < most ? groups : most;
  size_t tiles;
  // Products gate by gate must use the same kernel as the product of all gates, so that the number
  // of threads does not change the result.
  if (blocks <= 1 || all->step_plan.ukernel != all->r_plans[0].ukernel ||
      !smr_mul_size(all->steps, all->directions * blocks, &tiles) ||
      !smr_add_size(tiles, job->barriers[1] + all->directions, &tiles))
    return;
  all->step_tiles = blocks;
  job->phase_tiles = all->directions * blocks;
  job->tiles = tiles;
}

// ---- running ----

// Load `n` elements from `at` on as float32; zeros if the input is absent.
static void recurrent_load(const struct smr_recurrent *all, const struct smr_tensor *t, size_t at,
                           size_t n, float *out) {
  if (t == NULL)
    memset(out, 0, n * sizeof *out);
  else if (smr_recurrent_is_half(all))
    all->widen(n, (const uint16_t *)t->data + at, out);
  else
    memcpy(out, (const float *)t->data + at, n * sizeof *out);
}

static void recurrent_store(const struct smr_recurrent *all, const struct smr_tensor *t, size_t at,
                            size_t n, const float *in) {
  if (smr_recurrent_is_half(all))
    all->narrow(n, in, (uint16_t *)t->data + at);
  else
    memcpy((float *)t->data + at, in, n * sizeof *in);
}

// First element of a direction in the kept gates.
static size_t recurrent_gates_at(const struct smr_recurrent *all, size_t direction) {
  return direction * all->steps * all->batch * all->gate_stride;
}

// Set the addresses of a direction.
static struct smr_recurrent_run recurrent_open(const struct smr_job *job,
                                               const struct smr_recurrent *all, size_t direction,
                                               void *thread_scratch) {
  char *area = (char *)job->scratch + direction * all->area_bytes;
  struct smr_recurrent_run run = {
      .all = all,
      .job = job,
      .watch = {.job = job},
      .direction = direction,
      .reverse = all->direction == 1 || direction == 1,
      .area = area,
      .gates = (float *)(void *)(area + all->gates_offset),
      .more = (float *)(void *)(area + all->more_offset),
      .bias = (float *)(void *)(area + all->bias_offset),
      .unfolded = (float *)thread_scratch,
  };
  if (all->kept && !smr_recurrent_is_half(all))
    run.gates = (float *)job->outputs[all->kept]->data + recurrent_gates_at(all, direction);
  for (uint32_t i = 0; i < SMR_RECURRENT_STATES; i++)
    run.state[i] = (float *)(void *)(area + all->state_offset[i]);
  if (all->inner_bias) run.inner_bias = (float *)(void *)(area + all->inner_offset);
  if (smr_optional_input(job, SMR_RECURRENT_P) != NULL)
    run.peepholes = (float *)(void *)(area + all->peephole_offset);
  run.before = run.state[0];
  run.w = smr_recurrent_packed(&run, SMR_RECURRENT_W);
  const char *r = smr_recurrent_packed(&run, SMR_RECURRENT_R);
  for (uint32_t i = 0; i < all->r_parts; i++) run.r[i] = r + all->r[i].offset_bytes;
  return run;
}

// bias [D, 2 * G * H]: that of w, then that of r. They are added, except for the last gate if it
// stays separate. Uses the gates, not yet written, as a buffer.
static void recurrent_bias(const struct smr_recurrent_run *run) {
  const struct smr_recurrent *all = run->all;
  const struct smr_tensor *given = smr_optional_input(run->job, SMR_RECURRENT_BIAS);
  const size_t wide = all->gates * all->hidden, head = wide - all->hidden;
  const size_t at = run->direction * 2 * wide;
  float *bias = run->bias, *inner = (float *)(void *)(run->area + all->inner_offset);
  memset(bias, 0, smr_panels(wide) * SMR_PANEL * sizeof *bias);
  memset(inner, 0, smr_panels(all->hidden) * SMR_PANEL * sizeof *inner);
  if (given == NULL) return;
  recurrent_load(all, given, at, wide, bias);
  recurrent_load(all, given, at + wide, wide, run->gates);
  for (size_t i = 0; i < (all->inner_bias ? head : wide); i++) bias[i] += run->gates[i];
  if (all->inner_bias) memcpy(inner, run->gates + head, all->hidden * sizeof *inner);
}

// Load states and bias, pack weights: all that products and steps read.
static void recurrent_start(const struct smr_recurrent_run *run) {
  const struct smr_recurrent *all = run->all;
  const struct smr_job *job = run->job;
  const size_t states = all->batch * all->hidden;
  for (uint32_t i = 0; i < SMR_RECURRENT_STATES; i++)
    recurrent_load(all, smr_optional_input(job, SMR_RECURRENT_H0 + i), run->direction * states,
                   states, run->state[i]);
  if (run->peepholes != NULL)
    recurrent_load(all, smr_optional_input(job, SMR_RECURRENT_P), run->direction * 3 * all->hidden,
                   3 * all->hidden, (float *)(void *)(run->area + all->peephole_offset));
  if (all->r_derived < 0 && all->r_bytes > 0)
    smr_recurrent_pack_direction(job, all, SMR_RECURRENT_R, run->direction,
                                 smr_recurrent_packed(run, SMR_RECURRENT_R));
  if (all->steps == 0) return;
  if (all->w_derived < 0 && all->w_bytes > 0)
    smr_recurrent_pack_direction(job, all, SMR_RECURRENT_W, run->direction,
                                 smr_recurrent_packed(run, SMR_RECURRENT_W));
  recurrent_bias(run);
  memset(run->more, 0, 2 * states * sizeof *run->more);
  if (smr_recurrent_is_half(all))
    recurrent_load(all, job->inputs[SMR_RECURRENT_X], 0, all->steps * all->batch * all->inputs,
                   (float *)(void *)(run->area + all->x_offset));
  if (smr_recurrent_has_bytes(all)) smr_recurrent_narrow_start(run);
}

// Units [begin, end) of the product of x and the weights of all gates.
static samara_status recurrent_input_product(struct smr_recurrent_run *run, size_t begin,
                                             size_t end) {
  const struct smr_recurrent *all = run->all;
  if (smr_recurrent_has_bytes(all)) return smr_recurrent_narrow_input(run, begin, end);
  struct smr_f32_gemm_args args = smr_recurrent_args(all, &all->w, all->steps * all->batch, false);
  args.a = smr_recurrent_is_half(all) ? (const float *)(const void *)(run->area + all->x_offset)
                                      : (const float *)run->job->inputs[SMR_RECURRENT_X]->data;
  args.w = run->w;
  args.source.scratch = run->unfolded;
  args.bias = run->bias;
  args.out = run->gates;
  args.out_stride = all->gate_stride;
  return smr_linear_multiply(&run->watch, &all->w_plan, &args, begin, end);
}

static samara_status recurrent_whole(struct smr_recurrent_run *run,
                                     const struct smr_recurrent_cell *cell) {
  const struct smr_recurrent *all = run->all;
  recurrent_start(run);
  SMR_TRY(recurrent_input_product(
      run, 0, smr_recurrent_has_bytes(all) ? all->narrow8.w_plan.units : all->w_plan.units));
  return cell->steps(run);
}

// Arguments of the product that adds the contribution of h to the gates, or of another product of
// the steps.
static struct smr_f32_gemm_args recurrent_step_args(const struct smr_recurrent_run *run,
                                                    uint32_t part, const float *a, bool add,
                                                    float *out, size_t out_stride, bool apart) {
  const struct smr_recurrent *all = run->all;
  struct smr_f32_gemm_args args = smr_recurrent_args(all, &all->r[part], all->batch, apart);
  args.a = a;
  args.w = run->r[part];
  args.source.scratch = run->unfolded;
  args.out = out;
  args.out_stride = out_stride;
  if (add) {
    args.residual = out;
    args.residual_stride = out_stride;
  }
  return args;
}

// Blocks [begin, end) of hidden units of a step: first their columns of all gates, then their
// cells.
static samara_status recurrent_blocks(struct smr_recurrent_run *run, size_t step, size_t begin,
                                      size_t end, const struct smr_recurrent_cell *cell) {
  const struct smr_recurrent *all = run->all;
  const struct smr_f32_gemm_plan *plan = &all->step_plan;
  const size_t panels = smr_panels(all->hidden), groups = plan->groups;
  const size_t first = smr_cut(groups, all->step_tiles, begin);
  const size_t last = smr_cut(groups, all->step_tiles, end);
  const size_t unit = smr_cut(panels, groups, first) * SMR_PANEL;
  const size_t unit_end = smr_cut(panels, groups, last) * SMR_PANEL;
  float *gates = run->gates + smr_recurrent_time(run, step) * all->batch * all->gate_stride;
  const struct smr_f32_gemm_args args =
      recurrent_step_args(run, 0, run->before, true, gates, all->gate_stride, true);
  for (size_t i = 0; i < args.batch * plan->rows.count; i++)
    SMR_TRY(smr_linear_multiply(&run->watch, plan, &args, i * groups + first, i * groups + last));
  cell->step(run, step, unit, unit_end < all->hidden ? unit_end : all->hidden);
  return SAMARA_OK;
}

// Tiles of shared steps, from `begin` on, after the last barrier. *count is the number of tiles
// run.
static samara_status recurrent_shared_steps(const struct smr_job *job,
                                            const struct smr_recurrent *all, size_t begin,
                                            size_t most, void *thread_scratch,
                                            const struct smr_recurrent_cell *cell, size_t *count) {
  const size_t blocks = all->step_tiles, step = begin / job->phase_tiles;
  const size_t at = begin % job->phase_tiles, first = at % blocks;
  const bool stores = step == all->steps;
  struct smr_recurrent_run run =
      recurrent_open(job, all, stores ? at : at / blocks, thread_scratch);
  // Two buffers: a step reads all of h while other threads write their parts of the next h.
  float *const h[2] = {run.state[0], run.more};
  run.before = h[step % 2];
  run.state[0] = h[stores ? step % 2 : (step + 1) % 2];
  *count = 1;
  if (stores) {
    smr_recurrent_end(&run);
    return SAMARA_OK;
  }
  *count = blocks - first < most ? blocks - first : most;
  return recurrent_blocks(&run, step, first, first + *count, cell);
}

samara_status smr_recurrent_tiles(const struct smr_job *job, const struct smr_recurrent *all,
                                  size_t begin, size_t end, void *thread_scratch,
                                  const struct smr_recurrent_cell *cell) {
  const size_t units = all->product_tiles, products = all->directions;
  const size_t last = units ? products * (1 + units) : 0;
  for (size_t count; begin < end; begin += count) {
    count = 1;
    if (all->step_tiles != 0 && begin >= last) {
      SMR_TRY(recurrent_shared_steps(job, all, begin - last, end - begin, thread_scratch, cell,
                                     &count));
      continue;
    }
    const bool product = begin >= products && begin < last;
    const size_t direction = product ? (begin - products) / units : begin % products;
    struct smr_recurrent_run run = recurrent_open(job, all, direction, thread_scratch);
    if (product) {
      const size_t first = (begin - products) % units;
      count = units - first < end - begin ? units - first : end - begin;
      SMR_TRY(recurrent_input_product(&run, first, first + count));
    } else if (units == 0) {
      SMR_TRY(recurrent_whole(&run, cell));
    } else if (begin < products) {
      recurrent_start(&run);
    } else {
      SMR_TRY(cell->steps(&run));
    }
  }
  return SAMARA_OK;
}

samara_status smr_recurrent_product(struct smr_recurrent_run *run, uint32_t part, const float *a,
                                    const float *bias, bool add, float *out, size_t out_stride) {
  if (smr_recurrent_has_bytes(run->all))
    return smr_recurrent_narrow_product(run, part, a, bias, add, out, out_stride);
  struct smr_f32_gemm_args args = recurrent_step_args(run, part, a, add, out, out_stride, false);
  args.bias = bias;
  const struct smr_f32_gemm_plan *plan = &run->all->r_plans[part];
  return smr_linear_multiply(&run->watch, plan, &args, 0, plan->units);
}

size_t smr_recurrent_time(const struct smr_recurrent_run *run, size_t step) {
  return run->reverse ? run->all->steps - 1 - step : step;
}

size_t smr_recurrent_length(const struct smr_recurrent_run *run, size_t n) {
  const struct smr_tensor *lengths = smr_optional_input(run->job, SMR_RECURRENT_LENGTHS);
  if (lengths == NULL) return run->all->steps;
  const int32_t length = ((const int32_t *)lengths->data)[n];
  if (length < 0) return 0;
  return (size_t)length < run->all->steps ? (size_t)length : run->all->steps;
}

void smr_recurrent_emit(const struct smr_recurrent_run *run, size_t t, size_t n, size_t begin,
                        size_t end, bool live) {
  const struct smr_recurrent *all = run->all;
  const struct smr_tensor *y = run->job->outputs[0];
  const size_t row = (t * all->directions + run->direction) * all->batch + n;
  const size_t at = row * all->hidden + begin;
  if (live)
    recurrent_store(all, y, at, end - begin, run->state[0] + n * all->hidden + begin);
  else
    memset((char *)y->data + at * recurrent_element(all), 0,
           (end - begin) * recurrent_element(all));
}

void smr_recurrent_keep(const struct smr_recurrent_run *run, size_t t) {
  const struct smr_recurrent *all = run->all;
  const size_t n = all->batch * all->hidden, at = (run->direction * all->steps + t) * n;
  for (uint32_t i = 0; all->kept && i < all->states; i++)
    recurrent_store(all, run->job->outputs[all->kept + 1 + i], at, n, run->state[i]);
}

void smr_recurrent_end(const struct smr_recurrent_run *run) {
  const struct smr_recurrent *all = run->all;
  const size_t states = all->batch * all->hidden;
  for (uint32_t i = 0; i < all->states && i + 1 < run->job->output_count; i++)
    recurrent_store(all, run->job->outputs[i + 1], run->direction * states, states, run->state[i]);
  if (all->kept && smr_recurrent_is_half(all))
    recurrent_store(all, run->job->outputs[all->kept], recurrent_gates_at(all, run->direction),
                    all->steps * all->batch * all->gate_stride, run->gates);
}
