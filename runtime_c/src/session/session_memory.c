// SPDX-License-Identifier: Apache-2.0
// Memory of a session: regions for what lives as long as it, blocks for what grows with the shapes.
#include "base/fp.h"

#include "session/session.h"

#include <stdint.h>
#include <string.h>

#include "base/checked.h"

enum {
  REGION_HEADER_BYTES = 64,  // struct smr_session_region, padded to the alignment
  REGION_BYTES = 16 * 1024,  // smallest region; a model of 100 nodes takes about five
};

size_t smr_align64(size_t n) {
  size_t up;
  return smr_add_size(n, 63, &up) ? up & ~(size_t)63 : SIZE_MAX;
}

void *smr_session_take(samara_session *session, size_t count, size_t size_bytes) {
  size_t bytes;
  if (!smr_mul_size(count, size_bytes, &bytes) || bytes > SIZE_MAX / 2) return NULL;
  bytes = smr_align64(bytes != 0 ? bytes : 1);
  struct smr_session_region *region = session->regions;
  if (region == NULL || region->size_bytes - region->used_bytes < bytes) {
    size_t size = bytes + REGION_HEADER_BYTES;
    if (size < REGION_BYTES) size = REGION_BYTES;
    region = smr_allocate(&session->allocator, size);
    if (region == NULL) return NULL;
    *region = (struct smr_session_region){
        .next = session->regions, .used_bytes = REGION_HEADER_BYTES, .size_bytes = size};
    session->regions = region;
    session->total_bytes += size;
  }
  void *out = (uint8_t *)region + region->used_bytes;
  region->used_bytes += bytes;
  memset(out, 0, bytes);
  return out;
}

void smr_session_release_regions(samara_session *session) {
  struct smr_session_region *region = session->regions;
  while (region != NULL) {
    struct smr_session_region *next = region->next;
    smr_release(&session->allocator, region);
    region = next;
  }
  session->regions = NULL;
}

samara_status smr_block_ensure(samara_session *session, struct smr_block *block, size_t size_bytes,
                               size_t keep_bytes, const char *what) {
  if (block->data != NULL && block->size_bytes >= size_bytes) return SAMARA_OK;
  const size_t size = smr_align64(size_bytes != 0 ? size_bytes : 1);
  size_t held;
  if (size == SIZE_MAX || !smr_add_size(session->arena_bytes - block->size_bytes, size, &held))
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "%s needs %zu bytes", what, size_bytes);
  if (session->max_arena_bytes != 0 && held > session->max_arena_bytes)
    SMR_FAIL(&session->error, LIMIT,
             "%s needs %zu bytes, which makes %zu in all; max_arena_bytes is %llu", what, size,
             held, (unsigned long long)session->max_arena_bytes);
  void *data = smr_allocate(&session->allocator, size);
  if (data == NULL) SMR_FAIL(&session->error, OUT_OF_MEMORY, "%s needs %zu bytes", what, size);
  if (block->data != NULL && keep_bytes != 0) memcpy(data, block->data, keep_bytes);
  session->total_bytes += size - block->size_bytes;
  session->arena_bytes = held;
  smr_release(&session->allocator, block->data);
  *block = (struct smr_block){.data = data, .size_bytes = size};
  return SAMARA_OK;
}

void smr_block_release(samara_session *session, struct smr_block *block) {
  smr_release(&session->allocator, block->data);
  *block = (struct smr_block){0};
}
