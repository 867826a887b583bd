// SPDX-License-Identifier: Apache-2.0
// quantize, dequantize, requantize, reinterpret.
#include "base/fp.h"

#include "kernels/f16_convert/f16_convert.h"
#include "kernels/vquant/vquant.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"
#include "simd/common.h"

#include <string.h>

// The parameters of a tensor's elements: one pair, or one per index of an axis.
struct quantize_side {
  const struct smr_quant *quant;
  size_t inner;  // elements per index of the axis; 0: one pair for all
};

struct quantize_state {
  struct quantize_side from, to;
  smr_f16_to_f32_ukernel widen;
  const struct smr_vquant *kernels;
};

static struct quantize_side quantize_side_of(const struct smr_tensor *t) {
  struct quantize_side side = {.quant = t->quant};
  if (t->quant == NULL || t->quant->axis < 0) return side;
  side.inner = 1;
  for (uint32_t i = (uint32_t)t->quant->axis + 1; i < t->rank; i++)
    side.inner *= (size_t)t->dims[i];
  return side;
}

// Parameters from element `at` on. *run is limited to the elements that share them.
static struct smr_vquant_params quantize_params(const struct quantize_side *side, size_t at,
                                                size_t *run) {
  const struct smr_quant *q = side->quant;
  if (!SMR_HAS(vquant_axis) || side->inner == 0)
    return (struct smr_vquant_params){.scales = q->scales, .zero_points = q->zero_points};
  const size_t index = at / side->inner % q->count;
  const size_t left = side->inner == 1 ? q->count - index : side->inner - at % side->inner;
  if (*run > left) *run = left;
  return (struct smr_vquant_params){
      .scales = q->scales + index, .zero_points = q->zero_points + index, .step = side->inner == 1};
}

static samara_status quantize_prepare_any(struct smr_job *job) {
  struct quantize_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  *s = (struct quantize_state){.from = quantize_side_of(x),
                               .to = quantize_side_of(y),
                               .kernels = smr_vquant_config(job->isa)};
  // An innermost axis: neighbouring elements have different parameters.
  if (s->from.inner != 0 || s->to.inner != 0) SMR_NEED(job, vquant_axis);
  if (SMR_HAS(type_float16) && x->dtype == SAMARA_FLOAT16) {
    s->widen = smr_f16_to_f32_kernel(job->isa);
    job->thread_scratch_bytes = SMR_WIDEN_CHUNK * sizeof(float);
  }
  job->kernel = s->kernels->name;
  job->tiles = smr_grain_tiles((size_t)smr_numel(y));
  return SAMARA_OK;
}

static samara_status quantize_expect(const struct smr_job *job, uint32_t from, uint32_t to) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", from));
  return smr_expect_dtype(job, job->outputs[0], "output", to);
}

static samara_status quantize_check(const struct smr_job *job) {
  return quantize_expect(job, SMR_DTYPES_FLOAT, SMR_DTYPE_QS8);
}

static samara_status quantize_run(const struct smr_job *job, size_t begin, size_t end,
                                  void *thread_scratch) {
  const struct quantize_state *s = job->state;
  int8_t *y = job->outputs[0]->data;
  const size_t to = smr_grain_end((size_t)smr_numel(job->outputs[0]), end);
  for (size_t i = begin * SMR_GRAIN; i < to;) {
    size_t n = to - i;
    const struct smr_vquant_params p = quantize_params(&s->to, i, &n);
    if (SMR_HAS(type_float16) && s->widen != NULL) {
      if (n > SMR_WIDEN_CHUNK) n = SMR_WIDEN_CHUNK;
      s->widen(n, (const uint16_t *)job->inputs[0]->data + i, thread_scratch);
      s->kernels->quantize(n, thread_scratch, p, y + i);
    } else {
      s->kernels->quantize(n, (const float *)job->inputs[0]->data + i, p, y + i);
    }
    i += n;
  }
  return SAMARA_OK;
}

static samara_status dequantize_check(const struct smr_job *job) {
  return quantize_expect(job, SMR_DTYPE_QS8, SMR_DTYPE_F32);
}

