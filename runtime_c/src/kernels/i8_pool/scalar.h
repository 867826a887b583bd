// SPDX-License-Identifier: Apache-2.0
// Maximum of 8-bit integers in portable C.

#define I8_POOL_LARGER(a, b) ((a) > (b) ? (a) : (b))

// Three taps of a row at a time, so that y is read and written less often.
#define I8_POOL(name, type)                                                                      \
  SMR_VECTORIZED static void N(i8_pool_##name)(                                                  \
      size_t channels, const struct smr_pool_window *window, type *restrict y) {                 \
    const size_t step = window->stride[2], taps = window->n[2];                                  \
    memcpy(y, window->x, channels);                                                              \
    for (size_t i = 0; i < window->n[0]; i++)                                                    \
      for (size_t j = 0; j < window->n[1]; j++) {                                                \
        const type *x = (const type *)window->x + i * window->stride[0] + j * window->stride[1]; \
        size_t k = 0;                                                                            \
        for (; k + 3 <= taps; k += 3) {                                                          \
          const type *restrict a = x + k * step, *restrict b = a + step, *restrict d = b + step; \
          for (size_t c = 0; c < channels; c++) {                                                \
            const type ab = I8_POOL_LARGER(a[c], b[c]), dy = I8_POOL_LARGER(d[c], y[c]);         \
            y[c] = I8_POOL_LARGER(ab, dy);                                                       \
          }                                                                                      \
        }                                                                                        \
        for (; k < taps; k++) {                                                                  \
          const type *restrict a = x + k * step;                                                 \
          for (size_t c = 0; c < channels; c++) y[c] = I8_POOL_LARGER(a[c], y[c]);               \
        }                                                                                        \
      }                                                                                          \
  }
I8_POOL(max_s8, int8_t)
I8_POOL(max_u8, uint8_t)
#undef I8_POOL
#undef I8_POOL_LARGER
