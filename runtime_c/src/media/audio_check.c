// SPDX-License-Identifier: Apache-2.0
// Checks audio records, which may come from an untrusted file.
#include "base/fp.h"

#include "media/audio_plan.h"

#include <string.h>

#include "base/error.h"

enum {
  AUDIO_CHECK_RATE = 192000,
  AUDIO_CHECK_LEAST_RATE = 1000,
  AUDIO_CHECK_WINDOW = 16384,
  AUDIO_CHECK_FFT = 8192,
  AUDIO_CHECK_HOP = 65536,
  AUDIO_CHECK_BINS = 256,
  AUDIO_CHECK_LIFTER = 100,
  AUDIO_CHECK_CHANNELS = 32
};

static samara_status audio_check_range(const char *what, uint32_t value, uint32_t least,
                                       uint32_t most, samara_error *error) {
  if (value >= least && value <= most) return SAMARA_OK;
  SMR_FAIL(error, BAD_ARGUMENT, "audio: %s is %u, expected %u..%u", what, (unsigned)value,
           (unsigned)least, (unsigned)most);
}

// 0, or a finite normal number.
static bool audio_check_float(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  const uint32_t exponent = word >> 23 & 0xff;
  return word << 1 == 0 || (exponent != 0 && exponent != 0xff);
}

static samara_status audio_check_floats(const char *what, const float *values, uint32_t n,
                                        uint32_t features, bool zero_allowed, samara_error *error) {
  if (n != 0 && n != 1 && n != features)
    SMR_FAIL(error, BAD_ARGUMENT, "audio: %s has %u values, expected 1, or one per feature, %u",
             what, (unsigned)n, (unsigned)features);
  if (n != 0 && values == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "audio: %s is NULL, expected %u values", what, (unsigned)n);
  for (uint32_t i = 0; i < n; i++)
    if (!audio_check_float(values[i]) || (!zero_allowed && values[i] == 0))
      SMR_FAIL(error, BAD_ARGUMENT, "audio: value %u of %s is %g, expected a finite number%s",
               (unsigned)i, what, smr_g(values[i]), zero_allowed ? "" : " other than 0");
  return SAMARA_OK;
}

static samara_status audio_check_kinds(const struct smr_audio_record *r, samara_error *error) {
  SMR_TRY(audio_check_range("kind", r->kind, 0, SMR_AUDIO_MFCC, error));
  SMR_TRY(audio_check_range("dtype", r->dtype, 0, SMR_AUDIO_I8, error));
  SMR_TRY(audio_check_range("shape", r->shape, 0, SMR_AUDIO_FLAT, error));
  SMR_TRY(audio_check_range("spectrum", r->spectrum, 0, SMR_AUDIO_COMPLEX, error));
  SMR_TRY(audio_check_range("log", r->log, 0, SMR_AUDIO_DB, error));
  if (r->spectrum == SMR_AUDIO_COMPLEX && r->kind != SMR_AUDIO_SPECTRUM)
    SMR_FAIL(error, BAD_ARGUMENT, "audio: spectrum is complex for kind %u, expected kind %u",
             (unsigned)r->kind, (unsigned)SMR_AUDIO_SPECTRUM);
  return SAMARA_OK;
}

static samara_status audio_check_fft(const struct smr_audio_record *r, samara_error *error) {
  SMR_TRY(audio_check_range("fft", r->fft, 16, AUDIO_CHECK_FFT, error));
  if ((r->fft & (r->fft - 1)) != 0 || r->fft < r->window)
    SMR_FAIL(error, BAD_ARGUMENT,
             "audio: fft is %u for a window of %u samples, expected a power of two no less than the"
             " window",
             (unsigned)r->fft, (unsigned)r->window);
  if (!audio_check_float(r->preemphasis) || !(r->preemphasis >= 0 && r->preemphasis <= 1))
    SMR_FAIL(error, BAD_ARGUMENT, "audio: preemphasis is %g, expected 0..1", smr_g(r->preemphasis));
  if (r->center && r->lead != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "audio: lead is %u with center, which sets it; expected 0",
             (unsigned)r->lead);
  return SAMARA_OK;
}

