// SPDX-License-Identifier: Apache-2.0
// Tests the panel packer: both orders, both types, tails, gaps between panels untouched.
#include "base/fp.h"

#include "kernels/pack/pack_f32.h"

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

enum { GAP = 8 };  // bytes between panels

static void check_pack(size_t k, size_t n, int f16, size_t k_stride, size_t n_stride,
                       uint32_t isa) {
  uint32_t seed = (uint32_t)(k * 1000 + n);
  const size_t bytes = f16 ? 2 : 4, panels = smr_panels(n);
  const size_t src_size = k && n ? (k - 1) * k_stride + (n - 1) * n_stride + 1 : 0;
  const size_t panel_bytes = k * 16 * bytes;
  const size_t dst_bytes = panels ? (panels - 1) * (panel_bytes + GAP) + panel_bytes : 0;
  void *src = f16 ? (void *)kernel_halves(src_size, &seed) : (void *)kernel_floats(src_size, &seed);
  unsigned char *dst = (unsigned char *)kernel_alloc(dst_bytes, 4);
  const struct smr_pack_f32_args args = {.k = k,
                                         .n = n,
                                         .src = src,
                                         .type = f16 ? SMR_GEMM_F16 : SMR_GEMM_F32,
                                         .k_stride = k_stride,
                                         .n_stride = n_stride,
                                         .dst = dst,
                                         .panel_stride_bytes = panel_bytes + GAP};
  // Two calls: the second panel on, then the first.
  if (panels) {
    smr_pack_f32(&args, isa, 1, panels);
    smr_pack_f32(&args, isa, 0, 1);
  }
  int same = 1;
  for (size_t panel = 0; panel < panels; panel++) {
    const unsigned char *p = dst + panel * (panel_bytes + GAP);
    for (size_t i = 0; i < k * 16; i++) {
      const size_t column = panel * 16 + i % 16;
      const unsigned char zero[4] = {0};
      const unsigned char *want =
          column < n ? (const unsigned char *)src + (i / 16 * k_stride + column * n_stride) * bytes
                     : zero;
      same = same && memcmp(p + i * bytes, want, bytes) == 0;
    }
    for (size_t i = 0; i < GAP && panel + 1 < panels; i++)
      same = same && p[panel_bytes + i] == 0xff;
  }
  if (!CHECK(same))
    fprintf(stderr, "  k=%zu n=%zu f16=%d strides %zu %zu\n", k, n, f16, k_stride, n_stride);
  kernel_free(src, 4);
  kernel_free(dst, 4);
}

SMR_TEST(packs_every_order_and_size) {
  static const uint32_t ceilings[] = {SMR_ISA_NONE, ~0u};
  for (size_t c = 0; c < 2; c++) {
    const uint32_t isa = smr_cpu_isa() & ceilings[c];
    for (size_t k = 0; k <= 25; k++) {
      for (size_t n = 0; n <= 49; n++) {
        for (int f16 = 0; f16 < 2; f16++) {
          check_pack(k, n, f16, n, 1, isa);
          check_pack(k, n, f16, 1, k ? k : 1, isa);
          check_pack(k, n, f16, n + 3, 1, isa);
          check_pack(k, n, f16, 1, k + 2, isa);
          check_pack(k, n, f16, 2, 2 * k + 1, isa);
        }
      }
    }
  }
}

SMR_TEST(transposers_agree) {
  float src[16 * 40], want[40 * 16], got[40 * 16];
  uint32_t seed = 7;
  for (size_t i = 0; i < 16 * 40; i++) src[i] = kernel_random_float(&seed);
  const uint32_t have = smr_cpu_isa();
  for (size_t k = 1; k <= 40; k++) {
    for (size_t i = 0; i < k * 16; i++) want[i] = src[i % 16 * 40 + i / 16];
#define SMR_UKERNEL(isa, suffix, lanes)                                 \
  if ((have & (isa)) == (isa)) {                                        \
    memset(got, 0, sizeof got);                                         \
    smr_pack_f32_transpose_kernel(isa)(k, src, 40, got);                \
    CHECK_MEM(got, want, k * 16 * sizeof(float));                       \
  } else if (k == 1) {                                                  \
    fprintf(stderr, "NOT RUN: pack " #suffix " (this CPU lacks it)\n"); \
  }
#include "kernels/pack/kernels.inc"
#undef SMR_UKERNEL
  }
}

SMR_TEST_MAIN(RUN(packs_every_order_and_size); RUN(transposers_agree))
