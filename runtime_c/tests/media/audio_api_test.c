// SPDX-License-Identifier: Apache-2.0
// Tests sound to tensors without a model: what is made, room, memory, and what callers get wrong.
#include "base/fp.h"

#include <samara/samara_media.h>

#include "harness.h"
#include "kernels/kernel_data.h"
#include "session/model_literal.h"

enum { WINDOW = 4, COUNT = 11, FILL = 0x5a };

static int16_t sound[COUNT];

static samara_audio audio_of(size_t count) {
  for (int i = 0; i < COUNT; i++) sound[i] = (int16_t)(1024 * (i - 5));
  return (samara_audio){
      .struct_size = sizeof(samara_audio), .samples = sound, .count = count, .dtype = SAMARA_INT16};
}

// Two frames of four samples, one of them new in the next tensor.
static samara_audio_record record_of(samara_dtype dtype) {
  return (samara_audio_record){.struct_size = sizeof(samara_audio_record),
                               .kind = SAMARA_AUDIO_SAMPLES,
                               .dtype = dtype,
                               .layout = "ntf",
                               .rate = 8000,
                               .window = WINDOW,
                               .hop = 3,
                               .frames = 2,
                               .step = 1,
                               .quant_scale = 0.25f};
}

static float wanted(size_t tensor, size_t i) {
  const size_t frame = tensor + i / WINDOW;
  return (float)sound[3 * frame + i % WINDOW] / 32768;
}

SMR_TEST(tensors_and_their_shape) {
  const samara_audio_record r = record_of(SAMARA_FLOAT32);
  const samara_audio audio = audio_of(COUNT);  // frames at 0, 3, 6: two tensors
  float out[3 * 2 * WINDOW];
  int64_t shape[SAMARA_MAX_RANK];
  int32_t rank = 0;
  size_t tensors = 0;
  memset(out, FILL, sizeof out);
  CHECK_EQ_INT(
      samara_preprocess_audio(&r, &audio, NULL, out, sizeof out, &tensors, shape, &rank, NULL),
      SAMARA_OK);
  CHECK_EQ_INT(tensors, 2);
  CHECK(rank == 3 && shape[0] == 1 && shape[1] == 2 && shape[2] == WINDOW);
  for (size_t i = 0; i < (size_t)2 * 2 * WINDOW; i++)
    CHECK(out[i] == wanted(i / (2 * WINDOW), i % (2 * WINDOW)));
  for (const unsigned char *p = (unsigned char *)(out + 16); p < (unsigned char *)(out + 24); p++)
    CHECK_EQ_INT(*p, FILL);
}

// Only whole tensors are written, wherever `out` ends; without it they are counted.
SMR_TEST(room) {
  const samara_audio_record r = record_of(SAMARA_INT8);
  const samara_audio audio = audio_of(COUNT);
  int8_t whole[4 * WINDOW];
  size_t tensors = 0;
  REQUIRE(samara_preprocess_audio(&r, &audio, NULL, whole, sizeof whole, &tensors, NULL, NULL,
                                  NULL) == SAMARA_OK);
  for (size_t bytes = 0; bytes <= sizeof whole; bytes++) {
    uint8_t *out = kernel_alloc(bytes, 1);
    memset(out, FILL, bytes);
    CHECK_EQ_INT(samara_preprocess_audio(&r, &audio, NULL, out, bytes, &tensors, NULL, NULL, NULL),
                 SAMARA_OK);
    const size_t written = bytes / 8 * 8;
    CHECK_EQ_INT(tensors, 2);
    CHECK_MEM(out, whole, written);
    for (size_t i = written; i < bytes; i++) CHECK_EQ_INT(out[i], FILL);
    kernel_free(out, 1);
  }
  tensors = 0;
  CHECK_EQ_INT(samara_preprocess_audio(&r, &audio, NULL, NULL, 100, &tensors, NULL, NULL, NULL),
               SAMARA_OK);
  CHECK_EQ_INT(tensors, 2);
}

SMR_TEST(recordings_that_fill_none) {
  const samara_audio_record r = record_of(SAMARA_FLOAT32);
  for (size_t count = 0; count < 7; count++) {
    samara_audio audio = audio_of(count);
    if (count == 0) audio.samples = NULL;
    size_t tensors = 77;
    CHECK_EQ_INT(samara_preprocess_audio(&r, &audio, NULL, NULL, 0, &tensors, NULL, NULL, NULL),
                 SAMARA_OK);
    CHECK_EQ_INT(tensors, 0);
  }
}

static void check_fails(const samara_audio_record *record, const samara_audio *audio,
                        const char *part) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  samara_error error = {SAMARA_OK, ""};
  uint8_t out[64];
  int64_t shape[SAMARA_MAX_RANK] = {77};
  int32_t rank = 77;
  size_t tensors = 77;
  memset(out, FILL, sizeof out);
  CHECK_EQ_INT(samara_preprocess_audio(record, audio, &memory.allocator, out, sizeof out, &tensors,
                                       shape, &rank, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(error.status, SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, part);
  CHECK(tensors == 77 && rank == 77 && shape[0] == 77 && memory.live == 0);
  for (size_t i = 0; i < sizeof out; i++) CHECK_EQ_INT(out[i], FILL);
}

SMR_TEST(what_callers_get_wrong) {
  const samara_audio_record r = record_of(SAMARA_FLOAT32);
  const samara_audio audio = audio_of(COUNT);
  check_fails(NULL, &audio, "the record is NULL");
  check_fails(&r, NULL, "the samara_audio is NULL");
  samara_audio_record wrong = r;
  wrong.struct_size = 0;
  check_fails(&wrong, &audio, "samara_audio_record: struct_size is 0");
  wrong = r, wrong.window = 0;
  check_fails(&wrong, &audio, "window");
  wrong = record_of(SAMARA_INT8), wrong.quant_scale = 0;
  check_fails(&wrong, &audio, "integer elements need them");
  samara_audio lie = audio;
  lie.channels = 33;
  check_fails(&r, &lie, "channels");
  lie = audio, lie.rate = 192001;
  check_fails(&r, &lie, "rate");
  samara_error error = {SAMARA_OK, ""};
  CHECK_EQ_INT(samara_preprocess_audio(&r, &audio, NULL, NULL, 0, NULL, NULL, NULL, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "tensors is NULL");
}

// With an allocator whose call `k` fails, until none does.
SMR_TEST(memory_that_runs_out) {
  const samara_audio_record r = record_of(SAMARA_FLOAT32);
  const samara_audio audio = audio_of(COUNT);
  samara_status status = SAMARA_OUT_OF_MEMORY;
  size_t failures = 0;
  for (size_t k = 1; status != SAMARA_OK && k < 10; k++) {
    struct literal_memory memory;
    literal_memory_init(&memory);
    memory.fail_at = k;
    samara_error error = {SAMARA_OK, ""};
    size_t tensors = 77;
    status = samara_preprocess_audio(&r, &audio, &memory.allocator, NULL, 0, &tensors, NULL, NULL,
                                     &error);
    CHECK_EQ_INT(memory.live, 0);
    CHECK_EQ_INT(error.status, status);
    CHECK_EQ_INT(tensors, status == SAMARA_OK ? 2 : 77);
    failures += status == SAMARA_OUT_OF_MEMORY;
  }
  CHECK_EQ_INT(status, SAMARA_OK);
  CHECK_EQ_INT(failures, 2);
}

SMR_TEST_MAIN(RUN(tensors_and_their_shape); RUN(room); RUN(recordings_that_fill_none);
              RUN(what_callers_get_wrong); RUN(memory_that_runs_out))
