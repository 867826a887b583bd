// SPDX-License-Identifier: Apache-2.0
// The driver for OpenCL 1.2: memory of devices, and work in one queue.
#include "base/fp.h"

#include "backends/opencl/cl_device.h"

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format.h"

enum {
  OPENCL_ALIGNMENT = 64,     // of tensors: the widest vectors, and cache lines
  OPENCL_COPY_FLUSH = 65536  // bytes: smaller copies to the device are flushed with later work
};

// ---- what happened ----

samara_status smr_cl_failed(samara_error *error, const char *function, int32_t code) {
  const bool memory = code == SMR_CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                      code == SMR_CL_OUT_OF_HOST_MEMORY || code == SMR_CL_INVALID_BUFFER_SIZE;
  const char *prefix, *name = smr_cl_error_name(code, &prefix);
  return smr_fail(error, memory ? SAMARA_OUT_OF_MEMORY : SAMARA_IO, "%s: %s%s (%d)", function,
                  prefix, name, (int)code);
}

samara_status smr_cl_created(samara_error *error, const char *function, const void *object,
                             int32_t code) {
  if (code != SMR_CL_SUCCESS) return smr_cl_failed(error, function, code);
  if (object == NULL) SMR_FAIL(error, IO, "%s: made nothing and named no error", function);
  return SAMARA_OK;
}

void smr_cl_log(const struct smr_cl_device *device, samara_log_level level, const char *format,
                ...) {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  (void)smr_format_list(text, sizeof text, format, arguments);
  va_end(arguments);
  device->log(device->log_user, level, text);
}

// ---- tickets ----

// Mark the device as failed: its memory is undefined. The mutex is held.
static void opencl_lose(struct smr_cl_device *device, const char *function, int32_t code) {
  if (device->failed) return;
  device->failed = true;
  (void)smr_cl_failed(&device->failure, function, code);
}

static samara_status opencl_failure(const struct smr_cl_device *device, samara_error *error) {
  if (!device->failed) return SAMARA_OK;
  return smr_fail(error, device->failure.status, "%s", device->failure.text);
}

