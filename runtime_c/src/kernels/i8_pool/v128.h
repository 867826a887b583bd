// SPDX-License-Identifier: Apache-2.0
// Maximum of 8-bit integers in vectors of 128 bits.
#include "simd/v128_bytes.h"

// Fewer than 16 bytes are two overlapping parts of 8 bytes.
SMR_INLINE N(v16i8) N(i8_pool_lanes_load)(const char *x, size_t n) {
  if (n == 16) return N(load_8)(x);
  uint64_t parts[2];
  memcpy(parts, x, 8);
  memcpy(parts + 1, x + n - 8, 8);
  return N(load_8)(parts);
}

SMR_INLINE void N(i8_pool_lanes_store)(char *y, N(v16i8) v, size_t n) {
  if (n == 16) {
    N(store_8)(y, v);
    return;
  }
  uint64_t parts[2];
  memcpy(parts, &v, sizeof parts);
  memcpy(y, parts, 8);
  memcpy(y + n - 8, parts + 1, 8);
}

SMR_INLINE N(v16i8) N(i8_pool_lanes_max_s8)(N(v16i8) a, N(v16i8) b) {
  const N(v16i8) larger = (N(v16i8))(a > b);
  return (larger & a) | (~larger & b);
}
SMR_INLINE N(v16i8) N(i8_pool_lanes_max_u8)(N(v16i8) a, N(v16i8) b) {
  const N(v16i8) larger = (N(v16i8))((N(v16u8))a > (N(v16u8))b);
  return (larger & a) | (~larger & b);
}

#define I8_POOL_V N(v16i8)
#define I8_POOL_BYTES 16
