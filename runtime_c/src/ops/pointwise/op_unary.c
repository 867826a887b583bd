// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of one input.
#include "base/fp.h"

#include "kernels/f32_vunary/f32_vunary.h"
#include "kernels/f64_vunary/f64_vunary.h"
#include "kernels/vunary/vunary.h"
#include "ops/check/check.h"
#include "ops/exact.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

#include <string.h>

struct unary_state {
  smr_f32_vunary_ukernel f32;  // NULL: use `f64` or `any`
  smr_f64_vunary_ukernel f64;
  struct smr_vunary_kernel any;
  smr_f16_to_f32_ukernel widen;  // float16 input
  smr_f32_to_f16_ukernel narrow;
  float params[2];
};

static samara_status unary_check(const struct smr_job *job, uint32_t set) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", set));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and output");
}

static samara_status unary_check_float(const struct smr_job *job) {
  return unary_check(job, SMR_DTYPES_EVERY_FLOAT);
}
static samara_status unary_check_number(const struct smr_job *job) {
  return unary_check(job, SMR_DTYPES_EVERY_NUMBER);
}
static samara_status unary_check_int(const struct smr_job *job) {
  return unary_check(job, SMR_DTYPES_EVERY_INT);
}
static samara_status unary_check_bool(const struct smr_job *job) {
  return unary_check(job, SMR_DTYPE_BOOL);
}
static samara_status unary_check_predicate(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_EVERY_FLOAT));
  return smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_BOOL);
}

static void unary_tiles(struct smr_job *job) {
  job->tiles = smr_grain_tiles((size_t)smr_numel(job->outputs[0]));
}

static void unary_widen(struct smr_job *job, struct unary_state *s) {
  if (job->inputs[0]->dtype != SAMARA_FLOAT16) return;
  s->widen = smr_f16_to_f32_kernel(job->isa);
  s->narrow = smr_f32_to_f16_kernel(job->isa);
  job->thread_scratch_bytes = SMR_WIDEN_CHUNK * sizeof(float);
}

// float64 uses the function of the same name.
static samara_status unary_prepare_f32(struct smr_job *job, enum smr_f32_vunary function, float a,
                                       float b) {
  struct unary_state *s = job->state;
  unary_tiles(job);
  if (SMR_HAS(type_float64) && job->inputs[0]->dtype == SAMARA_FLOAT64) {
    *s = (struct unary_state){.f64 = smr_f64_vunary_kernel(function), .params = {a, b}};
    job->kernel = "f64_vunary";
    return SAMARA_OK;
  }
  *s = (struct unary_state){.f32 = smr_f32_vunary_kernel(job->isa, function), .params = {a, b}};
  if (SMR_HAS(exact) && job->exact) {
    SMR_TRY(smr_exact_function(job, function, &s->f32));
    job->kernel = smr_f32_exact_config(job->isa)->name;
    unary_widen(job, s);
    return SAMARA_OK;
  }
  SMR_NEED_KERNEL(job, f32_vunary_neg, (int)function - SMR_F32_NEG, s->f32);
  job->kernel = smr_f32_vunary_kernel_name(job->isa, function);
  unary_widen(job, s);
  return SAMARA_OK;
}

static samara_status unary_prepare_any(struct smr_job *job, enum smr_vunary function) {
  struct unary_state *s = job->state;
  const uint8_t dtype = job->inputs[0]->dtype;
  SMR_NEED(job, vunary);
  *s = (struct unary_state){
      .any = smr_vunary_kernel(function, dtype == SAMARA_FLOAT16 ? SAMARA_FLOAT32 : dtype)};
  SMR_NEED_KERNEL(job, vunary_neg, (int)function - SMR_VUNARY_NEG, s->any.blocks);
  job->kernel = "vunary";
  unary_widen(job, s);
  unary_tiles(job);
  return SAMARA_OK;
}

// Floats use `f32`, integers another function.
static samara_status unary_prepare_number(struct smr_job *job, enum smr_f32_vunary f32,
                                          enum smr_vunary any) {
  const uint8_t dtype = job->inputs[0]->dtype;
  if ((1u << dtype & SMR_DTYPES_EVERY_FLOAT) != 0) return unary_prepare_f32(job, f32, 0.0f, 0.0f);
  return unary_prepare_any(job, any);
}

static void unary_run_f16(const struct unary_state *s, size_t n, const uint16_t *x, void *y,
                          float *chunk) {
  uint16_t *y_f16 = y;
  uint8_t *y_bool = y;
  for (size_t i = 0; i < n; i += SMR_WIDEN_CHUNK) {
    const size_t count = n - i < SMR_WIDEN_CHUNK ? n - i : SMR_WIDEN_CHUNK;
    s->widen(count, x + i, chunk);
    if (s->f32 == NULL) {
      smr_vunary_run(&s->any, count, chunk, y_bool + i);
      continue;
    }
    s->f32(count, chunk, chunk, s->params);
    s->narrow(count, chunk, y_f16 + i);
  }
}

