// SPDX-License-Identifier: Apache-2.0
// Tests every kernel of the product in bfloat16 against float64 sums of rounded elements.
#include "base/fp.h"

#include "kernels/bf16_gemm/bf16_gemm.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_gemm/f32_gemm_data.h"

static const size_t depths[] = {0, 1, 2, 3, 7, 16, 31, 32, 33, 65, 514, 1025};
enum { DEPTHS = sizeof depths / sizeof *depths };

static float rounded(float x) { return smr_bf16_to_f32(smr_f32_to_bf16(x)); }

// The data of a problem with its weights in pairs; `plain` keeps those of float32.
struct pairs {
  struct data data;
  struct smr_f32_gemm_args plain;
  void *w;
};

static struct pairs make_pairs(const struct problem *p, uint32_t *seed) {
  struct pairs d = {.data = make_data(p, seed)};
  struct smr_f32_gemm_args *args = &d.data.args;
  d.plain = *args;
  const size_t panels = smr_panels(p->n), stride = smr_bf16_gemm_panel_bytes(args->taps, p->k);
  const size_t tap_halves = (p->k / 2 + p->k % 2) * 2 * SMR_PANEL;
  const size_t last = args->taps * tap_halves * sizeof(uint16_t);
  const size_t batch = panels ? (panels - 1) * stride + last : 0;
  d.w = kernel_alloc(batch * p->batch, 4);
  for (size_t b = 0; b < p->batch; b++) {
    for (size_t panel = 0; panel < panels; panel++) {
      const float *from =
          (const float *)(const void *)((const char *)d.plain.w + b * d.plain.w_batch_stride_bytes +
                                        panel * d.plain.panel_stride_bytes);
      uint16_t *to = (uint16_t *)(void *)((char *)d.w + b * batch + panel * stride);
      for (size_t t = 0; t < args->taps; t++)
        smr_bf16_gemm_pack(p->k, from + t * p->k * SMR_PANEL, to + t * tap_halves);
    }
  }
  args->w = d.w;
  args->w_type = SMR_GEMM_BF16;
  args->panel_stride_bytes = stride;
  args->w_batch_stride_bytes = batch;
  return d;
}

static void free_pairs(struct pairs *d) {
  kernel_free(d->w, 4);
  free_data(&d->data);
}

// Rounds A and the plain weights, whose product in float64 is then what the kernel must be near to.
static void round_operands(const struct problem *p, struct pairs *d) {
  const size_t rows = p->m * p->taps;
  const size_t floats = rows ? (rows - 1) * d->plain.a_stride + p->k : 0;
  for (size_t i = 0; i < floats * p->batch; i++) d->data.a[i] = rounded(d->data.a[i]);
  const size_t depth = d->plain.taps * p->k;
  for (size_t b = 0; b < p->batch; b++) {
    for (size_t j = 0; j < smr_panels(p->n); j++) {
      float *panel = (float *)(void *)((char *)d->data.w + b * d->plain.w_batch_stride_bytes +
                                       j * d->plain.panel_stride_bytes);
      for (size_t i = 0; i < depth * SMR_PANEL; i++) panel[i] = rounded(panel[i]);
    }
  }
}

// Each sum within the bound of bf16_gemm.h, and nothing written between rows.
static int check_pairs(const struct problem *p, struct pairs *d) {
  const struct smr_f32_gemm_args *g = &d->plain;
  const int f16 = g->out_type == SMR_GEMM_F16;
  round_operands(p, d);
  for (size_t b = 0; b < g->batch; b++) {
    for (size_t i = 0; i < g->m; i++) {
      const size_t row = b * g->out_batch_stride + i * g->out_stride;
      for (size_t j = 0; j < g->n; j++) {
        const double got = (double)read_element(g->out, row + j, f16);
        const struct expectation e = expect(g, b, i, j, FUSED);
        if (!(fabs(got - e.exact) <= 2 * e.bound + (double)(g->taps * g->k) * 0x1p-126)) return 0;
      }
      for (size_t j = g->n; i + 1 < g->m && j < g->out_stride; j++)
        if (!isnan(read_element(g->out, row + j, f16))) return 0;
    }
  }
  return 1;
}

