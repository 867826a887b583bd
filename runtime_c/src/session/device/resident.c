// SPDX-License-Identifier: Apache-2.0
// Residents: variables that stay on a device between runs, their buffers, and swapping these.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

#include "base/checked.h"

// ---- which ones ----

// Whether a value has constant dims and the size of the variable.
static bool resident_fits(const struct smr_frame *frame, uint32_t id,
                          const struct smr_variable *variable) {
  const struct smr_function *f = frame->function;
  const struct smr_value *value = &f->values[id];
  size_t bytes = smr_dtype_bytes(value->dtype);
  for (uint32_t axis = 0; axis < value->rank; axis++) {
    const struct smr_expr *dim = &f->exprs[value->dims[axis]];
    if (dim->op != SMR_EXPR_CONST || dim->k < 0 || !smr_mul_size(bytes, (size_t)dim->k, &bytes))
      return false;
  }
  return value->dtype == variable->dtype && bytes == variable->size_bytes && bytes != 0;
}

// The common space of all nodes that read an input; 0 if the host reads it, or nobody does.
static uint8_t resident_reader(const struct smr_frame *frame, uint32_t id) {
  const struct smr_function *f = frame->function;
  uint8_t space = 0;
  if (frame->values[id].is_output || smr_value_kept(&frame->values[id])) return 0;
  for (uint32_t i = 0; i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_READ && (uint32_t)f->exprs[i].a == id) return 0;
  for (uint32_t n = 0; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++) {
      if (f->nodes[n].inputs[i] != (int32_t)id) continue;
      const uint8_t reader = frame->nodes[n].space;
      if (reader == 0 || (space != 0 && reader != space)) return 0;
      space = reader;
    }
  return space;
}

// The value whose bytes value `id` shares, if nodes of the space made both; else -1.
static int32_t resident_root(const struct smr_frame *frame, uint32_t id, uint8_t space) {
  const struct smr_function *f = frame->function;
  for (;;) {
    const int32_t maker = f->values[id].producer;
    if (maker < 0 || frame->nodes[maker].space != space) return -1;
    if (!smr_region_is_view(frame, &f->nodes[maker])) return (int32_t)id;
    id = (uint32_t)f->nodes[maker].inputs[0];
  }
}

static bool resident_is_root(const struct smr_devices *devices, int32_t root) {
  const struct smr_resident *resident = devices->residents;
  while (resident != NULL && resident->root != root) resident = resident->next;
  return resident != NULL;
}

// Whether the variable that binding `read` reads can stay; fills `out`.
static bool resident_decide(const struct smr_frame *frame, const struct smr_binding *read,
                            struct smr_resident *out) {
  const struct smr_function *f = frame->function;
  const struct smr_variable *variable = &frame->common->model->variables[read->variable];
  const uint32_t id = f->inputs[read->position];
  *out = (struct smr_resident){.input = read->position, .reads = id, .output = -1, .root = -1};
  out->space = resident_reader(frame, id);
  if (out->space == 0 || !resident_fits(frame, id, variable)) return false;
  for (uint32_t i = 0; i < f->write_count; i++)
    if (f->writes[i].variable == read->variable) out->output = (int32_t)f->writes[i].position;
  if (out->output < 0) return true;
  const uint32_t next = f->outputs[out->output];
  out->root = resident_root(frame, next, out->space);
  return out->root >= 0 && resident_fits(frame, next, variable) &&
         !resident_is_root(frame->common->devices, out->root);
}

samara_status smr_residents_find(struct smr_frame *frame) {
  struct smr_devices *devices = frame->common->devices;
  const struct smr_function *f = frame->function;
  devices->residents = NULL;  // residents of earlier frames
  devices->turn = 0;
  // Runs of a lost device are repeated from copies of variables, which have fixed sizes.
  for (uint32_t i = 0; i < f->read_count; i++)
    if (smr_grows(&frame->common->model->variables[f->reads[i].variable])) return SAMARA_OK;
  for (uint32_t i = 0; i < f->read_count; i++) {
    struct smr_resident decided, *resident;
    if (!resident_decide(frame, &f->reads[i], &decided)) continue;
    SMR_TAKE(frame->common, resident, 1);
    *resident = decided;
    resident->next = devices->residents;
    devices->residents = resident;
  }
  return SAMARA_OK;
}

// ---- where they lie ----

static struct smr_resident *resident_first(const struct smr_frame *frame) {
  return SMR_HAS(variables) && frame->is_entry ? frame->common->devices->residents : NULL;
}

const struct smr_resident *smr_resident_written(const struct smr_frame *frame, uint32_t output) {
  const struct smr_resident *resident = resident_first(frame);
  while (resident != NULL && resident->output != (int32_t)output) resident = resident->next;
  return resident;
}

struct smr_resident *smr_resident_of(const struct smr_frame *frame,
                                     const struct smr_device_space *space, uint32_t root) {
  struct smr_resident *resident = resident_first(frame);
  while (resident != NULL && (space != &frame->devices->spaces[resident->space - 1] ||
                              (resident->reads != root && resident->root != (int32_t)root)))
    resident = resident->next;
  return resident;
}

uint32_t smr_resident_place(const struct smr_frame *frame, const struct smr_device_space *space,
                            uint32_t root, uint32_t turn) {
  const struct smr_resident *resident = smr_resident_of(frame, space, root);
  if (turn == 0 || resident == NULL || resident->root < 0) return root;
  return resident->reads == root ? (uint32_t)resident->root : resident->reads;
}

// ---- runs ----

samara_status smr_resident_copy(const struct smr_frame *frame, const struct smr_resident *resident,
                                bool next, void *host, bool to_device, uint64_t *ticket) {
  const struct smr_device_space *space = &frame->devices->spaces[resident->space - 1];
  const uint32_t turn = frame->common->devices->turn;
  const uint32_t place = smr_resident_place(frame, space, resident->reads, next ? 1 - turn : turn);
  const samara_copy copy = {.memory = space->blocks[0].handle,
                            .offset_bytes = space->values[place].offset,
                            .host = host,
                            .size_bytes = frame->values[resident->reads].tensor.size_bytes,
                            .to_device = to_device};
  return smr_device_copy(frame->common, space->backend, &copy, ticket);
}

samara_status smr_residents_wait(const struct smr_frame *frame) {
  const struct smr_device_region *region = frame->common->devices->regions;
  for (; region != NULL; region = region->next)
    if (region->twin != NULL)
      SMR_TRY(smr_device_wait(frame->common, region->space->backend, region->ticket));
  return SAMARA_OK;
}

void smr_residents_turn(struct smr_frame *frame) {
  struct smr_devices *devices = frame->common->devices;
  devices->turn = 1 - devices->turn;
  for (struct smr_device_region **link = &devices->regions; *link != NULL; link = &(*link)->next) {
    struct smr_device_region *region = *link, *twin = region->twin;
    if (twin == NULL) continue;
    twin->next = region->next;
    memcpy(twin->trusted, region->trusted, sizeof twin->trusted);
    *link = twin;
    frame->devices->region_of[twin->begin] = twin;
  }
  for (struct smr_resident *r = devices->residents; r != NULL; r = r->next)
    if (r->root >= 0) r->fresh = true;
}
