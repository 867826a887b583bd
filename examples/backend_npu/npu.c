// SPDX-License-Identifier: Apache-2.0
// A complete backend: an imaginary NPU for int8 convolutions, with its own memory and queue.
#include "npu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the device ----

static samara_status npu_probe(const samara_probe *request, void **out, samara_device_info *info,
                               samara_error *error) {
  if (request->index != 0)
    return npu_fail(error, SAMARA_NOT_FOUND, "there is one NPU, device %u was asked for",
                    (unsigned)request->index);
  const samara_allocator *allocator = &request->allocator;
  struct npu_device *device = allocator->allocate(allocator->user, sizeof *device);
  if (device == NULL) return npu_fail(error, SAMARA_OUT_OF_MEMORY, "no memory for the NPU");
  memset(device, 0, sizeof *device);
  device->allocator = *allocator;
  // For tests: the ticket at which the NPU is lost.
  const char *fail_at = getenv("NPU_FAIL_AT");
  if (fail_at != NULL) device->fail_at = strtoull(fail_at, NULL, 10);
  pthread_mutex_init(&device->lock, NULL);
  pthread_cond_init(&device->begin, NULL);
  pthread_cond_init(&device->end, NULL);
  if (!npu_queue_start(device)) {
    allocator->release(allocator->user, device);
    return npu_fail(error, SAMARA_OUT_OF_MEMORY, "no thread for the NPU");
  }
  info->name = "Imaginary NPU";
  info->driver = "1.0";
  info->memory_bytes = NPU_MEMORY_BYTES;
  info->compute_units = 1;
  info->rates = (samara_rates){.launch_ns = 5000,
                               .wait_ns = 50000,
                               .copy_ns = 10000,
                               .product_ns = 1000,
                               .product_int8 = 1000000000,
                               .depthwise = 100000000,
                               .memory = 20000000,
                               .to_device = 5000000,
                               .from_device = 5000000};
  request->log(request->log_user, SAMARA_LOG_INFO, "npu: one imaginary device");
  *out = device;
  return SAMARA_OK;
}

static void close_device(struct npu_device *device) {
  npu_queue_stop(device);
  for (size_t i = 0; i < NPU_HANDLES; i++) free(device->memories[i].bytes);
  pthread_cond_destroy(&device->end);
  pthread_cond_destroy(&device->begin);
  pthread_mutex_destroy(&device->lock);
  const samara_allocator allocator = device->allocator;
  allocator.release(allocator.user, device);
}

static bool npu_supports(void *device, const samara_region *region, uint32_t node, char *reason,
                         size_t reason_size) {
  (void)device;
  const struct npu_op *op = npu_find_op(region->nodes[node].op);
  if (op == NULL) {
    snprintf(reason, reason_size, "%s is not supported", region->nodes[node].op);
    return false;
  }
  return op->supports(region, &region->nodes[node], reason, reason_size);
}

static void npu_requirements(void *device, samara_requirements *out) {
  (void)device;
  out->alignment_bytes = NPU_ALIGNMENT;
  out->max_memory_bytes = NPU_ALLOCATION_BYTES;
  out->constant_layouts =
      1u << SAMARA_LAYOUT_PLAIN | 1u << SAMARA_LAYOUT_PANEL | 1u << SAMARA_LAYOUT_DWPANEL;
}

// ---- compile ----

// The number of output channels for which the node has parameters.
static size_t parameter_count(const samara_region *region, const samara_region_node *node) {
  return npu_find_op(node->op) == &npu_op_qconv ? (size_t)npu_input(region, node, 1)->shape[0] : 0;
}

static samara_status npu_compile(void *opaque, const samara_region *region, void **out,
                                 samara_error *error) {
  struct npu_device *device = opaque;
  size_t channels = 0;
  for (uint32_t i = 0; i < region->node_count; i++) {
    if (npu_find_op(region->nodes[i].op) == NULL)
      return npu_fail(error, SAMARA_UNSUPPORTED, "%s is not supported", region->nodes[i].op);
    channels += parameter_count(region, &region->nodes[i]);
  }
  // One allocation for the program, its commands, multipliers and zero points.
  const size_t head = sizeof(struct npu_program) + region->node_count * sizeof(struct npu_command);
  struct npu_program *program =
      npu_host_allocate(device, head + channels * (sizeof(float) + sizeof(int32_t)));
  if (program == NULL)
    return npu_fail(error, SAMARA_OUT_OF_MEMORY, "no memory for a program of %u nodes",
                    (unsigned)region->node_count);
  float *multipliers = (float *)(void *)((char *)program + head);
  int32_t *zeros = (int32_t *)(void *)(multipliers + channels);
  program->count = region->node_count;
  for (uint32_t i = 0; i < region->node_count; i++) {
    const samara_region_node *node = &region->nodes[i];
    struct npu_command *command = &program->commands[i];
    command->op = npu_find_op(node->op);
    command->multiplier = multipliers;
    command->weight_zero = zeros;
    command->op->compile(region, node, command);
    multipliers += parameter_count(region, node);
    zeros += parameter_count(region, node);
  }
  *out = program;
  return SAMARA_OK;
}

// ---- memory ----

static samara_status npu_copy(void *opaque, const samara_copy *copy, uint64_t *ticket,
                              samara_error *error) {
  struct npu_device *device = opaque;
  unsigned char *at =
      npu_memory_at(device, copy->memory, copy->offset_bytes, copy->size_bytes, error);
  if (at == NULL) return SAMARA_BAD_ARGUMENT;
  struct npu_job job = {.to = copy->host, .from = at, .size_bytes = copy->size_bytes};
  if (copy->to_device) {
    job.to = at;
    job.from = copy->host;
  }
  *ticket = npu_queue_push(device, &job);
  return SAMARA_OK;
}

