// SPDX-License-Identifier: Apache-2.0
// Packed weights, padded bias and the epilogue of matrix products.
#include "base/fp.h"

#include "ops/matmul/linear.h"

#include "base/checked.h"
#include "base/cut.h"
#include "kernels/pack/pack_f32.h"
#include "ops/check/check.h"
#include "ops/exact.h"
#include "ops/partition.h"
#include "simd/half.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LINEAR_ROWS = 4 };  // most rows of x for which quantized weights are used without unfolding

samara_status smr_linear_check_floats(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *bias = smr_optional_input(job, 2);
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  SMR_TRY(smr_expect_dtype(job, x, "x", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_dtype(job, job->inputs[1], "w", SMR_DTYPES_FLOAT));
  if (bias != NULL) SMR_TRY(smr_expect_dtype(job, bias, "bias", SMR_DTYPES_FLOAT));
  if (residual != NULL) SMR_TRY(smr_expect_same_dtype(job, x, residual, "x and residual"));
  return smr_expect_same_dtype(job, x, job->outputs[0], "x and output");
}

static bool linear_is_quantized(const struct smr_job *job) {
  return job->inputs[1]->dtype == SAMARA_QINT8;
}
// The same after prepare; a constant if this build has no such weights.
static bool linear_has_bytes(const struct smr_job *job) {
  return SMR_HAS(linear_narrow) && linear_is_quantized(job);
}

samara_status smr_linear_check_weights(const struct smr_job *job, uint32_t w_axis) {
  if (!linear_is_quantized(job)) return smr_linear_check_floats(job);
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  const struct smr_tensor *bias = smr_optional_input(job, 2);
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  SMR_TRY(smr_expect_dtype(job, x, "x", SMR_DTYPE_F32));
  if (bias != NULL) SMR_TRY(smr_expect_dtype(job, bias, "bias", SMR_DTYPES_FLOAT));
  if (residual != NULL) SMR_TRY(smr_expect_same_dtype(job, x, residual, "x and residual"));
  SMR_TRY(smr_expect_same_dtype(job, x, job->outputs[0], "x and output"));
  const struct smr_quant *quant = w->quant;
  if (quant == NULL || (quant->axis < 0 && quant->count != 1) ||
      (quant->axis >= 0 &&
       ((uint32_t)quant->axis != w_axis || (int64_t)quant->count != w->dims[w_axis])))
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: w has %u scales along axis %d, expected one or %" PRId64 " along axis %u",
             job->op->name, quant != NULL ? (unsigned)quant->count : 0u,
             quant != NULL ? (int)quant->axis : -1, w->dims[w_axis], (unsigned)w_axis);
  return SAMARA_OK;
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

static samara_status linear_exact_post(struct smr_job *job, enum smr_f32_vunary function,
                                       const struct smr_attrs_epilogue *attrs,
                                       struct smr_linear *linear) {
  linear->post = (struct smr_linear_post){.widen = smr_f16_to_f32_kernel(job->isa),
                                          .narrow = smr_f32_to_f16_kernel(job->isa),
                                          .params = {attrs->post_alpha.f, attrs->post_beta.f}};
  return smr_exact_function(job, function, &linear->post.function);
}

static samara_status linear_epilogue(struct smr_job *job, const struct smr_attrs_epilogue *attrs,
                                     struct smr_linear *linear) {
  // In the order of the attribute's choices.
  static const enum smr_f32_vunary functions[] = {
      SMR_F32_SIGMOID, SMR_F32_SIGMOID, SMR_F32_TANH,      SMR_F32_HARD_SIGMOID, SMR_F32_HARD_SWISH,
      SMR_F32_SILU,    SMR_F32_GELU,    SMR_F32_GELU_TANH, SMR_F32_LEAKY_RELU,   SMR_F32_ELU};
  linear->lo = -INFINITY;
  linear->hi = INFINITY;
  linear->post = (struct smr_linear_post){.function = NULL};
  if (attrs == NULL) return SAMARA_OK;
  linear->lo = attrs->lo.f;
  linear->hi = attrs->hi.f;
  const int64_t post = attrs->post.i;
  if (post < 0 || (uint64_t)post >= sizeof functions / sizeof functions[0])
    SMR_FAIL(job->error, BAD_SHAPE, "%s: unknown activation", job->op->name);
  if (post == 0) return SAMARA_OK;
  SMR_NEED(job, linear_post);
  if (SMR_HAS(exact) && job->exact) return linear_exact_post(job, functions[post], attrs, linear);
  linear->post =
      (struct smr_linear_post){.function = smr_f32_vunary_kernel(job->isa, functions[post]),
                               .widen = smr_f16_to_f32_kernel(job->isa),
                               .narrow = smr_f32_to_f16_kernel(job->isa),
                               .params = {attrs->post_alpha.f, attrs->post_beta.f}};
  SMR_NEED_KERNEL(job, f32_vunary_neg, (int)functions[post] - SMR_F32_NEG, linear->post.function);
  return SAMARA_OK;
}

uint32_t smr_linear_derive(struct smr_job *job, int32_t input, uint32_t key, size_t bytes) {
  uint32_t i = 0;
  while (job->derived[i].input >= 0) i++;
  assert(i < SMR_MAX_DERIVED);
  job->derived[i] = (struct smr_derived){.input = input, .layout = key, .size_bytes = bytes};
  return i;
}

// ---- quantized weights ----

// Scales and zero points of the columns of a panel.
struct linear_columns {
  float scales[SMR_PANEL];
  uint16_t zeros[SMR_PANEL];
  bool shifted;  // some zero point is not 0
};

static void linear_columns_of(const struct smr_linear *l, size_t group, size_t column,
                              size_t columns, struct linear_columns *out) {
  const struct smr_quant *quant = l->quant;
  // Each group of a convolution has its own channels; products of a matmul share their columns.
  const size_t first = (l->groups > 1 && quant->axis == 0 ? group * l->n : 0) + column;
  out->shifted = false;
  for (size_t i = 0; i < SMR_PANEL; i++) {
    const size_t at = quant->axis < 0 ? 0 : first + i;
    const bool used = i < columns;
    out->scales[i] = used ? quant->scales[at] : 0.0f;
    const int32_t zero = used ? quant->zero_points[at] : 0;
    out->zeros[i] = smr_f32_to_f16((float)zero);
    out->shifted = out->shifted || zero != 0;
  }
}

static struct smr_f32_narrow_panel linear_panel_of(const struct linear_columns *columns,
                                                   const void *w, size_t rows) {
  return (struct smr_f32_narrow_panel){.w = w,
                                       .rows = rows,
                                       .block = (rows | 3) + 1,  // a single block
                                       .scales = columns->scales,
                                       .zeros = columns->shifted ? columns->zeros : NULL};
}

static void linear_expand(const void *context, size_t batch, size_t column, size_t columns,
                          const void *w, size_t panel_stride_bytes, size_t first, size_t rows,
                          float *out, size_t out_stride_bytes) {
  const struct smr_linear *l = context;
  for (size_t j = 0; j < columns; j += SMR_PANEL) {
    struct linear_columns part;
    linear_columns_of(l, batch, column + j, columns - j, &part);
    const struct smr_f32_narrow_panel panel = linear_panel_of(
        &part, (const char *)w + j / SMR_PANEL * panel_stride_bytes, l->taps * l->k);
    float *to = (float *)(void *)((char *)out + j / SMR_PANEL * out_stride_bytes);
    l->narrow->expand[SMR_NARROW_I8](&panel, first, rows, to);
  }
}

static void linear_row(const void *context, size_t batch, size_t column, size_t columns,
                       const void *w, const float *a, float *sums) {
  const struct smr_linear *l = context;
  struct linear_columns part;
  linear_columns_of(l, batch, column, columns, &part);
  const struct smr_f32_narrow_panel panel = linear_panel_of(&part, w, l->taps * l->k);
  l->narrow->row[SMR_NARROW_I8](&panel, a, sums);
}

samara_status smr_linear_take_unfolded(struct smr_job *job, struct smr_linear *l) {
  if (!SMR_HAS(f32_gemm_source) || l->source.expand == NULL) return SAMARA_OK;
  const size_t bytes = smr_f32_gemm_source_bytes(smr_linear_config(job), l->taps * l->k);
  return smr_thread_scratch_take(job, bytes, 1, &l->unfold_offset);
}

// The stored byte of element (tap, k, n) of a group.
static int8_t linear_byte(const struct smr_job *job, const struct smr_linear *l, size_t group,
                          size_t tap, size_t k, size_t n) {
  const struct smr_tensor *w = job->inputs[1];
  const int8_t *data = w->data;
  const size_t source = l->source_tap != NULL ? l->source_tap(job, tap) : tap;
  if (w->layout == SMR_LAYOUT_PLAIN)
    return data[group * l->group_stride + source * l->tap_stride + k * l->k_stride +
                n * l->n_stride];
  const size_t rows = l->taps * l->k, row = source * l->k + k;
  if (w->layout == SMR_LAYOUT_DWPANEL) {
    const size_t stride = smr_panel_stride_bytes(rows, 1);
    return data[n / SMR_PANEL * stride + row * SMR_PANEL + n % SMR_PANEL];
  }
  const size_t stride = smr_narrow_panel_bytes(SMR_NARROW_I8, rows);
  const int8_t *panel = data + (group * smr_panels(l->n) + n / SMR_PANEL) * stride;
  return panel[(row / SMR_NARROW_ROWS_8 * SMR_PANEL + n % SMR_PANEL) * SMR_NARROW_ROWS_8 +
               row % SMR_NARROW_ROWS_8];
}

void smr_linear_sums(const struct smr_job *job, const struct smr_linear *l, int32_t *out) {
  const size_t padded = smr_panels(l->n) * SMR_PANEL;
  for (size_t i = 0; i < l->groups * padded; i++) {
    uint32_t sum = 0;
    for (size_t r = 0; i % padded < l->n && r < l->taps * l->k; r++) {
      const int32_t byte = linear_byte(job, l, i / padded, r / l->k, r % l->k, i % padded);
      sum += (uint32_t)byte;
    }
    out[i] = (int32_t)sum;
  }
}

// Unfold the weights of all groups to panels of floats.
static void linear_unfold_whole(const struct smr_job *job, const struct smr_linear *l, char *out) {
  memset(out, 0, l->w_group_bytes * l->groups);
  for (size_t g = 0; g < l->groups; g++) {
    for (size_t n = 0; n < l->n; n++) {
      struct linear_columns column;
      linear_columns_of(l, g, n, 1, &column);
      const int32_t zero = l->quant->zero_points[l->quant->axis < 0 ? 0 : g * l->n + n];
      float *to =
          (float *)(void *)(out + g * l->w_group_bytes + n / SMR_PANEL * l->panel_stride_bytes) +
          n % SMR_PANEL;
      for (size_t r = 0; r < l->taps * l->k; r++)
        to[r * SMR_PANEL] =
            (float)(linear_byte(job, l, g, r / l->k, r % l->k, n) - zero) * column.scales[0];
    }
  }
}

// Rows of a tap in panels of bytes.
static size_t linear_tap_rows(const struct smr_linear *l) {
  return l->pads_taps ? smr_ceil_div(l->k, SMR_NARROW_ROWS_8) * SMR_NARROW_ROWS_8 : l->k;
}

// Panels of bytes of one group.
static void linear_pack_bytes(const struct smr_job *job, const struct smr_linear *l, size_t group,
                              int8_t *out) {
  memset(out, 0, l->w_group_bytes);
  const size_t together = l->bytes_by_row ? 1 : SMR_NARROW_ROWS_8;
  for (size_t n = 0; n < l->n; n++) {
    int8_t *to = out + n / SMR_PANEL * l->panel_stride_bytes + n % SMR_PANEL * together;
    for (size_t tap = 0; tap < l->taps; tap++)
      for (size_t k = 0, r = tap * linear_tap_rows(l); k < l->k; k++, r++)
        to[r / together * SMR_PANEL * together + r % together] =
            linear_byte(job, l, group, tap, k, n);
  }
}

// ---- where operands come from ----

bool smr_linear_may_round(const struct smr_job *job) {
  const struct smr_tensor *w = job->inputs[1];
  return job->bfloat16 && job->inputs[0]->dtype == SAMARA_FLOAT32 && w->dtype == SAMARA_FLOAT32 &&
         w->constant >= 0;
}

bool smr_linear_rounds(const struct smr_job *job) {
  return SMR_HAS(bf16_gemm) && smr_linear_may_round(job) && smr_bf16_gemm_pays(job->isa);
}

// Bytes from one panel to the next, as read.
static size_t linear_stride_bytes(const struct smr_job *job, const struct smr_linear *l) {
  const size_t rows = l->taps * l->k;
  if (l->w_type == SMR_GEMM_BF16) return smr_bf16_gemm_panel_bytes(l->taps, l->k);
  if (!linear_has_bytes(job))
    return smr_panel_stride_bytes(rows, smr_dtype_bytes(job->inputs[1]->dtype));
  if (l->bytes_by_row) return smr_panel_stride_bytes(rows, 1);
  if (l->unfolds_whole) return smr_panel_stride_bytes(rows, sizeof(float));
  return smr_narrow_panel_bytes(SMR_NARROW_I8, l->taps * linear_tap_rows(l));
}

static samara_status linear_place_weights(struct smr_job *job, struct smr_linear *l) {
  const struct smr_tensor *w = job->inputs[1];
  if (linear_is_quantized(job)) SMR_NEED(job, linear_narrow);
  const bool quantized = linear_has_bytes(job);
  l->w_type = smr_linear_type(w);
  if (l->may_round && l->weight_key != 0 && l->k >= SMR_LINEAR_ROUNDED_SUM &&
      smr_linear_may_round(job)) {
    SMR_NEED(job, bf16_gemm);
    if (smr_linear_rounds(job)) l->w_type = SMR_GEMM_BF16;
  }
  l->quant = w->quant;
  l->source = (struct smr_f32_gemm_source){.expand = NULL};
  size_t bytes;
  if (!smr_mul_size(l->taps * l->k, SMR_PANEL * sizeof(float), &bytes) ||
      bytes > PTRDIFF_MAX - 63 ||
      !smr_mul_size(linear_stride_bytes(job, l), smr_panels(l->n), &l->w_group_bytes) ||
      !smr_mul_size(l->w_group_bytes, l->groups, &bytes))
    SMR_FAIL(job->error, LIMIT, "%s: weights are too large to pack", job->op->name);
  l->panel_stride_bytes = linear_stride_bytes(job, l);
  if (quantized && !l->unfolds_whole && !l->bytes_by_row) {
    l->narrow = smr_f32_narrow_config(job->isa);
    l->source = (struct smr_f32_gemm_source){
        .expand = linear_expand, .row = linear_row, .context = l, .rows = LINEAR_ROWS};
  }
  const bool whole = quantized && l->unfolds_whole, rounded = l->w_type == SMR_GEMM_BF16;
  if ((w->layout != SMR_LAYOUT_PLAIN && !whole && !rounded && !l->pads_taps) ||
      bytes == 0) {  // nothing is read
    l->w_from = SMR_LINEAR_DIRECT;
    return SAMARA_OK;
  }
  SMR_NEED(job, linear_pack);
  if (w->constant >= 0 && l->weight_key != 0 && !whole) {
    l->w_from = SMR_LINEAR_DERIVED;
    l->w_derived = smr_linear_derive(
        job, 1, l->weight_key | (quantized || rounded ? SMR_LINEAR_KEY_NARROW : 0), bytes);
  } else if (l->caller_packs) {
    l->w_from = SMR_LINEAR_CALLER;
  } else {
    l->w_from = SMR_LINEAR_SCRATCH;
    SMR_TRY(smr_scratch_take(job, bytes, 1, &l->w_offset));
  }
  return SAMARA_OK;
}

static uint32_t linear_bias_input(const struct smr_linear *l) {
  return l->bias_input != 0 ? l->bias_input : 2;
}

static samara_status linear_place_bias(struct smr_job *job, struct smr_linear *l) {
  const struct smr_tensor *bias = smr_optional_input(job, linear_bias_input(l));
  l->bias_stride = smr_panels(l->n) * SMR_PANEL;
  size_t floats;
  if (bias == NULL) {
    l->bias_from = SMR_LINEAR_ABSENT;
    return SAMARA_OK;
  }
  // matmul shares one bias among its groups; convolutions have one per group.
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
        smr_linear_derive(job, (int32_t)linear_bias_input(l),
                          SMR_LINEAR_KEY_BIAS | (uint32_t)groups, floats * sizeof(float));
  } else {
    l->bias_from = SMR_LINEAR_SCRATCH;
    SMR_TRY(smr_scratch_take(job, floats, sizeof(float), &l->bias_offset));
  }
  if (shared) l->bias_stride = 0;
  return SAMARA_OK;
}

