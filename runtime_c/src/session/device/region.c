// SPDX-License-Identifier: Apache-2.0
// Regions: consecutive nodes of one device, the copies at their borders, and lifetimes of values on
// the device.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

#include "base/format.h"
#include "ops/table/opattrs.h"

// ---- failures ----

samara_status smr_device_error(const samara_backend *backend, const char *what,
                               samara_status status, const samara_error *why, samara_error *error) {
  return smr_fail(error, status, "%s: %s: %s", backend->name, what,
                  why->text[0] != '\0' ? why->text : "no reason given");
}

samara_status smr_device_fail(struct smr_common *common, const samara_backend *backend,
                              const char *what, samara_status status, const samara_error *why) {
  common->devices->failed = true;
  if (SMR_DEVICES_BLAME) common->devices->blames_data = status == SAMARA_BAD_DATA;
  return smr_device_error(backend, what, status, why, common->error);
}

// ---- lifetimes ----

// The value whose bytes `id` shares on the device: the first of its chain of views.
static uint32_t region_root(const struct smr_device_space *space, uint32_t id) {
  while (space->values[id].root != id) id = space->values[id].root;
  return id;
}

// Nodes are in the order of their stages, so a value that a later stage reads outlives all nodes of
// its own stage.
static void region_use(struct smr_device_space *space, uint32_t id, uint32_t n) {
  struct smr_device_value *value = &space->values[region_root(space, id)];
  if (n > value->last) value->last = n;
}

static void region_make(const struct smr_frame *frame, struct smr_device_space *space, uint32_t id,
                        uint32_t n) {
  space->values[id] = (struct smr_device_value){
      .root = id, .first = n, .last = n, .stage = frame->nodes[n].node->stage, .here = true};
  if (smr_resident_of(frame, space, id) == NULL) return;
  space->values[id].stage = 0;
  space->values[id].first = 0;
  space->values[id].last = UINT32_MAX;
}

bool smr_region_is_view(const struct smr_frame *frame, const struct smr_node *node) {
  const uint32_t code = node->op->code;
  return (code == SMR_CODE_RESHAPE || code == SMR_CODE_IDENTITY) &&
         frame->function->values[node->inputs[0]].constant < 0 &&
         frame->values[node->inputs[0]].tensor.dtype ==
             frame->values[node->outputs[0]].tensor.dtype;
}

// Find the sources and lifetimes of the region's values, and which ones are copied to the device.
static void region_values(struct smr_device_region *region) {
  const struct smr_frame *frame = region->frame;
  struct smr_device_space *space = region->space;
  for (uint32_t n = region->begin; n < region->end; n++) {
    const struct smr_node *node = frame->nodes[n].node;
    const samara_region_node *slice = &region->region.nodes[n - region->begin];
    for (uint32_t i = 0; i < node->input_count; i++) {
      const int32_t id = node->inputs[i];
      if (id < 0 || frame->function->values[id].constant >= 0) continue;
      if (!space->values[id].here) {
        region_make(frame, space, (uint32_t)id, region->begin);
        space->values[id].float16 = region->tensors[slice->inputs[i]].narrowed;
        if (smr_resident_of(frame, space, (uint32_t)id) == NULL)
          region->to_device[region->to_device_count++] = (uint32_t)slice->inputs[i];
      }
      region_use(space, (uint32_t)id, n);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
      region_make(frame, space, node->outputs[i], n);
      space->values[node->outputs[i]].float16 = region->tensors[slice->outputs[i]].narrowed;
      if (!frame->values[node->outputs[i]].on_device)
        region->to_host[region->to_host_count++] = (uint32_t)slice->outputs[i];
    }
    if (!smr_region_is_view(frame, node)) continue;
    const uint32_t x = region_root(space, (uint32_t)node->inputs[0]);
    space->values[node->outputs[0]].root = x;
  }
  for (uint32_t i = 0; i < region->to_host_count; i++)
    region_use(space, region->value_of[region->to_host[i]], region->end - 1);
}

// ---- building ----

// Whether a tensor of the region swaps buffers every run.
static bool region_turns(const struct smr_device_region *region) {
  for (uint32_t i = 0; i < region->region.tensor_count; i++) {
    const uint32_t id = region->value_of[i];
    if (region->frame->function->values[id].constant >= 0) continue;
    const uint32_t root = region_root(region->space, id);
    if (smr_resident_place(region->frame, region->space, root, 1) != root) return true;
  }
  return false;
}

