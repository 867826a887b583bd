// SPDX-License-Identifier: Apache-2.0
// Recurrent cells of every ISA this CPU has, against the formulas in double.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_cell/f32_cell.h"

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double clipped(double x, double clip) { return x > clip ? clip : x < -clip ? -clip : x; }

static float *scaled(size_t n, float by, uint32_t *seed) {
  float *p = kernel_floats(n, seed);
  for (size_t i = 0; i < n; i++) p[i] *= by;
  return p;
}

static void check_lstm(const struct smr_f32_cell_kernels *k, size_t n, bool peep, bool coupled,
                       float clip) {
  uint32_t seed = (uint32_t)n;
  float *gates = scaled(4 * n, 6, &seed), *p = kernel_floats(3 * n, &seed);
  float *c = scaled(n, 2, &seed), *h = (float *)kernel_alloc(n * sizeof *h, 4);
  float *c0 = (float *)kernel_alloc(n * sizeof *c0, 4);
  memcpy(c0, c, n * sizeof *c0);
  const struct smr_lstm_options options = {n, clip, coupled, peep ? p : NULL};
  k->lstm(0, n / 2, gates, &options, c, h, NULL);  // in two blocks
  k->lstm(n / 2, n, gates, &options, c, h, NULL);
  for (size_t j = 0; j < n; j++) {
    const double pi = peep ? (double)p[j] : 0, po = peep ? (double)p[n + j] : 0;
    const double pf = peep ? (double)p[2 * n + j] : 0, old = (double)c0[j], cut = (double)clip;
    const double i = sigmoid(clipped((double)gates[j] + pi * old, cut));
    const double f = coupled ? 1 - i : sigmoid(clipped((double)gates[2 * n + j] + pf * old, cut));
    const double state = f * old + i * tanh(clipped((double)gates[3 * n + j], cut));
    const double o = sigmoid(clipped((double)gates[n + j] + po * state, cut));
    CHECK_NEAR(c[j], state, 1e-6);
    CHECK_NEAR(h[j], o * tanh(state), 1e-6);
  }
  kernel_free(gates, 4);
  kernel_free(p, 4);
  kernel_free(c, 4);
  kernel_free(c0, 4);
  kernel_free(h, 4);
}

static void check_gru(const struct smr_f32_cell_kernels *k, size_t n, bool linear, float clip) {
  uint32_t seed = (uint32_t)n + 77;
  float *zr = scaled(2 * n, 6, &seed), *input = scaled(n, 3, &seed), *state = scaled(n, 3, &seed);
  float *h = kernel_floats(n, &seed), *reset_h = (float *)kernel_alloc(n * sizeof *h, 4);
  float *zr0 = (float *)kernel_alloc(2 * n * sizeof *zr0, 4);
  float *h0 = (float *)kernel_alloc(n * sizeof *h0, 4);
  memcpy(zr0, zr, 2 * n * sizeof *zr);
  memcpy(h0, h, n * sizeof *h);
  k->gru_gates(n, clip, zr, h, linear ? NULL : reset_h);
  k->gru(n, clip, zr, input, linear ? state : NULL, h, NULL);
  for (size_t j = 0; j < n; j++) {
    const double z = sigmoid(clipped((double)zr0[j], (double)clip));
    const double r = sigmoid(clipped((double)zr0[n + j], (double)clip));
    const double x = (double)input[j] + (linear ? r * (double)state[j] : 0);
    const double fresh = tanh(clipped(x, (double)clip));
    if (!linear) CHECK_NEAR(reset_h[j], r * (double)h0[j], 3e-7);
    CHECK_NEAR(h[j], (1 - z) * fresh + z * (double)h0[j], 6e-7);
  }
  kernel_free(zr, 4);
  kernel_free(input, 4);
  kernel_free(state, 4);
  kernel_free(h, 4);
  kernel_free(reset_h, 4);
  kernel_free(zr0, 4);
  kernel_free(h0, 4);
}

