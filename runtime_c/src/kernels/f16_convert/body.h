// SPDX-License-Identifier: Apache-2.0
// The conversion loops, once over the vocabulary.

static void N(f16_to_f32_loop)(size_t n, const uint16_t *src, float *dst) {
  size_t i = 0;
  for (; i + VF <= n; i += VF) N(store)(dst + i, N(load_f16)(src + i));
  if (i < n) N(store_n)(dst + i, N(load_f16_n)(src + i, n - i), n - i);
}

static void N(f32_to_f16_loop)(size_t n, const float *src, uint16_t *dst) {
  size_t i = 0;
  for (; i + VF <= n; i += VF) N(store_f16)(dst + i, N(load)(src + i));
  if (i < n) N(store_f16_n)(dst + i, N(load_n)(src + i, n - i), n - i);
}
