// SPDX-License-Identifier: Apache-2.0
// Corrects the header of mutated bytes, so that they reach the checks after it.
#ifndef SAMARA_FUZZ_PREPARE_H
#define SAMARA_FUZZ_PREPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"

enum { PREPARE_HEADER = 64, PREPARE_SEAL = 16 };

/// A copy with plausible sizes and the right checksum of its program part, in a block of exactly
/// `size` bytes. `sealed`: a file with checksums of its data, which need not match: open it with
/// SAMARA_VERIFY_NEVER.
static inline uint8_t *fuzz_prepare(const uint8_t *data, size_t size, bool sealed) {
  uint8_t *bytes = (uint8_t *)malloc(size != 0 ? size : 1);
  if (bytes == NULL) return NULL;
  if (size != 0) memcpy(bytes, data, size);
  if (size < PREPARE_HEADER) return bytes;
  const uint64_t file_bytes = size;
  uint64_t program;
  memcpy(&program, bytes + 8, 8);
  if (program < PREPARE_HEADER || program > size) program = size / 8 * 8;
  memcpy(bytes + 4, "SMRA", 4);
  memcpy(bytes + 8, &program, 8);
  memcpy(bytes + 24, &file_bytes, 8);
  memset(bytes + 32, 0, 32);
  uint8_t *const seal = bytes + program - PREPARE_SEAL;
  if (sealed) {
    memcpy(seal, bytes, PREPARE_SEAL);
  } else {
    seal[4] = 0;
  }
  const uint64_t sum = smr_fnv(SMR_FNV_START, bytes + 24, (size_t)program - 24);
  memcpy(bytes + 16, &sum, 8);
  return bytes;
}

#endif
