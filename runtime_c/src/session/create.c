// SPDX-License-Identifier: Apache-2.0
// Creating and destroying sessions.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "base/isa.h"

samara_status smr_isa_resolve(const char *ceiling, uint32_t *isa, samara_error *error) {
  if (!smr_cpu_isa_override_valid())
    SMR_FAIL(error, BAD_ARGUMENT, "SAMARA_ISA names an unknown instruction set");
  *isa = smr_cpu_isa();
  if (ceiling == NULL) return SAMARA_OK;
  uint32_t mask = 0;
  if (!smr_isa_parse(ceiling, &mask))
    SMR_FAIL(error, BAD_ARGUMENT, "isa \"%s\": expected names such as \"avx2\" or \"scalar\"",
             ceiling);
  *isa &= mask;
  return SAMARA_OK;
}

static samara_status create_options(samara_session *session,
                                    const samara_session_options *options) {
  samara_error *error = &session->error;
  session->log = options->log != NULL ? options->log : session->model->log;
  session->log_user = options->log != NULL ? options->log_user : session->model->log_user;
  session->pool = options->pool;
  session->threads = options->pool != NULL ? samara_pool_threads(options->pool) : 1;
  session->strict = options->strict_accuracy;
  session->profiling = options->profile;
  session->max_arena_bytes = options->max_arena_bytes;
  session->max_steps = options->max_steps;
  session->deadline_ns =
      options->deadline_us > UINT64_MAX / 1000 ? UINT64_MAX : options->deadline_us * 1000;
  session->custom_ops = options->custom_ops;
  session->custom_op_count = options->custom_op_count;
  session->keep_all = options->keep_all;
  session->keep = options->keep;
  session->keep_count = options->keep_count;
  if ((options->keep == NULL && options->keep_count != 0) ||
      (options->custom_ops == NULL && options->custom_op_count != 0))
    SMR_FAIL(error, BAD_ARGUMENT, "a count without its array in the session options");
  for (size_t i = 0; i < options->keep_count; i++)
    if (options->keep[i] == NULL) SMR_FAIL(error, BAD_ARGUMENT, "keep[%zu] is NULL", i);
  SMR_TRY(smr_custom_check_options(session));
  session->thread_errors =
      smr_session_take(session, session->threads, sizeof *session->thread_errors);
  session->thread_begins =
      smr_session_take(session, session->threads, sizeof *session->thread_begins);
  if (session->thread_errors == NULL || session->thread_begins == NULL)
    SMR_FAIL(error, OUT_OF_MEMORY, "no memory for %zu threads", session->threads);
  return smr_isa_resolve(options->isa, &session->isa, error);
}

// ---- kept tensors ----

static bool create_has_value(const samara_session *session, const char *name) {
  for (uint32_t i = 0; i < session->frame_count; i++) {
    const struct smr_frame *frame = session->order[i];
    for (uint32_t v = 0; v < frame->function->value_count; v++)
      if (frame->values[v].kept && strcmp(frame->function->values[v].name, name) == 0) return true;
  }
  return false;
}

samara_status smr_session_refuse_kept(samara_session *session, const char *name) {
  for (uint32_t i = 0; i < session->frame_count; i++) {
    const struct smr_function *f = session->order[i]->function;
    for (uint32_t n = 0; n < f->node_count; n++)
      for (uint32_t k = 0; k < f->nodes[n].absorbed_count; k++)
        if (strcmp(f->nodes[n].absorbed[k], name) == 0)
          SMR_FAIL(&session->error, NOT_FOUND,
                   "tensor '%s' was absorbed by node '%s' (%s); export without optimizing keeps it",
                   name, f->nodes[n].name, f->nodes[n].op->name);
  }
  SMR_FAIL(&session->error, NOT_FOUND, "there is no tensor '%s' to keep", name);
}

// The names in the options live during create only; the values remember.
static samara_status create_check_kept(samara_session *session) {
  for (size_t i = 0; i < session->keep_count; i++)
    if (!create_has_value(session, session->keep[i]))
      return smr_session_refuse_kept(session, session->keep[i]);
  session->keep = NULL;
  session->keep_count = 0;
  return SAMARA_OK;
}

static samara_status create_watch(samara_session *session) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < session->frame_count; i++) {
    const struct smr_function *f = session->order[i]->function;
    for (uint32_t n = 0; n < f->node_count; n++)
      if (f->nodes[n].output_count > most) most = f->nodes[n].output_count;
  }
  session->watch_names = smr_session_take(session, most, sizeof *session->watch_names);
  session->watch_tensors = smr_session_take(session, most, sizeof *session->watch_tensors);
  if (session->watch_names == NULL || session->watch_tensors == NULL)
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "no memory for a node's outputs");
  return SAMARA_OK;
}

// ---- first shapes ----

