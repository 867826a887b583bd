// SPDX-License-Identifier: Apache-2.0
// Helpers of audio tests: samples, plans and states in exact-size memory, whole streams.
#ifndef SMR_TESTS_MEDIA_AUDIO_DATA_H
#define SMR_TESTS_MEDIA_AUDIO_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "harness.h"
#include "media/audio_stream.h"

/// 13 coefficients of 40 bands at 16 kHz.
static const struct smr_audio_record audio_mfcc = {.kind = SMR_AUDIO_MFCC,
                                                   .rate = 16000,
                                                   .window = 400,
                                                   .hop = 160,
                                                   .fft = 512,
                                                   .bins = 40,
                                                   .high = 8000,
                                                   .floor = 1e-10f,
                                                   .coefficients = 13};

/// Aligned to 64; sanitizers see reads past its last 64 bytes.
static inline void *audio_alloc(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (p == NULL) abort();
  memset(p, 0xff, bytes);
  return p;
}

/// `count` samples as tools/gen_audio_golden.py makes them: int16, or float32 of 1/32768. Free
/// them.
static inline void *audio_signal(uint32_t seed, size_t count, bool is_float) {
  unsigned char *made = (unsigned char *)malloc(count * (is_float ? 4 : 2) + 1);
  if (made == NULL) abort();
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    const int16_t value = (int16_t)(((int32_t)(seed >> 16) - 32768) >> (i / 512 % 12));
    const float wide = (float)value / 32768.0f;
    if (is_float)
      memcpy(made + 4 * i, &wide, 4);
    else
      memcpy(made + 2 * i, &value, 2);
  }
  return made;
}

struct audio_case {
  void *plan_memory, *state_memory;
  const struct smr_audio_plan *plan;
  struct smr_audio_state *state;
  size_t frame_bytes;
};

/// False, and a failed check, where the record is refused. End it with audio_case_free.
static inline bool audio_case_make(struct audio_case *made, const struct smr_audio_record *record,
                                   const struct smr_audio_format *format, uint32_t isa) {
  samara_error error = {0};
  size_t bytes;
  memset(made, 0, sizeof *made);
  if (!CHECK_EQ_INT(smr_audio_plan_bytes(record, format, &bytes, &error), SAMARA_OK) ||
      bytes == 0) {
    fprintf(stderr, "  %s\n", error.text);
    return false;
  }
  made->plan_memory = audio_alloc(bytes);
  if (!CHECK_EQ_INT(
          smr_audio_plan_make(record, format, isa, made->plan_memory, &made->plan, &error),
          SAMARA_OK))
    return false;
  made->state_memory = audio_alloc(made->plan->state_bytes);
  made->state = smr_audio_reset(made->plan, made->state_memory);
  made->frame_bytes = made->plan->features * smr_audio_element_bytes(record->dtype);
  return true;
}

static inline void audio_case_free(struct audio_case *made) {
  free(made->plan_memory);
  free(made->state_memory);
}

/// Frames of a whole signal, in portions of at most `portion` samples (0: all at once) and with
/// room for `room` frames a call. Returns how many; they stand at *out, which is to be freed.
static inline size_t audio_case_run(struct audio_case *c, const void *samples, size_t count,
                                    size_t portion, size_t room, unsigned char **out) {
  const size_t group = c->plan->format.channels * (c->plan->format.is_float ? 4u : 2u);
  size_t frames = 0, done = 0, made = 0, taken = 0;
  uint32_t seed = (uint32_t)portion;
  unsigned char *all = (unsigned char *)malloc(1),
                *some = (unsigned char *)malloc(room * c->frame_bytes + 1);
  bool flushing = false;
  for (;;) {
    if (!flushing && done == count) flushing = true;
    if (flushing) {
      smr_audio_flush(c->plan, c->state, some, room, &made);
    } else {
      seed = seed * 1664525u + 1013904223u;
      size_t n = portion == 0 ? count - done : (seed >> 8) % (portion + 1);
      if (n > count - done) n = count - done;
      // A copy of exactly these samples, so that sanitizers see a read past them.
      unsigned char *exact = (unsigned char *)malloc(n * group + (n == 0));
      memcpy(exact, (const unsigned char *)samples + done * group, n * group);
      CHECK_EQ_INT(smr_audio_push(c->plan, c->state, exact, n, &taken, some, room, &made, NULL),
                   SAMARA_OK);
      CHECK(taken == n || made == room);
      free(exact);
      done += taken;
    }
    all = (unsigned char *)realloc(all, (frames + made) * c->frame_bytes + 1);
    memcpy(all + frames * c->frame_bytes, some, made * c->frame_bytes);
    frames += made;
    if (flushing && made < room) break;
  }
  free(some);
  *out = all;
  return frames;
}

#endif
