// SPDX-License-Identifier: Apache-2.0
// Where a session's bytes are: the plan of every function, and allocations.
#include "base/fp.h"

#include <samara/samara_experimental.h>

#include "session/session.h"

struct rows_writer {
  samara_memory_row *rows;
  size_t capacity, count;
};

static void rows_add(struct rows_writer *w, samara_memory_row row) {
  if (w->count < w->capacity) w->rows[w->count] = row;
  w->count++;
}

static void rows_block(struct rows_writer *w, const char *function, const char *name,
                       samara_memory_kind kind, const struct smr_block *block) {
  if (block->data == NULL) return;
  rows_add(w, (samara_memory_row){.function = function,
                                  .name = name,
                                  .kind = (uint32_t)kind,
                                  .size_bytes = block->size_bytes});
}

static void rows_plan(struct rows_writer *w, const struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  for (uint32_t n = 0; n < f->node_count; n++) {
    for (uint32_t k = 0; k < f->nodes[n].output_count; k++) {
      const uint32_t i = f->nodes[n].outputs[k];
      const struct smr_frame_value *value = &frame->values[i];
      if (value->root != i || value->home != SMR_HOME_ARENA) continue;
      rows_add(w, (samara_memory_row){
                      .function = f->name,
                      .name = f->values[i].name,
                      .kind = SAMARA_MEMORY_TENSOR,
                      .first = value->first,
                      .last = value->last < f->node_count ? value->last : f->node_count - 1,
                      .offset = value->offset,
                      .size_bytes = smr_align64(value->capacity_bytes)});
    }
    const struct smr_frame_node *node = &frame->nodes[n];
    if (node->scratch_capacity != 0)
      rows_add(w, (samara_memory_row){.function = f->name,
                                      .name = f->nodes[n].name,
                                      .kind = SAMARA_MEMORY_SCRATCH,
                                      .first = n,
                                      .last = n,
                                      .offset = node->scratch_offset,
                                      .size_bytes = smr_align64(node->scratch_capacity),
                                      .thread_bytes = smr_align64(node->job.thread_scratch_bytes)});
  }
}

static void rows_frame_blocks(struct rows_writer *w, const struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->value_count; i++)
    rows_block(w, f->name, f->values[i].name, SAMARA_MEMORY_BLOCK, &frame->values[i].own);
  for (uint32_t n = 0; n < f->node_count; n++)
    rows_block(w, f->name, f->nodes[n].name, SAMARA_MEMORY_BLOCK, &frame->nodes[n].overflow);
  for (uint32_t s = 0; s < f->stage_count; s++)
    rows_block(w, f->name, "chunk of a stage", SAMARA_MEMORY_BLOCK, &frame->chunks[s]);
}

static void rows_ends(struct rows_writer *w, const samara_session *session) {
  const struct smr_function *f = session->entry->function;
  for (uint32_t i = 0; i < f->input_count; i++)
    rows_block(w, f->name, f->values[f->inputs[i]].name, SAMARA_MEMORY_BLOCK,
               &session->inputs[i].own);
  for (uint32_t i = 0; i < f->output_count; i++)
    rows_block(w, f->name, f->output_names[i], SAMARA_MEMORY_BLOCK, &session->outputs[i].copy);
}

// Host memory for devices: frames that are not in use, and copies for checks.
static void rows_devices(struct rows_writer *w, const struct smr_devices *devices) {
  for (uint32_t i = devices->others.count; i-- > 0;) rows_frame_blocks(w, devices->others.order[i]);
  rows_block(w, "", "checks of devices", SAMARA_MEMORY_BLOCK, &devices->check);
}

// Variables are in the same regions as the data structures.
static void rows_rest(struct rows_writer *w, const samara_session *session) {
  size_t rest = session->common.memory.total_bytes - session->common.memory.arena_bytes;
  for (uint32_t i = 0; i < session->state.count; i++) {
    const struct smr_session_variable *v = &session->state.variables[i];
    for (int k = 0; k < (v->spare != NULL ? 2 : 1); k++) {
      const size_t bytes = smr_align64(v->variable->size_bytes);
      rows_add(w, (samara_memory_row){.function = "",
                                      .name = v->variable->name,
                                      .kind = SAMARA_MEMORY_VARIABLE,
                                      .size_bytes = bytes});
      rest -= bytes;
    }
  }
  rows_add(w, (samara_memory_row){.function = "",
                                  .name = "structures",
                                  .kind = SAMARA_MEMORY_STRUCTURE,
                                  .size_bytes = rest});
}

samara_status samara_session_memory(const samara_session *session, samara_memory_row *rows,
                                    size_t capacity, size_t *count) {
  if (session == NULL || count == NULL || (rows == NULL && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  if (!session->ready) return SAMARA_BAD_STATE;
  struct rows_writer w = {.rows = rows, .capacity = capacity};
  for (uint32_t i = session->frames.count; i-- > 0;)
    if (!session->frames.order[i]->growing) rows_plan(&w, session->frames.order[i]);
  rows_block(&w, session->entry->function->name, "arena", SAMARA_MEMORY_ARENA, &session->arena);
  rows_ends(&w, session);
  for (uint32_t i = session->frames.count; i-- > 0;)
    rows_frame_blocks(&w, session->frames.order[i]);
  if (SMR_HAS(backends) && session->common.devices != NULL)
    rows_devices(&w, session->common.devices);
  rows_rest(&w, session);
  *count = w.count;
  return SAMARA_OK;
}
