// SPDX-License-Identifier: Apache-2.0
// conv against the definition: every path, every way weights arrive, groups, strides, views.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

struct conv_case {
  const char *kernel;  // part of the name of the kernel that must have run, NULL: any
  uint32_t spatial;
  int64_t n, c, o, groups;
  int64_t in[3], k[3], stride[3], dilation[3], pad[6];
};

static int64_t out_size(const struct conv_case *c, uint32_t i) {
  const int64_t extent = (c->k[i] - 1) * c->dilation[i] + 1;
  return (c->in[i] + c->pad[i] + c->pad[c->spatial + i] - extent) / c->stride[i] + 1;
}

// Channel `channel` of the output pixel `at` of image `b`, by the definition.
static double convolve(const struct conv_case *c, const float *x, const float *w, int64_t b,
                       const int64_t *at, int64_t channel) {
  const int64_t depth = c->c / c->groups, group = channel / (c->o / c->groups);
  int64_t taps = 1;
  for (uint32_t i = 0; i < c->spatial; i++) taps *= c->k[i];
  double sum = 0;
  for (int64_t tap = 0; tap < taps; tap++) {
    int64_t rest = tap, pixel = 0, step = 1;
    bool inside = true;
    for (uint32_t i = c->spatial; i-- > 0;) {
      const int64_t p = at[i] * c->stride[i] - c->pad[i] + rest % c->k[i] * c->dilation[i];
      rest /= c->k[i];
      inside = inside && p >= 0 && p < c->in[i];
      pixel += p * step;
      step *= c->in[i];
    }
    for (int64_t j = 0; inside && j < depth; j++)
      sum += (double)x[(b * step + pixel) * c->c + group * depth + j] *
             (double)w[(channel * taps + tap) * depth + j];
  }
  return sum;
}

// Spread the pixels of an input: `gap` more elements between them.
static void spread_pixels(struct op_test *t, uint32_t input, size_t gap) {
  struct smr_tensor *x = &t->in[input];
  const size_t element = smr_dtype_bytes(x->dtype), c = (size_t)x->dims[x->rank - 1];
  const size_t pixels = x->size_bytes / element / c;
  const size_t bytes = ((pixels - 1) * (c + gap) + c) * element;
  char *wide = malloc(bytes + 4);
  memset(wide, 0xff, bytes + 4);
  for (size_t i = 0; i < pixels; i++)
    memcpy(wide + 4 + i * (c + gap) * element, (char *)t->in_data[input] + i * c * element,
           c * element);
  free(t->allocated[input]);
  t->allocated[input] = wide;
  t->in_data[input] = wide + 4;
  x->pixel_stride = (int64_t)(c + gap);
}

enum { BIAS = 1, RESIDUAL = 2, RELU = 4, SILU = 8, STRIDED = 16 };

struct conv_data {
  int64_t x_dims[5], w_dims[5], y_dims[5], taps;
  float *x, *w, *bias, *residual;
};

static void conv_make(const struct conv_case *c, struct conv_data *d) {
  const uint32_t s = c->spatial;
  *d = (struct conv_data){.x_dims = {c->n}, .w_dims = {c->o}, .y_dims = {c->n}, .taps = 1};
  for (uint32_t i = 0; i < s; i++) {
    d->x_dims[1 + i] = c->in[i];
    d->w_dims[1 + i] = c->k[i];
    d->y_dims[1 + i] = out_size(c, i);
    d->taps *= c->k[i];
  }
  d->x_dims[1 + s] = c->c;
  d->w_dims[1 + s] = c->c / c->groups;
  d->y_dims[1 + s] = c->o;
  d->x = linear_floats(linear_count(d->x_dims, s + 2), 5);
  d->w = linear_floats(linear_count(d->w_dims, s + 2), 6);
  d->bias = linear_floats((size_t)c->o, 7);
  d->residual = linear_floats(linear_count(d->y_dims, s + 2), 8);
}

static void conv_expect(const struct op_test *t, const struct conv_case *c,
                        const struct conv_data *d, int extra) {
  const uint32_t s = c->spatial;
  const size_t n = linear_count(d->y_dims, s + 2), stride = (size_t)t->out[0].pixel_stride;
  const double depth = (double)(d->taps * c->c / c->groups);
  const bool half = strstr(t->job.kernel, "neon_fp16") != NULL;
  const double narrow = t->out[0].dtype == SAMARA_FLOAT16 ? 1e-3 : half ? 3e-4 : 4e-7;
  const double tolerance = narrow * (depth + 3);
  for (size_t i = 0; i < n; i++) {
    const size_t channel = i % (size_t)c->o, pixel = i / (size_t)c->o;
    size_t rest = pixel;
    int64_t at[3];
    for (uint32_t j = s; j-- > 0;) {
      at[j] = (int64_t)(rest % (size_t)d->y_dims[1 + j]);
      rest /= (size_t)d->y_dims[1 + j];
    }
    double want = convolve(c, d->x, d->w, (int64_t)rest, at, (int64_t)channel);
    if (extra & BIAS) want += (double)d->bias[channel];
    if (extra & RESIDUAL) want += (double)d->residual[i];
    if (extra & RELU) want = want < 0 ? 0 : want;
    if (extra & SILU) want = want / (1 + exp(-want));
    if (!CHECK_NEAR(linear_out(t, pixel * stride + channel), want, tolerance)) break;
  }
}

