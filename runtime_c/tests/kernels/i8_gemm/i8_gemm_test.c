// SPDX-License-Identifier: Apache-2.0
// Tests every kernel of the int8 product against a naive one, bit by bit, and the driver's cuts.
#include "base/fp.h"

#include "kernels/i8_gemm/i8_gemm.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/i8_gemm/funcs.h"
#include "kernels/kernel_data.h"

// How A, the weights and the arrays are drawn.
enum fill {
  FILL_ANY,       // all of int8, multipliers that spread the sums over the range
  FILL_EXTREMES,  // -128 and 127 only: the largest products and sums
  FILL_TIES,      // multipliers are powers of two: sums halfway between integers
  FILL_LARGE,     // start near the ends of int32: sums beyond 2^24 and sums that wrap
  FILL_STEEP,     // the same with multipliers of 1 and more, some negative: products beyond int32
  FILLS,
};

struct problem {
  size_t m, n, k, taps, batch;
  int indirect, w_zero, bias, clamp;
  enum fill fill;
  smr_i8_output to;
};

struct data {
  struct smr_i8_gemm_args args;
  int8_t *a, *pad, *plain, *w;  // plain: [batch][taps * k][n]
  int32_t *start, *w_zero;
  float *multiplier, *bias, *row_scale;
  const int8_t **indirect;
  void *out;
};

enum { A_GAP = 3, OUT_GAP = 5, SHIFT = 64 };

static int8_t draw(enum fill fill, uint32_t *seed) {
  const uint32_t r = kernel_random(seed);
  if (fill == FILL_EXTREMES) return r % 8 == 0 ? 127 : -128;
  if (r % 16 == 0) return -128;
  return (int8_t)((int)(r >> 4 & 0xff) - 128);
}

static int8_t *draw_bytes(size_t n, size_t shift, enum fill fill, uint32_t *seed) {
  int8_t *p = (int8_t *)kernel_alloc(n, shift);
  for (size_t i = 0; i < n; i++) p[i] = draw(fill, seed);
  return p;
}

static float draw_multiplier(const struct problem *p, uint32_t *seed) {
  const uint32_t r = kernel_random(seed);
  if (p->fill == FILL_TIES) return ldexpf(1.0f, -(int)(1 + r % 14));
  if (p->fill == FILL_STEEP) return ldexpf(r % 8 == 0 ? -1.0f : 1.0f, (int)(r >> 3) % 12);
  const float depth = (float)(p->k * p->taps + 1);
  return kernel_random_float(seed) / depth * (p->fill == FILL_LARGE ? 0x1p-18f : 0.1f);
}

static int32_t draw_start(const struct problem *p, uint32_t *seed) {
  const uint32_t r = kernel_random(seed) << 8 ^ kernel_random(seed);
  if (p->fill == FILL_LARGE || p->fill == FILL_STEEP)
    return r & 1 ? (int32_t)(r >> 1) : INT32_MIN + (int32_t)(r >> 12);
  return (int32_t)(r % 20001) - 10000;
}

static struct data make_data(const struct problem *p, uint32_t *seed) {
  struct data d = {0};
  const size_t depth = p->k * p->taps, panels = (p->n + 15) / 16;
  const size_t a_stride = p->k + A_GAP, out_stride = p->n + OUT_GAP;
  const size_t a_rows = p->m * p->taps;
  const size_t a_batch = a_rows ? (a_rows - 1) * a_stride + p->k : 0;
  const size_t out_batch = p->m ? (p->m - 1) * out_stride + p->n : 0;
  const size_t out_bytes = p->to == SMR_I8_TO_I8 ? 1 : 4;
  const size_t columns = panels * 16 * p->batch;

