// SPDX-License-Identifier: Apache-2.0
// Tests every kernel of the float product against a naive one, and the driver's cuts.
#include "base/fp.h"

#include "kernels/f32_gemm/f32_gemm.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_gemm/kernels.h"
#include "kernels/kernel_data.h"

// A problem with its data. Rows of A are scattered in one buffer when indirect.
struct problem {
  size_t m, n, k, taps, batch;
  int indirect, f16_w, f16_out, bias, residual, clamp;
};

struct data {
  struct smr_f32_gemm_args args;
  float *a, *zero, *bias;
  const float **indirect;
  void *w, *out, *residual;
};

static size_t element_bytes(int f16) { return f16 ? 2 : 4; }

// Elements between rows of A, out and residual: apart, so that strides matter.
enum { A_GAP = 3, OUT_GAP = 5, RESIDUAL_GAP = 1 };

static void fill_matrix(void *p, size_t rows, size_t columns, size_t stride, int f16,
                        uint32_t *seed) {
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j++) {
      const float x = kernel_random_float(seed);
      if (f16) {
        ((uint16_t *)p)[i * stride + j] = smr_f32_to_f16(x);
      } else {
        ((float *)p)[i * stride + j] = x;
      }
    }
  }
}

static struct data make_data(const struct problem *p, uint32_t *seed) {
  struct data d = {0};
  const size_t depth = p->k * p->taps, panels = smr_panels(p->n);
  const size_t a_stride = p->k + A_GAP, out_stride = p->n + OUT_GAP;
  const size_t residual_stride = p->n + RESIDUAL_GAP;
  const size_t w_bytes = element_bytes(p->f16_w), out_bytes = element_bytes(p->f16_out);
  const size_t panel_bytes = smr_panel_stride_bytes(depth, w_bytes);
  const size_t a_rows = p->m * p->taps;
  const size_t a_batch = a_rows ? (a_rows - 1) * a_stride + p->k : 0;
  const size_t out_batch = p->m ? (p->m - 1) * out_stride + p->n : 0;
  const size_t residual_batch = p->m ? (p->m - 1) * residual_stride + p->n : 0;

  d.a = kernel_floats(a_batch * p->batch, seed);
  d.zero = (float *)kernel_alloc(p->k * 4, 4);
  for (size_t c = 0; c < p->k; c++) d.zero[c] = 0.0f;
  d.indirect = (const float **)malloc((p->m * p->taps + 1) * sizeof *d.indirect);
  if (!d.indirect) abort();
  // The buffer is built for an image `shift` bytes below the one given: the offset moves it.
  const size_t shift = 64;
  for (size_t i = 0; i < a_rows; i++) {
    const size_t from = (i * 7 + 3) % a_rows;
    const uintptr_t base = (uintptr_t)(d.a + from * a_stride) - shift;
    d.indirect[i] = kernel_random(seed) % 4 == 0 ? d.zero : (const float *)base;
  }

  // Columns beyond n are zero; between panels NaN, which no kernel may read.
  const size_t w_batch = panels ? (panels - 1) * panel_bytes + depth * 16 * w_bytes : 0;
  d.w = kernel_alloc(w_batch * p->batch, 4);
  for (size_t b = 0; b < p->batch; b++) {
    for (size_t panel = 0; panel < panels; panel++) {
      for (size_t i = 0; i < depth * 16; i++) {
        char *at = (char *)d.w + b * w_batch + panel * panel_bytes + i * w_bytes;
        const float x = panel * 16 + i % 16 < p->n ? kernel_random_float(seed) : 0.0f;
        const uint16_t h = smr_f32_to_f16(x);
        memcpy(at, p->f16_w ? (const void *)&h : (const void *)&x, w_bytes);
      }
    }
  }
  d.bias = kernel_floats(panels * 16 * p->batch, seed);
  d.out = kernel_alloc(out_batch * p->batch * out_bytes, 4);
  d.residual = kernel_alloc(residual_batch * p->batch * out_bytes, 4);
  for (size_t b = 0; b < p->batch; b++) {
    fill_matrix((char *)d.residual + b * residual_batch * out_bytes, p->m, p->n, residual_stride,
                p->f16_out, seed);
  }
  d.args = (struct smr_f32_gemm_args){
      .batch = p->batch,
      .m = p->m,
      .n = p->n,
      .k = p->k,
      .taps = p->indirect ? p->taps : 1,
      .a = p->indirect ? NULL : d.a,
      .a_stride = a_stride,
      .a_batch_stride = a_batch,
      .indirect = p->indirect ? d.indirect : NULL,
      .a_offset_bytes = shift,
      .zero = p->indirect ? d.zero : NULL,
      .w = d.w,
      .w_type = p->f16_w ? SMR_GEMM_F16 : SMR_GEMM_F32,
      .panel_stride_bytes = panel_bytes,
      .w_batch_stride_bytes = w_batch,
      .bias = p->bias ? d.bias : NULL,
      .bias_batch_stride = panels * 16,
      .out = d.out,
      .out_type = p->f16_out ? SMR_GEMM_F16 : SMR_GEMM_F32,
      .out_stride = out_stride,
      .out_batch_stride = out_batch,
      .residual = p->residual ? d.residual : NULL,
      .residual_stride = residual_stride,
      .residual_batch_stride = residual_batch,
      .lo = p->clamp ? -0.5f : -INFINITY,
      .hi = p->clamp ? 0.75f : INFINITY,
  };
  return d;
}

