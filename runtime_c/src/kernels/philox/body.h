// SPDX-License-Identifier: Apache-2.0
// Philox over the vocabulary, a block per lane. Every instruction set defines N(philox_high), the
// high words of unsigned products, and N(philox_store), which writes the words lane by lane.
#if VF == 16
#include "kernels/philox/avx512.h"
#elif VF == 8
#include "kernels/philox/avx2.h"
#elif defined(SMR_SIMD_V128)
#include "kernels/philox/v128.h"
#elif VF == 4
#include "kernels/philox/neon.h"
#else
#include "kernels/philox/scalar.h"
#endif

#ifndef SMR_PHILOX_ROUNDS
#define SMR_PHILOX_ROUNDS 10
#endif

// The words of the next VF blocks of a stream: 4 VF words.
SMR_INLINE void N(philox_blocks)(const struct smr_philox *stream, uint64_t block, int32_t *words) {
  const N(vi) m0 = N(iset1)((int32_t)0xD2511F53), m1 = N(iset1)((int32_t)0xCD9E8D57);
  int32_t low[VF], high[VF];
  SMR_UNROLL
  for (size_t i = 0; i < VF; i++) {
    low[i] = (int32_t)(uint32_t)(block + i);
    high[i] = (int32_t)(uint32_t)((block + i) >> 32);
  }
  N(vi) c0 = N(iload)(low), c1 = N(iload)(high);
  N(vi) c2 = N(iset1)((int32_t)(uint32_t)stream->high);
  N(vi) c3 = N(iset1)((int32_t)(uint32_t)(stream->high >> 32));
  uint32_t k0 = (uint32_t)stream->key, k1 = (uint32_t)(stream->key >> 32);
  SMR_UNROLL
  for (int round = 0; round < SMR_PHILOX_ROUNDS; round++) {
    const N(vi) high0 = N(philox_high)(m0, c0), low0 = N(imul)(m0, c0);
    const N(vi) high1 = N(philox_high)(m1, c2), low1 = N(imul)(m1, c2);
    c0 = N(ixor)(N(ixor)(high1, c1), N(iset1)((int32_t)k0));
    c1 = low1;
    c2 = N(ixor)(N(ixor)(high0, c3), N(iset1)((int32_t)k1));
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  N(philox_store)(words, c0, c1, c2, c3);
}

static void N(philox_words)(size_t n, const struct smr_philox *stream, uint32_t *words) {
  uint64_t block = stream->block;
  for (size_t i = 0; i < n; i += 4 * VF, block += VF) {
    int32_t made[4 * VF];
    N(philox_blocks)(stream, block, made);
    memcpy(words + i, made, (n - i < 4 * VF ? n - i : 4 * VF) * sizeof *words);
  }
}

static void N(philox_uniform)(size_t n, const struct smr_philox *stream, float *y) {
  const N(vf) unit = N(set1)(0x1p-24f);
  uint64_t block = stream->block;
  for (size_t i = 0; i < n; block += VF) {
    int32_t words[4 * VF];
    N(philox_blocks)(stream, block, words);
    for (size_t v = 0; v < 4 && i < n; v++, i += VF) {
      const N(vf) u = N(mul)(N(to_float)(N(isrl)(N(iload)(words + v * VF), 8)), unit);
      if (n - i >= VF)
        N(store)(y + i, u);
      else
        N(store_n)(y + i, u, n - i);
    }
  }
}

static void N(philox_dropout)(size_t n, const struct smr_philox *stream, int32_t threshold,
                              float scale, const float *x, float *y) {
  const N(vf) by = N(set1)(scale);
  const N(vi) limit = N(iset1)(threshold);
  uint64_t block = stream->block;
  for (size_t i = 0; i < n; block += VF) {
    int32_t words[4 * VF];
    N(philox_blocks)(stream, block, words);
    for (size_t v = 0; v < 4 && i < n; v++, i += VF) {
      const N(vm) dropped = N(igt)(limit, N(isrl)(N(iload)(words + v * VF), 8));
      if (n - i >= VF)
        N(store)(y + i, N(select)(dropped, N(zero)(), N(mul)(N(load)(x + i), by)));
      else
        N(store_n)(y + i, N(select)(dropped, N(zero)(), N(mul)(N(load_n)(x + i, n - i), by)),
                   n - i);
    }
  }
}

static const struct smr_philox_kernels N(philox_kernels) = {
    N(philox_words),
    N(philox_uniform),
    N(philox_dropout),
    "philox__" SMR_SIMD_NAME,
};
#undef SMR_PHILOX_ROUNDS