// Remove finished work, in order. Tickets up to `sure` are finished, whatever their events report.
// The mutex is held.
static void opencl_retire(struct smr_cl_device *device, uint64_t sure) {
  size_t done = 0;
  for (; done < device->pending_count; done++) {
    const struct smr_cl_pending *oldest = &device->pending[done];
    int32_t state = 1;  // a positive number: not done
    const int32_t code = device->api.clGetEventInfo(
        oldest->event, SMR_CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (code != SMR_CL_SUCCESS) opencl_lose(device, "clGetEventInfo", code);
    if (code == SMR_CL_SUCCESS && state < 0) opencl_lose(device, "a command", state);
    if (code == SMR_CL_SUCCESS && state > 0 && oldest->ticket > sure) break;
    if (code != SMR_CL_SUCCESS && oldest->ticket > sure) break;
    device->done_ticket = oldest->ticket;
    (void)device->api.clReleaseEvent(oldest->event);
  }
  device->pending_count -= done;
  memmove(device->pending, device->pending + done,
          device->pending_count * sizeof device->pending[0]);
}

// Make room for one more event. The mutex is held.
static void opencl_make_room(struct smr_cl_device *device) {
  if (device->pending_count < SMR_CL_EVENTS) return;
  opencl_retire(device, 0);
  if (device->pending_count < SMR_CL_EVENTS) return;
  const struct smr_cl_pending oldest = device->pending[0];
  const int32_t code = device->api.clWaitForEvents(1, &oldest.event);
  if (code != SMR_CL_SUCCESS) opencl_lose(device, "clWaitForEvents", code);
  opencl_retire(device, oldest.ticket);
}

// A ticket for begun work that ends with `event`. The mutex is held, and there is room.
static samara_status opencl_issue(struct smr_cl_device *device, smr_cl_event event,
                                  uint64_t *ticket, samara_error *error) {
  if (event == NULL) {
    device->untracked = true;
    SMR_FAIL(error, IO, "OpenCL began work without an event");
  }
  device->last_ticket++;
  device->pending[device->pending_count++] =
      (struct smr_cl_pending){.ticket = device->last_ticket, .event = event};
  *ticket = device->last_ticket;
  return SAMARA_OK;
}

static void opencl_flush(struct smr_cl_device *device) {
  if (!device->unflushed) return;
  device->unflushed = false;
  const int32_t code = device->api.clFlush(device->queue);
  if (code != SMR_CL_SUCCESS) opencl_lose(device, "clFlush", code);
}

// Wait for all begun work. The mutex is held, but released during the wait, so others may begin
// more work.
static void opencl_finish(struct smr_cl_device *device) {
  const uint64_t last = device->last_ticket;
  if (device->done_ticket == last && !device->untracked) return;
  device->unflushed = device->untracked = false;
  smr_os_mutex_unlock(&device->mutex);
  const int32_t code = device->api.clFinish(device->queue);
  smr_os_mutex_lock(&device->mutex);
  if (code != SMR_CL_SUCCESS) opencl_lose(device, "clFinish", code);
  opencl_retire(device, last);
}

// ---- open and close ----

static void opencl_close(void *given) {
  struct smr_cl_device *device = (struct smr_cl_device *)given;
  if (device == NULL) return;
  const samara_allocator allocator = device->allocator;
  if (device->queue != NULL) {
    smr_os_mutex_lock(&device->mutex);
    opencl_finish(device);
    smr_os_mutex_unlock(&device->mutex);
    smr_cl_release_units(device);
    (void)device->api.clReleaseCommandQueue(device->queue);
    smr_os_mutex_destroy(&device->units_mutex);
    smr_os_mutex_destroy(&device->mutex);
  }
  if (device->context != NULL) (void)device->api.clReleaseContext(device->context);
  if (device->api.library != NULL) smr_cl_unload(&device->api);
  smr_release(&allocator, device->cache_folder);
  smr_release(&allocator, device->platform_version);
  smr_release(&allocator, device->version);
  smr_release(&allocator, device->name);
  smr_release(&allocator, device);
}

static samara_status opencl_start(struct smr_cl_device *device, samara_error *error) {
  const intptr_t properties[] = {SMR_CL_CONTEXT_PLATFORM, (intptr_t)device->platform, 0};
  int32_t code = SMR_CL_SUCCESS;
  smr_cl_context context =
      device->api.clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
  SMR_TRY(smr_cl_created(error, "clCreateContext", context, code));
  device->context = context;
  code = SMR_CL_SUCCESS;
  smr_cl_queue queue = device->api.clCreateCommandQueue(context, device->id, 0, &code);
  SMR_TRY(smr_cl_created(error, "clCreateCommandQueue", queue, code));
  const bool locks = smr_os_mutex_init(&device->mutex);
  if (!locks || !smr_os_mutex_init(&device->units_mutex)) {
    if (locks) smr_os_mutex_destroy(&device->mutex);
    (void)device->api.clReleaseCommandQueue(queue);
    SMR_FAIL(error, OUT_OF_MEMORY, "the system has no mutex left");
  }
  device->queue = queue;
  return SAMARA_OK;
}

static samara_status opencl_begin(struct smr_cl_device *device, const samara_probe *request,
                                  samara_device_info *info, struct smr_cl_features *features,
                                  samara_error *error) {
  if (request->cache_folder != NULL && request->cache_folder[0] != '\0') {
    const size_t size = strlen(request->cache_folder) + 1;
    device->cache_folder = (char *)smr_allocate(&device->allocator, size);
    if (device->cache_folder == NULL) return smr_no_memory(error, size);
    memcpy(device->cache_folder, request->cache_folder, size);
  }
  SMR_TRY(smr_cl_load(&device->api, error));
  SMR_TRY(smr_cl_find(device, request->index, info, features, error));
  return opencl_start(device, error);
}

static samara_status opencl_open(const samara_probe *request, void **device,
                                 samara_device_info *info, struct smr_cl_features *features,
                                 samara_error *error) {
  struct smr_cl_device *made =
      (struct smr_cl_device *)smr_allocate_zeroed(&request->allocator, 1, sizeof *made);
  if (made == NULL) return smr_no_memory(error, sizeof *made);
  made->allocator = request->allocator;
  made->log = request->log;
  made->log_user = request->log_user;
  const samara_status status = opencl_begin(made, request, info, features, error);
  if (status != SAMARA_OK) {
    opencl_close(made);
    return status;
  }
  *device = made;
  return SAMARA_OK;
}

static size_t opencl_alignment(void *device) {
  (void)device;
  return OPENCL_ALIGNMENT;
}

static uint64_t opencl_max_memory(void *device) {
  return ((const struct smr_cl_device *)device)->max_memory;
}

// ---- memory ----

static samara_status opencl_allocate(void *given, size_t size_bytes, const void *initial,
                                     void **memory, samara_error *error) {
  struct smr_cl_device *device = (struct smr_cl_device *)given;
  const uint64_t most = device->max_memory;
  if (size_bytes == 0 || size_bytes > SIZE_MAX - OPENCL_ALIGNMENT ||
      (most != 0 && size_bytes > most)) {
    SMR_FAIL(error, OUT_OF_MEMORY, "the device gives at most %llu bytes at once, not %zu",
             (unsigned long long)most, size_bytes);
  }
  // Round up to whole vectors, because kernels may read the last one completely.
  const size_t room = (size_bytes + OPENCL_ALIGNMENT - 1) / OPENCL_ALIGNMENT * OPENCL_ALIGNMENT;
  int32_t code = SMR_CL_SUCCESS;
  smr_cl_mem made =
      device->api.clCreateBuffer(device->context, SMR_CL_MEM_READ_WRITE, room, NULL, &code);
  const samara_status status = smr_cl_created(error, "clCreateBuffer", made, code);
  if (status != SAMARA_OK) {
    return status != SAMARA_OUT_OF_MEMORY
               ? status
               : smr_fail_prefix(error, status, "%zu bytes of the device: ", size_bytes);
  }
  // Blocking, so no ticket is needed.
  if (initial != NULL) {
    code = device->api.clEnqueueWriteBuffer(device->queue, made, 1, 0, size_bytes, initial, 0, NULL,
                                            NULL);
    if (code != SMR_CL_SUCCESS) {
      (void)device->api.clReleaseMemObject(made);
      return smr_cl_failed(error, "clEnqueueWriteBuffer", code);
    }
  }
  *memory = made;
  return SAMARA_OK;
}

static void opencl_release(void *given, void *memory) {
  struct smr_cl_device *device = (struct smr_cl_device *)given;
  if (memory == NULL) return;
  smr_os_mutex_lock(&device->mutex);
  opencl_finish(device);
  device->releases++;
  (void)device->api.clReleaseMemObject((smr_cl_mem)memory);
  smr_os_mutex_unlock(&device->mutex);
}

// ---- work ----

static samara_status opencl_begin_run(struct smr_cl_device *device, void *const *prepared,
                                      const struct smr_cl_launch *launches, size_t count,
                                      uint64_t *ticket, samara_error *error) {
  opencl_make_room(device);
  SMR_TRY(opencl_failure(device, error));
  smr_cl_event event = NULL;
  for (size_t i = 0; i < count; i++) {
    const struct smr_cl_launch *launch = &launches[i];
    const size_t group[3] = {launch->group, 1, 1};
    const int32_t code = device->api.clEnqueueNDRangeKernel(
        device->queue, smr_cl_prepared_kernel(prepared[i]), launch->dims, NULL, launch->items,
        launch->group != 0 ? group : NULL, 0, NULL, i + 1 == count ? &event : NULL);
    if (code != SMR_CL_SUCCESS) {
      if (i > 0) device->untracked = device->unflushed = true;
      return smr_cl_failed(error, "clEnqueueNDRangeKernel", code);
    }
  }
  SMR_TRY(opencl_issue(device, event, ticket, error));
  device->unflushed = true;
  opencl_flush(device);
  return SAMARA_OK;
}

static samara_status opencl_run(void *given, void *const *prepared,
                                const struct smr_cl_launch *launches, size_t count,
                                uint64_t *ticket, samara_error *error) {
  struct smr_cl_device *device = (struct smr_cl_device *)given;
  *ticket = 0;
  if (count == 0) return SAMARA_OK;
  smr_os_mutex_lock(&device->mutex);
  const samara_status status = opencl_begin_run(device, prepared, launches, count, ticket, error);
  smr_os_mutex_unlock(&device->mutex);
  return status;
}

static samara_status opencl_begin_copy(struct smr_cl_device *device, const samara_copy *copy,
                                       uint64_t *ticket, samara_error *error) {
  opencl_make_room(device);
  SMR_TRY(opencl_failure(device, error));
  smr_cl_mem memory = (smr_cl_mem)copy->memory;
  const size_t offset = (size_t)copy->offset_bytes;
  smr_cl_event event = NULL;
  const int32_t code =
      copy->to_device
          ? device->api.clEnqueueWriteBuffer(device->queue, memory, 0, offset, copy->size_bytes,
                                             copy->host, 0, NULL, &event)
          : device->api.clEnqueueReadBuffer(device->queue, memory, 0, offset, copy->size_bytes,
                                            copy->host, 0, NULL, &event);
  if (code != SMR_CL_SUCCESS) {
    return smr_cl_failed(error, copy->to_device ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer",
                         code);
  }
  SMR_TRY(opencl_issue(device, event, ticket, error));
  device->unflushed = true;
  if (!copy->to_device || copy->size_bytes >= OPENCL_COPY_FLUSH) opencl_flush(device);
  return SAMARA_OK;
}

static samara_status opencl_copy(void *given, const samara_copy *copy, uint64_t *ticket,
                                 samara_error *error) {
  struct smr_cl_device *device = (struct smr_cl_device *)given;
  *ticket = 0;
  if (copy->size_bytes == 0) return SAMARA_OK;
  if (copy->memory == NULL || copy->host == NULL || copy->offset_bytes > SIZE_MAX) {
    SMR_FAIL(error, BAD_ARGUMENT, "a copy without memory, or beyond any");
  }
  smr_os_mutex_lock(&device->mutex);
  const samara_status status = opencl_begin_copy(device, copy, ticket, error);
  smr_os_mutex_unlock(&device->mutex);
  return status;
}

// ---- waiting ----

// Wait in the driver for the first event that covers `ticket`. The mutex is held, but released
// during the wait, so others may begin more work.
static void opencl_wait_event(struct smr_cl_device *device, uint64_t ticket) {
  size_t i = 0;
  while (i < device->pending_count && device->pending[i].ticket < ticket) i++;
  if (i == device->pending_count) return;
  const struct smr_cl_pending wanted = device->pending[i];
  // Another thread may release the event meanwhile, so retain it.
  int32_t code = device->api.clRetainEvent(wanted.event);
  if (code != SMR_CL_SUCCESS) {
    opencl_lose(device, "clRetainEvent", code);
    return;
  }
  smr_os_mutex_unlock(&device->mutex);
  code = device->api.clWaitForEvents(1, &wanted.event);
  (void)device->api.clReleaseEvent(wanted.event);
  smr_os_mutex_lock(&device->mutex);
  opencl_retire(device, code == SMR_CL_SUCCESS ? wanted.ticket : 0);
  if (code != SMR_CL_SUCCESS) opencl_lose(device, "clWaitForEvents", code);
}

// One step of a wait with at most `left` ns left, after `waited` ns: OpenCL has no wait with a
// timeout. Yields at first, then sleeps so that at most a thirtieth is added to the wait.
static void opencl_pause(struct smr_cl_device *device, uint64_t waited, uint64_t left) {
  enum { SPIN_NS = 50000, SHORTEST_NS = 20000, LONGEST_NS = 1000000 };
  uint64_t pause = waited / 32;
  if (pause < SHORTEST_NS) pause = SHORTEST_NS;
  if (pause > LONGEST_NS) pause = LONGEST_NS;
  if (pause > left) pause = left;
  smr_os_mutex_unlock(&device->mutex);
  if (waited < SPIN_NS) {
    smr_os_thread_yield();
  } else {
    smr_os_thread_sleep_ns(pause);
  }
  smr_os_mutex_lock(&device->mutex);
}

static samara_status opencl_wait(void *given, uint64_t ticket, uint64_t timeout_ns, bool *done,
                                 samara_error *error) {
  struct smr_cl_device *device = (struct smr_cl_device *)given;
  const uint64_t start = timeout_ns != 0 ? smr_os_now_ns() : 0;
  *done = false;
  smr_os_mutex_lock(&device->mutex);
  if (ticket > device->last_ticket) {
    smr_os_mutex_unlock(&device->mutex);
    SMR_FAIL(error, BAD_ARGUMENT, "no work has ticket %llu", (unsigned long long)ticket);
  }
  if (ticket > device->done_ticket) opencl_flush(device);
  if (!device->failed) opencl_retire(device, 0);
  while (!device->failed && device->done_ticket < ticket && timeout_ns != 0) {
    const uint64_t waited = smr_os_now_ns() - start;
    if (timeout_ns == UINT64_MAX) {
      opencl_wait_event(device, ticket);
    } else if (waited < timeout_ns) {
      opencl_pause(device, waited, timeout_ns - waited);
      opencl_retire(device, 0);
    } else {
      break;
    }
  }
  *done = !device->failed && device->done_ticket >= ticket;
  const samara_status status = opencl_failure(device, error);
  smr_os_mutex_unlock(&device->mutex);
  return status;
}

const struct smr_cl_driver smr_opencl_driver = {
    .backend = "opencl",
    .open = opencl_open,
    .close = opencl_close,
    .alignment = opencl_alignment,
    .max_memory = opencl_max_memory,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .build = smr_cl_build,
    .release_program = smr_cl_release_program,
    .prepare = smr_cl_prepare,
    .release_prepared = smr_cl_release_prepared,
    .run = opencl_run,
    .copy = opencl_copy,
    .wait = opencl_wait,
};
