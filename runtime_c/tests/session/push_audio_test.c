// SPDX-License-Identifier: Apache-2.0
// Sound as inputs: the tensors of samara_preprocess_audio, in portions of any size.
#include "base/fp.h"

#include "media/audio.h"

#include "harness.h"
#include "kernels/kernel_data.h"
#include "model/audio_fields.h"
#include "session/model_literal.h"
#include "session/session.h"

enum { FRAMES = 3, BINS = 8, NUMBERS = FRAMES * BINS, COUNT = 4000, MOST = 64 };

// ---- models: main(sound [1, FRAMES, BINS] or [1, NUMBERS]) -> it ----

struct made {
  struct literal *literal;
  const samara_model *model;
  struct smr_audio_fields fields;
  struct smr_input_record record;
};

static struct smr_audio_fields fields_of(void) { return audio_fields(FRAMES, BINS); }

static void make(struct made *m, struct smr_audio_fields fields, bool flat) {
  *m = (struct made){.literal = literal_new(), .fields = fields};
  m->record = (struct smr_input_record){.audio = &m->fields};
  struct literal_function *f = literal_add(m->literal, "main", true);
  const uint32_t one = literal_int(f, 1), frames = literal_int(f, FRAMES);
  const uint32_t bins = literal_int(f, BINS), all = literal_int(f, NUMBERS);
  const uint32_t x = flat ? literal_value(f, "sound", SAMARA_FLOAT32, 2, one, all)
                          : literal_value(f, "sound", SAMARA_FLOAT32, 3, one, frames, bins);
  literal_input(f, x);
  literal_output(f, x, "y");
  f->f.records = &m->record, f->f.record_count = 1;
  m->model = literal_finish(m->literal);
}

static void drop(struct made *m, samara_session *session) {
  samara_session_destroy(session);
  literal_free(m->literal);
}

static int16_t samples[COUNT];

static samara_audio sound_of(size_t count) {
  uint32_t seed = 7;
  for (size_t i = 0; i < COUNT; i++) samples[i] = (int16_t)kernel_random(&seed);
  return (samara_audio){.struct_size = sizeof(samara_audio),
                        .samples = samples,
                        .count = count,
                        .dtype = SAMARA_INT16};
}

// All tensors of a recording in portions of `portion`; how many there were.
static size_t listen(samara_session *session, samara_audio audio, size_t portion,
                     float out[MOST][NUMBERS]) {
  size_t made = 0;
  bool ready = true;
  for (size_t at = 0; at < audio.count || ready;) {
    samara_audio part = audio;
    size_t taken = 0;
    part.samples = samples + at * (audio.channels != 0 ? audio.channels : 1);
    part.count = portion < audio.count - at ? portion : audio.count - at;
    if (!CHECK_EQ_INT(samara_session_push_audio(session, 0, &part, &taken, &ready), SAMARA_OK))
      return made;
    at += taken;
    if (!ready) {
      CHECK(taken == part.count);
      if (at == audio.count) break;
      continue;
    }
    samara_tensor t;
    if (made == MOST || !CHECK_EQ_INT(literal_run(session), SAMARA_OK) ||
        !CHECK_EQ_INT(samara_session_output(session, 0, &t), SAMARA_OK))
      return made;
    memcpy(out[made++], t.data, sizeof out[0]);
  }
  for (ready = true; ready;) {
    samara_tensor t;
    if (!CHECK_EQ_INT(samara_session_end_audio(session, 0, &ready), SAMARA_OK) || !ready) break;
    if (made == MOST || !CHECK_EQ_INT(literal_run(session), SAMARA_OK) ||
        !CHECK_EQ_INT(samara_session_output(session, 0, &t), SAMARA_OK))
      break;
    memcpy(out[made++], t.data, sizeof out[0]);
  }
  return made;
}

static float got[MOST][NUMBERS], want[MOST][NUMBERS];

