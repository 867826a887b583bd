// SPDX-License-Identifier: Apache-2.0
// Packed weights, padded bias and the epilogue of products.
#include "base/fp.h"

#include "ops/linear.h"

#include "base/checked.h"
#include "kernels/pack/pack_f32.h"
#include "ops/check.h"
#include "simd/half.h"

#include <assert.h>
#include <math.h>
#include <string.h>

samara_status smr_linear_check_floats(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *bias = smr_optional_input(job, 2);
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  SMR_TRY(smr_expect_dtype(job, x, "x", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_dtype(job, job->inputs[1], "w", SMR_DTYPES_FLOAT));
  if (bias != NULL) SMR_TRY(smr_expect_dtype(job, bias, "bias", SMR_DTYPES_FLOAT));
  if (residual != NULL) SMR_TRY(smr_expect_same_dtype(job, x, residual, "x and residual"));
  return smr_expect_same_dtype(job, x, job->outputs[0], "x and output");
}

static samara_status linear_take(struct smr_job *job, size_t *total, size_t count, size_t bytes,
                                 size_t *offset) {
  size_t size, end;
  if (!smr_mul_size(count, bytes, &size) || size > PTRDIFF_MAX - 63 ||
      !smr_add_size(*total, (size + 63) & ~(size_t)63, &end) || end > PTRDIFF_MAX)
    SMR_FAIL(job->error, LIMIT, "%s: needs %zu times %zu bytes of scratch", job->op->name, count,
             bytes);
  *offset = *total;
  *total = end;
  return SAMARA_OK;
}

samara_status smr_scratch_take(struct smr_job *job, size_t count, size_t bytes, size_t *offset) {
  return linear_take(job, &job->scratch_bytes, count, bytes, offset);
}

samara_status smr_thread_scratch_take(struct smr_job *job, size_t count, size_t bytes,
                                      size_t *offset) {
  return linear_take(job, &job->thread_scratch_bytes, count, bytes, offset);
}

static samara_status linear_epilogue(const struct smr_job *job, struct smr_linear *linear) {
  // In the order of the attribute's choices.
  static const enum smr_f32_vunary functions[] = {
      SMR_F32_SIGMOID, SMR_F32_SIGMOID, SMR_F32_TANH,      SMR_F32_HARD_SIGMOID, SMR_F32_HARD_SWISH,
      SMR_F32_SILU,    SMR_F32_GELU,    SMR_F32_GELU_TANH, SMR_F32_LEAKY_RELU,   SMR_F32_ELU};
  linear->lo = -INFINITY;
  linear->hi = INFINITY;
  linear->post = (struct smr_linear_post){.function = NULL};
  if (!smr_op_has_attr(job, "post")) return SAMARA_OK;
  linear->lo = smr_op_attr(job, "lo")->f;
  linear->hi = smr_op_attr(job, "hi")->f;
  const int64_t post = smr_op_attr_int(job, "post");
  if (post < 0 || (uint64_t)post >= sizeof functions / sizeof functions[0])
    SMR_FAIL(job->error, BAD_SHAPE, "%s: unknown activation", job->op->name);
  linear->post = (struct smr_linear_post){
      .function = post ? smr_f32_vunary_kernel(job->isa, functions[post]) : NULL,
      .widen = smr_f16_to_f32_kernel(job->isa),
      .narrow = smr_f32_to_f16_kernel(job->isa),
      .params = {smr_op_attr(job, "post_alpha")->f, smr_op_attr(job, "post_beta")->f}};
  return SAMARA_OK;
}

// Ask for a copy of constant `input` in another layout; the index in job->derived.
static uint32_t linear_derive(struct smr_job *job, int32_t input, uint32_t key, size_t bytes) {
  uint32_t i = 0;
  while (job->derived[i].input >= 0) i++;
  assert(i < SMR_MAX_DERIVED);
  job->derived[i] = (struct smr_derived){.input = input, .layout = key, .size_bytes = bytes};
  return i;
}

static samara_status linear_place_weights(struct smr_job *job, struct smr_linear *l) {
  const struct smr_tensor *w = job->inputs[1];
  l->w_type = smr_linear_type(w);
  const size_t element = smr_dtype_bytes(w->dtype);
  size_t bytes;
  if (!smr_mul_size(l->taps * l->k, SMR_PANEL * element, &bytes) || bytes > PTRDIFF_MAX - 63 ||
      !smr_mul_size(smr_panel_stride_bytes(l->taps * l->k, element), smr_panels(l->n),
                    &l->w_group_bytes) ||
      !smr_mul_size(l->w_group_bytes, l->groups, &bytes))
    SMR_FAIL(job->error, LIMIT, "%s: weights are too large to pack", job->op->name);
  l->panel_stride_bytes = smr_panel_stride_bytes(l->taps * l->k, element);
  if (w->layout != SMR_LAYOUT_PLAIN || bytes == 0) {  // of nothing, nothing is read
    l->w_from = SMR_LINEAR_DIRECT;
  } else if (w->constant >= 0 && l->weight_key != 0) {
    l->w_from = SMR_LINEAR_DERIVED;
    l->w_derived = linear_derive(job, 1, l->weight_key, bytes);
  } else if (l->caller_packs) {
    l->w_from = SMR_LINEAR_CALLER;
  } else {
    l->w_from = SMR_LINEAR_SCRATCH;
    SMR_TRY(smr_scratch_take(job, bytes, 1, &l->w_offset));
  }
  return SAMARA_OK;
}

static samara_status linear_place_bias(struct smr_job *job, struct smr_linear *l) {
  const struct smr_tensor *bias = smr_optional_input(job, 2);
  l->bias_stride = smr_panels(l->n) * SMR_PANEL;
  size_t floats;
  if (bias == NULL) {
    l->bias_from = SMR_LINEAR_ABSENT;
    return SAMARA_OK;
  }
  // matmul shares one bias among its groups, convolutions have a part for each.
  const bool shared = (size_t)bias->dims[0] == l->n;
  const size_t groups = shared ? 1 : l->groups;
  if (!smr_mul_size(l->bias_stride, groups, &floats) || floats > PTRDIFF_MAX / sizeof(float))
    SMR_FAIL(job->error, LIMIT, "%s: the bias is too large to pad", job->op->name);
  const bool padded =
      l->n == l->bias_stride || (bias->constant >= 0 && groups == 1 && bias->padded);
  if (padded && bias->dtype == SAMARA_FLOAT32) {
    l->bias_from = SMR_LINEAR_DIRECT;
  } else if (bias->constant >= 0 && groups < SMR_LINEAR_KEY_LIMIT) {
    l->bias_from = SMR_LINEAR_DERIVED;
    l->bias_derived =
        linear_derive(job, 2, SMR_LINEAR_KEY_BIAS | (uint32_t)groups, floats * sizeof(float));
  } else {
    l->bias_from = SMR_LINEAR_SCRATCH;
    SMR_TRY(smr_scratch_take(job, floats, sizeof(float), &l->bias_offset));
  }
  if (shared) l->bias_stride = 0;
  return SAMARA_OK;
}

samara_status smr_linear_prepare(struct smr_job *job, struct smr_linear *linear) {
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  SMR_TRY(linear_epilogue(job, linear));
  SMR_TRY(linear_place_weights(job, linear));
  return linear_place_bias(job, linear);
}

void smr_linear_pack_group(const struct smr_job *job, const struct smr_linear *l, size_t group,
                           void *out) {
  const struct smr_tensor *w = job->inputs[1];
  const size_t element = smr_dtype_bytes(w->dtype);
  for (size_t tap = 0; tap < l->taps; tap++) {
    const size_t source = l->source_tap != NULL ? l->source_tap(job, tap) : tap;
    const struct smr_pack_f32_args args = {
        .k = l->k,
        .n = l->n,
        .src = (const char *)w->data + (group * l->group_stride + source * l->tap_stride) * element,
        .type = l->w_type,
        .k_stride = l->k_stride,
        .n_stride = l->n_stride,
        .dst = (char *)out + tap * l->k * SMR_PANEL * element,
        .panel_stride_bytes = l->panel_stride_bytes,
    };
    smr_pack_f32(&args, job->isa, 0, smr_panels(l->n));
  }
}

static void linear_pack_weights(const struct smr_job *job, const struct smr_linear *l, char *out) {
  // What lies between panels is never read, but files and caches should not see old memory.
  memset(out, 0, l->w_group_bytes * l->groups);
  for (size_t g = 0; g < l->groups; g++)
    smr_linear_pack_group(job, l, g, out + g * l->w_group_bytes);
}

static void linear_pad_bias(const struct smr_job *job, const struct smr_linear *l, float *out) {
  const struct smr_tensor *bias = job->inputs[2];
  const size_t groups = l->bias_stride ? l->groups : 1;
  const size_t padded = smr_panels(l->n) * SMR_PANEL;
  for (size_t g = 0; g < groups; g++) {
    for (size_t i = 0; i < padded; i++) {
      const size_t at = g * l->n + i;
      float value = 0.0f;
      if (i < l->n && bias->dtype == SAMARA_FLOAT16)
        value = smr_f16_to_f32(((const uint16_t *)bias->data)[at]);
      else if (i < l->n)
        value = ((const float *)bias->data)[at];
      out[g * padded + i] = value;
    }
  }
}

samara_status smr_linear_pack(const struct smr_job *job, const struct smr_derived *what,
                              void *out) {
  const struct smr_linear *linear = job->state;
  if (what->input == 1)
    linear_pack_weights(job, linear, out);
  else
    linear_pad_bias(job, linear, out);
  return SAMARA_OK;
}

void smr_linear_prologue(const struct smr_job *job, const struct smr_linear *linear) {
  char *scratch = job->scratch;
  if (linear->w_from == SMR_LINEAR_SCRATCH)
    linear_pack_weights(job, linear, scratch + linear->w_offset);
  if (linear->bias_from == SMR_LINEAR_SCRATCH)
    linear_pad_bias(job, linear, (float *)(void *)(scratch + linear->bias_offset));
}

// What operand `input` is read from.
static const void *linear_source(const struct smr_job *job, enum smr_linear_source from,
                                 uint32_t input, uint32_t derived, size_t offset) {
  switch (from) {
    case SMR_LINEAR_DIRECT:
      return job->inputs[input]->data;
    case SMR_LINEAR_DERIVED:
      return job->derived[derived].data;
    case SMR_LINEAR_SCRATCH:
      // Prepared before there is scratch, for its size.
      return job->scratch == NULL ? NULL : (const char *)job->scratch + offset;
    default:
      return NULL;
  }
}

const void *smr_linear_weights(const struct smr_job *job, const struct smr_linear *linear) {
  return linear_source(job, linear->w_from, 1, linear->w_derived, linear->w_offset);
}

const float *smr_linear_bias(const struct smr_job *job, const struct smr_linear *linear) {
  return linear_source(job, linear->bias_from, 2, linear->bias_derived, linear->bias_offset);
}

void smr_linear_post(void *context, void *out, size_t rows, size_t columns, size_t out_stride,
                     smr_gemm_type out_type) {
  enum { CHUNK = 256 };  // floats on the stack
  const struct smr_linear_post *post = context;
  for (size_t i = 0; i < rows; i++) {
    if (out_type == SMR_GEMM_F32) {
      float *row = (float *)out + i * out_stride;
      post->function(columns, row, row, post->params);
      continue;
    }
    uint16_t *row = (uint16_t *)out + i * out_stride;
    for (size_t j = 0; j < columns; j += CHUNK) {
      const size_t n = columns - j < CHUNK ? columns - j : CHUNK;
      float chunk[CHUNK];
      post->widen(n, row + j, chunk);
      post->function(n, chunk, chunk, post->params);
      post->narrow(n, chunk, row + j);
    }
  }
}

void smr_linear_args(const struct smr_job *job, const struct smr_linear *linear,
                     struct smr_f32_gemm_args *args) {
  args->batch = linear->groups;
  args->n = linear->n;
  args->w = smr_linear_weights(job, linear);
  args->w_type = linear->w_type;
  args->panel_stride_bytes = linear->panel_stride_bytes;
  args->w_batch_stride_bytes = linear->w_group_bytes;
  args->bias = smr_linear_bias(job, linear);
  args->bias_batch_stride = linear->bias_stride;
  args->lo = linear->lo;
  args->hi = linear->hi;
  args->post = linear->post.function != NULL ? smr_linear_post : NULL;
  args->post_context = (void *)(uintptr_t)&linear->post;
}

// Multiply-adds of a unit; what does not fit is much.
static size_t linear_unit_work(const struct smr_f32_gemm_plan *plan,
                               const struct smr_f32_gemm_args *args) {
  size_t work = args->m / plan->blocks + 1;
  if (!smr_mul_size(work, args->n / plan->groups + 1, &work) ||
      !smr_mul_size(work, args->k + 1, &work) ||
      (args->indirect != NULL && !smr_mul_size(work, args->taps, &work)))
    return SIZE_MAX;
  return work;
}

samara_status smr_linear_multiply(struct smr_pace *pace, const struct smr_f32_gemm_plan *plan,
                                  const struct smr_f32_gemm_args *args, size_t begin, size_t end) {
  if (begin >= end) return SAMARA_OK;
  const size_t work = linear_unit_work(plan, args);
  const size_t piece = work < SMR_PACE_WORK && work != 0 ? SMR_PACE_WORK / work : 1;
  for (size_t at = begin; at < end;) {
    const size_t count = end - at < piece ? end - at : piece;
    SMR_TRY(smr_pace_step(pace, count < piece ? count * work : SMR_PACE_WORK));
    smr_f32_gemm_run(plan, args, at, at + count);
    at += count;
  }
  return SAMARA_OK;
}
