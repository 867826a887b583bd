// SPDX-License-Identifier: Apache-2.0
// What becomes of the sums of an int8 product, written once over the vocabulary. The including file
// defines, after simd/<isa>_begin.h,
//
//   I8_NAME(x)       names its functions
//   I8_ENDS          names the table
//   I8_NAME(store)   (p, v, zero, lo, n): the first n <= VF lanes of v plus `zero`, saturated to
//                    bytes and not below `lo`
//
// and has included scale.h, or defines I8_TO_I8 and has its own I8_NAME(to_i8).

SMR_VECTORIZED static int32_t I8_NAME(row_sum)(const int8_t *a, size_t n) {
  int32_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i];
  return sum;
}

static void I8_NAME(subtract_zeros)(size_t rows, size_t columns, int32_t *sums,
                                    const uint32_t *row_sums, const int32_t *w_zero) {
  for (size_t j = 0; j < columns; j += VF) {
    const N(vi) zero = N(iload)(w_zero + j);
    for (size_t i = 0; i < rows; i++) {
      int32_t *at = sums + i * SMR_I8_GEMM_SUMS + j;
      N(istore)(at, N(isub)(N(iload)(at), N(imul)(zero, N(iset1)((int32_t)row_sums[i]))));
    }
  }
}

#if !defined(I8_TO_I8)
static void I8_NAME(to_i8)(size_t rows, size_t first, size_t columns, const int32_t *sums,
                           const struct smr_i8_gemm_direct *direct) {
  // A copy: bytes that are stored might be the parameters, as far as the compiler knows.
  const struct smr_i8_gemm_direct to = *direct;
  const N(vf) hi = N(set1)(to.hi);
  for (size_t j = first; j < columns; j += VF) {
    const N(vf) multiplier = N(load)(to.multiplier + j);
    const size_t n = columns - j < VF ? columns - j : VF;
    const int32_t *from = sums + j;
    int8_t *out = to.out + j;
    for (size_t i = 0; i < rows; i++) {
      I8_NAME(store)(out, I8_NAME(scale)(N(iload)(from), multiplier, hi), to.zero, to.lo, n);
      from += SMR_I8_GEMM_SUMS;
      out += to.out_stride;
    }
  }
}
#endif

static void I8_NAME(to_f32)(size_t rows, size_t columns, const int32_t *sums,
                            const struct smr_i8_gemm_columns *arrays, const float *row_scale,
                            float *out, const struct smr_i8_gemm_params *params) {
  const N(vf) lo = N(set1)(params->f32_lo), hi = N(set1)(params->f32_hi);
  for (size_t i = 0; i < rows; i++, sums += SMR_I8_GEMM_SUMS, out += params->out_stride) {
    const N(vf) scale = N(set1)(row_scale[i]);
    for (size_t j = 0; j < columns; j += VF) {
      const N(vf) multiplier = N(mul)(scale, N(load)(arrays->multiplier + j));
      N(vf) v = N(mul)(N(to_float)(N(iload)(sums + j)), multiplier);
      // Without a bias nothing is added: it would turn -0 into 0.
      if (arrays->bias) v = N(add)(v, N(load)(arrays->bias + j));
      v = N(clamp)(v, lo, hi);
      if (columns - j >= VF) {
        N(store)(out + j, v);
      } else {
        N(store_n)(out + j, v, columns - j);
      }
    }
  }
}

const struct smr_i8_gemm_ends I8_ENDS = {
    .row_sum = SMR_HAS(i8_gemm_w_zero) ? I8_NAME(row_sum) : NULL,
    .subtract_zeros = SMR_HAS(i8_gemm_w_zero) ? I8_NAME(subtract_zeros) : NULL,
    .to_i8 = SMR_HAS(i8_gemm_to_i8) ? I8_NAME(to_i8) : NULL,
    .to_f32 = SMR_HAS(i8_gemm_to_f32) ? I8_NAME(to_f32) : NULL,
};
#undef I8_ENDS
#undef I8_TO_I8