samara_status smr_linear_prepare_end(struct smr_job *job, const struct smr_attrs_epilogue *epilogue,
                                     struct smr_linear *linear) {
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  SMR_TRY(linear_epilogue(job, epilogue, linear));
  linear->w_from = SMR_LINEAR_CALLER;
  linear->source = (struct smr_f32_gemm_source){.expand = NULL};
  return linear_place_bias(job, linear);
}

samara_status smr_linear_prepare(struct smr_job *job, const struct smr_attrs_epilogue *epilogue,
                                 struct smr_linear *linear) {
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  SMR_TRY(linear_epilogue(job, epilogue, linear));
  SMR_TRY(linear_place_weights(job, linear));
  return linear_place_bias(job, linear);
}

// Pack the weights of a group as panels of bfloat16, from either layout of float32.
static void linear_pack_pairs(const struct smr_job *job, const struct smr_linear *l, size_t group,
                              char *out) {
  enum { ROWS = 64 };  // unfolded at a time; must be even
  const struct smr_tensor *w = job->inputs[1];
  const size_t stride = smr_panel_stride_bytes(l->k, sizeof(float)), panels = smr_panels(l->n);
  for (size_t p = 0; p < panels; p++, out += l->panel_stride_bytes) {
    if (w->layout != SMR_LAYOUT_PLAIN) {
      const char *panel = (const char *)w->data + (group * panels + p) * stride;
      smr_bf16_gemm_pack(l->k, (const float *)(const void *)panel, (uint16_t *)(void *)out);
      continue;
    }
    for (size_t k = 0; k < l->k; k += ROWS) {
      float block[ROWS * SMR_PANEL];
      const struct smr_pack_f32_args args = {
          .k = l->k - k < ROWS ? l->k - k : ROWS,
          .n = l->n - p * SMR_PANEL < SMR_PANEL ? l->n - p * SMR_PANEL : SMR_PANEL,
          .src = (const float *)w->data + group * l->group_stride + k * l->k_stride +
                 p * SMR_PANEL * l->n_stride,
          .type = SMR_GEMM_F32,
          .k_stride = l->k_stride,
          .n_stride = l->n_stride,
          .dst = block,
          .panel_stride_bytes = sizeof block,
      };
      smr_pack_f32(&args, job->isa, 0, 1);
      smr_bf16_gemm_pack(args.k, block, (uint16_t *)(void *)out + k * SMR_PANEL);
    }
  }
}