  d.a = draw_bytes(a_batch * p->batch, 3, p->fill, seed);
  d.pad = draw_bytes(p->k, 1, p->fill, seed);
  d.indirect = (const int8_t **)malloc((a_rows + 1) * sizeof *d.indirect);
  if (!d.indirect) abort();
  for (size_t i = 0; i < a_rows; i++) {
    d.indirect[i] = d.a + (i * 7 + 3) % a_rows * a_stride;
    if (kernel_random(seed) % 4 == 0) d.indirect[i] = d.pad;
  }
  // Between panels lies what no kernel may read; panels of nothing lie where the first does.
  const size_t shift = depth != 0 ? SHIFT : 0;
  const size_t panel_bytes = smr_i8_panel_stride_bytes(depth) + shift;
  const size_t w_batch = panels ? panels * panel_bytes - shift : 0;
  d.plain = draw_bytes(depth * p->n * p->batch, 0, p->fill, seed);
  d.w = (int8_t *)kernel_alloc(w_batch * p->batch, 5);
  for (size_t b = 0; b < p->batch; b++) {
    for (size_t panel = 0; panel < panels; panel++) {
      const size_t left = p->n - panel * 16;
      smr_i8_pack(depth, left < 16 ? left : 16, d.plain + b * depth * p->n + panel * 16, p->n, 1,
                  d.w + b * w_batch + panel * panel_bytes);
    }
  }
  d.start = (int32_t *)kernel_alloc(columns * 4, 4);
  d.w_zero = (int32_t *)kernel_alloc(columns * 4, 4);
  d.multiplier = (float *)kernel_alloc(columns * 4, 4);
  d.bias = kernel_floats(columns, seed);
  d.row_scale = kernel_floats(p->m * p->batch, seed);
  for (size_t i = 0; i < columns; i++) {
    d.start[i] = draw_start(p, seed);
    d.w_zero[i] = draw(FILL_ANY, seed);
    d.multiplier[i] = draw_multiplier(p, seed);
  }
  d.out = kernel_alloc(out_batch * p->batch * out_bytes, 4);
  memset(d.out, 0x55, out_batch * p->batch * out_bytes);
  const int zero = (int)(kernel_random(seed) % 256) - 128;
  d.args = (struct smr_i8_gemm_args){
      .batch = p->batch,
      .m = p->m,
      .n = p->n,
      .k = p->k,
      .taps = p->taps,
      .a = p->indirect ? NULL : d.a,
      .a_stride = a_stride,
      .a_batch_stride = a_batch,
      .indirect = p->indirect ? d.indirect : NULL,
      .pad = p->indirect ? d.pad : NULL,
      .w = d.w,
      .panel_stride_bytes = panel_bytes,
      .w_batch_stride_bytes = w_batch,
      .columns = {d.start, p->w_zero ? d.w_zero : NULL,
                  p->to == SMR_I8_TO_I32 ? NULL : d.multiplier,
                  p->to == SMR_I8_TO_F32 && p->bias ? d.bias : NULL},
      .columns_batch_stride = panels * 16,
      .row_scale = p->to == SMR_I8_TO_F32 ? d.row_scale : NULL,
      .row_scale_batch_stride = p->m,
      .to = p->to,
      .out = d.out,
      .out_stride = out_stride,
      .out_batch_stride = out_batch,
      .zero = zero,
      .lo = p->clamp ? -100 : -128,
      .hi = p->clamp ? 90 : 127,
      .f32_lo = p->clamp ? -0.5f : -INFINITY,
      .f32_hi = p->clamp ? 0.25f : INFINITY,
  };
  return d;
}

static void free_data(struct data *d) {
  kernel_free(d->a, 3);
  kernel_free(d->pad, 1);
  kernel_free(d->plain, 0);
  kernel_free(d->w, 5);
  kernel_free(d->start, 4);
  kernel_free(d->w_zero, 4);
  kernel_free(d->multiplier, 4);
  kernel_free(d->bias, 4);
  kernel_free(d->row_scale, 4);
  kernel_free(d->out, 4);
  free((void *)d->indirect);
}

static int a_element(const struct smr_i8_gemm_args *g, size_t b, size_t i, size_t t, size_t c) {
  if (!g->indirect) return g->a[b * g->a_batch_stride + i * g->a_stride + c];
  const int8_t *p = g->indirect[i * g->taps + t];
  return p == g->pad ? p[c] : p[b * g->a_batch_stride + c];
}

