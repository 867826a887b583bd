// SPDX-License-Identifier: Apache-2.0
// The largest of 8-bit integers with AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/x8_pool/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx512_begin.h"

SMR_INLINE __m512i N(x8_load)(const char *x, size_t n) {
  return n == 64 ? _mm512_loadu_si512(x) : _mm512_maskz_loadu_epi8(UINT64_MAX >> (64 - n), x);
}

SMR_INLINE void N(x8_store)(char *y, __m512i v, size_t n) {
  if (n == 64)
    _mm512_storeu_si512(y, v);
  else
    _mm512_mask_storeu_epi8(y, UINT64_MAX >> (64 - n), v);
}

SMR_INLINE __m512i N(x8_max_s8)(__m512i a, __m512i b) { return _mm512_max_epi8(a, b); }
SMR_INLINE __m512i N(x8_max_u8)(__m512i a, __m512i b) { return _mm512_max_epu8(a, b); }

#define X8_V __m512i
#define X8_BYTES 64
#define X8_POOL_SUFFIX avx512
#include "kernels/x8_pool/body.h"
#include "simd/end.h"
#endif
