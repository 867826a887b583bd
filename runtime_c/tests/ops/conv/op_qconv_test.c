// SPDX-License-Identifier: Apache-2.0
// qconv against the definition: every way of computing it, every way weights arrive.
#include "base/fp.h"

#include "ops/matmul/qlinear_data.h"

struct qconv_case {
  uint32_t spatial;
  int64_t n, c, o, groups;
  int64_t in[3], k[3], stride[3], dilation[3], pad[6];
};

// The sum of products that output `index` is made of; `out` are the output's spatial dims.
static int64_t product(const struct qconv_case *c, const struct q_columns *q, int extra,
                       const int64_t *out, const int8_t *x, const int8_t *w, size_t index) {
  const int64_t depth = c->c / c->groups, n = c->o / c->groups, o = (int64_t)index % c->o;
  int64_t rest = (int64_t)index / c->o, at[3] = {0}, taps = 1, pixels = 1, sum = 0;
  for (uint32_t i = c->spatial; i-- > 0;) {
    at[i] = rest % out[i];
    rest /= out[i];
    taps *= c->k[i];
    pixels *= c->in[i];
  }
  const int64_t w_zero = q->zeros[extra & Q_PER_AXIS ? o : 0];
  for (int64_t tap = 0; tap < taps; tap++) {
    int64_t rest_t = tap, place = 0, step = 1;
    bool inside = true;
    for (uint32_t i = c->spatial; i-- > 0;) {
      const int64_t p = at[i] * c->stride[i] + rest_t % c->k[i] * c->dilation[i] - c->pad[i];
      rest_t /= c->k[i];
      inside = inside && p >= 0 && p < c->in[i];
      place += p * step;
      step *= c->in[i];
    }
    for (int64_t j = 0; inside && j < depth; j++)
      sum += (x[(rest * pixels + place) * c->c + o / n * depth + j] - Q_X_ZERO) *
             (w[(o * taps + tap) * depth + j] - w_zero);
  }
  return sum;
}

static void run_case(const struct qconv_case *c, enum q_form form, int extra, uint32_t isa) {
  const uint32_t s = c->spatial;
  int64_t x_dims[5] = {c->n}, w_dims[5] = {c->o}, y_dims[5] = {c->n}, taps = 1;
  for (uint32_t i = 0; i < s; i++) {
    x_dims[1 + i] = c->in[i];
    w_dims[1 + i] = c->k[i];
    y_dims[1 + i] =
        (c->in[i] + c->pad[i] + c->pad[s + i] - (c->k[i] - 1) * c->dilation[i] - 1) / c->stride[i] +
        1;
    taps *= c->k[i];
  }
  x_dims[1 + s] = c->c;
  w_dims[1 + s] = c->c / c->groups;
  y_dims[1 + s] = c->o;
  int8_t *x = q_bytes(q_count(x_dims, s + 2), 3), *w = q_bytes(q_count(w_dims, s + 2), 4);
  const struct q_columns q = q_columns(extra);
  struct op_test t;
  op_begin(&t, "qconv");
  t.job.isa &= isa;
  q_tensors(&t, &q, form, extra, s + 2, x_dims, x, s + 2, w_dims, w, 0, s + 2, y_dims);
  op_ints(&t, "strides", s, c->stride);
  op_ints(&t, "dilations", s, c->dilation);
  op_ints(&t, "pads", 2 * s, c->pad);
  op_int(&t, "groups", c->groups);
  const size_t depth = (size_t)(taps * (c->c / c->groups)), n = (size_t)(c->o / c->groups);
  const bool depthwise = c->groups > 1 && c->groups == c->c && c->groups == c->o;
  if (form == Q_PACKED && depthwise)
    q_pack(&t, true, 1, depth, (size_t)c->o, 1, depth);
  else if (form == Q_PACKED)
    q_pack(&t, false, (size_t)c->groups, depth, n, 1, depth);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < q_count(y_dims, s + 2); i++)
      if (!q_check(&t, &q, extra, i, i % (size_t)c->o, product(c, &q, extra, y_dims + 1, x, w, i)))
        break;
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(x), free(w);
}

static const struct qconv_case cases[] = {
    {2, 2, 5, 17, 1, {5, 7}, {1, 1}, {1, 1}, {1, 1}, {0}},             // a plain product
    {2, 1, 12, 20, 4, {4, 3}, {1, 1}, {1, 1}, {1, 1}, {0}},            // the same in groups
    {1, 2, 3, 7, 1, {17}, {5}, {2}, {1}, {0}},                         // one tap of all
    {2, 1, 64, 20, 1, {6, 5}, {3, 2}, {1, 2}, {1, 1}, {1, 0, 2, 1}},   // taps of rows
    {2, 2, 128, 10, 2, {5, 4}, {3, 3}, {1, 1}, {2, 1}, {2, 1, 2, 1}},  // the same in groups
    {2, 1, 3, 33, 1, {15, 16}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},  // odd taps
    {2, 1, 3, 4, 1, {3, 2}, {5, 6}, {1, 1}, {1, 1}, {4, 5, 4, 5}},     // wider than the image
    {2, 2, 10, 6, 2, {7, 6}, {3, 3}, {1, 2}, {2, 2}, {1, 1, 1, 3}},    // groups, dilation
    {3, 1, 2, 5, 1, {4, 5, 6}, {3, 2, 3}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1, 1, 1, 1}},
    {2, 2, 33, 33, 33, {7, 8}, {3, 3}, {2, 1}, {1, 1}, {1, 1, 1, 1}},  // depthwise
    {1, 1, 8, 8, 8, {9}, {3}, {1}, {1}, {2, 0}},
    {3, 1, 3, 3, 3, {4, 4, 4}, {3, 3, 3}, {1, 1, 2}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
    {2, 1, 4, 8, 4, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // two outputs of a channel
    {2, 2, 8, 4, 1, {5, 9}, {1, 1}, {2, 3}, {1, 1}, {0}},           // steps longer than the window
    {2, 2, 64, 2, 1, {21, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // blocks of lines
    {1, 1, 24, 2, 1, {4000}, {4}, {1}, {1}, {2, 1}},                   // blocks of a line
    {1, 1, 12, 3, 1, {2500}, {3}, {2}, {70}, {100, 40}},               // far apart
};

SMR_TEST(against_the_definition) {
  static const int extras[] = {0, Q_BIAS | Q_PER_AXIS, Q_BIAS | Q_PER_AXIS | Q_W_ZERO | Q_CLAMP,
                               Q_SUMS | Q_W_ZERO};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int form = 0; form < Q_FORMS; form++)
      for (size_t e = 0; e < sizeof extras / sizeof extras[0]; e++) {
        run_case(&cases[i], (enum q_form)form, extras[e], ~0u);
        run_case(&cases[i], (enum q_form)form, extras[e], 0);
      }
}

SMR_TEST_MAIN(RUN(against_the_definition))
