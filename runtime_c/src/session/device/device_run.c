// SPDX-License-Identifier: Apache-2.0
// Running a region: copies to its device, its nodes, copies to the host.
#include "base/fp.h"

#include "session/device/device.h"

struct smr_device_region *smr_region_at(const struct smr_frame *frame, uint32_t n) {
  return frame->devices != NULL ? frame->devices->region_of[n] : NULL;
}

static samara_status run_failed(const struct smr_device_region *region, const char *what,
                                samara_status status, const samara_error *why) {
  return smr_device_fail(region->frame->common, region->space->backend, what, status, why);
}

// Wait until the work of a ticket is done. Memory of the host takes part in it, so that nothing,
// neither a deadline nor a request to stop, ends the wait before.
static samara_status run_wait(const struct smr_device_region *region, uint64_t ticket) {
  const samara_backend *backend = region->space->backend;
  samara_error error = {.status = SAMARA_OK};
  bool done = ticket == 0;
  while (!done) {
    const samara_status status =
        backend->table->wait(backend->device, ticket, UINT64_MAX, &done, &error);
    if (status != SAMARA_OK) return run_failed(region, "waiting", status, &error);
  }
  return SAMARA_OK;
}

// Begin to copy tensor `index` of the region to the device, or to `host`.
static samara_status run_copy(const struct smr_device_region *region, uint32_t index, void *host,
                              bool to_device, uint64_t *ticket) {
  const samara_backend *backend = region->space->backend;
  const samara_region_tensor *tensor = &region->tensors[index];
  samara_error error = {.status = SAMARA_OK};
  uint64_t begun = 0;
  if (tensor->size_bytes == 0) return SAMARA_OK;
  const samara_copy copy = {.memory = tensor->memory,
                            .offset_bytes = tensor->offset_bytes,
                            .host = host,
                            .size_bytes = tensor->size_bytes,
                            .to_device = to_device};
  const samara_status status = backend->table->copy(backend->device, &copy, &begun, &error);
  if (status != SAMARA_OK)
    return run_failed(region, to_device ? "copying to it" : "copying from it", status, &error);
  if (begun > *ticket) *ticket = begun;
  return SAMARA_OK;
}

static samara_status run_recompile(struct smr_device_region *region, bool separate) {
  const samara_backend *backend = region->space->backend;
  samara_error error = {.status = SAMARA_OK};
  if (region->program != NULL)
    backend->table->release(backend->device, SAMARA_HANDLE_PROGRAM, region->program);
  region->program = NULL;
  region->region.separate = separate;
  const samara_status status = smr_region_compile(region, &error);
  return status == SAMARA_OK ? status : run_failed(region, "compiling", status, &error);
}

// A failure that leaves nothing under way that reads or writes memory of the host.
static samara_status run_stop(const struct smr_device_region *region, uint64_t ticket,
                              samara_status status) {
  if (status != SAMARA_OK) {
    const samara_error why = *region->frame->common->error;
    (void)run_wait(region, ticket);
    *region->frame->common->error = why;
  }
  return status;
}

samara_status smr_region_begin(struct smr_device_region *region, bool separate) {
  samara_status status = SAMARA_OK;
  region->copied = 0;
  if (region->region.separate != separate) SMR_TRY(run_recompile(region, separate));
  for (uint32_t i = 0; i < region->to_device_count && status == SAMARA_OK; i++) {
    const uint32_t index = region->to_device[i];
    const struct smr_tensor *t = &region->frame->values[region->value_of[index]].tensor;
    status = run_copy(region, index, t->data, true, &region->copied);
  }
  return run_stop(region, region->copied, status);
}

samara_status smr_region_compute(struct smr_device_region *region, uint32_t first, uint32_t count) {
  const samara_backend *backend = region->space->backend;
  samara_error error = {.status = SAMARA_OK};
  region->ticket = 0;
  const samara_status status = backend->table->submit(
      backend->device, region->program, &region->region, first, count, &region->ticket, &error);
  if (status == SAMARA_OK) return status;
  return run_stop(region, region->copied, run_failed(region, "running", status, &error));
}

samara_status smr_region_wait(struct smr_device_region *region) {
  return run_wait(region, region->ticket);
}

samara_status smr_region_end(struct smr_device_region *region) {
  // Copies to the device were begun before, and are done before these.
  uint64_t ticket = region->copied;
  samara_status status = SAMARA_OK;
  for (uint32_t i = 0; i < region->to_host_count && status == SAMARA_OK; i++) {
    const uint32_t index = region->to_host[i];
    const struct smr_tensor *t = &region->frame->values[region->value_of[index]].tensor;
    status = run_copy(region, index, t->data, false, &ticket);
  }
  const samara_status waited = run_wait(region, ticket);
  return status != SAMARA_OK ? status : waited;
}

samara_status smr_region_fetch(struct smr_device_region *region, uint32_t index, void *host) {
  uint64_t ticket = 0;
  const samara_status status = run_copy(region, index, host, false, &ticket);
  const samara_status waited = run_wait(region, ticket);
  return status != SAMARA_OK ? status : waited;
}

samara_status smr_region_show(struct smr_device_region *region, uint32_t n) {
  struct smr_frame *frame = region->frame;
  const samara_region_node *node = &region->region.nodes[n - region->begin];
  uint64_t ticket = 0;
  samara_status status = SAMARA_OK;
  for (uint32_t i = 0; i < node->output_count && status == SAMARA_OK; i++) {
    const uint32_t index = (uint32_t)node->outputs[i];
    struct smr_frame_value *value = &frame->values[region->value_of[index]];
    struct smr_tensor *t = &value->tensor;
    if (value->on_device) {
      status = smr_block_ensure(frame->common, &value->own, t->size_bytes, 0, t->name);
      t->data = value->own.data;
    }
    if (status == SAMARA_OK) status = run_copy(region, index, t->data, false, &ticket);
  }
  const samara_status waited = run_wait(region, ticket);
  return status != SAMARA_OK ? status : waited;
}
