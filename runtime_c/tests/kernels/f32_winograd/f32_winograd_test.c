// SPDX-License-Identifier: Apache-2.0
// Winograd convolution of every form and ISA this CPU has, against windows in double; its errors
// beside those of the product over pointers.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_winograd/f32_winograd.h"

struct conv {
  size_t batch, h, w, c, n, top, left, bottom, right;
  size_t lead;  // floats between the channels of one pixel and those of the next
  int residual, bias;
};

struct operands {
  size_t out_h, out_w, x_pixel, y_pixel, panels;
  float *x, *w, *bias, *residual, *zero;  // w: panels [ceil(n / 16)][9 * c][16]
  float lo, hi;
};

static float *zeros(size_t n) {
  float *p = (float *)kernel_alloc(n * sizeof(float), 4);
  memset(p, 0, n * sizeof(float));
  return p;
}

static struct operands make(const struct conv *a) {
  uint32_t seed = (uint32_t)(a->c * 131 + a->n);
  struct operands o = {.out_h = a->h + a->top + a->bottom - 2,
                       .out_w = a->w + a->left + a->right - 2,
                       .x_pixel = a->c + a->lead,
                       .y_pixel = a->n + 2 * a->lead,
                       .panels = smr_panels(a->n),
                       .lo = a->residual ? -0.4f : -INFINITY,
                       .hi = a->residual ? 0.7f : INFINITY};
  const size_t out_pixels = a->batch * o.out_h * o.out_w;
  // Buffers end with the last channel of the last pixel.
  o.x = kernel_floats(a->batch * a->h * a->w * o.x_pixel - a->lead, &seed);
  o.w = kernel_floats(o.panels * 9 * a->c * SMR_PANEL, &seed);
  o.bias = a->bias ? zeros(o.panels * SMR_PANEL) : NULL;
  for (size_t j = 0; a->bias && j < a->n; j++) o.bias[j] = kernel_random_float(&seed);
  o.residual = a->residual ? kernel_floats(out_pixels * o.y_pixel - 2 * a->lead, &seed) : NULL;
  o.zero = zeros(a->c);
  const float scale = 1.0f / sqrtf(3.0f * (float)a->c);
  for (size_t p = 0; p < o.panels; p++)
    for (size_t i = 0; i < 9 * a->c * SMR_PANEL; i++) {
      float *w = &o.w[p * 9 * a->c * SMR_PANEL + i];
      *w = p * SMR_PANEL + i % SMR_PANEL < a->n ? *w * scale : 0.0f;
    }
  return o;
}

static void unmake(const struct operands *o) {
  kernel_free(o->x, 4);
  kernel_free(o->w, 4);
  kernel_free(o->zero, 4);
  if (o->bias) kernel_free(o->bias, 4);
  if (o->residual) kernel_free(o->residual, 4);
}

static double clamp(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }

// Output (b, y, x, n) in double.
static double exact(const struct conv *a, const struct operands *o, size_t b, size_t y, size_t x,
                    size_t n) {
  double sum = o->bias ? (double)o->bias[n] : 0;
  for (size_t t = 0; t < 9; t++) {
    const size_t py = y + t / 3 - a->top, px = x + t % 3 - a->left;
    for (size_t c = 0; py < a->h && px < a->w && c < a->c; c++)
      sum += (double)o->x[((b * a->h + py) * a->w + px) * o->x_pixel + c] *
             (double)o->w[(n / SMR_PANEL * 9 * a->c + t * a->c + c) * SMR_PANEL + n % SMR_PANEL];
  }
  if (o->residual) sum += (double)o->residual[((b * o->out_h + y) * o->out_w + x) * o->y_pixel + n];
  return clamp(sum, (double)o->lo, (double)o->hi);
}

