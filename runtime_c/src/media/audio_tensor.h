// SPDX-License-Identifier: Apache-2.0
// Collects audio frames into tensors: number of frames, step and layout.
#ifndef SMR_MEDIA_AUDIO_TENSOR_H_
#define SMR_MEDIA_AUDIO_TENSOR_H_

#include "base/fp.h"

#include "media/audio_stream.h"

/// A tensor of a record: `frames` frames, of which `step` are new in each tensor after the first.
struct smr_audio_tensor {
  uint32_t frames, step;  ///< 1..4096, step no more than frames
  char layout[4];         ///< letters of n (1), t (frames), f (features), c (parts), then 0
};

/// A stream of tensors. Used by one thread; begins with smr_audio_batch_reset.
struct smr_audio_batch {
  const struct smr_audio_plan *plan;
  struct smr_audio_tensor tensor;
  struct smr_audio_state *state;
  unsigned char *frames;  ///< [tensor.frames][features] elements
  uint32_t held;          /// frames so far
};

/// Check the tensor of a checked record. The layout has each letter at most once, always f, t for
/// several frames, c for a complex spectrum.
samara_status smr_audio_tensor_check(const struct smr_audio_record *record,
                                     const struct smr_audio_tensor *tensor, samara_error *error);

/// Bytes of a batch including its stream.
size_t smr_audio_batch_bytes(const struct smr_audio_plan *plan,
                             const struct smr_audio_tensor *tensor);

/// Begin in `memory`, as smr_audio_reset. `tensor` must be checked; borrows the plan.
struct smr_audio_batch *smr_audio_batch_reset(const struct smr_audio_plan *plan,
                                              const struct smr_audio_tensor *tensor, void *memory);

/// Read samples as smr_audio_push until a tensor is *full or all are read. A full tensor is valid
/// until the next push or flush. Call again while *full, with the rest, even if there is none.
samara_status smr_audio_batch_push(struct smr_audio_batch *batch, const void *samples, size_t count,
                                   size_t *taken, bool *full, samara_error *error);

/// End the stream. Call again while *full. Afterwards the batch is as after a reset; frames that do
/// not fill a tensor are dropped.
void smr_audio_batch_flush(struct smr_audio_batch *batch, bool *full);

/// Write the full tensor to `out` in its layout: frames * features elements.
void smr_audio_batch_write(const struct smr_audio_batch *batch, void *out);

#endif  // SMR_MEDIA_AUDIO_TENSOR_H_
