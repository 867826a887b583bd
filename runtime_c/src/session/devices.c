// SPDX-License-Identifier: Apache-2.0
// A session and its devices: options, where nodes run, and switching between devices and the CPU.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

enum { DEVICES_CHECK_EVERY = 256 };

// ---- options ----

samara_status smr_session_take_devices(samara_session *session,
                                       const samara_session_options *options) {
  struct smr_devices *devices;
  if (options->backends == NULL || options->backend_count > SMR_MAX_DEVICES)
    SMR_FAIL(&session->error, BAD_ARGUMENT, "backend_count is %zu: %s", options->backend_count,
             options->backends == NULL ? "but backends is NULL" : "8 are the most");
  for (size_t i = 0; i < options->backend_count; i++)
    if (options->backends[i] == NULL)
      SMR_FAIL(&session->error, BAD_ARGUMENT, "backends[%zu] is NULL", i);
  if (options->backend_auto) SMR_NEED_IN(NULL, &session->error, backends_auto);
  if (options->backend_float16) SMR_NEED_IN(NULL, &session->error, backends_float16);
  SMR_TAKE(&session->common, devices, 1);
  SMR_TAKE(&session->common, devices->backends, options->backend_count);
  session->common.devices = devices;
  for (; devices->count < options->backend_count; devices->count++) {
    devices->backends[devices->count] = options->backends[devices->count];
    smr_backend_hold(devices->backends[devices->count]);
  }
  devices->automatic = options->backend_auto;
  devices->float16 = options->backend_float16 && !options->strict_accuracy;
  devices->settling.wait = options->backend_wait;
  devices->check_every = options->backend_check_every;
  if (devices->check_every == 0) devices->check_every = DEVICES_CHECK_EVERY;
  devices->active = !devices->automatic;
  return SAMARA_OK;
}

void smr_session_drop_devices(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  if (devices == NULL) return;
  if (SMR_HAS(backends_auto)) smr_session_settle_end(session);
  smr_devices_release(devices);
  for (uint32_t i = 0; i < devices->count; i++) samara_backend_close(devices->backends[i]);
}

// ---- frames ----

samara_status smr_session_compile(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  if (devices == NULL || !devices->active) return SAMARA_OK;
  const samara_status status = smr_devices_compile(devices, session->common.model, &session->error);
  devices->failed = status != SAMARA_OK;
  return status;
}

// Pass the caller's buffers from the old entry frame to the new one.
static void devices_give(const samara_session *session, const struct smr_frame *from) {
  struct smr_frame *to = session->entry;
  const struct smr_function *f = session->function;
  memcpy(to->given_inputs, from->given_inputs, f->input_count * sizeof *to->given_inputs);
  memcpy(to->given_data, from->given_data, f->output_count * sizeof *to->given_data);
  memcpy(to->given_capacity, from->given_capacity, f->output_count * sizeof *to->given_capacity);
}

void smr_session_swap(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  const struct smr_frames frames = session->frames;
  struct smr_frame *entry = session->entry;
  session->frames = devices->others;
  session->entry = devices->other_entry;
  devices->others = frames;
  devices->other_entry = entry;
  devices->active = !devices->active;
  devices_give(session, entry);
}

samara_status smr_session_build_others(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  const struct smr_frames frames = session->frames;
  struct smr_frame *entry = session->entry;
  devices->active = !devices->active;
  session->frames = (struct smr_frames){0};
  session->entry = NULL;
  session->former = &frames;
  const samara_status status = smr_session_frames(session);
  session->former = NULL;
  if (status == SAMARA_OK) {
    devices->others = session->frames;
    devices->other_entry = session->entry;
  }
  session->frames = frames;
  session->entry = entry;
  devices->active = !devices->active;
  return status;
}

