// SPDX-License-Identifier: Apache-2.0
// The FlatBuffer verifier: a valid file passes, and no single damaged byte leads to a crash.
#include "model/fb.h"

#include "harness.h"
#include "model/sample.h"

static uint8_t *sample_bytes(size_t *size) {
  struct mb_model *m = mb_sample();
  uint8_t *bytes = mb_write(m, size);
  mb_free(m);
  return bytes;
}

static size_t program_size(const uint8_t *bytes) {
  uint64_t program;
  memcpy(&program, bytes + 8, 8);
  return (size_t)program;
}

// The program part in an exact block, so that AddressSanitizer sees a read beyond its end.
static struct smr_fb_walk exact(const uint8_t *bytes) {
  struct smr_fb_walk w = {.size = program_size(bytes)};
  uint8_t *copy = aligned_alloc(64, w.size);
  memcpy(copy, bytes, w.size);
  w.data = copy;
  return w;
}

// Only the first walk over a program part, which counts.
static samara_status walk(struct smr_fb_walk *w, samara_error *error) {
  static samara_model model;
  w->error = error;
  w->model = &model;
  return smr_fb_read(w);
}

SMR_TEST(counts_before_it_fills) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  struct smr_fb_walk w = exact(bytes);
  samara_model model = {.functions = NULL};
  samara_error error;
  w.error = &error;
  w.model = &model;
  REQUIRE(smr_fb_read(&w) == SAMARA_OK);
  CHECK_EQ_INT(w.schema_version, 1);
  CHECK_EQ_INT(model.function_count, 1);
  CHECK(model.functions == NULL && w.bump.used > 0);
  free((void *)w.data);
  free(bytes);
}

// Damage every byte in several ways. The decoder walks files that the verifier accepts; a sanitizer
// build proves that nothing outside is read.
SMR_TEST(every_byte_damaged) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  const size_t program = program_size(bytes);
  static const uint8_t flips[] = {0x01, 0x80, 0xff, 0x04};
  size_t refused = 0, accepted = 0;
  for (size_t at = SMR_FB_HEADER_BYTES; at < program; at++) {
    for (size_t i = 0; i < sizeof flips; i++) {
      bytes[at] ^= flips[i];
      mb_seal(bytes);
      samara_model *model = NULL;
      samara_error error = {SAMARA_OK, ""};
      const samara_status status = samara_model_open_memory(bytes, size, NULL, &model, &error);
      const bool known = status == SAMARA_OK || status == SAMARA_BAD_MODEL ||
                         status == SAMARA_BAD_VERSION || status == SAMARA_UNSUPPORTED ||
                         status == SAMARA_OUT_OF_MEMORY;
      CHECK(known && (status == SAMARA_OK) == (model != NULL));
      CHECK((status == SAMARA_OK) == (error.text[0] == '\0'));
      *(status == SAMARA_OK ? &accepted : &refused) += 1;
      samara_model_close(model);
      bytes[at] ^= flips[i];
    }
  }
  // Names, paddings and free dims may change; structure may not.
  CHECK(refused > accepted / 2 && accepted > 0);
  free(bytes);
}

// Damaged words, for offsets far out of range.
SMR_TEST(every_word_replaced) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  const size_t program = program_size(bytes);
  static const uint32_t words[] = {0, 1, 4, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
  for (size_t at = SMR_FB_HEADER_BYTES; at + 4 <= program; at += 4) {
    uint32_t kept;
    memcpy(&kept, bytes + at, 4);
    for (size_t i = 0; i < sizeof words / sizeof words[0] + 1; i++) {
      // The last round: as far as it goes.
      const uint32_t word = i < 7 ? words[i] : (uint32_t)(program - at);
      memcpy(bytes + at, &word, 4);
      mb_seal(bytes);
      samara_model *model = NULL;
      const samara_status status = samara_model_open_memory(bytes, size, NULL, &model, NULL);
      CHECK((status == SAMARA_OK) == (model != NULL));
      samara_model_close(model);
    }
    memcpy(bytes + at, &kept, 4);
  }
  free(bytes);
}

// ---- one fault each, and its reason ----

enum { FAULTS = 18 };

