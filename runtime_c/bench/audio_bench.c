// SPDX-License-Identifier: Apache-2.0
// Prints the time of audio features per 10 ms of sound, by record and instruction set.
#include "base/fp.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "media/audio_stream.h"

enum { TURNS = 15, PORTIONS = 100, MOST_RATE = 48000, ROOM = 8 };

static double now_us(void) { return bench_now() * 1e6; }

struct bench {
  const char *name;
  struct smr_audio_record record;
  uint32_t rate;
};

// One second in chunks of 10 ms; the best of several rounds.
static double bench_portion(const struct smr_audio_plan *plan, struct smr_audio_state *state,
                            const int16_t *samples, void *out) {
  const size_t portion = plan->format.rate / PORTIONS;
  double best = 1e30;
  for (int turn = 0; turn < TURNS; turn++) {
    const double begin = now_us();
    for (size_t i = 0; i < PORTIONS; i++) {
      size_t taken, made;
      (void)smr_audio_push(plan, state, samples + i * portion, portion, &taken, out, ROOM, &made,
                           NULL);
    }
    const double time = (now_us() - begin) / (double)PORTIONS;
    if (time < best) best = time;
  }
  return best;
}

static void bench_run(const struct bench *bench, uint32_t isa, const int16_t *samples) {
  const struct smr_audio_format format = {bench->rate, 1, false};
  const struct smr_audio_plan *plan;
  size_t bytes;
  samara_error error;
  if (smr_audio_plan_bytes(&bench->record, &format, &bytes, &error) != SAMARA_OK) {
    fprintf(stderr, "%s: %s\n", bench->name, error.text);
    return;
  }
  void *memory = aligned_alloc(64, bytes);
  const double begin = now_us();
  if (memory == NULL ||
      smr_audio_plan_make(&bench->record, &format, isa, memory, &plan, &error) != SAMARA_OK)
    exit(1);
  const double made = now_us() - begin;
  void *place = aligned_alloc(64, plan->state_bytes);
  void *out = malloc((size_t)ROOM * plan->features * sizeof(float));
  if (place == NULL || out == NULL) exit(1);
  const double time = bench_portion(plan, smr_audio_reset(plan, place), samples, out);
  printf("%-24s %-20s %6.2f us  plan %7zu bytes in %5.0f us, state %6zu bytes\n", bench->name,
         plan->kernels->name, time, bytes, made, plan->state_bytes);
  free(memory);
  free(place);
  free(out);
}

int main(void) {
  const struct smr_audio_record logmel = {.kind = SMR_AUDIO_LOGMEL,
                                          .rate = 16000,
                                          .window = 400,
                                          .hop = 160,
                                          .fft = 512,
                                          .bins = 40,
                                          .high = 8000,
                                          .floor = 1e-10f};
  struct smr_audio_record mfcc = logmel, kaldi = logmel, magnitude = logmel;
  mfcc.kind = SMR_AUDIO_MFCC, mfcc.coefficients = 13;
  kaldi.shape = SMR_AUDIO_POVEY, kaldi.symmetric = kaldi.dc = kaldi.mel_triangles = true;
  kaldi.preemphasis = 0.97f, kaldi.bins = 80, kaldi.low = 20, kaldi.wide_unit = true;
  magnitude.kind = SMR_AUDIO_SPECTRUM, magnitude.spectrum = SMR_AUDIO_MAGNITUDE;
  magnitude.shape = SMR_AUDIO_FLAT, magnitude.window = 512, magnitude.hop = 128;
  const struct bench benches[] = {
      {"logmel 400/160/512/40", logmel, 16000}, {"logmel from 48 kHz", logmel, 48000},
      {"logmel from 44.1 kHz", logmel, 44100},  {"mfcc 13", mfcc, 16000},
      {"kaldi fbank 80", kaldi, 16000},         {"magnitudes 512/128", magnitude, 16000}};
  int16_t *samples = (int16_t *)malloc(MOST_RATE * sizeof *samples);
  if (samples == NULL) return 1;
  for (size_t i = 0; i < MOST_RATE; i++) samples[i] = (int16_t)rand();
  const uint32_t have = smr_cpu_isa();
  for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if ((have & (isa)) == (isa)) bench_run(&benches[i], isa, samples);
#include "kernels/int8.inc"
#undef SMR_UKERNEL
  }
  free(samples);
  return 0;
}