// A twin has its own offsets and program; it shares everything else.
static samara_status region_twin(struct smr_device_region *region) {
  struct smr_device_region *twin;
  const uint32_t count = region->region.tensor_count;
  if (!region_turns(region)) return SAMARA_OK;
  SMR_TAKE(region->frame->common, twin, 1);
  *twin = *region;
  SMR_TAKE(region->frame->common, twin->tensors, count);
  memcpy(twin->tensors, region->tensors, count * sizeof *twin->tensors);
  twin->region.tensors = twin->tensors;
  twin->turn = 1;
  twin->twin = region;
  region->twin = twin;
  return SAMARA_OK;
}

static samara_status region_build(struct smr_frame *frame, uint32_t begin, uint32_t end,
                                  uint8_t number) {
  struct smr_devices *devices = frame->common->devices;
  struct smr_device_region *region;
  SMR_TAKE(frame->common, region, 1);
  SMR_TRY(smr_region_describe(frame, begin, end, region));
  SMR_TAKE(frame->common, region->loaded, region->region.tensor_count);
  SMR_TAKE(frame->common, region->to_device, region->region.tensor_count);
  SMR_TAKE(frame->common, region->to_host, region->region.tensor_count);
  region->space = &frame->devices->spaces[number - 1];
  region->region.launches = &devices->launching;
  if (SMR_HAS(backends_steps) && region->space->backend->requirements.any_range) {
    smr_region_outside(region, frame->devices->read);
    SMR_TAKE(frame->common, region->joins, region->region.node_count);
    SMR_TAKE(frame->common, region->tried, region->region.node_count);
    SMR_TAKE(frame->common, region->apart, region->region.node_count);
  }
  region->next = devices->regions;
  devices->regions = region;
  frame->devices->region_of[begin] = region;
  region_values(region);
  return region_twin(region);
}

samara_status smr_devices_build(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  const struct smr_devices *devices = frame->common->devices;
  if (frame->devices == NULL) return SAMARA_OK;
  SMR_TAKE(frame->common, frame->devices->region_of, f->node_count);
  if (SMR_HAS(backends_steps)) SMR_TAKE(frame->common, frame->devices->read, f->value_count);
  for (uint32_t i = 0; i < devices->count; i++) {
    struct smr_device_space *space = &frame->devices->spaces[i];
    space->backend = devices->backends[i];
    SMR_TAKE(frame->common, space->values, f->value_count);
    SMR_TAKE(frame->common, space->blocks, smr_stage_count(f));
  }
  for (uint32_t n = 0, end; n < f->node_count; n = end) {
    const struct smr_frame_node *node = &frame->nodes[n];
    for (end = n + 1; end < f->node_count && frame->nodes[end].space == node->space &&
                      frame->nodes[end].node->stage == node->node->stage;)
      end++;
    if (node->space != 0) SMR_TRY(region_build(frame, n, end, node->space));
  }
  return SAMARA_OK;
}

// ---- compiling ----

static samara_status region_load(struct smr_device_region *region, const samara_model *model,
                                 samara_error *error) {
  for (uint32_t i = 0; i < region->region.tensor_count; i++) {
    samara_region_tensor *tensor = &region->tensors[i];
    const int32_t constant = region->frame->function->values[region->value_of[i]].constant;
    if (constant < 0 || tensor->size_bytes == 0) continue;
    SMR_TRY(smr_backend_load(region->space->backend, model, constant, tensor,
                             region->frame->common->isa, &region->loaded[i], error));
    tensor->memory = region->loaded[i]->handle;
    if (region->twin != NULL) region->twin->tensors[i].memory = tensor->memory;
  }
  return SAMARA_OK;
}

// Whether the backend's steps are valid: the last node of a step is no earlier than its other nodes
// and belongs to the same step.
static bool region_may_join(const struct smr_device_region *region) {
  const samara_region_join *tried = region->tried;
  for (uint32_t n = 0; n < region->region.node_count; n++) {
    const uint32_t last = tried[n].last;
    if (last == n) continue;
    if (last < n || last >= region->region.node_count || tried[last].last != last ||
        tried[last].kind != tried[n].kind || region->apart[n] || region->apart[last] ||
        (region->joined && region->joins[n].last != last))
      return false;
  }
  return true;
}

