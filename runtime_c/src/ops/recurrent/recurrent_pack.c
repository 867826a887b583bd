// SPDX-License-Identifier: Apache-2.0
// Packed weights of lstm and gru, and the products by them.
#include "base/fp.h"

#include "ops/recurrent/recurrent_pack.h"

#include "base/checked.h"
#include "kernels/pack/pack_f32.h"
#include "ops/matmul/linear.h"
#include "ops/recurrent/recurrent_narrow.h"
#include "simd/half.h"

#include <math.h>
#include <string.h>

// A compile-time constant if this build lacks such weights.
static bool recurrent_is_widened(const struct smr_recurrent *all) {
  return SMR_HAS(recurrent_widened) && all->widened;
}

// Bytes of a weight in panels, and in the tensor.
static size_t recurrent_packed_bytes(const struct smr_recurrent *all) {
  return smr_recurrent_has_bytes(all) ? 1 : all->half_weights ? sizeof(uint16_t) : sizeof(float);
}
static size_t recurrent_weight_bytes(const struct smr_recurrent *all) {
  return all->widened ? 1 : recurrent_packed_bytes(all);
}

// Quantized weights of float products stay bytes if `rows` rows share the cost of unfolding them,
// or if floats would not fit a core's L2 cache and the only row would wait for them. The numbers
// are measured (docs/internals/integer-kernels.md).
enum { RECURRENT_UNFOLD_ROWS = 64, RECURRENT_CACHED_BYTES = 1 << 20 };

static bool recurrent_stay_bytes(const struct smr_recurrent *all, size_t rows, size_t k) {
  if (!recurrent_is_widened(all)) return false;
  const size_t row = smr_panels(all->gates * all->hidden) * SMR_PANEL * sizeof(float);
  return rows >= RECURRENT_UNFOLD_ROWS || (rows == 1 && k >= RECURRENT_CACHED_BYTES / row);
}

static size_t recurrent_s8_panel_bytes(size_t k) {
  return sizeof(struct smr_gemm_s8_head) + smr_panel_stride_bytes(k, 1);
}

samara_status smr_recurrent_weights_make(struct smr_job *job, const struct smr_recurrent *all,
                                         struct smr_recurrent_weights *weights, size_t first,
                                         size_t n, size_t count, size_t k, size_t rows,
                                         size_t *bytes) {
  const size_t element = recurrent_packed_bytes(all);
  const bool stay = recurrent_stay_bytes(all, rows, k);
  const size_t stride = smr_recurrent_has_bytes(all) ? smr_i8_panel_stride_bytes(k)
                        : stay                       ? recurrent_s8_panel_bytes(k)
                                                     : smr_panel_stride_bytes(k, element);
  size_t row, matrix, size, sums = 0;
  // The tensor [k, n] fits memory, but padding to panels can be sixteen times as large.
  if (smr_recurrent_has_bytes(all)) sums = smr_panels(n) * SMR_PANEL * sizeof(int32_t);
  if (!smr_mul_size(k, SMR_PANEL * sizeof(float), &row) || row > PTRDIFF_MAX / 2 ||
      !smr_mul_size(stride, smr_panels(n), &matrix) || !smr_mul_size(matrix, count, &size) ||
      !smr_add_size(sums, size, &size) || !smr_add_size(*bytes, size, &size) ||
      size > PTRDIFF_MAX / 4)
    SMR_FAIL(job->error, LIMIT, "%s: packed weights do not fit memory", job->op->name);
  *weights = (struct smr_recurrent_weights){.n = n,
                                            .k = k,
                                            .first = first,
                                            .count = count,
                                            .bytes = stay,
                                            .panel_stride_bytes = stride,
                                            .offset_bytes = *bytes,
                                            .matrix_bytes = matrix,
                                            .sums_bytes = matrix * count};
  *bytes = size;
  return SAMARA_OK;
}

samara_status smr_recurrent_place(struct smr_job *job, const struct smr_recurrent *all,
                                  int32_t input, size_t count, size_t bytes, int32_t *derived,
                                  size_t *offset) {
  *derived = -1;
  *offset = 0;
  if (job->inputs[input]->constant < 0 || bytes == 0)
    return smr_scratch_take(job, bytes, 1, offset);
  int32_t slot = 0;
  while (job->derived[slot].input >= 0) slot++;
  // The layout key must add what the operator and the dims do not determine: which of the two
  // weight inputs this is, into how many matrices it is split, and whether it is dequantized, now
  // or later.
  const bool stay = input == SMR_RECURRENT_W ? all->w.bytes : all->r[0].bytes;
  const uint32_t split = (uint32_t)(count - 1) << 8;
  const uint32_t widened = (uint32_t)all->widened << 16 | (uint32_t)stay << 17;
  job->derived[slot] = (struct smr_derived){.input = input,
                                            .layout = (uint32_t)input | split | widened,
                                            .size_bytes = bytes * all->directions};
  *derived = slot;
  return SAMARA_OK;
}

