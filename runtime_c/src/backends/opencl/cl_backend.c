// SPDX-License-Identifier: Apache-2.0
// The functions of a backend on top of a driver that runs launches. A program holds a region's
// kernels, and its launches for the current shapes and offsets.
#include "base/fp.h"

#include "backends/opencl/backend.h"

#include <string.h>

#include "backends/opencl/cl_device.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/format.h"
#include "base/parts.h"

// What only some operators need.
enum {
  BACKEND_FLAGS = SMR_HAS(cl_indexed),
  BACKEND_SCRATCH = SMR_HAS(cl_indexed) || SMR_HAS(cl_recurrent),
};

// ---- memory of the host ----

static void *cl_backend_allocate_host(void *user, size_t size_bytes) {
  struct smr_cl_backend *device = (struct smr_cl_backend *)user;
  smr_os_mutex_lock(&device->mutex);
  void *pointer = device->given.allocate(device->given.user, size_bytes);
  smr_os_mutex_unlock(&device->mutex);
  return pointer;
}

static void cl_backend_release_host(void *user, void *pointer) {
  struct smr_cl_backend *device = (struct smr_cl_backend *)user;
  smr_os_mutex_lock(&device->mutex);
  device->given.release(device->given.user, pointer);
  smr_os_mutex_unlock(&device->mutex);
}

// ---- the device ----

samara_status smr_cl_probe(const struct smr_cl_driver *driver, const samara_probe *request,
                           void **device, samara_device_info *info, samara_error *error) {
  *device = NULL;
  const samara_allocator given = smr_allocator(&request->allocator);
  struct smr_cl_backend *made =
      (struct smr_cl_backend *)smr_allocate_zeroed(&given, 1, sizeof *made);
  if (made == NULL) return smr_no_memory(error, sizeof *made);
  made->driver = driver;
  made->given = given;
  made->allocator = (samara_allocator){
      .allocate = cl_backend_allocate_host, .release = cl_backend_release_host, .user = made};
  if (!smr_os_mutex_init(&made->mutex)) {
    smr_release(&given, made);
    SMR_FAIL(error, OUT_OF_MEMORY, "the system has no mutex left");
  }
  samara_probe own = *request;
  own.allocator = made->allocator;
  info->backend = driver->backend;
  const samara_status status = driver->open(&own, &made->handle, info, &made->features, error);
  if (status != SAMARA_OK) {
    smr_os_mutex_destroy(&made->mutex);
    smr_release(&given, made);
    return status;
  }
  *device = made;
  return SAMARA_OK;
}

static void cl_backend_close(struct smr_cl_backend *device) {
  const samara_allocator given = device->given;
  device->driver->close(device->handle);
  smr_os_mutex_destroy(&device->mutex);
  smr_release(&given, device);
}

static size_t cl_backend_alignment(const struct smr_cl_backend *device) {
  enum { LEAST = 64 };  // alignment on which kernels that read vectors rely
  const size_t driver = device->driver->alignment(device->handle);
  return driver > LEAST ? driver : LEAST;
}

static size_t cl_backend_aligned(const struct smr_cl_backend *device, size_t size_bytes) {
  const size_t alignment = cl_backend_alignment(device);
  return (size_bytes + alignment - 1) / alignment * alignment;
}

static void cl_backend_requirements(void *given, samara_requirements *out) {
  const struct smr_cl_backend *device = (const struct smr_cl_backend *)given;
  out->alignment_bytes = cl_backend_alignment(device);
  out->any_range = true;
  out->max_memory_bytes = device->driver->max_memory(device->handle);
  out->constant_layouts =
      1u << SAMARA_LAYOUT_PLAIN | 1u << SAMARA_LAYOUT_PANEL | 1u << SAMARA_LAYOUT_DWPANEL;
}

// ---- nodes ----

static struct smr_cl_node cl_backend_node(const struct smr_cl_backend *device,
                                          const samara_region *region, uint32_t index) {
  return (struct smr_cl_node){.region = region,
                              .node = &region->nodes[index],
                              .index = index,
                              .features = &device->features};
}

static const struct smr_cl_row *cl_backend_row(const struct smr_cl_backend *device,
                                               const char *op) {
  return device->driver->row != NULL ? device->driver->row(op) : smr_cl_row(op);
}

