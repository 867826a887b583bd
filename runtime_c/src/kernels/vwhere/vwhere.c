// SPDX-License-Identifier: Apache-2.0
// Selection between two elements in portable C.
#include "base/fp.h"

#include "kernels/vwhere/vwhere.h"

#include "simd/common.h"

// All bits of a if c is not 0, otherwise all bits of b. No branch, because data would make it
// unpredictable.
#define VWHERE_CHOICE(T, c, a, b) (T)((b) ^ (((a) ^ (b)) & (T)(0 - (T)((c) != 0))))

// One loop for a condition per element with constant steps of 0 and 1, and one for the rest.
#define VWHERE(name, T)                                                                         \
  SMR_INLINE void vwhere_steps_##name(size_t n, const uint8_t *restrict c, const T *restrict a, \
                                      size_t a_step, const T *restrict b, size_t b_step,        \
                                      T *restrict y) {                                          \
    for (size_t i = 0; i < n; i++) {                                                            \
      const T one = a[i * a_step], other = b[i * b_step];                                       \
      y[i] = VWHERE_CHOICE(T, c[i], one, other);                                                \
    }                                                                                           \
  }                                                                                             \
  SMR_VECTORIZED static void vwhere_##name(size_t n, const uint8_t *c, size_t c_step,           \
                                           const void *a_, size_t a_step, const void *b_,       \
                                           size_t b_step, void *y_) {                           \
    const T *a = (const T *)a_, *b = (const T *)b_;                                             \
    T *y = (T *)y_;                                                                             \
    if (c_step == 0) {                                                                          \
      const T *from = n > 0 && c[0] ? a : b;                                                    \
      const size_t step = from == a ? a_step : b_step;                                          \
      for (size_t i = 0; i < n; i++) y[i] = from[i * step];                                     \
    } else if (a_step && b_step) {                                                              \
      vwhere_steps_##name(n, c, a, 1, b, 1, y);                                                 \
    } else if (a_step) {                                                                        \
      vwhere_steps_##name(n, c, a, 1, b, 0, y);                                                 \
    } else if (b_step) {                                                                        \
      vwhere_steps_##name(n, c, a, 0, b, 1, y);                                                 \
    } else {                                                                                    \
      vwhere_steps_##name(n, c, a, 0, b, 0, y);                                                 \
    }                                                                                           \
  }
VWHERE(8, uint8_t)
VWHERE(16, uint16_t)
VWHERE(32, uint32_t)
VWHERE(64, uint64_t)
#undef VWHERE
#undef VWHERE_CHOICE

smr_vwhere_ukernel smr_vwhere_kernel(size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return vwhere_8;
    case 2:
      return vwhere_16;
    case 4:
      return vwhere_32;
    case 8:
      return vwhere_64;
    default:
      return NULL;
  }
}
