// SPDX-License-Identifier: Apache-2.0
// The NPU's memory: blocks that the host knows by number. A host that uses a handle as a pointer
// crashes, as with memory that it cannot access.
#include "npu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

samara_status npu_fail(samara_error *error, samara_status status, const char *format, ...) {
  if (error == NULL) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  error->status = status;
  return status;
}

// ---- structures on the host ----

void *npu_host_allocate(struct npu_device *device, size_t size_bytes) {
  pthread_mutex_lock(&device->lock);
  void *pointer = device->allocator.allocate(device->allocator.user, size_bytes);
  pthread_mutex_unlock(&device->lock);
  if (pointer != NULL) memset(pointer, 0, size_bytes);
  return pointer;
}

void npu_host_release(struct npu_device *device, void *pointer) {
  pthread_mutex_lock(&device->lock);
  device->allocator.release(device->allocator.user, pointer);
  pthread_mutex_unlock(&device->lock);
}

// ---- memory of the device ----

static struct npu_memory *find_memory(struct npu_device *device, void *handle) {
  const uintptr_t number = (uintptr_t)handle;
  if (number == 0 || number > NPU_HANDLES) return NULL;
  struct npu_memory *memory = &device->memories[number - 1];
  return memory->bytes != NULL ? memory : NULL;
}

samara_status npu_memory_allocate(struct npu_device *device, size_t size_bytes, void **handle,
                                  samara_error *error) {
  if (size_bytes > NPU_ALLOCATION_BYTES)
    return npu_fail(error, SAMARA_LIMIT, "an allocation of %zu bytes, expected at most %llu",
                    size_bytes, (unsigned long long)NPU_ALLOCATION_BYTES);
  const size_t size = (size_bytes + NPU_ALIGNMENT - 1) / NPU_ALIGNMENT * NPU_ALIGNMENT;
  pthread_mutex_lock(&device->lock);
  struct npu_memory *free_one = NULL;
  for (size_t i = 0; i < NPU_HANDLES && free_one == NULL; i++)
    if (device->memories[i].bytes == NULL) free_one = &device->memories[i];
  unsigned char *bytes = NULL;
  if (free_one != NULL && device->used_bytes + size <= NPU_MEMORY_BYTES)
    bytes = aligned_alloc(NPU_ALIGNMENT, size);
  if (bytes != NULL) {
    memset(bytes, 0xa5, size);  // makes reads of memory that was not written visible
    *free_one = (struct npu_memory){.bytes = bytes, .size = size};
    device->used_bytes += size;
    *handle = (void *)((uintptr_t)(free_one - device->memories) + 1);
  }
  pthread_mutex_unlock(&device->lock);
  if (bytes == NULL)
    return npu_fail(error, SAMARA_OUT_OF_MEMORY, "no memory of the NPU for %zu bytes", size_bytes);
  return SAMARA_OK;
}

void npu_memory_release(struct npu_device *device, void *handle) {
  pthread_mutex_lock(&device->lock);
  struct npu_memory *memory = find_memory(device, handle);
  if (memory != NULL) {
    free(memory->bytes);
    device->used_bytes -= memory->size;
    *memory = (struct npu_memory){.bytes = NULL};
  }
  pthread_mutex_unlock(&device->lock);
}

unsigned char *npu_memory_at(struct npu_device *device, void *handle, uint64_t offset_bytes,
                             size_t size_bytes, samara_error *error) {
  pthread_mutex_lock(&device->lock);
  const struct npu_memory *memory = find_memory(device, handle);
  unsigned char *at = NULL;
  if (memory == NULL)
    npu_fail(error, SAMARA_BAD_ARGUMENT, "%p is not memory of the NPU", handle);
  else if (offset_bytes % NPU_ALIGNMENT != 0)
    npu_fail(error, SAMARA_BAD_ARGUMENT, "offset %llu is not a multiple of %d",
             (unsigned long long)offset_bytes, (int)NPU_ALIGNMENT);
  else if (offset_bytes > memory->size || size_bytes > memory->size - offset_bytes)
    npu_fail(error, SAMARA_BAD_ARGUMENT, "%zu bytes at offset %llu exceed a block of %zu bytes",
             size_bytes, (unsigned long long)offset_bytes, memory->size);
  else
    at = memory->bytes + offset_bytes;
  pthread_mutex_unlock(&device->lock);
  return at;
}
