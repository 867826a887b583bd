// SPDX-License-Identifier: Apache-2.0
// Packed int8 weights, and the arrays of their columns.
#include "base/fp.h"

#include "ops/matmul/qlinear.h"

#include "base/checked.h"
#include "kernels/i8_dwconv/i8_dwconv.h"
#include "ops/check/check.h"
#include "simd/common.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <string.h>

// ---- what this build supports ----

static bool qlinear_is_depthwise(const struct smr_qlinear *l) {
  return SMR_HAS(qlinear_depthwise) && l->depthwise;
}
static bool qlinear_has_w_zero(const struct smr_qlinear *l) {
  return SMR_HAS(i8_gemm_w_zero) && l->has_w_zero;
}
static bool qlinear_requantizes(const struct smr_qlinear *l) {
  return !SMR_HAS(i8_gemm_to_i32) || l->to == SMR_I8_TO_I8;
}
static bool qlinear_caller_packs(const struct smr_qlinear *l) {
  return SMR_HAS(qlinear_computed) && l->w_from == SMR_LINEAR_CALLER;
}
static bool qlinear_pads_file(const struct smr_job *job, const struct smr_qlinear *l) {
  return SMR_HAS(qlinear_pad) && l->pads_file && job->inputs[1]->layout != SMR_LAYOUT_PLAIN;
}
static bool qlinear_derives_weights(const struct smr_qlinear *l) {
  return (SMR_HAS(qlinear_pack) || SMR_HAS(qlinear_pad)) && l->w_from == SMR_LINEAR_DERIVED;
}
static bool qlinear_sums_in_scratch(const struct smr_qlinear *l) {
  return SMR_HAS(qlinear_computed) && l->sums_from == SMR_LINEAR_SCRATCH;
}
static size_t qlinear_part_taps(const struct smr_job *job, const struct smr_qlinear *l,
                                size_t part) {
  return SMR_HAS(qlinear_parts) && l->part_taps != NULL ? l->part_taps(job, part) : l->taps;
}

// ---- checking ----

// The largest |q - zero_point| of a tensor with these parameters.
static int64_t qlinear_farthest(const struct smr_quant *q) {
  int64_t most = 0;
  for (uint32_t i = 0; i < q->count; i++) {
    const int64_t z = q->zero_points[i], far = z < 0 ? 127 - z : z + 128;
    if (far > most) most = far;
  }
  return most;
}

// The largest magnitude of a constant bias. If the bias is computed, its producer must keep it
// small.
static int64_t qlinear_largest(const struct smr_tensor *bias) {
  int64_t most = 0;
  if (bias == NULL || bias->constant < 0 || bias->data == NULL) return 0;
  for (int64_t i = 0; i < bias->dims[0]; i++) {
    const int64_t value = ((const int32_t *)bias->data)[i], size = value < 0 ? -value : value;
    if (size > most) most = size;
  }
  return most;
}

static float qlinear_multiplier(float x, float w, float y) {
  const float product = x * w;
  return product / y;
}

static samara_status qlinear_check_output(const struct smr_job *job,
                                          const struct smr_attrs_int8_output *attrs) {
  const struct smr_quant *x = job->inputs[0]->quant, *w = job->inputs[1]->quant;
  SMR_TRY(smr_expect_q8_output(job, attrs));
  const float scale = attrs->scale.f;
  for (uint32_t i = 0; i < w->count; i++)
    if (!(qlinear_multiplier(x->scales[0], w->scales[i], scale) <= FLT_MAX))
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: scales %g of x, %g of w and %g of the output have no float32 multiplier",
               job->op->name, smr_g(x->scales[0]), smr_g(w->scales[i]), smr_g(scale));
  return SAMARA_OK;
}

