// SPDX-License-Identifier: Apache-2.0
// Problems of the float product: their data, and what kernels must make of them.
#ifndef SMR_TESTS_F32_GEMM_DATA_H
#define SMR_TESTS_F32_GEMM_DATA_H

#include <math.h>
#include <stdio.h>

#include "kernels/f32_gemm/f32_gemm.h"
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

static inline size_t element_bytes(int f16) { return f16 ? 2 : 4; }

// Elements between rows of A, out and residual: apart, so that strides matter.
enum { A_GAP = 3, OUT_GAP = 5, RESIDUAL_GAP = 1 };

static inline void fill_matrix(void *p, size_t rows, size_t columns, size_t stride, int f16,
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

static inline struct data make_data(const struct problem *p, uint32_t *seed) {
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
  // Pointers are `shift` bytes too low: the kernel must add the offset.
  const size_t shift = 64;
  for (size_t i = 0; i < a_rows; i++) {
    const size_t from = (i * 7 + 3) % a_rows;
    const uintptr_t base = (uintptr_t)(d.a + from * a_stride) - shift;
    d.indirect[i] = kernel_random(seed) % 4 == 0 ? d.zero : (const float *)base;
  }

  // Columns beyond n are zero; between panels NaN, which no kernel may read.
  const size_t w_batch = panels ? (panels - 1) * panel_bytes + depth * 16 * w_bytes : 0;
  d.w = kernel_alloc(w_batch * p->batch, 4);
  for (size_t b = 0; b < p->batch; b++)
    kernel_fill_panels((char *)d.w + b * w_batch, p->n, depth, panel_bytes, p->f16_w, seed);
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

static inline void free_data(struct data *d) {
  kernel_free(d->a, 4);
  kernel_free(d->zero, 4);
  kernel_free(d->bias, 4);
  kernel_free(d->w, 4);
  kernel_free(d->out, 4);
  kernel_free(d->residual, 4);
  free((void *)d->indirect);
}

static inline float read_element(const void *p, size_t i, int f16) {
  return f16 ? smr_f16_to_f32(((const uint16_t *)p)[i]) : ((const float *)p)[i];
}

static inline float a_element(const struct smr_f32_gemm_args *g, size_t b, size_t i, size_t t,
                              size_t c) {
  if (!g->indirect) return g->a[b * g->a_batch_stride + i * g->a_stride + c];
  const float *p = g->indirect[i * g->taps + t];
  if (p == g->zero) return p[c];
  const uintptr_t base = (uintptr_t)p + g->a_offset_bytes + b * g->a_batch_stride * 4;
  return ((const float *)base)[c];
}

// How a kernel multiplies and adds.
enum arithmetic { SEPARATE, FUSED, HALF };

// The float16 nearest to a sum or product, ties to even, in the range that does not overflow.
static inline double to_half(double x) {
  int exponent;
  frexp(x, &exponent);
  const double unit = ldexp(1.0, (exponent > -13 ? exponent : -13) - 11);
  return nearbyint(x / unit) * unit;
}

enum { HALF_STEPS = 32 };  // of a chunk of float16 sums

// The terms of one chunk of float16 arithmetic.
struct half_chunk {
  double x[HALF_STEPS], y[HALF_STEPS], most;
  size_t n;
};

static inline void half_chunk_end(struct half_chunk *chunk, float *sum, double *bound) {
  int exponent;
  frexp(chunk->most, &exponent);
  const double unit = chunk->most > 0 ? ldexp(1.0, exponent - 4) : 0x1p-126;  // [8, 16) times that
  double half = 0, size = 0, small = 0;
  for (size_t i = 0; i < chunk->n; i++) {
    half = to_half(to_half(chunk->x[i] / unit) * chunk->y[i] + half);
    size += fabs(chunk->x[i] * chunk->y[i]);
    small += (1 + fabs(chunk->y[i])) * 0x1p-25 * unit;
  }
  // One rounding of x, up to n of a product's sum; what is below 2^-14 has fewer digits.
  *bound += (pow(1 + 0x1p-11, (double)chunk->n + 1) - 1) * size + 1.02 * small;
  *sum = fmaf((float)half, (float)unit, *sum);
  *chunk = (struct half_chunk){.n = 0};
}

// The bits of a kernel that accumulates in order; the sum in double, and the largest error of any
// other order.
struct expectation {
  float in_order;
  double exact, bound;
};

static inline struct expectation expect(const struct smr_f32_gemm_args *g, size_t b, size_t i,
                                        size_t j, enum arithmetic how) {
  const float start = g->bias ? g->bias[b * g->bias_batch_stride + j] : 0.0f;
  const char *w = (const char *)g->w + b * g->w_batch_stride_bytes + j / 16 * g->panel_stride_bytes;
  struct expectation e = {start, (double)start, fabs((double)start)};
  struct half_chunk chunk = {.n = 0};
  double half_bound = 0;
  for (size_t t = 0; t < g->taps; t++) {
    for (size_t c = 0; c < g->k; c++) {
      const float x = a_element(g, b, i, t, c);
      const size_t at = (t * g->k + c) * 16 + j % 16;
      const float y = read_element(w, at, g->w_type == SMR_GEMM_F16);
      if (how == HALF) {
        chunk.x[chunk.n] = (double)x;
        chunk.y[chunk.n++] = (double)y;
        chunk.most = fmax(chunk.most, fabs((double)x));
        if (chunk.n == HALF_STEPS) half_chunk_end(&chunk, &e.in_order, &half_bound);
      } else {
        e.in_order = how == FUSED ? fmaf(x, y, e.in_order) : x * y + e.in_order;
      }
      e.exact += (double)x * (double)y;
      e.bound += fabs((double)x * (double)y);
    }
  }
  if (chunk.n > 0) half_chunk_end(&chunk, &e.in_order, &half_bound);
  if (g->residual) {
    const size_t at = b * g->residual_batch_stride + i * g->residual_stride + j;
    const float r = read_element(g->residual, at, g->out_type == SMR_GEMM_F16);
    e.in_order += r;
    e.exact += (double)r;
    e.bound += fabs((double)r);
  }
  e.bound = e.bound * (double)(g->taps * g->k + 3) * 0x1p-24 + half_bound;
  if (e.in_order < g->lo) e.in_order = g->lo;
  if (e.in_order > g->hi) e.in_order = g->hi;
  if (e.exact < (double)g->lo) e.exact = (double)g->lo;
  if (e.exact > (double)g->hi) e.exact = (double)g->hi;
  if (g->out_type == SMR_GEMM_F16) {
    e.in_order = smr_f16_to_f32(smr_f32_to_f16(e.in_order));
    e.bound += (fabs(e.exact) + half_bound) * 0x1p-11 + 0x1p-25;
  }
  return e;
}

// True if every output is right and nothing between the rows was written.
static inline int check_output(const struct smr_f32_gemm_args *g, enum arithmetic how,
                               int in_order) {
  const int f16 = g->out_type == SMR_GEMM_F16;
  for (size_t b = 0; b < g->batch; b++) {
    for (size_t i = 0; i < g->m; i++) {
      const size_t row = b * g->out_batch_stride + i * g->out_stride;
      for (size_t j = 0; j < g->n; j++) {
        const float got = read_element(g->out, row + j, f16);
        const struct expectation e = expect(g, b, i, j, how);
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

static inline void report(const char *name, const struct problem *p) {
  fprintf(stderr, "  %s m=%zu n=%zu k=%zu taps=%zu batch=%zu options %d%d%d%d%d%d\n", name, p->m,
          p->n, p->k, p->taps, p->batch, p->indirect, p->f16_w, p->f16_out, p->bias, p->residual,
          p->clamp);
}

static inline void run_all(const struct smr_f32_gemm_plan *plan,
                           const struct smr_f32_gemm_args *args) {
  smr_f32_gemm_run(plan, args, 0, plan->units);
}

// One tile of all rows and columns.
static inline void run_tile(smr_f32_gemm_ukernel fn, const struct smr_f32_gemm_args *g) {
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
  fn(g->m, g->n, g->a, g->indirect, g->w, g->bias, g->out, g->residual, &params);
}

#endif