static size_t expected(const struct made *m, const samara_audio *audio) {
  samara_audio_record record = {.struct_size = sizeof record};
  size_t tensors = 0;
  int64_t shape[SAMARA_MAX_RANK];
  int32_t rank = 0;
  CHECK_EQ_INT(samara_model_audio_record(m->model, NULL, 0, &record), SAMARA_OK);
  CHECK_EQ_INT(samara_preprocess_audio(&record, audio, NULL, want, sizeof want, &tensors, shape,
                                       &rank, NULL),
               SAMARA_OK);
  CHECK(rank == 3 && shape[0] == 1 && shape[1] == FRAMES && shape[2] == BINS);
  return tensors;
}

SMR_TEST(portions_of_any_size) {
  static const size_t portions[] = {COUNT, 1, 7, 79, 80, 81, 200, 1000};
  for (int flat = 0; flat < 2; flat++) {
    struct made m;
    make(&m, fields_of(), flat == 1);
    samara_session *s = literal_session(m.model, (samara_session_options){0});
    const samara_audio audio = sound_of(COUNT);
    const size_t tensors = expected(&m, &audio);
    CHECK_EQ_INT(tensors, 1 + ((COUNT - 200) / 80 + 1 - FRAMES) / 2);
    for (int k = 0; k < 8; k++) {
      memset(got, 0, sizeof got);
      CHECK_EQ_INT(listen(s, audio, portions[k], got), tensors);
      CHECK_MEM(got, want, tensors * sizeof want[0]);
    }
    drop(&m, s);
  }
}

SMR_TEST(other_rates_and_channels) {
  struct made m;
  make(&m, fields_of(), false);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  static const uint32_t rates[] = {8000, 16000, 11025};
  for (uint32_t k = 0; k < 6; k++) {
    samara_audio audio = sound_of(COUNT / 2);
    audio.rate = rates[k % 3], audio.channels = 1 + k / 3;
    const size_t tensors = expected(&m, &audio);
    memset(got, 0, sizeof got);
    CHECK_EQ_INT(listen(s, audio, 97, got), tensors);
    CHECK(tensors > 3);
    CHECK_MEM(got, want, tensors * sizeof want[0]);
  }
  drop(&m, s);
}

// Another format begins a new stream, and so does the end of one.
SMR_TEST(streams_begin_again) {
  struct made m;
  make(&m, fields_of(), false);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_audio audio = sound_of(COUNT), other = audio;
  const size_t tensors = expected(&m, &audio);
  size_t taken = 0;
  bool ready = true;
  other.rate = 16000, other.count = 300;
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &other, &taken, &ready), SAMARA_OK);
  CHECK(taken == 300 && !ready);
  CHECK_EQ_INT(listen(s, audio, 500, got), tensors);
  CHECK_MEM(got, want, tensors * sizeof want[0]);
  CHECK_EQ_INT(listen(s, audio, 33, got), tensors);
  CHECK_MEM(got, want, tensors * sizeof want[0]);
  drop(&m, s);
}

SMR_TEST(refusals) {
  struct made m;
  make(&m, fields_of(), false);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_audio audio = sound_of(10);
  size_t taken = 77;
  bool ready = true;
  CHECK_EQ_INT(samara_session_push_audio(NULL, 0, &audio, &taken, &ready), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &audio, NULL, &ready), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &audio, &taken, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_push_audio(s, 1, &audio, &taken, &ready), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_push_audio(s, 0, NULL, &taken, &ready), SAMARA_BAD_ARGUMENT);
  samara_audio wrong = audio;
  wrong.struct_size = 0;
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &wrong, &taken, &ready), SAMARA_BAD_ARGUMENT);
  wrong = audio, wrong.samples = NULL;
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &wrong, &taken, &ready), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "input 'sound': 10 samples are NULL");
  wrong = audio, wrong.dtype = SAMARA_INT8;
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &wrong, &taken, &ready), SAMARA_BAD_ARGUMENT);
  wrong = audio, wrong.channels = 33;
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &wrong, &taken, &ready), SAMARA_BAD_ARGUMENT);
  wrong = audio, wrong.rate = 200000;
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &wrong, &taken, &ready), SAMARA_BAD_ARGUMENT);
  wrong = audio, wrong.count = SIZE_MAX, wrong.channels = 2;
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &wrong, &taken, &ready), SAMARA_BAD_ARGUMENT);
  CHECK(taken == 77 && ready);
  CHECK_EQ_INT(samara_session_end_audio(s, 0, &ready), SAMARA_OK);
  CHECK(!ready);
  CHECK_EQ_INT(samara_session_end_audio(s, 0, NULL), SAMARA_BAD_ARGUMENT);
  m.record.audio = NULL;
  CHECK_EQ_INT(samara_session_push_audio(s, 0, &audio, &taken, &ready), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(samara_session_error(s), "it has no audio record");
  CHECK_EQ_INT(samara_session_end_audio(s, 0, &ready), SAMARA_NOT_FOUND);
  drop(&m, s);
}