samara_status smr_qlinear_check(const struct smr_job *job,
                                const struct smr_attrs_int8_output *attrs, int64_t to,
                                uint32_t axis, int64_t depth) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  const struct smr_tensor *bias = smr_optional_input(job, 2);
  SMR_TRY(smr_expect_q8(job, x, "x"));
  SMR_TRY(smr_expect_dtype(job, w, "w", SMR_DTYPE_QS8));
  if (bias != NULL) SMR_TRY(smr_expect_dtype(job, bias, "bias", SMR_DTYPE_I32));
  SMR_TRY(smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_QS8 | SMR_DTYPE_I32));
  if (to != job->outputs[0]->dtype)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: the output has dtype %s, not that of `to`", job->op->name,
             smr_dtype_name(job->outputs[0]->dtype));
  SMR_TRY(smr_expect_quant(job, w, "w"));
  if (w->quant->axis != -1 && w->quant->axis != (int32_t)axis)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: w is quantized along axis %" PRId32 ", expected one scale or axis %u",
             job->op->name, w->quant->axis, (unsigned)axis);
  if (job->outputs[0]->dtype == SAMARA_INT32) return SAMARA_OK;
  SMR_TRY(qlinear_check_output(job, attrs));
  const int64_t product = qlinear_farthest(x->quant) * qlinear_farthest(w->quant);
  const int64_t most = qlinear_largest(bias);
  int64_t sum;
  if (!smr_mul_i64(depth, product, &sum) || !smr_add_i64(sum, most, &sum) || sum > INT32_MAX)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: sums of %" PRId64 " products of up to %" PRId64 " and a bias of %" PRId64
             " may leave int32",
             job->op->name, depth, product, most);
  return SAMARA_OK;
}

// ---- preparing ----

static void qlinear_read(const struct smr_job *job, const struct smr_attrs_int8_output *attrs,
                         struct smr_qlinear *l) {
  const struct smr_quant *w = job->inputs[1]->quant;
  l->config = smr_i8_gemm_config(job->isa);
  l->x_zero = job->inputs[0]->quant->zero_points[0];
  l->has_w_zero = false;
  for (uint32_t i = 0; i < w->count; i++) l->has_w_zero |= w->zero_points[i] != 0;
  l->to = job->outputs[0]->dtype == SAMARA_INT32 ? SMR_I8_TO_I32 : SMR_I8_TO_I8;
  l->zero = l->lo = l->hi = 0;
  l->scale = attrs->scale.f;
  if (l->to == SMR_I8_TO_I32) return;
  l->zero = (int32_t)attrs->zero_point.i;
  l->lo = (int32_t)attrs->lo.i;
  l->hi = (int32_t)attrs->hi.i;
}

// Sizes of packed weights; false on overflow. *sums is the number of column sums.
static bool qlinear_sizes(struct smr_qlinear *l, size_t *sums) {
  size_t rows, bytes;
  if (l->n > PTRDIFF_MAX - SMR_I8_PANEL || l->k > PTRDIFF_MAX - SMR_I8_GROUP) return false;
  const size_t panels = (l->n + SMR_I8_PANEL - 1) / SMR_I8_PANEL;
  l->columns = panels * SMR_I8_PANEL;
  l->tap_rows = l->pads_taps ? (l->k + SMR_I8_GROUP - 1) / SMR_I8_GROUP * SMR_I8_GROUP : l->k;
  if (!smr_mul_size(l->taps, l->tap_rows, &rows) || !smr_mul_size(rows, SMR_I8_PANEL, &bytes) ||
      bytes > PTRDIFF_MAX - 63)
    return false;
  l->panel_stride_bytes = qlinear_is_depthwise(l) ? smr_i8_dwconv_panel_stride_bytes(rows)
                                                  : smr_i8_panel_stride_bytes(rows);
  return smr_mul_size(l->panel_stride_bytes, panels, &l->w_group_bytes) &&
         smr_mul_size(l->w_group_bytes, l->groups, &l->w_bytes) &&
         smr_mul_size(l->columns, l->groups, sums) && smr_mul_size(*sums, l->parts, sums) &&
         *sums <= PTRDIFF_MAX / sizeof(int32_t) &&
         smr_add_size(l->w_bytes, *sums * sizeof(int32_t), &bytes) && bytes <= PTRDIFF_MAX;
}

