// SPDX-License-Identifier: Apache-2.0
// Optimiser kernels of every ISA this CPU has, against the formulas in double, and in place.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_optim/f32_optim.h"

#include <math.h>

enum { OPTIM_ARRAYS = 5, OPTIM_RESULTS = 4 };

struct optim_data {
  size_t n;
  float *in[OPTIM_ARRAYS];  // p, g and up to three states
  float *out[OPTIM_RESULTS];
};

static struct optim_data make(size_t n) {
  struct optim_data d = {.n = n};
  uint32_t seed = (uint32_t)n + 3;
  for (int i = 0; i < OPTIM_ARRAYS; i++) d.in[i] = kernel_floats(n, &seed);
  for (int i = 0; i < OPTIM_RESULTS; i++) d.out[i] = (float *)kernel_alloc(n * sizeof(float), 4);
  return d;
}

static void release(struct optim_data *d) {
  for (int i = 0; i < OPTIM_ARRAYS; i++) kernel_free(d->in[i], 4);
  for (int i = 0; i < OPTIM_RESULTS; i++) kernel_free(d->out[i], 4);
}

// Results of a run in place have the bits of the run beside it.
static void expect_same(const struct optim_data *d, const int *inputs, int count) {
  for (int r = 0; r < count; r++)
    for (size_t i = 0; i < d->n; i++) CHECK(kernel_same_bits(d->in[inputs[r]][i], d->out[r][i]));
}

static double direction(const struct optim_data *d, size_t i) {
  return -(double)d->in[1][i] + 0.25 * (double)d->in[0][i];
}

static struct smr_f32_optim_gradient gradient(const struct optim_data *d) {
  return (struct smr_f32_optim_gradient){d->in[0], d->in[1], -1.0f, 0.25f};
}

static void check_sgd(const struct smr_f32_optim_kernels *k, size_t n, int kind) {
  struct optim_data d = make(n);
  const bool moves = kind > 0, fresh = kind == 1, nesterov = kind == 3;
  struct smr_f32_sgd args = {.gradient = gradient(&d),
                             .buffer = fresh ? NULL : d.in[2],
                             .p_new = d.out[0],
                             .buffer_new = moves ? d.out[1] : NULL,
                             .lr = 0.125f,
                             .momentum = 0.75f,
                             .keep = 0.5f,
                             .nesterov = nesterov};
  k->sgd(n, &args);
  for (size_t i = 0; i < n; i++) {
    const double g = direction(&d, i);
    const double b = !moves || fresh ? g : 0.75 * (double)d.in[2][i] + 0.5 * g;
    if (moves) CHECK_NEAR(d.out[1][i], b, 2e-7);
    CHECK_NEAR(d.out[0][i], (double)d.in[0][i] - 0.125 * (nesterov ? g + 0.75 * b : b), 2e-7);
  }
  args.p_new = d.in[0];
  if (moves) args.buffer_new = d.in[2];
  k->sgd(n, &args);
  expect_same(&d, (const int[]){0, 2}, moves ? 2 : 1);
  release(&d);
}

static void check_adam(const struct smr_f32_optim_kernels *k, size_t n) {
  struct optim_data d = make(n);
  for (size_t i = 0; i < n; i++) d.in[3][i] = fabsf(d.in[3][i]);
  struct smr_f32_adam args = {.gradient = gradient(&d),
                              .m = d.in[2],
                              .v = d.in[3],
                              .p_new = d.out[0],
                              .m_new = d.out[1],
                              .v_new = d.out[2],
                              .beta1 = 0.75f,
                              .beta2 = 0.875f,
                              .rest1 = 0.25f,
                              .rest2 = 0.125f,
                              .decay = 0.96875f,
                              .step = 0.5f,
                              .root = 1.5f,
                              .epsilon = 0.0625f};
  k->adam(n, &args);
  for (size_t i = 0; i < n; i++) {
    const double g = direction(&d, i);
    const double m = 0.75 * (double)d.in[2][i] + 0.25 * g;
    const double v = 0.875 * (double)d.in[3][i] + 0.125 * g * g;
    CHECK_NEAR(d.out[1][i], m, 2e-7);
    CHECK_NEAR(d.out[2][i], v, 2e-7);
    const double want = 0.96875 * (double)d.in[0][i] - 0.5 * m / (sqrt(v) * 1.5 + 0.0625);
    CHECK_NEAR(d.out[0][i], want, 2e-6);
  }
  args.p_new = d.in[0];
  args.m_new = d.in[2];
  args.v_new = d.in[3];
  k->adam(n, &args);
  expect_same(&d, (const int[]){0, 2, 3}, 3);
  release(&d);
}

