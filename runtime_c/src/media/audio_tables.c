// SPDX-License-Identifier: Apache-2.0
// Tables of an audio plan, computed in integers.
#include "base/fp.h"

#include "media/audio_tables.h"

enum { AUDIO_TABLES_ZEROS = 16 };  // zero crossings on each side of a sinc
static const uint64_t audio_tables_inverse_pi = UINT64_C(0x145F306DC9C882A5);  // 2^62 / pi

// Whole hertz, 32 fractional bits, and whole mels, 48.
static uint64_t audio_tables_hz(uint64_t hertz) { return hertz << 32; }
static uint64_t audio_tables_mels(uint64_t mels) { return mels << SMR_AUDIO_LOG_BITS; }

// ---- windows and transforms ----

// The Hann window to the power of 0.85; `hann` is its value, 62 fractional bits.
static int64_t audio_tables_povey(uint64_t hann) {
  if (hann == 0) return 0;
  const uint64_t down = (audio_tables_mels(62) - smr_audio_log2(hann)) * 17 / 20;
  const uint64_t whole = (down + audio_tables_mels(1) - 1) >> SMR_AUDIO_LOG_BITS;
  if (whole >= 40) return 0;
  const int64_t value = (int64_t)smr_audio_exp2(audio_tables_mels(whole) - down);
  return smr_audio_rounded(value, 22 + (uint32_t)whole);
}

static int64_t audio_tables_window(uint8_t shape, uint32_t n, uint32_t period) {
  if (shape == SMR_AUDIO_FLAT) return INT64_C(1) << 40;
  if (shape == SMR_AUDIO_SINE) {
    const int64_t value = smr_audio_sine(n, 2 * (uint64_t)period);
    return smr_audio_rounded(value < 0 ? -value : value, 22);
  }
  const int64_t cosine = smr_audio_cosine(n, period);
  if (shape == SMR_AUDIO_HAMMING)
    return smr_audio_rounded((27 * (INT64_C(1) << 56) - 23 * (cosine >> 6)) / 50, 16);
  const uint64_t hann = SMR_AUDIO_ONE - (uint64_t)cosine;  // twice the value, up to 2^63
  if (shape == SMR_AUDIO_POVEY) return audio_tables_povey(hann >> 1);
  return (int64_t)((hann + (1 << 22)) >> 23);
}

void smr_audio_window_fill(const struct smr_audio_record *record, int64_t *values) {
  uint32_t period = record->symmetric ? record->window - 1 : record->window;
  if (period == 0) period = 1;
  for (uint32_t n = 0; n < record->window; n++)
    values[n] = audio_tables_window(record->shape, n, period);
}

void smr_audio_twiddles_fill(uint32_t n, uint32_t count, int64_t *re, int64_t *im) {
  for (uint32_t k = 0; k < count; k++) {
    re[k] = smr_audio_rounded(smr_audio_cosine(k, n), 22);
    im[k] = smr_audio_rounded(-smr_audio_sine(k, n), 22);
  }
}

void smr_audio_order_fill(uint32_t n, uint16_t *order) {
  order[0] = 0;
  for (uint32_t i = 1; i < n; i++)
    order[i] = (uint16_t)(order[i / 2] / 2 + (i % 2 == 1 ? n / 2 : 0));
}

// ---- mel bands ----

// log2(6.4): above 1000 Hz, 27 mels of Slaney are a factor of 6.4.
static uint64_t audio_tables_octaves(void) { return audio_tables_mels(6) - smr_audio_log2(10); }

static uint64_t audio_tables_mel(bool slaney, uint64_t hertz) {
  if (!slaney)
    return smr_audio_log2(audio_tables_hz(700) + hertz) - smr_audio_log2(audio_tables_hz(700));
  if (hertz < audio_tables_hz(1000)) return hertz * 3 * (1 << 16) / 200;
  const uint64_t above = smr_audio_log2(hertz) - smr_audio_log2(audio_tables_hz(1000));
  return audio_tables_mels(15) +
         smr_audio_muldiv(27 * above, audio_tables_mels(1), audio_tables_octaves());
}

