// SPDX-License-Identifier: Apache-2.0
// Tests every kernel of the float product against a naive one, and the driver's cuts.
#include "base/fp.h"

#include "kernels/f32_gemm/f32_gemm.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_gemm/f32_gemm_data.h"

static const size_t depths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 33};
enum { DEPTHS = sizeof depths / sizeof *depths };

// Every shape a micro-kernel takes, options drawn per shape; one call covers the whole matrix.
static void check_ukernel(const char *name, smr_f32_gemm_ukernel fn, size_t mr, size_t nr,
                          int f16_w, enum arithmetic how, int may_indirect, int in_order) {
  uint32_t seed = 1;
  for (size_t m = 1; m <= mr; m++) {
    for (size_t n = 1; n <= nr; n++) {
      for (size_t d = 0; d < DEPTHS; d++) {
        const uint32_t r = kernel_random(&seed);
        struct problem p = {.m = m,
                            .n = n,
                            .k = depths[d],
                            .taps = 1,
                            .batch = 1,
                            .f16_w = f16_w,
                            .f16_out = r & 1,
                            .bias = r >> 1 & 1,
                            .residual = r >> 2 & 1,
                            .clamp = r >> 3 & 1,
                            .indirect = may_indirect && (r >> 4 & 1)};
        if (p.indirect) p.taps = 1 + (r >> 5) % 3;
        struct data data = make_data(&p, &seed);
        run_tile(fn, &data.args);
        if (!CHECK(check_output(&data.args, how, in_order))) report(name, &p);
        free_data(&data);
      }
    }
  }
}

static void check_config(const char *isa, const struct smr_f32_gemm_config *c, int fused) {
  const enum arithmetic how = fused ? FUSED : SEPARATE;
  CHECK_STR(c->isa, isa);
  for (int f16 = 0; f16 < 2; f16++) {
    const int half = f16 && c->plain != NULL;  // float16 arithmetic; its float32 is another set's
    if (!f16 && c->plain != NULL) continue;
    check_ukernel(c->names[f16], c->ukernel[f16], c->mr, c->nr[f16], f16, half ? HALF : how, 1, 1);
    const size_t columns = half ? 2 * c->nr[f16] + SMR_PANEL + 1 : 3 * SMR_PANEL + 1;
    check_ukernel(c->gemv_names[f16], c->gemv[f16], 1, columns, f16, half ? HALF : SEPARATE, 0,
                  half);
  }
  if (c->tall_mr != 0) check_ukernel(c->tall_name, c->tall, c->tall_mr, SMR_PANEL, 0, FUSED, 0, 1);
}

