// SPDX-License-Identifier: Apache-2.0
// sgd, adam and rmsprop: one step of an optimizer, element by element.
//
// Each result may share the buffer of the input that it updates: an element is read before it is
// written, and not read again.
#include "base/fp.h"

#include "kernels/f32_optim/f32_optim.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

#include <math.h>
#include <string.h>

struct optim_state {
  const struct smr_f32_optim_kernels *kernels;
  size_t n;
};

static samara_status optim_like(const struct smr_job *job, const struct smr_tensor *t,
                                const char *what) {
  SMR_TRY(smr_expect_dtype(job, t, what, SMR_DTYPE_F32));
  return smr_expect_dims(job, t, what, job->inputs[0]->dims, job->inputs[0]->rank);
}

static samara_status optim_scalar(const struct smr_job *job, const struct smr_tensor *t,
                                  const char *what) {
  SMR_TRY(smr_expect_dtype(job, t, what, SMR_DTYPE_F32));
  return smr_expect_rank(job, t, what, 0, 0);
}

// Outputs are the updated parameter and `states` updated states.
static samara_status optim_outputs(const struct smr_job *job, uint32_t states) {
  if (job->output_count != states + 1)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %u outputs, expected %u", job->op->name,
             (unsigned)job->output_count, (unsigned)states + 1);
  for (uint32_t i = 0; i <= states; i++) SMR_TRY(optim_like(job, job->outputs[i], "an output"));
  return SAMARA_OK;
}

// An optional state must be present if and only if it is used.
static samara_status optim_state_input(const struct smr_job *job, uint32_t index, bool used,
                                       const char *what) {
  const struct smr_tensor *t = smr_optional_input(job, index);
  if ((t != NULL) != used)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %s is %s", job->op->name, what,
             used ? "missing" : "given, but not used");
  return t != NULL ? optim_like(job, t, what) : SAMARA_OK;
}

static samara_status optim_prepare(struct smr_job *job) {
  struct optim_state *s = job->state;
  *s = (struct optim_state){.kernels = smr_f32_optim_kernels(job->isa),
                            .n = (size_t)smr_numel(job->inputs[0])};
  job->kernel = s->kernels->name;
  job->tiles = smr_grain_tiles(s->n);
  return SAMARA_OK;
}

static float optim_scalar_value(const struct smr_tensor *t) {
  float value;
  memcpy(&value, t->data, sizeof value);
  return value;
}

// Element `at` of an input, or NULL if the input is absent.
static const float *optim_in(const struct smr_job *job, uint32_t index, size_t at) {
  const struct smr_tensor *t = smr_optional_input(job, index);
  return t != NULL ? (const float *)t->data + at : NULL;
}

static float *optim_out(const struct smr_job *job, uint32_t index, size_t at) {
  return (float *)job->outputs[index]->data + at;
}

static struct smr_f32_optim_gradient optim_gradient(const struct smr_job *job, size_t at,
                                                    float weight_decay, bool maximize) {
  return (struct smr_f32_optim_gradient){.p = optim_in(job, 0, at),
                                         .g = optim_in(job, 1, at),
                                         .sign = maximize ? -1.0f : 1.0f,
                                         .weight_decay = weight_decay};
}

// ---- sgd: p, g, lr, buffer?, step? ----

static samara_status sgd_check(const struct smr_job *job) {
  const bool moves = SMR_ATTR(job, sgd, momentum)->f != 0;
  SMR_TRY(optim_like(job, job->inputs[0], "the parameter"));
  SMR_TRY(optim_like(job, job->inputs[1], "the gradient"));
  SMR_TRY(optim_scalar(job, job->inputs[2], "the learning rate"));
  SMR_TRY(optim_state_input(job, 3, moves, "the momentum buffer"));
  const struct smr_tensor *step = smr_optional_input(job, 4);
  if (step != NULL) SMR_TRY(optim_scalar(job, step, "the step"));
  return optim_outputs(job, moves ? 1 : 0);
}

static samara_status sgd_run(const struct smr_job *job, size_t begin, size_t end,
                             void *thread_scratch) {
  (void)thread_scratch;
  const struct optim_state *s = job->state;
  const size_t at = begin * SMR_GRAIN, last = smr_grain_end(s->n, end);
  const struct smr_tensor *step = smr_optional_input(job, 4);
  const bool moves = SMR_ATTR(job, sgd, momentum)->f != 0;
  const bool fresh = step != NULL && optim_scalar_value(step) == 1.0f;
  if (at >= last) return SAMARA_OK;
  const struct smr_f32_sgd args = {
      .gradient = optim_gradient(job, at, SMR_ATTR(job, sgd, weight_decay)->f,
                                 SMR_ATTR(job, sgd, maximize)->i != 0),
      .buffer = fresh ? NULL : optim_in(job, 3, at),
      .p_new = optim_out(job, 0, at),
      .buffer_new = moves ? optim_out(job, 1, at) : NULL,
      .lr = optim_scalar_value(job->inputs[2]),
      .momentum = SMR_ATTR(job, sgd, momentum)->f,
      .keep = (float)(1.0 - (double)SMR_ATTR(job, sgd, dampening)->f),
      .nesterov = SMR_ATTR(job, sgd, nesterov)->i != 0};
  s->kernels->sgd(last - at, &args);
  return SAMARA_OK;
}

// ---- adam: p, g, m, v, lr, step ----