// acc of the contract, from the plain weights and in 64 bits until the end.
static int32_t expect_acc(const struct data *d, int32_t a_offset, size_t b, size_t i, size_t j) {
  const struct smr_i8_gemm_args *g = &d->args;
  const size_t column = b * g->columns_batch_stride + j;
  const int64_t w_zero = g->columns.w_zero ? g->columns.w_zero[column] : 0;
  int64_t acc = g->columns.start[column];
  for (size_t t = 0; t < g->taps; t++) {
    for (size_t c = 0; c < g->k; c++) {
      const int64_t x = a_element(g, b, i, t, c) + a_offset;
      const int64_t y = d->plain[(b * g->taps * g->k + t * g->k + c) * g->n + j];
      acc += x * (y - w_zero);
    }
  }
  const uint32_t wrapped = (uint32_t)(uint64_t)acc;
  int32_t result;
  memcpy(&result, &wrapped, sizeof result);
  return result;
}

// Half to even, by looking at the fraction.
static int round_to_int(float v) {
  const float down = floorf(v);
  const float rest = v - down;
  const int whole = (int)down;
  return rest > 0.5f || (rest == 0.5f && whole % 2 != 0) ? whole + 1 : whole;
}

static int check_element(const struct data *d, int32_t a_offset, size_t b, size_t i, size_t j) {
  const struct smr_i8_gemm_args *g = &d->args;
  const size_t at = b * g->out_batch_stride + i * g->out_stride + j;
  const size_t column = b * g->columns_batch_stride + j;
  const int32_t acc = expect_acc(d, a_offset, b, i, j);
  if (g->to == SMR_I8_TO_I32) return ((const int32_t *)g->out)[at] == acc;
  if (g->to == SMR_I8_TO_I8) {
    float v = (float)acc * g->columns.multiplier[column];
    if (v < (float)(g->lo - g->zero)) v = (float)(g->lo - g->zero);
    if (v > (float)(g->hi - g->zero)) v = (float)(g->hi - g->zero);
    return ((const int8_t *)g->out)[at] == round_to_int(v) + g->zero;
  }
  const float scale =
      g->row_scale[b * g->row_scale_batch_stride + i] * g->columns.multiplier[column];
  float v = (float)acc * scale;
  if (g->columns.bias) v += g->columns.bias[column];
  if (v < g->f32_lo) v = g->f32_lo;
  if (v > g->f32_hi) v = g->f32_hi;
  return kernel_same_bits(((const float *)g->out)[at], v);
}

// True if every output is right and nothing between the rows was written.
static int check_output(const struct data *d, int32_t a_offset) {
  const struct smr_i8_gemm_args *g = &d->args;
  const size_t out_bytes = g->to == SMR_I8_TO_I8 ? 1 : 4;
  for (size_t b = 0; b < g->batch; b++) {
    for (size_t i = 0; i < g->m; i++) {
      for (size_t j = 0; j < g->n; j++) {
        if (!check_element(d, a_offset, b, i, j)) return 0;
      }
      const size_t row = b * g->out_batch_stride + i * g->out_stride;
      const unsigned char *gap = (const unsigned char *)g->out + (row + g->n) * out_bytes;
      for (size_t j = 0; i + 1 < g->m && j < (g->out_stride - g->n) * out_bytes; j++) {
        if (gap[j] != 0x55) return 0;
      }
    }
  }
  return 1;
}

static void report(const char *name, const struct problem *p) {
  fprintf(stderr, "  %s m=%zu n=%zu k=%zu taps=%zu batch=%zu options %d%d%d%d fill %d to %d\n",
          name, p->m, p->n, p->k, p->taps, p->batch, p->indirect, p->w_zero, p->bias, p->clamp,
          (int)p->fill, (int)p->to);
}

// Everything but the sizes, from one random number.
static struct problem draw_problem(size_t m, size_t n, size_t k, uint32_t r) {
  struct problem p = {.m = m,
                      .n = n,
                      .k = k,
                      .taps = 1,
                      .batch = 1,
                      .indirect = r & 1,
                      .w_zero = (r >> 1 & 3) == 0,
                      .bias = r >> 3 & 1,
                      .clamp = r >> 4 & 1,
                      .fill = (enum fill)((r >> 5) % FILLS),
                      .to = (smr_i8_output)((r >> 7) % 3)};
  if (p.indirect) {
    p.k = (k + 3) / 4 * 4;
    p.taps = 1 + (r >> 9) % 4;
  }
  return p;
}

