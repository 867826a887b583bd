// SPDX-License-Identifier: Apache-2.0
// Tests audio tables against the digests of the reference, and general properties.
#include "base/fp.h"

#include "media/audio_tables.h"

#include <stdlib.h>

#include "base/fnv.h"
#include "harness.h"

static const struct smr_audio_record records[] = {
#define AUDIO_GOLDEN(name, rate, channels, is_float, samples, frames, digest, ...) {__VA_ARGS__},
#include "media/audio_golden.inc"
};
enum {
#define AUDIO_GOLDEN(name, ...) ROW_##name,
#include "media/audio_golden.inc"
};

enum {
#define AUDIO_GOLDEN(...)
#define AUDIO_TABLE(name, digest) TABLE_##name,
#include "media/audio_golden.inc"
};
static const uint64_t digests[] = {
#define AUDIO_GOLDEN(...)
#define AUDIO_TABLE(name, digest) digest,
#include "media/audio_golden.inc"
};

static uint64_t joined(uint64_t hash, int64_t value) { return smr_fnv(hash, &value, sizeof value); }

static uint64_t window_digest(const struct smr_audio_record *record) {
  int64_t *values = (int64_t *)malloc(record->window * sizeof *values);
  smr_audio_window_fill(record, values);
  const uint64_t digest = smr_fnv(SMR_FNV_START, values, record->window * sizeof *values);
  free(values);
  return digest;
}

SMR_TEST(windows_are_the_references) {
  CHECK(window_digest(&records[ROW_kaldi]) == digests[TABLE_povey]);
  CHECK(window_digest(&records[ROW_mel]) == digests[TABLE_hann]);
}

SMR_TEST(twiddles_are_the_references) {
  int64_t re[257], im[257];
  smr_audio_twiddles_fill(512, 257, re, im);
  CHECK(smr_fnv(SMR_FNV_START, re, sizeof re) == digests[TABLE_cosine]);
  CHECK(smr_fnv(SMR_FNV_START, im, sizeof im) == digests[TABLE_sine]);
  CHECK(re[0] == INT64_C(1) << 40 && im[0] == 0 && re[128] == 0 && im[128] == -re[0]);
}

static uint64_t bands_digest(const struct smr_audio_record *record) {
  struct smr_audio_band *bands = (struct smr_audio_band *)malloc(record->bins * sizeof *bands);
  uint32_t *weights = (uint32_t *)malloc((record->fft + 2) * sizeof *weights);  // as promised
  smr_audio_bands_fill(record, bands, weights);
  uint64_t digest = SMR_FNV_START;
  for (uint32_t j = 0; j < record->bins; j++) {
    digest = joined(digest, bands[j].start);
    for (uint32_t i = 0; i < bands[j].count; i++)
      digest = joined(digest, weights[bands[j].first + i]);
    digest = joined(joined(digest, bands[j].norm.m), bands[j].norm.e);
    CHECK(bands[j].start + bands[j].count <= record->fft / 2 + 1);
  }
  free(bands);
  free(weights);
  return digest;
}

SMR_TEST(bands_are_the_references) {
  CHECK(bands_digest(&records[ROW_mel]) == digests[TABLE_bands]);
  CHECK(bands_digest(&records[ROW_kaldi]) == digests[TABLE_mel_bands]);
}

SMR_TEST(bands_fit_whatever_the_record) {
  struct smr_audio_record record = {.kind = SMR_AUDIO_MEL};
  uint32_t seed = 5;
  for (int i = 0; i < 300; i++) {
    seed = seed * 1664525u + 1013904223u;
    record.fft = 16u << (seed >> 8) % 6;
    record.rate = 1000 + (seed >> 4) % 100000;
    record.bins = 1 + (seed >> 10) % 256;
    record.first = (seed >> 20) % (record.fft / 2 + 1);
    record.low = (float)(seed >> 12 & 0xff);
    record.high = i % 2 == 0 ? (float)record.rate * 0.5f : record.low + 0.125f;
    record.slaney = (seed >> 28 & 1) != 0;
    record.slaney_norm = (seed >> 29 & 1) != 0;
    record.mel_triangles = (seed >> 30 & 1) != 0;
    (void)bands_digest(&record);
  }
}

SMR_TEST(cosines_are_the_references) {
  const struct smr_audio_record *record = &records[ROW_mfcc];
  int32_t rows[13 * 23];
  uint64_t digest = SMR_FNV_START;
  REQUIRE(record->coefficients == 13 && record->bins == 23);
  smr_audio_cosines_fill(record, rows);
  for (size_t i = 0; i < 13 * 23; i++) digest = joined(digest, rows[i]);
  CHECK(digest == digests[TABLE_dct]);
}

SMR_TEST(resamplers_are_the_references) {
  const struct smr_audio_resampler r = smr_audio_resampler_of(44100, 16000);
  CHECK_EQ_INT(r.up, 160);
  CHECK_EQ_INT(r.down, 441);
  const size_t count = (size_t)r.up * 2 * r.half;
  int32_t *weights = (int32_t *)malloc(count * sizeof *weights);
  uint64_t digest = SMR_FNV_START;
  smr_audio_resampler_fill(&r, weights);
  for (size_t i = 0; i < count; i++) digest = joined(digest, weights[i]);
  CHECK(digest == digests[TABLE_resampler]);
  for (uint32_t p = 0; p < r.up; p++) {
    int64_t sum = 0;
    for (uint32_t q = 0; q < 2 * r.half; q++) sum += weights[p * 2 * r.half + q];
    CHECK_NEAR((double)sum / 0x1p31, 1.0, 1e-3);
  }
  free(weights);
  const struct smr_audio_resampler same = smr_audio_resampler_of(16000, 16000);
  CHECK(same.up == 1 && same.down == 1 && same.half == 0);
}

SMR_TEST(order_reverses_bits) {
  static const uint16_t want[] = {0, 4, 2, 6, 1, 5, 3, 7};
  uint16_t order[8];
  smr_audio_order_fill(8, order);
  CHECK_MEM(order, want, sizeof want);
}

SMR_TEST_MAIN(RUN(windows_are_the_references); RUN(twiddles_are_the_references);
              RUN(bands_are_the_references); RUN(bands_fit_whatever_the_record);
              RUN(cosines_are_the_references); RUN(resamplers_are_the_references);
              RUN(order_reverses_bits))
