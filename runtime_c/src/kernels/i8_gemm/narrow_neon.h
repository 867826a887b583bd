// SPDX-License-Identifier: Apache-2.0
// Converts sums to int8 on AArch64: two rows at a time, as a vector holds four columns of one.

// Store the lanes of the first `rows` of v[4] plus `zero`, saturated to bytes and at least `lo`.
// Rows are `stride` apart.
SMR_INLINE void I8_NAME(narrow)(int8_t *p, size_t stride, size_t rows, const int32x4_t *v,
                                int32_t zero, int32_t lo) {
  const int16x8_t zeros = vdupq_n_s16((int16_t)zero);
  const int8x8_t least = vdup_n_s8((int8_t)lo);
  SMR_UNROLL for (size_t i = 0; i < 4; i += 2) {
    const int16x8_t two = vqaddq_s16(vcombine_s16(vqmovn_s32(v[i]), vqmovn_s32(v[i + 1])), zeros);
    const int32x2_t row = vreinterpret_s32_s8(vmax_s8(vqmovn_s16(two), least));
    const int32_t low = vget_lane_s32(row, 0), high = vget_lane_s32(row, 1);
    if (i < rows) memcpy(p + i * stride, &low, 4);
    if (i + 1 < rows) memcpy(p + (i + 1) * stride, &high, 4);
  }
}

// Converts whole panels, row by row. Returns the first column after them.
SMR_INLINE size_t I8_NAME(panels_to_i8)(size_t rows, size_t first, size_t columns,
                                        const int32_t *sums, const struct smr_i8_gemm_direct *to) {
  const float32x4_t hi = N(set1)(to->hi);
  const int16x8_t zeros = vdupq_n_s16((int16_t)to->zero);
  const int8x16_t least = vdupq_n_s8((int8_t)to->lo);
  size_t j = first;
  for (; columns - j >= SMR_I8_PANEL; j += SMR_I8_PANEL) {
    float32x4_t multiplier[4];
    SMR_UNROLL for (size_t i = 0; i < 4; i++) multiplier[i] = N(load)(to->multiplier + j + 4 * i);
    const int32_t *from = sums + j;
    int8_t *out = to->out + j;
    for (size_t row = 0; row < rows; row++) {
      int16x4_t v[4];
      SMR_UNROLL for (size_t i = 0; i < 4; i++) {
        v[i] = vqmovn_s32(I8_NAME(scale)(N(iload)(from + 4 * i), multiplier[i], hi));
      }
      const int8x8_t low = vqmovn_s16(vqaddq_s16(vcombine_s16(v[0], v[1]), zeros));
      const int8x8_t high = vqmovn_s16(vqaddq_s16(vcombine_s16(v[2], v[3]), zeros));
      vst1q_s8(out, vmaxq_s8(vcombine_s8(low, high), least));
      from += SMR_I8_GEMM_SUMS;
      out += to->out_stride;
    }
  }
  return j;
}

// Four rows at a time; `left` of them exist.
static void I8_NAME(to_i8)(size_t rows, size_t first, size_t columns, const int32_t *sums,
                           const struct smr_i8_gemm_direct *direct) {
  // A local copy: for the compiler, stored bytes might alias the parameters.
  const struct smr_i8_gemm_direct to = *direct;
  const float32x4_t hi = N(set1)(to.hi);
  first = I8_NAME(panels_to_i8)(rows, first, columns, sums, &to);
  for (size_t j = first; j < columns; j += VF) {
    const size_t n = columns - j;
    const float32x4_t multiplier = N(load)(to.multiplier + j);
    for (size_t i = 0; i < rows; i += 4) {
      const size_t left = rows - i < 4 ? rows - i : 4;
      const int32_t *from = sums + i * SMR_I8_GEMM_SUMS + j;
      int8_t *out = to.out + i * to.out_stride + j, part[4 * VF];
      int32x4_t v[4];
      SMR_UNROLL for (size_t r = 0; r < 4; r++) {
        v[r] =
            I8_NAME(scale)(N(iload)(from + (r < left ? r : 0) * SMR_I8_GEMM_SUMS), multiplier, hi);
      }
      I8_NAME(narrow)(n < VF ? part : out, n < VF ? VF : to.out_stride, left, v, to.zero, to.lo);
      for (size_t r = 0; n < VF && r < left; r++) memcpy(out + r * to.out_stride, part + r * VF, n);
    }
  }
}