static samara_status unary_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  const struct unary_state *s = job->state;
  const struct smr_tensor *tx = job->inputs[0], *ty = job->outputs[0];
  const size_t from = begin * SMR_GRAIN, n = smr_grain_end((size_t)smr_numel(ty), end) - from;
  const char *x = (const char *)tx->data + from * smr_dtype_bytes(tx->dtype);
  char *y = (char *)ty->data + from * smr_dtype_bytes(ty->dtype);
  if (SMR_HAS(type_float16) && s->widen != NULL)
    unary_run_f16(s, n, (const uint16_t *)(const void *)x, y, thread_scratch);
  else if (s->f32 != NULL)
    s->f32(n, (const float *)(const void *)x, (float *)(void *)y, s->params);
  else if (SMR_HAS(type_float64) && s->f64 != NULL)
    s->f64(n, x, y, s->params);
  else if (SMR_HAS(vunary))
    smr_vunary_run(&s->any, n, x, y);
  return SAMARA_OK;
}

// Dtypes that the checks accept beyond the first eight.
enum {
  unary_more_float = SMR_DTYPE_F64,
  unary_more_number = SMR_DTYPES_MORE_NUMBER,
  unary_more_int = SMR_DTYPES_MORE_INT,
  unary_more_bool = 0,
  unary_more_predicate = SMR_DTYPE_F64,
};

#define UNARY(name, check_, prepare_)                                                           \
  static samara_status unary_prepare_##name(struct smr_job *job) { return prepare_; }           \
  const struct smr_op_funcs smr_op_##name##_funcs = {.check = unary_check_##check_,             \
                                                     .prepare = unary_prepare_##name,           \
                                                     .run = unary_run,                          \
                                                     .state_bytes = sizeof(struct unary_state), \
                                                     .more_dtypes = unary_more_##check_};
#define UNARY_FLOAT(name, function, a, b) \
  UNARY(name, float, unary_prepare_f32(job, (function), (a), (b)))
#define UNARY_NUMBER(name, FUNCTION) \
  UNARY(name, number, unary_prepare_number(job, SMR_F32_##FUNCTION, SMR_VUNARY_##FUNCTION))
#include "ops/table/unary.inc"

UNARY(logical_not, bool, unary_prepare_any(job, SMR_VUNARY_NOT))
UNARY(bitwise_not, int, unary_prepare_any(job, SMR_VUNARY_BIT_NOT))
UNARY(isnan, predicate, unary_prepare_any(job, SMR_VUNARY_IS_NAN))

// Select which infinities count.
static samara_status unary_prepare_infinite(struct smr_job *job) {
  const bool negative = SMR_ATTR(job, isinf, negative)->i != 0;
  const bool positive = SMR_ATTR(job, isinf, positive)->i != 0;
  return unary_prepare_any(job, negative && positive ? SMR_VUNARY_IS_INF
                                : negative           ? SMR_VUNARY_IS_INF_NEGATIVE
                                : positive           ? SMR_VUNARY_IS_INF_POSITIVE
                                                     : SMR_VUNARY_IS_INF_NONE);
}
UNARY(isinf, predicate, unary_prepare_infinite(job))

#undef UNARY_NUMBER
#undef UNARY_FLOAT
#undef UNARY

static samara_status identity_check(const struct smr_job *job) {
  return unary_check(job, SMR_DTYPES_ANY | SMR_DTYPES_MORE | SMR_DTYPES_PACKED);
}

static samara_status identity_prepare(struct smr_job *job) {
  job->kernel = "copy";
  unary_tiles(job);
  return SAMARA_OK;
}

static samara_status identity_run(const struct smr_job *job, size_t begin, size_t end,
                                  void *thread_scratch) {
  (void)thread_scratch;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const size_t element = smr_dtype_bytes(y->dtype), from = begin * SMR_GRAIN;
  const size_t n = smr_grain_end((size_t)smr_numel(y), end) - from;
  if (x->data != y->data && smr_dtype_packed(y->dtype))
    memcpy((char *)y->data + from / 2, (const char *)x->data + from / 2, n / 2 + n % 2);
  else if (x->data != y->data)
    memcpy((char *)y->data + from * element, (const char *)x->data + from * element, n * element);
  return SAMARA_OK;
}

// The dtypes must have the same number of bits.
static samara_status bitcast_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const uint32_t set = SMR_DTYPES_PLAIN | SMR_DTYPES_MORE | SMR_DTYPES_PACKED;
  SMR_TRY(smr_expect_dtype(job, x, "input", set));
  SMR_TRY(smr_expect_dtype(job, y, "output", set));
  if (SMR_ATTR(job, bitcast, to)->i != y->dtype ||
      smr_dtype_bytes(x->dtype) != smr_dtype_bytes(y->dtype) ||
      smr_dtype_packed(x->dtype) != smr_dtype_packed(y->dtype))
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: the bits of %s cannot be read as %s, expected elements of the same size",
             job->op->name, smr_dtype_name(x->dtype), smr_dtype_name(y->dtype));
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_bitcast_funcs = {
    .check = bitcast_check,
    .prepare = identity_prepare,
    .run = identity_run,
    .more_dtypes = SMR_DTYPES_MORE | SMR_DTYPES_PACKED};

const struct smr_op_funcs smr_op_identity_funcs = {
    .check = identity_check,
    .prepare = identity_prepare,
    .run = identity_run,
    .more_dtypes = SMR_DTYPES_MORE | SMR_DTYPES_PACKED};
