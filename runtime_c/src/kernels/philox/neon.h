// SPDX-License-Identifier: Apache-2.0
// Philox for NEON.

SMR_INLINE int32x4_t N(philox_high)(int32x4_t a, int32x4_t b) {
  const uint32x4_t x = vreinterpretq_u32_s32(a), y = vreinterpretq_u32_s32(b);
  const uint64x2_t low = vmull_u32(vget_low_u32(x), vget_low_u32(y));
  const uint64x2_t high = vmull_high_u32(x, y);
  return vreinterpretq_s32_u32(vuzp2q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(high)));
}

SMR_INLINE void N(philox_store)(int32_t *p, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  const int32x4x4_t words = {{a, b, c, d}};
  vst4q_s32(p, words);
}
