// SPDX-License-Identifier: Apache-2.0
// The public functions of tokenizers.
#include "base/fp.h"

#include <samara/samara_text.h>

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "text/text_decode.h"
#include "text/text_run.h"

struct samara_tokenizer {
  struct smr_text_table table;
  samara_allocator memory;
};

struct samara_text_stream {
  struct smr_text_decoder decoder;
  bool skip_special;
};

samara_status samara_tokenizer_open(const void *table, size_t size_bytes,
                                    const samara_allocator *allocator, samara_tokenizer **out,
                                    samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "out is NULL");
  *out = NULL;
  struct smr_text_table own;
  SMR_TRY(smr_text_table_open(table, size_bytes, &own, error));
  const samara_allocator memory = smr_allocator(allocator);
  samara_tokenizer *tokenizer = (samara_tokenizer *)smr_allocate(&memory, sizeof *tokenizer);
  if (tokenizer == NULL) return smr_no_memory(error, sizeof *tokenizer);
  *tokenizer = (samara_tokenizer){own, memory};
  *out = tokenizer;
  return SAMARA_OK;
}

void samara_tokenizer_close(samara_tokenizer *tokenizer) {
  if (tokenizer == NULL) return;
  const samara_allocator memory = tokenizer->memory;
  smr_release(&memory, tokenizer);
}

// Check a text, and begin a run over it.
static samara_status text_begin(const samara_tokenizer *tokenizer, const char *text, size_t bytes,
                                struct smr_text_run *run, samara_error *error) {
  if (tokenizer == NULL || (text == NULL && bytes != 0))
    SMR_FAIL(error, BAD_ARGUMENT, "the tokenizer or the text is NULL");
  const size_t valid = smr_utf8_valid((const uint8_t *)text, bytes);
  if (valid != bytes) SMR_FAIL(error, BAD_ARGUMENT, "the text is not UTF-8 at byte %zu", valid);
  memset(run, 0, sizeof *run);
  run->table = &tokenizer->table;
  run->memory = &tokenizer->memory;
  run->error = error;
  // Real steps make less than twenty bytes of one.
  if (!smr_mul_size(bytes, 256, &run->most) || !smr_add_size(run->most, 65536, &run->most))
    SMR_FAIL(error, LIMIT, "a text of %zu bytes", bytes);
  return SAMARA_OK;
}

samara_status samara_tokenizer_encode(const samara_tokenizer *tokenizer, const char *text,
                                      size_t text_bytes, uint32_t flags, int32_t *ids, size_t room,
                                      size_t *count, samara_error *error) {
  struct smr_text_run run;
  if (count == NULL || (ids == NULL && room != 0))
    SMR_FAIL(error, BAD_ARGUMENT, "ids or count is NULL");
  SMR_TRY(text_begin(tokenizer, text, text_bytes, &run, error));
  run.ids = ids;
  run.room = room;
  const bool special = (flags & SAMARA_TEXT_ADD_SPECIAL) != 0;
  const struct smr_text_words before = smr_text_words_of(run.table, SMR_TEXT_BEFORE);
  const struct smr_text_words after = smr_text_words_of(run.table, SMR_TEXT_AFTER);
  for (size_t i = 0; special && i < before.count; i++) smr_text_emit(&run, before.data[i]);
  const samara_status status = smr_text_encode(&run, (const uint8_t *)text, text_bytes,
                                               (flags & SAMARA_TEXT_NO_SPECIAL) != 0);
  for (size_t i = 0; special && i < after.count; i++) smr_text_emit(&run, after.data[i]);
  smr_text_run_end(&run);
  if (status == SAMARA_OK) *count = run.count;
  return status;
}

samara_status samara_tokenizer_normalize(const samara_tokenizer *tokenizer, const char *text,
                                         size_t text_bytes, char *normal, size_t room,
                                         size_t *normal_bytes, samara_error *error) {
  struct smr_text_run run;
  if (normal_bytes == NULL || (normal == NULL && room != 0))
    SMR_FAIL(error, BAD_ARGUMENT, "normal or normal_bytes is NULL");
  SMR_TRY(text_begin(tokenizer, text, text_bytes, &run, error));
  const uint8_t *made = NULL;
  size_t size = 0;
  const samara_status status =
      smr_text_normalize(&run, (const uint8_t *)text, text_bytes, true, &made, &size);
  if (status == SAMARA_OK) {
    const size_t fits = size < room ? size : room;
    if (fits != 0) memcpy(normal, made, fits);
    *normal_bytes = size;
  }
  smr_text_run_end(&run);
  return status;
}

const void *samara_tokenizer_table(const samara_tokenizer *tokenizer, size_t *size_bytes) {
  *size_bytes = smr_text_word_of(&tokenizer->table, SMR_TEXT_SIZE);
  return tokenizer->table.words;
}

size_t samara_tokenizer_vocabulary(const samara_tokenizer *tokenizer) {
  return smr_text_word_of(&tokenizer->table, SMR_TEXT_VOCABULARY);
}

