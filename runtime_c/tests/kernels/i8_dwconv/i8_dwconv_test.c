// SPDX-License-Identifier: Apache-2.0
// Tests the int8 depthwise convolution, geometric and indirect, against a naive one to the bit.
#include "base/fp.h"

#include "kernels/i8_dwconv/i8_dwconv.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/dwconv_shapes.h"

enum { IN_GAP = 1, OUT_GAP = 3, UNTOUCHED = -1 };  // kernel_alloc fills with bytes of 0xff

struct data {
  struct smr_i8_dwconv_args args;
  int8_t *in, *w, *plain;
  void *out;
  int32_t *bias, *w_zero;
  float *multiplier;
  size_t taps;
};

static int8_t draw_byte(uint32_t *seed, int extreme) {
  const uint32_t r = kernel_random(seed);
  if (extreme) return r & 1 ? INT8_MIN : r & 2 ? INT8_MAX : -127;
  return (int8_t)(uint8_t)r;
}

static int32_t *draw_ints(size_t n, int32_t low, uint32_t range, uint32_t *seed) {
  int32_t *p = (int32_t *)kernel_alloc(n * 4, 4);
  for (size_t i = 0; i < n; i++) p[i] = low + (int32_t)(kernel_random(seed) % range);
  return p;
}

static struct data make_data(const struct shape *s, uint32_t *seed) {
  struct data d = {.taps = s->kernel_h * s->kernel_w};
  const size_t panels = (s->channels + 15) / 16;
  const size_t panel_bytes = smr_i8_dwconv_panel_stride_bytes(d.taps);
  const size_t out_h =
      window_count(s->in_h, s->pad_top + s->pad_bottom, s->kernel_h, s->stride_h, s->dilation_h);
  const size_t out_w =
      window_count(s->in_w, s->pad_left + s->pad_right, s->kernel_w, s->stride_w, s->dilation_w);
  const size_t in_gap = s->dense ? 0 : IN_GAP, out_gap = s->dense ? 0 : OUT_GAP;
  const size_t in_pixel = s->channels + in_gap, out_pixel = s->channels + out_gap;
  const size_t in_bytes = s->batch * s->in_h * s->in_w * in_pixel - in_gap;
  const size_t outputs = s->batch * out_h * out_w * out_pixel - out_gap;
  d.in = (int8_t *)kernel_alloc(in_bytes, 1);
  for (size_t i = 0; i < in_bytes; i++) d.in[i] = draw_byte(seed, s->extreme);
  d.out = kernel_alloc(outputs * (s->to_i32 ? 4 : 1), 4);
  d.plain = (int8_t *)kernel_alloc(d.taps * s->channels, 1);
  for (size_t i = 0; i < d.taps * s->channels; i++) d.plain[i] = draw_byte(seed, s->extreme);
  d.w = (int8_t *)kernel_alloc(panels * panel_bytes, 1);
  smr_i8_dwconv_pack(d.taps, s->channels, d.plain, 1, d.taps, d.w);
  d.bias = draw_ints(panels * 16, -4000, 8001, seed);
  if (s->extreme) d.bias[0] = INT32_MIN, d.bias[panels * 16 - 1] = INT32_MAX;
  d.w_zero = draw_ints(panels * 16, -128, 256, seed);
  d.multiplier = (float *)kernel_alloc(panels * 16 * 4, 4);
  for (size_t c = 0; c < panels * 16; c++) {
    // Halves make ties of every odd sum; large ones saturate, beyond int32 too.
    d.multiplier[c] = s->ties      ? 0.5f
                      : s->extreme ? 0x1p20f
                                   : (kernel_random_float(seed) + 1.001f) * 0x1p-8f;
  }
  const int32_t lo = s->narrow ? -20 : -128, hi = s->narrow ? 33 : 127;
  d.args = (struct smr_i8_dwconv_args){WINDOW_ARGS(s),
                                       .channels = s->channels,
                                       .out_h = out_h,
                                       .out_w = out_w,
                                       .pieces = s->channels % 9,
                                       .in = d.in,
                                       .in_pixel_stride = in_pixel,
                                       .in_row_stride = s->in_w * in_pixel,
                                       .in_batch_stride = s->in_h * s->in_w * in_pixel,
                                       .x_zero = draw_byte(seed, s->extreme),
                                       .w = d.w,
                                       .panel_stride_bytes = panel_bytes,
                                       .w_zero = s->w_zero ? d.w_zero : NULL,
                                       .out = d.out,
                                       .out_pixel_stride = out_pixel,
                                       .out_row_stride = out_w * out_pixel,
                                       .out_batch_stride = out_h * out_w * out_pixel,
                                       .end = {.bias = s->bias ? d.bias : NULL,
                                               .multiplier = s->to_i32 ? NULL : d.multiplier,
                                               .to = s->to_i32 ? SMR_I8_TO_I32 : SMR_I8_TO_I8,
                                               .zero = draw_byte(seed, s->extreme),
                                               .lo = lo,
                                               .hi = hi}};
  return d;
}

