// SPDX-License-Identifier: Apache-2.0
// Maximum of 8-bit integers over vectors of bytes. The file of an instruction set defines I8_POOL_V
// (a vector), I8_POOL_BYTES (its length), N(i8_pool_lanes_load) and N(i8_pool_lanes_store) of n
// bytes, 8 <= n <= I8_POOL_BYTES, in any order within the vector, N(i8_pool_lanes_max_s8) and
// N(i8_pool_lanes_max_u8).
#if VF == 1
#include "kernels/i8_pool/scalar.h"
#else
#if VF == 8
#include "kernels/i8_pool/avx2.h"
#elif defined(SMR_SIMD_V128)
#include "kernels/i8_pool/v128.h"
#else
#include "kernels/i8_pool/neon.h"
#endif

// One kernel: channel blocks in pairs, taps of a row in threes.
#define I8_POOL(name, type)                                                                       \
  SMR_INLINE void N(i8_pool_lanes_##name##_block)(const struct smr_pool_window *window, size_t c, \
                                                  const size_t blocks, size_t n, type *y) {       \
    I8_POOL_V largest[2];                                                                         \
    const char *depth = (const char *)window->x + c;                                              \
    const size_t step = window->stride[2];                                                        \
    SMR_UNROLL for (size_t b = 0; b < blocks; b++) largest[b] =                                   \
        N(i8_pool_lanes_load)(depth + b * I8_POOL_BYTES, n);                                      \
    for (size_t i = 0; i < window->n[0]; i++) {                                                   \
      for (size_t j = 0; j < window->n[1]; j++) {                                                 \
        const char *x = depth + i * window->stride[0] + j * window->stride[1];                    \
        size_t k = window->n[2];                                                                  \
        for (; blocks > 1 && k >= 3; k -= 3, x += 3 * step) {                                     \
          SMR_UNROLL for (size_t b = 0; b < blocks; b++) {                                        \
            const char *at = x + b * I8_POOL_BYTES;                                               \
            const I8_POOL_V two = N(i8_pool_lanes_##name)(N(i8_pool_lanes_load)(at, n),           \
                                                          N(i8_pool_lanes_load)(at + step, n));   \
            largest[b] = N(i8_pool_lanes_##name)(                                                 \
                largest[b],                                                                       \
                N(i8_pool_lanes_##name)(two, N(i8_pool_lanes_load)(at + 2 * step, n)));           \
          }                                                                                       \
        }                                                                                         \
        for (; k > 0; k--, x += step) {                                                           \
          SMR_UNROLL for (size_t b = 0; b < blocks; b++) largest[b] = N(i8_pool_lanes_##name)(    \
              largest[b], N(i8_pool_lanes_load)(x + b * I8_POOL_BYTES, n));                       \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
    SMR_UNROLL for (size_t b = 0; b < blocks; b++)                                                \
        N(i8_pool_lanes_store)((char *)y + c + b * I8_POOL_BYTES, largest[b], n);                 \
  }                                                                                               \
  static void N(i8_pool_##name)(size_t channels, const struct smr_pool_window *window, type *y) { \
    size_t c = 0;                                                                                 \
    for (; channels - c >= 2 * I8_POOL_BYTES; c += 2 * I8_POOL_BYTES)                             \
      N(i8_pool_lanes_##name##_block)(window, c, 2, I8_POOL_BYTES, y);                            \
    const size_t n = channels < I8_POOL_BYTES ? channels : I8_POOL_BYTES;                         \
    for (; c < channels && channels >= 8; c += n) {                                               \
      if (channels - c < n) c = channels - n; /* some once more */                                \
      N(i8_pool_lanes_##name##_block)(window, c, 1, n, y);                                        \
    }                                                                                             \
    for (; c < channels; c++) {                                                                   \
      const type *depth = (const type *)window->x + c;                                            \
      type largest = *depth;                                                                      \
      for (size_t i = 0; i < window->n[0]; i++)                                                   \
        for (size_t j = 0; j < window->n[1]; j++)                                                 \
          for (size_t k = 0; k < window->n[2]; k++) {                                             \
            const type x =                                                                        \
                depth[i * window->stride[0] + j * window->stride[1] + k * window->stride[2]];     \
            if (x > largest) largest = x;                                                         \
          }                                                                                       \
      y[c] = largest;                                                                             \
    }                                                                                             \
  }
I8_POOL(max_s8, int8_t)
I8_POOL(max_u8, uint8_t)
#undef I8_POOL
#undef I8_POOL_V
#undef I8_POOL_BYTES
#endif
