// SPDX-License-Identifier: Apache-2.0
// A session and its devices: what it was given, where its nodes run, and how it goes on without.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

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
  SMR_TAKE(&session->common, devices, 1);
  SMR_TAKE(&session->common, devices->backends, options->backend_count);
  for (size_t i = 0; i < options->backend_count; i++) devices->backends[i] = options->backends[i];
  devices->count = (uint32_t)options->backend_count;
  devices->active = true;
  session->common.devices = devices;
  return SAMARA_OK;
}

// ---- frames ----

samara_status smr_session_frames(samara_session *session) {
  const samara_model *model = session->common.model;
  SMR_TAKE(&session->common, session->frames.of_function, model->function_count);
  SMR_TAKE(&session->common, session->frames.order, model->function_count);
  return smr_frame_build(session, (uint32_t)(session->function - model->functions),
                         &session->entry);
}

// What the caller gave to the entry frame goes to the one in its place.
static void devices_give(const samara_session *session, const struct smr_frame *from) {
  struct smr_frame *to = session->entry;
  const struct smr_function *f = session->function;
  memcpy(to->given_inputs, from->given_inputs, f->input_count * sizeof *to->given_inputs);
  memcpy(to->given_data, from->given_data, f->output_count * sizeof *to->given_data);
  memcpy(to->given_capacity, from->given_capacity, f->output_count * sizeof *to->given_capacity);
}

samara_status smr_session_recover(samara_session *session, samara_status status) {
  struct smr_devices *devices = session->common.devices;
  if (!SMR_HAS(backends) || status == SAMARA_OK || devices == NULL || !devices->failed)
    return status;
  const struct smr_frames former = session->frames;
  struct smr_frame *entry = session->entry;
  // Before all frames were there, nothing was planned and the names of what to keep are known.
  const bool built = former.count != 0 && former.order[former.count - 1] == entry;
  devices->failure = session->error;
  devices->failed = devices->active = false;
  smr_session_log(&session->common, SAMARA_LOG_WARNING, "the CPU takes over: %s",
                  session->error.text);
  (void)smr_session_forgive(&session->common);
  smr_devices_release(devices);
  session->frames = (struct smr_frames){0};
  session->former = built ? &former : NULL;
  status = smr_session_frames(session);
  session->former = NULL;
  if (status == SAMARA_OK && built) {
    devices_give(session, entry);
    status = smr_session_plan(session);
  }
  if (status != SAMARA_OK) session->ready = false;
  return status;
}

// ---- the public functions ----

static const char *devices_name(const struct smr_devices *devices, uint8_t space) {
  return space == 0 ? "cpu" : devices->backends[space - 1]->name;
}

samara_status samara_session_placement(const samara_session *session, samara_placement_row *rows,
                                       size_t capacity, size_t *count) {
  if (session == NULL || count == NULL || (rows == NULL && capacity != 0))
    return SAMARA_BAD_ARGUMENT;
  size_t used = 0;
  uint32_t region = 0;
  for (uint32_t i = session->frames.count; i-- > 0;) {
    const struct smr_frame *frame = session->frames.order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++, used++) {
      const struct smr_frame_node *node = &frame->nodes[n];
      if (SMR_HAS(backends) && smr_region_at(frame, n) != NULL) region++;
      if (used >= capacity) continue;
      rows[used] =
          (samara_placement_row){.function = frame->function->name,
                                 .node = node->node->name,
                                 .op = node->node->op->name,
                                 .device = devices_name(session->common.devices, node->space),
                                 .reason = node->reason != NULL ? node->reason : "",
                                 .region = node->space != 0 ? region : 0};
    }
  }
  *count = used;
  return SAMARA_OK;
}

samara_status samara_session_backend_report(const samara_session *session,
                                            samara_backend_report *out) {
  if (session == NULL || out == NULL || out->struct_size == 0) return SAMARA_BAD_ARGUMENT;
  const struct smr_devices *devices = session->common.devices;
  samara_backend_report report = {.struct_size = out->struct_size, .failure = ""};
  if (devices != NULL) {
    report.active = devices->active;
    report.device_runs = devices->runs;
    report.repeated = devices->repeated;
    report.device_bytes = devices->device_bytes;
    report.failure = devices->failure.text;
    for (const struct smr_device_region *r = devices->regions; r != NULL; r = r->next) {
      report.regions++;
      report.nodes += r->end - r->begin;
    }
  }
  memcpy(out, &report, out->struct_size < sizeof report ? out->struct_size : sizeof report);
  return SAMARA_OK;
}
