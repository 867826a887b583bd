// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a tokenizer's table, and any text for it.
//
// An input is a byte of flags, a byte with the length of the text, the text, then the table. Text
// that is not UTF-8 is refused, and cut where it stops being UTF-8.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <samara/samara_text.h>

#include "text/text_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void text_need(bool condition) {
  if (!condition) abort();
}

// A stream gives in parts what decoding at once gives, in whole characters.
static void text_fuzz_stream(const samara_tokenizer *tokenizer, const int32_t *ids, size_t count,
                             uint32_t flags) {
  size_t whole_bytes = 0, at = 0, bytes = 0;
  samara_error error;
  const samara_status status =
      samara_tokenizer_decode(tokenizer, ids, count, flags, NULL, 0, &whole_bytes, &error);
  if (status != SAMARA_OK) return;
  char *whole = (char *)malloc(whole_bytes + 1);
  text_need(whole != NULL);
  text_need(samara_tokenizer_decode(tokenizer, ids, count, flags, whole, whole_bytes, &bytes,
                                    NULL) == SAMARA_OK &&
            bytes == whole_bytes);
  samara_text_stream *stream = NULL;
  text_need(samara_text_stream_create(tokenizer, flags, &stream, NULL) == SAMARA_OK);
  for (size_t i = 0; i <= count; i++) {
    const char *text = NULL;
    text_need((i < count ? samara_text_stream_push(stream, ids[i], &text, &bytes, NULL)
                         : samara_text_stream_finish(stream, &text, &bytes, NULL)) == SAMARA_OK);
    text_need(bytes <= whole_bytes - at);
    if (bytes == 0) continue;
    text_need(memcmp(whole + at, text, bytes) == 0);
    text_need(smr_utf8_valid((const uint8_t *)text, bytes) == bytes);
    at += bytes;
  }
  text_need(at == whole_bytes);
  samara_text_stream_destroy(stream);
  free(whole);
}

static void text_fuzz_encode(const samara_tokenizer *tokenizer, const uint8_t *text, size_t size,
                             uint32_t flags) {
  size_t count = 0, again = 0;
  samara_error error;
  samara_status status =
      samara_tokenizer_encode(tokenizer, (const char *)text, size, flags, NULL, 0, &count, &error);
  const size_t valid = smr_utf8_valid(text, size);
  text_need((status == SAMARA_BAD_ARGUMENT) == (valid != size));
  if (valid != size)
    status = samara_tokenizer_encode(tokenizer, (const char *)text, valid, flags, NULL, 0, &count,
                                     &error);
  text_need(status == SAMARA_OK || status == SAMARA_BAD_DATA || status == SAMARA_LIMIT);
  if (status != SAMARA_OK) return;
  int32_t *ids = (int32_t *)malloc(count * sizeof *ids + 1);
  text_need(ids != NULL);
  text_need(samara_tokenizer_encode(tokenizer, (const char *)text, valid, flags, ids, count, &again,
                                    NULL) == SAMARA_OK &&
            again == count);
  for (size_t i = 0; i < count; i++)
    text_need((size_t)ids[i] < samara_tokenizer_vocabulary(tokenizer));
  text_fuzz_stream(tokenizer, ids, count, flags);
  free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  const uint32_t flags = data[0] & 7;
  const size_t length = data[1] < size - 2 ? data[1] : size - 2, rest = size - 2 - length;
  // Blocks of exactly these sizes, so that a sanitizer sees every read outside.
  uint8_t *text = (uint8_t *)malloc(length + (length == 0));
  uint32_t *table = (uint32_t *)malloc(rest + (rest == 0));
  text_need(text != NULL && table != NULL);
  memcpy(text, data + 2, length);
  memcpy(table, data + 2 + length, rest);
  samara_tokenizer *tokenizer = NULL;
  samara_error error = {SAMARA_OK, ""};
  const samara_status status = samara_tokenizer_open(table, rest, NULL, &tokenizer, &error);
  text_need((status == SAMARA_OK) == (tokenizer != NULL));
  if (tokenizer != NULL) {
    text_fuzz_encode(tokenizer, text, length, flags);
    static const int32_t every[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 1, 0};
    text_fuzz_stream(tokenizer, every, sizeof every / sizeof *every, flags);
  } else {
    text_need(error.text[0] != '\0');
  }
  samara_tokenizer_close(tokenizer);
  free(text);
  free(table);
  return 0;
}
