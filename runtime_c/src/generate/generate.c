// SPDX-License-Identifier: Apache-2.0
// A text model: a session whose variables hold the tokens so far, and what makes text of its
// logits. Uses the public functions of models, sessions, tokenizers and samplers only.
#include "base/fp.h"

#include "generate/generate.h"

#include <string.h>

#include "base/checked.h"

// ---- creation ----

// A value of the file's metadata; NULL if it has none.
static const char *generate_metadata(const samara_model *model, const char *wanted) {
  const char *key, *value;
  for (size_t i = 0; samara_model_metadata(model, i, &key, &value) == SAMARA_OK; i++)
    if (strcmp(key, wanted) == 0) return value;
  return NULL;
}

static size_t generate_number(const samara_model *model, const char *key, size_t absent) {
  const char *text = generate_metadata(model, key);
  size_t value = 0;
  if (text == NULL || *text == '\0') return absent;
  for (; *text >= '0' && *text <= '9' && value < SIZE_MAX / 10 - 1; text++)
    value = value * 10 + (size_t)(*text - '0');
  return *text == '\0' ? value : absent;
}

// The tokens that end a text, "1,2,3".
static samara_status generate_read_ends(samara_text_model *m) {
  const char *text = generate_metadata(m->model, "text.end_tokens");
  size_t count = 0;
  for (const char *at = text; at != NULL && *at != '\0'; at++) count += *at == ',';
  if (text == NULL || *text == '\0') return SAMARA_OK;
  m->ends = smr_allocate_zeroed(&m->memory, count + 1, sizeof *m->ends);
  if (m->ends == NULL) return smr_no_memory(&m->error, (count + 1) * sizeof *m->ends);
  int64_t value = -1;  // no digit yet
  for (const char *at = text;; at++) {
    if (*at >= '0' && *at <= '9' && value <= INT32_MAX) {
      value = (value < 0 ? 0 : value * 10) + (*at - '0');
      continue;
    }
    if ((*at != ',' && *at != '\0') || value < 0 || value > INT32_MAX)
      SMR_FAIL(&m->error, BAD_MODEL, "the file's text.end_tokens is no list of tokens");
    m->ends[m->end_count++] = (int32_t)value;
    value = -1;
    if (*at == '\0') return SAMARA_OK;
  }
}

static samara_status generate_check_model(samara_text_model *m) {
  samara_tensor_info in, out;
  samara_tensor length;
  const char *kind = generate_metadata(m->model, "text.kind");
  if (kind != NULL && strcmp(kind, "encoder") == 0)
    SMR_FAIL(&m->error, UNSUPPORTED,
             "the file has an encoder, which makes vectors of texts, and no text: give a session "
             "the tokens of samara_tokenizer_encode");
  const bool fits = samara_model_input_count(m->model, NULL) == 1 &&
                    samara_model_output_count(m->model, NULL) == 1 &&
                    samara_model_input_info(m->model, NULL, 0, &in) == SAMARA_OK &&
                    samara_model_output_info(m->model, NULL, 0, &out) == SAMARA_OK &&
                    in.dtype == SAMARA_INT64 && in.rank == 2 && in.shape[0] == 1 &&
                    out.dtype == SAMARA_FLOAT32 && out.rank == 2 && out.shape[0] == 1 &&
                    out.shape[1] > 0 && out.shape[1] <= INT32_MAX;
  if (!fits || samara_session_state_info(m->session, "length", &length) != SAMARA_OK ||
      length.rank != 0 || length.dtype != SAMARA_INT64)
    SMR_FAIL(&m->error, UNSUPPORTED,
             "this is no text model, which takes token numbers, gives logits of one token, and has "
             "a variable 'length': export one with samara.export_text");
  m->vocabulary = (size_t)out.shape[1];
  m->fixed = in.shape[1] > 0 ? (size_t)in.shape[1] : 0;
  m->context = generate_number(m->model, "text.context", 0);
  m->chunk = generate_number(m->model, "text.chunk", 1);
  if (m->fixed > 1)
    SMR_FAIL(&m->error, UNSUPPORTED, "a text model takes 1 or any number of tokens, not %zu",
             m->fixed);
  if (m->chunk == 0)
    SMR_FAIL(&m->error, BAD_MODEL, "the file's text.chunk is 0: a run takes at least one token");
  if (m->fixed != 0) m->chunk = m->fixed;
  return SAMARA_OK;
}

