// SPDX-License-Identifier: Apache-2.0
// Frames of a stream become tensors: how many, how far apart, in which layout.
#ifndef SMR_MEDIA_AUDIO_TENSOR_H_
#define SMR_MEDIA_AUDIO_TENSOR_H_

#include "base/fp.h"

#include "media/audio_stream.h"

/// A tensor of a record: `frames` frames, of which `step` are new in each tensor after the first.
struct smr_audio_tensor {
  uint32_t frames, step;  ///< 1..4096, step no more than frames
  char layout[4];         ///< letters of n (1), t (frames), f (features), c (parts), then 0
};

/// A stream that makes tensors. Belongs to one thread; begins with smr_audio_batch_reset.
struct smr_audio_batch {
  const struct smr_audio_plan *plan;
  struct smr_audio_tensor tensor;
  struct smr_audio_state *state;
  unsigned char *frames;  ///< [tensor.frames][features] elements
  uint32_t held;          ///< frames there are
};

/// Check the tensor of a record that passed smr_audio_check. Every letter stands at most once; the
/// layout has f, t for more than one frame, and c for a complex spectrum.
samara_status smr_audio_tensor_check(const struct smr_audio_record *record,
                                     const struct smr_audio_tensor *tensor, samara_error *error);

/// Bytes of a batch, its stream included.
size_t smr_audio_batch_bytes(const struct smr_audio_plan *plan,
                             const struct smr_audio_tensor *tensor);

/// Begin at `memory`, as smr_audio_reset. `tensor` passed its check; the plan is borrowed.
struct smr_audio_batch *smr_audio_batch_reset(const struct smr_audio_plan *plan,
                                              const struct smr_audio_tensor *tensor, void *memory);

/// Take samples as smr_audio_push until a tensor is *full or all are taken. A full tensor is there
/// until the next call of push or flush. Call again while *full, with the rest or with none.
samara_status smr_audio_batch_push(struct smr_audio_batch *batch, const void *samples, size_t count,
                                   size_t *taken, bool *full, samara_error *error);

/// End the stream. Call again while *full; then the batch is as after a reset, and frames that did
/// not fill a tensor are gone.
void smr_audio_batch_flush(struct smr_audio_batch *batch, bool *full);

/// Write the full tensor to `out` in its layout: frames * features elements.
void smr_audio_batch_write(const struct smr_audio_batch *batch, void *out);

#endif  // SMR_MEDIA_AUDIO_TENSOR_H_