// smr_f32_gemm_source.expand. The context is the config.
static void recurrent_expand(const void *context, size_t batch, size_t column, size_t columns,
                             const void *w, size_t panel_stride_bytes, size_t first, size_t rows,
                             float *out, size_t out_stride_bytes) {
  const struct smr_f32_gemm_config *config = (const struct smr_f32_gemm_config *)context;
  (void)batch, (void)column, (void)first;
  for (size_t i = 0; i < smr_panels(columns); i++)
    config->unfold_s8(rows, (const char *)w + i * panel_stride_bytes,
                      (float *)(void *)((char *)out + i * out_stride_bytes));
}

struct smr_f32_gemm_args smr_recurrent_args(const struct smr_recurrent *all,
                                            const struct smr_recurrent_weights *weights,
                                            size_t rows, bool apart) {
  // Matrices without partial panels are treated as one.
  const size_t count = apart || weights->n % SMR_PANEL != 0 ? weights->count : 1;
  const bool unfolds = recurrent_is_widened(all) && weights->bytes && rows > 1;
  struct smr_f32_gemm_args args = {.batch = count,
                                   .m = rows,
                                   .n = weights->count / count * weights->n,
                                   .k = weights->k,
                                   .taps = 1,
                                   .a_stride = weights->k,
                                   .w_type = all->half_weights            ? SMR_GEMM_F16
                                             : weights->bytes && !unfolds ? SMR_GEMM_S8
                                                                          : SMR_GEMM_F32,
                                   .panel_stride_bytes = weights->panel_stride_bytes,
                                   .w_batch_stride_bytes = weights->matrix_bytes,
                                   .out_batch_stride = weights->n,
                                   .residual_batch_stride = weights->n,
                                   .out_type = SMR_GEMM_F32,
                                   .lo = -INFINITY,
                                   .hi = INFINITY};
  if (unfolds)
    args.source =
        (struct smr_f32_gemm_source){.expand = recurrent_expand, .context = all->config, .rows = 1};
  return args;
}

samara_status smr_recurrent_need(struct smr_job *job, const struct smr_recurrent *all,
                                 const struct smr_f32_gemm_args *args) {
  SMR_TRY(smr_linear_need(job, args, false));
  if (!recurrent_is_widened(all)) return SAMARA_OK;
  if (args->source.expand != NULL || job->dims_vary) SMR_NEED(job, f32_gemv_s8);
  if (!job->dims_vary) return SAMARA_OK;
  // After a resize the weights may be floats, or bytes.
  SMR_NEED(job, f32_gemm_source);
  const struct smr_f32_gemm_args floats = {.m = args->m, .n = args->n, .k = args->k, .taps = 1};
  return smr_linear_need(job, &floats, false);
}

samara_status smr_recurrent_take_unfolded(struct smr_job *job, struct smr_recurrent *all) {
  size_t rows = all->w.bytes && all->steps * all->batch > 1 ? all->w.k : 0;
  for (uint32_t i = 0; i < all->r_parts; i++)
    if (all->r[i].bytes && all->batch > 1 && all->r[i].k > rows) rows = all->r[i].k;
  if (!recurrent_is_widened(all) || rows == 0) return SAMARA_OK;
  const size_t bytes = smr_f32_gemm_source_bytes(smr_linear_config(job), rows);
  size_t offset;  // 0: there is no other thread scratch
  return smr_thread_scratch_take(job, bytes, 1, &offset);
}

// Panels of rows of bytes, dequantized; `first`: the row of the gates that is the first of
// `weights`.
static void recurrent_pack_widened(const struct smr_recurrent_weights *weights, size_t first,
                                   const struct smr_quant *quant, const int8_t *src, char *out) {
  for (size_t j = 0; j < smr_panels(weights->n) * SMR_PANEL; j++) {
    float *to =
        (float *)(void *)(out + j / SMR_PANEL * weights->panel_stride_bytes) + j % SMR_PANEL;
    const size_t at = quant->axis < 0 ? 0 : first + j;
    for (size_t k = 0; k < weights->k; k++) {
      to[k * SMR_PANEL] = 0.0f;
      if (j < weights->n)
        to[k * SMR_PANEL] =
            (float)(src[(first + j) * weights->k + k] - quant->zero_points[at]) * quant->scales[at];
    }
  }
}