static void check_call(const char *name, const struct smr_i8_gemm_config *config, int vector,
                       const struct problem *p, uint32_t *seed) {
  struct data data = make_data(p, seed);
  const struct smr_i8_gemm_args *g = &data.args;
  const struct smr_i8_gemm_params params = {.k = g->k,
                                            .taps = g->taps,
                                            .a_stride = g->a_stride,
                                            .pad = g->pad,
                                            .panel_stride_bytes = g->panel_stride_bytes,
                                            .out_stride = g->out_stride,
                                            .to = g->to,
                                            .zero = g->zero,
                                            .lo = g->lo,
                                            .hi = g->hi,
                                            .f32_lo = g->f32_lo,
                                            .f32_hi = g->f32_hi};
  if (vector)
    smr_i8_gemm_call_row(config, p->n, g->a, g->w, &g->columns, g->row_scale, g->out, &params);
  else
    smr_i8_gemm_call(config, p->m, p->n, g->a, g->indirect, g->w, &g->columns, g->row_scale, g->out,
                     &params);
  if (!CHECK(check_output(&data, config->a_offset))) report(name, p);
  free_data(&data);
}

// Every depth up to 70 with drawn sizes, every size with a drawn depth, and depths around the
// length of what a call stages.
static void check_calls(const char *name, const struct smr_i8_gemm_config *config, int vector) {
  static const size_t deep[] = {1023, 1024, 1025, 2047, 2048, 2052, 4100, 17000};
  const size_t mr = vector ? 1 : config->mr, nr = vector ? 2 * config->nr + 17 : config->nr;
  uint32_t seed = 1;
  for (size_t k = 0; k <= 70; k++) {
    for (size_t repeat = 0; repeat < 12; repeat++) {
      const uint32_t r = kernel_random(&seed), size = kernel_random(&seed);
      struct problem p = draw_problem(1 + size % mr, 1 + (size >> 8) % nr, k, vector ? r & ~1u : r);
      check_call(name, config, vector, &p, &seed);
    }
  }
  for (size_t m = 1; m <= mr; m++) {
    for (size_t n = 1; n <= nr; n += 1 + n % 3) {
      const uint32_t r = kernel_random(&seed);
      struct problem p = draw_problem(m, n, 1 + (r >> 12) % 40, vector ? r & ~1u : r);
      check_call(name, config, vector, &p, &seed);
    }
  }
  for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
    const uint32_t r = kernel_random(&seed);
    struct problem p = draw_problem(mr < 3 ? mr : 3, 18, deep[i], vector ? r & ~1u : r);
    check_call(name, config, vector, &p, &seed);
  }
}