static uint64_t audio_tables_hertz(bool slaney, uint64_t mel) {
  if (slaney && mel < audio_tables_mels(15))
    return smr_audio_muldiv(mel, audio_tables_hz(200), audio_tables_mels(3));
  if (slaney)
    mel = smr_audio_muldiv(mel - audio_tables_mels(15), audio_tables_octaves(),
                           audio_tables_mels(27));
  const uint64_t fraction = mel & (audio_tables_mels(1) - 1);
  const uint64_t grown = smr_audio_exp2(fraction) >> 12 << (mel >> SMR_AUDIO_LOG_BITS);
  const uint64_t one = UINT64_C(1) << 50;
  if (slaney) return smr_audio_muldiv(grown, audio_tables_hz(1000), one);
  return smr_audio_muldiv(grown - one, audio_tables_hz(700), one);
}

static uint32_t audio_tables_triangle(uint64_t place, const uint64_t edge[3]) {
  const uint64_t one = UINT64_C(1) << 31;
  if (edge[0] < place && place <= edge[1])
    return (uint32_t)smr_audio_muldiv(place - edge[0], one, edge[1] - edge[0]);
  if (edge[1] < place && place < edge[2])
    return (uint32_t)smr_audio_muldiv(edge[2] - place, one, edge[2] - edge[1]);
  return 0;
}

// 2 / width, in hertz.
static struct smr_audio_power audio_tables_reciprocal(uint64_t width) {
  const uint32_t bits = smr_audio_bits(width);
  const uint64_t m = smr_audio_muldiv(UINT64_C(1) << (bits - 1), UINT64_C(1) << 32, width);
  if (m >> 32 != 0) return (struct smr_audio_power){UINT32_C(1) << 31, 3 - (int32_t)bits};
  return (struct smr_audio_power){(uint32_t)m, 2 - (int32_t)bits};
}

struct audio_tables_scale {
  const struct smr_audio_record *record;
  uint64_t low, width;  // mels
};

static uint64_t audio_tables_edge(const struct audio_tables_scale *scale, uint32_t j) {
  return scale->low + smr_audio_muldiv(j, scale->width, scale->record->bins + 1);
}

// Position of bin k in the unit of the edges: mels or hertz.
static uint64_t audio_tables_place(const struct smr_audio_record *record, uint32_t k) {
  const uint64_t hertz = audio_tables_hz((uint64_t)k * record->rate) / record->fft;
  return record->mel_triangles ? audio_tables_mel(record->slaney, hertz) : hertz;
}

static uint32_t audio_tables_band(const struct audio_tables_scale *scale, uint32_t j,
                                  struct smr_audio_band *band, uint32_t *weights) {
  const struct smr_audio_record *record = scale->record;
  uint64_t edge[3], hertz[3];
  for (uint32_t i = 0; i < 3; i++) {
    const uint64_t mel = audio_tables_edge(scale, j + i);
    hertz[i] = audio_tables_hertz(record->slaney, mel);
    edge[i] = record->mel_triangles ? mel : hertz[i];
  }
  band->norm = record->slaney_norm ? audio_tables_reciprocal(hertz[2] - hertz[0])
                                   : (struct smr_audio_power){UINT32_C(1) << 31, -31};
  // Begin one bin before the edge in hertz, because the edge was rounded.
  uint32_t k = (uint32_t)(hertz[0] * record->fft / record->rate >> 32), count = 0;
  band->start = 0;
  for (k = k > 1 ? k - 1 : 0; k <= record->fft / 2; k++) {
    const uint64_t place = audio_tables_place(record, k);
    if (place >= edge[2]) break;
    const uint32_t weight = k < record->first ? 0 : audio_tables_triangle(place, edge);
    if (count == 0 && weight == 0) continue;
    if (count == 0) band->start = k;
    weights[count++] = weight;
  }
  while (count > 0 && weights[count - 1] == 0) count--;
  if (count == 0) band->start = 0;
  band->count = count;
  return count;
}