static void free_data(struct data *d) {
  kernel_free(d->in, 1);
  kernel_free(d->out, 4);
  kernel_free(d->plain, 1);
  kernel_free(d->w, 1);
  kernel_free(d->bias, 4);
  kernel_free(d->w_zero, 4);
  kernel_free(d->multiplier, 4);
}

// The sum of channel c, given x(tap) by pointers; NULL is padding.
static int32_t expect_sum(const struct data *d, size_t c, const int8_t *const *x) {
  const struct smr_i8_dwconv_args *g = &d->args;
  int64_t sum = g->end.bias ? g->end.bias[c] : 0;
  for (size_t t = 0; t < d->taps; t++) {
    const int32_t w = d->plain[c * d->taps + t] - (g->w_zero ? g->w_zero[c] : 0);
    if (x[t]) sum += (x[t][c] - g->x_zero) * w;
  }
  return (int32_t)(uint32_t)(uint64_t)sum;
}

static int32_t expect_output(const struct data *d, size_t c, const int8_t *const *x) {
  const struct smr_i8_dwconv_end *end = &d->args.end;
  const int32_t sum = expect_sum(d, c, x);
  if (end->to == SMR_I8_TO_I32) return sum;
  const float p = (float)sum * end->multiplier[c];
  const float low = (float)(end->lo - end->zero), high = (float)(end->hi - end->zero);
  return (int32_t)rintf(p < low ? low : p > high ? high : p) + end->zero;
}

// One pixel and the gap behind it.
static int check_pixel(const struct data *d, size_t at, const int8_t *const *x, int last) {
  const size_t channels = d->args.channels;
  const int8_t *bytes = (const int8_t *)d->out + at;
  const int32_t *ints = (const int32_t *)d->out + at;
  const int wide = d->args.end.to == SMR_I8_TO_I32;
  for (size_t c = 0; c < channels; c++) {
    if ((wide ? ints[c] : bytes[c]) != expect_output(d, c, x)) return 0;
  }
  for (size_t i = channels; !last && i < d->args.out_pixel_stride; i++) {
    if ((wide ? ints[i] : bytes[i]) != UNTOUCHED) return 0;
  }
  return 1;
}

static int check_output(const struct data *d) {
  const struct smr_i8_dwconv_args *g = &d->args;
  const int8_t *x[512];
  for (size_t b = 0; b < g->batch; b++) {
    for (size_t i = 0; i < g->out_h * g->out_w; i++) {
      const size_t oy = i / g->out_w, ox = i % g->out_w;
      for (size_t t = 0; t < d->taps; t++) {
        const size_t y = oy * g->stride_h + t / g->kernel_w * g->dilation_h - g->pad_top;
        const size_t at = ox * g->stride_w + t % g->kernel_w * g->dilation_w - g->pad_left;
        const size_t from = b * g->in_batch_stride + y * g->in_row_stride;
        x[t] = y < g->in_h && at < g->in_w ? g->in + from + at * g->in_pixel_stride : NULL;
      }
      const int last = b + 1 == g->batch && i + 1 == g->out_h * g->out_w;
      const size_t out = b * g->out_batch_stride + i * g->out_pixel_stride;
      if (!check_pixel(d, out, x, last)) return 0;
    }
  }
  return 1;
}

