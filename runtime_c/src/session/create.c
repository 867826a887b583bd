// SPDX-License-Identifier: Apache-2.0
// Creating and destroying sessions.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "base/os.h"

static samara_status create_options(samara_session *session,
                                    const samara_session_options *options) {
  samara_error *error = &session->error;
  session->common.log = options->log != NULL ? options->log : session->common.model->log;
  session->common.log_user =
      options->log != NULL ? options->log_user : session->common.model->log_user;
  session->common.strict = options->strict_accuracy;
  session->common.exact = options->exact == SAMARA_EXACT_ON ||
                          (options->exact == SAMARA_EXACT_AS_MODEL && session->common.model->exact);
  if (session->common.exact) SMR_NEED_IN(NULL, error, exact);
  session->common.bfloat16 =
      options->bfloat16 && !options->strict_accuracy && !session->common.exact;
  session->common.memory.max_arena_bytes = options->max_arena_bytes;
  session->common.run.max_steps = options->max_steps;
  session->common.run.deadline.limit_ns =
      options->deadline_us > UINT64_MAX / 1000 ? UINT64_MAX : options->deadline_us * 1000;
  session->common.threads = 1;
  if (options->pool != NULL) {
    SMR_NEED_IN(NULL, error, threads);
    session->team.pool = options->pool;
    session->common.threads = samara_pool_threads(options->pool);
    SMR_TAKE(&session->common, session->team.errors, session->common.threads);
    SMR_TAKE(&session->common, session->team.begins, session->common.threads);
  }
  if (options->profile) {
    SMR_NEED_IN(NULL, error, profile);
    session->profile.on = true;
  }
  if (options->keep_all || options->keep_count != 0) {
    SMR_NEED_IN(NULL, error, keep);
    SMR_TRY(smr_keep_options(&session->keep, options, error));
  }
  if (options->custom_op_count != 0) {
    SMR_NEED_IN(NULL, error, custom);
    session->custom.ops = options->custom_ops;
    session->custom.count = options->custom_op_count;
    SMR_TRY(smr_custom_check_options(&session->custom, error));
  }
  if (SMR_HAS(backends) && options->backend_count != 0 && session->common.exact &&
      !options->backend_auto)
    SMR_FAIL(error, UNSUPPORTED,
             "an exact session runs on the CPU only, but %zu backends are given: their floats have "
             "other bits. Leave them out, or set exact = SAMARA_EXACT_OFF",
             options->backend_count);
  if (SMR_HAS(backends) && options->backend_count != 0 && !session->common.exact)
    SMR_TRY(smr_session_take_devices(session, options));
  SMR_TRY(smr_isa_resolve(options->isa, &session->common.isa, error));
  if (options->tuned == NULL) return SAMARA_OK;
  SMR_NEED_IN(NULL, error, choices);
  return smr_choices_take(&session->common, options->tuned, &session->choices);
}

// ---- first shapes ----

// Set the input dims to their upper bounds. An input with an unbounded dim stays unknown until
// samara_session_resize. True if all are known.
static bool create_first_dims(samara_session *session) {
  struct smr_frame *frame = session->entry;
  const struct smr_function *f = frame->function;
  bool bounded = true, all = true;
  memset(frame->input_dims, 0xff, f->input_count * sizeof *frame->input_dims);  // -1: unknown
  for (uint32_t i = 0; SMR_HAS(symbolic) && i < f->symbol_count; i++) {
    const struct smr_expr *dim = &f->exprs[f->symbols[i].expr];
    frame->input_dims[dim->a][dim->b] = f->symbols[i].upper;
    bounded = bounded && f->symbols[i].upper != INT64_MAX;
  }
  bounded = bounded && smr_frame_evaluate(frame, 0) == SAMARA_OK;
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_session_input *input = &session->inputs[i];
    const struct smr_value *v = &f->values[f->inputs[i]];
    if (smr_bound(input->variable)) continue;
    input->known = true;
    for (uint32_t axis = 0; axis < v->rank; axis++) {
      const struct smr_expr *e = &f->exprs[v->dims[axis]];
      input->dims[axis] = frame->exprs[v->dims[axis]];
      if (e->op == SMR_EXPR_CONST)
        input->dims[axis] = e->k;
      else if (!bounded || input->dims[axis] < 0)
        input->known = false;
    }
    all = all && input->known;
  }
  (void)smr_session_forgive(&session->common);
  return all;
}

// ---- building ----

static samara_status create_frames(samara_session *session) {
  SMR_TRY(smr_session_frames(session));
  return SMR_HAS(backends) ? smr_session_compile(session) : SAMARA_OK;
}

