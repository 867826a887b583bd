// SPDX-License-Identifier: Apache-2.0
// Converts records and samples of callers for the other audio files.
#ifndef SMR_MEDIA_AUDIO_H_
#define SMR_MEDIA_AUDIO_H_

#include "base/fp.h"

#include <samara/samara_media.h>

#include "media/audio_tensor.h"

/// Check and convert a record with a valid struct_size. Adds the parts it needs to `parts`, which
/// may be NULL. `out` borrows mean and scale. BAD_ARGUMENT, or UNSUPPORTED if this build lacks a
/// part.
samara_status smr_audio_record_of(const samara_audio_record *record, struct smr_audio_record *out,
                                  struct smr_audio_tensor *tensor, struct smr_parts *parts,
                                  samara_error *error);

/// Check a caller's samples. `rate` is the default rate. *given is a copy of the struct.
/// BAD_ARGUMENT.
samara_status smr_audio_samples_of(const samara_audio *audio, uint32_t rate, samara_audio *given,
                                   struct smr_audio_format *format, samara_error *error);

/// The shape of a tensor; returns its rank.
int32_t smr_audio_shape(const struct smr_audio_record *record,
                        const struct smr_audio_tensor *tensor, int64_t *shape);

/// The samples after the first `count` of each channel.
static inline const void *smr_audio_behind(const samara_audio *audio,
                                           const struct smr_audio_format *format, size_t count) {
  const size_t bytes = (format->is_float ? 4u : 2u) * (size_t)format->channels;
  return audio->samples == NULL ? NULL : (const unsigned char *)audio->samples + count * bytes;
}

#endif