SMR_TEST(every_kernel_matches_the_naive_product) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_config(#suffix, smr_f32_gemm_config(bit), kernel_fused(bit));
#include "kernels/f32_gemm/kernels.inc"
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

// Panels of bytes give the bits of the floats that they unfold to.
static void check_s8(const struct smr_f32_gemm_config *c, size_t k, size_t n, bool shifted) {
  const size_t panels = smr_panels(n), stride = smr_panel_stride_bytes(k, 4);
  const size_t s8_stride = sizeof(struct smr_gemm_s8_head) + smr_panel_stride_bytes(k, 1);
  uint32_t seed = (uint32_t)(k * 64 + n);
  char *bytes = (char *)kernel_alloc(panels * s8_stride, 4);
  float *floats = (float *)kernel_alloc(panels * stride, 4);
  float *a = kernel_floats(k, &seed), *bias = kernel_floats(panels * SMR_PANEL, &seed);
  float *residual = kernel_floats(n, &seed), *out[2];
  for (size_t p = 0; p < panels; p++) {
    struct smr_gemm_s8_head *head = (void *)(bytes + p * s8_stride);
    float *to = (float *)(void *)((char *)floats + p * stride);
    head->shifted = shifted;
    for (size_t j = 0; j < SMR_PANEL; j++) {
      const int zero = shifted ? (int)(j * 37 % 256) - 128 : 0;
      head->scales[j] = 0.01f + 0.003f * (float)(j + p);
      head->zeros[j] = smr_f32_to_f16((float)zero);
      for (size_t i = 0; i < k; i++) {
        const int q = (int)(kernel_random(&seed) >> 8 & 255) - 128;
        ((int8_t *)(head + 1))[i * SMR_PANEL + j] = (int8_t)q;
        to[i * SMR_PANEL + j] = (float)(q - zero) * head->scales[j];
      }
    }
    float *unfolded = (float *)kernel_alloc(k * SMR_PANEL * 4, 4);
    c->unfold_s8(k, head, unfolded);
    CHECK_MEM(unfolded, to, k * SMR_PANEL * 4);
    kernel_free(unfolded, 4);
  }
  struct smr_f32_gemm_params params = {.k = k,
                                       .taps = 1,
                                       .panel_stride_bytes = stride,
                                       .out_stride = n,
                                       .residual_stride = n,
                                       .lo = -INFINITY,
                                       .hi = INFINITY};
  for (int i = 0; i < 2; i++) {
    const smr_f32_gemm_ukernel fn = c->gemv[i ? SMR_GEMM_S8 : SMR_GEMM_F32];
    out[i] = (float *)kernel_alloc(n * 4, 4);
    params.panel_stride_bytes = i ? s8_stride : stride;
    fn(1, n, a, NULL, i ? (void *)bytes : (void *)floats, k % 2 ? bias : NULL, out[i],
       k % 3 ? residual : NULL, &params);
  }
  if (!CHECK_MEM(out[1], out[0], n * 4))
    fprintf(stderr, "  %s k=%zu n=%zu shifted=%d\n", c->gemv_names[SMR_GEMM_S8], k, n, shifted);
  for (int i = 0; i < 2; i++) kernel_free(out[i], 4);
  kernel_free(bytes, 4);
  kernel_free(floats, 4);
  kernel_free(a, 4);
  kernel_free(bias, 4);
  kernel_free(residual, 4);
}

SMR_TEST(bytes_give_the_bits_of_floats) {
  static const size_t columns[] = {1, 16, 17, 32, 50};
#define SMR_UKERNEL(bit, suffix, lanes)                           \
  for (size_t d = 0; KERNEL_RUNS(bit, suffix) && d < DEPTHS; d++) \
    for (size_t n = 0; n < sizeof columns / sizeof *columns; n++) \
      for (int shifted = 0; shifted < 2; shifted++)               \
        check_s8(smr_f32_gemm_config(bit), depths[d], columns[n], shifted);
#include "kernels/f32_gemm/kernels.inc"
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

static const uint32_t ceilings[] = {SMR_ISA_NONE,
                                    SMR_ISA_AVX2,
                                    SMR_ISA_AVX2 | SMR_ISA_AVX512,
                                    SMR_ISA_NEON,
                                    SMR_ISA_NEON | SMR_ISA_NEON_FP16,
                                    SMR_ISA_WASM_SIMD,
                                    SMR_ISA_RVV};
enum { CEILINGS = sizeof ceilings / sizeof *ceilings };

// The arithmetic of a product whose kernels are those of `isa`.
static enum arithmetic arithmetic_of(uint32_t isa, const struct problem *p) {
  if (!kernel_fused(isa)) return SEPARATE;
  const int half = p->f16_w && p->n > SMR_PANEL && p->k * p->taps >= 32;
  return (isa & SMR_ISA_NEON_FP16) && half ? HALF : FUSED;
}

SMR_TEST(driver_covers_every_shape) {
  static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49, 65, 100};
  uint32_t seed = 2;
  for (size_t c = 0; c < CEILINGS; c++) {
    if ((smr_cpu_isa() & ceilings[c]) != ceilings[c]) continue;
    const struct smr_f32_gemm_config *config = smr_f32_gemm_config(ceilings[c]);
    for (size_t im = 0; im < sizeof sizes / sizeof *sizes; im++) {
      for (size_t in = 0; in < sizeof sizes / sizeof *sizes; in++) {
        const uint32_t r = kernel_random(&seed);
        struct problem p = {.m = sizes[im],
                            .n = sizes[in],
                            .k = depths[r % DEPTHS],
                            .taps = 1,
                            .batch = 1 + (r >> 8) % 3,
                            .indirect = r >> 10 & 1,
                            .f16_w = r >> 11 & 1,
                            .f16_out = r >> 12 & 1,
                            .bias = r >> 13 & 1,
                            .residual = r >> 14 & 1,
                            .clamp = r >> 15 & 1};
        if (p.indirect) p.taps = 1 + (r >> 16) % 9;
        struct data data = make_data(&p, &seed);
        struct smr_f32_gemm_plan plan;
        smr_f32_gemm_plan_make(config, &data.args, &plan);
        CHECK_EQ_INT(plan.units == 0, p.m == 0 || p.n == 0);
        const size_t wanted = r % 24,
                     most = plan.units / (plan.rows.count + !plan.rows.count) * plan.rows.tiles;
        smr_f32_gemm_plan_share(&plan, wanted);
        CHECK(plan.units >= (wanted < most ? wanted / 2 : most));  // blocks have as many tiles each
        run_all(&plan, &data.args);
        const enum arithmetic how = arithmetic_of(ceilings[c], &p);
        const int vector = p.m == 1 && !p.indirect && how != HALF;
        if (!CHECK(check_output(&data.args, how, !vector))) {
          report(config->isa, &p);
        }
        free_data(&data);
      }
    }
  }
}

// Any split of the range gives the same bits as one call.
SMR_TEST(splits_change_no_bit) {
  uint32_t seed = 3;
  const struct smr_f32_gemm_config *config = smr_f32_gemm_config(smr_cpu_isa());
  const struct problem problems[] = {
      {.m = 1, .n = 100, .k = 37, .taps = 1, .batch = 2, .bias = 1},
      {.m = 301, .n = 70, .k = 600, .taps = 1, .batch = 1, .bias = 1},
      {.m = 97, .n = 130, .k = 5, .taps = 9, .batch = 3, .indirect = 1, .residual = 1},
      {.m = 301, .n = 150, .k = 45, .taps = 1, .batch = 1, .f16_w = 1},
  };
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    struct data d = make_data(&problems[i], &seed);
    struct smr_f32_gemm_plan plan;
    smr_f32_gemm_plan_make(config, &d.args, &plan);
    CHECK(plan.units > 1);
    run_all(&plan, &d.args);
    const size_t bytes = ((d.args.batch - 1) * d.args.out_batch_stride +
                          (d.args.m - 1) * d.args.out_stride + d.args.n) *
                         4;
    float *first = (float *)malloc(bytes);
    if (!CHECK(first != NULL)) return;
    memcpy(first, d.out, bytes);
    for (size_t step = 1; step <= 3; step++) {
      memset(d.out, 0xff, bytes);
      for (size_t begin = 0; begin < plan.units; begin += step) {
        const size_t end = begin + step < plan.units ? begin + step : plan.units;
        smr_f32_gemm_run(&plan, &d.args, begin, end);
      }
      CHECK_MEM(d.out, first, bytes);
    }
    free(first);
    free_data(&d);
  }
}