samara_status smr_qlinear_prepare(struct smr_job *job, const struct smr_attrs_int8_output *attrs,
                                  struct smr_qlinear *l) {
  const struct smr_tensor *w = job->inputs[1];
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  qlinear_read(job, attrs, l);
  if (l->part_taps == NULL) l->parts = 1;
  const bool constant = w->constant >= 0 && l->weight_key != 0;
  bool packed = w->layout != SMR_LAYOUT_PLAIN;
  if (l->to == SMR_I8_TO_I8) SMR_NEED(job, i8_gemm_to_i8);
  if (l->to == SMR_I8_TO_I32) SMR_NEED(job, i8_gemm_to_i32);
  if (l->has_w_zero) SMR_NEED(job, i8_gemm_w_zero);
  if (l->depthwise) SMR_NEED(job, qlinear_depthwise);
  if (l->part_taps != NULL) SMR_NEED(job, qlinear_parts);
  if (!packed) SMR_NEED(job, qlinear_pack);
  if (!constant) SMR_NEED(job, qlinear_computed);
  size_t sums;
  if (!qlinear_sizes(l, &sums))
    SMR_FAIL(job->error, LIMIT, "%s: weights are too large to pack", job->op->name);
  packed = (packed || !SMR_HAS(qlinear_pack)) && !qlinear_pads_file(job, l);
  const size_t sums_bytes = qlinear_is_depthwise(l) ? 0 : sums * sizeof(int32_t);
  const size_t derived_bytes = (packed ? 0 : l->w_bytes) + sums_bytes;
  const bool derives = (constant || !SMR_HAS(qlinear_computed)) && derived_bytes != 0;
  if (derives)
    job->derived[0] =
        (struct smr_derived){.input = 1, .layout = l->weight_key, .size_bytes = derived_bytes};
  l->w_from = packed            ? SMR_LINEAR_DIRECT
              : derives         ? SMR_LINEAR_DERIVED
              : l->caller_packs ? SMR_LINEAR_CALLER
                                : SMR_LINEAR_SCRATCH;
  l->sums_from = qlinear_is_depthwise(l) || qlinear_caller_packs(l) ? SMR_LINEAR_ABSENT
                 : derives                                          ? SMR_LINEAR_DERIVED
                                                                    : SMR_LINEAR_SCRATCH;
  if (SMR_HAS(qlinear_computed) && l->w_from == SMR_LINEAR_SCRATCH)
    SMR_TRY(smr_scratch_take(job, l->w_bytes, 1, &l->w_offset));
  if (qlinear_sums_in_scratch(l))
    SMR_TRY(smr_scratch_take(job, sums, sizeof(int32_t), &l->sums_offset));
  if (!qlinear_caller_packs(l))
    SMR_TRY(smr_scratch_take(job, sums, sizeof(int32_t), &l->start_offset));
  l->scale_groups = qlinear_caller_packs(l) ? 1 : l->groups;
  const size_t columns = l->scale_groups * l->columns;
  if (qlinear_has_w_zero(l))
    SMR_TRY(smr_scratch_take(job, columns, sizeof(int32_t), &l->zero_offset));
  if (!qlinear_requantizes(l)) return SAMARA_OK;
  return smr_scratch_take(job, columns, sizeof(float), &l->multiplier_offset);
}

// ---- packing ----

static void qlinear_pack_depthwise(const struct smr_job *job, const struct smr_qlinear *l,
                                   int8_t *out) {
  const int8_t *w = job->inputs[1]->data;
  memset(out, 0, l->w_bytes);
  for (size_t tap = 0; tap < l->taps; tap++) {
    const size_t source = l->source_tap != NULL ? l->source_tap(job, tap) : tap;
    for (size_t c = 0; c < l->n; c++)
      out[c / SMR_I8_PANEL * l->panel_stride_bytes + tap * SMR_I8_PANEL + c % SMR_I8_PANEL] =
          w[source * l->tap_stride + c * l->n_stride];
  }
}

void smr_qlinear_pack_group(const struct smr_job *job, const struct smr_qlinear *l, size_t group,
                            int8_t *out) {
  const int8_t *w = (const int8_t *)job->inputs[1]->data + group * l->group_stride;
  for (size_t tap = 0; tap < l->taps; tap++) {
    const size_t source = l->source_tap != NULL ? l->source_tap(job, tap) : tap;
    for (size_t j = 0; j < l->n; j += SMR_I8_PANEL) {
      const size_t n = l->n - j < SMR_I8_PANEL ? l->n - j : SMR_I8_PANEL;
      smr_i8_pack(
          l->k, n, w + source * l->tap_stride + j * l->n_stride, l->k_stride, l->n_stride,
          out + j / SMR_I8_PANEL * l->panel_stride_bytes + tap * l->tap_rows * SMR_I8_PANEL);
    }
  }
}

