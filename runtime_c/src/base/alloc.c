// SPDX-License-Identifier: Apache-2.0
// The default allocator, options structs and the bump arena.
#include "base/fp.h"

#include "base/alloc.h"

#include <string.h>

#include "base/checked.h"
#include "base/os.h"

static void *alloc_default_allocate(void *user, size_t size_bytes) {
  (void)user;
  return smr_os_allocate(size_bytes);
}

static void alloc_default_release(void *user, void *pointer) {
  (void)user;
  smr_os_release(pointer);
}

samara_allocator smr_allocator(const samara_allocator *given) {
  if (given != NULL && given->allocate != NULL && given->release != NULL) return *given;
  return (samara_allocator){.allocate = alloc_default_allocate, .release = alloc_default_release};
}

void *smr_allocate(const samara_allocator *allocator, size_t size_bytes) {
  return allocator->allocate(allocator->user, size_bytes != 0 ? size_bytes : 1);
}

void *smr_allocate_zeroed(const samara_allocator *allocator, size_t count, size_t size_bytes) {
  size_t total;
  if (!smr_mul_size(count, size_bytes, &total)) return NULL;
  void *pointer = smr_allocate(allocator, total);
  if (pointer != NULL) memset(pointer, 0, total);
  return pointer;
}

void *smr_allocate_lazily(const samara_allocator *allocator, size_t size_bytes) {
  if (allocator->allocate == alloc_default_allocate) return smr_os_allocate_lazily(size_bytes);
  return smr_allocate_zeroed(allocator, 1, size_bytes);
}

void smr_release(const samara_allocator *allocator, void *pointer) {
  if (pointer != NULL) allocator->release(allocator->user, pointer);
}

samara_status smr_no_memory(samara_error *error, size_t size_bytes) {
  SMR_FAIL(error, OUT_OF_MEMORY, "no memory for %zu bytes", size_bytes);
}

samara_status smr_options_read(const void *given, void *own, size_t own_size, const char *what,
                               samara_error *error) {
  memset(own, 0, own_size);
  if (given == NULL) return SAMARA_OK;
  size_t size;
  memcpy(&size, given, sizeof size);
  const uint8_t *bytes = (const uint8_t *)given;
  size_t known = size;
  while (known > own_size && bytes[known - 1] == 0) known--;
  if (size < sizeof size || known > own_size) {
    SMR_FAIL(error, BAD_ARGUMENT,
             "%s: struct_size is %zu, expected sizeof the struct, and 0 in fields beyond the %zu "
             "bytes that this version knows",
             what, size, own_size);
  }
  memcpy(own, given, size < own_size ? size : own_size);
  return SAMARA_OK;
}

void *smr_bump_take(struct smr_bump *bump, size_t count, size_t size_bytes) {
  size_t bytes, end;
  if (!smr_mul_size(count, size_bytes, &bytes) || !smr_add_size(bytes, 7, &bytes) ||
      !smr_add_size(bump->used, bytes & ~(size_t)7, &end)) {
    bump->overflow = true;
    return NULL;
  }
  if (bump->base == NULL) {
    bump->used = end;
    return NULL;
  }
  if (end > bump->capacity) {
    bump->overflow = true;
    return NULL;
  }
  void *pointer = bump->base + bump->used;
  bump->used = end;
  return count != 0 ? pointer : NULL;
}
