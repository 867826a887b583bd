// SPDX-License-Identifier: Apache-2.0
// Running: frames node by node, a node's tiles over the pool, and the whole session.
#include "base/fp.h"

#include "session/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/pool.h"
#include "ops/pace.h"

enum { RUN_LOG_TEXT = 512 };

void smr_session_log(samara_session *session, samara_log_level level, const char *format, ...) {
  if (session->log == NULL) return;
  char text[RUN_LOG_TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  session->log(session->log_user, level, text);
}

static struct smr_deadline run_deadline(const samara_session *session) {
  return (struct smr_deadline){.start_ns = session->start_ns, .limit_ns = session->deadline_ns};
}

samara_status smr_session_tick(samara_session *session) {
  if (atomic_load_explicit(&session->run_state, memory_order_relaxed) == SMR_RUN_CANCELLED)
    SMR_FAIL(&session->error, CANCELLED, "cancelled");
  session->steps++;
  if (session->max_steps != 0 && session->steps > session->max_steps)
    SMR_FAIL(&session->error, LIMIT, "more than max_steps = %llu steps",
             (unsigned long long)session->max_steps);
  const struct smr_deadline deadline = run_deadline(session);
  return smr_in_time(&deadline, &session->error);
}

samara_tensor smr_public_tensor(const struct smr_tensor *tensor) {
  samara_tensor out = {.data = tensor->data,
                       .size_bytes = tensor->size_bytes,
                       .rank = tensor->rank,
                       .dtype = (samara_dtype)tensor->dtype};
  memcpy(out.shape, tensor->dims, tensor->rank * sizeof *out.shape);
  if (tensor->quant != NULL && tensor->quant->count == 1) {
    out.scale = tensor->quant->scales[0];
    out.zero_point = tensor->quant->zero_points != NULL ? tensor->quant->zero_points[0] : 0;
  }
  return out;
}

// ---- one node ----

struct run_tiles {
  samara_session *session;
  const struct smr_job *job;
  uint8_t *scratch;
  size_t stride;
  size_t first;  // tile of the phase
};

// Each thread has its own copy of the job, for the error text, and remembers its lowest failure.
static void run_range(void *context, size_t begin, size_t end, size_t thread) {
  const struct run_tiles *tiles = context;
  samara_session *session = tiles->session;
  samara_error error = {.status = SAMARA_OK};
  struct smr_job job = *tiles->job;
  job.error = &error;
  begin += tiles->first;
  end += tiles->first;
  const samara_status status =
      smr_run_paced(&job, begin, end, tiles->scratch + thread * tiles->stride, job.op->funcs->run);
  if (status == SAMARA_OK) return;
  samara_error *slot = &session->thread_errors[thread];
  if (slot->status != SAMARA_OK && session->thread_begins[thread] < begin) return;
  error.status = status;
  *slot = error;
  session->thread_begins[thread] = begin;
}

// The failure of the lowest range, so that the text is the same whatever the threads did.
static samara_status run_collect(samara_session *session) {
  size_t worst = session->threads;
  for (size_t t = 0; t < session->threads; t++)
    if (session->thread_errors[t].status != SAMARA_OK &&
        (worst == session->threads || session->thread_begins[t] < session->thread_begins[worst]))
      worst = t;
  if (worst == session->threads) return SAMARA_OK;
  session->error = session->thread_errors[worst];
  for (size_t t = 0; t < session->threads; t++) session->thread_errors[t].status = SAMARA_OK;
  return session->error.status;
}

size_t smr_job_bytes(const struct smr_job *job) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < job->input_count && bytes < SMR_INLINE_BYTES; i++)
    if (job->inputs[i] != NULL) bytes += job->inputs[i]->size_bytes;
  for (uint32_t i = 0; i < job->output_count && bytes < SMR_INLINE_BYTES; i++)
    bytes += job->outputs[i]->size_bytes;
  return bytes;
}

static samara_status run_job(samara_session *session, const struct smr_job *job) {
  struct run_tiles tiles = {.session = session,
                            .job = job,
                            .scratch = (uint8_t *)job->scratch + smr_align64(job->scratch_bytes),
                            .stride = smr_align64(job->thread_scratch_bytes)};
  if (job->tiles == 0) return SAMARA_OK;
  if (job->op->flags & SMR_OP_SERIAL_PROLOGUE)
    SMR_TRY(job->op->funcs->run(job, 0, 0, tiles.scratch));
  if (session->threads == 1 || job->tiles == 1 || smr_job_bytes(job) < SMR_INLINE_BYTES)
    return smr_run_paced(job, 0, job->tiles, tiles.scratch, job->op->funcs->run);
  for (size_t end; tiles.first < job->tiles; tiles.first = end) {
    end = smr_phase_end(job, tiles.first);
    smr_pool_run(session->pool, end - tiles.first, run_range, &tiles);
    SMR_TRY(run_collect(session));
  }
  return SAMARA_OK;
}

static samara_status run_measured(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_job *job = &node->job;
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_value_known_dims(frame, node->node->outputs[i], node->node->stage));
  SMR_TRY(job->op->funcs->measure(job));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_value_settle(frame, node, i, job->outputs[i]->dims));
  SMR_TRY(smr_node_prepare_run(frame, node));
  return smr_node_attach_scratch(frame, node);
}

