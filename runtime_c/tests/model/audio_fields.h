// SPDX-License-Identifier: Apache-2.0
// The audio record of tests of files and of sessions.
#ifndef SMR_TESTS_MODEL_AUDIO_FIELDS_H
#define SMR_TESTS_MODEL_AUDIO_FIELDS_H

#include "model/model.h"

#include <samara/samara_media.h>

/// float32 [1, frames, bins] of logarithmic mel bands at 8 kHz, two of them new in each tensor.
static inline struct smr_audio_fields audio_fields(uint32_t frames, uint32_t bins) {
  return (struct smr_audio_fields){.kind = SAMARA_AUDIO_LOGMEL,
                                   .dtype = SAMARA_FLOAT32,
                                   .layout = "ntf",
                                   .rate = 8000,
                                   .window = 200,
                                   .hop = 80,
                                   .fft = 256,
                                   .shape = SAMARA_WINDOW_HANN,
                                   .bins = bins,
                                   .high = 4000,
                                   .floor = 1e-10f,
                                   .frames = frames,
                                   .step = 2};
}

#endif