// Start value of an INPUT_DIM expression: the upper bound of its symbol, or -1 where it has none.
static int64_t create_symbol(const struct smr_function *f, const struct smr_expr *expr) {
  for (uint32_t i = 0; i < f->symbol_count; i++) {
    const struct smr_expr *own = &f->exprs[f->symbols[i].expr];
    if (own->op == SMR_EXPR_INPUT_DIM && own->a == expr->a && own->b == expr->b &&
        f->symbols[i].upper != INT64_MAX)
      return f->symbols[i].upper;
  }
  return -1;
}

// Start from the upper bounds of the input dims. If some have none, only inputs of fixed dims are
// known and samara_session_resize has to give the others.
static void create_first_dims(samara_session *session) {
  struct smr_frame *frame = session->entry;
  const struct smr_function *f = frame->function;
  bool bounded = true;
  for (uint32_t i = 0; i < f->symbol_count; i++)
    bounded = bounded && create_symbol(f, &f->exprs[f->symbols[i].expr]) >= 0;
  for (uint32_t e = 0; e < f->expr_count; e++) {
    const char *why = NULL;
    if (f->expr_stage[e] != 0) continue;
    frame->exprs[e] = f->exprs[e].op == SMR_EXPR_INPUT_DIM ? create_symbol(f, &f->exprs[e]) : 0;
    if (f->exprs[e].op != SMR_EXPR_INPUT_DIM &&
        !smr_expr_evaluate(f->exprs, e, frame->exprs, &frame->exprs[e], &why))
      frame->exprs[e] = -1;
  }
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_session_input *input = &session->inputs[i];
    const struct smr_value *v = &f->values[f->inputs[i]];
    if (input->variable >= 0) continue;
    input->known = true;
    for (uint32_t axis = 0; axis < v->rank; axis++) {
      input->dims[axis] = frame->exprs[v->dims[axis]];
      const bool is_fixed = f->exprs[v->dims[axis]].op == SMR_EXPR_CONST;
      if (!is_fixed && (!bounded || input->dims[axis] < 0)) input->known = false;
    }
  }
}

static samara_status create_build(samara_session *session, const struct smr_function *function) {
  const samara_model *model = session->model;
  session->frames = smr_session_take(session, model->function_count, sizeof *session->frames);
  session->order = smr_session_take(session, model->function_count, sizeof *session->order);
  if (session->frames == NULL || session->order == NULL)
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "no memory for %u functions",
             (unsigned)model->function_count);
  SMR_TRY(smr_state_create(session, function));
  SMR_TRY(smr_frame_build(session, (uint32_t)(function - model->functions), 0, &session->entry));
  session->entry_inputs =
      smr_session_take(session, function->input_count, sizeof *session->entry_inputs);
  session->input_pointers =
      smr_session_take(session, function->input_count, sizeof *session->input_pointers);
  if (session->entry_inputs == NULL || session->input_pointers == NULL)
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "no memory for %u inputs",
             (unsigned)function->input_count);
  SMR_TRY(create_check_kept(session));
  SMR_TRY(create_watch(session));
  create_first_dims(session);
  for (uint32_t i = 0; i < function->input_count; i++)
    if (!session->inputs[i].known) return SAMARA_OK;
  return smr_session_shape(session);
}

samara_status samara_session_create(const samara_model *model,
                                    const samara_session_options *options, samara_session **out,
                                    samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "samara_session_create: out is NULL");
  *out = NULL;
  if (model == NULL) SMR_FAIL(error, BAD_ARGUMENT, "samara_session_create: model is NULL");
  samara_session_options own;
  SMR_TRY(smr_options_read(options, &own, sizeof own, "session options", error));
  const struct smr_function *function = smr_model_entry(model, own.function);
  if (function == NULL)
    SMR_FAIL(error, NOT_FOUND, "the model has no function '%s'",
             own.function != NULL ? own.function : "(first)");
  const samara_allocator allocator =
      own.allocator != NULL ? smr_allocator(own.allocator) : model->allocator;
  samara_session *session = smr_allocate_zeroed(&allocator, 1, sizeof *session);
  if (session == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "no memory for a session");
  session->model = model;
  session->allocator = allocator;
  session->total_bytes = sizeof *session;
  atomic_init(&session->run_state, SMR_RUN_IDLE);
  samara_status status = create_options(session, &own);
  if (status == SAMARA_OK) status = create_build(session, function);
  if (status != SAMARA_OK) {
    smr_fail(error, status, "%s", session->error.text);
    samara_session_destroy(session);
    return status;
  }
  *out = session;
  return SAMARA_OK;
}

void samara_session_destroy(samara_session *session) {
  if (session == NULL) return;
  const samara_allocator allocator = session->allocator;
  for (uint32_t i = 0; i < session->frame_count; i++) smr_frame_release(session->order[i]);
  const struct smr_function *f = session->entry != NULL ? session->entry->function : NULL;
  for (uint32_t i = 0; f != NULL && i < f->input_count; i++)
    smr_block_release(session, &session->inputs[i].own);
  for (uint32_t i = 0; f != NULL && i < f->output_count; i++)
    smr_block_release(session, &session->outputs[i].copy);
  smr_block_release(session, &session->arena);
  smr_session_release_regions(session);
  smr_release(&allocator, session);
}
