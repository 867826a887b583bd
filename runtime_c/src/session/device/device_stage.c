// SPDX-License-Identifier: Apache-2.0
// The devices' memory of a stage, planned when its dims are known.
#include "base/fp.h"

#include "session/device/device.h"

#include "base/checked.h"

// Items for the planner: the values of the space in the stage's memory.
static size_t stage_collect(const struct smr_frame *frame, const struct smr_device_space *space,
                            uint32_t stage) {
  const size_t alignment = space->backend->requirements.alignment_bytes;
  size_t count = 0;
  for (uint32_t i = 0; i < frame->function->value_count; i++) {
    const struct smr_device_value *value = &space->values[i];
    if (!value->here || value->root != i || value->stage != stage) continue;
    const size_t size_bytes = frame->values[i].tensor.size_bytes;
    size_t bytes =
        smr_align64(SMR_HAS(backends_float16) && value->float16 ? size_bytes / 2 : size_bytes);
    if (!smr_add_size(bytes, alignment - 1, &bytes)) bytes = SIZE_MAX;
    frame->items[count++] = (struct smr_plan_item){.first = value->first,
                                                   .last = value->last,
                                                   .owner = i,
                                                   .size_bytes = bytes / alignment * alignment};
  }
  return count;
}

// Make the block at least that large. Its content is lost.
static samara_status stage_ensure(struct smr_frame *frame, const struct smr_device_space *space,
                                  struct smr_device_block *block, size_t size_bytes) {
  struct smr_devices *devices = frame->common->devices;
  samara_backend *backend = space->backend;
  samara_error error = {.status = SAMARA_OK};
  if (size_bytes <= block->size_bytes) return SAMARA_OK;
  if (block->backend == NULL) {
    block->backend = backend;
    block->next = devices->blocks;
    devices->blocks = block;
  }
  if (block->handle != NULL)
    backend->table->release(backend->device, SAMARA_HANDLE_MEMORY, block->handle);
  devices->device_bytes -= block->size_bytes;
  block->handle = NULL;
  block->size_bytes = 0;
  const uint64_t most = backend->requirements.max_memory_bytes;
  samara_status status = SAMARA_OUT_OF_MEMORY;
  if (most != 0 && size_bytes > most)
    smr_fail(&error, status, "%zu bytes are needed, but one allocation can have at most %llu",
             size_bytes, (unsigned long long)most);
  else
    status = backend->table->allocate(backend->device, size_bytes, &block->handle, &error);
  if (status != SAMARA_OK) {
    block->handle = NULL;
    return smr_device_fail(frame->common, backend, "allocating memory", status, &error);
  }
  block->size_bytes = size_bytes;
  devices->device_bytes += size_bytes;
  return SAMARA_OK;
}

static void stage_take_offsets(void *user, const struct smr_plan_item *items, size_t count) {
  const struct smr_device_space *space = (const struct smr_device_space *)user;
  for (size_t i = 0; i < count; i++) space->values[items[i].owner].offset = items[i].offset;
}

static samara_status stage_plan(struct smr_frame *frame, struct smr_device_space *space,
                                uint32_t stage) {
  size_t total = 0;
  const size_t count = stage_collect(frame, space, stage);
  if (count == 0) return SAMARA_OK;
  if (!smr_plan_pack(frame->items, count, stage_take_offsets, space, &total))
    SMR_FRAME_FAIL(frame, OUT_OF_MEMORY, "its tensors do not fit the address space of %s",
                   space->backend->name);
  return stage_ensure(frame, space, &space->blocks[stage], total);
}

// Reserve staging memory for the inputs of a region that are narrowed.
static samara_status stage_staging(const struct smr_device_region *region) {
  struct smr_common *common = region->frame->common;
  size_t bytes = 0;
  for (uint32_t i = 0; i < region->to_device_count; i++) {
    const samara_region_tensor *tensor = &region->tensors[region->to_device[i]];
    if (smr_is_narrowed(tensor) && !smr_add_size(bytes, smr_align64(tensor->size_bytes), &bytes))
      bytes = SIZE_MAX;
  }
  if (bytes == 0) return SAMARA_OK;
  return smr_block_ensure(common, &common->devices->staging, bytes, 0, "a copy to a device");
}

// Set the addresses of a region's tensors.
static void stage_tell(struct smr_device_region *region) {
  const struct smr_device_space *space = region->space;
  smr_region_refresh(region);
  for (uint32_t i = 0; i < region->region.tensor_count; i++) {
    if (region->frame->function->values[region->value_of[i]].constant >= 0) continue;
    const struct smr_device_value *value = &space->values[region->value_of[i]];
    const struct smr_device_value *root =
        &space->values[smr_resident_place(region->frame, space, value->root, region->turn)];
    region->tensors[i].memory = space->blocks[root->stage].handle;
    region->tensors[i].offset_bytes = root->offset;
  }
  region->region.generation++;
}

samara_status smr_devices_stage(struct smr_frame *frame, uint32_t stage) {
  const struct smr_devices *devices = frame->common->devices;
  if (frame->devices == NULL) return SAMARA_OK;
  // Their buffers may have moved; the host has fetched what it needs.
  for (struct smr_resident *r = devices->residents; frame->is_entry && stage == 0 && r != NULL;
       r = r->next)
    r->fresh = false;
  for (uint32_t i = 0; i < devices->count; i++)
    SMR_TRY(stage_plan(frame, &frame->devices->spaces[i], stage));
  for (uint32_t n = frame->stage_begin[stage]; n < frame->stage_begin[stage + 1]; n++) {
    struct smr_device_region *region = frame->devices->region_of[n];
    if (region == NULL) continue;
    stage_tell(region);
    if (region->twin != NULL) stage_tell(region->twin);
    SMR_TRY(stage_staging(region));
  }
  return SAMARA_OK;
}