static const uint32_t ceilings[] = {SMR_ISA_NONE,
                                    SMR_ISA_AVX2,
                                    SMR_ISA_AVX2 | SMR_ISA_AVX512,
                                    SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_VNNI,
                                    SMR_ISA_NEON,
                                    SMR_ISA_V128};
enum { CEILINGS = sizeof ceilings / sizeof *ceilings };

static void check_shape(const struct shape *s, uint32_t isa, uint32_t *seed) {
  struct data d = make_data(s, seed);
  const struct smr_i8_dwconv_config *config = smr_i8_dwconv_config(isa);
  const size_t units = smr_i8_dwconv_units(&d.args), half = units / 2;
  // The second half first: a split is an ordinary run.
  smr_i8_dwconv_run(config, &d.args, half, units);
  smr_i8_dwconv_run(config, &d.args, 0, half);
  if (!CHECK(check_output(&d))) {
    dwconv_report(smr_i8_dwconv_kernel(config, &d.args), s);
  }
  free_data(&d);
}

static void draw_options(struct shape *s, uint32_t r) {
  s->bias = r & 1;
  s->w_zero = (r >> 1 & 3) == 0;
  s->to_i32 = (r >> 3 & 3) == 0;
  s->extreme = (r >> 5 & 3) == 0;
  s->ties = r >> 7 & 1;
  s->narrow = r >> 8 & 1;
}

static int runs(size_t ceiling) { return (smr_cpu_isa() & ceilings[ceiling]) == ceilings[ceiling]; }

SMR_TEST(common_kernels_over_all_channel_counts) {
  uint32_t seed = 1;
  for (size_t i = 0; i < CEILINGS; i++) {
    for (size_t channels = 1; runs(i) && channels <= 81; channels++) {
      for (size_t kernel = 3; kernel <= 7; kernel += 2) {
        for (size_t stride = 1; stride <= 2; stride++) {
          const uint32_t r = kernel_random(&seed);
          struct shape s =
              dwconv_square(1 + (r >> 12 & 1), channels, 6 + (r >> 13) % 8, kernel, stride);
          draw_options(&s, r);
          check_shape(&s, ceilings[i], &seed);
        }
      }
    }
  }
}

// Few channels without gaps: vectors may hold several pixels.
SMR_TEST(dense_pixels_of_few_channels) {
  uint32_t seed = 5;
  for (size_t i = 0; i < CEILINGS; i++) {
    for (size_t width = 3; runs(i) && width < 45; width++) {
      for (size_t channels = 4; channels <= 32; channels += 4) {
        const uint32_t r = kernel_random(&seed), kernel = 1 + (r >> 12) % 5;
        struct shape s = dwconv_square(2, channels, width, kernel, 1);
        s.in_h = 6;
        s.kernel_w = 3;
        s.stride_h = 1 + (r >> 15 & 1);
        s.pad_left = r >> 16 & 1;
        s.pad_right = r >> 17 & 1;
        s.dense = 1;
        draw_options(&s, r);
        check_shape(&s, ceilings[i], &seed);
      }
    }
  }
}

SMR_TEST(random_geometry) {
  uint32_t seed = 2;
  for (size_t i = 0; i < CEILINGS; i++) {
    for (size_t round = 0; runs(i) && round < 500; round++) {
      struct shape s;
      if (!dwconv_draw(&s, &seed)) continue;
      draw_options(&s, kernel_random(&seed));
      check_shape(&s, ceilings[i], &seed);
    }
  }
}

// Windows whose weights no longer fit where kernels make them ready.
SMR_TEST(large_windows) {
  uint32_t seed = 3;
  for (size_t i = 0; i < CEILINGS; i++) {
    for (size_t kernel = 9; runs(i) && kernel <= 21; kernel += 4) {
      struct shape s = dwconv_square(1, 35, kernel + 5, kernel, 1);
      s.in_h = kernel + 1;
      s.pad_top = s.pad_bottom = s.pad_right = 0;
      s.pad_left = 1;
      draw_options(&s, kernel_random(&seed));
      check_shape(&s, ceilings[i], &seed);
    }
  }
}

