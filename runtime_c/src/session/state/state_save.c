// SPDX-License-Identifier: Apache-2.0
// Writes all variables of a session through a callback, as one file of named tensors.
#include "base/fp.h"

#include "session/session.h"
#include "session/state/tensor_header.h"

#include <string.h>

// Buffers small writes, so that the callback is not called for every quote. With `counting` set,
// only counts bytes.
struct save_stream {
  samara_writer writer;
  samara_error *error;
  uint64_t bytes;  // so far
  size_t used;
  bool counting;
  char buffer[512];
};

static samara_status save_piece(struct save_stream *s, const void *data, size_t size_bytes) {
  if (size_bytes == 0 || s->writer.write(s->writer.user, data, size_bytes) == 0) return SAMARA_OK;
  SMR_FAIL(s->error, IO, "state: the writer failed within the first %llu bytes",
           (unsigned long long)s->bytes);
}

static samara_status save_flush(struct save_stream *s) {
  const size_t used = s->used;
  s->used = 0;
  return save_piece(s, s->buffer, used);
}

static samara_status save_bytes(struct save_stream *s, const char *data, size_t size_bytes) {
  s->bytes += size_bytes;
  for (size_t i = 0; !s->counting && i < size_bytes; i++) {
    if (s->used == sizeof s->buffer) SMR_TRY(save_flush(s));
    s->buffer[s->used++] = data[i];
  }
  return SAMARA_OK;
}

static samara_status save_text(struct save_stream *s, const char *text) {
  return save_bytes(s, text, strlen(text));
}

static samara_status save_number(struct save_stream *s, uint64_t value) {
  char digits[20];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + value % 10);
  while ((value /= 10) != 0);
  return save_bytes(s, digits + at, sizeof digits - at);
}