// ---- gradients, against central differences of the formulas in double ----

// What a cell starts from: gates before activation and the state; gru: input of the last gate, and
// what the reset gate meets.
struct cell {
  double gate[4], old;
};

struct cell_options {
  bool coupled, linear;
  double clip, p[3];
};

// dh h + dc c' of an LSTM; `kept` becomes the activated gates.
static double lstm_loss(const struct cell *x, const struct cell_options *o, double dh, double dc,
                        double *kept) {
  const double cut = o->clip;
  const double i = sigmoid(clipped(x->gate[0] + o->p[0] * x->old, cut));
  const double f = o->coupled ? 1 - i : sigmoid(clipped(x->gate[2] + o->p[2] * x->old, cut));
  const double g = tanh(clipped(x->gate[3], cut)), c = f * x->old + i * g;
  const double out = sigmoid(clipped(x->gate[1] + o->p[1] * c, cut));
  const double all[4] = {i, out, f, g};
  if (kept != NULL) memcpy(kept, all, sizeof all);
  return dh * out * tanh(c) + dc * c;
}

// dh h of a GRU whose gates are z, r, the input of the last, and what r meets: the old state itself
// unless `linear`.
static double gru_loss(const struct cell *x, const struct cell_options *o, double dh, double dc,
                       double *kept) {
  (void)dc;
  const double z = sigmoid(clipped(x->gate[0], o->clip)), r = sigmoid(clipped(x->gate[1], o->clip));
  const double fresh = tanh(clipped(x->gate[2] + (o->linear ? r * x->gate[3] : 0), o->clip));
  const double all[4] = {z, r, fresh, x->gate[3]};
  if (kept != NULL) memcpy(kept, all, sizeof all);
  return dh * ((1 - z) * fresh + z * x->old);
}

typedef double (*cell_loss)(const struct cell *x, const struct cell_options *o, double dh,
                            double dc, double *kept);

static double slope(cell_loss loss, const struct cell *x, const struct cell_options *o, double dh,
                    double dc, size_t which) {
  const double step = 1e-5;
  struct cell high = *x, low = *x;
  *(which < 4 ? &high.gate[which] : &high.old) += step;
  *(which < 4 ? &low.gate[which] : &low.old) -= step;
  return (loss(&high, o, dh, dc, NULL) - loss(&low, o, dh, dc, NULL)) / (2 * step);
}

// Element j of four arrays of n.
static struct cell cell_of(size_t n, size_t j, const float *gates, const float *old) {
  struct cell x = {.old = (double)old[j]};
  for (size_t i = 0; i < 4; i++) x.gate[i] = (double)gates[i * n + j];
  return x;
}

