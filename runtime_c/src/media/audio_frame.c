// SPDX-License-Identifier: Apache-2.0
// Computes the features of one audio frame: docs/guides/preprocessing-audio.md, steps 4 to 9.
#include "base/fp.h"

#include "media/audio_frame.h"

#include <string.h>

#include "simd/common.h"
#include "simd/half.h"

enum {
  AUDIO_FRAME_LOG_BITS = 22,
  AUDIO_FRAME_TRANSFORM_BITS = 42  // bits of the largest sum of a transform
};

// ---- elements ----

// 2^e, -126 <= e <= 127.
static float audio_frame_two_to(int32_t e) {
  const uint32_t word = (uint32_t)(e + 127) << 23;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

SMR_HOT_VECTORIZED static void audio_frame_floats(size_t n, const int64_t *restrict x, int32_t e,
                                                  float *restrict y) {
  const float unit = audio_frame_two_to(e);
  for (size_t i = 0; i < n; i++) y[i] = (float)x[i] * unit;
}

// The nearest float32; 0 if it is below 2^-126.
static float audio_frame_power(struct smr_audio_power p) {
  if (p.e < -157) return 0;
  if (p.e >= -126) return (float)p.m * audio_frame_two_to(p.e);
  return (float)p.m * audio_frame_two_to(p.e + 64) * audio_frame_two_to(-64);
}

SMR_HOT_VECTORIZED static void audio_frame_normalise(const struct smr_audio_plan *plan,
                                                     float *restrict y) {
  const size_t n = plan->features;
  const float *mean = plan->mean, *scale = plan->scale;
  if (mean != NULL)
    for (size_t i = 0; i < n; i++) y[i] = y[i] - mean[i];
  if (scale != NULL)
    for (size_t i = 0; i < n; i++) y[i] = y[i] * scale[i];
}

// Half to even: sums with 1.5 * 2^23 have no fractional bits.
static int32_t audio_frame_quantized(float y, float scale, int32_t zero, float low, float high) {
  const float steps = y / scale, whole = 12582912.0f;
  const float kept = steps < low ? low : steps > high ? high : steps;
  return (int32_t)((kept + whole) - whole) + zero;
}

static void audio_frame_elements(const struct smr_audio_plan *plan, const float *y, void *out) {
  const struct smr_audio_record *r = &plan->record;
  const size_t n = plan->features;
  if (r->dtype == SMR_AUDIO_F32) {
    memcpy(out, y, n * sizeof *y);
  } else if (r->dtype == SMR_AUDIO_F16) {
    for (size_t i = 0; i < n; i++) {
      const uint16_t half = smr_f32_to_f16(y[i]);
      memcpy((unsigned char *)out + 2 * i, &half, sizeof half);
    }
  } else {
    const int32_t low = r->dtype == SMR_AUDIO_U8 ? 0 : INT8_MIN, zero = r->quant_zero;
    for (size_t i = 0; i < n; i++)
      ((uint8_t *)out)[i] = (uint8_t)audio_frame_quantized(
          y[i], r->quant_scale, zero, (float)(low - zero), (float)(low + 255 - zero));
  }
}

// ---- the spectrum ----

// Apply mean, pre-emphasis and window, and pad with zeros to the transform's size.
static void audio_frame_shape(const struct smr_audio_plan *plan, const int64_t *x, int64_t *y) {
  const struct smr_audio_record *r = &plan->record;
  const size_t n = r->window;
  memcpy(y, x, n * sizeof *y);
  if (r->dc) {
    int64_t sum = r->window / 2;
    for (size_t i = 0; i < n; i++) sum += y[i];
    const int64_t size = r->window;
    const int64_t mean = sum / size - (sum % size < 0 ? 1 : 0);
    for (size_t i = 0; i < n; i++) y[i] -= mean;
  }
  if (r->preemphasis > 0) {
    for (size_t i = n; i-- > 0;) {
      int64_t part;
      plan->kernels->window(1, &y[i == 0 ? 0 : i - 1], &plan->preemphasis, 40, &part);
      y[i] -= part;
    }
  }
  plan->kernels->window(n, y, plan->window, 40, y);
  memset(y + n, 0, (r->fft - n) * sizeof *y);
}

static uint64_t audio_frame_absolute(int64_t x) { return (uint64_t)(x < 0 ? -x : x); }

// Shift a frame right so that no sum overflows; quiet frames keep more bits. Returns the shift.
static uint32_t audio_frame_cut(const struct smr_audio_plan *plan, int64_t *y) {
  uint64_t any = 0;
  for (size_t i = 0; i < plan->record.window; i++) any |= audio_frame_absolute(y[i]);
  const uint32_t bits = smr_audio_bits(any) + plan->fft_bits;
  if (bits <= AUDIO_FRAME_TRANSFORM_BITS) return 0;
  const uint32_t cut = bits - AUDIO_FRAME_TRANSFORM_BITS;
  for (size_t i = 0; i < plan->record.window; i++) y[i] = smr_audio_rounded(y[i], cut);
  return cut;
}

// Compute twice the spectrum. Returns the fractional bits of the spectrum.
static int32_t audio_frame_transform(const struct smr_audio_plan *plan,
                                     const struct smr_audio_work *work, const int64_t *x) {
  const size_t half = plan->record.fft / 2;
  audio_frame_shape(plan, x, work->x);
  const uint32_t cut = audio_frame_cut(plan, work->x);
  for (size_t i = 0; i < half; i++) {
    const size_t from = plan->order[i];
    work->zr[i] = work->x[2 * from];
    work->zi[i] = work->x[2 * from + 1];
  }
  plan->kernels->transform(half, plan->stage_r, plan->stage_i, work->zr, work->zi);
  work->zr[half] = work->zr[0];
  work->zi[half] = work->zi[0];
  plan->kernels->unfold(half, plan->fold_r, plan->fold_i, work->zr, work->zi, work->yr, work->yi);
  return SMR_AUDIO_SAMPLE_BITS - (int32_t)cut + 1;
}

// Power or magnitude of each bin. Real and imaginary parts are shifted to 31 bits, so that squares
// do not overflow.
static void audio_frame_magnitudes(const struct smr_audio_plan *plan,
                                   const struct smr_audio_work *work, int32_t bits) {
  const struct smr_audio_record *r = &plan->record;
  const int32_t unit = (r->wide_unit ? 15 : 0) - bits;
  for (size_t k = 0; k <= r->fft / 2; k++) {
    const uint64_t re = audio_frame_absolute(work->yr[k]), im = audio_frame_absolute(work->yi[k]);
    const uint32_t size = smr_audio_bits(re | im);
    const uint32_t cut = size > 31 ? size - 31 : 0;
    const uint64_t half = UINT64_C(1) << cut >> 1;
    const uint64_t a = (re + half) >> cut, b = (im + half) >> cut;
    const uint64_t power = a * a + b * b;
    const int32_t e = (int32_t)cut + unit;
    work->m[k] = r->spectrum == SMR_AUDIO_POWER ? power : smr_audio_root(power);
    work->e[k] = r->spectrum == SMR_AUDIO_POWER ? 2 * e : e;
  }
}

// ---- mel bands and logarithms ----

static uint64_t audio_frame_shifted(uint64_t m, int32_t left) {
  if (left >= 0) return m << (left & 63);
  return left <= -64 ? 0 : m >> -left;
}

// The weighted sum of a band's bins, after aligning them to the largest exponent.
static struct smr_audio_power audio_frame_band(const struct smr_audio_plan *plan,
                                               const struct smr_audio_work *work,
                                               const struct smr_audio_band *band) {
  const uint64_t *m = work->m + band->start;
  const int32_t *e = work->e + band->start;
  int32_t top = INT32_MIN;
  for (size_t i = 0; i < band->count; i++) {
    const int32_t size = (int32_t)smr_audio_bits(m[i]) + e[i];
    if (m[i] != 0 && size > top) top = size;
  }
  if (top == INT32_MIN) return (struct smr_audio_power){0, 0};
  uint64_t sum = 0;
  for (size_t i = 0; i < band->count; i++) {
    if (m[i] == 0) continue;
    sum += audio_frame_shifted(m[i], e[i] - top + 31) * plan->weights[band->first + i] >> 11;
  }
  const struct smr_audio_power total = smr_audio_normalised(sum, top - 51);
  const int32_t exponent = total.e + band->norm.e;
  return smr_audio_normalised((uint64_t)total.m * band->norm.m, exponent);
}

static struct smr_audio_power audio_frame_sum(struct smr_audio_power a, struct smr_audio_power b) {
  if (b.m == 0) return a;
  if (a.m == 0) return b;
  const struct smr_audio_power top = a.e >= b.e ? a : b, low = a.e >= b.e ? b : a;
  return smr_audio_normalised(top.m + audio_frame_shifted(low.m, low.e - top.e), top.e);
}

// The logarithm of max(p + offset, floor): log2 bit by bit, by squaring.
static int32_t audio_frame_log(const struct smr_audio_plan *plan, struct smr_audio_power p) {
  static const int64_t units[] = {46516320, 20201781, 202017810};  // 2^26 ln 2, log10 2, 10 log10 2
  p = audio_frame_sum(p, plan->offset);
  const struct smr_audio_power floor = plan->floor;
  if (p.m == 0 || p.e < floor.e || (p.e == floor.e && p.m < floor.m)) p = floor;
  uint64_t m = p.m;
  uint32_t fraction = 0;
  for (int i = 0; i < 26; i++) {
    m = m * m >> 32;
    const uint32_t one = (uint32_t)(m >> 31);
    fraction = fraction << 1 | one;
    m <<= 1 - one;
  }
  const int64_t log = (int64_t)(p.e + 31) * (1 << 26) + fraction;
  return (int32_t)smr_audio_rounded(log * units[plan->record.log], 30);
}

static void audio_frame_cosines(const struct smr_audio_plan *plan,
                                const struct smr_audio_work *work) {
  const size_t bins = plan->record.bins;
  const int32_t *row = plan->cosines;
  for (size_t k = 0; k < plan->record.coefficients; k++, row += bins) {
    int64_t sum = 0;
    for (size_t b = 0; b < bins; b++) sum += (int64_t)work->logs[b] * row[b];
    work->values[k] = (float)smr_audio_rounded(sum, 20) * audio_frame_two_to(-AUDIO_FRAME_LOG_BITS);
  }
}

static void audio_frame_mels(const struct smr_audio_plan *plan, const struct smr_audio_work *work) {
  const struct smr_audio_record *r = &plan->record;
  for (size_t j = 0; j < r->bins; j++) {
    const struct smr_audio_power p = audio_frame_band(plan, work, &plan->bands[j]);
    if (r->kind == SMR_AUDIO_MEL) {
      work->values[j] = audio_frame_power(p);
      continue;
    }
    work->logs[j] = audio_frame_log(plan, p);
    if (r->kind == SMR_AUDIO_LOGMEL)
      work->values[j] = (float)work->logs[j] * audio_frame_two_to(-AUDIO_FRAME_LOG_BITS);
  }
  if (smr_audio_cepstral(r)) audio_frame_cosines(plan, work);
}

static void audio_frame_spectrum(const struct smr_audio_plan *plan,
                                 const struct smr_audio_work *work) {
  for (size_t k = 0; k <= plan->record.fft / 2; k++)
    work->values[k] = audio_frame_power(smr_audio_normalised(work->m[k], work->e[k]));
}

static void audio_frame_complex(const struct smr_audio_plan *plan,
                                const struct smr_audio_work *work, int32_t bits) {
  const float unit = audio_frame_two_to((plan->record.wide_unit ? 15 : 0) - bits);
  for (size_t k = 0; k <= plan->record.fft / 2; k++) {
    work->values[2 * k] = (float)work->yr[k] * unit;
    work->values[2 * k + 1] = (float)work->yi[k] * unit;
  }
}

void smr_audio_frame(const struct smr_audio_plan *plan, const struct smr_audio_work *work,
                     const int64_t *x, void *out) {
  const struct smr_audio_record *r = &plan->record;
  if (!smr_audio_spectral(r)) {
    audio_frame_floats(r->window, x, (r->wide_unit ? 15 : 0) - SMR_AUDIO_SAMPLE_BITS, work->values);
  } else {
    const int32_t bits = audio_frame_transform(plan, work, x);
    if (r->spectrum == SMR_AUDIO_COMPLEX) {
      audio_frame_complex(plan, work, bits);
    } else {
      audio_frame_magnitudes(plan, work, bits);
      if (smr_audio_banded(r))
        audio_frame_mels(plan, work);
      else
        audio_frame_spectrum(plan, work);
    }
  }
  audio_frame_normalise(plan, work->values);
  audio_frame_elements(plan, work->values, out);
}
