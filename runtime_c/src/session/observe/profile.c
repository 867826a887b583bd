// SPDX-License-Identifier: Apache-2.0
// The profile of the last run.
#include "base/fp.h"

#include "session/session.h"

#include <samara/samara_experimental.h>

samara_status smr_profile_begin(const samara_session *session, struct smr_profile_walk *walk) {
  samara_error *error = &((samara_session *)(uintptr_t)session)->error;
  *walk = (struct smr_profile_walk){.frames_left = session->frames.count};
  if (session->common.run.number == 0) SMR_FAIL(error, BAD_STATE, "nothing has run yet");
  if (!session->profile.was_on)
    SMR_FAIL(error, BAD_STATE, "the last run was not timed: switch profiling on before it");
  return SAMARA_OK;
}

// What ran a node: a kernel of the CPU, or a device.
static const char *profile_kernel(const samara_session *session,
                                  const struct smr_frame_node *node) {
  if (smr_node_space(node) != 0) return session->common.devices->backends[node->space - 1]->name;
  return smr_node_is_view(node) ? "view" : node->job.kernel;
}

const struct smr_frame_node *smr_profile_next(const samara_session *session,
                                              struct smr_profile_walk *walk,
                                              samara_profile_row *row) {
  for (;;) {
    while (walk->frame == NULL || walk->node == walk->frame->function->node_count) {
      if (walk->frames_left == 0) return NULL;
      walk->frame = session->frames.order[--walk->frames_left];
      walk->node = 0;
    }
    const struct smr_frame_node *node = &walk->frame->nodes[walk->node++];
    if (node->run_number != session->common.run.number || node->count == 0) continue;
    *row = (samara_profile_row){.node = node->node->name,
                                .op = node->node->op->name,
                                .kernel = profile_kernel(session, node),
                                .function = walk->frame->function->name,
                                .start_ns = node->start_ns,
                                .total_ns = node->total_ns,
                                .count = node->count};
    return node;
  }
}

samara_status samara_session_set_profiling(samara_session *session, bool on) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  session->profile.on = on;
  return SAMARA_OK;
}

samara_status samara_session_profile(const samara_session *session, samara_profile_row *rows,
                                     size_t capacity, size_t *count) {
  struct smr_profile_walk walk;
  samara_profile_row row;
  if (session == NULL || count == NULL || (rows == NULL && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_profile_begin(session, &walk));
  size_t used = 0;
  for (; smr_profile_next(session, &walk, &row) != NULL; used++)
    if (used < capacity) rows[used] = row;
  *count = used;
  return SAMARA_OK;
}

samara_status samara_session_profile_sources(const samara_session *session, const char **files,
                                             uint32_t *lines, const char **details, size_t capacity,
                                             size_t *count) {
  struct smr_profile_walk walk;
  samara_profile_row row;
  const struct smr_frame_node *node;
  if (session == NULL || count == NULL) return SAMARA_BAD_ARGUMENT;
  if ((files == NULL || lines == NULL || details == NULL) && capacity != 0)
    return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_profile_begin(session, &walk));
  size_t used = 0;
  for (; (node = smr_profile_next(session, &walk, &row)) != NULL; used++) {
    if (used >= capacity) continue;
    const int32_t at = node->node->source;
    const struct smr_source source =
        at < 0 ? (struct smr_source){0} : session->common.model->sources[at];
    files[used] = source.file != NULL ? source.file : "";
    lines[used] = source.line;
    details[used] = source.detail != NULL ? source.detail : "";
  }
  *count = used;
  return SAMARA_OK;
}