const char *samara_tokenizer_token(const samara_tokenizer *tokenizer, int32_t id, size_t *bytes) {
  const struct smr_text_strings tokens = smr_text_strings_of(&tokenizer->table, SMR_TEXT_TOKENS);
  const struct smr_text_bytes flags = smr_text_bytes_of(&tokenizer->table, SMR_TEXT_TOKEN_FLAGS);
  if (id < 0 || (uint32_t)id >= tokens.count || (flags.data[id] & SMR_TEXT_EXISTS) == 0)
    return NULL;
  const struct smr_text_bytes token = smr_text_string(&tokens, (uint32_t)id);
  if (bytes != NULL) *bytes = token.size;
  return (const char *)token.data;
}

int32_t samara_tokenizer_id(const samara_tokenizer *tokenizer, const char *token,
                            size_t token_bytes) {
  static const enum smr_text_word tries[] = {SMR_TEXT_NAMES, SMR_TEXT_TRIE};
  for (int i = 0; i < 2; i++) {
    const struct smr_text_trie trie = smr_text_trie_of(&tokenizer->table, tries[i]);
    const uint32_t id = smr_text_find(&trie, (const uint8_t *)token, token_bytes);
    if (id != SMR_TEXT_NONE) return (int32_t)id;
  }
  return -1;
}

// ---- ids to text ----

static void text_decoder_begin(const samara_tokenizer *tokenizer, struct smr_text_decoder *decoder,
                               samara_error *error) {
  memset(decoder, 0, sizeof *decoder);
  decoder->table = &tokenizer->table;
  decoder->memory = &tokenizer->memory;
  decoder->error = error;
}

// Copy what is final behind *text_bytes bytes of `text`, as far as there is room.
static void text_take(struct smr_text_decoder *decoder, char *text, size_t room,
                      size_t *text_bytes) {
  const size_t size = decoder->out.size, at = *text_bytes;
  const size_t fits = at >= room ? 0 : size < room - at ? size : room - at;
  if (fits != 0) memcpy(text + at, decoder->out.data, fits);
  *text_bytes += size;
  decoder->out.size = 0;
}

samara_status samara_tokenizer_decode(const samara_tokenizer *tokenizer, const int32_t *ids,
                                      size_t count, uint32_t flags, char *text, size_t room,
                                      size_t *text_bytes, samara_error *error) {
  if (tokenizer == NULL || text_bytes == NULL || (text == NULL && room != 0) ||
      (ids == NULL && count != 0))
    SMR_FAIL(error, BAD_ARGUMENT, "the tokenizer, ids, text or text_bytes is NULL");
  const bool skip = (flags & SAMARA_TEXT_SKIP_SPECIAL) != 0;
  struct smr_text_decoder decoder;
  text_decoder_begin(tokenizer, &decoder, error);
  samara_status status = SAMARA_OK;
  size_t size = 0;
  for (size_t i = 0; i < count && status == SAMARA_OK; i++) {
    status = smr_text_decode(&decoder, (uint32_t)ids[i], skip);
    text_take(&decoder, text, room, &size);
  }
  if (status == SAMARA_OK) status = smr_text_decode_rest(&decoder);
  text_take(&decoder, text, room, &size);
  smr_text_decoder_end(&decoder);
  if (status == SAMARA_OK) *text_bytes = size;
  return status;
}

samara_status samara_text_stream_create(const samara_tokenizer *tokenizer, uint32_t flags,
                                        samara_text_stream **out, samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "out is NULL");
  *out = NULL;
  if (tokenizer == NULL) SMR_FAIL(error, BAD_ARGUMENT, "the tokenizer is NULL");
  samara_text_stream *stream =
      (samara_text_stream *)smr_allocate(&tokenizer->memory, sizeof *stream);
  if (stream == NULL) return smr_no_memory(error, sizeof *stream);
  text_decoder_begin(tokenizer, &stream->decoder, NULL);
  stream->skip_special = (flags & SAMARA_TEXT_SKIP_SPECIAL) != 0;
  *out = stream;
  return SAMARA_OK;
}

samara_status samara_text_stream_push(samara_text_stream *stream, int32_t id, const char **text,
                                      size_t *text_bytes, samara_error *error) {
  if (stream == NULL || text == NULL || text_bytes == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "the stream, text or text_bytes is NULL");
  stream->decoder.out.size = 0;
  stream->decoder.error = error;
  SMR_TRY(smr_text_decode(&stream->decoder, (uint32_t)id, stream->skip_special));
  *text = (const char *)stream->decoder.out.data;
  *text_bytes = stream->decoder.out.size;
  return SAMARA_OK;
}

samara_status samara_text_stream_finish(samara_text_stream *stream, const char **text,
                                        size_t *text_bytes, samara_error *error) {
  if (stream == NULL || text == NULL || text_bytes == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "the stream, text or text_bytes is NULL");
  struct smr_text_decoder *decoder = &stream->decoder;
  decoder->out.size = 0;
  decoder->error = error;
  SMR_TRY(smr_text_decode_rest(decoder));
  for (size_t k = 0; k < SMR_TEXT_STEPS; k++) {
    decoder->stages[k].tokens = decoder->stages[k].stripped = 0;
    decoder->stages[k].lossy.count = 0;
  }
  *text = (const char *)decoder->out.data;
  *text_bytes = decoder->out.size;
  return SAMARA_OK;
}

void samara_text_stream_destroy(samara_text_stream *stream) {
  if (stream == NULL) return;
  const samara_allocator *memory = stream->decoder.memory;
  smr_text_decoder_end(&stream->decoder);
  smr_release(memory, stream);
}
