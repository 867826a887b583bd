// SPDX-License-Identifier: Apache-2.0
// Lookups of int8 for WebAssembly: a sixteenth of the table per instruction, which gives 0 for
// bytes beyond it. Other architectures of 128-bit vectors have no such instruction that compilers
// know: portable C is their kernel.
#include "simd/v128_bytes.h"

static void N(i8_lookup)(size_t n, const int8_t *x, const int8_t table[256], int8_t *y) {
  N(v16i8) parts[16];
  SMR_UNROLL for (size_t k = 0; k < 16; k++) parts[k] = N(load_8)(table + 16 * k);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    N(v16i8) at = N(load_8)(x + i) ^ N(bset1)(-128), v = N(bset1)(0);
    SMR_UNROLL for (size_t k = 0; k < 16; k++) {
      v |= __builtin_wasm_swizzle_i8x16(parts[k], at);
      at -= N(bset1)(16);
    }
    N(store_8)(y + i, v);
  }
  for (; i < n; i++) y[i] = table[x[i] + 128];
}