SMR_TEST(every_kernel_matches_the_naive_product) {
#define SMR_UKERNEL(bit, suffix, lanes)                           \
  if (KERNEL_RUNS(bit, suffix)) {                                 \
    const struct smr_i8_gemm_config *c = smr_i8_gemm_config(bit); \
    CHECK_STR(c->isa, #suffix);                                   \
    check_calls(c->names[0], c, 0);                               \
    check_calls(c->names[1], c, 1);                               \
  }
#include "kernels/i8_gemm/kernels.inc"
#undef SMR_UKERNEL
}

// The masks that select each row of kernels.inc on this CPU, from all instruction sets down.
static size_t list_configs(const struct smr_i8_gemm_config **configs) {
  size_t n = 0;
  const uint32_t have = smr_cpu_isa();
#define SMR_UKERNEL(isa, suffix, lanes) \
  if ((have & (isa)) == (isa)) configs[n++] = smr_i8_gemm_config(isa);
#include "kernels/i8_gemm/kernels.inc"
#undef SMR_UKERNEL
  return n;
}

enum { MAX_CONFIGS = 16 };

SMR_TEST(driver_covers_every_shape) {
  static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49, 65, 100, 130};
  const struct smr_i8_gemm_config *configs[MAX_CONFIGS];
  const size_t n_configs = list_configs(configs);
  uint32_t seed = 2;
  for (size_t c = 0; c < n_configs; c++) {
    for (size_t im = 0; im < sizeof sizes / sizeof *sizes; im++) {
      for (size_t in = 0; in < sizeof sizes / sizeof *sizes; in++) {
        const uint32_t r = kernel_random(&seed);
        struct problem p = draw_problem(sizes[im], sizes[in], (r >> 12) % 37, r);
        p.batch = 1 + (r >> 18) % 3;
        struct data d = make_data(&p, &seed);
        struct smr_i8_gemm_plan plan;
        smr_i8_gemm_plan_make(configs[c], &d.args, &plan);
        CHECK_EQ_INT(plan.units == 0, p.m == 0 || p.n == 0);
        const size_t wanted = r % 24,
                     most = plan.units / (plan.rows.count + !plan.rows.count) * plan.rows.tiles;
        smr_i8_gemm_plan_share(&plan, wanted);
        CHECK(plan.units >= (wanted < most ? wanted / 2 : most));  // blocks have as many tiles each
        smr_i8_gemm_run(&plan, &d.args, 0, plan.units);
        if (!CHECK(check_output(&d, configs[c]->a_offset))) report(configs[c]->isa, &p);
        free_data(&d);
      }
    }
  }
}

// Any split of the range gives the same bytes as one call, and leaves none out.
SMR_TEST(splits_change_no_bit) {
  uint32_t seed = 3;
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(smr_cpu_isa());
  const struct problem problems[] = {
      {.m = 1, .n = 200, .k = 37, .taps = 1, .batch = 2, .to = SMR_I8_TO_I32},
      {.m = 301, .n = 150, .k = 600, .taps = 1, .batch = 1},
      {.m = 97, .n = 130, .k = 8, .taps = 9, .batch = 3, .indirect = 1, .to = SMR_I8_TO_F32},
  };
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    struct data d = make_data(&problems[i], &seed);
    const struct smr_i8_gemm_args *g = &d.args;
    struct smr_i8_gemm_plan plan;
    smr_i8_gemm_plan_make(config, g, &plan);
    CHECK(plan.units > 1);
    smr_i8_gemm_run(&plan, g, 0, plan.units);
    const size_t bytes =
        ((g->batch - 1) * g->out_batch_stride + (g->m - 1) * g->out_stride + g->n) *
        (g->to == SMR_I8_TO_I8 ? 1 : 4);
    char *first = (char *)malloc(bytes);
    REQUIRE(first != NULL);
    memcpy(first, d.out, bytes);
    for (size_t step = 1; step <= 3; step++) {
      memset(d.out, 0x55, bytes);
      for (size_t begin = 0; begin < plan.units; begin += step) {
        const size_t end = begin + step < plan.units ? begin + step : plan.units;
        smr_i8_gemm_run(&plan, g, begin, end);
      }
      CHECK_MEM(d.out, first, bytes);
    }
    free(first);
    free_data(&d);
  }
}

