// SPDX-License-Identifier: Apache-2.0
// What a session's nodes need from a build: the input of selective builds.
#include "base/fp.h"

#include <samara/samara_experimental.h>

#include "session/session.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"

// A text that is truncated to its buffer while its full length is counted.
struct survey_text {
  char *text;
  size_t room, length;
};

static void survey_put(struct survey_text *out, const char *text) {
  for (; *text; text++, out->length++)
    if (out->length + 1 < out->room) out->text[out->length] = *text;
}

static void survey_list(struct survey_text *out, bool *first, const char *name) {
  if (!*first) survey_put(out, ",");
  survey_put(out, name);
  *first = false;
}

static void survey_parts(struct survey_text *out, const struct smr_parts *parts) {
  bool first = true;
  for (size_t i = 0; parts != NULL && i < SMR_PART_COUNT; i++)
    if (smr_parts_have(parts, i)) survey_list(out, &first, smr_part_name(i));
}

static uint32_t survey_dtypes_of(struct smr_tensor *const *tensors, uint32_t count) {
  uint32_t set = 0;
  for (uint32_t i = 0; i < count; i++)
    if (tensors[i] != NULL) set |= 1u << tensors[i]->dtype;
  return set;
}

static const char *survey_state(const struct smr_frame_node *node) {
  if (node->kind != SMR_CONTROL_NONE) return "control";
  if (node->alias) return "view";
  if (smr_node_space(node) != 0) return "device";
  if (node->prepared) return "prepared";
  return node->placed ? "placed" : "unprepared";
}

static void survey_number(struct survey_text *out, uint64_t number) {
  char text[24];
  smr_format(text, sizeof text, "\t%" PRIu64, number);
  survey_put(out, text);
}

static void survey_node(struct survey_text *out, const struct smr_frame *frame,
                        const struct smr_frame_node *node) {
  const struct smr_job *job = &node->job;
  const uint32_t set = survey_dtypes_of(job->inputs, job->input_count) |
                       survey_dtypes_of(job->outputs, job->output_count);
  survey_put(out, frame->function->name);
  survey_put(out, "\t");
  survey_put(out, node->node->name);
  survey_put(out, "\t");
  survey_put(out, job->op->name);
  survey_put(out, "\t");
  survey_put(out, survey_state(node));
  survey_put(out, "\t");
  bool first = true;
  for (uint8_t dtype = 1; dtype < 32; dtype++)
    if ((set >> dtype & 1u) != 0) survey_list(out, &first, smr_dtype_name(dtype));
  survey_put(out, "\t");
  survey_parts(out, job->parts);
  // Views have no needs; those of unprepared nodes are unknown.
  const bool runs = node->prepared && !node->alias && job->output_count > 0;
  survey_number(out, runs ? (uint64_t)job->work : 0);
  survey_number(out, runs && job->outputs[0] ? (uint64_t)smr_numel(job->outputs[0]) : 0);
  survey_put(out, "\n");
}

samara_status samara_session_needs(const samara_session *session, char *text, size_t size,
                                   size_t *length) {
  if (session == NULL || length == NULL || (text == NULL && size != 0)) return SAMARA_BAD_ARGUMENT;
  struct survey_text out = {.text = text, .room = size};
  survey_put(&out, "\t\t\t\t\t");
  struct smr_parts whole = session->common.model->parts;
  for (size_t i = 0; i < sizeof whole.words / sizeof *whole.words; i++)
    whole.words[i] |= session->common.parts.words[i];
  survey_parts(&out, &whole);
  survey_put(&out, "\t0\t0\n");
  for (uint32_t i = 0; i < session->frames.count; i++) {
    const struct smr_frame *frame = session->frames.order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++)
      survey_node(&out, frame, &frame->nodes[n]);
  }
  if (size != 0) text[out.length < size ? out.length : size - 1] = '\0';
  *length = out.length;
  return SAMARA_OK;
}