// Copy the file's panels, whose taps have no gaps, and pad each tap.
static void qlinear_pad(const struct smr_job *job, const struct smr_qlinear *l, int8_t *out) {
  const size_t stride = smr_i8_panel_stride_bytes(l->taps * l->k);
  const int8_t *w = job->inputs[1]->data;
  memset(out, 0, l->w_bytes);
  for (size_t panel = 0; panel < l->columns; panel += SMR_I8_PANEL, w += stride) {
    for (size_t row = 0; row < l->taps * l->k; row++) {
      const size_t to = row / l->k * l->tap_rows + row % l->k;
      for (size_t j = 0; j < SMR_I8_PANEL; j++)
        out[(to / SMR_I8_GROUP * SMR_I8_PANEL + j) * SMR_I8_GROUP + to % SMR_I8_GROUP] =
            w[(row / SMR_I8_GROUP * SMR_I8_PANEL + j) * SMR_I8_GROUP + row % SMR_I8_GROUP];
    }
    out += l->panel_stride_bytes;
  }
}

static void qlinear_pack_weights(const struct smr_job *job, const struct smr_qlinear *l,
                                 int8_t *out) {
  if (qlinear_is_depthwise(l)) {
    qlinear_pack_depthwise(job, l, out);
    return;
  }
  if (qlinear_pads_file(job, l)) {
    qlinear_pad(job, l, out);
    return;
  }
  if (!SMR_HAS(qlinear_pack)) return;
  for (size_t g = 0; g < l->groups; g++)
    smr_qlinear_pack_group(job, l, g, out + g * l->w_group_bytes);
}

// Column sums of all groups, for each part: [parts][groups][columns].
static void qlinear_sum(const struct smr_job *job, const struct smr_qlinear *l,
                        const int8_t *panels, int32_t *sums) {
  // start = 0 - (-1) * sum
  const int32_t minus_one = -1 - l->config->a_offset;
  const size_t count = l->groups * (l->columns / SMR_I8_PANEL);
  size_t row = 0;
  for (size_t part = 0; part < l->parts; part++) {
    const size_t taps = qlinear_part_taps(job, l, part);
    for (size_t p = 0; p < count; p++, sums += SMR_I8_PANEL)
      smr_i8_gemm_start(l->config, taps * l->tap_rows, SMR_I8_PANEL,
                        panels + p * l->panel_stride_bytes + row * SMR_I8_PANEL, NULL, minus_one,
                        NULL, sums);
    row += taps * l->tap_rows;
  }
}

samara_status smr_qlinear_pack(const struct smr_job *job, const struct smr_qlinear *l, void *out) {
  const int8_t *panels = job->inputs[1]->data;
  char *sums = out;
  if (qlinear_derives_weights(l)) {
    qlinear_pack_weights(job, l, out);
    panels = out;
    sums += l->w_bytes;  // aligned: panels are whole cache lines
  }
  if (!qlinear_is_depthwise(l)) qlinear_sum(job, l, panels, (int32_t *)(void *)sums);
  return SAMARA_OK;
}

// ---- arrays of columns ----

static char *qlinear_scratch(const struct smr_job *job, size_t offset) {
  return (char *)job->scratch + offset;
}

static const int32_t *qlinear_sums(const struct smr_job *job, const struct smr_qlinear *l) {
  if (qlinear_sums_in_scratch(l))
    return (const int32_t *)(const void *)qlinear_scratch(job, l->sums_offset);
  const char *derived = job->derived[0].data;
  return (const int32_t *)(const void *)(derived + (qlinear_derives_weights(l) ? l->w_bytes : 0));
}

// start = bias - shift * (sum - rows * w_zero), modulo 2^32.
SMR_HOT_VECTORIZED static void qlinear_starts(size_t n, uint32_t shift, uint32_t rows,
                                              const int32_t *bias, const int32_t *w_zero,
                                              const int32_t *sums, int32_t *start) {
  if (bias != NULL)
    for (size_t i = 0; i < n; i++)
      start[i] = (int32_t)((uint32_t)bias[i] - shift * (uint32_t)sums[i]);
  else
    for (size_t i = 0; i < n; i++) start[i] = (int32_t)(0u - shift * (uint32_t)sums[i]);
  if (!SMR_HAS(i8_gemm_w_zero) || w_zero == NULL) return;
  for (size_t i = 0; i < n; i++)
    start[i] = (int32_t)((uint32_t)start[i] + shift * rows * (uint32_t)w_zero[i]);
}