static void devices_free_blocks(struct smr_common *common, const struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->value_count; i++) smr_block_free(common, &frame->values[i].own);
  for (uint32_t n = 0; n < f->node_count; n++) smr_block_free(common, &frame->nodes[n].overflow);
  for (uint32_t s = 0; s < smr_stage_count(f); s++) smr_block_free(common, &frame->chunks[s]);
}

void smr_session_drop_others(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  smr_devices_release(devices);
  for (uint32_t i = 0; i < devices->others.count; i++)
    devices_free_blocks(&session->common, devices->others.order[i]);
  smr_block_free(&session->common, &devices->check);
  smr_block_free(&session->common, &devices->staging);
  devices->others = (struct smr_frames){0};
  devices->other_entry = NULL;
}

samara_status smr_session_leave(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  if (devices == NULL || !devices->left) return SAMARA_OK;
  if (devices->other_entry == NULL) SMR_TRY(smr_session_build_others(session));
  smr_session_swap(session);
  smr_session_drop_others(session);
  devices->left = false;
  return SAMARA_OK;
}

samara_status smr_session_take_over(samara_session *session, samara_status status, bool plans) {
  struct smr_devices *devices = session->common.devices;
  if (status == SAMARA_OK || devices == NULL || !devices->failed) return status;
  devices->failure = session->error;
  devices->failed = false;
  devices->left = true;
  smr_session_log(&session->common, SAMARA_LOG_WARNING, "the CPU takes over: %s",
                  session->error.text);
  (void)smr_session_forgive(&session->common);
  smr_devices_release(devices);
  status = smr_session_leave(session);
  if (status == SAMARA_OK && plans) status = smr_session_plan(session);
  if (status != SAMARA_OK) session->ready = false;
  return status;
}

samara_status smr_session_go_over(samara_session *session) {
  const bool was_active = session->common.devices->active;
  smr_session_swap(session);
  const samara_status status = smr_session_recover(session, smr_session_plan(session), true);
  if (status == SAMARA_OK || session->common.devices->active == was_active) return status;
  // The host has no memory for the new plan. The memory of the previous plan still exists, so
  // planning it again cannot fail.
  const samara_error why = session->error;
  smr_session_swap(session);
  session->ready = smr_session_plan(session) == SAMARA_OK;
  session->error = why;
  return status;
}

samara_status smr_session_return(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  samara_status status = smr_session_build_others(session);
  if (status == SAMARA_OK)
    status = smr_devices_compile(devices, session->common.model, &session->error);
  if (status == SAMARA_OK) status = smr_session_go_over(session);
  if (!session->ready) return status;
  if (devices->active) {
    devices->failure.text[0] = '\0';
    if (SMR_HAS(backends_auto) && devices->settling.phase == SMR_SETTLING_COMPARING)
      smr_compare_begin(session);
  } else {
    smr_session_drop_others(session);
  }
  return smr_session_forgive(&session->common);
}

samara_status smr_session_go_on(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  if (devices == NULL) return SAMARA_OK;
  if (devices->failed) {
    session->error = devices->failure;
    SMR_TRY(smr_session_take_over(session, session->error.status, true));
  }
  if (SMR_DEVICES_BLAME && devices->returns) {
    devices->returns = false;
    SMR_TRY(smr_session_return(session));
  }
  // Recompute variables for which this failed before.
  return devices->active ? SAMARA_OK : smr_away_fetch(session);
}

// ---- the public functions ----

// Why a node that costs assigned to a device still runs on the CPU.
static const char *devices_waits(const struct smr_settling *settling) {
  if (settling->lost) return "runs on its device took longer than on the CPU";
  return settling->phase == SMR_SETTLING_COMPARING
             ? "runs here and on its device are being compared"
             : "its device is not ready yet";
}

