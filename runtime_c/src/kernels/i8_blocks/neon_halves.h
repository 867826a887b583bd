// SPDX-License-Identifier: Apache-2.0
// Bytes of products in blocks on AArch64.

// The numbers from 0 to 15 in the halves of 16 bytes: as signed bytes they are the same.
SMR_INLINE void N(blocks_halves)(const char *w, const struct N(blocks_masks) * masks,
                                 int8x16_t *low, int8x16_t *high) {
  const uint8x16_t q = veorq_u8(vld1q_u8((const uint8_t *)w), vreinterpretq_u8_s32(masks->flip));
  *low = vreinterpretq_s8_u8(vandq_u8(q, vreinterpretq_u8_s32(masks->low)));
  *high = vreinterpretq_s8_u8(vandq_u8(vshrq_n_u8(q, 4), vreinterpretq_u8_s32(masks->high)));
}

// Four bytes, repeated over the vector.
SMR_INLINE int8x16_t N(blocks_repeat)(const int8_t *x) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