SMR_HOT_VECTORIZED static void qlinear_multipliers(size_t n, float x, const float *w, float y,
                                                   float *out) {
  for (size_t i = 0; i < n; i++) {
    const float product = x * w[i];
    out[i] = product / y;
  }
}

// Address of element `i`, or NULL.
static const int32_t *qlinear_at(const int32_t *array, size_t i) {
  return array != NULL ? array + i : NULL;
}

// Zero points of w, or NULL where all are 0.
static const int32_t *qlinear_zeros(const struct smr_job *job, const struct smr_qlinear *l) {
  if (!qlinear_has_w_zero(l)) return NULL;
  return (const int32_t *)(const void *)qlinear_scratch(job, l->zero_offset);
}

// Whether `values` cover the n columns of one group, shared by all groups, instead of all columns.
static bool qlinear_shares(const struct smr_qlinear *l, size_t values) { return values == l->n; }

// Zero points of w and multipliers: [groups][columns].
static void qlinear_fill_scales(const struct smr_job *job, const struct smr_qlinear *l) {
  const struct smr_quant *q = job->inputs[1]->quant;
  if (l->scale_groups == 0 || l->n == 0) return;
  int32_t *zero = (int32_t *)(void *)qlinear_scratch(job, l->zero_offset);
  float *multiplier = (float *)(void *)qlinear_scratch(job, l->multiplier_offset);
  const float x = job->inputs[0]->quant->scales[0];
  const float y = qlinear_requantizes(l) ? l->scale : 1.0f;
  const size_t tail = l->columns - l->n;
  for (size_t g = 0; g < l->scale_groups; g++, zero += l->columns, multiplier += l->columns) {
    const size_t first = qlinear_shares(l, q->count) ? 0 : g * l->n;
    if (qlinear_has_w_zero(l)) {
      for (size_t i = 0; i < l->n; i++) zero[i] = q->zero_points[q->axis < 0 ? 0 : first + i];
      memset(zero + l->n, 0, tail * sizeof *zero);
    }
    if (!qlinear_requantizes(l)) continue;
    if (q->axis < 0) {
      const float value = qlinear_multiplier(x, q->scales[0], y);
      for (size_t i = 0; i < l->n; i++) multiplier[i] = value;
    } else {
      qlinear_multipliers(l->n, x, q->scales + first, y, multiplier);
    }
    memset(multiplier + l->n, 0, tail * sizeof *multiplier);
  }
}

// The bias of group `g`, or NULL.
static const int32_t *qlinear_bias(const struct smr_job *job, const struct smr_qlinear *l,
                                   size_t g) {
  const struct smr_tensor *bias = smr_optional_input(job, 2);
  if (bias == NULL) return NULL;
  return (const int32_t *)bias->data + (qlinear_shares(l, (size_t)bias->dims[0]) ? 0 : g * l->n);
}

static void qlinear_fill_start(const struct smr_job *job, const struct smr_qlinear *l) {
  int32_t *start = (int32_t *)(void *)qlinear_scratch(job, l->start_offset);
  const int32_t *zero = qlinear_zeros(job, l);
  const size_t tail_bytes = (l->columns - l->n) * sizeof *start;
  if (qlinear_is_depthwise(l)) {
    const int32_t *bias = qlinear_bias(job, l, 0);
    memset(start, 0, l->columns * sizeof *start);
    if (bias != NULL) memcpy(start, bias, l->n * sizeof *start);
    return;
  }
  const uint32_t shift = (uint32_t)l->x_zero + (uint32_t)l->config->a_offset;
  const int32_t *sums = qlinear_sums(job, l);
  for (size_t part = 0; part < l->parts; part++) {
    const size_t taps = qlinear_part_taps(job, l, part);
    for (size_t g = 0; g < l->groups; g++, sums += l->columns, start += l->columns) {
      qlinear_starts(l->n, shift, (uint32_t)(taps * l->tap_rows), qlinear_bias(job, l, g),
                     qlinear_at(zero, g * l->columns), sums, start);
      memset(start + l->n, 0, tail_bytes);
    }
  }
}