static samara_status create_build(samara_session *session) {
  const struct smr_function *f = session->function;
  SMR_TAKE(&session->common, session->inputs, f->input_count);
  SMR_TAKE(&session->common, session->outputs, f->output_count);
  SMR_TAKE(&session->common, session->entry_inputs, f->input_count);
  for (uint32_t i = 0; SMR_HAS(variables) && i < f->input_count; i++)
    session->inputs[i].variable = -1;
  for (uint32_t i = 0; SMR_HAS(variables) && i < f->output_count; i++)
    session->outputs[i].variable = -1;
  if (f->read_count + f->write_count != 0) {
    SMR_NEED_IN(&session->common.parts, &session->error, variables);
    SMR_TRY(smr_state_create(session));
  }
  SMR_TRY(smr_session_recover(session, create_frames(session), false));
  if (SMR_HAS(keep)) SMR_TRY(smr_keep_end(session));
  if (create_first_dims(session)) SMR_TRY(smr_session_shape(session));
  smr_model_prefetch(session->common.model);
  smr_os_map_stack();
  return SAMARA_OK;
}

// A session without options. NULL if memory is exhausted.
static samara_session *create_blank(const samara_model *model, const struct smr_function *function,
                                    const samara_allocator *allocator) {
  samara_session *session = smr_allocate_zeroed(allocator, 1, sizeof *session);
  if (session == NULL) return NULL;
  session->common.model = model;
  session->common.error = &session->error;
  session->function = function;
  session->common.memory.allocator = *allocator;
  session->common.memory.total_bytes = sizeof *session;
  SMR_ATOMIC_STORE(&session->common.run.state, SMR_RUN_IDLE);
  return session;
}

// Copy the options of another session, except devices and observers.
static samara_status create_like(samara_session *session, const samara_session *of) {
  session->common.log = of->common.log;
  session->common.log_user = of->common.log_user;
  session->common.strict = of->common.strict;
  session->common.bfloat16 = of->common.bfloat16;
  session->common.exact = of->common.exact;
  session->common.isa = of->common.isa;
  session->common.threads = of->common.threads;
  session->common.memory.max_arena_bytes = of->common.memory.max_arena_bytes;
  session->team.pool = of->team.pool;
  session->choices = of->choices;
  SMR_TAKE(&session->common, session->team.errors, session->common.threads);
  SMR_TRY(create_build(session));
  for (uint32_t i = 0; i < session->function->input_count; i++) {
    memcpy(session->inputs[i].dims, of->inputs[i].dims, sizeof session->inputs[i].dims);
    session->inputs[i].known = true;
  }
  return smr_session_shape(session);
}

samara_status smr_session_twin(const samara_session *of, samara_session **out,
                               samara_error *error) {
  SMR_NEED_IN(NULL, error, backends);  // without devices the functions below have one caller and
                                       // are inlined
  samara_session *session =
      create_blank(of->common.model, of->function, &of->common.memory.allocator);
  if (session == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "no memory for a session");
  const samara_status status = create_like(session, of);
  if (status == SAMARA_OK) {
    *out = session;
    return status;
  }
  smr_fail(error, status, "%s", session->error.text);
  samara_session_destroy(session);
  return status;
}

samara_status smr_session_create(const samara_model *model, const samara_session_options *options,
                                 samara_session **out, samara_error *error) {
  if (options->backend_count != 0) SMR_NEED_IN(NULL, error, backends);
  const struct smr_function *function = smr_model_entry(model, options->function);
  if (function == NULL)
    SMR_FAIL(error, NOT_FOUND, "the model has no function '%s'",
             options->function != NULL ? options->function : "(first)");
  const samara_allocator allocator =
      options->allocator != NULL ? smr_allocator(options->allocator) : model->allocator;
  samara_session *session = create_blank(model, function, &allocator);
  if (session == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "no memory for a session");
  samara_status status = create_options(session, options);
  if (status == SAMARA_OK) status = create_build(session);
  if (status == SAMARA_OK) {
    *out = session;
    return status;
  }
  smr_fail(error, status, "%s", session->error.text);
  samara_session_destroy(session);
  return status;
}

samara_status samara_session_create(const samara_model *model,
                                    const samara_session_options *options, samara_session **out,
                                    samara_error *error) {
  if (out != NULL) *out = NULL;
  if (model == NULL || out == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "samara_session_create: model or out is NULL");
  samara_session_options own;
  SMR_TRY(smr_options_read(options, &own, sizeof own, "session options", error));
  return smr_session_create(model, &own, out, error);
}

void samara_session_destroy(samara_session *session) {
  if (session == NULL) return;
  const samara_allocator allocator = session->common.memory.allocator;
  if (SMR_HAS(async)) smr_async_end(session);
  if (SMR_HAS(backends)) smr_session_drop_devices(session);
  smr_session_release(&session->common);
  smr_release(&allocator, session);
}