static const char *conv_tuned;  // the algorithm that the next cases ask for

static void run_case(const struct conv_case *c, enum linear_form form, uint8_t dtype,
                     uint8_t w_dtype, int extra, uint32_t isa) {
  const uint32_t s = c->spatial;
  struct conv_data d;
  conv_make(c, &d);
  struct op_test t;
  op_begin(&t, "conv");
  t.job.isa &= isa;
  t.job.tuned = conv_tuned;
  linear_in(&t, dtype, s + 2, d.x_dims, d.x);
  linear_in(&t, w_dtype, s + 2, d.w_dims, d.w)->constant = form == LINEAR_PLAIN ? 1 : -1;
  if (extra & BIAS)
    linear_in(&t, w_dtype, 1, DIMS(c->o), d.bias)->constant = form == LINEAR_RUNTIME ? -1 : 2;
  else
    op_absent(&t);
  if (extra & RESIDUAL) linear_in(&t, dtype, s + 2, d.y_dims, d.residual);
  op_out(&t, dtype, s + 2, d.y_dims);
  op_ints(&t, "strides", s, c->stride);
  op_ints(&t, "dilations", s, c->dilation);
  op_ints(&t, "pads", 2 * s, c->pad);
  op_int(&t, "groups", c->groups);
  if (extra & RELU) op_f32(&t, "lo", 0);
  if (extra & SILU) op_enum(&t, "post", "silu");
  const size_t depth = (size_t)(d.taps * c->c / c->groups), n = (size_t)(c->o / c->groups);
  if (form == LINEAR_PACKED && c->groups == c->o && c->groups == c->c && c->groups > 1)
    linear_pack(&t, SMR_LAYOUT_DWPANEL, 1, (size_t)d.taps, (size_t)c->o, 1, (size_t)d.taps);
  else if (form == LINEAR_PACKED)
    linear_pack(&t, SMR_LAYOUT_PANEL, (size_t)c->groups, depth, n, 1, depth);
  if ((extra & STRIDED) && linear_count(d.x_dims, s + 2) && linear_count(d.y_dims, s + 2)) {
    spread_pixels(&t, 0, 3);
    if (extra & RESIDUAL) spread_pixels(&t, 3, 1);
    t.out[0].pixel_stride += 5;
  }
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    // Transforms are for float32 and weights that are known before a run.
    const bool plain =
        form == LINEAR_RUNTIME || dtype != SAMARA_FLOAT32 || w_dtype != SAMARA_FLOAT32;
    if (c->kernel != NULL && plain && strstr(c->kernel, "winograd") != NULL)
      CHECK_CONTAINS(t.job.kernel, "gemm");
    else if (c->kernel != NULL)
      CHECK_CONTAINS(t.job.kernel, c->kernel);
    conv_expect(&t, c, &d, extra);
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(d.x), free(d.w), free(d.bias), free(d.residual);
}

