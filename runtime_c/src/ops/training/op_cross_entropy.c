// SPDX-License-Identifier: Apache-2.0
// cross_entropy of rows of logits against class indices, and its gradient.
//
//   loss = (1 - s) * w[t] * (L - x[t]) + s / C * sum of w[c] * (L - x[c]),  L = ln sum e^x
//
// with label smoothing s. Rows with target `ignore_index` have loss and gradient 0. Targets are
// data, so their range is checked at run time.
#include "base/fp.h"

#include "kernels/f32_softmax_grad/f32_softmax_grad.h"
#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <inttypes.h>
#include <string.h>

struct cross_entropy_state {
  const struct smr_f32_softmax_grad *kernels;
  size_t rows, classes, tile_rows;
  int64_t ignored;  // target value of rows without loss
  float smoothing;
};

static samara_status cross_entropy_check_classes(const struct smr_job *job,
                                                 const struct smr_tensor *logits) {
  if (logits->dims[1] >= 1) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE, "%s: there are no classes", job->op->name);
}

static samara_status cross_entropy_check(const struct smr_job *job) {
  SMR_TRY(cross_entropy_check_classes(job, job->inputs[0]));
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "logits", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_dtype(job, job->inputs[1], "target", SMR_DTYPE_I32 | SMR_DTYPE_I64));
  if (smr_optional_input(job, 2) != NULL)
    SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[2], "logits and weight"));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->outputs[i], "input and output"));
  return SAMARA_OK;
}

static void cross_entropy_plan(struct smr_job *job, const struct smr_tensor *logits) {
  struct cross_entropy_state *s = job->state;
  *s = (struct cross_entropy_state){.kernels = smr_f32_softmax_grad_config(job->isa),
                                    .rows = (size_t)logits->dims[0],
                                    .classes = (size_t)logits->dims[1],
                                    .ignored = SMR_ATTR(job, cross_entropy, ignore_index)->i,
                                    .smoothing = SMR_ATTR(job, cross_entropy, label_smoothing)->f};
  s->tile_rows = s->classes < SMR_GRAIN ? SMR_GRAIN / s->classes : 1;
  job->kernel = s->kernels->name;
  job->tiles = s->rows / s->tile_rows + (s->rows % s->tile_rows != 0);
}

static samara_status cross_entropy_prepare(struct smr_job *job) {
  cross_entropy_plan(job, job->inputs[0]);
  return SAMARA_OK;
}

// The class of a row; `classes` for a row without loss.
static samara_status cross_entropy_target(const struct smr_job *job,
                                          const struct smr_tensor *targets, size_t row,
                                          size_t *out) {
  const struct cross_entropy_state *s = job->state;
  const int64_t value = smr_index_at(targets, row);
  *out = s->classes;
  if (value == s->ignored) return SAMARA_OK;
  if (value < 0 || (uint64_t)value >= s->classes)
    SMR_FAIL(job->error, BAD_DATA,
             "%s: target %" PRId64 " at position %zu is out of range for %zu classes",
             job->op->name, value, row, s->classes);
  *out = (size_t)value;
  return SAMARA_OK;
}

static size_t cross_entropy_last(const struct cross_entropy_state *s, size_t end) {
  return s->rows / s->tile_rows < end ? s->rows : end * s->tile_rows;
}

static samara_status cross_entropy_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *thread_scratch) {
  (void)thread_scratch;
  const struct cross_entropy_state *s = job->state;
  const struct smr_tensor *weight = smr_optional_input(job, 2);
  const float *w = weight != NULL ? weight->data : NULL;
  float *loss = job->outputs[0]->data, *log_sum = job->outputs[1]->data;
  float *share = job->outputs[2]->data;
  for (size_t i = begin * s->tile_rows; i < cross_entropy_last(s, end); i++) {
    const float *x = (const float *)job->inputs[0]->data + i * s->classes;
    size_t target;
    SMR_TRY(cross_entropy_target(job, job->inputs[1], i, &target));
    // Subtract first: a value common to all logits does not change the loss.
    float best;
    const float rest = s->kernels->log_sum(s->classes, x, &best);
    log_sum[i] = best + rest;
    loss[i] = share[i] = 0.0f;
    if (target == s->classes) continue;
    share[i] = w != NULL ? w[target] : 1.0f;
    loss[i] = (1.0f - s->smoothing) * share[i] * (best - x[target] + rest);
    if (s->smoothing != 0.0f)
      loss[i] +=
          s->smoothing / (float)s->classes * s->kernels->distance(s->classes, x, w, best, rest);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(cross_entropy, cross_entropy_check, cross_entropy_prepare, cross_entropy_run,
               sizeof(struct cross_entropy_state))

// ---- the gradient: dloss, x, target, log_sum, weight? -> dx ----

static samara_status cross_entropy_grad_check(const struct smr_job *job) {
  SMR_TRY(cross_entropy_check_classes(job, job->inputs[1]));
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "dloss", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_dtype(job, job->inputs[2], "target", SMR_DTYPE_I32 | SMR_DTYPE_I64));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (i != 2 && job->inputs[i] != NULL)
      SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[i], "inputs"));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and output");
}

static samara_status cross_entropy_grad_prepare(struct smr_job *job) {
  cross_entropy_plan(job, job->inputs[1]);
  job->scratch_bytes = sizeof(float);
  return SAMARA_OK;
}

// The prologue stores the sum of all weights in scratch.
static void cross_entropy_grad_prologue(const struct smr_job *job) {
  const struct cross_entropy_state *s = job->state;
  const struct smr_tensor *weight = smr_optional_input(job, 4);
  double total = (double)s->classes;
  if (weight != NULL && s->smoothing != 0.0f) {
    total = 0;
    for (size_t c = 0; c < s->classes; c++) total += (double)((const float *)weight->data)[c];
  }
  *(float *)job->scratch = (float)total;
}

static samara_status cross_entropy_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                            void *thread_scratch) {
  (void)thread_scratch;
  const struct cross_entropy_state *s = job->state;
  const struct smr_tensor *weight = smr_optional_input(job, 4);
  const float *w = weight != NULL ? weight->data : NULL;
  const float *log_sum = job->inputs[3]->data;
  if (begin == end) {
    cross_entropy_grad_prologue(job);
    return SAMARA_OK;
  }
  const float part = s->smoothing / (float)s->classes, rest = 1.0f - s->smoothing;
  for (size_t i = begin * s->tile_rows; i < cross_entropy_last(s, end); i++) {
    const float dloss = ((const float *)job->inputs[0]->data)[i];
    float *dx = (float *)job->outputs[0]->data + i * s->classes;
    size_t target;
    SMR_TRY(cross_entropy_target(job, job->inputs[2], i, &target));
    if (target == s->classes) {
      memset(dx, 0, s->classes * sizeof *dx);
      continue;
    }
    const float own = rest * (w != NULL ? w[target] : 1.0f);
    const float all = s->smoothing != 0.0f ? own + part * *(const float *)job->scratch : own;
    s->kernels->descend(s->classes, (const float *)job->inputs[1]->data + i * s->classes,
                        s->smoothing != 0.0f ? w : NULL, log_sum[i], dloss * all, dloss * part, dx);
    dx[target] -= dloss * own;
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(cross_entropy_grad, cross_entropy_grad_check, cross_entropy_grad_prepare,
               cross_entropy_grad_run, sizeof(struct cross_entropy_state))
