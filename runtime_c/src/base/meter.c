// SPDX-License-Identifier: Apache-2.0
// An allocator that counts. Each block is preceded by its size in a separate cache line, which
// keeps the alignment of the block.
#include "base/fp.h"

#include "base/alloc.h"

#include <samara/samara_experimental.h>

#include <string.h>

#include "base/checked.h"

static void *meter_allocate(void *user, size_t size_bytes) {
  samara_meter *meter = user;
  size_t total;
  if (!smr_add_size(size_bytes, SMR_ALIGNMENT, &total)) return NULL;
  uint8_t *block = smr_allocate(&meter->inner, total);
  if (block == NULL) return NULL;
  memcpy(block, &size_bytes, sizeof size_bytes);
  meter->live_bytes += size_bytes;
  meter->allocations++;
  if (meter->live_bytes > meter->peak_bytes) meter->peak_bytes = meter->live_bytes;
  return block + SMR_ALIGNMENT;
}

static void meter_release(void *user, void *pointer) {
  samara_meter *meter = user;
  if (pointer == NULL) return;
  uint8_t *block = (uint8_t *)pointer - SMR_ALIGNMENT;
  size_t size_bytes;
  memcpy(&size_bytes, block, sizeof size_bytes);
  meter->live_bytes -= size_bytes;
  smr_release(&meter->inner, block);
}

void samara_meter_start(samara_meter *meter, const samara_allocator *inner) {
  if (meter == NULL) return;
  *meter = (samara_meter){
      .allocator = {.allocate = meter_allocate, .release = meter_release, .user = meter},
      .inner = smr_allocator(inner)};
}
