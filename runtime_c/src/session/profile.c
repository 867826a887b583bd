// SPDX-License-Identifier: Apache-2.0
// What ran and how long it took: rows, and Chrome trace events.
#include "base/fp.h"

#include "session/session.h"

#include <inttypes.h>
#include <samara/samara_experimental.h>
#include <stdio.h>

static bool profile_ran(const samara_session *session, const struct smr_frame_node *node) {
  return node->run_number == session->run_number && node->count != 0;
}

static samara_profile_row profile_row(const struct smr_frame *frame,
                                      const struct smr_frame_node *node) {
  return (samara_profile_row){.node = node->node->name,
                              .op = node->node->op->name,
                              .kernel = node->alias || node->placed ? "view" : node->job.kernel,
                              .function = frame->function->name,
                              .start_ns = node->start_ns,
                              .total_ns = node->total_ns,
                              .count = node->count};
}

static samara_status profile_check(const samara_session *session) {
  samara_error *error = &((samara_session *)(uintptr_t)session)->error;
  if (session->run_number == 0) SMR_FAIL(error, BAD_STATE, "nothing has run yet");
  if (!session->profiled)
    SMR_FAIL(error, BAD_STATE, "the last run was not timed: switch profiling on before it");
  return SAMARA_OK;
}

samara_status samara_session_set_profiling(samara_session *session, bool on) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  session->profiling = on;
  return SAMARA_OK;
}

samara_status samara_session_profile(const samara_session *session, samara_profile_row *rows,
                                     size_t capacity, size_t *count) {
  if (session == NULL || count == NULL || (rows == NULL && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  SMR_TRY(profile_check(session));
  size_t used = 0;
  for (uint32_t i = session->frame_count; i-- > 0;) {
    const struct smr_frame *frame = session->order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++) {
      if (!profile_ran(session, &frame->nodes[n])) continue;
      if (used < capacity) rows[used] = profile_row(frame, &frame->nodes[n]);
      used++;
    }
  }
  *count = used;
  return SAMARA_OK;
}

samara_status samara_session_profile_sources(const samara_session *session, const char **files,
                                             uint32_t *lines, size_t capacity, size_t *count) {
  if (session == NULL || count == NULL || ((files == NULL || lines == NULL) && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  SMR_TRY(profile_check(session));
  size_t used = 0;
  for (uint32_t i = session->frame_count; i-- > 0;) {
    const struct smr_frame *frame = session->order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++) {
      if (!profile_ran(session, &frame->nodes[n])) continue;
      if (used < capacity) {
        const struct smr_source *source = smr_node_source(session, &frame->nodes[n]);
        files[used] = source != NULL ? source->file : "";
        lines[used] = source != NULL ? source->line : 0;
      }
      used++;
    }
  }
  *count = used;
  return SAMARA_OK;
}

// ---- trace ----

// Text into a buffer that may be too small; `used` goes on counting.
struct profile_text {
  char *buffer;
  size_t capacity, used;
};

static void profile_char(struct profile_text *text, char c) {
  if (text->used + 1 < text->capacity) text->buffer[text->used] = c;
  text->used++;
}

static void profile_raw(struct profile_text *text, const char *s) {
  while (*s != '\0') profile_char(text, *s++);
}

static void profile_string(struct profile_text *text, const char *s) {
  profile_char(text, '"');
  for (; s != NULL && *s != '\0'; s++) {
    const unsigned char c = (unsigned char)*s;
    char escaped[8];
    if (c == '"' || c == '\\') {
      profile_char(text, '\\');
      profile_char(text, *s);
    } else if (c < 0x20) {
      snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)c);
      profile_raw(text, escaped);
    } else {
      profile_char(text, *s);
    }
  }
  profile_char(text, '"');
}

static void profile_us(struct profile_text *text, uint64_t ns) {
  char number[40];
  snprintf(number, sizeof number, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
  profile_raw(text, number);
}

static void profile_event(struct profile_text *text, const samara_profile_row *row) {
  char number[24];
  profile_raw(text, "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":");
  profile_string(text, row->node);
  profile_raw(text, ",\"cat\":");
  profile_string(text, row->op);
  profile_raw(text, ",\"ts\":");
  profile_us(text, row->start_ns);
  profile_raw(text, ",\"dur\":");
  profile_us(text, row->total_ns);
  profile_raw(text, ",\"args\":{\"op\":");
  profile_string(text, row->op);
  profile_raw(text, ",\"kernel\":");
  profile_string(text, row->kernel);
  profile_raw(text, ",\"function\":");
  profile_string(text, row->function);
  snprintf(number, sizeof number, "%" PRIu64, row->count);
  profile_raw(text, ",\"count\":");
  profile_raw(text, number);
  profile_raw(text, "}}");
}

samara_status samara_session_profile_trace(const samara_session *session, char *buffer,
                                           size_t capacity, size_t *needed_bytes) {
  if (session == NULL || needed_bytes == NULL || (buffer == NULL && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  SMR_TRY(profile_check(session));
  struct profile_text text = {.buffer = buffer, .capacity = capacity};
  bool first = true;
  profile_raw(&text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  for (uint32_t i = session->frame_count; i-- > 0;) {
    const struct smr_frame *frame = session->order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++) {
      if (!profile_ran(session, &frame->nodes[n])) continue;
      const samara_profile_row row = profile_row(frame, &frame->nodes[n]);
      if (!first) profile_char(&text, ',');
      profile_event(&text, &row);
      first = false;
    }
  }
  profile_raw(&text, "]}\n");
  if (capacity != 0) buffer[text.used < capacity ? text.used : capacity - 1] = '\0';
  *needed_bytes = text.used + 1;
  return SAMARA_OK;
}