static samara_status audio_check_bands(const struct smr_audio_record *r, samara_error *error) {
  SMR_TRY(audio_check_range("bins", r->bins, 1, AUDIO_CHECK_BINS, error));
  SMR_TRY(audio_check_range("first", r->first, 0, r->fft / 2, error));
  // Half the rate is exact in float32.
  if (!audio_check_float(r->low) || !audio_check_float(r->high) ||
      !(r->low >= 0 && r->low < r->high && r->high <= (float)r->rate * 0.5f))
    SMR_FAIL(error, BAD_ARGUMENT,
             "audio: range is %g..%g hertz, expected two frequencies that rise, of 0..half the rate"
             " of %u",
             smr_g(r->low), smr_g(r->high), (unsigned)r->rate);
  if (r->kind == SMR_AUDIO_MEL) return SAMARA_OK;
  if (!audio_check_float(r->floor) || !audio_check_float(r->offset) ||
      !(r->floor > 0 && r->offset >= 0))
    SMR_FAIL(error, BAD_ARGUMENT,
             "audio: floor is %g and offset %g, expected more than 0 and at least 0",
             smr_g(r->floor), smr_g(r->offset));
  if (r->kind == SMR_AUDIO_LOGMEL) return SAMARA_OK;
  SMR_TRY(audio_check_range("coefficients", r->coefficients, 1, r->bins, error));
  return audio_check_range("lifter", r->lifter, 0, AUDIO_CHECK_LIFTER, error);
}

static samara_status audio_check_format(const struct smr_audio_record *r,
                                        const struct smr_audio_format *format,
                                        samara_error *error) {
  SMR_TRY(audio_check_range("rate of the record", r->rate, AUDIO_CHECK_LEAST_RATE, AUDIO_CHECK_RATE,
                            error));
  SMR_TRY(audio_check_range("rate of the samples", format->rate, AUDIO_CHECK_LEAST_RATE,
                            AUDIO_CHECK_RATE, error));
  SMR_TRY(audio_check_range("channels", format->channels, 1, AUDIO_CHECK_CHANNELS, error));
  const struct smr_audio_resampler resampler = smr_audio_resampler_of(format->rate, r->rate);
  const uint64_t weights = (uint64_t)resampler.up * 2 * resampler.half;
  if (weights > SMR_AUDIO_MAX_WEIGHTS)
    SMR_FAIL(
        error, UNSUPPORTED,
        "audio: %u samples per second do not become %u: that takes %u weights, expected at most"
        " %u; record at a rate that shares a large factor with %u",
        (unsigned)format->rate, (unsigned)r->rate, (unsigned)weights,
        (unsigned)SMR_AUDIO_MAX_WEIGHTS, (unsigned)r->rate);
  return SAMARA_OK;
}

static samara_status audio_check_elements(const struct smr_audio_record *r, samara_error *error) {
  const uint32_t features = smr_audio_features(r);
  SMR_TRY(audio_check_floats("mean", r->mean, r->n_mean, features, true, error));
  SMR_TRY(audio_check_floats("scale", r->scale, r->n_scale, features, false, error));
  if (r->dtype == SMR_AUDIO_F32 || r->dtype == SMR_AUDIO_F16) return SAMARA_OK;
  const int32_t low = r->dtype == SMR_AUDIO_U8 ? 0 : INT8_MIN, high = low + 255;
  if (!audio_check_float(r->quant_scale) || !(r->quant_scale > 0) || r->quant_zero < low ||
      r->quant_zero > high)
    SMR_FAIL(error, BAD_ARGUMENT,
             "audio: quantization is %g, %d, expected a scale above 0 and a zero point of %d..%d;"
             " integer elements need them",
             smr_g(r->quant_scale), (int)r->quant_zero, (int)low, (int)high);
  return SAMARA_OK;
}

uint32_t smr_audio_features(const struct smr_audio_record *record) {
  if (record->kind == SMR_AUDIO_SAMPLES) return record->window;
  if (record->kind == SMR_AUDIO_SPECTRUM)
    return (record->fft / 2 + 1) * (record->spectrum == SMR_AUDIO_COMPLEX ? 2 : 1);
  return record->kind == SMR_AUDIO_MFCC ? record->coefficients : record->bins;
}

samara_status smr_audio_check(const struct smr_audio_record *record,
                              const struct smr_audio_format *format, samara_error *error) {
  SMR_TRY(audio_check_kinds(record, error));
  SMR_TRY(audio_check_range("window", record->window, 1, AUDIO_CHECK_WINDOW, error));
  SMR_TRY(audio_check_range("hop", record->hop, 1, AUDIO_CHECK_HOP, error));
  SMR_TRY(audio_check_range("lead", record->lead, 0, record->window - 1, error));
  SMR_TRY(audio_check_format(record, format, error));
  if (record->kind == SMR_AUDIO_SAMPLES && record->center)
    SMR_FAIL(error, BAD_ARGUMENT,
             "audio: center for samples, which have no transform; give a lead");
  if (smr_audio_spectral(record)) SMR_TRY(audio_check_fft(record, error));
  if (smr_audio_banded(record)) SMR_TRY(audio_check_bands(record, error));
  return audio_check_elements(record, error);
}
