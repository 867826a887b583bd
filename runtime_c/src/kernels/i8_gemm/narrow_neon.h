// SPDX-License-Identifier: Apache-2.0
// I8_NAME(narrow) of core.h for the AArch64 kernels.
SMR_INLINE void I8_NAME(narrow)(int8_t *p, size_t stride, size_t rows, size_t n, const int32x4_t *v,
                                int32_t zero, int32_t lo) {
  const int16x8_t zeros = vdupq_n_s16((int16_t)zero);
  const int8x8_t least = vdup_n_s8((int8_t)lo);
  SMR_UNROLL for (size_t i = 0; i < 4; i += 2) {
    const int16x8_t two = vqaddq_s16(vcombine_s16(vqmovn_s32(v[i]), vqmovn_s32(v[i + 1])), zeros);
    const int32x2_t row = vreinterpret_s32_s8(vmax_s8(vqmovn_s16(two), least));
    const int32_t low = vget_lane_s32(row, 0), high = vget_lane_s32(row, 1);
    if (n == 4) {
      if (i < rows) memcpy(p + i * stride, &low, 4);
      if (i + 1 < rows) memcpy(p + (i + 1) * stride, &high, 4);
    } else {
      if (i < rows) memcpy(p + i * stride, &low, n);
      if (i + 1 < rows) memcpy(p + (i + 1) * stride, &high, n);
    }
  }
}