// Build a root by hand: metadata of one pair, and one fault.
static size_t faulty(struct fbb *b, int fault) {
  fbb_grow(b, SMR_FB_HEADER_BYTES, 1);
  const size_t root = fbb_table(b, fault == 3 ? "hir--------" : "hirrr---r--");
  fbb_link(b, 0, root);
  fbb_u16(b, root, SMR_FB_MODEL_schema_version, 1);
  fbb_text(b, root, SMR_FB_MODEL_producer, "me");
  if (fault == 3) return root;
  fbb_offsets(b, root, SMR_FB_MODEL_functions, 0);
  fbb_list(b, root, SMR_FB_MODEL_entries, NULL, 0, 4, 4);
  const size_t first = fbb_offsets(b, root, SMR_FB_MODEL_metadata, 1);
  const size_t pair = fbb_table(b, "rr");
  fbb_text(b, pair, SMR_FB_KEY_VALUE_key, "k");
  fbb_text(b, pair, SMR_FB_KEY_VALUE_value, "v");
  fbb_link(b, first, pair);
  fbb_grow(b, 64, 64);
  const uint32_t big = 0x10000000, small = 2, odd = 6;
  const size_t key = fbb_field(b, pair, SMR_FB_KEY_VALUE_key);
  const size_t entries = fbb_field(b, root, SMR_FB_MODEL_entries);
  const uint16_t beyond = 4000, unaligned = 7, tiny = 2;
  const size_t vtable = root - (size_t)*(int32_t *)(void *)(b->data + root);
  if (fault == 1) fbb_put(b, key, &big, 4);    // string far outside
  if (fault == 2) fbb_put(b, key, &small, 4);  // into itself
  if (fault == 4) fbb_put(b, key, &odd, 4);    // misaligned
  if (fault == 5) fbb_put(b, b->size - 4, &big, 4), fbb_link(b, key, b->size - 4);
  if (fault == 6) fbb_put(b, b->size - 64 + 8, "\1\0\0\0xyzz", 8), fbb_link(b, key, b->size - 56);
  if (fault == 7) fbb_put(b, first - 4, &big, 4);       // vector of tables too long
  if (fault == 8) fbb_link(b, first, b->size);          // table at the very end
  if (fault == 9) fbb_put(b, pair, &big, 4);            // vtable before the file
  if (fault == 10) fbb_put(b, vtable, &beyond, 2);      // vtable longer than the file
  if (fault == 11) fbb_put(b, vtable + 2, &beyond, 2);  // table longer than the file
  if (fault == 12) fbb_put(b, vtable + 4 + 2 * SMR_FB_MODEL_metadata, &beyond, 2);
  if (fault == 13) fbb_put(b, vtable + 4 + 2 * SMR_FB_MODEL_metadata, &unaligned, 2);
  if (fault == 14) fbb_put(b, vtable, &tiny, 2);  // vtable without its head
  if (fault == 15) fbb_put(b, pair, (int32_t[]){(int32_t)(pair - 16)}, 4);  // vtable in the header
  if (fault == 16) fbb_link(b, entries, b->size - 4), fbb_put(b, b->size - 4, &big, 4);
  if (fault == 17) fbb_put(b, 0, &big, 4);  // the root itself
  return root;
}

SMR_TEST(names_the_fault) {
  static const char *const expected[FAULTS] = {NULL,
                                               "key",
                                               "out of bounds",
                                               "functions",
                                               "misaligned",
                                               "out of bounds",
                                               "no NUL",
                                               "out of bounds",
                                               "out of bounds",
                                               "table out of bounds",
                                               "table out of bounds",
                                               "table out of bounds",
                                               "out of bounds",
                                               "misaligned",
                                               "table out of bounds",
                                               "table out of bounds",
                                               "out of bounds",
                                               "out of bounds"};
  for (int fault = 0; fault < FAULTS; fault++) {
    struct fbb b = {0};
    faulty(&b, fault);
    fbb_grow(&b, 0, 64);
    uint8_t *copy = aligned_alloc(64, (b.size + 63) / 64 * 64);
    memcpy(copy, b.data, b.size);
    samara_error error = {SAMARA_OK, ""};
    struct smr_fb_walk w = {.data = copy, .size = b.size};
    const samara_status status = walk(&w, &error);
    CHECK_EQ_INT(status, expected[fault] == NULL ? SAMARA_OK : SAMARA_BAD_MODEL);
    if (expected[fault] != NULL) CHECK_CONTAINS(error.text, expected[fault]);
    free(copy);
    free(b.data);
  }
}

SMR_TEST(bools_are_0_or_1) {
  for (int value = 0; value < 3; value++) {
    struct mb_model *m = mb_sample();
    mb_set(&m->functions[0]->nodes[SAMPLE_MATMUL], "transpose_w", value);
    if (value == 2) {
      CHECK_REFUSED(m, SAMARA_BAD_MODEL, "a bool is 0 or 1");
      continue;
    }
    const struct mb_file file = mb_accept(m);
    mb_close(&file);
  }
}

// Many references to one big vector must not cause unlimited work.
SMR_TEST(sharing_has_a_price) {
  struct fbb b = {0};
  fbb_grow(&b, SMR_FB_HEADER_BYTES, 1);
  const size_t root = fbb_table(&b, "hi-rr------");
  fbb_link(&b, 0, root);
  fbb_u16(&b, root, SMR_FB_MODEL_schema_version, 1);
  enum { FUNCTIONS = 2000, EXPRS = 10000 };
  const size_t first = fbb_offsets(&b, root, SMR_FB_MODEL_functions, FUNCTIONS);
  fbb_list(&b, root, SMR_FB_MODEL_entries, NULL, 0, 4, 4);
  const size_t function = fbb_table(&b, "rr");
  fbb_text(&b, function, SMR_FB_FUNCTION_name, "f");
  fbb_list(&b, function, SMR_FB_FUNCTION_exprs, NULL, EXPRS, sizeof(struct smr_expr), 8);
  for (size_t i = 0; i < FUNCTIONS; i++) fbb_link(&b, first + 4 * i, function);
  fbb_grow(&b, 0, 64);
  uint8_t *copy = aligned_alloc(64, b.size);
  memcpy(copy, b.data, b.size);
  struct smr_fb_walk w = {.data = copy, .size = b.size};
  samara_error error = {SAMARA_OK, ""};
  CHECK_EQ_INT(walk(&w, &error), SAMARA_BAD_MODEL);
  CHECK_CONTAINS(error.text, "too often");
  free(copy);
  free(b.data);
}

SMR_TEST_MAIN(RUN(counts_before_it_fills); RUN(every_byte_damaged); RUN(every_word_replaced);
              RUN(names_the_fault); RUN(bools_are_0_or_1); RUN(sharing_has_a_price))