// Windows are rows through pointers that need no pointers, in the kernels' own form or not; with
// lines that tiles cross, and one and several columns groups.
SMR_TEST(windows_are_pointers) {
  static const struct problem problems[] = {
      {.m = 45, .n = 16, .k = 48, .taps = 3, .batch = 1, .indirect = 1},
      {.m = 45, .n = 8, .k = 4, .taps = 5, .batch = 1, .indirect = 1, .clamp = 1},
      {.m = 19, .n = 130, .k = 640, .taps = 4, .batch = 2, .indirect = 1, .to = SMR_I8_TO_I32},
      {.m = 7, .n = 33, .k = 20, .taps = 9, .batch = 3, .indirect = 1, .w_zero = 1},
      {.m = 13, .n = 20, .k = 64, .taps = 16, .batch = 2, .indirect = 1, .w_zero = 1},
      {.m = 9, .n = 96, .k = 60, .taps = 15, .batch = 1, .indirect = 1, .to = SMR_I8_TO_F32},
      {.m = 1, .n = 47, .k = 36, .taps = 2, .batch = 1, .indirect = 1},
  };
  const struct smr_i8_gemm_config *configs[MAX_CONFIGS];
  const size_t n_configs = list_configs(configs);
  uint32_t seed = 5;
  for (size_t c = 0; c < n_configs; c++) {
    for (size_t i = 0; i < 2 * (sizeof problems / sizeof *problems); i++) {
      const struct problem *p = &problems[i / 2];
      struct data d = make_data(p, &seed);
      struct smr_i8_gemm_args *g = &d.args;
      const size_t line = 9, step = p->k / 2, line_bytes = line * step + 5, batch_bytes = 3;
      const size_t bytes =
          p->m / line * line_bytes + line * step + p->taps * (p->k + 1) + p->batch * batch_bytes;
      int8_t *plain = draw_bytes(bytes, 3, p->fill, &seed);
      int8_t *own = malloc(bytes + 64);
      size_t taps[16];
      REQUIRE(own != NULL);
      for (size_t t = 0; t < p->taps; t++) taps[t] = t * (p->k + 1);
      for (size_t row = 0; row < p->m * p->taps; row++) {
        const size_t m = row / p->taps;
        d.indirect[row] = plain + m / line * line_bytes + m % line * step + taps[row % p->taps];
      }
      g->a_batch_stride = batch_bytes;
      const bool native = smr_i8_gemm_native(configs[c], p->k, p->w_zero) && i % 2;
      if (native)
        smr_i8_gemm_copy(configs[c], plain, bytes, own);
      else
        memcpy(own, plain, bytes);
      const struct smr_i8_gemm_windows windows = {line, line_bytes, step, taps, native};
      const int8_t *const *pointers = g->indirect;
      g->indirect = NULL;
      g->windows = &windows;
      g->a = own;
      struct smr_i8_gemm_plan plan;
      smr_i8_gemm_plan_make(configs[c], g, &plan);
      smr_i8_gemm_run(&plan, g, 0, plan.units);
      g->indirect = pointers;
      if (!CHECK(check_output(&d, configs[c]->a_offset))) report(configs[c]->isa, p);
      kernel_free(plain, 3);
      free(own);
      free_data(&d);
    }
  }
}

// All kernels give the bits of the portable one; shapes too large for the naive product.
SMR_TEST(instruction_sets_agree) {
  const struct smr_i8_gemm_config *configs[MAX_CONFIGS];
  const size_t n_configs = list_configs(configs);
  uint32_t seed = 4;
  for (int to = 0; to < 3; to++) {
    const struct problem p = {.m = 70,
                              .n = 75,
                              .k = 2300,
                              .taps = 1,
                              .batch = 1,
                              .w_zero = to == 1,
                              .fill = FILL_EXTREMES,
                              .to = (smr_i8_output)to};
    struct data d = make_data(&p, &seed);
    const size_t bytes = ((p.m - 1) * d.args.out_stride + p.n) * (to == 0 ? 1 : 4);
    const size_t columns = d.args.columns_batch_stride;
    char *first = (char *)malloc(bytes);
    int32_t *start = (int32_t *)malloc(columns * sizeof *start);
    REQUIRE(first != NULL && start != NULL);
    d.args.columns.start = start;
    for (size_t c = n_configs; c-- > 0;) {
      // Panels without the gaps of make_data, as smr_i8_gemm_start takes them.
      int8_t *panels = (int8_t *)malloc(columns / 16 * smr_i8_panel_stride_bytes(p.k));
      REQUIRE(panels != NULL);
      smr_i8_pack(p.k, p.n, d.plain, p.n, 1, panels);
      smr_i8_gemm_start(configs[c], p.k, p.n, panels, d.start, 11, d.args.columns.w_zero, start);
      d.args.w = panels;
      d.args.panel_stride_bytes = smr_i8_panel_stride_bytes(p.k);
      memset(d.out, 0x55, bytes);
      struct smr_i8_gemm_plan plan;
      smr_i8_gemm_plan_make(configs[c], &d.args, &plan);
      smr_i8_gemm_run(&plan, &d.args, 0, plan.units);
      if (c + 1 == n_configs) memcpy(first, d.out, bytes);
      if (!CHECK_MEM(d.out, first, bytes)) report(configs[c]->isa, &p);
      free(panels);
    }
    free(first);
    free(start);
    free_data(&d);
  }
}

