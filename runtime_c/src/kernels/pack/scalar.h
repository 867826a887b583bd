// SPDX-License-Identifier: Apache-2.0
// Transposes sixteen rows into a weight panel, in portable C.

static void N(pack_f32_transpose)(size_t k, const float *src, size_t n_stride, float *dst) {
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < SMR_PANEL; j++) dst[i * SMR_PANEL + j] = src[j * n_stride + i];
  }
}
