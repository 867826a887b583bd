// SPDX-License-Identifier: Apache-2.0
// Converts records and samples of callers for the other audio files.
#include "base/fp.h"

#include "media/audio.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"

// The element type; out of range if unknown.
static uint8_t audio_record_dtype(samara_dtype dtype) {
  switch ((int)dtype) {
    case SAMARA_FLOAT32:
      return SMR_AUDIO_F32;
    case SAMARA_FLOAT16:
      return SMR_AUDIO_F16;
    case SAMARA_UINT8:
      return SMR_AUDIO_U8;
    case SAMARA_INT8:
      return SMR_AUDIO_I8;
    default:
      return UINT8_MAX;
  }
}

static samara_status audio_record_codes(const samara_audio_record *r, samara_error *error) {
  if ((int)r->kind < 1 || (int)r->kind > SAMARA_AUDIO_MFCC || (int)r->shape < 0 ||
      (int)r->shape > SAMARA_WINDOW_SINE || (int)r->spectrum < 0 ||
      (int)r->spectrum > SAMARA_SPECTRUM_COMPLEX || (int)r->log < 0 ||
      (int)r->log > SAMARA_LOG_DECIBEL || audio_record_dtype(r->dtype) == UINT8_MAX)
    SMR_FAIL(error, BAD_ARGUMENT,
             "audio: kind %d, shape %d, spectrum %d, log %d or dtype %d has no meaning",
             (int)r->kind, (int)r->shape, (int)r->spectrum, (int)r->log, (int)r->dtype);
  if (memchr(r->layout, 0, sizeof((struct smr_audio_tensor *)0)->layout + 1) == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "audio: layout '%.8s', expected up to 4 letters", r->layout);
  return SAMARA_OK;
}

samara_status smr_audio_record_of(const samara_audio_record *record, struct smr_audio_record *out,
                                  struct smr_audio_tensor *tensor, struct smr_parts *parts,
                                  samara_error *error) {
  const samara_audio_record *r = record;
  SMR_TRY(audio_record_codes(r, error));
  if (r->kind >= SAMARA_AUDIO_SPECTRUM) SMR_NEED_IN(parts, error, audio_spectrum);
  if (r->kind >= SAMARA_AUDIO_MEL) SMR_NEED_IN(parts, error, audio_mel);
  if (r->kind == SAMARA_AUDIO_MFCC) SMR_NEED_IN(parts, error, audio_cosines);
  const struct smr_audio_record made = {
      .kind = (uint8_t)(r->kind - SAMARA_AUDIO_SAMPLES + SMR_AUDIO_SAMPLES),
      .dtype = audio_record_dtype(r->dtype),
      .shape = r->shape == SAMARA_WINDOW_NONE
                   ? SMR_AUDIO_FLAT
                   : (uint8_t)(r->shape - SAMARA_WINDOW_HANN + SMR_AUDIO_HANN),
      .spectrum = (uint8_t)r->spectrum,
      .log = (uint8_t)r->log,
      .symmetric = r->symmetric,
      .center = r->center,
      .dc = r->dc,
      .slaney = r->slaney,
      .slaney_norm = r->slaney_norm,
      .mel_triangles = r->mel_triangles,
      .plain_dct = r->plain_dct,
      .wide_unit = r->wide_unit,
      .rate = r->rate,
      .window = r->window,
      .hop = r->hop,
      .fft = r->fft,
      .lead = r->lead,
      .bins = r->bins,
      .first = r->first,
      .coefficients = r->coefficients,
      .lifter = r->lifter,
      .low = r->low,
      .high = r->high,
      .preemphasis = r->preemphasis,
      .floor = r->floor,
      .offset = r->offset,
      .n_mean = r->mean_count,
      .n_scale = r->scale_count,
      .mean = r->mean,
      .scale = r->scale,
      .quant_scale = r->quant_scale,
      .quant_zero = r->quant_zero,
  };
  struct smr_audio_tensor t = {.frames = r->frames, .step = r->step};
  memcpy(t.layout, r->layout, strlen(r->layout));
  const struct smr_audio_format format = {.rate = r->rate, .channels = 1, .is_float = true};
  SMR_TRY(smr_audio_check(&made, &format, error));
  SMR_TRY(smr_audio_tensor_check(&made, &t, error));
  *out = made, *tensor = t;
  return SAMARA_OK;
}

samara_status smr_audio_samples_of(const samara_audio *audio, uint32_t rate, samara_audio *given,
                                   struct smr_audio_format *format, samara_error *error) {
  if (audio == NULL) SMR_FAIL(error, BAD_ARGUMENT, "the samara_audio is NULL");
  SMR_TRY(smr_options_read(audio, given, sizeof *given, "samara_audio", error));
  if (given->samples == NULL && given->count != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "%zu samples are NULL", given->count);
  if (given->dtype != SAMARA_INT16 && given->dtype != SAMARA_FLOAT32)
    SMR_FAIL(error, BAD_ARGUMENT, "samples of dtype %d, expected int16 or float32",
             (int)given->dtype);
  *format = (struct smr_audio_format){
      .rate = given->rate != 0 ? given->rate : rate,
      .channels = given->channels != 0 ? given->channels : 1,
      .is_float = given->dtype == SAMARA_FLOAT32,
  };
  size_t all;
  if (!smr_mul_size(given->count, (format->is_float ? 4u : 2u) * (size_t)format->channels, &all))
    SMR_FAIL(error, BAD_ARGUMENT, "%zu samples of %u channels are more than memory holds",
             given->count, (unsigned)format->channels);
  return SAMARA_OK;
}

int32_t smr_audio_shape(const struct smr_audio_record *record,
                        const struct smr_audio_tensor *tensor, int64_t *shape) {
  const bool complex = record->kind == SMR_AUDIO_SPECTRUM && record->spectrum == SMR_AUDIO_COMPLEX;
  const int64_t parts = complex ? 2 : 1, numbers = smr_audio_features(record);
  int32_t rank = 0;
  for (size_t i = 0; i < sizeof tensor->layout && tensor->layout[i] != 0; i++) {
    const char letter = tensor->layout[i];
    shape[rank++] = letter == 't'   ? tensor->frames
                    : letter == 'f' ? numbers / parts
                    : letter == 'c' ? parts
                                    : 1;
  }
  return rank;
}