// The same as panels of SMR_GEMM_S8.
static void recurrent_pack_s8(const struct smr_recurrent_weights *weights, size_t first,
                              const struct smr_quant *quant, const int8_t *src, char *out) {
  bool shifted = false;
  for (uint32_t i = 0; i < quant->count; i++) shifted = shifted || quant->zero_points[i] != 0;
  memset(out, 0, weights->matrix_bytes);
  for (size_t p = 0; p < smr_panels(weights->n); p++) {
    struct smr_gemm_s8_head *head = (void *)(out + p * weights->panel_stride_bytes);
    int8_t *bytes = (int8_t *)(head + 1);
    head->shifted = shifted;
    for (size_t j = 0; j < SMR_PANEL && p * SMR_PANEL + j < weights->n; j++) {
      const size_t row = first + p * SMR_PANEL + j, at = quant->axis < 0 ? 0 : row;
      head->scales[j] = quant->scales[at];
      head->zeros[j] = smr_f32_to_f16((float)quant->zero_points[at]);
      for (size_t k = 0; k < weights->k; k++) bytes[k * SMR_PANEL + j] = src[row * weights->k + k];
    }
  }
}

// Pack one part of the weights [gates * hidden][k] of a direction, whose tensor is `input`.
static void recurrent_pack_part(const struct smr_job *job, const struct smr_recurrent *all,
                                int32_t input, const struct smr_recurrent_weights *weights,
                                const void *src, void *out) {
  if (smr_recurrent_has_bytes(all)) {
    smr_recurrent_narrow_pack(job, weights, src, out);
    return;
  }
  for (size_t i = 0; i < weights->count; i++) {
    const size_t first = weights->first + i * weights->n;
    if (recurrent_is_widened(all)) {
      (weights->bytes ? recurrent_pack_s8 : recurrent_pack_widened)(
          weights, first, job->inputs[input]->quant, src,
          (char *)out + weights->offset_bytes + i * weights->matrix_bytes);
      continue;
    }
    const struct smr_pack_f32_args args = {
        .k = weights->k,
        .n = weights->n,
        .src = (const char *)src + first * weights->k * recurrent_weight_bytes(all),
        .type = all->half_weights ? SMR_GEMM_F16 : SMR_GEMM_F32,
        .k_stride = 1,
        .n_stride = weights->k,
        .dst = (char *)out + weights->offset_bytes + i * weights->matrix_bytes,
        .panel_stride_bytes = weights->panel_stride_bytes};
    smr_pack_f32(&args, job->isa, 0, smr_panels(weights->n));
  }
}

void smr_recurrent_pack_direction(const struct smr_job *job, const struct smr_recurrent *all,
                                  int32_t input, size_t direction, void *out) {
  const bool is_w = input == SMR_RECURRENT_W;
  const size_t k = is_w ? all->inputs : all->hidden;
  const char *src = (const char *)job->inputs[input]->data +
                    direction * all->gates * all->hidden * k * recurrent_weight_bytes(all);
  if (is_w) {
    recurrent_pack_part(job, all, input, &all->w, src, out);
    return;
  }
  for (uint32_t i = 0; i < all->r_parts; i++)
    recurrent_pack_part(job, all, input, &all->r[i], src, out);
}

samara_status smr_recurrent_pack(const struct smr_job *job, const struct smr_derived *what,
                                 void *out) {
  const struct smr_recurrent *all = (const struct smr_recurrent *)job->state;
  const size_t bytes = what->input == SMR_RECURRENT_W ? all->w_bytes : all->r_bytes;
  for (size_t d = 0; d < all->directions; d++)
    smr_recurrent_pack_direction(job, all, what->input, d, (char *)out + d * bytes);
  return SAMARA_OK;
}

char *smr_recurrent_packed(const struct smr_recurrent_run *run, int32_t input) {
  const struct smr_recurrent *all = run->all;
  const bool is_w = input == SMR_RECURRENT_W;
  const int32_t derived = is_w ? all->w_derived : all->r_derived;
  const size_t bytes = is_w ? all->w_bytes : all->r_bytes;
  if (derived >= 0)
    return (char *)(uintptr_t)run->job->derived[derived].data + run->direction * bytes;
  return run->area + (is_w ? all->w_offset : all->r_offset);
}