SMR_TEST(nan_goes_through_the_clamp) {
  const struct smr_i8_gemm_config *configs[MAX_CONFIGS];
  const size_t n_configs = list_configs(configs);
  uint32_t seed = 7;
  for (size_t c = 0; c < n_configs; c++) {
    const struct problem p = {
        .m = 5, .n = 21, .k = 6, .taps = 1, .batch = 1, .bias = 1, .clamp = 1, .to = SMR_I8_TO_F32};
    struct data d = make_data(&p, &seed);
    d.bias[3] = d.bias[20] = NAN;
    struct smr_i8_gemm_plan plan;
    smr_i8_gemm_plan_make(configs[c], &d.args, &plan);
    smr_i8_gemm_run(&plan, &d.args, 0, plan.units);
    for (size_t i = 0; i < p.m; i++) {
      const float *row = (const float *)d.out + i * d.args.out_stride;
      for (size_t j = 0; j < p.n; j++) CHECK_EQ_INT(isnan(row[j]), j == 3 || j == 20);
    }
    free_data(&d);
  }
}

// A multiplier that makes no sense gives bytes within the bounds all the same.
SMR_TEST(nan_multipliers_stay_in_bounds) {
  const struct smr_i8_gemm_config *configs[MAX_CONFIGS];
  const size_t n_configs = list_configs(configs);
  uint32_t seed = 8;
  for (size_t c = 0; c < n_configs; c++) {
    const struct problem p = {.m = 5, .n = 21, .k = 6, .taps = 1, .batch = 1, .clamp = 1};
    struct data d = make_data(&p, &seed);
    d.multiplier[3] = NAN;
    d.multiplier[4] = INFINITY;
    d.args.zero = 0;
    struct smr_i8_gemm_plan plan;
    smr_i8_gemm_plan_make(configs[c], &d.args, &plan);
    smr_i8_gemm_run(&plan, &d.args, 0, plan.units);
    for (size_t i = 0; i < p.m; i++) {
      const int8_t *row = (const int8_t *)d.out + i * d.args.out_stride;
      for (size_t j = 0; j < p.n; j++) CHECK(row[j] >= d.args.lo && row[j] <= d.args.hi);
    }
    free_data(&d);
  }
}

SMR_TEST(packing_takes_any_strides) {
  static const size_t rows[] = {1, 3, 4, 5, 8, 17}, columns[] = {1, 4, 15, 16, 17, 35};
  uint32_t seed = 5;
  for (size_t i = 0; i < 6; i++) {
    for (size_t j = 0; j < 6; j++) {
      for (int way = 0; way < 3; way++) {
        const size_t r = rows[i], n = columns[j];
        const size_t row_stride = way == 0 ? n : way == 1 ? 1 : 2 * n;
        const size_t column_stride = way == 0 ? 1 : way == 1 ? r : 2;
        const size_t bytes = (n + 15) / 16 * smr_i8_panel_stride_bytes(r);
        int8_t *w =
            draw_bytes((r - 1) * row_stride + (n - 1) * column_stride + 1, 1, FILL_ANY, &seed);
        int8_t *panels = (int8_t *)kernel_alloc(bytes, 0);
        smr_i8_pack(r, n, w, row_stride, column_stride, panels);
        int right = 1;
        for (size_t at = 0; at < bytes; at++) {
          const size_t panel = at / smr_i8_panel_stride_bytes(r);
          const size_t in = at % smr_i8_panel_stride_bytes(r);
          const size_t row = in / 64 * 4 + in % 4, column = panel * 16 + in % 64 / 4;
          const int8_t expected =
              row < r && column < n ? w[row * row_stride + column * column_stride] : 0;
          right &= panels[at] == expected;
        }
        CHECK(right);
        kernel_free(w, 1);
        kernel_free(panels, 0);
      }
    }
  }
}