void smr_linear_pack_group(const struct smr_job *job, const struct smr_linear *l, size_t group,
                           void *out) {
  const struct smr_tensor *w = job->inputs[1];
  const size_t element = smr_dtype_bytes(w->dtype);
  if (linear_has_bytes(job)) {
    linear_pack_bytes(job, l, group, out);
    return;
  }
  if (SMR_HAS(bf16_gemm) && l->w_type == SMR_GEMM_BF16) {
    linear_pack_pairs(job, l, group, out);
    return;
  }
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
  if (linear_has_bytes(job) && l->unfolds_whole) {
    linear_unfold_whole(job, l, out);
    return;
  }
  // Gaps between panels are never read, but must not leak old memory into files and caches.
  memset(out, 0, l->w_group_bytes * l->groups);
  for (size_t g = 0; g < l->groups; g++)
    smr_linear_pack_group(job, l, g, out + g * l->w_group_bytes);
}

static void linear_pad_bias(const struct smr_job *job, const struct smr_linear *l, float *out) {
  const struct smr_tensor *bias = job->inputs[linear_bias_input(l)];
  const size_t groups = l->bias_stride ? l->groups : 1;
  const size_t padded = smr_panels(l->n) * SMR_PANEL;
  for (size_t g = 0; g < groups; g++) {
    for (size_t i = 0; i < padded; i++) {
      const size_t at = g * l->n + i;
      float value = 0.0f;
      if (SMR_HAS(type_float16) && i < l->n && bias->dtype == SAMARA_FLOAT16)
        value = smr_f16_to_f32(((const uint16_t *)bias->data)[at]);
      else if (i < l->n)
        value = ((const float *)bias->data)[at];
      out[g * padded + i] = value;
    }
  }
}