static struct smr_f32_winograd_args args_of(const struct conv *a, const struct operands *o) {
  const size_t x_row = a->w * o->x_pixel, y_row = o->out_w * o->y_pixel;
  return (struct smr_f32_winograd_args){
      .batch = a->batch,
      .in_h = a->h,
      .in_w = a->w,
      .channels = a->c,
      .out_h = o->out_h,
      .out_w = o->out_w,
      .n = a->n,
      .pad_top = a->top,
      .pad_left = a->left,
      .threads = 1 + (a->batch + a->c) % 3,
      .in = o->x,
      .in_pixel_stride = o->x_pixel,
      .in_row_stride = x_row,
      .in_batch_stride = x_row * a->h,
      .zero = o->zero,
      .bias = o->bias,
      .out_pixel_stride = o->y_pixel,
      .out_row_stride = y_row,
      .out_batch_stride = y_row * o->out_h,
      .residual = o->residual,
      .residual_pixel_stride = o->y_pixel,
      .residual_row_stride = y_row,
      .residual_batch_stride = y_row * o->out_h,
      .lo = o->lo,
      .hi = o->hi,
  };
}

static float *transformed(enum smr_winograd_form form, uint32_t isa, const struct conv *a,
                          const struct operands *o) {
  const size_t bytes = smr_f32_winograd_weight_bytes(form, a->c, a->n);
  float *weights = (float *)kernel_alloc(bytes, 4);
  const struct smr_f32_winograd_weights how = {.channels = a->c,
                                               .n = a->n,
                                               .src = o->w,
                                               .panel_stride = 9 * a->c * SMR_PANEL,
                                               .tap_stride = a->c * SMR_PANEL,
                                               .c_stride = SMR_PANEL,
                                               .n_stride = 1,
                                               .dst = weights};
  smr_f32_winograd_weights(form, isa, &how, 0, o->panels);
  return weights;
}

// Every step in pieces of `piece`.
static float *run(enum smr_winograd_form form, uint32_t isa, const struct conv *a,
                  const struct operands *o, size_t piece) {
  struct smr_f32_winograd_args args = args_of(a, o);
  float *weights = transformed(form, isa, a, o);
  float *y = (float *)kernel_alloc(
      (a->batch * o->out_h * o->out_w * o->y_pixel - 2 * a->lead) * sizeof(float), 4);
  args.weights = weights;
  args.out = y;
  struct smr_f32_winograd_plan plan;
  smr_f32_winograd_plan_make(form, isa, smr_f32_gemm_config(isa), &args, &plan);
  if (plan.tiles >= 64) CHECK_EQ_INT(plan.blocks % args.threads, 0);
  float *room = (float *)kernel_alloc(smr_f32_winograd_block_floats(&plan) * sizeof(float), 4);
  for (size_t block = 0; block < plan.blocks; block++) {
    const size_t tiles = smr_f32_winograd_tiles(&plan, block);
    const size_t units = smr_f32_winograd_units(&plan, block);
    for (size_t t = 0; t < tiles; t += piece)
      smr_f32_winograd_input(&plan, &args, block, room, t, t + piece < tiles ? t + piece : tiles);
    for (size_t u = 0; u < units; u += piece)
      smr_f32_winograd_products(&plan, &args, block, room, u,
                                u + piece < units ? u + piece : units);
    for (size_t t = 0; t < tiles; t += piece)
      smr_f32_winograd_output(&plan, &args, block, room, t, t + piece < tiles ? t + piece : tiles);
  }
  kernel_free(room, 4);
  kernel_free(weights, 4);
  return y;
}

// Root mean square of the error of y against double. Checks that gaps were not written.
static double error_of(const struct conv *a, const struct operands *o, const float *y,
                       double tolerance) {
  double sum = 0;
  for (size_t i = 0; i < a->batch * o->out_h * o->out_w; i++) {
    const size_t b = i / (o->out_h * o->out_w), py = i / o->out_w % o->out_h, px = i % o->out_w;
    for (size_t n = 0; n < o->y_pixel; n++) {
      if (n >= a->n && i + 1 == a->batch * o->out_h * o->out_w) break;
      const double got = (double)y[i * o->y_pixel + n];
      if (n >= a->n) {
        CHECK(got != got);
        continue;
      }
      const double want = exact(a, o, b, py, px, n);
      CHECK_NEAR(got, want, tolerance);
      sum += (got - want) * (got - want);
    }
  }
  return sqrt(sum / (double)(a->batch * o->out_h * o->out_w * a->n));
}

