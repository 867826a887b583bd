// SPDX-License-Identifier: Apache-2.0
// Access to the first few of 16 bytes, for instruction sets without masks.
#ifndef SMR_SIMD_TAIL_H
#define SMR_SIMD_TAIL_H

#include "simd/common.h"

/// Load the first `n` <= 16 bytes at `at` to bytes[0] and [1], padded with 0, by overlapping loads.
SMR_INLINE void smr_load_tail(const void *at, size_t n, uint64_t *bytes) {
  const unsigned char *x = (const unsigned char *)at;
  bytes[0] = bytes[1] = 0;
  if (n >= 8) {
    memcpy(bytes, x, 8);
    if (n == 8) return;
    memcpy(bytes + 1, x + n - 8, 8);
    if (n < 16) bytes[1] >>= 8 * (16 - n);
  } else if (n >= 4) {
    uint32_t a, b;
    memcpy(&a, x, 4);
    memcpy(&b, x + n - 4, 4);
    bytes[0] = a | (uint64_t)b << 8 * (n - 4);
  } else if (n > 0) {
    bytes[0] =
        (uint64_t)x[0] | (uint64_t)x[n / 2] << 8 * (n / 2) | (uint64_t)x[n - 1] << 8 * (n - 1);
  }
}

/// Store the first `n` < 16 bytes of `bytes`.
SMR_INLINE void smr_store_tail(void *to, size_t n, const uint64_t *bytes) {
  unsigned char *y = (unsigned char *)to;
  uint64_t left = bytes[0];
  if (n & 8) {
    memcpy(y, &left, 8);
    y += 8;
    left = bytes[1];
  }
  if (n & 4) {
    memcpy(y, &left, 4);
    y += 4;
    left >>= 32;
  }
  if (n & 2) {
    memcpy(y, &left, 2);
    y += 2;
    left >>= 16;
  }
  if (n & 1) *y = (unsigned char)left;
}

#endif