static samara_status npu_allocate(void *device, size_t size_bytes, void **handle,
                                  samara_error *error) {
  return npu_memory_allocate(device, size_bytes, handle, error);
}

static samara_status npu_wait(void *opaque, uint64_t ticket, uint64_t timeout_ns, bool *done,
                              samara_error *error) {
  struct npu_device *device = opaque;
  *done = npu_queue_wait(device, ticket, timeout_ns);
  pthread_mutex_lock(&device->lock);
  const uint64_t lost_at = device->lost_at;
  pthread_mutex_unlock(&device->lock);
  if (lost_at == 0 || lost_at > ticket) return SAMARA_OK;
  return npu_fail(error, SAMARA_BACKEND, "the NPU was lost at ticket %llu",
                  (unsigned long long)lost_at);
}

// Weights keep the layout of the file: the NPU reads its panels.
static samara_status npu_load(void *opaque, const samara_region_tensor *constant, void **handle,
                              samara_error *error) {
  struct npu_device *device = opaque;
  void *memory = NULL;
  const size_t size = constant->size_bytes != 0 ? constant->size_bytes : 1;
  samara_status status = npu_memory_allocate(device, size, &memory, error);
  if (status != SAMARA_OK) return status;
  if (constant->size_bytes != 0) {
    const struct npu_job job = {.to = npu_memory_at(device, memory, 0, size, error),
                                .from = constant->data,
                                .size_bytes = size};
    bool done = false;
    status = npu_wait(device, npu_queue_push(device, &job), UINT64_MAX, &done, error);
  }
  if (status != SAMARA_OK) {
    npu_memory_release(device, memory);
    return status;
  }
  *handle = memory;
  return SAMARA_OK;
}

static void npu_release(void *opaque, samara_handle_kind kind, void *handle) {
  struct npu_device *device = opaque;
  if (kind == SAMARA_HANDLE_DEVICE) {
    close_device(device);
    return;
  }
  // Wait for all queued work, because some of it may use the handle.
  pthread_mutex_lock(&device->lock);
  const uint64_t queued = device->queued;
  pthread_mutex_unlock(&device->lock);
  npu_queue_wait(device, queued, UINT64_MAX);
  if (kind == SAMARA_HANDLE_PROGRAM)
    npu_host_release(device, handle);
  else
    npu_memory_release(device, handle);
}

// ---- submit ----

static samara_status place_tensor(struct npu_device *device, const samara_region_tensor *tensor,
                                  void **address, samara_error *error) {
  *address = NULL;
  if (tensor->size_bytes == 0) return SAMARA_OK;
  *address = npu_memory_at(device, tensor->memory, tensor->offset_bytes, tensor->size_bytes, error);
  return *address != NULL ? SAMARA_OK : SAMARA_BAD_ARGUMENT;
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;
  return a_bytes != 0 && b_bytes != 0 && first < second + b_bytes && second < first + a_bytes;
}

static samara_status place_node(struct npu_device *device, const samara_region *region,
                                const samara_region_node *node, struct npu_command *command,
                                samara_error *error) {
  const samara_region_tensor *y = npu_output(region, node);
  samara_status status = place_tensor(device, y, &command->out, error);
  command->out_bytes = y->size_bytes;
  for (uint32_t i = 0; i < node->input_count && status == SAMARA_OK; i++) {
    const samara_region_tensor *x = npu_input(region, node, i);
    void *address = NULL;
    if (x != NULL) status = place_tensor(device, x, &address, error);
    command->in[i] = address;
    const bool same = command->op->in_place && i == 0 && address == command->out;
    if (x != NULL && !same && overlap(address, x->size_bytes, command->out, y->size_bytes))
      status = npu_fail(error, SAMARA_BAD_ARGUMENT, "%s: its output overlaps input %u", node->name,
                        (unsigned)i);
  }
  if (status == SAMARA_OK) command->op->place(region, node, command);
  return status;
}

static samara_status npu_submit(void *opaque, void *handle, const samara_region *region,
                                uint32_t first, uint32_t count, uint64_t *ticket,
                                samara_error *error) {
  struct npu_device *device = opaque;
  struct npu_program *program = handle;
  if (program->generation != region->generation) {
    // Earlier queued work may still read the commands.
    npu_queue_wait(device, program->last_ticket, UINT64_MAX);
    program->generation = 0;
    for (uint32_t i = 0; i < region->node_count; i++) {
      const samara_status status =
          place_node(device, region, &region->nodes[i], &program->commands[i], error);
      if (status != SAMARA_OK) return status;
    }
    program->generation = region->generation;
  }
  const struct npu_job job = {.program = program, .first = first, .count = count};
  *ticket = npu_queue_push(device, &job);
  if (region->launches != NULL) *region->launches += count;
  return SAMARA_OK;
}

// ---- the table ----

static const samara_backend_table npu_table = {
    .struct_size = sizeof(samara_backend_table),
    .version = SAMARA_BACKEND_VERSION,
    .name = "npu",
    .probe = npu_probe,
    .supports = npu_supports,
    .requirements = npu_requirements,
    .compile = npu_compile,
    .load = npu_load,
    .allocate = npu_allocate,
    .release = npu_release,
    .copy = npu_copy,
    .submit = npu_submit,
    .wait = npu_wait,
};

SAMARA_API const samara_backend_table *samara_backend_entry(void);
const samara_backend_table *samara_backend_entry(void) { return &npu_table; }