// Symbols may take any size; only a row of all elements is a tensor of the record.
SMR_TEST(rows_of_other_sizes) {
  static const int64_t sizes[][2] = {{1, NUMBERS}, {1, NUMBERS - 1}, {2, NUMBERS}, {NUMBERS, 1}};
  struct made m = {.literal = literal_new(), .fields = fields_of()};
  m.record = (struct smr_input_record){.audio = &m.fields};
  struct literal_function *f = literal_add(m.literal, "main", true);
  const uint32_t rows = literal_symbol(f, "rows", 0, 0, INT64_MAX);
  const uint32_t columns = literal_symbol(f, "columns", 0, 1, INT64_MAX);
  const uint32_t x = literal_input(f, literal_value(f, "sound", SAMARA_FLOAT32, 2, rows, columns));
  literal_output(f, x, "y");
  f->f.records = &m.record, f->f.record_count = 1;
  m.model = literal_finish(m.literal);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  const samara_audio audio = sound_of(10);
  for (int k = 0; k < 4; k++) {
    size_t taken = 77;
    bool ready = true;
    const int64_t *const shapes[] = {sizes[k]};
    REQUIRE(samara_session_resize(s, shapes, 1) == SAMARA_OK);
    CHECK_EQ_INT(samara_session_push_audio(s, 0, &audio, &taken, &ready),
                 k == 0 ? SAMARA_OK : SAMARA_BAD_SHAPE);
    CHECK_EQ_INT(taken, k == 0 ? 10 : 77);
    if (k != 0) CHECK_CONTAINS(samara_session_error(s), "the record makes 24 elements");
  }
  drop(&m, s);
}

SMR_TEST(memory_that_runs_out) {
  const samara_audio audio = sound_of(COUNT);
  size_t failures = 0;
  for (size_t k = 1; k <= 3; k++) {
    struct made m;
    struct literal_memory memory;
    literal_memory_init(&memory);
    make(&m, fields_of(), false);
    samara_session *s =
        literal_session(m.model, (samara_session_options){.allocator = &memory.allocator});
    const size_t tensors = expected(&m, &audio);
    size_t taken = 77;
    bool ready = false;
    memory.fail_at = memory.calls + k;
    if (samara_session_push_audio(s, 0, &audio, &taken, &ready) != SAMARA_OK) {
      failures++;
      CHECK(taken == 77 && !ready);
    } else {
      while (ready) CHECK_EQ_INT(samara_session_end_audio(s, 0, &ready), SAMARA_OK);
    }
    memory.fail_at = 0;
    CHECK_EQ_INT(listen(s, audio, 1000, got), tensors);
    CHECK_MEM(got, want, tensors * sizeof want[0]);
    drop(&m, s);
    CHECK_EQ_INT(memory.live, 0);
  }
  CHECK_EQ_INT(failures, 2);
}

SMR_TEST_MAIN(RUN(portions_of_any_size); RUN(other_rates_and_channels); RUN(streams_begin_again);
              RUN(refusals); RUN(rows_of_other_sizes); RUN(memory_that_runs_out))
