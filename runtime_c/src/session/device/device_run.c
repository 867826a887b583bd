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

samara_status smr_device_wait(struct smr_common *common, const samara_backend *backend,
                              uint64_t ticket) {
  samara_error error = {.status = SAMARA_OK};
  bool done = ticket == 0;
  while (!done) {
    const samara_status status =
        backend->table->wait(backend->device, ticket, UINT64_MAX, &done, &error);
    if (status != SAMARA_OK) return smr_device_fail(common, backend, "waiting", status, &error);
  }
  return SAMARA_OK;
}

samara_status smr_device_copy(struct smr_common *common, const samara_backend *backend,
                              const samara_copy *copy, uint64_t *ticket) {
  samara_error error = {.status = SAMARA_OK};
  uint64_t begun = 0;
  if (copy->size_bytes == 0) return SAMARA_OK;
  const samara_status status = backend->table->copy(backend->device, copy, &begun, &error);
  if (status != SAMARA_OK)
    return smr_device_fail(common, backend, copy->to_device ? "copying to it" : "copying from it",
                           status, &error);
  if (begun > *ticket) *ticket = begun;
  common->devices->copies++;
  common->devices->copied_bytes += copy->size_bytes;
  return SAMARA_OK;
}

static samara_status run_wait(const struct smr_device_region *region, uint64_t ticket) {
  return smr_device_wait(region->frame->common, region->space->backend, ticket);
}

// Begin to copy tensor `index` of the region to the device, or to `host`. A narrowed tensor goes to
// the second half of its host buffer, where run_widen reads it.
static samara_status run_copy(const struct smr_device_region *region, uint32_t index, void *host,
                              bool to_device, uint64_t *ticket) {
  const samara_region_tensor *tensor = &region->tensors[index];
  const samara_copy copy = {
      .memory = tensor->memory,
      .offset_bytes = tensor->offset_bytes,
      .host = !to_device && smr_is_narrowed(tensor) ? (uint8_t *)host + tensor->size_bytes : host,
      .size_bytes = tensor->size_bytes,
      .to_device = to_device};
  return smr_device_copy(region->frame->common, region->space->backend, &copy, ticket);
}

// After the copy: convert a narrowed tensor to the host's floats.
static void run_widen(const struct smr_device_region *region, uint32_t index, void *host) {
  const samara_region_tensor *tensor = &region->tensors[index];
  if (smr_is_narrowed(tensor))
    smr_float16_widen(region->frame->common->isa, host, tensor->size_bytes / sizeof(uint16_t));
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

// Fail, after waiting for all work that accesses host memory.
static samara_status run_stop(const struct smr_device_region *region, uint64_t ticket,
                              samara_status status) {
  if (status != SAMARA_OK) {
    const samara_error why = *region->frame->common->error;
    (void)run_wait(region, ticket);
    *region->frame->common->error = why;
  }
  return status;
}

// The source of a tensor's copy to the device: the host's bytes, or floats narrowed into the next
// bytes of `staging`, which planning has made large enough.
static void *run_source(const struct smr_device_region *region, uint32_t index, uint8_t **staging) {
  const samara_region_tensor *tensor = &region->tensors[index];
  const struct smr_tensor *t = &region->frame->values[region->value_of[index]].tensor;
  if (!smr_is_narrowed(tensor) || tensor->size_bytes == 0) return t->data;
  void *source = *staging;
  *staging += smr_align64(tensor->size_bytes);
  smr_float16_narrow(region->frame->common->isa, t->data, tensor->size_bytes / sizeof(uint16_t),
                     source);
  return source;
}

samara_status smr_region_begin(struct smr_device_region *region, bool separate) {
  samara_status status = SAMARA_OK;
  uint8_t *staging = region->frame->common->devices->staging.data;
  region->copied = 0;
  if (region->region.separate != separate) SMR_TRY(run_recompile(region, separate));
  for (uint32_t i = 0; i < region->to_device_count && status == SAMARA_OK; i++) {
    const uint32_t index = region->to_device[i];
    status = run_copy(region, index, run_source(region, index, &staging), true, &region->copied);
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
  // Copies to the device began earlier, so they finish before these.
  uint64_t ticket = region->copied;
  samara_status status = SAMARA_OK;
  for (uint32_t i = 0; i < region->to_host_count && status == SAMARA_OK; i++) {
    const uint32_t index = region->to_host[i];
    const struct smr_tensor *t = &region->frame->values[region->value_of[index]].tensor;
    status = run_copy(region, index, t->data, false, &ticket);
  }
  const samara_status waited = run_wait(region, ticket);
  if (status == SAMARA_OK) status = waited;
  for (uint32_t i = 0; i < region->to_host_count && status == SAMARA_OK; i++) {
    const uint32_t index = region->to_host[i];
    run_widen(region, index, region->frame->values[region->value_of[index]].tensor.data);
  }
  return status;
}

samara_status smr_region_fetch(struct smr_device_region *region, uint32_t index, void *host) {
  uint64_t ticket = 0;
  const samara_status status = run_copy(region, index, host, false, &ticket);
  const samara_status waited = run_wait(region, ticket);
  if (status != SAMARA_OK || waited != SAMARA_OK) return status != SAMARA_OK ? status : waited;
  run_widen(region, index, host);
  return SAMARA_OK;
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
  if (status == SAMARA_OK) status = waited;
  for (uint32_t i = 0; i < node->output_count && status == SAMARA_OK; i++) {
    const uint32_t index = (uint32_t)node->outputs[i];
    run_widen(region, index, frame->values[region->value_of[index]].tensor.data);
  }
  return status;
}
