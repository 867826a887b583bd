// SPDX-License-Identifier: Apache-2.0
// Tests how plans are laid out: they stay in their memory, and refuse what is not aligned.
#include "base/fp.h"

#include "media/audio_plan.h"

#include "media/audio_data.h"

SMR_TEST(memory_must_be_aligned) {
  const struct smr_audio_format format = {16000, 1, false};
  const struct smr_audio_plan *plan = NULL;
  samara_error error = {0};
  size_t bytes;
  REQUIRE(smr_audio_plan_bytes(&audio_mfcc, &format, &bytes, NULL) == SAMARA_OK);
  unsigned char *memory = (unsigned char *)audio_alloc(bytes + 64);
  CHECK_EQ_INT(smr_audio_plan_make(&audio_mfcc, &format, 0, memory + 8, &plan, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "multiple of 64");
  CHECK(plan == NULL);
  CHECK_EQ_INT(smr_audio_plan_make(&audio_mfcc, &format, 0, NULL, &plan, &error),
               SAMARA_BAD_ARGUMENT);
  free(memory);
}

SMR_TEST(a_plan_stays_in_its_memory) {
  const uint32_t rates[] = {8000, 16000, 44100, 48000};
  for (size_t i = 0; i < 4; i++) {
    const struct smr_audio_format format = {rates[i], 2, true};
    struct audio_case c;
    size_t bytes;
    REQUIRE(smr_audio_plan_bytes(&audio_mfcc, &format, &bytes, NULL) == SAMARA_OK);
    REQUIRE(audio_case_make(&c, &audio_mfcc, &format, 0));
    const unsigned char *end = (const unsigned char *)c.plan_memory + bytes;
    CHECK((const unsigned char *)(c.plan->cosines + 13 * 40) <= end);
    CHECK_EQ_INT(c.plan->features, 13);
    CHECK_EQ_INT(c.plan->fft_bits, 9);
    CHECK(c.plan->state_bytes == smr_audio_layout(c.plan, NULL));
    audio_case_free(&c);
  }
}

SMR_TEST(a_plan_keeps_mean_and_scale) {
  const struct smr_audio_format format = {16000, 1, false};
  struct smr_audio_record record = audio_mfcc;
  float mean[13];
  const float scale = 0.5f;
  for (int i = 0; i < 13; i++) mean[i] = (float)i;
  record.mean = mean, record.n_mean = 13, record.scale = &scale, record.n_scale = 1;
  struct audio_case c;
  REQUIRE(audio_case_make(&c, &record, &format, 0));
  memset(mean, 0, sizeof mean);
  CHECK(c.plan->mean[12] == 12.0f && c.plan->scale[0] == 0.5f && c.plan->scale[12] == 0.5f);
  audio_case_free(&c);
}

SMR_TEST_MAIN(RUN(memory_must_be_aligned); RUN(a_plan_stays_in_its_memory);
              RUN(a_plan_keeps_mean_and_scale))
