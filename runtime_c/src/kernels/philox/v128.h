// SPDX-License-Identifier: Apache-2.0
// Philox for vectors of 128 bits.

SMR_INLINE N(vi) N(philox_high)(N(vi) a, N(vi) b) {
  typedef uint64_t wide __attribute__((vector_size(32)));
  const wide x = __builtin_convertvector((N(vu))a, wide),
             y = __builtin_convertvector((N(vu))b, wide);
  return (N(vi)) __builtin_convertvector((x * y) >> 32, N(vu));
}

// A 4x4 transpose.
SMR_INLINE void N(philox_store)(int32_t *p, N(vi) a, N(vi) b, N(vi) c, N(vi) d) {
  const N(vi) ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const N(vi) ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const N(vi) cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const N(vi) cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  N(istore)(p, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  N(istore)(p + 4, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  N(istore)(p + 8, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  N(istore)(p + 12, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}