static const struct conv convs[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0},      {1, 3, 3, 3, 2, 0, 0, 0, 0, 0, 0, 1},
    {1, 4, 4, 16, 16, 1, 1, 1, 1, 0, 0, 1},    {1, 5, 7, 17, 15, 1, 1, 1, 1, 3, 1, 1},
    {2, 6, 5, 7, 33, 0, 2, 1, 0, 1, 1, 0},     {1, 8, 8, 32, 24, 1, 1, 1, 1, 0, 1, 1},
    {3, 9, 3, 5, 9, 2, 0, 2, 2, 0, 0, 0},      {1, 2, 13, 31, 47, 1, 0, 1, 5, 2, 1, 1},
    {1, 31, 33, 19, 20, 1, 1, 1, 1, 0, 1, 1},  {2, 14, 15, 64, 48, 1, 1, 1, 1, 0, 0, 1},
    {1, 3, 2, 1024, 8, 1, 1, 1, 1, 0, 0, 1},   {1, 3, 2, 8, 1024, 1, 1, 1, 1, 0, 1, 1},
    {1, 40, 40, 48, 40, 1, 1, 1, 1, 16, 1, 1},
};

static void check_isa(uint32_t isa) {
  for (int f = 0; f < SMR_WINOGRAD_FORMS; f++)
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
      const struct operands o = make(&convs[i]);
      float *y = run((enum smr_winograd_form)f, isa, &convs[i], &o, SIZE_MAX / 2);
      error_of(&convs[i], &o, y, 8e-6);
      kernel_free(y, 4);
      unmake(&o);
    }
}

SMR_TEST(every_isa) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_isa(bit);
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(pieces_change_no_bit) {
  for (int f = 0; f < SMR_WINOGRAD_FORMS; f++)
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
      const struct conv *a = &convs[i];
      const struct operands o = make(a);
      const size_t floats = a->batch * o.out_h * o.out_w * o.y_pixel - 2 * a->lead;
      float *whole = run((enum smr_winograd_form)f, smr_cpu_isa(), a, &o, SIZE_MAX / 2);
      float *parts = run((enum smr_winograd_form)f, smr_cpu_isa(), a, &o, 3);
      CHECK_MEM(parts, whole, floats * sizeof(float));
      kernel_free(whole, 4);
      kernel_free(parts, 4);
      unmake(&o);
    }
}

SMR_TEST(weights_have_the_same_bits_everywhere) {
  const struct conv a = {1, 4, 4, 19, 35, 1, 1, 1, 1, 0, 0, 0};
  const struct operands o = make(&a);
  for (int f = 0; f < SMR_WINOGRAD_FORMS; f++) {
    const enum smr_winograd_form form = (enum smr_winograd_form)f;
    float *plain = transformed(form, SMR_ISA_NONE, &a, &o);
    float *best = transformed(form, smr_cpu_isa(), &a, &o);
    CHECK_MEM(best, plain, smr_f32_winograd_weight_bytes(form, a.c, a.n));
    kernel_free(plain, 4);
    kernel_free(best, 4);
  }
  unmake(&o);
}

// Weights [n][9][c] give the bits of panels.
SMR_TEST(weights_of_plain_order) {
  const struct conv a = {1, 4, 4, 19, 35, 1, 1, 1, 1, 0, 0, 0};
  const struct operands o = make(&a);
  float *rows = (float *)kernel_alloc(a.n * 9 * a.c * sizeof(float), 4);
  for (size_t n = 0; n < a.n; n++)
    for (size_t r = 0; r < 9 * a.c; r++)
      rows[n * 9 * a.c + r] = o.w[(n / SMR_PANEL * 9 * a.c + r) * SMR_PANEL + n % SMR_PANEL];
  const size_t bytes = smr_f32_winograd_weight_bytes(SMR_WINOGRAD_F43, a.c, a.n);
  float *want = transformed(SMR_WINOGRAD_F43, smr_cpu_isa(), &a, &o);
  float *got = (float *)kernel_alloc(bytes, 4);
  const struct smr_f32_winograd_weights how = {.channels = a.c,
                                               .n = a.n,
                                               .src = rows,
                                               .panel_stride = SMR_PANEL * 9 * a.c,
                                               .tap_stride = a.c,
                                               .c_stride = 1,
                                               .n_stride = 9 * a.c,
                                               .dst = got};
  smr_f32_winograd_weights(SMR_WINOGRAD_F43, smr_cpu_isa(), &how, 0, 1);
  smr_f32_winograd_weights(SMR_WINOGRAD_F43, smr_cpu_isa(), &how, 1, o.panels);
  CHECK_MEM(got, want, bytes);
  kernel_free(rows, 4);
  kernel_free(want, 4);
  kernel_free(got, 4);
  unmake(&o);
}

