// SPDX-License-Identifier: Apache-2.0
// The algorithms of a session's nodes: listing them, and reading measured choices.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "base/isa_name.h"
#include "base/format.h"
#include "base/isa.h"

#include <samara/samara_experimental.h>

// ---- files of measured choices ----

enum { CHOICES_HEADER_BYTES = 512 };

static samara_status choices_header(const samara_model *model, uint32_t isa, char *text,
                                    size_t size, size_t *length) {
  char cpu[128], names[128];
  smr_cpu_name(cpu, sizeof cpu);
  (void)smr_isa_format(isa, names, sizeof names);
  *length = smr_format(text, size, "samara-tuned 1\nversion %s\ncpu %s\nisa %s\nmodel %08x%08x\n",
                       SAMARA_VERSION, cpu, names, (unsigned)(model->checksum >> 32),
                       (unsigned)model->checksum);
  return SAMARA_OK;
}

samara_status samara_tuned_header(const samara_model *model, const char *isa, char *text,
                                  size_t size, size_t *length) {
  if (model == NULL || length == NULL || (text == NULL && size != 0)) return SAMARA_BAD_ARGUMENT;
  uint32_t mask;
  SMR_TRY(smr_isa_resolve(isa, &mask, NULL));
  return choices_header(model, mask, text, size, length);
}

samara_status smr_choices_take(struct smr_common *common, const char *tuned, const char **out) {
  char header[CHOICES_HEADER_BYTES];
  size_t length;
  SMR_TRY(choices_header(common->model, common->isa, header, sizeof header, &length));
  if (strncmp(tuned, header, length) == 0)
    *out = tuned + length;
  else
    smr_session_log(
        common, SAMARA_LOG_WARNING,
        "measured choices are ignored: they are for another model, CPU, instruction set "
        "or version of samara; run samara tune here");
  return SAMARA_OK;
}

// The text after "`field`\t" at the start of `line`, or NULL.
static const char *choices_field(const char *line, const char *field) {
  const size_t length = strlen(field);
  return strncmp(line, field, length) == 0 && line[length] == '\t' ? line + length + 1 : NULL;
}

const char *smr_choices_find(const char *choices, const char *function, const char *node) {
  for (const char *line = choices; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    const char *name = choices_field(line, function);
    const char *algorithm = name != NULL ? choices_field(name, node) : NULL;
    if (algorithm != NULL) return algorithm;
  }
  return NULL;
}

// ---- the list ----

// Multiply-adds per nanosecond of one core at 3 GHz in float32 and int8, by instruction set, best
// first.
static const struct choices_rate {
  uint32_t isa;
  float floats, bytes;
} choices_rates[] = {
    {SMR_ISA_AMX_INT8, 48, 768}, {SMR_ISA_AVX512_VNNI, 48, 192}, {SMR_ISA_AVX512, 48, 96},
    {SMR_ISA_AVX2, 48, 80},      {SMR_ISA_NEON_I8MM, 24, 192},   {SMR_ISA_NEON_DOT, 24, 96},
    {SMR_ISA_NEON, 24, 48},      {SMR_ISA_NONE, 6, 3},
};

static double choices_us(const struct smr_job *job, double work) {
  const struct choices_rate *rate = choices_rates;
  while ((rate->isa & job->isa) != rate->isa) rate++;
  const uint8_t dtype = job->inputs[0]->dtype;
  const bool bytes = dtype == SAMARA_QINT8 || dtype == SAMARA_INT8 || dtype == SAMARA_UINT8;
  return work / (double)(bytes ? rate->bytes : rate->floats) * 1e-3;
}

// A text that is truncated to its buffer while its full length is counted.
struct choices_text {
  char *text;
  size_t room, length;
};

static void choices_put(struct choices_text *out, const char *text, char end) {
  for (; *text; text++, out->length++)
    if (out->length + 1 < out->room) out->text[out->length] = *text;
  if (out->length + 1 < out->room) out->text[out->length] = end;
  out->length++;
}

static void choices_node(struct choices_text *out, const struct smr_frame *frame,
                         const struct smr_frame_node *node) {
  const struct smr_job *job = &node->job;
  const struct smr_choice *choice = &job->choice;
  char number[32];
  choices_put(out, frame->function->name, '\t');
  choices_put(out, job->name, '\t');
  choices_put(out, job->op->name, '\t');
  choices_put(out, job->kernel, '\t');
  choices_put(out, choice->count != 0 && choice->tuned ? "tuned" : "cost", '\t');
  for (uint32_t i = 0; i < choice->count; i++) {
    (void)smr_format(number, sizeof number, "%.6g", choices_us(job, choice->candidates[i].work));
    choices_put(out, choice->candidates[i].algorithm, ':');
    choices_put(out, number, i + 1u < choice->count ? ',' : '\n');
  }
  if (choice->count == 0) choices_put(out, "", '\n');
}

// Append the rows of a node at rows[*count] while they fit, and count them.
static void choices_rows(const struct smr_frame *frame, const struct smr_frame_node *node,
                         samara_algorithm_row *rows, size_t capacity, size_t *count) {
  const struct smr_job *job = &node->job;
  const struct smr_choice *choice = &job->choice;
  samara_algorithm_row row = {.function = frame->function->name,
                              .node = job->name,
                              .op = job->op->name,
                              .kernel = job->kernel};
  do {
    if (choice->count != 0) {
      row.algorithm = choice->candidates[row.rank].algorithm;
      row.estimate_us = choices_us(job, choice->candidates[row.rank].work);
      row.tuned = choice->tuned;
    }
    if (*count < capacity) rows[*count] = row;
    ++*count;
  } while (++row.rank < choice->count);
}

samara_status samara_session_algorithms(const samara_session *session, samara_algorithm_row *rows,
                                        size_t capacity, size_t *count) {
  if (session == NULL || count == NULL || (rows == NULL && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  *count = 0;
  for (uint32_t i = 0; i < session->frames.count; i++) {
    const struct smr_frame *frame = session->frames.order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++) {
      const struct smr_frame_node *node = &frame->nodes[n];
      if (node->prepared && !smr_node_is_view(node))
        choices_rows(frame, node, rows, capacity, count);
    }
  }
  return SAMARA_OK;
}

samara_status samara_session_choices(const samara_session *session, char *text, size_t size,
                                     size_t *length) {
  if (session == NULL || length == NULL || (text == NULL && size != 0)) return SAMARA_BAD_ARGUMENT;
  struct choices_text out = {.text = text, .room = size};
  for (uint32_t i = 0; i < session->frames.count; i++) {
    const struct smr_frame *frame = session->frames.order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++) {
      const struct smr_frame_node *node = &frame->nodes[n];
      if (node->prepared && !smr_node_is_view(node)) choices_node(&out, frame, node);
    }
  }
  if (size != 0) text[out.length < size ? out.length : size - 1] = '\0';
  *length = out.length;
  return SAMARA_OK;
}