static void check_ukernel(const char *name, smr_f32_gemm_ukernel fn, size_t mr, size_t nr,
                          int may_indirect) {
  uint32_t seed = 1;
  for (size_t m = 1; m <= mr; m++) {
    for (size_t n = 1; n <= nr; n++) {
      for (size_t k = 0; k < DEPTHS; k++) {
        const uint32_t r = kernel_random(&seed);
        if (depths[k] > 100 && r % 8 != 0) continue;
        struct problem p = {.m = m,
                            .n = n,
                            .k = depths[k],
                            .taps = 1,
                            .batch = 1,
                            .f16_out = r >> 8 & 1,
                            .bias = r >> 9 & 1,
                            .residual = r >> 10 & 1,
                            .clamp = r >> 11 & 1,
                            .indirect = may_indirect && (r >> 12 & 1)};
        if (p.indirect) p.taps = 1 + (r >> 13) % 3;
        struct pairs d = make_pairs(&p, &seed);
        run_tile(fn, &d.data.args);
        if (!CHECK(check_pairs(&p, &d))) report(name, &p);
        free_pairs(&d);
      }
    }
  }
}

SMR_TEST(every_kernel_is_near_the_sum_of_rounded_elements) {
#define SMR_UKERNEL(bit, suffix, lanes)                                                    \
  if (KERNEL_RUNS(bit, suffix)) {                                                          \
    const struct smr_f32_gemm_config *c = smr_bf16_gemm_config(bit);                       \
    const size_t nr = c->nr[SMR_GEMM_BF16];                                                \
    CHECK_STR(c->isa, #suffix);                                                            \
    check_ukernel(c->names[SMR_GEMM_BF16], c->ukernel[SMR_GEMM_BF16], c->mr, nr, 1);       \
    check_ukernel(c->gemv_names[SMR_GEMM_BF16], c->gemv[SMR_GEMM_BF16], 1, 2 * nr + 1, 0); \
  }
#include "kernels/bf16_gemm/kernels.inc"
#undef SMR_UKERNEL
}

static const uint32_t ceilings[] = {SMR_ISA_NONE, SMR_ISA_AVX512_BF16, SMR_ISA_NEON_BF16};
enum { CEILINGS = sizeof ceilings / sizeof *ceilings };

SMR_TEST(driver_covers_every_shape) {
  static const size_t sizes[] = {0, 1, 2, 8, 9, 16, 17, 48, 49, 100};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  uint32_t seed = 2;
  for (size_t c = 0; c < CEILINGS * SIZES * SIZES; c++) {
    const uint32_t isa = ceilings[c % CEILINGS], r = kernel_random(&seed);
    if ((smr_cpu_isa() & isa) != isa) continue;
    struct problem p = {.m = sizes[c / CEILINGS % SIZES],
                        .n = sizes[c / CEILINGS / SIZES],
                        .k = depths[r % DEPTHS] % 100,
                        .taps = 1,
                        .batch = 1 + (r >> 8) % 3,
                        .indirect = r >> 10 & 1,
                        .bias = r >> 11 & 1,
                        .residual = r >> 12 & 1};
    if (p.indirect) p.taps = 1 + (r >> 16) % 9;
    struct pairs d = make_pairs(&p, &seed);
    struct smr_f32_gemm_plan plan;
    smr_f32_gemm_plan_make(smr_bf16_gemm_config(isa), &d.data.args, &plan);
    CHECK_EQ_INT(plan.units == 0, p.m == 0 || p.n == 0);
    run_all(&plan, &d.data.args);
    if (!CHECK(check_pairs(&p, &d))) report(smr_bf16_gemm_config(isa)->isa, &p);
    free_pairs(&d);
  }
}

// Any split of the range gives the same bits as one call.
SMR_TEST(splits_change_no_bit) {
  uint32_t seed = 3;
  const struct problem problems[] = {
      {.m = 1, .n = 200, .k = 137, .taps = 1, .batch = 2, .bias = 1},
      {.m = 301, .n = 70, .k = 600, .taps = 1, .batch = 1, .bias = 1},
      {.m = 97, .n = 130, .k = 6, .taps = 9, .batch = 3, .indirect = 1, .residual = 1},
  };
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    struct pairs d = make_pairs(&problems[i], &seed);
    const struct smr_f32_gemm_args *args = &d.data.args;
    struct smr_f32_gemm_plan plan;
    smr_f32_gemm_plan_make(smr_bf16_gemm_config(smr_cpu_isa()), args, &plan);
    run_all(&plan, args);
    const size_t bytes =
        ((args->batch - 1) * args->out_batch_stride + (args->m - 1) * args->out_stride + args->n) *
        sizeof(float);
    float *first = (float *)malloc(bytes);
    if (!CHECK(first != NULL)) return;
    memcpy(first, args->out, bytes);
    memset(args->out, 0xff, bytes);
    for (size_t unit = 0; unit < plan.units; unit++) smr_f32_gemm_run(&plan, args, unit, unit + 1);
    CHECK_MEM(args->out, first, bytes);
    free(first);
    free_pairs(&d);
  }
}

