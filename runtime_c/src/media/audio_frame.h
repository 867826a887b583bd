// SPDX-License-Identifier: Apache-2.0
// Features of one audio frame.
#ifndef SMR_MEDIA_AUDIO_FRAME_H_
#define SMR_MEDIA_AUDIO_FRAME_H_

#include "base/fp.h"

#include "media/audio_plan.h"

/// Working memory for one audio frame; sizes are those of the plan.
struct smr_audio_work {
  int64_t *x;        ///< [fft], or [window] of samples
  int64_t *zr, *zi;  ///< [fft / 2 + 1]
  int64_t *yr, *yi;  ///< [fft / 2 + 1]
  uint64_t *m;       ///< [fft / 2 + 1]; magnitudes m * 2^e of bins
  int32_t *e;        ///< [fft / 2 + 1]
  int32_t *logs;     ///< [bins]
  float *values;     ///< [features]
};

/// Compute the features of the `window` samples at `x` (40 fractional bits), as elements of the
/// record's dtype at `out` [features].
void smr_audio_frame(const struct smr_audio_plan *plan, const struct smr_audio_work *work,
                     const int64_t *x, void *out);

#endif  // SMR_MEDIA_AUDIO_FRAME_H_
