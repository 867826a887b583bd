// SPDX-License-Identifier: Apache-2.0
// Tests whole streams against the numpy reference to the bit, in any portions.
#include "base/fp.h"

#include "media/audio_stream.h"

#include "base/fnv.h"
#include "kernels/kernel_data.h"
#include "media/audio_data.h"

struct golden {
  const char *name;
  struct smr_audio_format format;
  size_t samples, frames;
  uint64_t digest;
  struct smr_audio_record record;
};

static const struct golden goldens[] = {
#define AUDIO_GOLDEN(name, rate, channels, is_float, samples, frames, digest, ...) \
  {#name, {rate, channels, is_float}, samples, frames, digest, {__VA_ARGS__}},
#include "media/audio_golden.inc"
};
enum { GOLDENS = sizeof goldens / sizeof *goldens };

static void check_golden(const struct golden *golden, uint32_t seed, uint32_t isa, size_t portion,
                         size_t room) {
  struct audio_case c;
  if (!audio_case_make(&c, &golden->record, &golden->format, isa)) return;
  const size_t all = golden->samples * golden->format.channels;
  void *samples = audio_signal(seed, all, golden->format.is_float);
  // Twice: the end of a stream is the beginning of the next.
  for (int turn = 0; turn < 2; turn++) {
    unsigned char *out;
    const size_t frames = audio_case_run(&c, samples, golden->samples, portion, room, &out);
    const uint64_t digest = smr_fnv(SMR_FNV_START, out, frames * c.frame_bytes);
    if (!CHECK_EQ_INT(frames, golden->frames) || !CHECK(digest == golden->digest))
      fprintf(stderr, "  %s, portions of %zu, room for %zu, turn %d, %s\n", golden->name, portion,
              room, turn, c.plan->kernels->name);
    free(out);
  }
  free(samples);
  audio_case_free(&c);
}

SMR_TEST(equals_the_reference) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix))         \
    for (uint32_t i = 0; i < GOLDENS; i++) check_golden(&goldens[i], i + 1, isa, 0, 100);
#include "kernels/int8.inc"
#undef SMR_UKERNEL
}

SMR_TEST(portions_do_not_change_a_bit) {
  static const size_t portions[] = {1, 7, 160, 1000, 5000}, rooms[] = {1, 2, 3, 40};
  for (uint32_t i = 0; i < GOLDENS; i++)
    for (size_t p = 0; p < sizeof portions / sizeof *portions; p++)
      check_golden(&goldens[i], i + 1, smr_cpu_isa(), portions[p], rooms[(p + i) % 4]);
}

SMR_TEST(an_empty_stream_has_no_frames) {
  for (uint32_t i = 0; i < GOLDENS; i++) {
    struct audio_case c;
    REQUIRE(audio_case_make(&c, &goldens[i].record, &goldens[i].format, 0));
    unsigned char *out;
    CHECK_EQ_INT(audio_case_run(&c, "", 0, 0, 4, &out), 0);
    free(out);
    audio_case_free(&c);
  }
}

SMR_TEST(samples_between_two_flushes_are_refused) {
  struct smr_audio_record record = audio_mfcc;
  record.kind = SMR_AUDIO_LOGMEL, record.coefficients = 0, record.center = true;
  const struct smr_audio_format format = {16000, 1, false};
  const int16_t samples[1000] = {0};
  float out[40];
  struct audio_case c;
  size_t taken, made;
  samara_error error;
  REQUIRE(audio_case_make(&c, &record, &format, 0));
  CHECK_EQ_INT(smr_audio_push(c.plan, c.state, samples, 1000, &taken, out, 1, &made, &error),
               SAMARA_OK);
  CHECK(taken < 1000 && made == 1);
  smr_audio_flush(c.plan, c.state, out, 1, &made);
  CHECK_EQ_INT(made, 1);
  CHECK_EQ_INT(smr_audio_push(c.plan, c.state, samples, 1000, &taken, out, 1, &made, &error),
               SAMARA_BAD_STATE);
  CHECK_CONTAINS(error.text, "flush");
  CHECK_EQ_INT(taken, 0);
  do smr_audio_flush(c.plan, c.state, out, 1, &made);
  while (made == 1);
  CHECK_EQ_INT(smr_audio_push(c.plan, c.state, samples, 1000, &taken, out, 1, &made, &error),
               SAMARA_OK);
  audio_case_free(&c);
}

SMR_TEST(any_float_is_a_sample) {
  const struct smr_audio_record record = {
      .kind = SMR_AUDIO_SAMPLES, .shape = SMR_AUDIO_FLAT, .rate = 16000, .window = 1, .hop = 1};
  const struct smr_audio_format format = {16000, 1, true};
  const float in[] = {0.25f, -1.0f, 2.5f, -INFINITY, INFINITY, NAN, 1e-40f, 0x1p-40f, 0x1p-41f};
  const float want[] = {0.25f, -1.0f, 2.0f, -2.0f, 2.0f, 0, 0, 0x1p-40f, 0x1p-40f};
  struct audio_case c;
  unsigned char *out;
  REQUIRE(audio_case_make(&c, &record, &format, 0));
  REQUIRE(audio_case_run(&c, in, 9, 0, 9, &out) == 9);
  CHECK_MEM(out, want, sizeof want);
  free(out);
  audio_case_free(&c);
}

SMR_TEST(channels_are_averaged) {
  const struct smr_audio_record record = {
      .kind = SMR_AUDIO_SAMPLES, .shape = SMR_AUDIO_FLAT, .rate = 16000, .window = 1, .hop = 1};
  const struct smr_audio_format format = {16000, 3, true};
  const float u = 0x1p-40f;  // the smallest step of a sample
  const float in[] = {u, 0, 0, 2 * u, 0, 0, -u, 0, 0, -2 * u, 0, 0, 1, 1, -0.5f, 2, 2, 2};
  const float want[] = {0, u, 0, -u, 0.5f, 2};
  struct audio_case c;
  unsigned char *out;
  REQUIRE(audio_case_make(&c, &record, &format, 0));
  REQUIRE(audio_case_run(&c, in, 6, 0, 9, &out) == 6);
  CHECK_MEM(out, want, sizeof want);
  free(out);
  audio_case_free(&c);
}

SMR_TEST_MAIN(RUN(equals_the_reference); RUN(portions_do_not_change_a_bit);
              RUN(an_empty_stream_has_no_frames); RUN(samples_between_two_flushes_are_refused);
              RUN(any_float_is_a_sample); RUN(channels_are_averaged))