// Write a string as JSON, in quotes and escaped.
static samara_status save_string(struct save_stream *s, const char *text) {
  static const char hex[] = "0123456789abcdef";
  SMR_TRY(save_text(s, "\""));
  for (; *text != '\0'; text++) {
    const uint8_t c = (uint8_t)*text;
    const char control[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    const char quoted[] = {'\\', *text};
    if (c < 0x20)
      SMR_TRY(save_bytes(s, control, sizeof control));
    else if (c == '"' || c == '\\')
      SMR_TRY(save_bytes(s, quoted, sizeof quoted));
    else
      SMR_TRY(save_bytes(s, text, 1));
  }
  return save_text(s, "\"");
}

static samara_status save_row(struct save_stream *s, const struct smr_tensor *v, uint64_t begin) {
  SMR_TRY(save_text(s, ","));
  SMR_TRY(save_string(s, v->name));
  SMR_TRY(save_text(s, ":{\"dtype\":\""));
  SMR_TRY(save_text(s, smr_header_dtype_name(v->dtype)));
  SMR_TRY(save_text(s, "\",\"shape\":["));
  for (uint32_t i = 0; i < v->rank; i++) {
    if (i != 0) SMR_TRY(save_text(s, ","));
    SMR_TRY(save_number(s, (uint64_t)v->dims[i]));
  }
  SMR_TRY(save_text(s, "],\"data_offsets\":["));
  SMR_TRY(save_number(s, begin));
  SMR_TRY(save_text(s, ","));
  SMR_TRY(save_number(s, begin + v->size_bytes));
  return save_text(s, "]}");
}

// The next variable in the order of the data: wide elements first, so that each is aligned.
static const struct smr_session_variable *save_next(const samara_session *session, size_t *width,
                                                    uint32_t *at) {
  for (; *width != 0; *width /= 2, *at = 0)
    while (*at < session->state.count) {
      const struct smr_session_variable *v = &session->state.variables[(*at)++];
      if (smr_dtype_bytes(v->variable->dtype) == *width) return v;
    }
  return NULL;
}

static samara_status save_header(struct save_stream *s, const samara_session *session) {
  const struct smr_session_variable *v;
  size_t width = 8;
  uint32_t at = 0;
  uint64_t begin = 0;
  SMR_TRY(save_text(s, "{\"" SMR_HEADER_METADATA "\":{\"samara.function\":"));
  SMR_TRY(save_string(s, session->entry->function->name));
  SMR_TRY(save_text(s, "}"));
  while ((v = save_next(session, &width, &at)) != NULL) {
    const struct smr_tensor value = smr_state_tensor(v);
    SMR_TRY(save_row(s, &value, begin));
    begin += value.size_bytes;
  }
  SMR_TRY(save_text(s, "}"));
  while (s->bytes % 8 != 0) SMR_TRY(save_text(s, " "));
  return SAMARA_OK;
}

static samara_status save_all(struct save_stream *s, const samara_session *session) {
  SMR_TRY(smr_state_fetch(session));
  SMR_TRY(save_header(s, session));  // counts
  const uint64_t header_bytes = s->bytes;
  if (header_bytes > SMR_HEADER_MAX_BYTES)
    SMR_FAIL(s->error, UNSUPPORTED, "state: the header would have %llu bytes, more than %d",
             (unsigned long long)header_bytes, SMR_HEADER_MAX_BYTES);
  char prefix[SMR_HEADER_PREFIX_BYTES];
  for (size_t i = 0; i < sizeof prefix; i++) prefix[i] = (char)(header_bytes >> 8 * i & 0xff);
  s->counting = false;
  s->bytes = 0;
  SMR_TRY(save_bytes(s, prefix, sizeof prefix));
  SMR_TRY(save_header(s, session));
  SMR_TRY(save_flush(s));
  const struct smr_session_variable *v;
  size_t width = 8;
  uint32_t at = 0;
  while ((v = save_next(session, &width, &at)) != NULL) {
    const struct smr_tensor value = smr_state_tensor(v);
    s->bytes += value.size_bytes;
    const void *data;
    SMR_TRY(smr_value_read(&session->common, &value, &data));
    SMR_TRY(save_piece(s, data, value.size_bytes));
  }
  return SAMARA_OK;
}

samara_status samara_session_state_save(const samara_session *session,
                                        const samara_writer *writer) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  // Errors are written even to const sessions.
  samara_error *error = &((samara_session *)(uintptr_t)session)->error;
  struct save_stream s = {.error = error, .counting = true};
  SMR_TRY(smr_options_read(writer, &s.writer, sizeof s.writer, "samara_writer", error));
  if (s.writer.write == NULL) SMR_FAIL(error, BAD_ARGUMENT, "state: no writer");
  for (uint32_t i = 0; i < session->state.count; i++)
    if (strcmp(session->state.variables[i].variable->name, SMR_HEADER_METADATA) == 0)
      SMR_FAIL(error, UNSUPPORTED,
               "state: a variable named " SMR_HEADER_METADATA " cannot be stored in this format");
  return save_all(&s, session);
}

// ---- into memory ----

struct save_memory {
  char *buffer;
  size_t capacity, used;
};

// Bytes beyond the buffer are only counted.
static int save_to_memory(void *user, const void *data, size_t size_bytes) {
  struct save_memory *m = user;
  if (m->used <= m->capacity && size_bytes <= m->capacity - m->used && m->buffer != NULL)
    memcpy(m->buffer + m->used, data, size_bytes);
  m->used += size_bytes;
  return 0;
}

samara_status samara_session_state_save_memory(const samara_session *session, void *buffer,
                                               size_t capacity, size_t *needed_bytes) {
  if (session == NULL || needed_bytes == NULL) return SAMARA_BAD_ARGUMENT;
  struct save_memory m = {.buffer = buffer, .capacity = buffer != NULL ? capacity : 0};
  const samara_writer writer = {sizeof writer, save_to_memory, &m};
  SMR_TRY(samara_session_state_save(session, &writer));
  *needed_bytes = m.used;
  if (buffer == NULL || m.used <= capacity) return SAMARA_OK;
  samara_error *error = &((samara_session *)(uintptr_t)session)->error;
  SMR_FAIL(error, BAD_ARGUMENT, "state: %zu bytes do not fit into the buffer of %zu", m.used,
           capacity);
}