void smr_audio_bands_fill(const struct smr_audio_record *record, struct smr_audio_band *bands,
                          uint32_t *weights) {
  const uint64_t low = audio_tables_mel(record->slaney, (uint64_t)smr_audio_fixed(record->low, 32));
  const uint64_t high =
      audio_tables_mel(record->slaney, (uint64_t)smr_audio_fixed(record->high, 32));
  const struct audio_tables_scale scale = {record, low, high - low};
  size_t first = 0;
  for (uint32_t j = 0; j < record->bins; j++) {
    bands[j].first = first;
    first += audio_tables_band(&scale, j, &bands[j], weights + first);
  }
}

// ---- the cosine transform ----

static int32_t audio_tables_cosine(const struct smr_audio_record *record, uint32_t k, uint32_t b,
                                   int64_t norm) {
  const uint64_t bins = record->bins;
  const int64_t cosine = smr_audio_cosine((uint64_t)k * (2 * b + 1), 4 * bins);
  const int64_t value = (cosine >> 30) * norm;
  if (record->lifter == 0) return (int32_t)smr_audio_rounded(value, 42);
  const int64_t lifter = record->lifter;
  const int64_t sine = smr_audio_rounded(smr_audio_sine(k, 2 * (uint64_t)lifter), 22);
  const int64_t lift = (INT64_C(1) << 24) + (lifter * sine >> 17);
  return (int32_t)smr_audio_rounded((value >> 32) * lift, 34);
}

void smr_audio_cosines_fill(const struct smr_audio_record *record, int32_t *rows) {
  const uint32_t bins = record->bins;
  for (uint32_t k = 0; k < record->coefficients; k++) {
    const uint64_t squared = SMR_AUDIO_ONE >> (!record->plain_dct && k == 0 ? 2 : 1);
    const int64_t norm = smr_audio_root(squared / bins);
    for (uint32_t b = 0; b < bins; b++)
      rows[(size_t)k * bins + b] = audio_tables_cosine(record, k, b, norm);
  }
}

// ---- resampling ----

struct smr_audio_resampler smr_audio_resampler_of(uint32_t rate, uint32_t to) {
  uint32_t a = rate, b = to;
  while (b != 0) {
    const uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  struct smr_audio_resampler made = {to / a, rate / a, 0};
  if (made.up == made.down) return made;
  const uint64_t unit = 20 * (uint64_t)(made.up > made.down ? made.up : made.down);
  const uint64_t crossing = 19 * (uint64_t)made.up;
  made.half = (uint32_t)((AUDIO_TABLES_ZEROS * unit + crossing - 1) / crossing);
  return made;
}

// The weight of a sample at distance j / up.
static int32_t audio_tables_weight(const struct smr_audio_resampler *r, uint64_t j) {
  const uint64_t least = r->up < r->down ? r->up : r->down;
  const uint64_t unit = 20 * (uint64_t)(r->up < r->down ? r->down : r->up);
  if (19 * j >= AUDIO_TABLES_ZEROS * unit) return 0;
  int64_t wave = 0;
  uint64_t sinc = SMR_AUDIO_ONE;
  if (j != 0) {
    wave = smr_audio_sine(19 * j, 2 * unit);
    const uint64_t over_pi =
        smr_audio_mul((uint64_t)(wave < 0 ? -wave : wave), audio_tables_inverse_pi);
    sinc = smr_audio_muldiv(over_pi, unit, 19 * j);
  }
  const int64_t cosine = smr_audio_cosine(19 * j, 2 * AUDIO_TABLES_ZEROS * unit);
  const uint64_t taper = (SMR_AUDIO_ONE + (uint64_t)cosine) >> 1;
  const uint64_t value = smr_audio_mul(sinc, taper) / (20 * (uint64_t)r->down) * (19 * least);
  const int32_t rounded = (int32_t)smr_audio_rounded((int64_t)value, 31);
  return wave < 0 ? -rounded : rounded;
}

void smr_audio_resampler_fill(const struct smr_audio_resampler *resampler, int32_t *weights) {
  const int64_t up = resampler->up, half = resampler->half;
  for (int64_t phase = 0; phase < up; phase++)
    for (int64_t q = 1 - half; q <= half; q++) {
      const int64_t j = phase - q * up;
      *weights++ = audio_tables_weight(resampler, (uint64_t)(j < 0 ? -j : j));
    }
}