static bool cl_backend_supports(void *given, const samara_region *region, uint32_t index,
                                char *reason, size_t reason_size) {
  const struct smr_cl_backend *device = (const struct smr_cl_backend *)given;
  const struct smr_cl_node node = cl_backend_node(device, region, index);
  const struct smr_cl_row *row = cl_backend_row(device, node.node->op);
  const char *why = "it is not supported";
  if (row == NULL) {
    why = "the operator has no kernel for this device";
  } else if (row->fits(&node, &why)) {
    bool kernels[SMR_CL_KERNELS + 1] = {false};
    row->kernels(&node, kernels);
    if (!kernels[SMR_CL_NONE]) return true;
    why = "this build leaves out its kernel";
  }
  (void)smr_format(reason, reason_size, "%s", why);
  return false;
}

// ---- programs ----

static void cl_backend_release_program(struct smr_cl_backend *device,
                                       struct smr_cl_program *program) {
  const struct smr_cl_driver *driver = device->driver;
  if (BACKEND_FLAGS) smr_cl_release_flag(device, program);
  for (size_t i = 0; i < program->prepared_count; i++) {
    if (program->prepared[i] != NULL)
      driver->release_prepared(device->handle, program->prepared[i]);
  }
  if (program->handle != NULL) driver->release_program(device->handle, program->handle);
  if (program->tables != NULL) driver->release(device->handle, program->tables);
  if (program->scratch != NULL) driver->release(device->handle, program->scratch);
  smr_release(&device->allocator, program->prepared);
  smr_cl_launches_free(&program->launches);
  if (SMR_HAS(cl_fused)) smr_cl_steps_free(&program->steps, &device->allocator);
  smr_release(&device->allocator, program->starts);
  smr_release(&device->allocator, program);
}

// Whether the node is part of a step with others.
static bool cl_backend_joined(const struct smr_cl_program *program, uint32_t n) {
  return SMR_HAS(cl_fused) && program->steps.joined != NULL && program->steps.joined[n];
}

// Compile the kernels that the nodes or their steps may need.
static samara_status cl_backend_build(struct smr_cl_backend *device, const samara_region *region,
                                      struct smr_cl_program *program, samara_error *error) {
  bool kernels[SMR_CL_KERNELS + 1] = {false};
  if (SMR_HAS(cl_fused) && region->joins != NULL && device->driver->row == NULL)
    SMR_TRY(smr_cl_join(region, &device->features, &device->allocator, &program->steps, error));
  bool any = program->steps.count > 0;
  for (uint32_t i = 0; i < region->node_count; i++) {
    const struct smr_cl_node node = cl_backend_node(device, region, i);
    const struct smr_cl_row *row = cl_backend_row(device, node.node->op);
    if (cl_backend_joined(program, i)) continue;
    if (row == NULL) {
      SMR_FAIL(error, UNSUPPORTED, "%s: %s has no kernel for this device", node.node->name,
               node.node->op);
    }
    row->kernels(&node, kernels);
  }
  for (size_t k = 0; k < SMR_CL_KERNELS; k++) any = any || kernels[k];
  if (!any) return SAMARA_OK;
  return device->driver->build(device->handle, kernels, &program->steps, &program->handle, error);
}

static samara_status cl_backend_compile(void *given, const samara_region *region, void **program,
                                        samara_error *error) {
  struct smr_cl_backend *device = (struct smr_cl_backend *)given;
  *program = NULL;
  struct smr_cl_program *made =
      (struct smr_cl_program *)smr_allocate_zeroed(&device->allocator, 1, sizeof *made);
  if (made == NULL) return smr_no_memory(error, sizeof *made);
  made->launches.allocator = &device->allocator;
  made->node_count = region->node_count;
  made->starts = (size_t *)smr_allocate_zeroed(&device->allocator, (size_t)region->node_count + 1,
                                               sizeof *made->starts);
  const samara_status status =
      made->starts == NULL
          ? smr_no_memory(error, ((size_t)region->node_count + 1) * sizeof *made->starts)
          : cl_backend_build(device, region, made, error);
  if (status != SAMARA_OK) {
    cl_backend_release_program(device, made);
    return status;
  }
  *program = made;
  return SAMARA_OK;
}

// Grow the array of prepared launches to one per launch. Existing ones are kept.
static samara_status cl_backend_reserve(struct smr_cl_backend *device,
                                        struct smr_cl_program *program, samara_error *error) {
  const size_t count = program->launches.count;
  if (count <= program->prepared_count) return SAMARA_OK;
  void **prepared = (void **)smr_allocate_zeroed(&device->allocator, count, sizeof *prepared);
  if (prepared == NULL) return smr_no_memory(error, count * sizeof *prepared);
  if (program->prepared_count > 0)
    memcpy(prepared, program->prepared, program->prepared_count * sizeof *prepared);
  smr_release(&device->allocator, program->prepared);
  program->prepared = prepared;
  program->prepared_count = count;
  return SAMARA_OK;
}

