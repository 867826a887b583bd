// SPDX-License-Identifier: Apache-2.0
// A text and its cache as one file:
//
//   "SMRT", uint32 version, uint64 checksum of the model's program part, uint64 number of tokens,
//   uint64 bytes of the variables, 32 bytes of zeros
//   int32 tokens, padded to 8 bytes
//   the variables, as samara_session_state_save writes them
//   uint64 checksum of all that comes before: FNV-1a over the smr_sum of every MiB
//
// All numbers are little-endian.
#include "base/fp.h"

#include <string.h>

#include "base/checked.h"
#include "base/fnv.h"
#include "base/sum.h"
#include "generate/generate.h"

enum {
  STATE_VERSION = 1,
  STATE_HEADER_BYTES = 64,
  STATE_PIECE_BYTES = 1 << 20,
};

static const char state_magic[4] = {'S', 'M', 'R', 'T'};

static void state_put(uint8_t *at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t state_get(const uint8_t *at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
  return value;
}

// ---- the checksum, a piece at a time ----

struct state_sum {
  uint8_t *piece;  // STATE_PIECE_BYTES
  size_t used;
  uint64_t hash;
};

static void state_sum_piece(struct state_sum *sum) {
  uint8_t bytes[8];
  if (sum->used == 0) return;
  state_put(bytes, smr_sum(sum->piece, sum->used), sizeof bytes);
  sum->hash = smr_fnv(sum->hash, bytes, sizeof bytes);
  sum->used = 0;
}

static void state_sum_add(struct state_sum *sum, const void *data, size_t size_bytes) {
  const uint8_t *from = data;
  while (size_bytes != 0) {
    const size_t room = STATE_PIECE_BYTES - sum->used, n = size_bytes < room ? size_bytes : room;
    memcpy(sum->piece + sum->used, from, n);
    sum->used += n;
    from += n;
    size_bytes -= n;
    if (sum->used == STATE_PIECE_BYTES) state_sum_piece(sum);
  }
}

// ---- saving ----

struct state_save {
  const samara_writer *writer;
  struct state_sum sum;
};

static int state_write(void *user, const void *data, size_t size_bytes) {
  struct state_save *save = user;
  if (size_bytes == 0) return 0;
  state_sum_add(&save->sum, data, size_bytes);
  return save->writer->write(save->writer->user, data, size_bytes);
}

static samara_status state_write_piece(samara_text_model *m, struct state_save *save,
                                       const void *data, size_t size_bytes) {
  if (state_write(save, data, size_bytes) == 0) return SAMARA_OK;
  SMR_FAIL(&m->error, IO, "the writer failed");
}

static samara_status state_save_all(samara_text_model *m, struct state_save *save) {
  uint8_t header[STATE_HEADER_BYTES] = {0}, word[8];
  size_t bytes;
  samara_status status = samara_session_state_save_memory(m->session, NULL, 0, &bytes);
  if (status != SAMARA_OK)
    return smr_fail(&m->error, status, "%s", samara_session_error(m->session));
  memcpy(header, state_magic, sizeof state_magic);
  state_put(header + 4, STATE_VERSION, 4);
  state_put(header + 8, m->model->checksum, 8);
  state_put(header + 16, m->cached, 8);
  state_put(header + 24, bytes, 8);
  SMR_TRY(state_write_piece(m, save, header, sizeof header));
  for (size_t i = 0; i < m->cached; i++) {
    state_put(word, (uint32_t)m->ids[i], 4);
    SMR_TRY(state_write_piece(m, save, word, 4));
  }
  if (m->cached % 2 != 0) {
    state_put(word, 0, 4);
    SMR_TRY(state_write_piece(m, save, word, 4));
  }
  const samara_writer writer = {sizeof writer, state_write, save};
  status = samara_session_state_save(m->session, &writer);
  if (status != SAMARA_OK)
    return smr_fail(&m->error, status, "%s", samara_session_error(m->session));
  state_sum_piece(&save->sum);
  state_put(word, save->sum.hash, 8);
  return state_write_piece(m, save, word, 8);
}

samara_status samara_text_state_save(samara_text_model *m, const samara_writer *writer) {
  samara_writer own;
  if (m == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_options_read(writer, &own, sizeof own, "samara_writer", &m->error));
  if (own.write == NULL) SMR_FAIL(&m->error, BAD_ARGUMENT, "no writer");
  struct state_save save = {.writer = &own, .sum = {.hash = SMR_FNV_START}};
  save.sum.piece = smr_allocate(&m->memory, STATE_PIECE_BYTES);
  if (save.sum.piece == NULL) return smr_no_memory(&m->error, STATE_PIECE_BYTES);
  const samara_status status = state_save_all(m, &save);
  smr_release(&m->memory, save.sum.piece);
  return status;
}

// ---- loading ----

// Reads the part of a file from `begin` on.
struct state_part {
  const samara_reader *reader;
  uint64_t begin;
};

static int state_read_part(void *user, uint64_t offset, void *buffer, size_t size_bytes) {
  const struct state_part *part = user;
  return part->reader->read(part->reader->user, part->begin + offset, buffer, size_bytes);
}

static samara_status state_read(samara_text_model *m, const samara_reader *reader, uint64_t offset,
                                void *buffer, size_t size_bytes) {
  if (size_bytes == 0 || reader->read(reader->user, offset, buffer, size_bytes) == 0)
    return SAMARA_OK;
  SMR_FAIL(&m->error, IO, "the reader failed at bytes %llu to %llu", (unsigned long long)offset,
           (unsigned long long)(offset + size_bytes));
}

static samara_status state_check_sum(samara_text_model *m, const samara_reader *reader,
                                     uint8_t *piece) {
  struct state_sum sum = {.piece = piece, .hash = SMR_FNV_START};
  uint8_t word[8];
  const uint64_t end = reader->size_bytes - sizeof word;
  for (uint64_t at = 0; at < end; at += sum.used) {
    sum.used = end - at < STATE_PIECE_BYTES ? (size_t)(end - at) : STATE_PIECE_BYTES;
    const size_t used = sum.used;
    SMR_TRY(state_read(m, reader, at, piece, used));
    state_sum_piece(&sum);
    sum.used = used;
  }
  SMR_TRY(state_read(m, reader, end, word, sizeof word));
  if (state_get(word, sizeof word) != sum.hash)
    SMR_FAIL(&m->error, BAD_CHECKSUM, "the file of a text is damaged: its checksum differs");
  return SAMARA_OK;
}

// Read the header, and check the sizes that it states.
static samara_status state_read_header(samara_text_model *m, const samara_reader *reader,
                                       uint64_t *tokens, uint64_t *state_bytes) {
  uint8_t header[STATE_HEADER_BYTES];
  if (reader->size_bytes < STATE_HEADER_BYTES + 8)
    SMR_FAIL(&m->error, BAD_MODEL, "a file of %llu bytes holds no text",
             (unsigned long long)reader->size_bytes);
  SMR_TRY(state_read(m, reader, 0, header, sizeof header));
  if (memcmp(header, state_magic, sizeof state_magic) != 0)
    SMR_FAIL(&m->error, BAD_MODEL, "this is no file of a text");
  if (state_get(header + 4, 4) != STATE_VERSION)
    SMR_FAIL(&m->error, BAD_VERSION, "the file of a text has version %llu, this runtime reads %d",
             (unsigned long long)state_get(header + 4, 4), STATE_VERSION);
  if (state_get(header + 8, 8) != m->model->checksum)
    SMR_FAIL(&m->error, BAD_ARGUMENT, "the file of a text was made with another model");
  *tokens = state_get(header + 16, 8);
  *state_bytes = state_get(header + 24, 8);
  const uint64_t rest = reader->size_bytes - STATE_HEADER_BYTES - 8;
  if (*tokens > rest / 4 || *state_bytes > rest ||
      (*tokens + *tokens % 2) * 4 != rest - *state_bytes)
    SMR_FAIL(&m->error, BAD_MODEL, "the file of a text is truncated, or states other sizes");
  return SAMARA_OK;
}

static samara_status state_load_all(samara_text_model *m, const samara_reader *reader,
                                    uint64_t tokens, uint64_t state_bytes, int32_t *ids,
                                    uint8_t *piece) {
  int64_t length = -1;
  SMR_TRY(state_check_sum(m, reader, piece));
  SMR_TRY(state_read(m, reader, STATE_HEADER_BYTES, ids, (size_t)tokens * sizeof *ids));
  for (uint64_t i = 0; i < tokens; i++) {
    const uint32_t id = (uint32_t)state_get((const uint8_t *)&ids[i], sizeof ids[i]);
    if (id >= m->vocabulary)
      SMR_FAIL(&m->error, BAD_MODEL, "the file of a text has token %lu", (unsigned long)id);
    ids[i] = (int32_t)id;
  }
  struct state_part part = {reader, STATE_HEADER_BYTES + (tokens + tokens % 2) * sizeof *ids};
  const samara_reader inside = {state_read_part, state_bytes, &part};
  samara_status status = samara_session_state_load(m->session, &inside);
  if (status != SAMARA_OK)
    return smr_fail(&m->error, status, "%s", samara_session_error(m->session));
  m->cached = m->count = 0;  // until the length is known to be that of the tokens
  m->has_logits = false;
  status = samara_session_state_read(m->session, "length", &length, sizeof length);
  if (status == SAMARA_OK && length == (int64_t)tokens) return SAMARA_OK;
  (void)samara_session_reset(m->session);
  SMR_FAIL(&m->error, BAD_MODEL, "the file of a text has %llu tokens, its cache has %lld",
           (unsigned long long)tokens, (long long)length);
}

samara_status samara_text_state_load(samara_text_model *m, const samara_reader *reader) {
  uint64_t tokens = 0, state_bytes = 0;
  if (m == NULL) return SAMARA_BAD_ARGUMENT;
  if (reader == NULL || reader->read == NULL) SMR_FAIL(&m->error, BAD_ARGUMENT, "no reader");
  SMR_TRY(state_read_header(m, reader, &tokens, &state_bytes));
  if (m->context != 0 && tokens > m->context)
    SMR_FAIL(&m->error, BAD_MODEL, "the file of a text has %llu tokens, the model takes %zu",
             (unsigned long long)tokens, m->context);
  if (tokens > SIZE_MAX / sizeof(int32_t))
    SMR_FAIL(&m->error, LIMIT, "the file of a text has %llu tokens, too many for this machine",
             (unsigned long long)tokens);
  const size_t bytes = (size_t)tokens * sizeof(int32_t);
  int32_t *ids = smr_allocate(&m->memory, bytes);
  uint8_t *piece = smr_allocate(&m->memory, STATE_PIECE_BYTES);
  samara_status status = SAMARA_OK;
  if (ids == NULL || piece == NULL) status = smr_no_memory(&m->error, bytes + STATE_PIECE_BYTES);
  if (status == SAMARA_OK) status = state_load_all(m, reader, tokens, state_bytes, ids, piece);
  smr_release(&m->memory, piece);
  if (status != SAMARA_OK) {
    smr_release(&m->memory, ids);
    return status;
  }
  smr_generate_end(m);
  smr_release(&m->memory, m->ids);
  m->ids = ids;
  m->room = m->count = m->cached = (size_t)tokens;
  return SAMARA_OK;
}
