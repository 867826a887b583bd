// SPDX-License-Identifier: Apache-2.0
// Turns chunks of samples into audio frames of features. The result does not depend on the size of
// chunks.
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
  size_t held, at;     /// input samples in `input`, and the first one of the next sum
  uint32_t phase;      ///< of the next sample at the record's rate, in 1 / up
  size_t filled;       ///< samples in `frame`
  size_t skipped;      ///< samples to drop before the next: a hop beyond the window
  bool ending;         ///< smr_audio_flush has begun
  int64_t *input, *frame;
  struct smr_audio_work work;
};

/// Bytes of a state of `plan`. If `state` is not NULL, set its arrays, which follow it.
size_t smr_audio_layout(const struct smr_audio_plan *plan, struct smr_audio_state *state);

/// Begin a stream in `memory`, which is 64-aligned, has `plan->state_bytes` bytes and is borrowed
/// as long as the stream is used.
struct smr_audio_state *smr_audio_reset(const struct smr_audio_plan *plan, void *memory);

/// Read up to `count` samples per channel, interleaved in the plan's format, and write up to `room`
/// frames of `plan->features` elements each to `out`.
///
/// *taken is the number of samples read; it is less than `count` only if *made is `room`: call
/// again with the rest. Samples already read may give more frames than there was room for: call
/// again while *made is `room`, even without samples. Never allocates. BAD_STATE between the calls
/// of a flush; nothing is read then.
samara_status smr_audio_push(const struct smr_audio_plan *plan, struct smr_audio_state *state,
                             const void *samples, size_t count, size_t *taken, void *out,
                             size_t room, size_t *made, samara_error *error);

/// End the stream: flush the resampler, and with `center` the frames whose centre is in the signal.
/// Writes up to `room` frames; call again while *made is `room`. Afterwards the state is as after
/// smr_audio_reset.
void smr_audio_flush(const struct smr_audio_plan *plan, struct smr_audio_state *state, void *out,
                     size_t room, size_t *made);

#endif  // SMR_MEDIA_AUDIO_STREAM_H_
