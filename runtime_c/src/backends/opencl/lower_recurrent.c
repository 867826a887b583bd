// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU: a product of all steps with w, then one or two launches a step.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <math.h>
#include <string.h>

enum {
  CL_MOST_STEPS = 4096,   // of a sequence: each step is a launch of about 5 us
  CL_RECURRENT_ROWS = 4,  // rows per item in the product with w
  // Up to this many hidden units one launch for all steps is faster than a launch per step.
  CL_SHORT_HIDDEN = 32,
  CL_SHORT_HIDDEN_GPU = 8,
  CL_FEW_STEPS = 2  // with fewer steps this saves nothing
};

// Inputs by position; the last two are for lstm only.
enum {
  CL_RECURRENT_X,
  CL_RECURRENT_W,
  CL_RECURRENT_R,
  CL_RECURRENT_BIAS,
  CL_RECURRENT_LENGTHS,
  CL_RECURRENT_H0,
  CL_RECURRENT_C0,
  CL_RECURRENT_PEEPHOLES
};

static bool cl_is_lstm(const struct smr_cl_node *node) {
  return strcmp(node->node->op, "lstm") == 0;
}

// Kernels for float32, float32 with float16 weights, and float16.
static const uint16_t cl_project_rows[3] = {
    SMR_CL_recurrent_rows_f32, SMR_CL_recurrent_rows_f32_f16, SMR_CL_recurrent_rows_f16};
static const uint16_t cl_project_row[3] = {SMR_CL_recurrent_row_f32, SMR_CL_recurrent_row_f32_f16,
                                           SMR_CL_recurrent_row_f16};
static const uint16_t cl_lstm[3] = {SMR_CL_lstm_f32, SMR_CL_lstm_f32_f16, SMR_CL_lstm_f16};
static const uint16_t cl_gru_linear[3] = {SMR_CL_gru_linear_f32, SMR_CL_gru_linear_f32_f16,
                                          SMR_CL_gru_linear_f16};
static const uint16_t cl_gru_reset[3] = {SMR_CL_gru_reset_f32, SMR_CL_gru_reset_f32_f16,
                                         SMR_CL_gru_reset_f16};
static const uint16_t cl_gru[3] = {SMR_CL_gru_f32, SMR_CL_gru_f32_f16, SMR_CL_gru_f16};

static const uint16_t cl_lstm_sequence[3] = {SMR_CL_lstm_sequence_f32, SMR_CL_lstm_sequence_f32_f16,
                                             SMR_CL_lstm_sequence_f16};
static const uint16_t cl_gru_sequence[3] = {SMR_CL_gru_sequence_f32, SMR_CL_gru_sequence_f32_f16,
                                            SMR_CL_gru_sequence_f16};

static int cl_recurrent_types(const struct smr_cl_node *node) {
  const int x = smr_cl_float(smr_cl_input(node, CL_RECURRENT_X)->dtype);
  const int w = smr_cl_float(smr_cl_input(node, CL_RECURRENT_W)->dtype);
  return x < 0 || w < 0 ? -1 : x == 1 ? 2 : w;
}

// Why the sequence is too large, for known dims; or NULL.
static const char *cl_recurrent_excess(const struct smr_cl_node *node) {
  const samara_region_tensor *x = smr_cl_input(node, CL_RECURRENT_X), *y = smr_cl_output(node, 0);
  int64_t n = 4;  // gates are up to four times as many as elements of y
  if (x->shape[0] > CL_MOST_STEPS) return "sequences of more than 4096 steps are not supported";
  for (int32_t i = 0; i < y->rank; i++)
    if (y->shape[i] > 0 && n <= INT32_MAX) n *= y->shape[i] < INT32_MAX ? y->shape[i] : INT32_MAX;
  return n > INT32_MAX ? "gates of 2^31 elements are not supported" : NULL;
}

static bool cl_recurrent_fits(const struct smr_cl_node *node, const char **why) {
  if (cl_recurrent_types(node) < 0) {
    *why = "quantized weights are not supported";
    return false;
  }
  *why = cl_recurrent_excess(node);
  if (*why != NULL) return false;
  return smr_cl_sizes_fit(node, 4, why) && smr_cl_plain(node, why);
}

