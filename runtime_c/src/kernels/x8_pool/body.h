// SPDX-License-Identifier: Apache-2.0
// The largest of 8-bit integers over vectors of bytes. The ISA's file gives X8_V (a vector),
// X8_BYTES (its length), N(x8_load) and N(x8_store) of n <= X8_BYTES bytes, N(x8_max_s8) and
// N(x8_max_u8), and X8_POOL_SUFFIX, the ISA as kernels.inc names it.

#define X8_POOL_KERNEL_(name, suffix) smr_x8_pool_##name##_ukernel__##suffix
#define X8_POOL_KERNEL(name, suffix) X8_POOL_KERNEL_(name, suffix)

// Channels [c, c + n); several blocks at a time hide the latency of their loads.
#define X8_POOL(name)                                                                            \
  SMR_INLINE void N(x8_##name##_block)(const struct smr_pool_window *window, size_t c,           \
                                       const size_t blocks, size_t n, char *y) {                 \
    X8_V largest[4];                                                                             \
    const char *depth = (const char *)window->x + c;                                             \
    SMR_UNROLL for (size_t b = 0; b < blocks; b++) largest[b] =                                  \
        N(x8_load)(depth + b * X8_BYTES, n);                                                     \
    for (size_t i = 0; i < window->n[0]; i++) {                                                  \
      for (size_t j = 0; j < window->n[1]; j++) {                                                \
        const char *x = depth + i * window->stride[0] + j * window->stride[1];                   \
        for (size_t k = 0; k < window->n[2]; k++) {                                              \
          SMR_UNROLL for (size_t b = 0; b < blocks; b++) largest[b] =                            \
              N(x8_##name)(largest[b], N(x8_load)(x + k * window->stride[2] + b * X8_BYTES, n)); \
        }                                                                                        \
      }                                                                                          \
    }                                                                                            \
    SMR_UNROLL for (size_t b = 0; b < blocks; b++)                                               \
        N(x8_store)(y + c + b * X8_BYTES, largest[b], n);                                        \
  }                                                                                              \
  SMR_INLINE void N(x8_##name##_pool)(size_t channels, const struct smr_pool_window *window,     \
                                      char *y) {                                                 \
    size_t c = 0;                                                                                \
    for (; channels - c >= 4 * X8_BYTES; c += 4 * X8_BYTES)                                      \
      N(x8_##name##_block)(window, c, 4, X8_BYTES, y);                                           \
    for (; c < channels && channels >= X8_BYTES; c += X8_BYTES) {                                \
      if (channels - c < X8_BYTES) c = channels - X8_BYTES; /* some once more */                 \
      N(x8_##name##_block)(window, c, 1, X8_BYTES, y);                                           \
    }                                                                                            \
    if (c < channels) N(x8_##name##_block)(window, 0, 1, channels, y);                           \
  }
X8_POOL(max_s8)
X8_POOL(max_u8)

void X8_POOL_KERNEL(max_s8, X8_POOL_SUFFIX)(size_t channels, const struct smr_pool_window *window,
                                            int8_t *y) {
  N(x8_max_s8_pool)(channels, window, (char *)y);
}

void X8_POOL_KERNEL(max_u8, X8_POOL_SUFFIX)(size_t channels, const struct smr_pool_window *window,
                                            uint8_t *y) {
  N(x8_max_u8_pool)(channels, window, (char *)y);
}
#undef X8_POOL
#undef X8_POOL_KERNEL_
#undef X8_POOL_KERNEL
#undef X8_POOL_SUFFIX
#undef X8_V
#undef X8_BYTES
