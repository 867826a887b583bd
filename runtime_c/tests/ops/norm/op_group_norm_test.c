// SPDX-License-Identifier: Apache-2.0
// group_norm and group_norm_grad against the definition, in phases cut anywhere.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }
#define EPS 0.01

struct groups {
  size_t images, pixels, channels, groups;
  float *x, *dy, *scale, *bias;
  double *unit, *dx, *dscale, *dbias;  // by the definition, scaled
};

// The elements of one group, visited `times` over: index in the tensor, channel.
static size_t group_element(const struct groups *g, size_t image, size_t group, size_t k,
                            size_t *channel) {
  const size_t count = g->channels / g->groups;
  *channel = group * count + k % count;
  return (image * g->pixels + k / count) * g->channels + *channel;
}

static void group_define(struct groups *g, size_t image, size_t group, bool scaled) {
  const size_t n = g->pixels * (g->channels / g->groups);
  double mean = 0, var = 0, plain = 0, product = 0;
  size_t c;
  for (size_t k = 0; k < n; k++)
    mean += (double)g->x[group_element(g, image, group, k, &c)] / (double)n;
  for (size_t k = 0; k < n; k++)
    var += pow((double)g->x[group_element(g, image, group, k, &c)] - mean, 2) / (double)n;
  const double r = 1 / sqrt(var + EPS);
  for (size_t k = 0; k < n; k++) {
    const size_t i = group_element(g, image, group, k, &c);
    const double dy = (double)g->dy[i], h = dy * (scaled ? (double)g->scale[c] : 1);
    g->unit[i] = ((double)g->x[i] - mean) * r;
    plain += h / (double)n, product += h * g->unit[i] / (double)n;
    g->dscale[c] += dy * g->unit[i], g->dbias[c] += dy;
  }
  for (size_t k = 0; k < n; k++) {
    const size_t i = group_element(g, image, group, k, &c);
    const double h = (double)g->dy[i] * (scaled ? (double)g->scale[c] : 1);
    g->dx[i] = r * (h - plain - g->unit[i] * product);
  }
}

static struct groups groups_make(size_t images, size_t pixels, size_t c, size_t groups,
                                 bool scaled) {
  const size_t n = images * pixels * c;
  struct groups g = {.images = images, .pixels = pixels, .channels = c, .groups = groups};
  g.x = linear_floats(n, 1), g.dy = linear_floats(n, 2);
  g.scale = linear_floats(c, 3), g.bias = linear_floats(c, 4);
  g.unit = calloc(n + 1, sizeof(double)), g.dx = calloc(n + 1, sizeof(double));
  g.dscale = calloc(c, sizeof(double)), g.dbias = calloc(c, sizeof(double));
  for (size_t i = 0; i < images * groups; i++) group_define(&g, i / groups, i % groups, scaled);
  return g;
}

static void groups_free(const struct groups *g) {
  free(g->x), free(g->dy), free(g->scale), free(g->bias);
  free(g->unit), free(g->dx), free(g->dscale), free(g->dbias);
}

static void begin(struct op_test *t, const char *op, const struct groups *g, uint8_t dtype,
                  uint32_t isa) {
  op_begin(t, op);
  t->job.isa &= isa;
  op_f32(t, "eps", (float)EPS);
  op_int(t, "groups", g->groups == g->channels ? 0 : (int64_t)g->groups);
  op_out(t, dtype, 3, DIMS((int64_t)g->images, (int64_t)g->pixels, (int64_t)g->channels));
}