static void free_data(struct data *d) {
  kernel_free(d->a, 4);
  kernel_free(d->zero, 4);
  kernel_free(d->bias, 4);
  kernel_free(d->w, 4);
  kernel_free(d->out, 4);
  kernel_free(d->residual, 4);
  free((void *)d->indirect);
}

static float read_element(const void *p, size_t i, int f16) {
  return f16 ? smr_f16_to_f32(((const uint16_t *)p)[i]) : ((const float *)p)[i];
}

static float a_element(const struct smr_f32_gemm_args *g, size_t b, size_t i, size_t t, size_t c) {
  if (!g->indirect) return g->a[b * g->a_batch_stride + i * g->a_stride + c];
  const float *p = g->indirect[i * g->taps + t];
  if (p == g->zero) return p[c];
  const uintptr_t base = (uintptr_t)p + g->a_offset_bytes + b * g->a_batch_stride * 4;
  return ((const float *)base)[c];
}

// What a kernel that accumulates in order gives, to the bit; and the same in double with the bound
// on the error of any order.
struct expectation {
  float in_order;
  double exact, bound;
};

static struct expectation expect(const struct smr_f32_gemm_args *g, size_t b, size_t i, size_t j,
                                 int fused) {
  const float start = g->bias ? g->bias[b * g->bias_batch_stride + j] : 0.0f;
  const char *w = (const char *)g->w + b * g->w_batch_stride_bytes + j / 16 * g->panel_stride_bytes;
  struct expectation e = {start, (double)start, fabs((double)start)};
  for (size_t t = 0; t < g->taps; t++) {
    for (size_t c = 0; c < g->k; c++) {
      const float x = a_element(g, b, i, t, c);
      const size_t at = (t * g->k + c) * 16 + j % 16;
      const float y = read_element(w, at, g->w_type == SMR_GEMM_F16);
      e.in_order = fused ? fmaf(x, y, e.in_order) : x * y + e.in_order;
      e.exact += (double)x * (double)y;
      e.bound += fabs((double)x * (double)y);
    }
  }
  if (g->residual) {
    const size_t at = b * g->residual_batch_stride + i * g->residual_stride + j;
    const float r = read_element(g->residual, at, g->out_type == SMR_GEMM_F16);
    e.in_order += r;
    e.exact += (double)r;
    e.bound += fabs((double)r);
  }
  e.bound *= (double)(g->taps * g->k + 3) * 0x1p-24;
  if (e.in_order < g->lo) e.in_order = g->lo;
  if (e.in_order > g->hi) e.in_order = g->hi;
  if (e.exact < (double)g->lo) e.exact = (double)g->lo;
  if (e.exact > (double)g->hi) e.exact = (double)g->hi;
  if (g->out_type == SMR_GEMM_F16) {
    e.in_order = smr_f16_to_f32(smr_f32_to_f16(e.in_order));
    e.bound += fabs(e.exact) * 0x1p-11 + 0x1p-25;
  }
  return e;
}

// True if every output is right and nothing between the rows was written.
static int check_output(const struct smr_f32_gemm_args *g, int fused, int in_order) {
  const int f16 = g->out_type == SMR_GEMM_F16;
  for (size_t b = 0; b < g->batch; b++) {
    for (size_t i = 0; i < g->m; i++) {
      const size_t row = b * g->out_batch_stride + i * g->out_stride;
      for (size_t j = 0; j < g->n; j++) {
        const float got = read_element(g->out, row + j, f16);
        const struct expectation e = expect(g, b, i, j, fused);
        if (!(fabs((double)got - e.exact) <= e.bound)) return 0;
        if (in_order && !kernel_same_bits(got, e.in_order)) return 0;
      }
      for (size_t j = g->n; i + 1 < g->m && j < g->out_stride; j++) {
        if (!isnan(read_element(g->out, row + j, f16))) return 0;
      }
    }
  }
  return 1;
}