static samara_status dequantize_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  (void)thread_scratch;
  const struct quantize_state *s = job->state;
  const int8_t *x = job->inputs[0]->data;
  float *y = job->outputs[0]->data;
  const size_t to = smr_grain_end((size_t)smr_numel(job->outputs[0]), end);
  for (size_t i = begin * SMR_GRAIN; i < to;) {
    size_t n = to - i;
    const struct smr_vquant_params p = quantize_params(&s->from, i, &n);
    s->kernels->dequantize(n, x + i, p, y + i);
    i += n;
  }
  return SAMARA_OK;
}

static samara_status requantize_check(const struct smr_job *job) {
  return quantize_expect(job, SMR_DTYPE_QS8, SMR_DTYPE_QS8);
}

static samara_status requantize_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  (void)thread_scratch;
  const struct quantize_state *s = job->state;
  const int8_t *x = job->inputs[0]->data;
  int8_t *y = job->outputs[0]->data;
  const size_t to = smr_grain_end((size_t)smr_numel(job->outputs[0]), end);
  for (size_t i = begin * SMR_GRAIN; i < to;) {
    size_t n = to - i;
    const struct smr_vquant_params from = quantize_params(&s->from, i, &n);
    const struct smr_vquant_params into = quantize_params(&s->to, i, &n);
    s->kernels->requantize(n, x + i, from, into, y + i);
    i += n;
  }
  return SAMARA_OK;
}

// The file gives the parameters of a reinterpreted tensor, so only dtypes are checked.
static samara_status reinterpret_check(const struct smr_job *job) {
  const uint32_t bytes = SMR_DTYPE_I8 | SMR_DTYPE_U8 | SMR_DTYPE_QS8;
  SMR_TRY(quantize_expect(job, bytes, bytes));
  if (SMR_ATTR(job, reinterpret, to)->i != job->outputs[0]->dtype)
    SMR_FAIL(job->error, BAD_SHAPE, "reinterpret: the output has dtype %s, not that of `to`",
             smr_dtype_name(job->outputs[0]->dtype));
  return SAMARA_OK;
}

SMR_VECTORIZED static void reinterpret_shift(size_t n, const uint8_t *x, uint8_t *y) {
  for (size_t i = 0; i < n; i++) y[i] = x[i] ^ 0x80;  // adds 128
}

static samara_status reinterpret_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  const struct smr_tensor *tx = job->inputs[0], *ty = job->outputs[0];
  const uint8_t *x = tx->data;
  uint8_t *y = ty->data;
  const size_t from = begin * SMR_GRAIN, to = smr_grain_end((size_t)smr_numel(ty), end);
  if ((tx->dtype == SAMARA_UINT8) == (ty->dtype == SAMARA_UINT8)) {
    if (from < to) memmove(y + from, x + from, to - from);
    return SAMARA_OK;
  }
  if (from < to) reinterpret_shift(to - from, x + from, y + from);
  return SAMARA_OK;
}

static samara_status reinterpret_prepare(struct smr_job *job) { return quantize_prepare_any(job); }

#define QUANTIZE_PREPARE(name)                               \
  static samara_status name##_prepare(struct smr_job *job) { \
    SMR_NEED(job, vquant_##name);                            \
    return quantize_prepare_any(job);                        \
  }
QUANTIZE_PREPARE(quantize)
QUANTIZE_PREPARE(dequantize)
QUANTIZE_PREPARE(requantize)
#undef QUANTIZE_PREPARE

#define QUANTIZE_FUNCS(name)                                                    \
  const struct smr_op_funcs smr_op_##name##_funcs = {.check = name##_check,     \
                                                     .prepare = name##_prepare, \
                                                     .run = name##_run,         \
                                                     .state_bytes = sizeof(struct quantize_state)}
QUANTIZE_FUNCS(quantize);
QUANTIZE_FUNCS(dequantize);
QUANTIZE_FUNCS(requantize);
QUANTIZE_FUNCS(reinterpret);
#undef QUANTIZE_FUNCS