// Copy the tables of all launches to the device, contiguously, and bind them.
static samara_status cl_backend_tables(struct smr_cl_backend *device,
                                       struct smr_cl_program *program, samara_error *error) {
  const struct smr_cl_launches *launches = &program->launches;
  size_t total = 0;
  for (size_t i = 0; i < launches->count; i++)
    if (launches->launches[i].table != NULL)
      total += cl_backend_aligned(device, launches->launches[i].table_bytes);
  if (program->tables != NULL) device->driver->release(device->handle, program->tables);
  program->tables = NULL;
  if (total == 0) return SAMARA_OK;
  uint8_t *bytes = (uint8_t *)smr_allocate_zeroed(&device->allocator, 1, total);
  if (bytes == NULL) return smr_no_memory(error, total);
  size_t used = 0;
  for (size_t i = 0; i < launches->count; i++) {
    struct smr_cl_launch *launch = &launches->launches[i];
    if (launch->table == NULL) continue;
    memcpy(bytes + used, launch->table, launch->table_bytes);
    launch->buffers[launch->table_buffer].offset_bytes = used;
    used += cl_backend_aligned(device, launch->table_bytes);
  }
  const samara_status status =
      device->driver->allocate(device->handle, total, bytes, &program->tables, error);
  smr_release(&device->allocator, bytes);
  for (size_t i = 0; status == SAMARA_OK && i < launches->count; i++)
    if (launches->launches[i].table != NULL)
      launches->launches[i].buffers[launches->launches[i].table_buffer].memory = program->tables;
  return status;
}

// Ensure enough scratch memory for values between launches.
static samara_status cl_backend_scratch(struct smr_cl_backend *device,
                                        struct smr_cl_program *program, samara_error *error) {
  const uint64_t needed = program->launches.scratch_bytes;
  if (needed > program->scratch_bytes) {
    if (program->scratch != NULL) device->driver->release(device->handle, program->scratch);
    program->scratch = NULL;
    program->scratch_bytes = 0;
    if (needed > SIZE_MAX)
      SMR_FAIL(error, OUT_OF_MEMORY, "launches need %llu bytes", (unsigned long long)needed);
    SMR_TRY(
        device->driver->allocate(device->handle, (size_t)needed, NULL, &program->scratch, error));
    program->scratch_bytes = needed;
  }
  smr_cl_bind_scratch(&program->launches, program->scratch);
  return SAMARA_OK;
}

static bool cl_backend_ends(const struct smr_cl_step *step, uint32_t n) {
  return step->nodes[step->count - 1] == n;
}

static samara_status cl_backend_lower(struct smr_cl_backend *device, const samara_region *region,
                                      struct smr_cl_program *program, samara_error *error) {
  struct smr_cl_launches *launches = &program->launches;
  program->generation = 0;  // stays 0 until everything is ready
  smr_cl_launches_clear(launches);
  for (uint32_t i = 0, step = 0; i < region->node_count; i++) {
    const struct smr_cl_node node = cl_backend_node(device, region, i);
    program->starts[i] = launches->count;
    smr_cl_begin_node(launches);
    if (!cl_backend_joined(program, i))
      cl_backend_row(device, node.node->op)->lower(&node, launches);
    else if (step < program->steps.count && cl_backend_ends(&program->steps.steps[step], i))
      smr_cl_step_lower(region, &device->features, &program->steps, step++, launches);
  }
  program->starts[region->node_count] = launches->count;
  if (launches->failed) SMR_FAIL(error, OUT_OF_MEMORY, "no memory for the launches of a region");
  if (launches->refusal != NULL) SMR_FAIL(error, UNSUPPORTED, "%s", launches->refusal);
  SMR_TRY(cl_backend_reserve(device, program, error));
  SMR_TRY(cl_backend_tables(device, program, error));
  if (BACKEND_SCRATCH) SMR_TRY(cl_backend_scratch(device, program, error));
  if (BACKEND_FLAGS) SMR_TRY(smr_cl_prepare_flag(device, region, program, error));
  for (size_t i = 0; i < launches->count; i++) {
    const struct smr_cl_launch *launch = &launches->launches[i];
    const samara_status status = device->driver->prepare(device->handle, program->handle, launch,
                                                         &program->prepared[i], error);
    if (status != SAMARA_OK) {
      const uint32_t at = launch->node < region->node_count ? launch->node : 0;
      return smr_fail_prefix(error, status, "%s: ", region->nodes[at].name);
    }
  }
  program->generation = region->generation;
  return SAMARA_OK;
}