// Why a node runs where it does. `choice` is the decision by cost, or NULL.
static const char *devices_reason(const struct smr_devices *devices,
                                  const struct smr_frame_node *node,
                                  const struct smr_device_choice *choice) {
  if (devices == NULL) return "the session has no device";
  if (devices->failure.text[0] != '\0') return "a device failed";
  if (choice != NULL && choice->space != node->space) return devices_waits(&devices->settling);
  if (SMR_HAS(backends_float16) && devices->overflowed && node->space != 0)
    return "supported, in float32: float16 could not hold the values of a run";
  if (choice != NULL && choice->reason != NULL) return choice->reason;
  if (node->reason != NULL) return node->reason;
  return devices->settling.phase == SMR_SETTLING_OVER ? "the CPU is faster"
                                                      : "nothing is decided yet";
}

static const char *devices_name(const struct smr_devices *devices, uint8_t space) {
  return space == 0 ? "cpu" : devices->backends[space - 1]->name;
}

// The decision by cost about a node, or NULL.
static const struct smr_device_choice *devices_choice(const samara_session *session,
                                                      const struct smr_frame *frame, uint32_t n) {
  const struct smr_devices *devices = session->common.devices;
  const size_t function = (size_t)(frame->function - session->common.model->functions);
  if (devices == NULL || devices->choices == NULL || devices->choices[function] == NULL)
    return NULL;
  return &devices->choices[function][n];
}

// The estimated times of a node, which may run in its second best space.
static void devices_costs(const struct smr_devices *devices, const struct smr_device_choice *choice,
                          samara_placement_row *row, uint8_t space) {
  const bool swapped = choice->has_other && choice->space != space;
  row->cost_us = swapped ? choice->other_us : choice->cost_us;
  if (!choice->has_other) return;
  row->runner_up = devices_name(devices, swapped ? choice->space : choice->other);
  row->runner_up_us = swapped ? choice->cost_us : choice->other_us;
}

samara_status samara_session_placement(const samara_session *session, samara_placement_row *rows,
                                       size_t capacity, size_t *count) {
  if (session == NULL || count == NULL || (rows == NULL && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  const struct smr_devices *devices = session->common.devices;
  size_t used = 0;
  uint32_t region = 0;
  for (uint32_t i = session->frames.count; i-- > 0;) {
    const struct smr_frame *frame = session->frames.order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++, used++) {
      const struct smr_frame_node *node = &frame->nodes[n];
      const struct smr_device_choice *choice = devices_choice(session, frame, n);
      if (SMR_HAS(backends) && smr_region_at(frame, n) != NULL) region++;
      if (used >= capacity) continue;
      rows[used] = (samara_placement_row){.function = frame->function->name,
                                          .node = node->node->name,
                                          .op = node->node->op->name,
                                          .device = devices_name(devices, node->space),
                                          .reason = devices_reason(devices, node, choice),
                                          .region = node->space != 0 ? region : 0};
      if (choice != NULL) devices_costs(devices, choice, &rows[used], node->space);
    }
  }
  *count = used;
  return SAMARA_OK;
}

samara_status samara_session_backend_report(const samara_session *session,
                                            samara_backend_report *out) {
  if (session == NULL || out == NULL || out->struct_size == 0) return SAMARA_BAD_ARGUMENT;
  const struct smr_devices *devices = session->common.devices;
  samara_backend_report report = {.struct_size = out->struct_size, .settled = true, .failure = ""};
  if (devices != NULL) {
    report.active = devices->active && !devices->failed && devices->regions != NULL;
    report.settled = !devices->automatic || devices->settling.phase == SMR_SETTLING_OVER;
    report.device_runs = devices->runs;
    report.repeated = devices->repeated;
    report.device_bytes = devices->device_bytes;
    report.checks = devices->checks;
    report.launches = devices->launches;

    report.copies = devices->copies;
    report.copied_bytes = devices->copied_bytes;
    report.failure = devices->failure.text;
    const struct smr_device_region *r = report.active ? devices->regions : NULL;
    for (; r != NULL; r = r->next) {
      report.regions++;
      report.nodes += r->end - r->begin;
    }
  }
  memcpy(out, &report, out->struct_size < sizeof report ? out->struct_size : sizeof report);
  return SAMARA_OK;
}
