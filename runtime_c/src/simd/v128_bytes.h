// SPDX-License-Identifier: Apache-2.0
// Vectors of 8-bit and 16-bit integers in the 128-bit types of compilers; included between
// simd/v128_begin.h and simd/end.h. Where clang does not find WebAssembly's instruction for an
// expression, the function has a builtin for it.
//
//   types              N(v16i8), N(v8i16)
//   load_8(p) store_8(p, v)         16 bytes
//   load_8_n(p, n) store_8_n(p, v, n)   the first n <= 16 of them; the others are read as 0
//   bset1(x) wset1(x)               a byte or an int16 in all lanes
//   widen(p)                        8 bytes as int16
//   widen_low(v) widen_high(v)      half of 16 bytes as int16
//   ints_low(v) ints_high(v)        half of 8 int16 as int32
//   four_words(p)                   four int16, twice
//   madd(x, y)                      int32: products of lanes 2 i and 2 i + 1, added. Exact unless
//                                   all four numbers are -32768
//   words_of(a, b)                  int16 of int32 lanes that fit
//   bytes_of(a, b)                  int8 of int16 lanes that fit
//   pair_sums(a, b)                 sums of two neighbours: those of a, then those of b
#ifndef SMR_SIMD_BYTES_TYPES_V128
#define SMR_SIMD_BYTES_TYPES_V128

typedef int8_t N(v16i8) __attribute__((vector_size(16)));
typedef uint8_t N(v16u8) __attribute__((vector_size(16)));
typedef int8_t N(v8i8) __attribute__((vector_size(8)));
typedef int16_t N(v8i16) __attribute__((vector_size(16)));
typedef int16_t N(v4i16) __attribute__((vector_size(8)));
typedef int32_t N(v8i32) __attribute__((vector_size(32)));

SMR_INLINE N(v16i8) N(load_8)(const void *p) {
  N(v16i8) v;
  memcpy(&v, p, sizeof v);
  return v;
}
SMR_INLINE void N(store_8)(void *p, N(v16i8) v) { memcpy(p, &v, sizeof v); }
SMR_INLINE N(v16i8) N(load_8_n)(const void *p, size_t n) {
  uint64_t bytes[2];
  smr_load_tail(p, n, bytes);
  return N(load_8)(bytes);
}
SMR_INLINE void N(store_8_n)(void *p, N(v16i8) v, size_t n) {
  if (n == 16) {
    N(store_8)(p, v);
    return;
  }
  uint64_t bytes[2];
  memcpy(bytes, &v, sizeof bytes);
  smr_store_tail(p, n, bytes);
}

SMR_INLINE N(v16i8) N(bset1)(int8_t x) {
  return (N(v16i8)){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
SMR_INLINE N(v8i16) N(wset1)(int16_t x) { return (N(v8i16)){x, x, x, x, x, x, x, x}; }

SMR_INLINE N(v8i16) N(widen)(const void *p) {
  N(v8i8) v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, N(v8i16));
}
SMR_INLINE N(v8i16) N(widen_low)(N(v16i8) v) {
  return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7), N(v8i16));
}
SMR_INLINE N(v8i16) N(widen_high)(N(v16i8) v) {
  return __builtin_convertvector(__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15),
                                 N(v8i16));
}
SMR_INLINE N(vi) N(ints_low)(N(v8i16) v) {
  return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3), N(vi));
}
SMR_INLINE N(vi) N(ints_high)(N(v8i16) v) {
  return __builtin_convertvector(__builtin_shufflevector(v, v, 4, 5, 6, 7), N(vi));
}
SMR_INLINE N(v8i16) N(four_words)(const int16_t *p) {
  uint64_t four;
  memcpy(&four, p, sizeof four);
  typedef uint64_t two __attribute__((vector_size(16)));
  return (N(v8i16))(two){four, four};
}

#if defined(SMR_SIMD_WASM)
SMR_INLINE N(vi) N(madd)(N(v8i16) x, N(v8i16) y) { return __builtin_wasm_dot_s_i32x4_i16x8(x, y); }
SMR_INLINE N(v8i16) N(words_of)(N(vi) a, N(vi) b) {
  return __builtin_wasm_narrow_s_i16x8_i32x4(a, b);
}
SMR_INLINE N(v16i8) N(bytes_of)(N(v8i16) a, N(v8i16) b) {
  return __builtin_wasm_narrow_s_i8x16_i16x8(a, b);
}
#else
SMR_INLINE N(vi) N(madd)(N(v8i16) x, N(v8i16) y) {
  const N(v8i32) p = __builtin_convertvector(x, N(v8i32)) * __builtin_convertvector(y, N(v8i32));
  return (N(vi))((N(vu))__builtin_shufflevector(p, p, 0, 2, 4, 6) +
                 (N(vu))__builtin_shufflevector(p, p, 1, 3, 5, 7));
}
SMR_INLINE N(v8i16) N(words_of)(N(vi) a, N(vi) b) {
  return __builtin_convertvector(__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7), N(v8i16));
}
SMR_INLINE N(v16i8) N(bytes_of)(N(v8i16) a, N(v8i16) b) {
  typedef int16_t sixteen __attribute__((vector_size(32)));
  const sixteen both =
      __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_convertvector(both, N(v16i8));
}
#endif
SMR_INLINE N(vi) N(pair_sums)(N(vi) a, N(vi) b) {
  return N(iadd)(__builtin_shufflevector(a, b, 0, 2, 4, 6),
                 __builtin_shufflevector(a, b, 1, 3, 5, 7));
}
#endif
