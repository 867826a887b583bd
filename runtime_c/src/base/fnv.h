// SPDX-License-Identifier: Apache-2.0
// FNV-1a, 64 bits: the checksum of a file's program part and the digest of integer outputs.
#ifndef SMR_BASE_FNV_H
#define SMR_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define SMR_FNV_START UINT64_C(0xcbf29ce484222325)

/// Continue `hash` (SMR_FNV_START at first) over `size_bytes` bytes.
static inline uint64_t smr_fnv(uint64_t hash, const void *data, size_t size_bytes) {
  const uint8_t *bytes = (const uint8_t *)data;
  for (size_t i = 0; i < size_bytes; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}

#endif
