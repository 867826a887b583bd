// SPDX-License-Identifier: Apache-2.0
// Pools the largest 8-bit integer of one window, channel after channel: compilers vectorise it.
#include "base/fp.h"

#include "kernels/x8_pool/x8_pool.h"

#include <string.h>

#define X8_POOL(name, type)                                                            \
  void name(size_t channels, const struct smr_pool_window *window, type *restrict y) { \
    memcpy(y, window->x, channels);                                                    \
    for (size_t i = 0; i < window->n[0]; i++)                                          \
      for (size_t j = 0; j < window->n[1]; j++)                                        \
        for (size_t k = 0; k < window->n[2]; k++) {                                    \
          const type *restrict x = (const type *)window->x + i * window->stride[0] +   \
                                   j * window->stride[1] + k * window->stride[2];      \
          for (size_t c = 0; c < channels; c++) y[c] = x[c] > y[c] ? x[c] : y[c];      \
        }                                                                              \
  }
X8_POOL(smr_s8_pool_max, int8_t)
X8_POOL(smr_u8_pool_max, uint8_t)
#undef X8_POOL
