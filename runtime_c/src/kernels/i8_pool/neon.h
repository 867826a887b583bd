// SPDX-License-Identifier: Apache-2.0
// Maximum of 8-bit integers with NEON.

// Fewer than 16 bytes are two overlapping parts of 8 bytes.
SMR_INLINE int8x16_t N(i8_pool_lanes_load)(const char *x, size_t n) {
  if (n == 16) return vld1q_s8((const int8_t *)x);
  return vcombine_s8(vld1_s8((const int8_t *)x), vld1_s8((const int8_t *)x + n - 8));
}

SMR_INLINE void N(i8_pool_lanes_store)(char *y, int8x16_t v, size_t n) {
  if (n == 16) {
    vst1q_s8((int8_t *)y, v);
    return;
  }
  vst1_s8((int8_t *)y, vget_low_s8(v));
  vst1_s8((int8_t *)y + n - 8, vget_high_s8(v));
}

SMR_INLINE int8x16_t N(i8_pool_lanes_max_s8)(int8x16_t a, int8x16_t b) { return vmaxq_s8(a, b); }
SMR_INLINE int8x16_t N(i8_pool_lanes_max_u8)(int8x16_t a, int8x16_t b) {
  return vreinterpretq_s8_u8(vmaxq_u8(vreinterpretq_u8_s8(a), vreinterpretq_u8_s8(b)));
}

#define I8_POOL_V int8x16_t
#define I8_POOL_BYTES 16