// With smr_i8_gemm_start a product gives bias + sum (A - a_zero) * (W - w_zero).
SMR_TEST(start_takes_the_zero_points_away) {
  const struct smr_i8_gemm_config *configs[MAX_CONFIGS];
  const size_t n_configs = list_configs(configs);
  uint32_t seed = 6;
  for (size_t c = 0; c < n_configs; c++) {
    for (size_t k = 1; k <= 21; k += 4) {
      const struct problem p = {
          .m = 3, .n = 21, .k = k, .taps = 1, .batch = 1, .w_zero = 1, .to = SMR_I8_TO_I32};
      struct data d = make_data(&p, &seed);
      int8_t *panels = (int8_t *)kernel_alloc(2 * smr_i8_panel_stride_bytes(k), 0);
      int32_t *bias = (int32_t *)kernel_alloc(p.n * 4, 4), *w_zero = NULL;
      int32_t *start = (int32_t *)kernel_alloc(32 * 4, 4);
      w_zero = (int32_t *)kernel_alloc(p.n * 4, 4);
      memcpy(w_zero, d.w_zero, p.n * 4);
      for (size_t j = 0; j < p.n; j++) bias[j] = draw_start(&p, &seed);
      const int a_zero = draw(FILL_ANY, &seed);
      smr_i8_pack(k, p.n, d.plain, p.n, 1, panels);
      smr_i8_gemm_start(configs[c], k, p.n, panels, bias, a_zero, w_zero, start);
      for (size_t j = p.n; j < 32; j++) CHECK_EQ_INT(start[j], 0);
      d.args.w = panels;
      d.args.panel_stride_bytes = smr_i8_panel_stride_bytes(k);
      d.args.columns.start = start;
      struct smr_i8_gemm_plan plan;
      smr_i8_gemm_plan_make(configs[c], &d.args, &plan);
      smr_i8_gemm_run(&plan, &d.args, 0, plan.units);
      for (size_t i = 0; i < p.m; i++) {
        for (size_t j = 0; j < p.n; j++) {
          int32_t expected = bias[j];
          for (size_t r = 0; r < k; r++) {
            expected +=
                (d.a[i * d.args.a_stride + r] - a_zero) * (d.plain[r * p.n + j] - d.w_zero[j]);
          }
          CHECK_EQ_INT(((int32_t *)d.out)[i * d.args.out_stride + j], expected);
        }
      }
      // Neither of the two: the start is what undoes the offset.
      smr_i8_gemm_start(configs[c], k, p.n, panels, NULL, -configs[c]->a_offset, NULL, start);
      for (size_t j = 0; j < 32; j++) CHECK_EQ_INT(start[j], 0);
      kernel_free(panels, 0);
      kernel_free(bias, 4);
      kernel_free(w_zero, 4);
      kernel_free(start, 4);
      free_data(&d);
    }
  }
}

SMR_TEST(plan_names_its_kernel) {
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(SMR_ISA_NONE);
  const struct smr_i8_gemm_args tiles = {.batch = 1, .m = 5, .n = 5, .k = 5, .taps = 1};
  const struct smr_i8_gemm_args vector = {.batch = 1, .m = 1, .n = 5, .k = 5, .taps = 1};
  struct smr_i8_gemm_plan plan;
  smr_i8_gemm_plan_make(config, &tiles, &plan);
  CHECK_STR(plan.kernel, "i8_gemm_4x32__scalar");
  smr_i8_gemm_plan_make(config, &vector, &plan);
  CHECK_STR(plan.kernel, "i8_gemm_gemv__scalar");
}

SMR_TEST_MAIN(RUN(every_kernel_matches_the_naive_product); RUN(driver_covers_every_shape);
              RUN(splits_change_no_bit); RUN(windows_are_pointers); RUN(instruction_sets_agree);
              RUN(nan_goes_through_the_clamp); RUN(nan_multipliers_stay_in_bounds);
              RUN(packing_takes_any_strides); RUN(start_takes_the_zero_points_away);
              RUN(plan_names_its_kernel))