static samara_status generate_open(samara_text_model *m, const samara_session_options *options) {
  SMR_TRY(samara_session_create(m->model, options, &m->session, &m->error));
  SMR_TRY(generate_check_model(m));
  const samara_status status = samara_tokenizer_of_model(m->model, &m->tokenizer, &m->error);
  if (status != SAMARA_OK && status != SAMARA_NOT_FOUND) return status;
  m->error = (samara_error){SAMARA_OK, ""};  // a file needs no tokenizer
  return generate_read_ends(m);
}

samara_status samara_text_model_create(const samara_model *model,
                                       const samara_session_options *options,
                                       samara_text_model **out, samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "out is NULL");
  *out = NULL;
  if (model == NULL) SMR_FAIL(error, BAD_ARGUMENT, "expected a model");
  const samara_allocator memory = model->allocator;
  samara_text_model *m = smr_allocate_zeroed(&memory, 1, sizeof *m);
  if (m == NULL) return smr_no_memory(error, sizeof *m);
  m->model = model;
  m->memory = memory;
  const samara_status status = generate_open(m, options);
  if (status == SAMARA_OK) {
    *out = m;
    return status;
  }
  if (error != NULL) *error = m->error;
  samara_text_model_destroy(m);
  return status;
}

void smr_generate_end(samara_text_model *m) {
  samara_sampler_destroy(m->sampler);
  samara_text_stream_destroy(m->stream);
  for (size_t i = 0; i < m->stop_count; i++) smr_release(&m->memory, m->stops[i].data);
  smr_release(&m->memory, m->stops);
  if (m->chosen_ends != m->ends) smr_release(&m->memory, m->chosen_ends);
  m->sampler = NULL;
  m->stream = NULL;
  m->stops = NULL;
  m->stop_count = 0;
  m->chosen_ends = NULL;
  m->chosen_end_count = 0;
  m->held.size = m->given = 0;
}

void samara_text_model_destroy(samara_text_model *m) {
  if (m == NULL) return;
  const samara_allocator memory = m->memory;
  smr_generate_end(m);
  samara_session_destroy(m->session);
  samara_tokenizer_close(m->tokenizer);
  smr_release(&memory, m->held.data);
  smr_release(&memory, m->ids);
  smr_release(&memory, m->ends);
  smr_release(&memory, m);
}

// ---- tokens ----

// The session's error as the model's.
static samara_status generate_took(samara_text_model *m, samara_status status) {
  if (status != SAMARA_OK)
    (void)smr_fail(&m->error, status, "%s", samara_session_error(m->session));
  return status;
}

static samara_status generate_reserve(samara_text_model *m, size_t count) {
  size_t bytes, room = m->room;
  if (count <= room) return SAMARA_OK;
  while (room < count) room = room < 256 ? 256 : room > SIZE_MAX / 2 ? count : 2 * room;
  if (!smr_mul_size(room, sizeof *m->ids, &bytes)) return smr_no_memory(&m->error, SIZE_MAX);
  int32_t *ids = smr_allocate(&m->memory, bytes);
  if (ids == NULL) return smr_no_memory(&m->error, bytes);
  if (m->count != 0) memcpy(ids, m->ids, m->count * sizeof *ids);
  smr_release(&m->memory, m->ids);
  m->ids = ids;
  m->room = room;
  return SAMARA_OK;
}

static samara_status generate_check_ids(samara_text_model *m, const int32_t *ids, size_t count) {
  if (ids == NULL && count != 0) SMR_FAIL(&m->error, BAD_ARGUMENT, "no tokens");
  for (size_t i = 0; i < count; i++)
    if (ids[i] < 0 || (size_t)ids[i] >= m->vocabulary)
      SMR_FAIL(&m->error, BAD_ARGUMENT, "token %zu is %d, the model has 0 to %zu", i, (int)ids[i],
               m->vocabulary - 1);
  return SAMARA_OK;
}