static void check_lstm_grad(const struct smr_f32_cell_kernels *k,
                            const struct smr_f32_cell_grad_kernels *g, size_t n, bool peep,
                            bool coupled, float clip) {
  uint32_t seed = (uint32_t)n + 5;
  float *gates = scaled(4 * n, 2, &seed), *old = scaled(n, 2, &seed);
  float *p = kernel_floats(3 * n, &seed), *dy = kernel_floats(n, &seed);
  float *dh = kernel_floats(n, &seed), *dc = kernel_floats(n, &seed);
  float *dc0 = (float *)kernel_alloc(n * sizeof *dc0, 4);
  float *kept = (float *)kernel_alloc(4 * n * sizeof *kept, 4);
  float *got = (float *)kernel_alloc(4 * n * sizeof *got, 4);
  float *dh0 = (float *)kernel_alloc(n * sizeof *dh0, 4);
  memcpy(dc0, dc, n * sizeof *dc);
  memcpy(dh0, dh, n * sizeof *dh);
  // The forward kernel keeps its own gates, so that those at an end are known by their bits.
  const struct smr_lstm_options options = {n, clip, coupled, peep ? p : NULL};
  float *c = (float *)kernel_alloc(n * sizeof *c, 4), *h = (float *)kernel_alloc(n * sizeof *h, 4);
  memcpy(c, old, n * sizeof *c);
  memcpy(kept, gates, 4 * n * sizeof *kept);
  k->lstm(0, n, kept, &options, c, h, kept);
  g->lstm_grad(kept, &options, old, n % 2 ? dy : NULL, dh, dc, got);
  for (size_t j = 0; j < n; j++) {
    const struct cell x = cell_of(n, j, gates, old);
    struct cell_options o = {.coupled = coupled, .clip = (double)clip};
    for (size_t i = 0; peep && i < 3; i++) o.p[i] = (double)p[i * n + j];
    const double d = (double)dh0[j] + (n % 2 ? (double)dy[j] : 0), e = (double)dc0[j];
    double want[4];
    lstm_loss(&x, &o, d, e, want);
    for (size_t i = 0; i < 4; i++) {
      CHECK_NEAR(kept[i * n + j], want[i], 5e-7);
      CHECK_NEAR(got[i * n + j], slope(lstm_loss, &x, &o, d, e, i), 2e-6);
    }
    CHECK_NEAR(dc[j], slope(lstm_loss, &x, &o, d, e, 4), 4e-6);
    CHECK_NEAR(dh[j], 0, 0);
  }
  kernel_free(gates, 4);
  kernel_free(old, 4);
  kernel_free(p, 4);
  kernel_free(dy, 4);
  kernel_free(dh, 4);
  kernel_free(dc, 4);
  kernel_free(dc0, 4);
  kernel_free(kept, 4);
  kernel_free(got, 4);
  kernel_free(dh0, 4);
  kernel_free(c, 4);
  kernel_free(h, 4);
}

static void check_gru_grad(const struct smr_f32_cell_kernels *k,
                           const struct smr_f32_cell_grad_kernels *g, size_t n, bool linear,
                           float clip) {
  uint32_t seed = (uint32_t)n + 9;
  float *gates = scaled(4 * n, 2, &seed), *old = scaled(n, 2, &seed);
  float *dy = kernel_floats(n, &seed), *dh = kernel_floats(n, &seed);
  float *dh0 = (float *)kernel_alloc(n * sizeof *dh0, 4);
  float *kept = (float *)kernel_alloc(4 * n * sizeof *kept, 4);
  float *dx = (float *)kernel_alloc(3 * n * sizeof *dx, 4);
  float *dr = (float *)kernel_alloc(3 * n * sizeof *dr, 4);
  float *h = (float *)kernel_alloc(n * sizeof *h, 4);
  memcpy(dh0, dh, n * sizeof *dh);
  memcpy(h, old, n * sizeof *h);
  memcpy(kept, gates, 4 * n * sizeof *kept);
  k->gru_gates(n, clip, kept, h, NULL);
  k->gru(n, clip, kept, kept + 2 * n, linear ? kept + 3 * n : NULL, h, kept + 2 * n);
  g->gru_grad(n, clip, kept, old, n % 2 ? dy : NULL, dh, dx, linear ? dr : NULL);
  for (size_t j = 0; j < n; j++) {
    const struct cell x = cell_of(n, j, gates, old);
    const struct cell_options o = {.linear = linear, .clip = (double)clip};
    const double d = (double)dh0[j] + (n % 2 ? (double)dy[j] : 0);
    double want[4];
    gru_loss(&x, &o, d, 0, want);
    for (size_t i = 0; i < 4; i++) CHECK_NEAR(kept[i * n + j], want[i], 5e-7);
    CHECK_NEAR(dh[j], slope(gru_loss, &x, &o, d, 0, 4), 2e-6);
    for (size_t i = 0; i < 3; i++)
      if (linear || i != 1) CHECK_NEAR(dx[i * n + j], slope(gru_loss, &x, &o, d, 0, i), 2e-6);
    for (size_t i = 0; linear && i < 3; i++)
      CHECK_NEAR(dr[i * n + j], slope(gru_loss, &x, &o, d, 0, i < 2 ? i : 3), 2e-6);
  }
  kernel_free(gates, 4);
  kernel_free(old, 4);
  kernel_free(dy, 4);
  kernel_free(dh, 4);
  kernel_free(dh0, 4);
  kernel_free(kept, 4);
  kernel_free(dx, 4);
  kernel_free(dr, 4);
  kernel_free(h, 4);
}

