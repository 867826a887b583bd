// SPDX-License-Identifier: Apache-2.0
// Philox in portable C.

SMR_INLINE int32_t N(philox_high)(int32_t a, int32_t b) {
  return (int32_t)(uint32_t)((uint64_t)(uint32_t)a * (uint32_t)b >> 32);
}

SMR_INLINE void N(philox_store)(int32_t *p, int32_t a, int32_t b, int32_t c, int32_t d) {
  p[0] = a;
  p[1] = b;
  p[2] = c;
  p[3] = d;
}