// ---- work ----

static samara_status cl_backend_submit(void *given, void *of, const samara_region *region,
                                       uint32_t first, uint32_t count, uint64_t *ticket,
                                       samara_error *error) {
  struct smr_cl_backend *device = (struct smr_cl_backend *)given;
  struct smr_cl_program *program = (struct smr_cl_program *)of;
  *ticket = 0;
  if (region->generation == 0 || region->node_count != program->node_count ||
      first > program->node_count || count > program->node_count - first) {
    SMR_FAIL(error, BAD_STATE, "a region that is not planned, or has no such nodes");
  }
  if (BACKEND_FLAGS && program->flag != NULL) SMR_TRY(smr_cl_settle_flag(device, program, error));
  if (program->generation != region->generation)
    SMR_TRY(cl_backend_lower(device, region, program, error));
  const size_t begin = program->starts[first], end = program->starts[first + count];
  if (begin == end) return SAMARA_OK;
  SMR_TRY(device->driver->run(device->handle, program->prepared + begin,
                              program->launches.launches + begin, end - begin, ticket, error));
  if (region->launches != NULL) *region->launches += end - begin;
  if (!BACKEND_FLAGS || !smr_cl_may_flag(program, begin, end)) return SAMARA_OK;
  return smr_cl_read_flag(device, program, ticket, error);
}

static samara_status cl_backend_load(void *given, const samara_region_tensor *constant,
                                     void **handle, samara_error *error) {
  const struct smr_cl_backend *device = (const struct smr_cl_backend *)given;
  *handle = NULL;
  return device->driver->allocate(device->handle, constant->size_bytes, constant->data, handle,
                                  error);
}

static samara_status cl_backend_allocate(void *given, size_t size_bytes, void **handle,
                                         samara_error *error) {
  const struct smr_cl_backend *device = (const struct smr_cl_backend *)given;
  *handle = NULL;
  return device->driver->allocate(device->handle, size_bytes, NULL, handle, error);
}

static void cl_backend_release(void *given, samara_handle_kind kind, void *handle) {
  struct smr_cl_backend *device = (struct smr_cl_backend *)given;
  if (handle == NULL) return;
  switch (kind) {
    case SAMARA_HANDLE_DEVICE:
      cl_backend_close(device);
      return;
    case SAMARA_HANDLE_PROGRAM:
      cl_backend_release_program(device, (struct smr_cl_program *)handle);
      return;
    case SAMARA_HANDLE_CONSTANT:
    case SAMARA_HANDLE_MEMORY:
      device->driver->release(device->handle, handle);
      return;
  }
}

static samara_status cl_backend_copy(void *given, const samara_copy *copy, uint64_t *ticket,
                                     samara_error *error) {
  const struct smr_cl_backend *device = (const struct smr_cl_backend *)given;
  *ticket = 0;
  return device->driver->copy(device->handle, copy, ticket, error);
}

static samara_status cl_backend_wait(void *given, uint64_t ticket, uint64_t timeout_ns, bool *done,
                                     samara_error *error) {
  struct smr_cl_backend *device = (struct smr_cl_backend *)given;
  SMR_TRY(device->driver->wait(device->handle, ticket, timeout_ns, done, error));
  return BACKEND_FLAGS && *done ? smr_cl_look_at_flags(device, ticket, error) : SAMARA_OK;
}

// ---- tables ----

static samara_status cl_backend_probe_opencl(const samara_probe *request, void **device,
                                             samara_device_info *info, samara_error *error) {
  return smr_cl_probe(&smr_opencl_driver, request, device, info, error);
}

#define BACKEND_TABLE(probe_function)           \
  {.struct_size = sizeof(samara_backend_table), \
   .version = SAMARA_BACKEND_VERSION,           \
   .name = "opencl",                            \
   .probe = probe_function,                     \
   .supports = cl_backend_supports,             \
   .requirements = cl_backend_requirements,     \
   .compile = cl_backend_compile,               \
   .load = cl_backend_load,                     \
   .allocate = cl_backend_allocate,             \
   .release = cl_backend_release,               \
   .copy = cl_backend_copy,                     \
   .submit = cl_backend_submit,                 \
   .wait = cl_backend_wait}

const samara_backend_table smr_cl_functions = BACKEND_TABLE(NULL);
static const samara_backend_table cl_backend_opencl = BACKEND_TABLE(cl_backend_probe_opencl);

#undef BACKEND_TABLE

const samara_backend_table *smr_opencl_backend(void) {
  return SMR_HAS(backend_opencl) ? &cl_backend_opencl : NULL;
}
