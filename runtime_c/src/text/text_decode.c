// SPDX-License-Identifier: Apache-2.0
// Ids to text: the stages of a decoder.
#include "base/fp.h"

#include "text/text_decode.h"

#include <string.h>

static samara_status text_stage(struct smr_text_decoder *d, size_t k, const uint8_t *text,
                                size_t size);

static const uint32_t *text_stage_row(const struct smr_text_decoder *d, size_t k) {
  size_t count;
  const uint32_t *rows = smr_text_steps_of(d->table, SMR_TEXT_DECODER, &count);
  return k < count ? rows + k * SMR_TEXT_ROW : NULL;
}

static samara_status text_made(struct smr_text_decoder *d, struct smr_text_stage_state *s,
                               const void *data, size_t size) {
  return smr_text_append(&s->made, data, size, d->memory, d->error);
}

// Whether a stage before `k` joins all tokens: what follows sees one token, in parts.
static bool text_is_fused(const struct smr_text_decoder *d, size_t k) {
  bool fused = false;
  for (size_t i = 0; i < k; i++) {
    const uint32_t kind = text_stage_row(d, i)[0];
    fused |= kind == SMR_TEXT_STAGE_FUSE || kind == SMR_TEXT_STAGE_BYTES;
  }
  return fused;
}

// ---- bytes ----

// The byte that a character of the byte alphabet stands for; -1 for others.
static int text_byte_of(uint32_t point) {
  if ((point > 0x20 && point < 0x7f) || (point > 0xa0 && point < 0x100 && point != 0xad))
    return (int)point;
  if (point >= 0x100 && point <= 0x120) return (int)(point - 0x100);
  if (point >= 0x121 && point <= 0x142) return (int)(point - 0x121 + 0x7f);
  return point == 0x143 ? 0xad : -1;
}

static samara_status text_stage_bytes(struct smr_text_decoder *d, struct smr_text_stage_state *s,
                                      const uint8_t *text, size_t size) {
  bool coded = true;
  for (size_t at = 0; at < size; at += smr_utf8_bytes(text[at]))
    coded &= text_byte_of(smr_utf8_read(text + at)) >= 0;
  for (size_t at = 0, step; at < size; at += step) {
    step = coded ? smr_utf8_bytes(text[at]) : 1;
    const uint8_t byte = coded ? (uint8_t)text_byte_of(smr_utf8_read(text + at)) : text[at];
    SMR_TRY(smr_utf8_lossy_push(&s->lossy, byte, &s->made, d->memory, d->error));
  }
  return SAMARA_OK;
}

