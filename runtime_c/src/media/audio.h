// SPDX-License-Identifier: Apache-2.0
// Records and samples of callers, as the rest of audio takes them.
#ifndef SMR_MEDIA_AUDIO_H_
#define SMR_MEDIA_AUDIO_H_

#include "base/fp.h"

#include <samara/samara_media.h>

#include "media/audio_tensor.h"

/// A record whose struct_size is right, checked; its parts are added to `parts`, which may be NULL.
/// `out` borrows mean and scale. BAD_ARGUMENT, or UNSUPPORTED where this build lacks a part.
samara_status smr_audio_record_of(const samara_audio_record *record, struct smr_audio_record *out,
                                  struct smr_audio_tensor *tensor, struct smr_parts *parts,
                                  samara_error *error);

/// Samples of a caller, checked against `rate`, which they have where they say none; *given is a
/// copy of the struct. BAD_ARGUMENT.
samara_status smr_audio_samples_of(const samara_audio *audio, uint32_t rate, samara_audio *given,
                                   struct smr_audio_format *format, samara_error *error);

/// The shape of a tensor; returns its rank.
int32_t smr_audio_shape(const struct smr_audio_record *record,
                        const struct smr_audio_tensor *tensor, int64_t *shape);

/// The samples behind the first `count` of each channel.
static inline const void *smr_audio_behind(const samara_audio *audio,
                                           const struct smr_audio_format *format, size_t count) {
  const size_t bytes = (format->is_float ? 4u : 2u) * (size_t)format->channels;
  return audio->samples == NULL ? NULL : (const unsigned char *)audio->samples + count * bytes;
}

#endif
