// SPDX-License-Identifier: Apache-2.0
// The profile of the last run as Chrome trace events.
#include "base/fp.h"

#include "session/session.h"

#include "base/format.h"

// Text in a buffer that may be too small; `used` counts the full length.
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
      (void)smr_format(escaped, sizeof escaped, "\\u%04x", (unsigned)c);
      profile_raw(text, escaped);
    } else {
      profile_char(text, *s);
    }
  }
  profile_char(text, '"');
}

static void profile_us(struct profile_text *text, uint64_t ns) {
  char number[40];
  (void)smr_format(number, sizeof number, "%llu.%03u", (unsigned long long)(ns / 1000),
                   (unsigned)(ns % 1000));
  profile_raw(text, number);
}

static void profile_event(struct profile_text *text, const struct smr_frame_node *node,
                          const samara_profile_row *row) {
  const struct smr_choice *choice = &node->job.choice;
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
  if (SMR_HAS(choices) && choice->count > 0) {
    profile_raw(text, ",\"algorithm\":");
    profile_string(text, choice->candidates[0].algorithm);
  }
  if (SMR_HAS(choices) && choice->count > 1) {
    profile_raw(text, ",\"runner_up\":");
    profile_string(text, choice->candidates[1].algorithm);
  }
  profile_raw(text, ",\"function\":");
  profile_string(text, row->function);
  (void)smr_format(number, sizeof number, "%llu", (unsigned long long)row->count);
  profile_raw(text, ",\"count\":");
  profile_raw(text, number);
  profile_raw(text, "}}");
}

samara_status samara_session_profile_trace(const samara_session *session, char *buffer,
                                           size_t capacity, size_t *needed_bytes) {
  if (session == NULL || needed_bytes == NULL || (buffer == NULL && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  struct smr_profile_walk walk;
  samara_profile_row row;
  SMR_TRY(smr_profile_begin(session, &walk));
  struct profile_text text = {.buffer = buffer, .capacity = capacity};
  bool first = true;
  profile_raw(&text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  const struct smr_frame_node *node;
  while ((node = smr_profile_next(session, &walk, &row)) != NULL) {
    if (!first) profile_char(&text, ',');
    profile_event(&text, node, &row);
    first = false;
  }
  profile_raw(&text, "]}\n");
  if (capacity != 0) buffer[text.used < capacity ? text.used : capacity - 1] = '\0';
  *needed_bytes = text.used + 1;
  return SAMARA_OK;
}