samara_status smr_linear_pack_to(const struct smr_job *job, const struct smr_linear *linear,
                                 const struct smr_derived *what, void *out) {
  if (SMR_HAS(linear_pack) && what->input == 1)
    linear_pack_weights(job, linear, out);
  else
    linear_pad_bias(job, linear, out);
  return SAMARA_OK;
}

samara_status smr_linear_pack(const struct smr_job *job, const struct smr_derived *what,
                              void *out) {
  return smr_linear_pack_to(job, job->state, what, out);
}

void smr_linear_prologue(const struct smr_job *job, const struct smr_linear *linear) {
  char *scratch = job->scratch;
  if (SMR_HAS(linear_pack) && linear->w_from == SMR_LINEAR_SCRATCH)
    linear_pack_weights(job, linear, scratch + linear->w_offset);
  if (linear->bias_from == SMR_LINEAR_SCRATCH)
    linear_pad_bias(job, linear, (float *)(void *)(scratch + linear->bias_offset));
}

// The address that operand `input` is read from.
static const void *linear_source(const struct smr_job *job, enum smr_linear_source from,
                                 uint32_t input, uint32_t derived, size_t offset) {
  switch (from) {
    case SMR_LINEAR_DIRECT:
      return job->inputs[input]->data;
    case SMR_LINEAR_DERIVED:
      return job->derived[derived].data;
    case SMR_LINEAR_SCRATCH:
      // NULL if scratch is not allocated yet: only sizes are asked for
      return job->scratch == NULL ? NULL : (const char *)job->scratch + offset;
    default:
      return NULL;
  }
}