SMR_TEST(nan_goes_through_the_clamp) {
  const uint32_t have = smr_cpu_isa();
  for (size_t c = 0; c < CEILINGS; c++) {
    if ((have & ceilings[c]) != ceilings[c]) continue;
    for (size_t m = 1; m <= 9; m += 4) {
      uint32_t seed = 4;
      const struct problem p = {
          .m = m, .n = 20, .k = 6, .taps = 1, .batch = 1, .clamp = 1, .f16_w = m == 5};
      struct data d = make_data(&p, &seed);
      d.a[d.args.a_stride * (m - 1) + 2] = NAN;
      struct smr_f32_gemm_plan plan;
      smr_f32_gemm_plan_make(smr_f32_gemm_config(ceilings[c]), &d.args, &plan);
      run_all(&plan, &d.args);
      for (size_t i = 0; i < m; i++) {
        const float *row = (const float *)d.out + i * d.args.out_stride;
        for (size_t j = 0; j < p.n; j++) CHECK_EQ_INT(isnan(row[j]), i == m - 1);
      }
      free_data(&d);
    }
  }
}

struct post_count {
  size_t elements;
};

static void add_one(void *context, void *out, size_t rows, size_t columns, size_t out_stride,
                    smr_gemm_type out_type) {
  struct post_count *count = (struct post_count *)context;
  if (out_type != SMR_GEMM_F32) return;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j++) ((float *)out)[i * out_stride + j] += 1.0f;
  }
  count->elements += rows * columns;
}

SMR_TEST(post_sees_every_element_once) {
  uint32_t seed = 5;
  const struct problem p = {.m = 50, .n = 100, .k = 300, .taps = 1, .batch = 2};
  struct data d = make_data(&p, &seed);
  struct smr_f32_gemm_plan plan;
  struct post_count count = {0};
  d.args.post = add_one;
  d.args.post_context = &count;
  smr_f32_gemm_plan_make(smr_f32_gemm_config(smr_cpu_isa()), &d.args, &plan);
  run_all(&plan, &d.args);
  CHECK_EQ_INT(count.elements, p.m * p.n * p.batch);
  for (size_t i = 0; i < p.m; i++) {
    for (size_t j = 0; j < p.n; j++) {
      const struct expectation e = expect(&d.args, 1, i, j, SEPARATE);
      const float got = ((float *)d.out)[d.args.out_batch_stride + i * d.args.out_stride + j];
      CHECK_NEAR(got, e.exact + 1.0, e.bound + 1e-5);
    }
  }
  free_data(&d);
}

SMR_TEST(plan_names_its_kernel) {
  const struct smr_f32_gemm_config *config = smr_f32_gemm_config(SMR_ISA_NONE);
  struct smr_f32_gemm_args args = {.batch = 1, .m = 5, .n = 5, .k = 5, .taps = 1};
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(config, &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_4x16__scalar");
  args.m = 1;
  smr_f32_gemm_plan_make(config, &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_gemv__scalar");
  args.w_type = SMR_GEMM_F16;
  args.m = 2;
  smr_f32_gemm_plan_make(config, &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_4x16_f16w__scalar");
}

SMR_TEST_MAIN(RUN(every_kernel_matches_the_naive_product); RUN(bytes_give_the_bits_of_floats);
              RUN(driver_covers_every_shape); RUN(splits_change_no_bit);
              RUN(nan_goes_through_the_clamp); RUN(post_sees_every_element_once);
              RUN(plan_names_its_kernel))