static void forward_case(size_t images, size_t pixels, size_t c, size_t groups, bool affine,
                         uint8_t dtype, uint32_t isa) {
  const struct groups g = groups_make(images, pixels, c, groups, affine);
  const int64_t *dims = DIMS((int64_t)images, (int64_t)pixels, (int64_t)c);
  struct op_test t;
  begin(&t, "group_norm", &g, dtype, isa);
  linear_in(&t, dtype, 3, dims, g.x);
  if (affine) linear_in(&t, dtype, 1, dims + 2, g.scale);
  if (affine) linear_in(&t, dtype, 1, dims + 2, g.bias);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < images * pixels * c; i++) {
      const double y =
          affine ? g.unit[i] * (double)g.scale[i % c] + (double)g.bias[i % c] : g.unit[i];
      if (!CHECK_NEAR(linear_out(&t, i), y, dtype == SAMARA_FLOAT16 ? 4e-3 : 4e-6)) break;
    }
  op_end(&t);
  groups_free(&g);
}

static void grad_case(size_t images, size_t pixels, size_t c, size_t groups, bool scaled,
                      uint32_t isa) {
  const struct groups g = groups_make(images, pixels, c, groups, scaled);
  const int64_t *dims = DIMS((int64_t)images, (int64_t)pixels, (int64_t)c);
  struct op_test t;
  begin(&t, "group_norm_grad", &g, SAMARA_FLOAT32, isa);
  for (int i = 0; i < 2; i++) op_out(&t, SAMARA_FLOAT32, 1, dims + 2);
  op_in(&t, SAMARA_FLOAT32, 3, dims, g.dy);
  op_in(&t, SAMARA_FLOAT32, 3, dims, g.x);
  if (scaled) op_in(&t, SAMARA_FLOAT32, 1, dims + 2, g.scale);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const float *dscale = t.out[1].data, *dbias = t.out[2].data;
    for (size_t i = 0; i < images * pixels * c; i++)
      if (!CHECK_NEAR(linear_out(&t, i), g.dx[i], 1e-5)) break;
    for (size_t j = 0; j < c; j++) {
      CHECK_NEAR(dscale[j], g.dscale[j], 1e-5 * (1 + fabs(g.dscale[j])));
      CHECK_NEAR(dbias[j], g.dbias[j], 1e-5 * (1 + fabs(g.dbias[j])));
    }
  }
  op_end(&t);
  groups_free(&g);
}

SMR_TEST(forward) {
  forward_case(1, 1, 4, 2, true, SAMARA_FLOAT32, ~0u);
  forward_case(3, 35, 6, 2, true, SAMARA_FLOAT32, ~0u);
  forward_case(3, 35, 6, 6, false, SAMARA_FLOAT32, 0);
  forward_case(2, 300, 130, 13, true, SAMARA_FLOAT32, ~0u);
  forward_case(2, 300, 130, 1, false, SAMARA_FLOAT32, 0);
  forward_case(2, 12, 4, 2, true, SAMARA_FLOAT16, ~0u);
}

SMR_TEST(backward) {
  for (int scaled = 0; scaled < 2; scaled++) {
    const uint32_t isa = scaled ? ~0u : 0;
    grad_case(1, 1, 4, 2, scaled, isa);
    grad_case(3, 35, 6, 2, scaled, isa);
    grad_case(3, 700, 6, 6, scaled, isa);
    grad_case(2, 300, 130, 13, scaled, isa);
    grad_case(2, 300, 130, 1, scaled, isa);
  }
}

// Nothing to add up gives 0.
SMR_TEST(no_images) {
  static const float zeros[4] = {0};
  struct op_test t;
  op_begin(&t, "group_norm_grad");
  op_int(&t, "groups", 2);
  for (int i = 0; i < 2; i++) op_in(&t, SAMARA_FLOAT32, 3, DIMS(0, 5, 4), NULL);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(0, 5, 4));
  for (int i = 0; i < 2; i++) op_out(&t, SAMARA_FLOAT32, 1, DIMS(4));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    op_expect_f32(&t, 1, zeros, 4, 0);
    op_expect_f32(&t, 2, zeros, 4, 0);
  }
  op_end(&t);
}

SMR_TEST_MAIN(RUN(forward); RUN(backward); RUN(no_images))