const void *smr_linear_weights(const struct smr_job *job, const struct smr_linear *linear) {
  return linear_source(job, linear->w_from, 1, linear->w_derived, linear->w_offset);
}

const float *smr_linear_bias(const struct smr_job *job, const struct smr_linear *linear) {
  return linear_source(job, linear->bias_from, linear_bias_input(linear), linear->bias_derived,
                       linear->bias_offset);
}

void smr_linear_args(const struct smr_job *job, const struct smr_linear *linear,
                     void *thread_scratch, struct smr_f32_gemm_args *args) {
  args->batch = linear->groups;
  args->n = linear->n;
  args->w = smr_linear_weights(job, linear);
  args->w_type = linear->w_type;
  args->panel_stride_bytes = linear->panel_stride_bytes;
  args->w_batch_stride_bytes = linear->w_group_bytes;
  args->source = linear->source;
  if (thread_scratch != NULL && linear->source.expand != NULL)
    args->source.scratch = (float *)(void *)((char *)thread_scratch + linear->unfold_offset);
  args->bias = smr_linear_bias(job, linear);
  args->bias_batch_stride = linear->bias_stride;
  args->lo = linear->lo;
  args->hi = linear->hi;
  args->post = SMR_HAS(linear_post) && linear->post.function != NULL ? smr_linear_post : NULL;
  args->post_context = (void *)(uintptr_t)&linear->post;
}

