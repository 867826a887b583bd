// SPDX-License-Identifier: Apache-2.0
// Lookups of int8 for NEON: a quarter of the table per instruction, which leaves bytes beyond it
// alone.

static void N(i8_lookup)(size_t n, const int8_t *x, const int8_t table[256], int8_t *y) {
  int8x16x4_t parts[4];
  SMR_UNROLL for (size_t k = 0; k < 4; k++) parts[k] = vld1q_s8_x4(table + 64 * k);
  const uint8x16_t quarter = vdupq_n_u8(64), flip = vdupq_n_u8(128);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    uint8x16_t at = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(x + i)), flip);
    int8x16_t v = vqtbl4q_s8(parts[0], at);
    SMR_UNROLL for (size_t k = 1; k < 4; k++) {
      at = vsubq_u8(at, quarter);
      v = vqtbx4q_s8(v, parts[k], at);
    }
    vst1q_s8(y + i, v);
  }
  for (; i < n; i++) y[i] = table[x[i] + 128];
}