static bool cl_recurrent_tall(const samara_region_tensor *x) {
  return x->shape[0] * x->shape[1] > 1;
}

// Whether steps are so short that one launch computes all of them.
static bool cl_recurrent_is_short(const struct smr_cl_node *node) {
  const int64_t most = node->features->cpu ? CL_SHORT_HIDDEN : CL_SHORT_HIDDEN_GPU;
  return smr_cl_int(node, "hidden") <= most &&
         (cl_is_lstm(node) || smr_cl_int(node, "linear_before_reset") != 0);
}

static void cl_recurrent_kernels(const struct smr_cl_node *node, bool *kernels) {
  const int types = cl_recurrent_types(node);
  const samara_region_tensor *x = smr_cl_input(node, CL_RECURRENT_X);
  const bool open = (x->symbolic & 3) != 0 || x->shape[0] < 0 || x->shape[1] < 0;
  const bool is_short = cl_recurrent_is_short(node);
  if (open || cl_recurrent_tall(x)) kernels[cl_project_rows[types]] = true;
  if (open || !cl_recurrent_tall(x)) kernels[cl_project_row[types]] = true;
  if (is_short && (open || x->shape[0] > CL_FEW_STEPS)) {
    kernels[(cl_is_lstm(node) ? cl_lstm_sequence : cl_gru_sequence)[types]] = true;
    kernels[types == 2 ? SMR_CL_recurrent_state_f16 : SMR_CL_recurrent_state_f32] = true;
    if (!open) return;
  }
  if (cl_is_lstm(node)) {
    kernels[cl_lstm[types]] = true;
  } else if (smr_cl_int(node, "linear_before_reset") != 0) {
    kernels[cl_gru_linear[types]] = true;
  } else {
    kernels[cl_gru_reset[types]] = kernels[cl_gru[types]] = true;
  }
  if (types == 2) kernels[SMR_CL_recurrent_state_f16] = true;
}

struct cl_recurrent {
  const struct smr_cl_node *node;
  struct smr_cl_launches *out;
  int types;
  bool lstm, linear;
  bool together;  // one launch computes all steps
  int64_t steps, batch, inputs, hidden, gates, directions;
  struct smr_cl_place x_part;  // [D, T * N, G * H]
  struct smr_cl_place h[2];    // h before even and odd steps
  struct smr_cl_place last_h;  // h after the last step
  struct smr_cl_place c;
  struct smr_cl_place reset_h, z;
};

static struct smr_cl_place cl_recurrent_place(const samara_region_tensor *t) {
  return (struct smr_cl_place){t->memory, t->offset_bytes};
}

// Float32 states are computed in the outputs, others in scratch.
static struct smr_cl_place cl_recurrent_state(const struct cl_recurrent *all, uint32_t output) {
  const samara_region_tensor *t = smr_cl_output(all->node, output);
  if (all->types != 2) return cl_recurrent_place(t);
  return smr_cl_scratch(all->out, (uint64_t)(all->directions * all->batch * all->hidden) * 4);
}

static void cl_recurrent_read(struct cl_recurrent *all) {
  const struct smr_cl_node *node = all->node;
  const samara_region_tensor *x = smr_cl_input(node, CL_RECURRENT_X);
  all->types = cl_recurrent_types(node);
  all->lstm = cl_is_lstm(node);
  all->linear = !all->lstm && smr_cl_int(node, "linear_before_reset") != 0;
  all->steps = x->shape[0];
  all->batch = x->shape[1];
  all->inputs = x->shape[2];
  all->hidden = smr_cl_int(node, "hidden");
  all->gates = all->lstm ? 4 : 3;
  all->directions = smr_cl_int(node, "direction") == 2 ? 2 : 1;
  all->together = cl_recurrent_is_short(node) && all->steps > CL_FEW_STEPS;
  const int64_t states = all->directions * all->batch * all->hidden;
  const uint64_t bytes = (uint64_t)states * 4;
  all->x_part = smr_cl_scratch(all->out, bytes * (uint64_t)(all->gates * all->steps));
  all->h[0] = smr_cl_scratch(all->out, bytes);
  all->h[1] = smr_cl_scratch(all->out, bytes);
  all->last_h = all->together ? all->h[all->steps % 2] : cl_recurrent_state(all, 1);
  if (all->lstm) all->c = cl_recurrent_state(all, 2);
  if (!all->lstm && !all->linear) {
    all->reset_h = smr_cl_scratch(all->out, bytes);
    all->z = smr_cl_scratch(all->out, bytes);
  }
}

