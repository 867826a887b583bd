// SPDX-License-Identifier: Apache-2.0
// A plan for one record and one format of samples: all tables, in memory of the caller.
#ifndef SMR_MEDIA_AUDIO_PLAN_H_
#define SMR_MEDIA_AUDIO_PLAN_H_

#include "base/fp.h"

#include <samara/samara.h>

#include <stddef.h>

#include "kernels/i64_signal/i64_signal.h"
#include "media/audio_record.h"
#include "media/audio_tables.h"

enum { SMR_AUDIO_SAMPLE_BITS = 40 };  // fractional bits of samples
#define SMR_AUDIO_LIMIT (INT64_C(2) << SMR_AUDIO_SAMPLE_BITS)

/// Input samples that a state holds in addition to those of one weighted sum.
enum { SMR_AUDIO_BLOCK = 256 };

/// Read-only once made: any number of states and threads may share it.
struct smr_audio_plan {
  struct smr_audio_record record;  ///< mean and scale point into the plan
  struct smr_audio_format format;
  const struct smr_i64_signal *kernels;
  struct smr_audio_resampler resampler;
  uint32_t lead;      ///< zeros before the first sample
  uint32_t fft_bits;  ///< fft is 2^fft_bits
  uint32_t features;  /// values per audio frame
  size_t state_bytes;
  struct smr_audio_power floor, offset;
  int64_t preemphasis;  ///< 40 fractional bits
  // Tables; NULL where the record needs none.
  const int32_t *resample;  ///< [up][2 * half]
  const int64_t *window, *stage_r, *stage_i, *fold_r, *fold_i;
  const uint16_t *order;
  const struct smr_audio_band *bands;
  const uint32_t *weights;
  const int32_t *cosines;
  const float *mean, *scale;  ///< one per feature
};

/// Check a record and a format. The error names the field, its value and what was expected.
samara_status smr_audio_check(const struct smr_audio_record *record,
                              const struct smr_audio_format *format, samara_error *error);

/// Values per audio frame of a checked record; a complex value counts as two.
uint32_t smr_audio_features(const struct smr_audio_record *record);

/// Bytes of a plan, 0 on failure; also does the checks of smr_audio_check.
samara_status smr_audio_plan_bytes(const struct smr_audio_record *record,
                                   const struct smr_audio_format *format, size_t *bytes,
                                   samara_error *error);

/// Make a plan in `memory`, which is 64-aligned, has smr_audio_plan_bytes() bytes and is borrowed
/// as long as the plan is used. `isa`: instruction sets to use; results do not depend on them.
/// Takes some milliseconds for odd resampling ratios, else less than one.
samara_status smr_audio_plan_make(const struct smr_audio_record *record,
                                  const struct smr_audio_format *format, uint32_t isa, void *memory,
                                  const struct smr_audio_plan **plan, samara_error *error);

/// Bytes of an element.
static inline size_t smr_audio_element_bytes(uint8_t dtype) {
  return dtype == SMR_AUDIO_F32 ? 4 : dtype == SMR_AUDIO_F16 ? 2 : 1;
}

#endif  // SMR_MEDIA_AUDIO_PLAN_H_