static samara_status run_watch(struct smr_frame *frame, const struct smr_frame_node *node) {
  samara_session *session = frame->session;
  const struct smr_job *job = &node->job;
  for (uint32_t i = 0; i < job->output_count; i++) {
    const uint32_t id = node->node->outputs[i];
    if (frame->values[id].view_stride != 0) SMR_TRY(smr_value_gather(frame, id));
    session->watch_names[i] = job->outputs[i]->name;
    session->watch_tensors[i] = smr_value_public(frame, id);
  }
  if (session->watch(session->watch_user, job->name, session->watch_names, session->watch_tensors,
                     job->output_count) == 0)
    return SAMARA_OK;
  SMR_FAIL(&session->error, CANCELLED, "stopped by the watch function");
}

// Kept tensors whose pixels lie apart are copied together, before anybody writes over them.
static samara_status run_keep(struct smr_frame *frame, const struct smr_frame_node *node) {
  for (uint32_t i = 0; i < node->node->output_count; i++) {
    const struct smr_frame_value *value = &frame->values[node->node->outputs[i]];
    if (value->kept && value->view_stride != 0)
      SMR_TRY(smr_value_gather(frame, node->node->outputs[i]));
  }
  return SAMARA_OK;
}

static samara_status run_node(struct smr_frame *frame, struct smr_frame_node *node) {
  samara_session *session = frame->session;
  SMR_TRY(smr_session_tick(session));
  const uint64_t start = session->profiling ? smr_os_now_ns() : 0;
  if (node->kind != SMR_CONTROL_NONE) {
    SMR_TRY(smr_control_run(frame, node));
  } else if (!node->alias && !node->placed) {
    if (node->late) SMR_TRY(run_measured(frame, node));
    node->job.deadline = run_deadline(session);
    SMR_TRY(run_job(session, &node->job));
  }
  if (session->profiling) {
    if (node->run_number != session->run_number) {
      node->start_ns = start - session->start_ns;
      node->total_ns = node->count = 0;
    }
    node->total_ns += smr_os_now_ns() - start;
    node->count++;
  }
  node->run_number = session->run_number;
  SMR_TRY(run_keep(frame, node));
  return session->watch != NULL ? run_watch(frame, node) : SAMARA_OK;
}

samara_status smr_frame_run(struct smr_frame *frame) {
  for (uint32_t s = 0; s < frame->function->stage_count; s++) {
    if (s > 0) SMR_TRY(smr_frame_stage(frame, s));
    for (uint32_t n = frame->stage_begin[s]; n < frame->stage_begin[s + 1]; n++) {
      const samara_status status = run_node(frame, &frame->nodes[n]);
      if (status != SAMARA_OK) return smr_node_fail(frame, &frame->nodes[n], status);
    }
  }
  return SAMARA_OK;
}

// ---- the session ----

// A user's output stays until the next run: bytes that belong to a caller, a constant or a variable
// are copied.
static samara_status run_take_outputs(samara_session *session) {
  const struct smr_frame *frame = session->entry;
  for (uint32_t i = 0; i < frame->function->output_count; i++) {
    struct smr_session_output *output = &session->outputs[i];
    if (output->variable >= 0) continue;
    const uint32_t id = frame->function->outputs[i];
    const struct smr_tensor *t = &frame->values[id].tensor;
    const uint8_t home = frame->values[frame->values[id].root].home;
    output->result = smr_public_tensor(t);
    if (home == SMR_HOME_ARENA || home == SMR_HOME_OWN) continue;
    SMR_TRY(smr_block_ensure(session, &output->copy, t->size_bytes, 0, t->name));
    if (t->size_bytes != 0) memcpy(output->copy.data, t->data, t->size_bytes);
    output->result.data = output->copy.data;
  }
  return SAMARA_OK;
}

static samara_status run_entry(samara_session *session, const void *const *inputs) {
  struct smr_frame *frame = session->entry;
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_tensor *t = &session->entry_inputs[i];
    *t = frame->values[f->inputs[i]].tensor;
    memcpy(t->dims, session->inputs[i].dims, sizeof t->dims);
    t->data = (void *)(uintptr_t)inputs[i];
    frame->given_inputs[i] = t;
  }
  for (uint32_t i = 0; i < f->output_count; i++) {
    const int32_t variable = session->outputs[i].variable;
    frame->given_data[i] = variable >= 0 ? session->variables[variable].spare : NULL;
    frame->given_capacity[i] =
        variable >= 0 ? session->variables[variable].variable->size_bytes : 0;
  }
  SMR_TRY(smr_frame_enter(frame, frame->growing ? NULL : session->arena.data));
  SMR_TRY(smr_frame_run(frame));
  SMR_TRY(run_take_outputs(session));
  return smr_state_commit(session);
}

samara_status smr_session_run_entry(samara_session *session, const void *const *inputs) {
  session->ran = false;
  session->run_number++;
  session->steps = 0;
  session->start_ns = smr_os_now_ns();
  session->profiled = session->profiling;
  for (size_t t = 0; t < session->threads; t++) session->thread_errors[t].status = SAMARA_OK;
  atomic_store(&session->run_state, SMR_RUN_GOING);
  const samara_status status = run_entry(session, inputs);
  atomic_store(&session->run_state, SMR_RUN_IDLE);
  session->ran = status == SAMARA_OK;
  return status;
}