// Mark the nodes of steps whose kind gave a wrong result as `apart`. Returns whether there are any.
static bool region_part(struct smr_device_region *region) {
  bool any = false;
  for (uint32_t n = 0; n < region->region.node_count; n++) {
    char key[SMR_TRUST_KEY];
    const uint32_t last = region->joins[n].last;
    if (last == n) continue;
    smr_trust_step_key(region, region->begin + last, key);
    region->apart[n] = smr_trust_of(region->space->backend, key) == SMR_TRUST_BAD;
    any = any || region->apart[n];
  }
  // Last nodes are known only now.
  for (uint32_t n = 0; n < region->region.node_count && any; n++)
    if (region->apart[n]) region->apart[region->joins[n].last] = true;
  return any;
}

// Values of a step's nodes live until the last node of the step.
static void region_keep(struct smr_device_region *region) {
  const struct smr_frame *frame = region->frame;
  for (uint32_t n = region->begin; n < region->end; n++) {
    const struct smr_node *node = frame->nodes[n].node;
    const uint32_t last = region->begin + region->joins[n - region->begin].last;
    for (uint32_t i = 0; i < node->input_count; i++)
      if (node->inputs[i] >= 0 && frame->function->values[node->inputs[i]].constant < 0)
        region_use(region->space, (uint32_t)node->inputs[i], last);
    for (uint32_t i = 0; i < node->output_count; i++)
      region_use(region->space, node->outputs[i], last);
  }
  region->joined = true;
}

static samara_status region_compile(struct smr_device_region *region, bool joins,
                                    samara_error *error) {
  const samara_backend *backend = region->space->backend;
  const uint32_t count = region->region.node_count;
  for (uint32_t n = 0; joins && n < count; n++) region->tried[n] = (samara_region_join){.last = n};
  region->region.joins = joins ? region->tried : NULL;
  region->region.apart = joins ? region->apart : NULL;
  samara_status status =
      backend->table->compile(backend->device, &region->region, &region->program, error);
  if (status == SAMARA_OK && joins && !region_may_join(region)) {
    backend->table->release(backend->device, SAMARA_HANDLE_PROGRAM, region->program);
    status = smr_fail(error, SAMARA_BACKEND, "the backend joined nodes that cannot form one step");
  }
  if (status != SAMARA_OK) region->program = NULL;
  if (status == SAMARA_OK && joins)
    memcpy(region->joins, region->tried, count * sizeof *region->joins);
  return status;
}

samara_status smr_region_compile(struct smr_device_region *region, samara_error *error) {
  const samara_backend *backend = region->space->backend;
  const bool joins = SMR_HAS(backends_steps) && region->joins != NULL && !region->region.separate;
  SMR_TRY(region_compile(region, joins, error));
  if (!joins || region->joined) return SAMARA_OK;
  while (region_part(region)) {
    backend->table->release(backend->device, SAMARA_HANDLE_PROGRAM, region->program);
    SMR_TRY(region_compile(region, true, error));
  }
  region_keep(region);
  return SAMARA_OK;
}

samara_status smr_devices_compile(const struct smr_devices *devices, const samara_model *model,
                                  samara_error *error) {
  for (struct smr_device_region *region = devices->regions; region != NULL; region = region->next) {
    samara_error why = {.status = SAMARA_OK};
    const char *what = "loading a constant";
    samara_status status = region_load(region, model, &why);
    if (status == SAMARA_OK) {
      what = "compiling";
      status = smr_region_compile(region, &why);
      if (status == SAMARA_OK && region->twin != NULL) {
        region->twin->joined = region->joined;
        status = smr_region_compile(region->twin, &why);
      }
    }
    if (status != SAMARA_OK)
      return smr_device_error(region->space->backend, what, status, &why, error);
  }
  return SAMARA_OK;
}

// ---- releasing ----

void smr_devices_release(struct smr_devices *devices) {
  for (struct smr_device_region *region = devices->regions; region != NULL; region = region->next) {
    samara_backend *backend = region->space->backend;
    if (region->program != NULL)
      backend->table->release(backend->device, SAMARA_HANDLE_PROGRAM, region->program);
    if (region->twin != NULL && region->twin->program != NULL)
      backend->table->release(backend->device, SAMARA_HANDLE_PROGRAM, region->twin->program);
    for (uint32_t i = 0; i < region->region.tensor_count; i++)
      smr_backend_unload(backend, region->loaded[i]);
  }
  for (struct smr_device_block *block = devices->blocks; block != NULL; block = block->next)
    if (block->handle != NULL)
      block->backend->table->release(block->backend->device, SAMARA_HANDLE_MEMORY, block->handle);
  devices->regions = NULL;
  devices->blocks = NULL;
  devices->residents = NULL;
  devices->turn = 0;
  devices->device_bytes = 0;
}
