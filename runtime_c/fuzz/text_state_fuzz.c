// SPDX-License-Identifier: Apache-2.0
// Fuzz target: load any bytes as a text with its cache. If they are accepted, saving must give a
// file that is loaded again with the same text, cache and logits; if not, the text before is there.
//
// Bytes are loaded as they are, and once more with the magic, sizes and checksums made right.
#include <samara/samara_text.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "generate/text_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_HEADER = 64, FUZZ_FILE = 8192, FUZZ_CONTEXT = 12 };

struct fuzz_file {
  uint8_t *bytes;
  size_t size_bytes;
};

static void fuzz_need(bool condition) {
  if (!condition) abort();
}

static int fuzz_read(void *user, uint64_t offset, void *buffer, size_t size_bytes) {
  const struct fuzz_file *file = (const struct fuzz_file *)user;
  if (offset > file->size_bytes || size_bytes > file->size_bytes - offset) abort();
  memcpy(buffer, file->bytes + offset, size_bytes);
  return 0;
}

static int fuzz_write(void *user, const void *data, size_t size_bytes) {
  struct fuzz_file *file = (struct fuzz_file *)user;
  if (size_bytes > FUZZ_FILE - file->size_bytes) abort();
  memcpy(file->bytes + file->size_bytes, data, size_bytes);
  file->size_bytes += size_bytes;
  return 0;
}

static samara_status fuzz_load(samara_text_model *m, struct fuzz_file *file) {
  const samara_reader reader = {fuzz_read, file->size_bytes, file};
  return samara_text_state_load(m, &reader);
}

static const samara_model *fuzz_model(void) {
  static samara_model *model;
  if (model != NULL) return model;
  struct mb_model *m = text_sample_model(&(struct text_sample){.context = "12", .chunk = "4"});
  size_t size;
  const uint8_t *bytes = mb_write(m, &size);
  mb_free(m);
  fuzz_need(samara_model_open_memory(bytes, size, NULL, &model, NULL) == SAMARA_OK);
  return model;
}

// Of the text before loading: three tokens.
static const int32_t fuzz_text[] = {3, 1, 4};

static bool fuzz_has(samara_text_model *m, const int32_t *ids, size_t count) {
  size_t has;
  const int32_t *tokens = samara_text_model_tokens(m, &has);
  return has == count && (count == 0 || memcmp(tokens, ids, count * sizeof *ids) == 0);
}

// The same text is loaded from the file that is saved now, and gives the same logits, bit by bit.
static void fuzz_again(samara_text_model *m) {
  static uint8_t room[FUZZ_FILE];
  struct fuzz_file file = {room, 0};
  const samara_writer writer = {sizeof writer, fuzz_write, &file};
  int32_t ids[FUZZ_CONTEXT];
  size_t count;
  const int32_t *tokens = samara_text_model_tokens(m, &count);
  fuzz_need(count <= FUZZ_CONTEXT);
  if (count != 0) memcpy(ids, tokens, count * sizeof *ids);
  fuzz_need(samara_text_state_save(m, &writer) == SAMARA_OK);
  samara_text_model *again = NULL;
  fuzz_need(samara_text_model_create(fuzz_model(), NULL, &again, NULL) == SAMARA_OK);
  fuzz_need(fuzz_load(again, &file) == SAMARA_OK && fuzz_has(again, ids, count));
  const float *a = NULL, *b = NULL;
  const samara_status status = samara_text_model_logits(m, &a, NULL);
  fuzz_need((status == SAMARA_OK) == (count != 0));
  fuzz_need(samara_text_model_logits(again, &b, NULL) == status);
  if (status == SAMARA_OK) fuzz_need(memcmp(a, b, TEXT_SAMPLE_TOKENS * sizeof *a) == 0);
  samara_text_model_destroy(again);
}

static void fuzz_one(const uint8_t *data, size_t size) {
  samara_text_model *m = NULL;
  fuzz_need(samara_text_model_create(fuzz_model(), NULL, &m, NULL) == SAMARA_OK);
  fuzz_need(samara_text_model_put(m, fuzz_text, 3, NULL) == SAMARA_OK);
  struct fuzz_file file = {(uint8_t *)malloc(size != 0 ? size : 1), size};
  fuzz_need(file.bytes != NULL);
  if (size != 0) memcpy(file.bytes, data, size);
  if (fuzz_load(m, &file) == SAMARA_OK) {
    fuzz_again(m);
  } else {
    fuzz_need(samara_text_model_error(m)[0] != '\0');
    // As before, or empty if the file contradicts itself.
    const float *logits = NULL;
    const bool kept = fuzz_has(m, fuzz_text, 3);
    fuzz_need(kept || fuzz_has(m, NULL, 0));
    fuzz_need((samara_text_model_logits(m, &logits, NULL) == SAMARA_OK) == kept);
    fuzz_need(samara_text_model_put(m, fuzz_text, 3, NULL) == SAMARA_OK);
  }
  free(file.bytes);
  samara_text_model_destroy(m);
}

static void fuzz_put(uint8_t *at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

// Make right what is checked before the variables are: the header of a file with as many tokens as
// byte 16 says, at most 15, the length of the variables' header, and the checksum.
static void fuzz_right(uint8_t *bytes, size_t size) {
  const size_t tokens = bytes[16] % 16, state = FUZZ_HEADER + (tokens + tokens % 2) * 4;
  uint8_t sum[8];
  if (size < state + 16) return;
  memset(bytes, 0, FUZZ_HEADER);
  memcpy(bytes, "SMRT", 4);
  fuzz_put(bytes + 4, 1, 4);
  fuzz_put(bytes + 8, fuzz_model()->checksum, 8);
  fuzz_put(bytes + 16, tokens, 8);
  fuzz_put(bytes + 24, size - 8 - state, 8);
  for (size_t i = 0; i < tokens; i++) bytes[FUZZ_HEADER + 4 * i] %= TEXT_SAMPLE_TOKENS + 1;
  size_t length = 0;
  for (size_t i = state + 8; i < size - 8; i++)
    if (bytes[i] == '}') length = i - state - 7;  // it ends with the last brace
  fuzz_put(bytes + state, (length + 7) / 8 * 8, 8);
  fuzz_put(sum, smr_sum(bytes, size - 8), 8);
  fuzz_put(bytes + size - 8, smr_fnv(SMR_FNV_START, sum, 8), 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t bytes[FUZZ_FILE];
  fuzz_one(data, size);
  if (size < FUZZ_HEADER + 16 || size > FUZZ_FILE) return 0;
  memcpy(bytes, data, size);
  fuzz_right(bytes, size);
  fuzz_one(bytes, size);
  return 0;
}