static int text_hex(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  const uint8_t low = c | 0x20;
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// The byte of a token <0xNN>; -1 for others. A plus sign counts as a zero, as in `tokenizers`.
static int text_byte_token(const uint8_t *text, size_t size) {
  if (size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') return -1;
  const int high = text[3] == '+' ? 0 : text_hex(text[3]), low = text_hex(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Pass on a run of bytes: its text, or U+FFFD for every byte if it is not UTF-8 as a whole.
static samara_status text_flush_bytes(struct smr_text_decoder *d, size_t k) {
  struct smr_text_stage_state *s = &d->stages[k];
  const size_t size = s->held.size;
  s->held.size = 0;
  if (size == 0) return SAMARA_OK;
  if (smr_utf8_valid(s->held.data, size) == size) return text_stage(d, k + 1, s->held.data, size);
  for (size_t i = 0; i < size; i++)
    SMR_TRY(text_stage(d, k + 1, (const uint8_t *)"\xef\xbf\xbd", 3));
  return SAMARA_OK;
}

// ---- word pieces ----

// Replace `from` by `to` in the stage's text.
static samara_status text_clean(struct smr_text_decoder *d, struct smr_text_stage_state *s,
                                const char *from, const char *to) {
  const size_t length = strlen(from), size = s->made.size;
  size_t found = 0;
  for (size_t i = 0; i + length <= size; i++) found += memcmp(s->made.data + i, from, length) == 0;
  if (found == 0) return SAMARA_OK;
  s->held.size = 0;
  for (size_t i = 0; i < size;) {
    const bool here = i + length <= size && memcmp(s->made.data + i, from, length) == 0;
    const void *data = here ? (const void *)to : s->made.data + i;
    SMR_TRY(smr_text_append(&s->held, data, here ? strlen(to) : 1, d->memory, d->error));
    i += here ? length : 1;
  }
  const struct smr_text_buffer cleaned = s->held;
  s->held = s->made;
  s->made = cleaned;
  s->held.size = 0;
  return SAMARA_OK;
}

static samara_status text_stage_wordpiece(struct smr_text_decoder *d, const uint32_t *row,
                                          struct smr_text_stage_state *s, const uint8_t *text,
                                          size_t size) {
  static const char *const pairs[][2] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  const struct smr_text_bytes prefix = smr_text_bytes_at(d->table, row[1]);
  if (s->tokens > 0) {
    if (size >= prefix.size && memcmp(text, prefix.data, prefix.size) == 0)
      text += prefix.size, size -= prefix.size;
    else
      SMR_TRY(text_made(d, s, " ", 1));
  }
  SMR_TRY(text_made(d, s, text, size));
  for (size_t i = 0; row[2] != 0 && i < sizeof pairs / sizeof *pairs; i++)
    SMR_TRY(text_clean(d, s, pairs[i][0], pairs[i][1]));
  return SAMARA_OK;
}

// ---- the others ----

static samara_status text_stage_metaspace(struct smr_text_decoder *d, const uint32_t *row,
                                          struct smr_text_stage_state *s, const uint8_t *text,
                                          size_t size, bool first) {
  const struct smr_text_bytes own = smr_text_bytes_at(d->table, row[1]);
  for (size_t at = 0; at < size;) {
    const bool here =
        own.size != 0 && own.size <= size - at && memcmp(text + at, own.data, own.size) == 0;
    const size_t step = here ? own.size : smr_utf8_bytes(text[at]);
    if (!here)
      SMR_TRY(text_made(d, s, text + at, step));
    else if (!first || row[2] == 0)
      SMR_TRY(text_made(d, s, " ", 1));
    at += step;
  }
  return SAMARA_OK;
}

static samara_status text_stage_strip(struct smr_text_decoder *d, const uint32_t *row,
                                      struct smr_text_stage_state *s, const uint8_t *text,
                                      size_t size, bool fused) {
  const struct smr_text_bytes own = smr_text_bytes_at(d->table, row[1]);
  // What was held back comes first; characters that are held now are the last ones.
  SMR_TRY(text_made(d, s, s->held.data, s->held.size));
  SMR_TRY(text_made(d, s, text, size));
  s->held.size = 0;
  const uint8_t *data = s->made.data;
  size_t start = 0, end = s->made.size, taken = fused ? s->stripped : 0;
  while (taken < row[2] && own.size <= end - start && memcmp(data + start, own.data, own.size) == 0)
    start += own.size, taken++;
  // A character that stays ends the start of the text.
  s->stripped = start < end ? SIZE_MAX : taken;
  for (size_t n = 0; n < row[3] && own.size <= end - start &&
                     memcmp(data + end - own.size, own.data, own.size) == 0;
       n++)
    end -= own.size;
  if (fused)
    SMR_TRY(smr_text_append(&s->held, data + end, s->made.size - end, d->memory, d->error));
  if (start != 0 && end != start) memmove(s->made.data, data + start, end - start);
  s->made.size = end - start;
  return SAMARA_OK;
}

static samara_status text_stage_replace(struct smr_text_decoder *d, const uint32_t *row,
                                        struct smr_text_stage_state *s, const uint8_t *text,
                                        size_t size) {
  const struct smr_text_bytes content = smr_text_bytes_at(d->table, row[2]);
  struct smr_text_search search = {smr_text_dfa_at(d->table, row[1]), text, size, 0, 0};
  size_t from = 0, start = 0, end = 0;
  bool found;
  for (;;) {
    SMR_TRY(smr_text_next(&search, &start, &end, &found, d->error));
    if (!found) break;
    SMR_TRY(text_made(d, s, text + from, start - from));
    SMR_TRY(text_made(d, s, content.data, content.size));
    from = end;
  }
  return text_made(d, s, text + from, size - from);
}

// Give a token, or a part of the only one, to stage `k`.
static samara_status text_stage(struct smr_text_decoder *d, size_t k, const uint8_t *text,
                                size_t size) {
  const uint32_t *row = text_stage_row(d, k);
  if (row == NULL) return smr_text_append(&d->out, text, size, d->memory, d->error);
  struct smr_text_stage_state *s = &d->stages[k];
  const bool fused = text_is_fused(d, k);
  s->made.size = 0;
  switch (row[0]) {
    case SMR_TEXT_STAGE_JOIN:
      if (s->tokens > 0) SMR_TRY(text_made(d, s, " ", 1));
      SMR_TRY(text_made(d, s, text, size));
      break;
    case SMR_TEXT_STAGE_BYTES:
      SMR_TRY(text_stage_bytes(d, s, text, size));
      break;
    case SMR_TEXT_STAGE_METASPACE:
      SMR_TRY(text_stage_metaspace(d, row, s, text, size, s->tokens == 0));
      break;
    case SMR_TEXT_STAGE_WORDPIECE:
      SMR_TRY(text_stage_wordpiece(d, row, s, text, size));
      break;
    case SMR_TEXT_STAGE_BYTE_FALLBACK: {
      const int value = text_byte_token(text, size);
      if (value < 0) {
        SMR_TRY(text_flush_bytes(d, k));
        return text_stage(d, k + 1, text, size);
      }
      const uint8_t byte = (uint8_t)value;
      return smr_text_append(&s->held, &byte, 1, d->memory, d->error);
    }
    case SMR_TEXT_STAGE_FUSE:
      SMR_TRY(text_made(d, s, text, size));
      break;
    case SMR_TEXT_STAGE_STRIP:
      SMR_TRY(text_stage_strip(d, row, s, text, size, fused));
      break;
    default:
      SMR_TRY(text_stage_replace(d, row, s, text, size));
      break;
  }
  if (!fused) s->tokens++;
  return text_stage(d, k + 1, s->made.data, s->made.size);
}

samara_status smr_text_decode(struct smr_text_decoder *d, uint32_t id, bool skip_special) {
  const struct smr_text_strings tokens = smr_text_strings_of(d->table, SMR_TEXT_TOKENS);
  const struct smr_text_bytes flags = smr_text_bytes_of(d->table, SMR_TEXT_TOKEN_FLAGS);
  if (id >= tokens.count || (flags.data[id] & SMR_TEXT_EXISTS) == 0) return SAMARA_OK;
  if (skip_special && (flags.data[id] & SMR_TEXT_SPECIAL) != 0) return SAMARA_OK;
  const struct smr_text_bytes token = smr_text_string(&tokens, id);
  return text_stage(d, 0, token.data, token.size);
}

samara_status smr_text_decode_rest(struct smr_text_decoder *d) {
  const uint32_t *row;
  for (size_t k = 0; (row = text_stage_row(d, k)) != NULL; k++) {
    struct smr_text_stage_state *s = &d->stages[k];
    if (row[0] == SMR_TEXT_STAGE_BYTE_FALLBACK) SMR_TRY(text_flush_bytes(d, k));
    if (row[0] == SMR_TEXT_STAGE_BYTES) {
      s->made.size = 0;
      SMR_TRY(smr_utf8_lossy_end(&s->lossy, &s->made, d->memory, d->error));
      if (s->made.size != 0) SMR_TRY(text_stage(d, k + 1, s->made.data, s->made.size));
    }
    s->held.size = 0;  // characters that a strip takes off the end
  }
  return SAMARA_OK;
}

void smr_text_decoder_end(struct smr_text_decoder *d) {
  for (size_t k = 0; k < SMR_TEXT_STEPS; k++) {
    smr_release(d->memory, d->stages[k].made.data);
    smr_release(d->memory, d->stages[k].held.data);
  }
  smr_release(d->memory, d->out.data);
}