static const size_t depths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 33};
enum { DEPTHS = sizeof depths / sizeof *depths };

static void report(const char *name, const struct problem *p) {
  fprintf(stderr, "  %s m=%zu n=%zu k=%zu taps=%zu batch=%zu options %d%d%d%d%d%d\n", name, p->m,
          p->n, p->k, p->taps, p->batch, p->indirect, p->f16_w, p->f16_out, p->bias, p->residual,
          p->clamp);
}

// Every shape a micro-kernel takes, options drawn per shape; one call covers the whole matrix.
static void check_ukernel(const char *name, smr_f32_gemm_ukernel fn, size_t mr, size_t nr,
                          int f16_w, int fused, int may_indirect, int in_order) {
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
        const struct smr_f32_gemm_args *g = &data.args;
        const struct smr_f32_gemm_params params = {.k = g->k,
                                                   .taps = g->taps,
                                                   .a_stride = g->a_stride,
                                                   .a_offset_bytes = g->a_offset_bytes,
                                                   .zero = g->zero,
                                                   .panel_stride_bytes = g->panel_stride_bytes,
                                                   .out_stride = g->out_stride,
                                                   .residual_stride = g->residual_stride,
                                                   .out_type = g->out_type,
                                                   .lo = g->lo,
                                                   .hi = g->hi};
        fn(m, n, g->a, g->indirect, g->w, g->bias, g->out, g->residual, &params);
        if (!CHECK(check_output(g, fused, in_order))) report(name, &p);
        free_data(&data);
      }
    }
  }
}

SMR_TEST(every_kernel_matches_the_naive_product) {
  const uint32_t have = smr_cpu_isa();
#define CHECK_UKERNEL(name, mr, nr, f16, fused, indirect, in_order) \
  check_ukernel(#name, smr_f32_gemm_ukernel_##name, mr, nr, f16, fused, indirect, in_order)
#define SMR_UKERNEL(isa, suffix, mr, nr)                                               \
  if ((have & (isa)) == (isa)) {                                                       \
    CHECK_UKERNEL(mr##x##nr##__##suffix, mr, nr, 0, (isa) != SMR_ISA_NONE, 1, 1);      \
    CHECK_UKERNEL(mr##x##nr##_f16w__##suffix, mr, nr, 1, (isa) != SMR_ISA_NONE, 1, 1); \
    CHECK_UKERNEL(gemv__##suffix, 1, 3 * SMR_PANEL + 1, 0, 0, 0, 0);                   \
    CHECK_UKERNEL(gemv_f16w__##suffix, 1, 3 * SMR_PANEL + 1, 1, 0, 0, 0);              \
  } else {                                                                             \
    fprintf(stderr, "NOT RUN: f32_gemm " #suffix " (this CPU lacks it)\n");            \
  }
#define SMR_UKERNEL_TALL(isa, suffix, mr, nr, tall_mr)                     \
  SMR_UKERNEL(isa, suffix, mr, nr)                                         \
  if ((have & (isa)) == (isa)) {                                           \
    CHECK_UKERNEL(tall_mr##x16__##suffix, tall_mr, SMR_PANEL, 0, 1, 0, 1); \
  }
#include "kernels/f32_gemm/kernels.inc"
#undef SMR_UKERNEL
#undef SMR_UKERNEL_TALL
#undef CHECK_UKERNEL
}

static void run_all(const struct smr_f32_gemm_plan *plan, const struct smr_f32_gemm_args *args) {
  smr_f32_gemm_run(plan, args, 0, plan->units);
}

static const uint32_t ceilings[] = {SMR_ISA_NONE, SMR_ISA_AVX2, SMR_ISA_AVX2 | SMR_ISA_AVX512,
                                    SMR_ISA_NEON};
enum { CEILINGS = sizeof ceilings / sizeof *ceilings };

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
        run_all(&plan, &data.args);
        const int vector = p.m == 1 && !p.indirect;
        if (!CHECK(check_output(&data.args, ceilings[c] != SMR_ISA_NONE, !vector))) {
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
      const struct problem p = {.m = m, .n = 20, .k = 6, .taps = 1, .batch = 1, .clamp = 1};
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
      const struct expectation e = expect(&d.args, 1, i, j, 0);
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

SMR_TEST_MAIN(RUN(every_kernel_matches_the_naive_product); RUN(driver_covers_every_shape);
              RUN(splits_change_no_bit); RUN(nan_goes_through_the_clamp);
              RUN(post_sees_every_element_once); RUN(plan_names_its_kernel))
