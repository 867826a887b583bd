// SPDX-License-Identifier: Apache-2.0
// Pools over the vocabulary.

// Whether four vectors at once are worth their code. Where no instruction converts float16, they
// take 2 KB, and a tenth less time: not for norms, which are rare.
#if defined(SMR_SIMD_WASM)
#define POOL_FOURS(kind, half) (!(half) || (kind) == SMR_POOL_MAX || (kind) == SMR_POOL_AVG)
#else
#define POOL_FOURS(kind, half) 1
#endif

// Loads the vector of one tap, whole or its first `lanes`.
SMR_INLINE N(vf) N(f32_pool_load)(int half, const char *x, size_t lanes) {
  const float *f = (const float *)(const void *)x;
  const uint16_t *h = (const uint16_t *)(const void *)x;
  if (half) return lanes == VF ? N(load_f16)(h) : N(load_f16_n)(h, lanes);
  return lanes == VF ? N(load)(f) : N(load_n)(f, lanes);
}

SMR_INLINE void N(f32_pool_store)(int half, char *y, N(vf) v, size_t lanes) {
  float *f = (float *)(void *)y;
  uint16_t *h = (uint16_t *)(void *)y;
  if (half && lanes == VF)
    N(store_f16)(h, v);
  else if (half)
    N(store_f16_n)(h, v, lanes);
  else if (lanes == VF)
    N(store)(f, v);
  else
    N(store_n)(f, v, lanes);
}

SMR_INLINE N(vf) N(f32_pool_step)(int kind, N(vf) sum, N(vf) x) {
  switch (kind) {
    // max returns a NaN of its second operand; the select handles one of its first.
    case SMR_POOL_MAX:
      return N(select)(N(ne)(x, x), x, N(max)(x, sum));
    case SMR_POOL_AVG:
      return N(add)(sum, x);
    case SMR_POOL_L1:
      return N(add)(sum, N(abs)(x));
    default:
      return N(add)(sum, N(mul)(x, x));
  }
}

// `vectors` vectors of channels; the last has `lanes`. All arguments but the window are constants.
SMR_INLINE void N(f32_pool_block)(int kind, int half, size_t vectors, size_t lanes,
                                  const struct smr_pool_window *window, size_t channel,
                                  float divisor, char *y) {
  const size_t element = half ? sizeof(uint16_t) : sizeof(float);
  N(vf) sums[4];
  SMR_UNROLL
  for (size_t v = 0; v < vectors; v++)
    sums[v] = kind == SMR_POOL_MAX ? N(set1)(-__builtin_inff()) : N(zero)();
  const char *depth = (const char *)window->x + channel * element;
  for (size_t i = 0; i < window->n[0]; i++, depth += window->stride[0] * element) {
    const char *row = depth;
    for (size_t j = 0; j < window->n[1]; j++, row += window->stride[1] * element) {
      const char *x = row;
      for (size_t k = 0; k < window->n[2]; k++, x += window->stride[2] * element) {
        SMR_UNROLL
        for (size_t v = 0; v < vectors; v++)
          sums[v] = N(f32_pool_step)(
              kind, sums[v],
              N(f32_pool_load)(half, x + v * VF * element, v + 1 == vectors ? lanes : VF));
      }
    }
  }
  SMR_UNROLL
  for (size_t v = 0; v < vectors; v++) {
    if (kind == SMR_POOL_AVG) sums[v] = N(div)(sums[v], N(set1)(divisor));
    if (kind == SMR_POOL_L2) sums[v] = N(sqrt)(sums[v]);
    N(f32_pool_store)(half, y + (channel + v * VF) * element, sums[v],
                      v + 1 == vectors ? lanes : VF);
  }
}

SMR_INLINE void N(f32_pool)(int kind, int half, size_t channels,
                            const struct smr_pool_window *window, float divisor, void *y) {
  size_t c = 0;
  for (; POOL_FOURS(kind, half) && channels - c >= 4 * VF; c += 4 * VF)
    N(f32_pool_block)(kind, half, 4, VF, window, c, divisor, (char *)y);
  for (; channels - c >= VF; c += VF)
    N(f32_pool_block)(kind, half, 1, VF, window, c, divisor, (char *)y);
  if (c < channels) N(f32_pool_block)(kind, half, 1, channels - c, window, c, divisor, (char *)y);
}

#define POOL(name, kind, half)                                                          \
  static void N(f32_pool_##name)(size_t channels, const struct smr_pool_window *window, \
                                 float divisor, void *y) {                              \
    N(f32_pool)(kind, half, channels, window, divisor, y);                              \
  }
POOL(max, SMR_POOL_MAX, 0)
POOL(avg, SMR_POOL_AVG, 0)
POOL(l1, SMR_POOL_L1, 0)
POOL(l2, SMR_POOL_L2, 0)
POOL(max_f16, SMR_POOL_MAX, 1)
POOL(avg_f16, SMR_POOL_AVG, 1)
POOL(l1_f16, SMR_POOL_L1, 1)
POOL(l2_f16, SMR_POOL_L2, 1)
#undef POOL

#define POOL_IN(name)                                   \
  SMR_HAS(f32_pool_##name) ? N(f32_pool_##name) : NULL, \
      SMR_HAS(f32_pool_##name) && SMR_HAS(type_float16) ? N(f32_pool_##name##_f16) : NULL
static const smr_f32_pool_ukernel N(f32_pool_kernels)[SMR_POOL_VECTOR_KINDS][SMR_POOL_TYPES] = {
    {POOL_IN(max)},
    {POOL_IN(avg)},
    {POOL_IN(l1)},
    {POOL_IN(l2)},
};
#undef POOL_IN
#undef POOL_FOURS
