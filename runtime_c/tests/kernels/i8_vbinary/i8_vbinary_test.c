// SPDX-License-Identifier: Apache-2.0
// Every kernel of int8 sums and products against single elements in 64-bit integers and doubles.
#include "base/fp.h"

#include "../kernel_data.h"
#include "harness.h"
#include "base/isa.h"
#include "kernels/i8_vbinary/i8_vbinary.h"

#include <math.h>

static const struct smr_i8_vbinary *kernels;

static const size_t lengths[] = {0, 1, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 257, 700};

static const struct smr_i8_vbinary_out outs[] = {
    {0.013f, 0, -128, 127}, {0.5f, -9, -128, 127},    {0x1p-18f, 100, -20, 120},
    {3e38f, -128, -128, 5}, {1e-38f, 127, -128, 127}, {0x1p-9f, 3, 7, 7},
    {1e-3f, -100, -1, 127}, {0x1p100f, 0, -128, 127},
};
enum { OUTS = sizeof outs / sizeof *outs };

static int8_t expected(int64_t acc, const struct smr_i8_vbinary_out *out) {
  const float f = (float)acc;
  const double p = (double)(f * out->multiplier), lo = out->lo - out->zero_point;
  const double hi = out->hi - out->zero_point;
  return (int8_t)(rint(p < lo ? lo : p > hi ? hi : p) + out->zero_point);
}

static int8_t *bytes(size_t n, uint32_t *state) {
  int8_t *p = (int8_t *)kernel_alloc(n, 1);
  for (size_t i = 0; i < n; i++) p[i] = (int8_t)(kernel_random(state) & 0xff);
  for (size_t i = 0; i < n; i += 7) p[i] = i % 2 ? 127 : -128;
  return p;
}

enum form { APART, OVER_A, OVER_B };

// A kernel's results in y, which may be an operand.
#define CHECK_FORMS(call, acc)                                                   \
  for (int form = APART; form <= OVER_B; form++) {                               \
    int8_t *x = (int8_t *)kernel_alloc(n, 1), *z = (int8_t *)kernel_alloc(n, 1); \
    memcpy(x, a, n), memcpy(z, b, n);                                            \
    int8_t *to = form == OVER_A ? x : form == OVER_B ? z : y;                    \
    call;                                                                        \
    for (size_t i = 0; i < n; i++) CHECK_EQ_INT(to[i], expected((acc), out));    \
    kernel_free(x, 1), kernel_free(z, 1);                                        \
  }

SMR_TEST(sums_agree) {
  static const int32_t factors[][2] = {{1 << 20, -(1 << 20)}, {1 << 20, 1 << 20}, {131072, 7}};
  static const int32_t zeros[][2] = {{3, -20}, {-128, 127}, {0, 0}};
  uint32_t state = 1;
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = lengths[k];
    int8_t *a = bytes(n, &state), *b = bytes(n, &state), *y = (int8_t *)kernel_alloc(n, 1);
    for (size_t o = 0; o < OUTS * 3; o++) {
      const struct smr_i8_vbinary_out *out = &outs[o % OUTS];
      const int32_t ma = factors[o % 3][0], mb = factors[o % 3][1];
      const int32_t za = zeros[o / OUTS][0], zb = zeros[o / OUTS][1];
      CHECK_FORMS(kernels->add(n, x, ma, z, mb, -za * ma - zb * mb, out, to),
                  (int64_t)(a[i] - za) * ma + (int64_t)(b[i] - zb) * mb)
    }
    kernel_free(a, 1), kernel_free(b, 1), kernel_free(y, 1);
  }
}

SMR_TEST(products_agree) {
  static const int32_t zeros[][2] = {{3, -20}, {-128, 127}, {0, 0}};
  uint32_t state = 2;
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = lengths[k];
    int8_t *a = bytes(n, &state), *b = bytes(n, &state), *y = (int8_t *)kernel_alloc(n, 1);
    for (size_t o = 0; o < OUTS * 3; o++) {
      const struct smr_i8_vbinary_out *out = &outs[o % OUTS];
      const int32_t za = zeros[o / OUTS][0], zb = zeros[o / OUTS][1];
      CHECK_FORMS(kernels->mul(n, x, za, z, zb, out, to), (int64_t)(a[i] - za) * (b[i] - zb))
    }
    kernel_free(a, 1), kernel_free(b, 1), kernel_free(y, 1);
  }
}

SMR_TEST(one_value_for_b_agrees) {
  static const int32_t lines[][2] = {
      {1 << 20, 1 << 28}, {-(1 << 20), -(1 << 28)}, {-77, 12345}, {0, -1}};
  uint32_t state = 3;
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = lengths[k];
    int8_t *a = bytes(n, &state), *b = bytes(n, &state), *y = (int8_t *)kernel_alloc(n, 1);
    for (size_t o = 0; o < OUTS * 4; o++) {
      const struct smr_i8_vbinary_out *out = &outs[o % OUTS];
      const int32_t m = lines[o / OUTS][0], offset = lines[o / OUTS][1];
      CHECK_FORMS((void)z; kernels->scale(n, form == OVER_B ? a : x, m, offset, out, to),
                           (int64_t)a[i] * m + offset)
    }
    kernel_free(a, 1), kernel_free(b, 1), kernel_free(y, 1);
  }
}

// Halves go to the even neighbour, and clamping is before that.
SMR_TEST(halves_round_to_even) {
  static const int8_t a[] = {1, 3, 5, -1, -3, -5, 127, -128, 7, 9, 11, 13, 15, 17, 19, 21};
  static const int8_t want[] = {0, 2, 2, 0, -2, -2, 50, -64, 4, 4, 6, 6, 8, 8, 10, 10};
  const struct smr_i8_vbinary_out out = {0.5f, 0, -128, 50};
  int8_t y[16];
  kernels->scale(16, a, 1, 0, &out, y);
  CHECK_MEM(y, want, sizeof y);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
#define SMR_UKERNEL(isa, suffix, lanes)               \
  if (KERNEL_RUNS(isa, suffix)) {                     \
    kernels = smr_i8_vbinary_config(isa);             \
    CHECK_STR(kernels->name, "i8_vbinary__" #suffix); \
    RUN(sums_agree);                                  \
    RUN(products_agree);                              \
    RUN(one_value_for_b_agrees);                      \
    RUN(halves_round_to_even);                        \
  }
#include "kernels/int8.inc"
#undef SMR_UKERNEL
  return SMR_TEST_END();
}