// h before step `step`: each step writes where the next one reads.
static struct smr_cl_place cl_recurrent_h(const struct cl_recurrent *all, int64_t step) {
  return step == all->steps ? all->last_h : all->h[step % 2];
}

static void cl_recurrent_project(const struct cl_recurrent *all) {
  const struct smr_cl_node *node = all->node;
  const samara_region_tensor *bias = smr_cl_input(node, CL_RECURRENT_BIAS),
                             *h0 = smr_cl_input(node, CL_RECURRENT_H0);
  const samara_region_tensor *c0 = all->lstm ? smr_cl_input(node, CL_RECURRENT_C0) : NULL;
  const bool tall = cl_recurrent_tall(smr_cl_input(node, CL_RECURRENT_X));
  const int64_t rows = all->steps * all->batch, wide = all->gates * all->hidden;
  const int64_t some = rows > all->batch ? rows : all->batch, block = tall ? CL_RECURRENT_ROWS : 1;
  struct smr_cl_launch *launch =
      smr_cl_add(all->out, node->index,
                 (enum smr_cl_kernel)(tall ? cl_project_rows : cl_project_row)[all->types]);
  smr_cl_bind(launch, 0, smr_cl_input(node, CL_RECURRENT_X));
  smr_cl_bind(launch, 1, smr_cl_input(node, CL_RECURRENT_W));
  smr_cl_bind(launch, 2, bias);
  smr_cl_bind(launch, 3, h0);
  smr_cl_bind(launch, 4, c0);
  launch->buffers[5] = all->x_part;
  launch->buffers[6] = cl_recurrent_h(all, 0);
  launch->buffers[7] = all->c;
  launch->ints[0] = (int32_t)rows;
  launch->ints[1] = (int32_t)wide;
  launch->ints[2] = (int32_t)all->inputs;
  launch->ints[3] =
      (bias != NULL ? 1 : 0) | (h0 != NULL ? 2 : 0) | (c0 != NULL ? 4 : 0) | (all->lstm ? 8 : 0);
  launch->ints[4] = (int32_t)(all->linear ? wide - all->hidden : wide);
  launch->ints[5] = (int32_t)all->batch;
  launch->ints[6] = (int32_t)all->hidden;
  smr_cl_set_items(launch, wide, (some + block - 1) / block, all->directions);
}

// Add a launch of step `step`: products of r with buffer 2.
static struct smr_cl_launch *cl_recurrent_launch(const struct cl_recurrent *all, uint16_t kernel,
                                                 int64_t step) {
  const struct smr_cl_node *node = all->node;
  const samara_region_tensor *lengths = smr_cl_input(node, CL_RECURRENT_LENGTHS);
  const float clip = smr_cl_number(node, "clip");
  struct smr_cl_launch *launch = smr_cl_add(all->out, node->index, (enum smr_cl_kernel)kernel);
  launch->buffers[0] = all->x_part;
  smr_cl_bind(launch, 1, smr_cl_input(node, CL_RECURRENT_R));
  smr_cl_bind(launch, 3, lengths);
  smr_cl_bind(launch, 5, smr_cl_output(node, 0));
  launch->buffers[2] = cl_recurrent_h(all, step);
  launch->buffers[6] = cl_recurrent_h(all, step + 1);
  launch->ints[0] = (int32_t)all->hidden;
  launch->ints[1] = (int32_t)all->batch;
  launch->ints[2] = (int32_t)all->steps;
  launch->ints[3] = (int32_t)step;
  launch->ints[4] = smr_cl_int(node, "direction") == 1;
  launch->ints[5] = lengths != NULL;
  launch->ints[6] = (int32_t)all->directions;
  launch->floats[0] = clip > 0.0f ? -clip : -INFINITY;
  launch->floats[1] = clip > 0.0f ? clip : INFINITY;
  smr_cl_set_items(launch, all->hidden, all->batch, all->directions);
  if (all->together) {
    launch->buffers[2].memory = NULL;
    launch->buffers[6] = all->h[0];
    launch->ints[7] = (int32_t)((all->h[1].offset_bytes - all->h[0].offset_bytes) / 4);
    smr_cl_set_items(launch, all->batch, all->directions, 1);
  }
  return launch;
}