static void check_rmsprop(const struct smr_f32_optim_kernels *k, size_t n, bool centered,
                          bool moves) {
  struct optim_data d = make(n);
  for (size_t i = 0; i < n; i++) d.in[2][i] = 1.0f + fabsf(d.in[2][i]);
  struct smr_f32_rmsprop args = {.gradient = gradient(&d),
                                 .average = d.in[2],
                                 .mean = centered ? d.in[3] : NULL,
                                 .buffer = moves ? d.in[4] : NULL,
                                 .p_new = d.out[0],
                                 .average_new = d.out[1],
                                 .mean_new = centered ? d.out[2] : NULL,
                                 .buffer_new = moves ? d.out[3] : NULL,
                                 .lr = 0.25f,
                                 .alpha = 0.875f,
                                 .rest = 0.125f,
                                 .epsilon = 0.125f,
                                 .momentum = 0.5f};
  k->rmsprop(n, &args);
  for (size_t i = 0; i < n; i++) {
    const double g = direction(&d, i), a = 0.875 * (double)d.in[2][i] + 0.125 * g * g;
    const double c = 0.875 * (double)d.in[3][i] + 0.125 * g;
    CHECK_NEAR(d.out[1][i], a, 3e-7);
    if (centered) CHECK_NEAR(d.out[2][i], c, 2e-7);
    const double rest = centered ? a - c * c : a;
    double q = g / (sqrt(rest > 0 ? rest : 0) + 0.125);
    if (moves) q += 0.5 * (double)d.in[4][i];
    if (moves) CHECK_NEAR(d.out[3][i], q, 1e-5);
    CHECK_NEAR(d.out[0][i], (double)d.in[0][i] - 0.25 * q, 3e-6);
  }
  args.p_new = d.in[0];
  args.average_new = d.in[2];
  if (centered) args.mean_new = d.in[3];
  if (moves) args.buffer_new = d.in[4];
  k->rmsprop(n, &args);
  for (size_t i = 0; i < n; i++) {
    CHECK(kernel_same_bits(d.in[0][i], d.out[0][i]) && kernel_same_bits(d.in[2][i], d.out[1][i]));
    if (centered) CHECK(kernel_same_bits(d.in[3][i], d.out[2][i]));
    if (moves) CHECK(kernel_same_bits(d.in[4][i], d.out[3][i]));
  }
  release(&d);
}

// A variance that rounding would take below zero counts as none.
static void check_no_variance(const struct smr_f32_optim_kernels *k) {
  float p = 1.0f, g = 0.0f, average = 0.25f, mean = 1.0f;
  const struct smr_f32_rmsprop args = {.gradient = {&p, &g, 1.0f, 0.0f},
                                       .average = &average,
                                       .mean = &mean,
                                       .p_new = &p,
                                       .average_new = &average,
                                       .mean_new = &mean,
                                       .lr = 1.0f,
                                       .alpha = 1.0f,
                                       .epsilon = 0.5f};
  k->rmsprop(1, &args);
  CHECK(p == 1.0f);
}

static void check_kernels(const struct smr_f32_optim_kernels *k, size_t lanes) {
  for (size_t n = 1; n <= 3 * lanes + 1; n++) {
    for (int kind = 0; kind < 4; kind++) check_sgd(k, n, kind);
    check_adam(k, n);
    for (int kind = 0; kind < 4; kind++) check_rmsprop(k, n, kind & 1, kind & 2);
  }
  check_no_variance(k);
}

SMR_TEST(every_table) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_kernels(smr_f32_optim_kernels(bit), lanes);
#include "kernels/training.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_f32_optim_kernels(SMR_ISA_NONE)->name, "f32_optim__scalar");
}

SMR_TEST_MAIN(RUN(every_table))