// x as the kernel rounds it: the product of a row [x] with weights of 1.
static float once(uint32_t isa, float x) {
  float a[2] = {x, 0.0f}, panel[2 * SMR_PANEL], out[SMR_PANEL];
  uint16_t w[2 * SMR_PANEL];
  for (size_t i = 0; i < 2 * SMR_PANEL; i++) panel[i] = 1.0f;
  smr_bf16_gemm_pack(2, panel, w);
  const struct smr_f32_gemm_args args = {.batch = 1,
                                         .m = 1,
                                         .n = SMR_PANEL,
                                         .k = 2,
                                         .taps = 1,
                                         .a = a,
                                         .a_stride = 2,
                                         .w = w,
                                         .w_type = SMR_GEMM_BF16,
                                         .panel_stride_bytes = sizeof w,
                                         .out = out,
                                         .out_stride = SMR_PANEL,
                                         .lo = -INFINITY,
                                         .hi = INFINITY};
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(smr_bf16_gemm_config(isa), &args, &plan);
  run_all(&plan, &args);
  return out[SMR_PANEL - 1];
}

SMR_TEST(rows_are_rounded_to_nearest_even) {
  for (size_t c = 0; c < CEILINGS; c++) {
    const uint32_t isa = ceilings[c];
    if ((smr_cpu_isa() & isa) != isa) continue;
    CHECK(once(isa, 1.0f + 0x1p-8f) == 1.0f);                // a tie, down to even
    CHECK(once(isa, 1.0f + 3 * 0x1p-8f) == 1.0f + 0x1p-6f);  // a tie, up to even
    CHECK(once(isa, 1.0f + 0x1p-8f + 0x1p-20f) == 1.0f + 0x1p-7f);
    CHECK(once(isa, -1.75f) == -1.75f);
    CHECK(isnan(once(isa, NAN)));
    CHECK(once(isa, -INFINITY) == -INFINITY);
    CHECK(once(isa, 3.4e38f) == INFINITY);
  }
}

SMR_TEST(weights_are_pairs_of_rows) {
  float panel[3 * SMR_PANEL];
  for (size_t i = 0; i < 3 * SMR_PANEL; i++) panel[i] = (float)i + 0.25f;
  uint16_t w[4 * SMR_PANEL];
  smr_bf16_gemm_pack(3, panel, w);
  for (size_t n = 0; n < SMR_PANEL; n++) {
    CHECK_EQ_INT(w[2 * n], smr_f32_to_bf16(panel[n]));
    CHECK_EQ_INT(w[2 * n + 1], smr_f32_to_bf16(panel[SMR_PANEL + n]));
    CHECK_EQ_INT(w[2 * SMR_PANEL + 2 * n], smr_f32_to_bf16(panel[2 * SMR_PANEL + n]));
    CHECK_EQ_INT(w[2 * SMR_PANEL + 2 * n + 1], 0);
  }
}

SMR_TEST(pays_where_there_are_instructions) {
  CHECK(!smr_bf16_gemm_pays(SMR_ISA_NONE));
  CHECK(!smr_bf16_gemm_pays(SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_VNNI | SMR_ISA_NEON));
  CHECK_EQ_INT(smr_bf16_gemm_pays(SMR_ISA_AVX512_BF16), SMR_ARCH_X86_64);
  CHECK_EQ_INT(smr_bf16_gemm_pays(SMR_ISA_NEON_BF16), SMR_ARCH_AARCH64);
}

SMR_TEST_MAIN(RUN(every_kernel_is_near_the_sum_of_rounded_elements); RUN(driver_covers_every_shape);
              RUN(splits_change_no_bit); RUN(rows_are_rounded_to_nearest_even);
              RUN(weights_are_pairs_of_rows); RUN(pays_where_there_are_instructions))