static void cl_lstm_step(const struct cl_recurrent *all, int64_t step) {
  const samara_region_tensor *peepholes = smr_cl_input(all->node, CL_RECURRENT_PEEPHOLES);
  struct smr_cl_launch *launch =
      cl_recurrent_launch(all, (all->together ? cl_lstm_sequence : cl_lstm)[all->types], step);
  smr_cl_bind(launch, 4, peepholes);
  launch->buffers[7] = all->c;
  launch->ints[5] |= (peepholes != NULL ? 2 : 0) | (smr_cl_int(all->node, "input_forget") ? 4 : 0);
}

static void cl_gru_step(const struct cl_recurrent *all, int64_t step) {
  const samara_region_tensor *bias = smr_cl_input(all->node, CL_RECURRENT_BIAS);
  if (all->linear) {
    struct smr_cl_launch *launch = cl_recurrent_launch(
        all, (all->together ? cl_gru_sequence : cl_gru_linear)[all->types], step);
    smr_cl_bind(launch, 4, bias);
    launch->ints[5] |= bias != NULL ? 2 : 0;
    return;
  }
  struct smr_cl_launch *launch = cl_recurrent_launch(all, cl_gru_reset[all->types], step);
  launch->buffers[6] = all->reset_h;
  launch->buffers[7] = all->z;
  launch = cl_recurrent_launch(all, cl_gru[all->types], step);
  launch->buffers[2] = all->reset_h;
  launch->buffers[4] = cl_recurrent_h(all, step);
  launch->buffers[7] = all->z;
}

// Copy a state from scratch to an output.
static void cl_recurrent_end(const struct cl_recurrent *all, uint32_t output,
                             const struct smr_cl_place *state) {
  const samara_region_tensor *t = smr_cl_output(all->node, output);
  if (all->types != 2 && !(all->together && output == 1)) return;
  struct smr_cl_launch *launch =
      smr_cl_add(all->out, all->node->index,
                 all->types == 2 ? SMR_CL_recurrent_state_f16 : SMR_CL_recurrent_state_f32);
  launch->buffers[0] = *state;
  smr_cl_bind(launch, 5, t);
  launch->ints[0] = (int32_t)smr_cl_numel(t);
  smr_cl_set_items(launch, launch->ints[0], 1, 1);
}

static void cl_recurrent_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  struct cl_recurrent all = {.node = node, .out = out};
  const samara_region_tensor *x = smr_cl_input(node, CL_RECURRENT_X);
  out->refusal = cl_recurrent_excess(node);
  if (out->refusal != NULL || x->shape[1] == 0) return;
  cl_recurrent_read(&all);
  cl_recurrent_project(&all);
  for (int64_t step = 0; step < (all.together ? 1 : all.steps); step++) {
    if (all.lstm)
      cl_lstm_step(&all, step);
    else
      cl_gru_step(&all, step);
  }
  cl_recurrent_end(&all, 1, &all.last_h);
  if (all.lstm) cl_recurrent_end(&all, 2, &all.c);
}

#define CL_RECURRENT(op) \
  SMR_CL_ROW(recurrent, op, cl_recurrent_fits, cl_recurrent_kernels, cl_recurrent_lower)

static const struct smr_cl_row cl_recurrent_rows[] = {
    CL_RECURRENT(lstm),
    CL_RECURRENT(gru),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_recurrent_rows(void) { return cl_recurrent_rows; }

#undef CL_RECURRENT