static const struct conv_case cases[] = {
    // plain products
    {"gemm", 2, 2, 16, 33, 1, {5, 7}, {1, 1}, {1, 1}, {1, 1}, {0}},
    {"gemm", 2, 1, 6, 9, 3, {6, 6}, {1, 1}, {1, 1}, {1, 1}, {0}},
    {"gemm", 1, 2, 5, 7, 1, {40}, {8}, {3}, {1}, {0}},
    {"gemm", 3, 1, 4, 8, 1, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}},
    // few channels
    {"direct", 2, 2, 3, 17, 1, {9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"direct", 2, 1, 5, 7, 1, {9, 8}, {3, 2}, {1, 1}, {2, 1}, {0, 1, 2, 0}},
    {"direct", 1, 1, 1, 16, 1, {64}, {9}, {2}, {1}, {4, 4}},
    // windows of 3x3 by transforms: one block and more of tiles of 4x4, whole and cut; tiles of 2x2
    {"winograd_f43", 2, 1, 32, 32, 1, {16, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"winograd_f43", 2, 2, 24, 40, 1, {13, 10}, {3, 3}, {1, 1}, {1, 1}, {0, 2, 1, 0}},
    {"winograd_f43", 2, 3, 24, 41, 1, {31, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"winograd_f23", 2, 1, 160, 144, 1, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    // pointers to pixels; more than one block of them
    {"gemm", 2, 1, 16, 20, 1, {9, 10}, {3, 2}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"gemm", 2, 2, 16, 20, 1, {25, 24}, {3, 2}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"gemm", 2, 1, 32, 8, 1, {40, 40}, {1, 1}, {2, 2}, {1, 1}, {0}},
    {"gemm", 2, 1, 8, 12, 4, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"gemm", 2, 1, 4, 8, 4, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"gemm", 3, 1, 16, 5, 1, {4, 5, 6}, {3, 2, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 1, 1, 1, 1}},
    {"gemm", 1, 2, 20, 5, 1, {17}, {3}, {1}, {2}, {2, 2}},
    {"gemm", 2, 1, 17, 3, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {4, 4, 4, 4}},
    // depthwise
    {"dwconv", 2, 2, 33, 33, 33, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"dwconv", 2, 1, 7, 7, 7, {9, 9}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
    {"dwconv", 1, 1, 8, 8, 8, {9}, {3}, {1}, {2}, {2, 0}},
    {"dwconv", 3, 2, 5, 5, 5, {4, 4, 4}, {3, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0, 1, 1, 1}},
    // nothing to do, or nothing to sum
    {NULL, 2, 0, 3, 4, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0}},
    {NULL, 2, 1, 2, 0, 1, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {0}},
    {NULL, 2, 1, 0, 2, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0}},
    {NULL, 2, 1, 4, 4, 4, {2, 5}, {3, 3}, {1, 1}, {1, 1}, {0}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

SMR_TEST(against_the_definition) {
  for (size_t i = 0; i < CASES; i++) {
    const struct conv_case *c = &cases[i];
    for (int form = 0; form < LINEAR_FORMS; form++) {
      run_case(c, (enum linear_form)form, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS, ~0u);
      run_case(c, (enum linear_form)form, SAMARA_FLOAT32, SAMARA_FLOAT16, RELU, ~0u);
    }
    run_case(c, LINEAR_PACKED, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS | RESIDUAL | RELU, ~0u);
    run_case(c, LINEAR_PLAIN, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS | RESIDUAL | SILU, ~0u);
    run_case(c, LINEAR_PLAIN, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS, 0);
  }
}

SMR_TEST(float16) {
  for (size_t i = 0; i < CASES; i++) {
    struct conv_case c = cases[i];
    run_case(&c, LINEAR_PACKED, SAMARA_FLOAT16, SAMARA_FLOAT16, BIAS | RESIDUAL | SILU, ~0u);
    run_case(&c, LINEAR_RUNTIME, SAMARA_FLOAT16, SAMARA_FLOAT16, BIAS, ~0u);
    run_case(&c, LINEAR_PACKED, SAMARA_FLOAT16, SAMARA_FLOAT32, RESIDUAL | STRIDED, ~0u);
  }
}

SMR_TEST(views) {
  for (size_t i = 0; i < CASES; i++) {
    struct conv_case c = cases[i];
    if (c.spatial == 1) c.kernel = NULL;  // pixels with gaps are no row of one window
    run_case(&c, LINEAR_PACKED, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS | RESIDUAL | SILU | STRIDED,
             ~0u);
    run_case(&c, LINEAR_RUNTIME, SAMARA_FLOAT32, SAMARA_FLOAT32, RELU | STRIDED, ~0u);
  }
}

// Where a case does not offer the algorithm, the cost model's runs.
SMR_TEST(every_algorithm) {
  static const char *const algorithms[] = {"direct", "indirect\nmain\tnext\tdirect", "unknown",
                                           "winograd_f43", "winograd_f23"};
  for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
    conv_tuned = algorithms[a];
    for (size_t i = 0; i < CASES; i++) {
      struct conv_case c = cases[i];
      c.kernel = NULL;
      run_case(&c, LINEAR_PLAIN, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS | RESIDUAL | SILU, ~0u);
      run_case(&c, LINEAR_PACKED, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS | RELU | STRIDED, ~0u);
      run_case(&c, LINEAR_PACKED, SAMARA_FLOAT16, SAMARA_FLOAT16, BIAS | RESIDUAL, ~0u);
      run_case(&c, LINEAR_RUNTIME, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS, 0);
    }
  }
  conv_tuned = NULL;
}

SMR_TEST_MAIN(RUN(against_the_definition); RUN(float16); RUN(views); RUN(every_algorithm))
