// SPDX-License-Identifier: Apache-2.0
// qconv_transpose against the definition: phases, groups, computed and constant weights.
#include "base/fp.h"

#include "ops/matmul/qlinear_data.h"

struct transpose_case {
  uint32_t spatial;
  int64_t n, c, o, groups;
  int64_t in[3], k[3], stride[3], dilation[3], pad[6], extra[3];
};

// Add what input pixel `p` of image `b` gives through one tap; `places` pixels make an output
// image.
static void conv_transpose_tap(const struct transpose_case *c, const struct q_columns *q, int extra,
                               const int8_t *x, const int8_t *w, const int64_t *out, int64_t b,
                               int64_t p, int64_t tap, int64_t *y) {
  const int64_t depth = c->c / c->groups, n = c->o / c->groups;
  int64_t rest_p = p, rest_t = tap, place = 0, places = 1, pixels = 1, taps = 1;
  bool inside = true;
  for (uint32_t i = c->spatial; i-- > 0;) {
    const int64_t at = rest_p % c->in[i] * c->stride[i] + rest_t % c->k[i] * c->dilation[i];
    rest_p /= c->in[i];
    rest_t /= c->k[i];
    inside = inside && at >= c->pad[i] && at - c->pad[i] < out[i];
    place += (at - c->pad[i]) * places;
    places *= out[i];
    pixels *= c->in[i];
    taps *= c->k[i];
  }
  if (!inside) return;
  for (int64_t o = 0; o < c->o; o++)
    for (int64_t j = 0; j < depth; j++)
      y[(b * places + place) * c->o + o] +=
          (x[(b * pixels + p) * c->c + o / n * depth + j] - Q_X_ZERO) *
          (w[(o * taps + tap) * depth + j] - q->zeros[extra & Q_PER_AXIS ? o : 0]);
}

static void run_case(const struct transpose_case *c, enum q_form form, int extra, uint32_t isa) {
  const uint32_t s = c->spatial;
  int64_t x_dims[5] = {c->n}, w_dims[5] = {c->o}, y_dims[5] = {c->n}, taps = 1, pixels = 1;
  for (uint32_t i = 0; i < s; i++) {
    x_dims[1 + i] = c->in[i];
    w_dims[1 + i] = c->k[i];
    y_dims[1 + i] = (c->in[i] - 1) * c->stride[i] + (c->k[i] - 1) * c->dilation[i] + 1 +
                    c->extra[i] - c->pad[i] - c->pad[s + i];
    taps *= c->k[i];
    pixels *= c->in[i];
  }
  x_dims[1 + s] = c->c;
  w_dims[1 + s] = c->c / c->groups;
  y_dims[1 + s] = c->o;
  const size_t y_n = q_count(y_dims, s + 2);
  int8_t *x = q_bytes(q_count(x_dims, s + 2), 5), *w = q_bytes(q_count(w_dims, s + 2), 6);
  const struct q_columns q = q_columns(extra);
  int64_t *want = calloc(y_n + 1, sizeof *want);
  for (int64_t b = 0; b < c->n; b++)
    for (int64_t p = 0; p < pixels; p++)
      for (int64_t tap = 0; tap < taps; tap++)
        conv_transpose_tap(c, &q, extra, x, w, y_dims + 1, b, p, tap, want);
  struct op_test t;
  op_begin(&t, "qconv_transpose");
  t.job.isa &= isa;
  q_tensors(&t, &q, form, extra, s + 2, x_dims, x, s + 2, w_dims, w, 0, s + 2, y_dims);
  op_ints(&t, "strides", s, c->stride);
  op_ints(&t, "dilations", s, c->dilation);
  op_ints(&t, "pads", 2 * s, c->pad);
  op_ints(&t, "output_padding", s, c->extra);
  op_int(&t, "groups", c->groups);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < y_n; i++)
      if (!q_check(&t, &q, extra, i, i % (size_t)c->o, want[i])) break;
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(x), free(w), free(want);
}

static const struct transpose_case cases[] = {
    {2, 1, 3, 8, 1, {5, 4}, {3, 3}, {1, 1}, {1, 1}, {0}, {0}},
    {2, 2, 3, 17, 1, {5, 4}, {2, 2}, {2, 2}, {1, 1}, {0}, {0}},
    {2, 1, 8, 8, 1, {5, 4}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0}},
    {2, 1, 4, 5, 1, {4, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {2, 1, 6, 9, 3, {4, 5}, {3, 2}, {2, 2}, {2, 2}, {0}, {0}},
    {2, 1, 4, 6, 2, {4, 5}, {3, 4}, {4, 6}, {2, 3}, {1, 0, 0, 2}, {3, 5}},
    {2, 1, 8, 8, 8, {4, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 0, 0, 1}, {1, 1}},
    {1, 2, 3, 7, 1, {7}, {5}, {3}, {1}, {0}, {2}},
    {1, 1, 3, 4, 1, {5}, {2}, {9}, {1}, {0}, {4}},  // a stride beyond what the key can say
    {3, 1, 2, 3, 1, {3, 2, 3}, {2, 3, 2}, {2, 2, 2}, {1, 1, 1}, {0}, {0}},
    {2, 1, 2, 3, 1, {2, 3}, {2, 2}, {3, 3}, {1, 1}, {0}, {2, 2}},  // phases that meet no tap
    {2, 1, 3, 3, 3, {2, 3}, {2, 2}, {3, 3}, {1, 1}, {0}, {2, 2}},  // the same, depthwise
};

SMR_TEST(against_the_definition) {
  static const int extras[] = {0, Q_BIAS | Q_PER_AXIS, Q_BIAS | Q_PER_AXIS | Q_W_ZERO | Q_CLAMP,
                               Q_SUMS | Q_W_ZERO};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int form = 0; form < Q_PACKED; form++)
      for (size_t e = 0; e < sizeof extras / sizeof extras[0]; e++) {
        run_case(&cases[i], (enum q_form)form, extras[e], ~0u);
        run_case(&cases[i], (enum q_form)form, extras[e], 0);
      }
}

SMR_TEST_MAIN(RUN(against_the_definition))