static samara_status adam_check(const struct smr_job *job) {
  static const char *const names[] = {"the parameter", "the gradient", "the first moment",
                                      "the second moment"};
  for (uint32_t i = 0; i < 4; i++) SMR_TRY(optim_like(job, job->inputs[i], names[i]));
  SMR_TRY(optim_scalar(job, job->inputs[4], "the learning rate"));
  SMR_TRY(optim_scalar(job, job->inputs[5], "the step"));
  return optim_outputs(job, 2);
}

static samara_status adam_run(const struct smr_job *job, size_t begin, size_t end,
                              void *thread_scratch) {
  (void)thread_scratch;
  const struct optim_state *s = job->state;
  const size_t at = begin * SMR_GRAIN, last = smr_grain_end(s->n, end);
  if (at >= last) return SAMARA_OK;
  const double beta1 = (double)SMR_ATTR(job, adam, beta1)->f;
  const double beta2 = (double)SMR_ATTR(job, adam, beta2)->f;
  const double lr = (double)optim_scalar_value(job->inputs[4]);
  const double step = (double)optim_scalar_value(job->inputs[5]);
  const float weight_decay = SMR_ATTR(job, adam, weight_decay)->f;
  const bool decoupled = SMR_ATTR(job, adam, decoupled)->i != 0;
  const struct smr_f32_adam args = {
      .gradient = optim_gradient(job, at, decoupled ? 0 : weight_decay,
                                 SMR_ATTR(job, adam, maximize)->i != 0),
      .m = optim_in(job, 2, at),
      .v = optim_in(job, 3, at),
      .p_new = optim_out(job, 0, at),
      .m_new = optim_out(job, 1, at),
      .v_new = optim_out(job, 2, at),
      .beta1 = (float)beta1,
      .beta2 = (float)beta2,
      .rest1 = (float)(1.0 - beta1),
      .rest2 = (float)(1.0 - beta2),
      .decay = decoupled ? (float)(1.0 - lr * (double)weight_decay) : 1.0f,
      .step = (float)(lr / (1.0 - pow(beta1, step))),
      .root = (float)(1.0 / sqrt(1.0 - pow(beta2, step))),
      .epsilon = SMR_ATTR(job, adam, epsilon)->f};
  s->kernels->adam(last - at, &args);
  return SAMARA_OK;
}

// ---- rmsprop: p, g, average, lr, mean?, buffer? ----

static samara_status rmsprop_check(const struct smr_job *job) {
  const bool moves = SMR_ATTR(job, rmsprop, momentum)->f != 0;
  const bool centered = SMR_ATTR(job, rmsprop, centered)->i != 0;
  SMR_TRY(optim_like(job, job->inputs[0], "the parameter"));
  SMR_TRY(optim_like(job, job->inputs[1], "the gradient"));
  SMR_TRY(optim_like(job, job->inputs[2], "the average of squares"));
  SMR_TRY(optim_scalar(job, job->inputs[3], "the learning rate"));
  SMR_TRY(optim_state_input(job, 4, centered, "the average of gradients"));
  SMR_TRY(optim_state_input(job, 5, moves, "the momentum buffer"));
  return optim_outputs(job, 1u + (centered ? 1u : 0u) + (moves ? 1u : 0u));
}

static samara_status rmsprop_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  (void)thread_scratch;
  const struct optim_state *s = job->state;
  const size_t at = begin * SMR_GRAIN, last = smr_grain_end(s->n, end);
  const bool moves = SMR_ATTR(job, rmsprop, momentum)->f != 0;
  const bool centered = SMR_ATTR(job, rmsprop, centered)->i != 0;
  if (at >= last) return SAMARA_OK;
  const struct smr_f32_rmsprop args = {
      .gradient = optim_gradient(job, at, SMR_ATTR(job, rmsprop, weight_decay)->f,
                                 SMR_ATTR(job, rmsprop, maximize)->i != 0),
      .average = optim_in(job, 2, at),
      .mean = optim_in(job, 4, at),
      .buffer = optim_in(job, 5, at),
      .p_new = optim_out(job, 0, at),
      .average_new = optim_out(job, 1, at),
      .mean_new = centered ? optim_out(job, 2, at) : NULL,
      .buffer_new = moves ? optim_out(job, centered ? 3 : 2, at) : NULL,
      .lr = optim_scalar_value(job->inputs[3]),
      .alpha = SMR_ATTR(job, rmsprop, alpha)->f,
      .rest = (float)(1.0 - (double)SMR_ATTR(job, rmsprop, alpha)->f),
      .epsilon = SMR_ATTR(job, rmsprop, epsilon)->f,
      .momentum = SMR_ATTR(job, rmsprop, momentum)->f};
  s->kernels->rmsprop(last - at, &args);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_sgd_funcs = {.check = sgd_check,
                                              .prepare = optim_prepare,
                                              .run = sgd_run,
                                              .state_bytes = sizeof(struct optim_state)};
const struct smr_op_funcs smr_op_adam_funcs = {.check = adam_check,
                                               .prepare = optim_prepare,
                                               .run = adam_run,
                                               .state_bytes = sizeof(struct optim_state)};
const struct smr_op_funcs smr_op_rmsprop_funcs = {.check = rmsprop_check,
                                                  .prepare = optim_prepare,
                                                  .run = rmsprop_run,
                                                  .state_bytes = sizeof(struct optim_state)};
