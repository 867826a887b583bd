// SPDX-License-Identifier: Apache-2.0
// Collects audio frames into tensors.
#include "base/fp.h"

#include "media/audio_tensor.h"

#include <string.h>

#include "base/error.h"

enum { AUDIO_TENSOR_FRAMES = 4096, AUDIO_TENSOR_ALIGN = 64 };

static uint32_t audio_tensor_parts(const struct smr_audio_record *record) {
  return record->kind == SMR_AUDIO_SPECTRUM && record->spectrum == SMR_AUDIO_COMPLEX ? 2 : 1;
}

static bool audio_tensor_has(const struct smr_audio_tensor *tensor, char letter) {
  return memchr(tensor->layout, letter, sizeof tensor->layout) != NULL;
}

// Whether the layout is distinct letters followed by zeros.
static bool audio_tensor_reads(const struct smr_audio_tensor *tensor) {
  uint32_t seen = 0;
  bool ended = false;
  for (size_t i = 0; i < sizeof tensor->layout; i++) {
    const char letter = tensor->layout[i];
    if (letter == 0) ended = true;
    if (letter == 0) continue;
    const uint32_t bit = letter == 'n'   ? 1
                         : letter == 't' ? 2
                         : letter == 'f' ? 4
                         : letter == 'c' ? 8
                                         : 0;
    if (ended || bit == 0 || (seen & bit) != 0) return false;
    seen |= bit;
  }
  return true;
}

samara_status smr_audio_tensor_check(const struct smr_audio_record *record,
                                     const struct smr_audio_tensor *tensor, samara_error *error) {
  if (tensor->frames < 1 || tensor->frames > AUDIO_TENSOR_FRAMES || tensor->step < 1 ||
      tensor->step > tensor->frames)
    SMR_FAIL(
        error, BAD_ARGUMENT,
        "audio: a tensor has %u frames, %u of them new, expected 1..%d and no more new than all",
        (unsigned)tensor->frames, (unsigned)tensor->step, (int)AUDIO_TENSOR_FRAMES);
  if (!audio_tensor_reads(tensor) || !audio_tensor_has(tensor, 'f') ||
      (tensor->frames > 1 && !audio_tensor_has(tensor, 't')) ||
      (audio_tensor_parts(record) > 1 && !audio_tensor_has(tensor, 'c')))
    SMR_FAIL(error, BAD_ARGUMENT,
             "audio: the layout '%.4s' of %u frames is not understood, expected letters of n, t, f"
             " and c, each once: f always, t for several frames, c for complex numbers",
             tensor->layout, (unsigned)tensor->frames);
  return SAMARA_OK;
}

// ---- memory ----

static size_t audio_tensor_rounded(size_t bytes) {
  return (bytes + AUDIO_TENSOR_ALIGN - 1) / AUDIO_TENSOR_ALIGN * AUDIO_TENSOR_ALIGN;
}

static size_t audio_tensor_frame_bytes(const struct smr_audio_plan *plan) {
  return plan->features * smr_audio_element_bytes(plan->record.dtype);
}

size_t smr_audio_batch_bytes(const struct smr_audio_plan *plan,
                             const struct smr_audio_tensor *tensor) {
  return audio_tensor_rounded(sizeof(struct smr_audio_batch)) + plan->state_bytes +
         tensor->frames * audio_tensor_frame_bytes(plan);
}

struct smr_audio_batch *smr_audio_batch_reset(const struct smr_audio_plan *plan,
                                              const struct smr_audio_tensor *tensor, void *memory) {
  struct smr_audio_batch *batch = (struct smr_audio_batch *)memory;
  unsigned char *behind = (unsigned char *)memory + audio_tensor_rounded(sizeof *batch);
  batch->plan = plan;
  batch->tensor = *tensor;
  batch->state = smr_audio_reset(plan, behind);
  batch->frames = behind + plan->state_bytes;
  batch->held = 0;
  return batch;
}

// ---- the stream ----

// Drop the frames of a full tensor that the next one does not contain.
static void audio_tensor_advance(struct smr_audio_batch *batch) {
  if (batch->held < batch->tensor.frames) return;
  const size_t bytes = audio_tensor_frame_bytes(batch->plan), step = batch->tensor.step;
  batch->held -= batch->tensor.step;
  memmove(batch->frames, batch->frames + step * bytes, batch->held * bytes);
}

static void *audio_tensor_next(struct smr_audio_batch *batch) {
  return batch->frames + batch->held * audio_tensor_frame_bytes(batch->plan);
}

samara_status smr_audio_batch_push(struct smr_audio_batch *batch, const void *samples, size_t count,
                                   size_t *taken, bool *full, samara_error *error) {
  size_t made;
  *full = false;
  audio_tensor_advance(batch);
  SMR_TRY(smr_audio_push(batch->plan, batch->state, samples, count, taken, audio_tensor_next(batch),
                         batch->tensor.frames - batch->held, &made, error));
  batch->held += (uint32_t)made;
  *full = batch->held == batch->tensor.frames;
  return SAMARA_OK;
}

void smr_audio_batch_flush(struct smr_audio_batch *batch, bool *full) {
  size_t made;
  audio_tensor_advance(batch);
  smr_audio_flush(batch->plan, batch->state, audio_tensor_next(batch),
                  batch->tensor.frames - batch->held, &made);
  batch->held += (uint32_t)made;
  *full = batch->held == batch->tensor.frames;
  if (!*full) batch->held = 0;
}

// ---- layouts ----

// Copy [t][f][c] with elements of `bytes` bytes to positions given by `stride`.
static void audio_tensor_permute(const size_t size[3], const size_t stride[3], size_t bytes,
                                 const unsigned char *from, unsigned char *out) {
  for (size_t t = 0; t < size[0]; t++)
    for (size_t f = 0; f < size[1]; f++)
      for (size_t c = 0; c < size[2]; c++, from += bytes)
        memcpy(out + (t * stride[0] + f * stride[1] + c * stride[2]) * bytes, from, bytes);
}

void smr_audio_batch_write(const struct smr_audio_batch *batch, void *out) {
  static const char letters[] = "tfc";
  const struct smr_audio_plan *plan = batch->plan;
  const uint32_t parts = audio_tensor_parts(&plan->record);
  const size_t size[3] = {batch->tensor.frames, plan->features / parts, parts};
  size_t stride[3] = {0, 0, 0}, inner = 1;
  for (size_t i = sizeof batch->tensor.layout; i-- > 0;) {
    const char *at = batch->tensor.layout[i] == 0
                         ? NULL
                         : (const char *)memchr(letters, batch->tensor.layout[i], 3);
    if (at == NULL) continue;
    stride[at - letters] = inner;
    inner *= size[at - letters];
  }
  audio_tensor_permute(size, stride, smr_audio_element_bytes(plan->record.dtype), batch->frames,
                       (unsigned char *)out);
}
