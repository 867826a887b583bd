// SPDX-License-Identifier: Apache-2.0
// What the tests of convolution gradients share: geometries, and the definition in double.
#ifndef SMR_TESTS_CONV_GRAD_DATA_H
#define SMR_TESTS_CONV_GRAD_DATA_H

#include "ops/matmul/linear_data.h"

struct conv_grad_case {
  uint32_t spatial;
  int64_t n, c, o, groups;
  int64_t in[3], k[3], stride[3], dilation[3], pad[6];
};

struct conv_grad_dims {
  int64_t x[5], y[5], w[5], pixels, out_pixels, taps;
};

static inline struct conv_grad_dims conv_grad_dims(const struct conv_grad_case *c) {
  const uint32_t s = c->spatial;
  struct conv_grad_dims d = {
      .x = {c->n}, .y = {c->n}, .w = {c->o}, .pixels = 1, .out_pixels = 1, .taps = 1};
  for (uint32_t i = 0; i < s; i++) {
    d.x[1 + i] = c->in[i];
    d.w[1 + i] = c->k[i];
    d.y[1 + i] =
        (c->in[i] + c->pad[i] + c->pad[s + i] - (c->k[i] - 1) * c->dilation[i] - 1) / c->stride[i] +
        1;
    d.pixels *= c->in[i];
    d.out_pixels *= d.y[1 + i];
    d.taps *= c->k[i];
  }
  d.x[1 + s] = c->c;
  d.w[1 + s] = c->c / c->groups;
  d.y[1 + s] = c->o;
  return d;
}

/// The pixel of x that output pixel `p` meets through tap `tap`, or -1.
static inline int64_t conv_grad_meets(const struct conv_grad_case *c,
                                      const struct conv_grad_dims *d, int64_t p, int64_t tap) {
  int64_t pixel = 0, step = 1;
  bool inside = true;
  for (uint32_t i = c->spatial; i-- > 0;) {
    const int64_t at = p % d->y[1 + i] * c->stride[i] - c->pad[i] + tap % c->k[i] * c->dilation[i];
    inside = inside && at >= 0 && at < c->in[i];
    pixel += at * step;
    step *= c->in[i];
    p /= d->y[1 + i];
    tap /= c->k[i];
  }
  return inside ? pixel : -1;
}

/// For every product of a weight and an input that conv adds to an output: dx += dy * w where dx is
/// not NULL, dw += dy * x where dw is not NULL.
static inline void conv_grad_define(const struct conv_grad_case *c, const struct conv_grad_dims *d,
                                    const float *dy, const float *x, const float *w, double *dx,
                                    double *dw) {
  const int64_t depth = c->c / c->groups, each = c->o / c->groups;
  for (int64_t b = 0; b < c->n; b++)
    for (int64_t p = 0; p < d->out_pixels; p++)
      for (int64_t tap = 0; tap < d->taps; tap++) {
        const int64_t pixel = conv_grad_meets(c, d, p, tap);
        if (pixel < 0) continue;
        for (int64_t o = 0; o < c->o; o++) {
          const double g = (double)dy[(b * d->out_pixels + p) * c->o + o];
          for (int64_t j = 0; j < depth; j++) {
            const int64_t at = (b * d->pixels + pixel) * c->c + o / each * depth + j;
            const int64_t weight = (o * d->taps + tap) * depth + j;
            if (dx != NULL) dx[at] += g * (double)w[weight];
            if (dw != NULL) dw[weight] += g * (double)x[at];
          }
        }
      }
}

static inline void conv_grad_attrs(struct op_test *t, const struct conv_grad_case *c) {
  op_ints(t, "strides", c->spatial, c->stride);
  op_ints(t, "dilations", c->spatial, c->dilation);
  op_ints(t, "pads", 2 * c->spatial, c->pad);
  op_int(t, "groups", c->groups);
}

static const struct conv_grad_case conv_grad_cases[] = {
    {2, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0}},
    {2, 2, 5, 7, 1, {6, 5}, {1, 1}, {1, 1}, {1, 1}, {0}},
    {2, 1, 16, 20, 1, {7, 5}, {1, 1}, {2, 2}, {1, 1}, {0}},
    {2, 2, 3, 16, 1, {8, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {2, 3, 16, 17, 1, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 1, 5, 7, 1, {9, 8}, {3, 2}, {1, 1}, {1, 1}, {0, 1, 2, 0}},
    {2, 1, 3, 9, 1, {15, 16}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {2, 1, 4, 6, 1, {9, 10}, {3, 2}, {2, 2}, {2, 2}, {1, 0, 2, 1}},
    {2, 1, 4, 6, 1, {9, 9}, {3, 3}, {1, 1}, {3, 3}, {0}},
    {2, 1, 4, 5, 1, {10, 9}, {2, 2}, {3, 3}, {1, 1}, {0}},
    {2, 1, 3, 4, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {4, 4, 4, 4}},
    {2, 1, 8, 12, 4, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 1, 4, 8, 4, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 2, 33, 33, 33, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 2, 33, 33, 33, {7, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {2, 1, 6, 6, 6, {9, 9}, {5, 3}, {2, 3}, {1, 2}, {2, 0, 1, 3}},
    {2, 1, 6, 6, 6, {9, 9}, {2, 1}, {3, 2}, {1, 1}, {0}},            // phases that meet no tap
    {2, 1, 6, 6, 6, {4, 5}, {2, 2}, {1, 1}, {1, 1}, {3, 0, 2, 4}},   // pads beyond the kernel
    {2, 2, 3, 5, 1, {70, 9}, {3, 3}, {1, 1}, {2, 1}, {2, 1, 2, 1}},  // bands of rows
    {2, 1, 7, 20, 1, {41, 12}, {4, 5}, {2, 3}, {1, 1}, {1, 4, 3, 0}},
    {2, 1, 2, 3, 1, {5, 4}, {2, 6}, {1, 1}, {1, 1}, {0, 4, 0, 5}},  // a kernel wider than x
    {1, 2, 3, 7, 1, {16}, {4}, {3}, {2}, {1, 0}},
    {1, 2, 3, 7, 1, {16}, {4}, {3}, {1}, {1, 0}},
    {1, 1, 8, 8, 8, {9}, {3}, {1}, {1}, {2, 0}},
    {3, 2, 2, 5, 1, {4, 5, 6}, {3, 2, 3}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1, 1, 1, 1}},
    {3, 1, 4, 4, 2, {5, 4, 5}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0}},
    {3, 1, 3, 3, 3, {4, 5, 4}, {3, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
    // A depth of one that meets padding alone, and one that does not.
    {3, 2, 3, 6, 1, {1, 5, 4}, {1, 1, 2}, {7, 2, 1}, {1, 1, 1}, {3, 0, 1, 0, 1, 0}},
    {3, 2, 4, 4, 4, {1, 5, 4}, {1, 3, 1}, {7, 1, 1}, {1, 1, 1}, {0, 1, 0, 3, 1, 0}},
};
enum { CONV_GRAD_CASES = sizeof conv_grad_cases / sizeof conv_grad_cases[0] };

#endif
