// SPDX-License-Identifier: Apache-2.0
// Tests the float16 conversions: every float16, every rounding boundary, every tail.
#include "base/fp.h"

#include "kernels/f16_convert/f16_convert.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

// The value of float16 bits, from the definition.
static double value_of(uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const double sign = h & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa ? (double)NAN : sign * (double)INFINITY;
  return exponent ? sign * ldexp(1024 + mantissa, exponent - 25) : sign * ldexp(mantissa, -24);
}

static void check_widen(const char *name, smr_f16_to_f32_ukernel fn) {
  uint16_t *src = (uint16_t *)malloc(65536 * sizeof *src);
  float *dst = (float *)malloc(65536 * sizeof *dst);
  REQUIRE(src && dst);
  for (size_t i = 0; i < 65536; i++) src[i] = (uint16_t)i;
  fn(65536, src, dst);
  size_t wrong = 0;
  for (size_t i = 0; i < 65536; i++) {
    const double want = value_of((uint16_t)i);
    uint32_t bits;
    memcpy(&bits, &dst[i], sizeof bits);
    if (isnan(want)) {
      wrong += bits != ((uint32_t)(i & 0x8000) << 16 | 0x7fc00000u | (uint32_t)(i & 1023) << 13);
    } else {
      wrong += (double)dst[i] != want || bits >> 31 != i >> 15;
    }
  }
  if (!CHECK_EQ_INT(wrong, 0)) fprintf(stderr, "  %s\n", name);
  free(src);
  free(dst);
}

// Around every float16: itself, the midpoint to the next, and one ulp to either side of both.
static void check_narrow(const char *name, smr_f32_to_f16_ukernel fn) {
  size_t wrong = 0;
  for (uint32_t h = 0; h < 0x7c00; h++) {
    const float here = (float)value_of((uint16_t)h);
    const float next = h == 0x7bff ? 65536.0f : (float)value_of((uint16_t)(h + 1));
    const float middle = here + (next - here) / 2;
    const uint16_t up = (uint16_t)(h + 1), down = (uint16_t)h;
    const uint16_t even = h & 1 ? up : down;
    const struct {
      float from;
      uint16_t to;
    } cases[] = {
        {here, down},   {nextafterf(here, INFINITY), down}, {nextafterf(middle, -INFINITY), down},
        {middle, even}, {nextafterf(middle, INFINITY), up}, {nextafterf(next, -INFINITY), up}};
    float src[12];
    uint16_t dst[12];
    for (size_t i = 0; i < 6; i++) {
      src[i] = cases[i].from;
      src[i + 6] = -cases[i].from;
    }
    fn(12, src, dst);
    for (size_t i = 0; i < 6; i++) {
      wrong += dst[i] != cases[i].to;
      wrong += dst[i + 6] != (cases[i].to | 0x8000);
    }
  }
  const float src[] = {65504.0f, 65519.996f, 65520.0f, 1e30f, INFINITY, -INFINITY, 1e-30f, -1e-45f};
  const uint16_t want[] = {0x7bff, 0x7bff, 0x7c00, 0x7c00, 0x7c00, 0xfc00, 0, 0x8000};
  uint16_t dst[8];
  fn(8, src, dst);
  for (size_t i = 0; i < 8; i++) wrong += dst[i] != want[i];
  // A signalling NaN with payload: quiet, upper payload bits kept.
  const uint32_t nan_bits[] = {0x7f800001u, 0x7fa02000u, 0xffc00000u, 0xff955555u};
  float nans[4];
  uint16_t nan_out[4];
  memcpy(nans, nan_bits, sizeof nans);
  fn(4, nans, nan_out);
  for (size_t i = 0; i < 4; i++) {
    const uint32_t b = nan_bits[i];
    wrong += nan_out[i] != (uint16_t)((b >> 16 & 0x8000u) | 0x7e00u | (b >> 13 & 0x3ffu));
  }
  if (!CHECK_EQ_INT(wrong, 0)) fprintf(stderr, "  %s\n", name);
}

static void check_tails(smr_f16_to_f32_ukernel widen, smr_f32_to_f16_ukernel narrow, size_t lanes) {
  uint32_t seed = 9;
  for (size_t n = 0; n <= 3 * lanes + 1; n++) {
    float *f = kernel_floats(n, &seed), *back = (float *)kernel_alloc(n * 4, 4);
    uint16_t *h = (uint16_t *)kernel_alloc(n * 2, 2);
    narrow(n, f, h);
    widen(n, h, back);
    for (size_t i = 0; i < n; i++) {
      CHECK_EQ_INT(h[i], smr_f32_to_f16(f[i]));
      CHECK(back[i] == smr_f16_to_f32(h[i]));
    }
    kernel_free(f, 4);
    kernel_free(back, 4);
    kernel_free(h, 2);
  }
}

SMR_TEST(every_variant_is_exact) {
#define SMR_UKERNEL(isa, suffix, lanes)                                         \
  if (KERNEL_RUNS(isa, suffix)) {                                               \
    check_widen(#suffix, smr_f16_to_f32_kernel(isa));                           \
    check_narrow(#suffix, smr_f32_to_f16_kernel(isa));                          \
    check_tails(smr_f16_to_f32_kernel(isa), smr_f32_to_f16_kernel(isa), lanes); \
  }
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(dispatch_follows_the_ceiling) {
  CHECK(smr_f16_to_f32_kernel(0) != NULL && smr_f32_to_f16_kernel(0) != NULL);
#if SMR_ARCH_X86_64
  CHECK(smr_f32_to_f16_kernel(SMR_ISA_AVX2) != smr_f32_to_f16_kernel(0));
  CHECK(smr_f32_to_f16_kernel(SMR_ISA_AVX2 | SMR_ISA_AVX512) ==
        smr_f32_to_f16_kernel(SMR_ISA_AVX512));
  CHECK(smr_f32_to_f16_kernel(SMR_ISA_AVX512) != smr_f32_to_f16_kernel(SMR_ISA_AVX2));
#endif
}

SMR_TEST_MAIN(RUN(every_variant_is_exact); RUN(dispatch_follows_the_ceiling))