// reset_h = r h: both factors get their part.
static void check_reset_grad(const struct smr_f32_cell_kernels *k,
                             const struct smr_f32_cell_grad_kernels *g, size_t n, float clip) {
  uint32_t seed = (uint32_t)n + 13;
  float *zr = scaled(2 * n, 2, &seed), *h = kernel_floats(n, &seed);
  float *d = kernel_floats(n, &seed), *dh = kernel_floats(n, &seed);
  float *got = (float *)kernel_alloc(n * sizeof *got, 4);
  float *dh0 = (float *)kernel_alloc(n * sizeof *dh0, 4);
  float *before = (float *)kernel_alloc(2 * n * sizeof *before, 4);
  memcpy(dh0, dh, n * sizeof *dh);
  memcpy(before, zr, 2 * n * sizeof *zr);
  k->gru_gates(n, clip, zr, h, NULL);
  g->gru_reset_grad(n, clip, zr + n, h, d, dh, got);
  for (size_t j = 0; j < n; j++) {
    const double x = (double)before[n + j], r = sigmoid(clipped(x, (double)clip));
    const double inside = fabs(x) < (double)clip ? r * (1 - r) : 0;
    CHECK_NEAR(got[j], (double)d[j] * (double)h[j] * inside, 3e-7);
    CHECK_NEAR(dh[j], (double)dh0[j] + (double)d[j] * r, 5e-7);
  }
  kernel_free(zr, 4);
  kernel_free(h, 4);
  kernel_free(d, 4);
  kernel_free(dh, 4);
  kernel_free(got, 4);
  kernel_free(dh0, 4);
  kernel_free(before, 4);
}

static void check_kernels(const struct smr_f32_cell_kernels *k,
                          const struct smr_f32_cell_grad_kernels *g, size_t lanes) {
  for (size_t n = 1; n <= 3 * lanes + 1; n++)
    for (int flags = 0; flags < 8; flags++) {
      const float clip = flags & 4 ? 0.75f : INFINITY;
      check_lstm(k, n, flags & 1, flags & 2, clip);
      check_gru(k, n, flags & 1, clip);
      check_lstm_grad(k, g, n, flags & 1, flags & 2, clip);
      check_gru_grad(k, g, n, flags & 1, clip);
      check_reset_grad(k, g, n, clip);
    }
}

// Saturated gates keep or replace the state exactly, and NaN stays where it is.
static void check_limits(const struct smr_f32_cell_kernels *k) {
  const struct smr_lstm_options options = {.n = 3, .clip = INFINITY};
  // Element 0: forget all, let in tanh(inf). 1: keep all. 2: NaN.
  const float gates[12] = {200, -200, 0, 200, 200, 0, -200, 200, NAN, INFINITY, 0, 0};
  float c[3] = {5, -3, 1}, h[3];
  k->lstm(0, 3, gates, &options, c, h, NULL);
  CHECK_NEAR(c[0], 1, 1e-6);
  CHECK_NEAR(c[1], -3, 0);
  CHECK(isnan(c[2]) && isnan(h[2]));
  CHECK_NEAR(h[0], tanh(1.0), 1e-6);
  CHECK_NEAR(h[1], tanh(-3.0), 1e-6);
}

SMR_TEST(every_table) {
#define SMR_UKERNEL(bit, suffix, lanes)                                              \
  if (KERNEL_RUNS(bit, suffix)) {                                                    \
    check_kernels(smr_f32_cell_kernels(bit), smr_f32_cell_grad_kernels(bit), lanes); \
    check_limits(smr_f32_cell_kernels(bit));                                         \
  }
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(every_table))