// Run the next `rows` tokens.
static samara_status generate_run(samara_text_model *m, size_t rows) {
  samara_tensor input;
  const int64_t shape[] = {1, (int64_t)rows};
  const int64_t *const shapes[] = {shape};
  if (m->rows != rows) {
    m->rows = 0;
    SMR_TRY(generate_took(m, samara_session_resize(m->session, shapes, 1)));
    m->rows = rows;
  }
  SMR_TRY(generate_took(m, samara_session_input(m->session, 0, &input)));
  for (size_t i = 0; i < rows; i++) ((int64_t *)input.data)[i] = m->ids[m->cached + i];
  SMR_TRY(generate_took(m, samara_session_run(m->session)));
  m->cached += rows;
  return SAMARA_OK;
}

// Run all tokens that the session has not seen.
static samara_status generate_feed(samara_text_model *m) {
  if (m->context != 0 && m->count > m->context)
    SMR_FAIL(&m->error, LIMIT, "the text has %zu tokens, and the model takes %zu", m->count,
             m->context);
  while (m->cached < m->count) {
    const size_t left = m->count - m->cached;
    m->has_logits = false;
    SMR_TRY(generate_run(m, left < m->chunk ? left : m->chunk));
    m->has_logits = true;
  }
  return SAMARA_OK;
}

// Forget the tokens from `count` on. A cache that has lost earlier rows is emptied.
static samara_status generate_rewind(samara_text_model *m, size_t count) {
  const int64_t length = (int64_t)count;
  if (count < m->cached) {
    m->has_logits = false;
    if (samara_session_state_write(m->session, "length", &length, sizeof length) == SAMARA_OK) {
      m->cached = count;
    } else {
      SMR_TRY(generate_took(m, samara_session_reset(m->session)));
      m->cached = 0;
    }
  }
  if (count < m->count) m->count = count;
  return SAMARA_OK;
}

size_t samara_text_model_context(const samara_text_model *m) { return m != NULL ? m->context : 0; }

const samara_tokenizer *samara_text_model_tokenizer(const samara_text_model *m) {
  return m != NULL ? m->tokenizer : NULL;
}

samara_session *samara_text_model_session(samara_text_model *m) {
  return m != NULL ? m->session : NULL;
}

const char *samara_text_model_error(const samara_text_model *m) {
  return m != NULL ? m->error.text : "no text model";
}

const int32_t *samara_text_model_tokens(const samara_text_model *m, size_t *count) {
  if (count != NULL) *count = m != NULL ? m->count : 0;
  return m != NULL ? m->ids : NULL;
}

