// SPDX-License-Identifier: Apache-2.0
// Samples in, in any portions, frames of features out: the same bits as for all samples at once.
#ifndef SMR_MEDIA_AUDIO_STREAM_H_
#define SMR_MEDIA_AUDIO_STREAM_H_

#include "base/fp.h"

#include "media/audio_frame.h"
#include "media/audio_plan.h"

/// One stream. Belongs to one thread; begins with smr_audio_reset.
struct smr_audio_state {
  uint64_t taken;      ///< samples of a channel since the reset
  uint64_t resampled;  ///< samples at the record's rate
  uint64_t frames;     ///< frames made
  size_t held, at;     ///< input samples in `input`, and the first that the next sum takes
  uint32_t phase;      ///< of the next sample at the record's rate, in 1 / up
  size_t filled;       ///< samples in `frame`
  size_t skipped;      ///< samples to drop before the next: a hop beyond the window
  bool ending;         ///< smr_audio_flush has begun
  int64_t *input, *frame;
  struct smr_audio_work work;
};

/// Bytes of a state of `plan`; where `state` is not NULL, its arrays are placed behind it.
size_t smr_audio_layout(const struct smr_audio_plan *plan, struct smr_audio_state *state);

/// Begin a stream at `memory`, which begins at a multiple of 64, has `plan->state_bytes` and is
/// borrowed as long as the stream is used.
struct smr_audio_state *smr_audio_reset(const struct smr_audio_plan *plan, void *memory);

/// Take up to `count` samples of each channel, interleaved in the plan's format, and make up to
/// `room` frames, `plan->features` elements each, one after the other at `out`.
///
/// *taken says how many samples were taken, fewer than `count` only where *made is `room`: call
/// again with the rest. Samples that were taken can give more frames than there was room for: call
/// again while *made is `room`, if only with none. Never allocates. BAD_STATE between the calls of
/// a flush; nothing is taken then.
samara_status smr_audio_push(const struct smr_audio_plan *plan, struct smr_audio_state *state,
                             const void *samples, size_t count, size_t *taken, void *out,
                             size_t room, size_t *made, samara_error *error);

/// End the stream: what the resampler holds back, and with `center` the frames whose middle lies in
/// the signal. Makes up to `room` frames; call again while *made is `room`. With fewer the state is
/// as after smr_audio_reset.
void smr_audio_flush(const struct smr_audio_plan *plan, struct smr_audio_state *state, void *out,
                     size_t room, size_t *made);

#endif  // SMR_MEDIA_AUDIO_STREAM_H_
