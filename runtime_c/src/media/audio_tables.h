// SPDX-License-Identifier: Apache-2.0
// Tables of an audio plan, computed in integers: docs/guides/preprocessing-audio.md, "Tables".
#ifndef SMR_MEDIA_AUDIO_TABLES_H_
#define SMR_MEDIA_AUDIO_TABLES_H_

#include "base/fp.h"

#include <stddef.h>

#include "media/audio_math.h"
#include "media/audio_record.h"

/// A mel band: weights[first .. first + count) are for bins start, start + 1, ...
struct smr_audio_band {
  uint32_t start, count;
  size_t first;
  struct smr_audio_power norm;  /// factor of the weighted sum
};

/// A resampler: output n is a weighted sum of 2 * half inputs from n * down / up - half + 1 on.
struct smr_audio_resampler {
  uint32_t up, down, half;
};

/// Most weights of a resampler: 1 MiB.
enum { SMR_AUDIO_MAX_WEIGHTS = 1 << 18 };

/// The window's `record->window` values, 40 fractional bits.
void smr_audio_window_fill(const struct smr_audio_record *record, int64_t *values);

/// cos and -sin of 2 pi k / n for k < count, 40 fractional bits.
void smr_audio_twiddles_fill(uint32_t n, uint32_t count, int64_t *re, int64_t *im);

/// order[i] is i with its bits reversed; n is a power of two.
void smr_audio_order_fill(uint32_t n, uint16_t *order);

/// `record->bins` bands and their weights with 31 fractional bits: at most 2 per bin of the
/// spectrum, fft + 2 in all.
void smr_audio_bands_fill(const struct smr_audio_record *record, struct smr_audio_band *bands,
                          uint32_t *weights);

/// Rows of the cosine transform, [coefficients][bins], 20 fractional bits.
void smr_audio_cosines_fill(const struct smr_audio_record *record, int32_t *rows);

/// From `rate` to `to` samples per second, both 1..192000; {1, 1, 0} where they are the same.
struct smr_audio_resampler smr_audio_resampler_of(uint32_t rate, uint32_t to);

/// Its weights, [up][2 * half], 31 fractional bits.
void smr_audio_resampler_fill(const struct smr_audio_resampler *resampler, int32_t *weights);

#endif  // SMR_MEDIA_AUDIO_TABLES_H_
