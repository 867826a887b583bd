// SPDX-License-Identifier: Apache-2.0
// Products in bfloat16 through their operators: products of rounded operands if the job allows it
// and the CPU supports it, else the bits of float32.
#include "base/fp.h"

#include "kernels/bf16_gemm/bf16_gemm.h"
#include "ops/matmul/linear_data.h"

#include <math.h>

// matmul: x [rows, k] w [k, n], or transposed. conv: `size` x `size` pixels of k channels, windows
// of `kernel` x `kernel`, into n channels.
struct bf16_case {
  const char *op;
  int64_t rows, k, n;
  int64_t size, kernel, stride, groups;
  bool transpose_w, rounds;  // `rounds`: where the CPU can
};

static const struct bf16_case cases[] = {
    {"matmul", 1, 64, 33, 0, 0, 0, 0, false, true},
    {"matmul", 37, 129, 50, 0, 0, 0, 0, false, true},
    {"matmul", 20, 600, 16, 0, 0, 0, 0, true, true},
    {"matmul", 20, 15, 16, 0, 0, 0, 0, false, false},  // short sums
    {"conv", 0, 33, 40, 7, 1, 1, 1, false, true},      // pixels as rows
    {"conv", 0, 32, 24, 9, 3, 2, 1, false, true},      // through pointers
    {"conv", 0, 64, 96, 9, 3, 2, 2, false, true},      // groups
    {"conv", 0, 32, 32, 9, 3, 2, 2, false, false},     // rounding costs what it saves
    {"conv", 0, 33, 20, 9, 3, 2, 1, false, false},     // an odd number of channels per tap
    {"conv", 0, 3, 20, 9, 3, 2, 1, false, false},      // a first layer
};

static size_t bf16_terms(const struct bf16_case *c) {
  return (size_t)(c->size == 0 ? c->k : c->k / c->groups * c->kernel * c->kernel);
}

// The operator on x, w and a bias; the output is the caller's. `kernel` may be NULL.
static float *run_one(const struct bf16_case *c, const float *x, const float *w, bool packed,
                      bool bfloat16, uint32_t isa, size_t *count, char *kernel) {
  const int64_t out = c->size == 0 ? 0 : (c->size - 1) / c->stride + 1, pad = c->kernel / 2;
  float *bias = linear_floats((size_t)c->n, 3);
  struct op_test t;
  op_begin(&t, c->op);
  t.job.isa &= isa;
  t.job.bfloat16 = bfloat16;
  if (c->size == 0) {
    op_in(&t, SAMARA_FLOAT32, 2, (const int64_t[]){c->rows, c->k}, x);
    const int64_t plain[] = {c->k, c->n}, turned[] = {c->n, c->k};
    op_constant(&t, SAMARA_FLOAT32, 2, c->transpose_w ? turned : plain, w);
    op_constant(&t, SAMARA_FLOAT32, 1, &c->n, bias);
    op_out(&t, SAMARA_FLOAT32, 2, (const int64_t[]){c->rows, c->n});
    op_int(&t, "transpose_w", c->transpose_w);
  } else {
    const int64_t channels = c->k / c->groups;
    op_in(&t, SAMARA_FLOAT32, 4, (const int64_t[]){1, c->size, c->size, c->k}, x);
    op_constant(&t, SAMARA_FLOAT32, 4, (const int64_t[]){c->n, c->kernel, c->kernel, channels}, w);
    op_constant(&t, SAMARA_FLOAT32, 1, &c->n, bias);
    op_out(&t, SAMARA_FLOAT32, 4, (const int64_t[]){1, out, out, c->n});
    op_ints(&t, "strides", 2, (const int64_t[]){c->stride, c->stride});
    op_ints(&t, "dilations", 2, (const int64_t[]){1, 1});
    op_ints(&t, "pads", 4, (const int64_t[]){pad, pad, pad, pad});
    op_int(&t, "groups", c->groups);
  }
  op_f32(&t, "lo", -INFINITY);
  op_f32(&t, "hi", INFINITY);
  const size_t terms = bf16_terms(c), groups = c->size == 0 ? 1 : (size_t)c->groups;
  const bool by_row = c->size == 0 && !c->transpose_w;
  if (packed)
    linear_pack(&t, SMR_LAYOUT_PANEL, groups, terms, (size_t)c->n / groups,
                by_row ? (size_t)c->n : 1, by_row ? 1 : terms);
  float *y = NULL;
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    *count = t.out[0].size_bytes / sizeof *y;
    y = malloc(t.out[0].size_bytes);
    if (y == NULL) abort();
    memcpy(y, t.out[0].data, t.out[0].size_bytes);
    if (kernel != NULL) snprintf(kernel, 64, "%s", t.job.kernel);
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(bias);
  return y;
}

static void check_case(const struct bf16_case *c, bool packed, uint32_t isa) {
  const size_t x_n = (size_t)(c->size == 0 ? c->rows * c->k : c->size * c->size * c->k);
  const size_t terms = bf16_terms(c), w_n = terms * (size_t)c->n;
  float *x = linear_floats(x_n, 1), *w = linear_floats(w_n, 2);
  const bool rounds = c->rounds && smr_bf16_gemm_pays(smr_cpu_isa() & isa);
  size_t count = 0;
  char kernel[64] = "";
  float *plain = run_one(c, x, w, packed, false, isa, &count, NULL);
  float *got = run_one(c, x, w, packed, true, isa, &count, kernel);
  for (size_t i = 0; i < x_n; i++) x[i] = smr_bf16_to_f32(smr_f32_to_bf16(x[i]));
  for (size_t i = 0; i < w_n; i++) w[i] = smr_bf16_to_f32(smr_f32_to_bf16(w[i]));
  float *want = run_one(c, x, w, packed, false, isa, &count, NULL);
  if (CHECK(plain != NULL && got != NULL && want != NULL)) {
    CHECK_EQ_INT(strncmp(kernel, "bf16_gemm", 9) == 0, rounds);
    double most = 0;  // that rounding changes
    for (size_t i = 0; i < count; i++) {
      most = fmax(most, fabs((double)got[i] - (double)plain[i]));
      if (rounds) CHECK_NEAR(got[i], want[i], (double)(terms + 2) * 0x1p-22);
    }
    CHECK_EQ_INT(most > 1e-4, rounds);
    if (!rounds) CHECK_MEM(got, plain, count * sizeof *got);
  }
  free(x), free(w), free(plain), free(got), free(want);
}

SMR_TEST(operands_are_rounded_where_the_cpu_can) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int packed = 0; packed < 2; packed++) {
      check_case(&cases[i], packed, UINT32_MAX);
      check_case(&cases[i], packed, ~(uint32_t)(SMR_ISA_AVX512_BF16 | SMR_ISA_NEON_BF16));
    }
  }
}

SMR_TEST_MAIN(RUN(operands_are_rounded_where_the_cpu_can))
