// SPDX-License-Identifier: Apache-2.0
// Rates of a device: regions of a kind of node, and copies.
#include "base/fp.h"

#include "session/device/rates.h"

enum { RATES_SMALL_COPY = 64, RATES_LARGE_COPY = 1 << 20 };

static samara_status rates_wait(const samara_backend *backend, uint64_t ticket,
                                samara_error *error) {
  bool done = ticket == 0;
  while (!done) SMR_TRY(backend->table->wait(backend->device, ticket, UINT64_MAX, &done, error));
  return SAMARA_OK;
}

// ---- nodes ----

// A region and its handles on the device.
struct rates_held {
  const samara_backend *backend;
  struct smr_rates_region r;
  void *program, *constant, *memory;
};

static samara_status rates_submit(void *user, samara_error *error) {
  const struct rates_held *held = user;
  const samara_backend *backend = held->backend;
  uint64_t ticket = 0;
  SMR_TRY(backend->table->submit(backend->device, held->program, &held->r.region, 0,
                                 held->r.region.node_count, &ticket, error));
  return rates_wait(backend, ticket, error);
}

// Set the offsets of tensors that are not constants. Returns the bytes that they need.
static size_t rates_plan(struct rates_held *held) {
  const size_t alignment = held->backend->requirements.alignment_bytes;
  size_t used = 0;
  for (int i = 0; i < SMR_RATES_TENSORS; i++) {
    if (held->r.tensors[i].data != NULL) continue;
    held->r.tensors[i].offset_bytes = used;
    used += (held->r.tensors[i].size_bytes + alignment - 1) / alignment * alignment;
  }
  return used;
}

static samara_status rates_hold(struct rates_held *held, samara_error *error) {
  const samara_backend_table *table = held->backend->table;
  void *device = held->backend->device;
  if (held->r.weights != NULL) {
    SMR_TRY(table->load(device, &held->r.tensors[1], &held->constant, error));
    held->r.tensors[1].memory = held->constant;
  }
  SMR_TRY(table->compile(device, &held->r.region, &held->program, error));
  SMR_TRY(table->allocate(device, rates_plan(held), &held->memory, error));
  for (int i = 0; i < SMR_RATES_TENSORS; i++)
    if (held->r.tensors[i].data == NULL) held->r.tensors[i].memory = held->memory;
  return SAMARA_OK;
}

static void rates_let_go(struct rates_held *held) {
  const samara_backend *backend = held->backend;
  if (held->program != NULL)
    backend->table->release(backend->device, SAMARA_HANDLE_PROGRAM, held->program);
  if (held->memory != NULL)
    backend->table->release(backend->device, SAMARA_HANDLE_MEMORY, held->memory);
  if (held->constant != NULL)
    backend->table->release(backend->device, SAMARA_HANDLE_CONSTANT, held->constant);
  smr_release(&backend->allocator, held->r.weights);
}

static bool rates_supports(struct rates_held *held) {
  const samara_backend *backend = held->backend;
  const uint64_t most = backend->requirements.max_memory_bytes;
  char reason[64];
  if (held->r.weights != NULL &&
      (backend->requirements.constant_layouts >> held->r.tensors[1].layout & 1) == 0)
    return false;
  if (most != 0 && rates_plan(held) > most) return false;
  // As in a session, `supports` sees tensors without memory.
  samara_region one = held->r.region;
  one.node_count = 1;
  one.generation = 0;
  return backend->table->supports(backend->device, &one, 0, reason, sizeof reason);
}

static samara_status rates_device_time(void *user, const struct smr_rates_probe *probe,
                                       uint32_t size, uint32_t nodes, uint64_t *ns,
                                       samara_error *error) {
  struct rates_held held = {.backend = user};
  bool known;
  *ns = 0;
  samara_status status =
      smr_rates_describe(probe, size, nodes, &held.backend->allocator, &held.r, &known, error);
  if (status == SAMARA_OK && known && rates_supports(&held)) {
    status = rates_hold(&held, error);
    if (status == SAMARA_OK) status = smr_rates_least(rates_submit, &held, ns, error);
  }
  rates_let_go(&held);
  return status;
}

// ---- copies ----

struct rates_transfer {
  const samara_backend *backend;
  samara_copy copy;
};

static samara_status rates_copy(void *user, samara_error *error) {
  const struct rates_transfer *copied = user;
  const samara_backend *backend = copied->backend;
  uint64_t ticket = 0;
  SMR_TRY(backend->table->copy(backend->device, &copied->copy, &ticket, error));
  return rates_wait(backend, ticket, error);
}

static samara_status rates_direction(struct rates_transfer *copied, bool to_device, uint64_t *rate,
                                     uint64_t *copy_ns, samara_error *error) {
  uint64_t small, large;
  copied->copy.to_device = to_device;
  copied->copy.size_bytes = RATES_SMALL_COPY;
  SMR_TRY(smr_rates_least(rates_copy, copied, &small, error));
  copied->copy.size_bytes = RATES_LARGE_COPY;
  SMR_TRY(smr_rates_least(rates_copy, copied, &large, error));
  *rate = smr_rates_fit(RATES_SMALL_COPY, small, RATES_LARGE_COPY, large);
  if (small > *copy_ns) *copy_ns = small;
  return SAMARA_OK;
}

static samara_status rates_copies(const samara_backend *backend, samara_rates *rates,
                                  samara_error *error) {
  struct rates_transfer copied = {
      .backend = backend,
      .copy = {.host = smr_allocate_zeroed(&backend->allocator, 1, RATES_LARGE_COPY)}};
  samara_status status =
      copied.copy.host == NULL ? smr_no_memory(error, RATES_LARGE_COPY) : SAMARA_OK;
  if (status == SAMARA_OK)
    status =
        backend->table->allocate(backend->device, RATES_LARGE_COPY, &copied.copy.memory, error);
  if (status == SAMARA_OK) {
    status = rates_direction(&copied, true, &rates->to_device, &rates->copy_ns, error);
    if (status == SAMARA_OK)
      status = rates_direction(&copied, false, &rates->from_device, &rates->copy_ns, error);
    backend->table->release(backend->device, SAMARA_HANDLE_MEMORY, copied.copy.memory);
  }
  smr_release(&backend->allocator, copied.copy.host);
  return status;
}

samara_status smr_rates_measure_device(const samara_backend *backend, samara_rates *rates,
                                       samara_error *error) {
  const struct smr_rates_place place = {
      .user = (void *)(uintptr_t)backend, .time = rates_device_time, .waits = true};
  samara_rates found = {0};
  SMR_TRY(smr_rates_measure(&place, rates, error));
  if (rates->to_device != 0 && rates->from_device != 0 && rates->copy_ns != 0) return SAMARA_OK;
  SMR_TRY(rates_copies(backend, &found, error));
  // Rates stated by the backend are kept.
  if (rates->to_device == 0) rates->to_device = found.to_device;
  if (rates->from_device == 0) rates->from_device = found.from_device;
  if (rates->copy_ns == 0) rates->copy_ns = found.copy_ns;
  return SAMARA_OK;
}
