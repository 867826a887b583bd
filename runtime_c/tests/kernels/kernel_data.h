// SPDX-License-Identifier: Apache-2.0
// Test data for kernels: exact-size heap buffers, so that the sanitizers see any over-read.
#ifndef SMR_TESTS_KERNEL_DATA_H
#define SMR_TESTS_KERNEL_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "harness.h"
#include "simd/half.h"

static inline int kernel_runs(uint32_t isa, const char *name, const char *file, int line) {
  if ((smr_cpu_isa() & isa) == isa) return 1;
  smr_test_not_run(name, "this CPU lacks it", file, line);
  return 0;
}

/// Whether this CPU runs kernels of `isa`; if not, that is said like NOT_RUN.
#define KERNEL_RUNS(isa, suffix) kernel_runs((isa), #suffix, __FILE__, __LINE__)

/// A repeatable sequence; the state is the caller's.
static inline uint32_t kernel_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/// In [-1, 1), 16 bits of mantissa: sums of products round, so the order of additions shows.
static inline float kernel_random_float(uint32_t *state) {
  return (float)(int32_t)(kernel_random(state) & 0xffff) * 0x1p-15f - 1.0f;
}

/// `bytes` that end where the allocation ends and start `shift` bytes into it. Never NULL; free
/// with kernel_free. Contents are NaN in both float types.
static inline void *kernel_alloc(size_t bytes, size_t shift) {
  unsigned char *p = (unsigned char *)malloc(bytes + shift + (bytes + shift == 0));
  if (!p) abort();
  memset(p, 0xff, bytes + shift);
  return p + shift;
}

static inline void kernel_free(void *p, size_t shift) { free((unsigned char *)p - shift); }

static inline float *kernel_floats(size_t n, uint32_t *state) {
  float *p = (float *)kernel_alloc(n * sizeof(float), 4);
  for (size_t i = 0; i < n; i++) p[i] = kernel_random_float(state);
  return p;
}

static inline uint16_t *kernel_halves(size_t n, uint32_t *state) {
  uint16_t *p = (uint16_t *)kernel_alloc(n * sizeof(uint16_t), 4);
  for (size_t i = 0; i < n; i++) p[i] = smr_f32_to_f16(kernel_random_float(state));
  return p;
}

/// Fill panels of 16 columns, `panel_bytes` apart, for n columns and k rows; columns beyond n are
/// 0.
static inline void kernel_fill_panels(void *w, size_t n, size_t k, size_t panel_bytes, int f16,
                                      uint32_t *state) {
  const size_t bytes = f16 ? 2 : 4;
  for (size_t at = 0; at < (n + 15) / 16 * 16 * k; at++) {
    const size_t panel = at / (16 * k), i = at % (16 * k);
    const float x = panel * 16 + i % 16 < n ? kernel_random_float(state) : 0.0f;
    const uint16_t h = smr_f32_to_f16(x);
    memcpy((char *)w + panel * panel_bytes + i * bytes, f16 ? (const void *)&h : (const void *)&x,
           bytes);
  }
}

/// Whether the float kernels of an instruction set round a product and a sum once.
static inline int kernel_fused(uint32_t isa) {
#if defined(__wasm_relaxed_simd__)
  return isa != SMR_ISA_NONE;
#else
  return isa != SMR_ISA_NONE && isa != SMR_ISA_WASM_SIMD;
#endif
}

static inline int kernel_same_bits(float a, float b) {
  uint32_t x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  return x == y || (a != a && b != b);
}

#endif