void smr_qlinear_start(const struct smr_job *job, const struct smr_qlinear *l, const int8_t *panels,
                       int32_t *start) {
  const int32_t *zero = qlinear_zeros(job, l);
  smr_i8_gemm_start(l->config, l->taps * l->tap_rows, l->n, panels, qlinear_bias(job, l, 0),
                    l->x_zero, zero, start);
}

void smr_qlinear_prologue(const struct smr_job *job, const struct smr_qlinear *l) {
  if (SMR_HAS(qlinear_computed) && SMR_HAS(qlinear_pack) && l->w_from == SMR_LINEAR_SCRATCH)
    qlinear_pack_weights(job, l, (int8_t *)qlinear_scratch(job, l->w_offset));
  if (qlinear_sums_in_scratch(l))
    qlinear_sum(job, l, smr_qlinear_weights(job, l),
                (int32_t *)(void *)qlinear_scratch(job, l->sums_offset));
  qlinear_fill_scales(job, l);
  if (!qlinear_caller_packs(l)) qlinear_fill_start(job, l);
}

// ---- running ----

const int8_t *smr_qlinear_weights(const struct smr_job *job, const struct smr_qlinear *l) {
  if (qlinear_derives_weights(l)) return job->derived[0].data;
  if (!SMR_HAS(qlinear_computed) || l->w_from == SMR_LINEAR_DIRECT) return job->inputs[1]->data;
  return l->w_from == SMR_LINEAR_SCRATCH ? (const int8_t *)qlinear_scratch(job, l->w_offset) : NULL;
}

struct smr_i8_gemm_columns smr_qlinear_columns(const struct smr_job *job,
                                               const struct smr_qlinear *l, size_t part,
                                               size_t group) {
  const size_t at = group * l->columns, part_at = part * l->groups * l->columns + at;
  struct smr_i8_gemm_columns out = {.start = NULL};
  if (!qlinear_caller_packs(l))
    out.start = (const int32_t *)(const void *)qlinear_scratch(job, l->start_offset) + part_at;
  if (qlinear_has_w_zero(l)) out.w_zero = qlinear_zeros(job, l) + at;
  if (qlinear_requantizes(l))
    out.multiplier = (const float *)(const void *)qlinear_scratch(job, l->multiplier_offset) + at;
  return out;
}

void smr_qlinear_args(const struct smr_job *job, const struct smr_qlinear *l, size_t part,
                      struct smr_i8_gemm_args *args) {
  args->batch = l->groups;
  args->n = l->n;
  args->panel_stride_bytes = l->panel_stride_bytes;
  args->w_batch_stride_bytes = l->w_group_bytes;
  args->columns_batch_stride = l->columns;
  args->to = l->to;
  args->zero = l->zero;
  args->lo = l->lo;
  args->hi = l->hi;
  if (job->scratch == NULL) return;  // a plan only asks for sizes
  args->w = smr_qlinear_weights(job, l);
  args->columns = smr_qlinear_columns(job, l, part, 0);
}

// Multiply-adds of a unit, saturated.
static size_t qlinear_unit_work(const struct smr_i8_gemm_plan *plan,
                                const struct smr_i8_gemm_args *args) {
  size_t work = args->m / plan->rows.count + 1;
  if (!smr_mul_size(work, args->n / plan->groups + 1, &work) ||
      !smr_mul_size(work, args->k + 1, &work) ||
      (args->indirect != NULL && !smr_mul_size(work, args->taps, &work)))
    return SIZE_MAX;
  return work;
}

samara_status smr_qlinear_multiply(struct smr_deadline_watch *watch,
                                   const struct smr_i8_gemm_plan *plan,
                                   const struct smr_i8_gemm_args *args, size_t begin, size_t end) {
  if (begin >= end) return SAMARA_OK;
  const size_t work = qlinear_unit_work(plan, args);
  const size_t piece = work < SMR_DEADLINE_WORK && work != 0 ? SMR_DEADLINE_WORK / work : 1;
  for (size_t at = begin; at < end;) {
    const size_t count = end - at < piece ? end - at : piece;
    SMR_TRY(smr_deadline_step(watch, count < piece ? count * work : SMR_DEADLINE_WORK));
    smr_i8_gemm_run(plan, args, at, at + count);
    at += count;
  }
  return SAMARA_OK;
}