SMR_TEST(indirect_matches) {
  uint32_t seed = 4;
  for (size_t i = 0; i < CEILINGS; i++) {
    for (size_t channels = 1; runs(i) && channels <= 81; channels += 5) {
      for (size_t taps = 1; taps <= 400; taps += taps > 40 ? 150 : 9) {
        // A row of `pixels` as a 1 x taps kernel gives weights and data; taps are then permuted.
        struct shape s = dwconv_row(channels, taps);
        draw_options(&s, kernel_random(&seed));
        struct data d = make_data(&s, &seed);
        const size_t pixels = d.args.out_w, offset = 1;
        int8_t *pad = (int8_t *)kernel_alloc(channels, 1);
        memset(pad, d.args.x_zero, channels);
        const int8_t **pointers =
            (const int8_t **)kernel_alloc(pixels * taps * sizeof *pointers, 0);
        for (size_t p = 0; p < pixels * taps; p++) {
          const size_t from = kernel_random(&seed) % s.in_w;
          pointers[p] =
              kernel_random(&seed) % 5 == 0 ? pad : d.in + from * d.args.in_pixel_stride - offset;
        }
        const struct smr_i8_dwconv_indirect_args args = {
            .pixels = pixels,
            .taps = taps,
            .channels = channels,
            .indirect = pointers,
            .in_offset_bytes = offset,
            .pad = pad,
            .x_zero = d.args.x_zero,
            .w = d.w,
            .panel_stride_bytes = d.args.panel_stride_bytes,
            .w_zero = d.args.w_zero,
            .out = d.out,
            .out_stride = d.args.out_pixel_stride,
            .end = d.args.end};
        const struct smr_i8_dwconv_config *config = smr_i8_dwconv_config(ceilings[i]);
        smr_i8_dwconv_indirect_run(config, &args, pixels / 2, pixels);
        smr_i8_dwconv_indirect_run(config, &args, 0, pixels / 2);
        int right = 1;
        for (size_t p = 0; p < pixels; p++) {
          const int8_t *x[400];
          for (size_t t = 0; t < taps; t++)
            x[t] = pointers[p * taps + t] == pad ? NULL : pointers[p * taps + t] + offset;
          right = right && check_pixel(&d, p * args.out_stride, x, p + 1 == pixels);
        }
        if (!CHECK(right)) fprintf(stderr, "  indirect c=%zu taps=%zu\n", channels, taps);
        kernel_free(pointers, 0);
        kernel_free(pad, 1);
        free_data(&d);
      }
    }
  }
}

SMR_TEST(wide_rows_are_split) {
  // A row of 40000 taps per pixel may not be one unit, however wide it is.
  struct smr_i8_dwconv_args args = {
      .batch = 1, .channels = 1, .out_h = 1, .out_w = 1000, .kernel_h = 200, .kernel_w = 200};
  CHECK_EQ_INT(smr_i8_dwconv_units(&args), 1000);
  args.kernel_h = args.kernel_w = 1;
  CHECK_EQ_INT(smr_i8_dwconv_units(&args), 1);
  args.out_h = 0;
  CHECK_EQ_INT(smr_i8_dwconv_units(&args), 0);
}

SMR_TEST(names_its_kernel) {
  struct smr_i8_dwconv_args args = {.kernel_h = 3, .kernel_w = 3};
  CHECK_STR(smr_i8_dwconv_kernel(smr_i8_dwconv_config(0), &args), "i8_dwconv_3x3__scalar");
  args.kernel_h = 1;
  CHECK_STR(smr_i8_dwconv_kernel(smr_i8_dwconv_config(0), &args), "i8_dwconv__scalar");
#define SMR_UKERNEL(isa, suffix, lanes) (void)KERNEL_RUNS(isa, suffix);
#include "kernels/i8_dwconv/kernels.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(common_kernels_over_all_channel_counts); RUN(dense_pixels_of_few_channels);
              RUN(random_geometry); RUN(large_windows); RUN(indirect_matches);
              RUN(wide_rows_are_split); RUN(names_its_kernel))