// ---- products ----

samara_status smr_linear_need(struct smr_job *job, const struct smr_f32_gemm_args *args,
                              bool columns_vary) {
  if (SMR_HAS(exact) && job->exact) {
    if (args->w_type == SMR_GEMM_F16)
      SMR_NEED(job, f32_gemm_exact_f16w);
    else
      SMR_NEED(job, f32_gemm_exact);
    return SAMARA_OK;
  }
  return smr_f32_gemm_need(args, job->dims_vary, columns_vary, job->parts, job->error);
}

samara_status smr_linear_need_any(struct smr_job *job) {
  const struct smr_f32_gemm_args any = {.m = 1};
  return smr_linear_need(job, &any, true);
}

samara_status smr_linear_plan(struct smr_job *job, const struct smr_f32_gemm_args *args,
                              struct smr_f32_gemm_plan *plan) {
  SMR_TRY(smr_linear_need(job, args, job->dims_vary && job->inputs[1]->constant < 0));
  smr_f32_gemm_plan_make(smr_linear_config_of(job, args->w_type), args, plan);
  if (!args->source.rows) smr_f32_gemm_plan_share(plan, smr_partition(job));
  return SAMARA_OK;
}

// Multiply-adds of a unit, saturated.
static size_t linear_unit_work(const struct smr_f32_gemm_plan *plan,
                               const struct smr_f32_gemm_args *args) {
  size_t work = args->m / plan->rows.count + 1;
  if (!smr_mul_size(work, args->n / plan->groups + 1, &work) ||
      !smr_mul_size(work, args->k + 1, &work) ||
      (args->indirect != NULL && !smr_mul_size(work, args->taps, &work)))
    return SIZE_MAX;
  return work;
}

samara_status smr_linear_multiply(struct smr_deadline_watch *watch,
                                  const struct smr_f32_gemm_plan *plan,
                                  const struct smr_f32_gemm_args *args, size_t begin, size_t end) {
  if (begin >= end) return SAMARA_OK;
  const size_t work = linear_unit_work(plan, args);
  const size_t piece = work < SMR_DEADLINE_WORK && work != 0 ? SMR_DEADLINE_WORK / work : 1;
  for (size_t at = begin; at < end;) {
    const size_t count = end - at < piece ? end - at : piece;
    SMR_TRY(smr_deadline_step(watch, count < piece ? count * work : SMR_DEADLINE_WORK));
    smr_f32_gemm_run(plan, args, at, at + count);
    at += count;
  }
  return SAMARA_OK;
}
