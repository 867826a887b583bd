// SPDX-License-Identifier: Apache-2.0
// Files of texts: the same text goes on from them, and damaged ones change nothing.
#include "base/fp.h"

#include <samara/samara_text.h>

#include <stdlib.h>

#include "harness.h"

#include "base/fnv.h"
#include "base/sum.h"
#include "generate/text_sample.h"
#include "model/sample.h"
#include "session/state/state_sample.h"

static const struct text_sample plain = {.context = "12", .chunk = "4"};

struct fixture {
  struct mb_file file;
  samara_text_model *m;
  struct state_file saved;
};

static void begin(struct fixture *x, const struct text_sample *sample) {
  *x = (struct fixture){.file = mb_accept(text_sample_model(sample))};
  if (samara_text_model_create(x->file.model, NULL, &x->m, NULL) != SAMARA_OK) abort();
}

static void finish(struct fixture *x) {
  samara_text_model_destroy(x->m);
  mb_close(&x->file);
  state_file_free(&x->saved);
}

static samara_status save(struct fixture *x) {
  const samara_writer writer = state_file_writer(&x->saved);
  x->saved.size_bytes = x->saved.calls = 0;
  return samara_text_state_save(x->m, &writer);
}

static samara_status load(struct fixture *x) {
  const samara_reader reader = state_file_reader(&x->saved);
  x->saved.calls = 0;
  return samara_text_state_load(x->m, &reader);
}

static bool tokens_are(const samara_text_model *m, const int32_t *ids, size_t count) {
  size_t given;
  const int32_t *tokens = samara_text_model_tokens(m, &given);
  return given == count && (count == 0 || memcmp(tokens, ids, count * sizeof *ids) == 0);
}

static bool logits_are(samara_text_model *m, const float *want) {
  const float *logits;
  if (samara_text_model_logits(m, &logits, NULL) != SAMARA_OK) {
    fprintf(stderr, "%s\n", samara_text_model_error(m));
    return false;
  }
  return memcmp(logits, want, TEXT_SAMPLE_TOKENS * sizeof *want) == 0;
}

static bool keep_logits(samara_text_model *m, float *out) {
  const float *logits;
  if (samara_text_model_logits(m, &logits, NULL) != SAMARA_OK) return false;
  memcpy(out, logits, TEXT_SAMPLE_TOKENS * sizeof *out);
  return true;
}

static bool makes(samara_text_model *m, size_t count, int32_t *ids) {
  const char *text;
  size_t bytes;
  samara_text_end end;
  for (size_t i = 0; i < count; i++)
    if (samara_text_model_step(m, &ids[i], &text, &bytes, &end) != SAMARA_OK) return false;
  return true;
}

static const int32_t prompt[] = {3, 1, 4, 1, 5};