samara_status samara_text_model_put(samara_text_model *m, const int32_t *ids, size_t count,
                                    size_t *reused) {
  if (m == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(generate_check_ids(m, ids, count));
  if (m->context != 0 && count > m->context)
    SMR_FAIL(&m->error, LIMIT, "the text has %zu tokens, and the model takes %zu", count,
             m->context);
  SMR_TRY(generate_reserve(m, count));
  size_t same = 0;
  while (same < count && same < m->count && m->ids[same] == ids[same]) same++;
  // The logits of the last token come of a run, unless they are still there.
  const bool whole = same == count && count == m->cached && m->has_logits;
  if (same == count && !whole && same > 0) same--;
  smr_generate_end(m);
  SMR_TRY(generate_rewind(m, same));
  const size_t kept = m->cached;
  // The caller may give tokens of samara_text_model_tokens.
  if (count > same) memmove(m->ids + same, ids + same, (count - same) * sizeof *ids);
  m->count = count;
  if (reused != NULL) *reused = kept;
  return generate_feed(m);
}

samara_status samara_text_model_prompt(samara_text_model *m, const char *text, size_t text_bytes,
                                       uint32_t flags, size_t *reused) {
  if (m == NULL) return SAMARA_BAD_ARGUMENT;
  if (m->tokenizer == NULL)
    SMR_FAIL(&m->error, NOT_FOUND, "the file has no tokenizer: export the model with one");
  size_t count, bytes;
  SMR_TRY(
      samara_tokenizer_encode(m->tokenizer, text, text_bytes, flags, NULL, 0, &count, &m->error));
  if (!smr_mul_size(count + 1, sizeof(int32_t), &bytes)) return smr_no_memory(&m->error, SIZE_MAX);
  int32_t *ids = smr_allocate(&m->memory, bytes);
  if (ids == NULL) return smr_no_memory(&m->error, bytes);
  samara_status status =
      samara_tokenizer_encode(m->tokenizer, text, text_bytes, flags, ids, count, &count, &m->error);
  if (status == SAMARA_OK) status = samara_text_model_put(m, ids, count, reused);
  smr_release(&m->memory, ids);
  return status;
}

samara_status samara_text_model_logits(samara_text_model *m, const float **logits, size_t *count) {
  samara_tensor out;
  if (m == NULL || logits == NULL) return SAMARA_BAD_ARGUMENT;
  if (m->count != 0 && m->cached == m->count && !m->has_logits) {  // loaded from a file
    const size_t all = m->count;
    SMR_TRY(generate_rewind(m, all - 1));
    m->count = all;
  }
  SMR_TRY(generate_feed(m));
  if (!m->has_logits)
    SMR_FAIL(&m->error, BAD_STATE, "no token has run: put a text of at least one token first");
  SMR_TRY(generate_took(m, samara_session_output(m->session, 0, &out)));
  *logits = out.data;
  if (count != NULL) *count = m->vocabulary;
  return SAMARA_OK;
}

void samara_text_model_cancel(samara_text_model *m) {
  if (m != NULL) samara_session_cancel(m->session);
}

// ---- generation ----

static samara_status generate_take_stops(samara_text_model *m, const samara_text_options *options) {
  if (options->stop_count == 0) return SAMARA_OK;
  m->stops = smr_allocate_zeroed(&m->memory, options->stop_count, sizeof *m->stops);
  if (m->stops == NULL) return smr_no_memory(&m->error, options->stop_count * sizeof *m->stops);
  for (size_t i = 0; i < options->stop_count; i++) {
    const char *stop = options->stops[i];
    if (stop == NULL || *stop == '\0') SMR_FAIL(&m->error, BAD_ARGUMENT, "stop %zu is empty", i);
    SMR_TRY(smr_text_append(&m->stops[i], stop, strlen(stop), &m->memory, &m->error));
    m->stop_count = i + 1;
  }
  return SAMARA_OK;
}

static samara_status generate_take_ends(samara_text_model *m, const samara_text_options *options) {
  if (options->ignore_end_tokens) return SAMARA_OK;
  m->chosen_ends = m->ends;
  m->chosen_end_count = m->end_count;
  if (options->end_token_count == 0) return SAMARA_OK;
  size_t bytes;
  m->chosen_ends = NULL;
  m->chosen_end_count = 0;
  if (!smr_mul_size(options->end_token_count, sizeof(int32_t), &bytes))
    return smr_no_memory(&m->error, SIZE_MAX);
  SMR_TRY(generate_check_ids(m, options->end_tokens, options->end_token_count));
  m->chosen_ends = smr_allocate(&m->memory, bytes);
  if (m->chosen_ends == NULL) return smr_no_memory(&m->error, bytes);
  memcpy(m->chosen_ends, options->end_tokens, bytes);
  m->chosen_end_count = options->end_token_count;
  return SAMARA_OK;
}

static samara_status generate_begin(samara_text_model *m, const samara_text_options *options) {
  SMR_TRY(generate_take_stops(m, options));
  SMR_TRY(generate_take_ends(m, options));
  SMR_TRY(
      samara_sampler_create(options->sampler, m->vocabulary, &m->memory, &m->sampler, &m->error));
  for (size_t i = 0; i < m->count; i++)
    SMR_TRY(samara_sampler_accept(m->sampler, m->ids[i], &m->error));
  if (m->tokenizer != NULL)
    SMR_TRY(
        samara_text_stream_create(m->tokenizer, SAMARA_TEXT_SKIP_SPECIAL, &m->stream, &m->error));
  m->left = options->max_tokens != 0 ? options->max_tokens : SIZE_MAX;
  m->end = SAMARA_TEXT_GOING;
  return SAMARA_OK;
}

samara_status samara_text_model_begin(samara_text_model *m, const samara_text_options *options) {
  samara_text_options own;
  if (m == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_options_read(options, &own, sizeof own, "text options", &m->error));
  if (own.stop_count != 0 && (own.stops == NULL || m->tokenizer == NULL))
    SMR_FAIL(&m->error, BAD_ARGUMENT, "stops are NULL, or the file has no tokenizer to find them");
  if (m->count == 0)
    SMR_FAIL(&m->error, BAD_STATE, "there is no text to continue: put one of at least one token");
  smr_generate_end(m);
  const samara_status status = generate_begin(m, &own);
  if (status != SAMARA_OK) smr_generate_end(m);
  return status;
}

// The bytes at the end of the text that may become a stop, unless it is the `last` part; all bytes
// before them are final. If a stop is there, *found is true and the result counts it and what
// follows.
static size_t generate_open_end(const samara_text_model *m, bool last, bool *found) {
  const uint8_t *text = m->held.data;
  const size_t size = m->held.size;
  for (size_t at = m->given; at < size; at++) {
    bool begun = false;
    for (size_t i = 0; i < m->stop_count; i++) {
      const struct smr_text_buffer *stop = &m->stops[i];
      const size_t n = size - at < stop->size ? size - at : stop->size;
      if ((last && n < stop->size) || memcmp(text + at, stop->data, n) != 0) continue;
      begun = true;
      *found = *found || n == stop->size;
    }
    if (begun) return size - at;
  }
  return 0;
}

// Pass on what is final of the text, all of it if nothing follows.
static void generate_pass(samara_text_model *m, bool last, const char **text, size_t *text_bytes) {
  bool found = false;
  const size_t open = m->stop_count != 0 ? generate_open_end(m, last, &found) : 0;
  if (found) m->end = SAMARA_TEXT_STOP;
  *text = m->held.data != NULL ? (const char *)m->held.data + m->given : "";
  *text_bytes = m->held.size - m->given - open;
  m->given += *text_bytes;
}

// The next token, or the end.
static samara_status generate_choose(samara_text_model *m, int32_t *token) {
  const float *logits;
  size_t count;
  if (m->left == 0) {
    m->end = SAMARA_TEXT_MOST_TOKENS;
    return SAMARA_OK;
  }
  if (m->context != 0 && m->count > m->context) {
    m->end = SAMARA_TEXT_FULL;
    return SAMARA_OK;
  }
  SMR_TRY(samara_text_model_logits(m, &logits, &count));
  SMR_TRY(generate_reserve(m, m->count + 1));
  SMR_TRY(samara_sampler_next(m->sampler, logits, count, token, &m->error));
  m->ids[m->count++] = *token;
  m->left--;
  for (size_t i = 0; i < m->chosen_end_count; i++)
    if (m->chosen_ends[i] == *token) m->end = SAMARA_TEXT_END_TOKEN;
  return SAMARA_OK;
}

samara_status samara_text_model_step(samara_text_model *m, int32_t *token, const char **text,
                                     size_t *text_bytes, samara_text_end *end) {
  if (m == NULL || token == NULL || text == NULL || text_bytes == NULL || end == NULL)
    return SAMARA_BAD_ARGUMENT;
  if (m->sampler == NULL || m->end != SAMARA_TEXT_GOING)
    SMR_FAIL(&m->error, BAD_STATE, "no text is being made: begin one");
  int32_t chosen = -1;
  const char *part = "";
  size_t part_bytes = 0;
  SMR_TRY(generate_choose(m, &chosen));
  const bool last = m->end != SAMARA_TEXT_GOING;
  // What was passed on is not needed any more.
  if (m->given != 0) {
    memmove(m->held.data, m->held.data + m->given, m->held.size - m->given);
    m->held.size -= m->given;
    m->given = 0;
  }
  if (m->stream != NULL) {
    samara_status status =
        last ? samara_text_stream_finish(m->stream, &part, &part_bytes, &m->error)
             : samara_text_stream_push(m->stream, chosen, &part, &part_bytes, &m->error);
    if (status == SAMARA_OK)
      status = smr_text_append(&m->held, part, part_bytes, &m->memory, &m->error);
    if (status != SAMARA_OK) {
      // The stream cannot go on.
      if (chosen >= 0) m->count--;
      smr_generate_end(m);
      return status;
    }
  }
  generate_pass(m, last, text, text_bytes);
  *token = chosen;
  *end = m->end;
  return SAMARA_OK;
}
