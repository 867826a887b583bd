// SPDX-License-Identifier: Apache-2.0
// Memory of a session: regions hold what lives as long as the session, blocks what grows with the
// shapes.
#include "base/fp.h"

#include "session/common/common.h"

#include <stdint.h>
#include <string.h>

#include "base/checked.h"

enum {
  // struct smr_region, padded to the alignment
  REGION_HEADER_BYTES = (sizeof(struct smr_region) + SMR_ALIGNMENT - 1) / SMR_ALIGNMENT *
      SMR_ALIGNMENT,
  MEMORY_PAGE_BYTES = 4096,
  // Smaller blocks are touched when they are allocated. Models with larger ones run long enough to
  // hide page faults.
  MEMORY_MOST_TOUCHED = 512 * 1024,
};

size_t smr_align64(size_t n) {
  size_t up;
  return smr_add_size(n, SMR_ALIGNMENT - 1, &up) ? up & ~(size_t)(SMR_ALIGNMENT - 1) : SIZE_MAX;
}

// A new region with room for at least `bytes` bytes. NULL if memory is exhausted.
static struct smr_region *memory_region(struct smr_memory *memory, size_t bytes) {
  const size_t least = bytes + REGION_HEADER_BYTES;
  const size_t size = least > SMR_REGION_BYTES ? least : SMR_REGION_BYTES;
  struct smr_region *region = smr_allocate(&memory->allocator, size);
  if (region == NULL) return NULL;
  *region = (struct smr_region){memory->regions, REGION_HEADER_BYTES, size};
  memory->regions = region;
  memory->total_bytes += size;
  return region;
}

void *smr_session_take(struct smr_common *common, size_t count, size_t size_bytes) {
  struct smr_memory *memory = &common->memory;
  struct smr_region *region = memory->regions;
  size_t bytes;
  void *taken = NULL;
  if (!smr_mul_size(count, size_bytes, &bytes) || bytes > SIZE_MAX / 2) goto no_memory;
  bytes = smr_align64(bytes != 0 ? bytes : 1);
  if (SMR_REGION_BYTES == 0) {
    // All memory is the caller's buffer, so parts of it are never freed.
    taken = smr_allocate(&memory->allocator, bytes);
    if (taken == NULL) goto no_memory;
    memory->total_bytes += bytes;
  } else {
    if (region == NULL || region->size_bytes - region->used_bytes < bytes)
      region = memory_region(memory, bytes);
    if (region == NULL) goto no_memory;
    taken = (uint8_t *)region + region->used_bytes;
    region->used_bytes += bytes;
  }
  return memset(taken, 0, bytes);
no_memory:
  (void)smr_fail(common->error, SAMARA_OUT_OF_MEMORY,
                 "the session needs %zu times %zu bytes, which the allocator does not have", count,
                 size_bytes);
  return NULL;
}

samara_status smr_session_take_lazily(struct smr_common *common, size_t size_bytes, void **out) {
  struct smr_memory *memory = &common->memory;
  struct smr_block *block;
  size_t room;
  SMR_TAKE(common, block, 1);
  uint8_t *data = smr_add_size(size_bytes, SMR_ALIGNMENT, &room)
                      ? smr_allocate_lazily(&memory->allocator, room)
                      : NULL;
  if (data == NULL) SMR_FAIL(common->error, OUT_OF_MEMORY, "no memory for %zu bytes", size_bytes);
  *block = (struct smr_block){.data = data, .size_bytes = room, .next = memory->blocks};
  memory->blocks = block;
  memory->total_bytes += room;
  *out = data + (SMR_ALIGNMENT - (uintptr_t)data % SMR_ALIGNMENT) % SMR_ALIGNMENT;
  return SAMARA_OK;
}

void smr_session_release(struct smr_common *common) {
  const struct smr_memory *memory = &common->memory;
  // Blocks may lie in regions.
  for (struct smr_block *block = memory->blocks; block != NULL; block = block->next)
    smr_release(&memory->allocator, block->data);
  for (struct smr_region *region = memory->regions, *next; region != NULL; region = next) {
    next = region->next;
    smr_release(&memory->allocator, region);
  }
}

samara_status smr_block_ensure(struct smr_common *common, struct smr_block *block,
                               size_t size_bytes, size_t keep_bytes, const char *what) {
  if (block->data != NULL && block->size_bytes >= size_bytes) return SAMARA_OK;
  struct smr_memory *memory = &common->memory;
  const size_t size = smr_align64(size_bytes != 0 ? size_bytes : 1);
  size_t held;
  void *data = NULL;
  const bool fits =
      size != SIZE_MAX && smr_add_size(memory->arena_bytes - block->size_bytes, size, &held);
  if (fits && memory->max_arena_bytes != 0 && held > memory->max_arena_bytes)
    SMR_FAIL(common->error, LIMIT,
             "%s needs %zu bytes, which makes %zu in all; max_arena_bytes is %llu", what, size,
             held, (unsigned long long)memory->max_arena_bytes);
  if (fits) data = smr_allocate(&memory->allocator, size);
  if (data == NULL) SMR_FAIL(common->error, OUT_OF_MEMORY, "%s needs %zu bytes", what, size_bytes);
  // Page faults would take longer than a run of a small model.
  for (size_t i = 0; i < size && size < MEMORY_MOST_TOUCHED; i += MEMORY_PAGE_BYTES)
    ((uint8_t *)data)[i] = 0;
  if (block->data != NULL && keep_bytes != 0) memcpy(data, block->data, keep_bytes);
  memory->total_bytes += size - block->size_bytes;
  memory->arena_bytes = held;
  smr_release(&memory->allocator, block->data);
  if (block->data == NULL) {
    block->next = memory->blocks;
    memory->blocks = block;
  }
  block->data = data;
  block->size_bytes = size;
  return SAMARA_OK;
}

void smr_block_free(struct smr_common *common, struct smr_block *block) {
  struct smr_memory *memory = &common->memory;
  if (block->data == NULL) return;
  struct smr_block **at = &memory->blocks;
  while (*at != block) at = &(*at)->next;
  *at = block->next;
  memory->total_bytes -= block->size_bytes;
  memory->arena_bytes -= block->size_bytes;
  smr_release(&memory->allocator, block->data);
  *block = (struct smr_block){.data = NULL};
}