SMR_TEST(a_text_goes_on_from_its_file) {
  struct fixture x, y;
  int32_t made[7];
  float logits[TEXT_SAMPLE_TOKENS];
  begin(&x, &plain);
  CHECK_EQ_INT(samara_text_model_put(x.m, prompt, 5, NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_text_model_begin(x.m, NULL), SAMARA_OK);
  REQUIRE(makes(x.m, 3, made));
  CHECK_EQ_INT(save(&x), SAMARA_OK);  // in the middle of a text
  REQUIRE(makes(x.m, 4, made + 3));
  REQUIRE(keep_logits(x.m, logits));

  begin(&y, &plain);
  y.saved = x.saved;
  x.saved = (struct state_file){0};
  CHECK_EQ_INT(samara_text_model_put(y.m, (const int32_t[]){7, 7}, 2, NULL), SAMARA_OK);
  CHECK_EQ_INT(load(&y), SAMARA_OK);
  // The newest token had not run. What follows it is the same, token and logits.
  const int32_t whole[] = {3, 1, 4, 1, 5, made[0], made[1]};
  CHECK(tokens_are(y.m, whole, 7));
  int32_t again[5];
  CHECK_EQ_INT(samara_text_model_begin(y.m, NULL), SAMARA_OK);
  REQUIRE(makes(y.m, 5, again));
  CHECK_MEM(again, made + 2, sizeof again);
  CHECK(logits_are(y.m, logits));
  size_t reused = 0;
  CHECK_EQ_INT(load(&y), SAMARA_OK);
  CHECK_EQ_INT(samara_text_model_put(y.m, whole, 7, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 6);
  finish(&x);
  finish(&y);
}

SMR_TEST(empty_and_odd_texts) {
  for (size_t count = 0; count < 4; count++) {
    struct fixture x;
    float logits[TEXT_SAMPLE_TOKENS];
    begin(&x, &plain);
    CHECK_EQ_INT(samara_text_model_put(x.m, prompt, count, NULL), SAMARA_OK);
    if (count != 0) CHECK(keep_logits(x.m, logits));
    CHECK_EQ_INT(save(&x), SAMARA_OK);
    CHECK_EQ_INT(x.saved.size_bytes % 8, 0);
    CHECK_EQ_INT(samara_text_model_put(x.m, prompt + 1, 4, NULL), SAMARA_OK);
    CHECK_EQ_INT(load(&x), SAMARA_OK);
    CHECK(tokens_are(x.m, prompt, count));
    if (count != 0) CHECK(logits_are(x.m, logits));
    CHECK_EQ_INT(samara_text_model_put(x.m, prompt, 5, NULL), SAMARA_OK);
    finish(&x);
  }
}

// The file holds the rows in use only.
SMR_TEST(files_grow_with_the_text) {
  struct fixture x;
  size_t sizes[3];
  begin(&x, &plain);
  for (size_t i = 0; i < 3; i++) {
    CHECK_EQ_INT(samara_text_model_put(x.m, prompt, 1 + 2 * i, NULL), SAMARA_OK);
    CHECK_EQ_INT(save(&x), SAMARA_OK);
    sizes[i] = x.saved.size_bytes;
  }
  const size_t two = 2 * (4 + 4 * TEXT_SAMPLE_TOKENS);
  CHECK_EQ_INT(sizes[1] - sizes[0], two);
  CHECK_EQ_INT(sizes[2] - sizes[1], two);
  finish(&x);
}

// ---- damage ----

// Whether a text and its cache are as `prompt` left them: the last token runs again.
static bool is_kept(struct fixture *x, const float *logits) {
  return tokens_are(x->m, prompt, 5) && logits_are(x->m, logits) &&
         samara_text_model_put(x->m, prompt, 4, NULL) == SAMARA_OK &&
         samara_text_model_put(x->m, prompt, 5, NULL) == SAMARA_OK && logits_are(x->m, logits);
}

// A saved text of three tokens, and another one in the model.
static bool begin_other(struct fixture *x, float *logits) {
  begin(x, &plain);
  return samara_text_model_put(x->m, prompt + 2, 3, NULL) == SAMARA_OK && save(x) == SAMARA_OK &&
         samara_text_model_put(x->m, prompt, 5, NULL) == SAMARA_OK && keep_logits(x->m, logits);
}

SMR_TEST(every_flipped_byte_is_found) {
  struct fixture x;
  float logits[TEXT_SAMPLE_TOKENS];
  REQUIRE(begin_other(&x, logits));
  for (size_t i = 0; i < x.saved.size_bytes; i++) {
    for (int bit = 1; bit < 256; bit *= 16) {
      x.saved.bytes[i] ^= (uint8_t)bit;
      const samara_status status = load(&x);
      CHECK(status == SAMARA_BAD_CHECKSUM || status == SAMARA_BAD_MODEL ||
            status == SAMARA_BAD_VERSION || status == SAMARA_BAD_ARGUMENT);
      if (i >= 32) CHECK_EQ_INT(status, SAMARA_BAD_CHECKSUM);
      x.saved.bytes[i] ^= (uint8_t)bit;
    }
    if (!CHECK(is_kept(&x, logits))) break;
  }
  CHECK_EQ_INT(load(&x), SAMARA_OK);
  CHECK(tokens_are(x.m, prompt + 2, 3));
  finish(&x);
}

SMR_TEST(every_truncation_is_found) {
  struct fixture x;
  float logits[TEXT_SAMPLE_TOKENS];
  REQUIRE(begin_other(&x, logits));
  const size_t whole = x.saved.size_bytes;
  for (x.saved.size_bytes = 0; x.saved.size_bytes < whole; x.saved.size_bytes++)
    CHECK_EQ_INT(load(&x), SAMARA_BAD_MODEL);
  CHECK(is_kept(&x, logits));
  CHECK_EQ_INT(load(&x), SAMARA_OK);
  finish(&x);
}

SMR_TEST(files_of_other_models) {
  struct fixture x, y;
  float logits[TEXT_SAMPLE_TOKENS];
  REQUIRE(begin_other(&x, logits));
  begin(&y, &(struct text_sample){.context = "13", .chunk = "4"});
  struct state_file other = x.saved;
  y.saved = x.saved;
  x.saved = (struct state_file){0};
  CHECK_EQ_INT(load(&y), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_text_model_error(y.m), "another model");
  CHECK(tokens_are(y.m, NULL, 0));
  memcpy(other.bytes, "SMRA", 4);
  CHECK_EQ_INT(load(&y), SAMARA_BAD_MODEL);
  CHECK_CONTAINS(samara_text_model_error(y.m), "no file of a text");
  finish(&x);
  finish(&y);
}

static void put(uint8_t *at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

// Make the checksum of a small file right.
static void seal(struct state_file *file) {
  uint8_t sum[8];
  put(sum, smr_sum(file->bytes, file->size_bytes - 8), 8);
  put(file->bytes + file->size_bytes - 8, smr_fnv(SMR_FNV_START, sum, 8), 8);
}

SMR_TEST(lies_with_a_right_checksum) {
  enum { VERSION = 4, TOKENS = 16, BYTES = 24, IDS = 64 };
  static const struct {
    size_t at, bytes;
    uint64_t value;
    int status;
    const char *why;
  } table[] = {
      {VERSION, 4, 2, SAMARA_BAD_VERSION, "version 2, this runtime reads 1"},
      {TOKENS, 8, 1, SAMARA_BAD_MODEL, "states other sizes"},
      {TOKENS, 8, 5, SAMARA_BAD_MODEL, "states other sizes"},
      {TOKENS, 8, UINT64_MAX, SAMARA_BAD_MODEL, "states other sizes"},
      {TOKENS, 8, UINT64_MAX / 4 + 1, SAMARA_BAD_MODEL, "states other sizes"},
      {TOKENS, 8, UINT64_C(1) << 62, SAMARA_BAD_MODEL, "states other sizes"},
      {BYTES, 8, 0, SAMARA_BAD_MODEL, "states other sizes"},
      {BYTES, 8, UINT64_MAX, SAMARA_BAD_MODEL, "states other sizes"},
      {BYTES, 8, UINT64_MAX - 71, SAMARA_BAD_MODEL, "states other sizes"},
      {IDS, 4, TEXT_SAMPLE_TOKENS, SAMARA_BAD_MODEL, "has token 8"},
      {IDS + 4, 4, UINT32_MAX, SAMARA_BAD_MODEL, "has token 4294967295"},
      {IDS + 16, 4, UINT32_MAX, SAMARA_BAD_MODEL, "state"},  // the size of the variables' header
  };
  struct fixture x;
  float logits[TEXT_SAMPLE_TOKENS];
  REQUIRE(begin_other(&x, logits));
  uint8_t *good = malloc(x.saved.size_bytes);
  REQUIRE(good != NULL);
  memcpy(good, x.saved.bytes, x.saved.size_bytes);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    put(x.saved.bytes + table[i].at, table[i].value, table[i].bytes);
    seal(&x.saved);
    if (!CHECK_EQ_INT(load(&x), table[i].status) ||
        !CHECK_CONTAINS(samara_text_model_error(x.m), table[i].why) || !CHECK(is_kept(&x, logits)))
      fprintf(stderr, "  row %zu\n", i);
    memcpy(x.saved.bytes, good, x.saved.size_bytes);
  }
  // Three tokens as four fill the same bytes: the cache has three rows, and the text is then empty.
  put(x.saved.bytes + TOKENS, 4, 8);
  seal(&x.saved);
  CHECK_EQ_INT(load(&x), SAMARA_BAD_MODEL);
  CHECK_CONTAINS(samara_text_model_error(x.m), "has 4 tokens, its cache has 3");
  CHECK(tokens_are(x.m, NULL, 0));
  CHECK_EQ_INT(samara_text_model_put(x.m, prompt, 5, NULL), SAMARA_OK);
  CHECK(is_kept(&x, logits));
  free(good);
  finish(&x);
}

SMR_TEST(more_tokens_than_the_model_takes) {
  struct fixture x, y;
  begin(&x, &(struct text_sample){.chunk = "4"});
  CHECK_EQ_INT(samara_text_model_put(x.m, prompt, 5, NULL), SAMARA_OK);
  CHECK_EQ_INT(save(&x), SAMARA_OK);
  begin(&y, &(struct text_sample){.context = "4", .chunk = "4"});
  y.saved = x.saved;
  x.saved = (struct state_file){0};
  put(y.saved.bytes + 8, y.file.model->checksum, 8);  // as if this model had made it
  seal(&y.saved);
  CHECK_EQ_INT(load(&y), SAMARA_BAD_MODEL);
  CHECK_CONTAINS(samara_text_model_error(y.m), "has 5 tokens, the model takes 4");
  finish(&x);
  finish(&y);
}

// ---- readers, writers and memory ----

SMR_TEST(writers_and_readers_may_fail_at_any_call) {
  struct fixture x;
  float logits[TEXT_SAMPLE_TOKENS];
  size_t k = 0;
  samara_status status = SAMARA_IO;
  begin(&x, &plain);
  CHECK_EQ_INT(samara_text_model_put(x.m, prompt, 5, NULL), SAMARA_OK);
  REQUIRE(keep_logits(x.m, logits));
  for (k = 1; k < 100 && status != SAMARA_OK; k++) {
    x.saved.fail_at = k;
    status = save(&x);
    if (status != SAMARA_OK) CHECK_EQ_INT(status, SAMARA_IO);
    CHECK(is_kept(&x, logits));
  }
  CHECK(k > 8);
  CHECK_EQ_INT(status, SAMARA_OK);
  status = SAMARA_IO;
  for (k = 1; k < 100 && status != SAMARA_OK; k++) {
    CHECK_EQ_INT(samara_text_model_put(x.m, prompt, 5, NULL), SAMARA_OK);
    x.saved.fail_at = k;
    status = load(&x);
    if (status != SAMARA_OK) CHECK_EQ_INT(status, SAMARA_IO);
    if (status != SAMARA_OK) CHECK_CONTAINS(samara_text_model_error(x.m), "the reader failed at");
    CHECK(is_kept(&x, logits));
  }
  CHECK(k > 6);
  CHECK_EQ_INT(status, SAMARA_OK);
  finish(&x);
}

SMR_TEST(what_callers_get_wrong) {
  struct fixture x;
  begin(&x, &plain);
  const samara_writer writer = state_file_writer(&x.saved);
  samara_writer bad = writer;
  samara_reader reader = state_file_reader(&x.saved);
  CHECK_EQ_INT(samara_text_state_save(NULL, &writer), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_text_state_save(x.m, NULL), SAMARA_BAD_ARGUMENT);
  bad.write = NULL;
  CHECK_EQ_INT(samara_text_state_save(x.m, &bad), SAMARA_BAD_ARGUMENT);
  bad = writer;
  bad.struct_size = 1;
  CHECK_EQ_INT(samara_text_state_save(x.m, &bad), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_text_state_load(NULL, &reader), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_text_state_load(x.m, NULL), SAMARA_BAD_ARGUMENT);
  reader.read = NULL;
  CHECK_EQ_INT(samara_text_state_load(x.m, &reader), SAMARA_BAD_ARGUMENT);
  finish(&x);
}

SMR_TEST(every_allocation_may_fail) {
  struct mb_model *described = text_sample_model(&plain);
  size_t size, failures = 0;
  uint8_t *bytes = mb_write(described, &size);
  mb_free(described);
  struct mb_memory memory = {0};
  const samara_allocator allocator = mb_allocator(&memory);
  const samara_model_options options = {.struct_size = sizeof options, .allocator = &allocator};
  struct fixture x = {.m = NULL};
  float logits[TEXT_SAMPLE_TOKENS];
  REQUIRE(samara_model_open_memory(bytes, size, &options, &x.file.model, NULL) == SAMARA_OK);
  x.file.bytes = bytes;
  REQUIRE(samara_text_model_create(x.file.model, NULL, &x.m, NULL) == SAMARA_OK);
  CHECK_EQ_INT(samara_text_model_put(x.m, prompt, 5, NULL), SAMARA_OK);
  REQUIRE(keep_logits(x.m, logits));
  for (int loading = 0; loading < 2; loading++) {
    samara_status status = SAMARA_OUT_OF_MEMORY;
    for (size_t k = 1; k < 20 && status != SAMARA_OK; k++) {
      const size_t live = memory.live;
      memory.calls = 0;
      memory.fail_at = k;
      status = loading ? load(&x) : save(&x);
      CHECK(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
      failures += status != SAMARA_OK;
      CHECK_EQ_INT(memory.live, live);
      memory.fail_at = 0;
      CHECK(is_kept(&x, logits));
    }
    CHECK_EQ_INT(status, SAMARA_OK);
  }
  CHECK(failures >= 3);
  finish(&x);
}

SMR_TEST_MAIN(RUN(a_text_goes_on_from_its_file); RUN(empty_and_odd_texts);
              RUN(files_grow_with_the_text); RUN(every_flipped_byte_is_found);
              RUN(every_truncation_is_found); RUN(files_of_other_models);
              RUN(lies_with_a_right_checksum); RUN(more_tokens_than_the_model_takes);
              RUN(writers_and_readers_may_fail_at_any_call); RUN(what_callers_get_wrong);
              RUN(every_allocation_may_fail))