static float *direct(const struct conv *a, const struct operands *o, uint32_t isa) {
  const size_t pixels = o->out_h * o->out_w;
  const float **pointers = (const float **)malloc(pixels * 9 * sizeof *pointers);
  for (size_t i = 0; i < pixels * 9; i++) {
    const size_t y = i / 9 / o->out_w + i % 9 / 3 - a->top;
    const size_t x = i / 9 % o->out_w + i % 3 - a->left;
    pointers[i] = y < a->h && x < a->w ? o->x + (y * a->w + x) * o->x_pixel : o->zero;
  }
  float *y = (float *)kernel_alloc(pixels * a->n * sizeof(float), 4);
  struct smr_f32_gemm_args args = {.batch = 1,
                                   .m = pixels,
                                   .n = a->n,
                                   .k = a->c,
                                   .taps = 9,
                                   .indirect = pointers,
                                   .zero = o->zero,
                                   .w = o->w,
                                   .panel_stride_bytes = 9 * a->c * SMR_PANEL * sizeof(float),
                                   .out = y,
                                   .out_stride = a->n,
                                   .lo = -INFINITY,
                                   .hi = INFINITY};
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(smr_f32_gemm_config(isa), &args, &plan);
  smr_f32_gemm_run(&plan, &args, 0, plan.units);
  free((void *)pointers);
  return y;
}

// What docs/internals/kernels.md promises; found: F(2, 3) 0.6 to 0.9 times, F(4, 3) 1.8 (256
// channels) to 2.8 (8 channels).
SMR_TEST(errors_beside_the_direct_product) {
  static const size_t channels[] = {8, 16, 64, 256};
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
    const struct conv a = {1, 12, 12, channels[i], 24, 1, 1, 1, 1, 0, 0, 0};
    const struct operands o = make(&a);
    float *y = direct(&a, &o, smr_cpu_isa());
    const double least = error_of(&a, &o, y, 1e-5);
    kernel_free(y, 4);
    for (int f = 0; f < SMR_WINOGRAD_FORMS; f++) {
      y = run((enum smr_winograd_form)f, smr_cpu_isa(), &a, &o, SIZE_MAX / 2);
      const double error = error_of(&a, &o, y, 1e-5);
      CHECK(error <= (f == SMR_WINOGRAD_F23 ? 1.0 : 4.0) * least);
      kernel_free(y, 4);
    }
    unmake(&o);
  }
}

// A NaN comes out where the direct product has it, and nowhere beyond its tiles.
SMR_TEST(nan_stays_in_its_tiles) {
  const struct conv a = {1, 20, 20, 16, 16, 1, 1, 1, 1, 0, 0, 0};
  const struct operands o = make(&a);
  for (int f = 0; f < SMR_WINOGRAD_FORMS; f++) {
    const size_t side = smr_winograd_side((enum smr_winograd_form)f);
    o.x[(10 * a.w + 10) * a.c + 3] = NAN;
    float *y = run((enum smr_winograd_form)f, smr_cpu_isa(), &a, &o, SIZE_MAX / 2);
    for (size_t i = 0; i < a.h * a.w; i++) {
      const size_t py = i / a.w, px = i % a.w;
      const int in_window = py + 1 >= 10 && py <= 11 && px + 1 >= 10 && px <= 11;
      // Tiles whose inputs, from one before their outputs to one after, hold the pixel.
      const size_t ty = py / side * side, tx = px / side * side;
      const int in_tile = ty <= 11 && ty + side >= 10 && tx <= 11 && tx + side >= 10;
      if (in_window) CHECK(y[i * a.n] != y[i * a.n]);
      if (!in_tile) CHECK(y[i * a.n] == y[i * a.n]);
    }
    kernel_free(y, 4);
  }
  unmake(&o);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(every_isa);
  RUN(pieces_change_no_bit);
  RUN(weights_have_the_same_bits_everywhere);
  RUN(weights_of_plain_order);
  RUN(errors_beside_the_direct_product);
  RUN(nan_stays_in_its_tiles);
  return SMR_TEST_END();
}
