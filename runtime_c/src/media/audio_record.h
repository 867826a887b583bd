// SPDX-License-Identifier: Apache-2.0
// Audio records: docs/guides/preprocessing-audio.md explains the fields.
#ifndef SMR_MEDIA_AUDIO_RECORD_H_
#define SMR_MEDIA_AUDIO_RECORD_H_

#include "base/fp.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/parts.h"

enum smr_audio_kind {
  SMR_AUDIO_SAMPLES,
  SMR_AUDIO_SPECTRUM,
  SMR_AUDIO_MEL,
  SMR_AUDIO_LOGMEL,
  SMR_AUDIO_MFCC
};
enum smr_audio_dtype { SMR_AUDIO_F32, SMR_AUDIO_F16, SMR_AUDIO_U8, SMR_AUDIO_I8 };
enum smr_audio_shape {
  SMR_AUDIO_HANN,
  SMR_AUDIO_HAMMING,
  SMR_AUDIO_POVEY,
  SMR_AUDIO_SINE,
  SMR_AUDIO_FLAT  ///< `none` in the text
};
enum smr_audio_spectrum { SMR_AUDIO_POWER, SMR_AUDIO_MAGNITUDE, SMR_AUDIO_COMPLEX };
enum smr_audio_log { SMR_AUDIO_LN, SMR_AUDIO_LOG10, SMR_AUDIO_DB };

/// A record. Fields that a kind does not use are 0. Sizes are in samples, frequencies in hertz.
struct smr_audio_record {
  uint8_t kind;      ///< enum smr_audio_kind
  uint8_t dtype;     ///< enum smr_audio_dtype, of the elements made
  uint8_t shape;     ///< enum smr_audio_shape; samples: SMR_AUDIO_FLAT
  uint8_t spectrum;  ///< enum smr_audio_spectrum
  uint8_t log;       ///< enum smr_audio_log
  bool symmetric, center, dc;
  bool slaney;         ///< mel=slaney; else htk
  bool slaney_norm;    ///< norm=slaney
  bool mel_triangles;  ///< triangles=mel; else hz
  bool plain_dct;      ///< dct=plain; else ortho
  bool wide_unit;      ///< unit=32768; else 1
  uint32_t rate, window, hop, fft, lead;
  uint32_t bins, first, coefficients, lifter;
  float low, high, preemphasis, floor, offset;
  uint32_t n_mean, n_scale;   /// 0, 1, or the values of an audio frame
  const float *mean, *scale;  ///< borrowed until smr_audio_plan_make returns
  float quant_scale;          ///< of U8 and I8: more than 0
  int32_t quant_zero;
};

/// Whether the kind needs a Fourier transform; below: mel bands; a cosine transform.
static inline bool smr_audio_spectral(const struct smr_audio_record *r) {
  return SMR_HAS(audio_spectrum) && r->kind != SMR_AUDIO_SAMPLES;
}
static inline bool smr_audio_banded(const struct smr_audio_record *r) {
  return SMR_HAS(audio_mel) && r->kind >= SMR_AUDIO_MEL;
}
static inline bool smr_audio_cepstral(const struct smr_audio_record *r) {
  return SMR_HAS(audio_cosines) && r->kind == SMR_AUDIO_MFCC;
}

/// The caller's samples: interleaved channels.
struct smr_audio_format {
  uint32_t rate;      ///< samples of a channel per second
  uint32_t channels;  /// 1..32, averaged to one
  bool is_float;      ///< float32, full scale 1.0; else int16
};

#endif  // SMR_MEDIA_AUDIO_RECORD_H_
