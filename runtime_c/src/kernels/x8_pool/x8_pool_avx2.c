// SPDX-License-Identifier: Apache-2.0
// The largest of 8-bit integers with AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/x8_pool/kernels.h"
#include "simd/tail.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#include "simd/bytes.h"

SMR_INLINE __m256i N(x8_load)(const char *x, size_t n) {
  if (n == 32) return _mm256_loadu_si256((const __m256i *)(const void *)x);
  return N(load_bytes_n)((const int8_t *)x, n);
}

SMR_INLINE void N(x8_store)(char *y, __m256i v, size_t n) {
  if (n == 32)
    _mm256_storeu_si256((__m256i *)(void *)y, v);
  else
    N(store_i8_rest)((int8_t *)y, v, n);
}

SMR_INLINE __m256i N(x8_max_s8)(__m256i a, __m256i b) { return _mm256_max_epi8(a, b); }
SMR_INLINE __m256i N(x8_max_u8)(__m256i a, __m256i b) { return _mm256_max_epu8(a, b); }

#define X8_V __m256i
#define X8_BYTES 32
#define X8_POOL_SUFFIX avx2
#include "kernels/x8_pool/body.h"
#include "simd/end.h"
#endif
