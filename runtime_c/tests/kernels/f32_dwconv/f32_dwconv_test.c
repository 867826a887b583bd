// SPDX-License-Identifier: Apache-2.0
// Tests the depthwise convolution, geometric and indirect, against a naive one to the bit.
#include "base/fp.h"

#include "kernels/f32_dwconv/f32_dwconv.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/dwconv_shapes.h"

enum { IN_GAP = 1, OUT_GAP = 2, RESIDUAL_GAP = 3 };

struct data {
  struct smr_f32_dwconv_args args;
  float *in, *out, *residual, *bias;
  void *w;
};

static struct data make_data(const struct shape *s, uint32_t *seed) {
  struct data d;
  const size_t taps = s->kernel_h * s->kernel_w, bytes = s->f16 ? 2 : 4;
  const size_t panels = smr_panels(s->channels);
  const size_t panel_bytes = smr_panel_stride_bytes(taps, bytes);
  const size_t out_h =
      window_count(s->in_h, s->pad_top + s->pad_bottom, s->kernel_h, s->stride_h, s->dilation_h);
  const size_t out_w =
      window_count(s->in_w, s->pad_left + s->pad_right, s->kernel_w, s->stride_w, s->dilation_w);
  const size_t in_pixel = s->channels + IN_GAP, out_pixel = s->channels + OUT_GAP;
  const size_t residual_pixel = s->channels + RESIDUAL_GAP;
  d.in = kernel_floats(s->batch * s->in_h * s->in_w * in_pixel - IN_GAP, seed);
  d.out = (float *)kernel_alloc((s->batch * out_h * out_w * out_pixel - OUT_GAP) * 4, 4);
  d.residual = kernel_floats(s->batch * out_h * out_w * residual_pixel - RESIDUAL_GAP, seed);
  d.bias = kernel_floats(panels * 16, seed);
  d.w = kernel_alloc((panels - 1) * panel_bytes + taps * 16 * bytes, 4);
  kernel_fill_panels(d.w, s->channels, taps, panel_bytes, s->f16, seed);
  d.args = (struct smr_f32_dwconv_args){WINDOW_ARGS(s),
                                        .channels = s->channels,
                                        .out_h = out_h,
                                        .out_w = out_w,
                                        .pieces = s->channels % 9,
                                        .in = d.in,
                                        .in_pixel_stride = in_pixel,
                                        .in_row_stride = s->in_w * in_pixel,
                                        .in_batch_stride = s->in_h * s->in_w * in_pixel,
                                        .w = d.w,
                                        .w_type = s->f16 ? SMR_GEMM_F16 : SMR_GEMM_F32,
                                        .panel_stride_bytes = panel_bytes,
                                        .bias = s->bias ? d.bias : NULL,
                                        .out = d.out,
                                        .out_pixel_stride = out_pixel,
                                        .out_row_stride = out_w * out_pixel,
                                        .out_batch_stride = out_h * out_w * out_pixel,
                                        .residual = s->residual ? d.residual : NULL,
                                        .residual_pixel_stride = residual_pixel,
                                        .residual_row_stride = out_w * residual_pixel,
                                        .residual_batch_stride = out_h * out_w * residual_pixel,
                                        .lo = s->clamp ? -0.25f : -INFINITY,
                                        .hi = s->clamp ? 0.5f : INFINITY};
  return d;
}

static void free_data(struct data *d) {
  kernel_free(d->in, 4);
  kernel_free(d->out, 4);
  kernel_free(d->residual, 4);
  kernel_free(d->bias, 4);
  kernel_free(d->w, 4);
}

static float weight(const struct smr_f32_dwconv_args *g, size_t tap, size_t c) {
  const char *panel = (const char *)g->w + c / 16 * g->panel_stride_bytes;
  const size_t at = tap * 16 + c % 16;
  return g->w_type == SMR_GEMM_F16 ? smr_f16_to_f32(((const uint16_t *)(const void *)panel)[at])
                                   : ((const float *)(const void *)panel)[at];
}

static float expect(const struct smr_f32_dwconv_args *g, size_t b, size_t y, size_t x, size_t c,
                    int fused) {
  float sum = g->bias ? g->bias[c] : 0.0f;
  for (size_t ky = 0; ky < g->kernel_h; ky++) {
    for (size_t kx = 0; kx < g->kernel_w; kx++) {
      const size_t in_y = y * g->stride_h + ky * g->dilation_h - g->pad_top;  // wraps when outside
      const size_t in_x = x * g->stride_w + kx * g->dilation_w - g->pad_left;
      if (in_y >= g->in_h || in_x >= g->in_w) continue;
      const float v =
          g->in[b * g->in_batch_stride + in_y * g->in_row_stride + in_x * g->in_pixel_stride + c];
      const float w = weight(g, ky * g->kernel_w + kx, c);
      sum = fused ? fmaf(v, w, sum) : v * w + sum;
    }
  }
  if (g->residual) {
    sum += g->residual[b * g->residual_batch_stride + y * g->residual_row_stride +
                       x * g->residual_pixel_stride + c];
  }
  return sum < g->lo ? g->lo : sum > g->hi ? g->hi : sum;
}

static int check_output(const struct smr_f32_dwconv_args *g, int fused) {
  for (size_t b = 0; b < g->batch; b++) {
    for (size_t y = 0; y < g->out_h; y++) {
      for (size_t x = 0; x < g->out_w; x++) {
        const float *out =
            g->out + b * g->out_batch_stride + y * g->out_row_stride + x * g->out_pixel_stride;
        for (size_t c = 0; c < g->channels; c++) {
          if (!kernel_same_bits(out[c], expect(g, b, y, x, c, fused))) return 0;
        }
        const int last = b + 1 == g->batch && y + 1 == g->out_h && x + 1 == g->out_w;
        for (size_t i = 0; !last && i < OUT_GAP; i++) {
          if (!isnan(out[g->channels + i])) return 0;
        }
      }
    }
  }
  return 1;
}

static void check_shape(const struct shape *s, uint32_t isa, uint32_t *seed) {
  struct data d = make_data(s, seed);
  const struct smr_f32_dwconv_config *config = smr_f32_dwconv_config(isa);
  const size_t units = smr_f32_dwconv_units(&d.args), half = units / 2;
  // The second half first: a split is an ordinary run.
  smr_f32_dwconv_run(config, &d.args, half, units);
  smr_f32_dwconv_run(config, &d.args, 0, half);
  if (!CHECK(check_output(&d.args, kernel_fused(isa)))) {
    dwconv_report(smr_f32_dwconv_kernel(config, &d.args), s);
  }
  free_data(&d);
}

static void draw_options(struct shape *s, uint32_t r) {
  s->f16 = r & 1;
  s->bias = r >> 1 & 1;
  s->residual = r >> 2 & 1;
  s->clamp = r >> 3 & 1;
}

SMR_TEST(common_kernels_over_all_channel_counts) {
  uint32_t seed = 1;
  for (size_t i = 0; i < WINDOW_CEILINGS; i++) {
    if ((smr_cpu_isa() & window_ceilings[i]) != window_ceilings[i]) continue;
    for (size_t channels = 1; channels <= 81; channels++) {
      for (size_t kernel = 3; kernel <= 5; kernel += 2) {
        for (size_t stride = 1; stride <= 2; stride++) {
          const uint32_t r = kernel_random(&seed);
          struct shape s =
              dwconv_square(1 + (r >> 8 & 1), channels, 6 + (r >> 9) % 8, kernel, stride);
          draw_options(&s, r);
          check_shape(&s, window_ceilings[i], &seed);
        }
      }
    }
  }
}

SMR_TEST(random_geometry) {
  uint32_t seed = 2;
  for (size_t i = 0; i < WINDOW_CEILINGS; i++) {
    if ((smr_cpu_isa() & window_ceilings[i]) != window_ceilings[i]) continue;
    for (size_t round = 0; round < 400; round++) {
      struct shape s;
      if (!dwconv_draw(&s, &seed)) continue;
      draw_options(&s, kernel_random(&seed));
      check_shape(&s, window_ceilings[i], &seed);
    }
  }
}

// Images that are copied with their padding: as a whole, in blocks of rows, too large for either.
SMR_TEST(pixels_a_power_of_two_apart) {
  uint32_t seed = 4;
  for (size_t i = 0; i < WINDOW_CEILINGS; i++) {
    if ((smr_cpu_isa() & window_ceilings[i]) != window_ceilings[i]) continue;
    for (size_t round = 0; round < 24; round++) {
      const size_t kernel = round % 2 ? 3 : 5, dilation = 1 + round / 12;
      const size_t reach = (kernel - 1) * dilation;
      const size_t width = 4 + kernel_random(&seed) % (round % 8 == 7 ? 90 : 26);
      struct shape s = dwconv_square(1 + round % 3 / 2, 256 - IN_GAP, width, kernel, 1);
      s.in_h = 4 + kernel_random(&seed) % 20;
      s.stride_h = 1 + round / 2 % 2;
      s.stride_w = 1 + round / 4 % 2;
      s.dilation_h = s.dilation_w = dilation;
      s.pad_top = s.pad_bottom = reach / 2;
      s.pad_left = kernel_random(&seed) % (reach + 1);
      s.pad_right = reach;
      draw_options(&s, kernel_random(&seed));
      check_shape(&s, window_ceilings[i], &seed);
    }
  }
}

SMR_TEST(indirect_matches) {
  uint32_t seed = 3;
  const uint32_t have = smr_cpu_isa();
  for (size_t i = 0; i < WINDOW_CEILINGS; i++) {
    if ((have & window_ceilings[i]) != window_ceilings[i]) continue;
    const int fused = kernel_fused(window_ceilings[i]);
    for (size_t channels = 1; channels <= 81; channels += 5) {
      for (size_t taps = 1; taps <= 28; taps += 9) {
        const uint32_t r = kernel_random(&seed);
        // A row of `pixels` as a 1 x taps kernel gives weights and data; taps are then permuted.
        struct shape s = dwconv_row(channels, taps);
        draw_options(&s, r);
        struct data d = make_data(&s, &seed);
        const size_t pixels = d.args.out_w;
        float *zero = (float *)kernel_alloc(channels * 4, 4);
        for (size_t c = 0; c < channels; c++) zero[c] = 0.0f;
        const float **pointers = (const float **)malloc(pixels * taps * sizeof *pointers);
        REQUIRE(pointers != NULL);
        for (size_t p = 0; p < pixels * taps; p++) {
          const size_t from = kernel_random(&seed) % (s.in_w + 1);
          const uintptr_t at = (uintptr_t)(d.in + from * d.args.in_pixel_stride) - 32;
          pointers[p] = from == s.in_w ? zero : (const float *)at;
        }
        const struct smr_f32_dwconv_indirect_args args = {
            .pixels = pixels,
            .taps = taps,
            .channels = channels,
            .indirect = pointers,
            .in_offset_bytes = 32,
            .zero = zero,
            .w = d.w,
            .w_type = d.args.w_type,
            .panel_stride_bytes = d.args.panel_stride_bytes,
            .bias = d.args.bias,
            .out = d.out,
            .out_stride = d.args.out_pixel_stride,
            .residual = d.args.residual,
            .residual_stride = d.args.residual_pixel_stride,
            .lo = d.args.lo,
            .hi = d.args.hi};
        smr_f32_dwconv_indirect_run(smr_f32_dwconv_config(window_ceilings[i]), &args, 2, pixels);
        smr_f32_dwconv_indirect_run(smr_f32_dwconv_config(window_ceilings[i]), &args, 0, 2);
        size_t wrong = 0;
        for (size_t p = 0; p < pixels; p++) {
          for (size_t c = 0; c < channels; c++) {
            float sum = args.bias ? args.bias[c] : 0.0f;
            for (size_t t = 0; t < taps; t++) {
              const float *q = pointers[p * taps + t];
              const float v = q == zero ? 0.0f : ((const float *)((uintptr_t)q + 32))[c];
              sum = fused ? fmaf(v, weight(&d.args, t, c), sum) : v * weight(&d.args, t, c) + sum;
            }
            if (args.residual) sum += args.residual[p * args.residual_stride + c];
            sum = sum < args.lo ? args.lo : sum > args.hi ? args.hi : sum;
            wrong += !kernel_same_bits(d.out[p * args.out_stride + c], sum);
          }
        }
        if (!CHECK_EQ_INT(wrong, 0))
          fprintf(stderr, "  c=%zu taps=%zu f16=%d\n", channels, taps, s.f16);
        free((void *)pointers);
        kernel_free(zero, 4);
        free_data(&d);
      }
    }
  }
}

SMR_TEST(wide_rows_are_split) {
  uint32_t seed = 5;
  for (size_t i = 0; i < WINDOW_CEILINGS; i++) {
    if ((smr_cpu_isa() & window_ceilings[i]) != window_ceilings[i]) continue;
    struct shape s = dwconv_row(2, 600);
    s.in_w = 700;
    s.pad_left = s.pad_right = 300;
    draw_options(&s, kernel_random(&seed));
    check_shape(&s, window_ceilings[i], &seed);
    struct data d = make_data(&s, &seed);
    // 701 outputs of 600 taps: each unit has 2^15 taps at most.
    CHECK_EQ_INT(smr_f32_dwconv_units(&d.args), (701 + 53) / 54);
    d.args.kernel_h = SIZE_MAX / 2;
    CHECK_EQ_INT(smr_f32_dwconv_units(&d.args), 701);
    free_data(&d);
  }
}

SMR_TEST(nan_and_empty) {
  uint32_t seed = 4;
  struct shape s = dwconv_square(1, 20, 8, 3, 1);
  s.clamp = 1;
  struct data d = make_data(&s, &seed);
  d.in[3] = NAN;
  const struct smr_f32_dwconv_config *config = smr_f32_dwconv_config(smr_cpu_isa());
  smr_f32_dwconv_run(config, &d.args, 0, smr_f32_dwconv_units(&d.args));
  CHECK(isnan(d.out[3]));
  CHECK(!isnan(d.out[2]));
  CHECK(isnan(d.out[d.args.out_pixel_stride + 3]));
  CHECK(!isnan(d.out[2 * d.args.out_pixel_stride + 3]));
  d.args.channels = 0;
  CHECK_EQ_INT(smr_f32_dwconv_units(&d.args), 0);
  free_data(&d);
}

// Quads with gaps between pixels and rows, in buffers of exact size.
static void check_quads(uint32_t isa, size_t channels, size_t rows, size_t pixels) {
  uint32_t seed = (uint32_t)(channels * 131 + rows * 7 + pixels);
  const size_t panel_bytes = smr_panel_stride_bytes(9, 4), panels = smr_panels(channels);
  const size_t in_step = channels + IN_GAP, in_row = (pixels + 2) * in_step;
  const size_t out_step = channels + OUT_GAP, out_row = (2 * pixels + 1) * out_step;
  const size_t in_size = rows * in_row + pixels * in_step + channels;
  const size_t out_size = (2 * rows - 1) * out_row + (2 * pixels - 1) * out_step + channels;
  float *in = kernel_floats(in_size, &seed), *w = kernel_floats(panels * panel_bytes / 4, &seed);
  float *out = kernel_alloc(out_size * 4, 4), *want = kernel_alloc(out_size * 4, 4);
  for (size_t i = 0; i < out_size; i++) out[i] = want[i] = -7.0f;
  const struct smr_f32_dwconv_quads quads = {.rows = rows,
                                             .pixels = pixels,
                                             .channels = channels,
                                             .in = in,
                                             .in_row = in_row,
                                             .in_step = in_step,
                                             .w = w,
                                             .panel_stride_bytes = panel_bytes,
                                             .out = out,
                                             .out_row = out_row,
                                             .out_step = out_step};
  smr_f32_dwconv_quads_run(smr_f32_dwconv_config(isa), &quads);
  static const size_t first[] = {0, 4, 6, 8};
  for (size_t i = 0; i < rows * pixels * 4 * channels; i++) {
    const size_t c = i % channels, phase = i / channels % 4, pixel = i / channels / 4;
    const size_t y = pixel / pixels, x = pixel % pixels, py = phase / 2, px = phase % 2;
    const float *weight = w + c / 16 * (panel_bytes / 4) + c % 16;
    size_t tap = first[phase];
    double sum = 0;
    for (size_t iy = py; iy < 2; iy++)
      for (size_t ix = px; ix < 2; ix++)
        sum += (double)in[(y + iy) * in_row + (x + ix) * in_step + c] * (double)weight[tap++ * 16];
    const size_t at = (2 * y + py) * out_row + (2 * x + px) * out_step + c;
    CHECK_NEAR(out[at], sum, 1e-6);
    want[at] = out[at];
  }
  CHECK_MEM(out, want, out_size * 4);  // nothing beside them
  kernel_free(in, 4), kernel_free(w, 4), kernel_free(out, 4), kernel_free(want, 4);
}

SMR_TEST(quads) {
  const uint32_t have = smr_cpu_isa();
#define SMR_UKERNEL(isa, suffix, lanes)                                \
  if ((have & (isa)) == (isa))                                         \
    for (size_t channels = 1; channels <= 3 * (lanes) + 1; channels++) \
      for (size_t n = 1; n <= 3; n++) check_quads((isa), channels, n, 4 - n);
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(names_its_kernel) {
  struct smr_f32_dwconv_args args = {.kernel_h = 3, .kernel_w = 3};
  CHECK_STR(smr_f32_dwconv_kernel(smr_f32_dwconv_config(0), &args), "f32_dwconv_3x3__scalar");
  args.kernel_h = 1;
  CHECK_STR(smr_f32_dwconv_kernel(smr_f32_dwconv_config(0), &args), "f32_dwconv__scalar");
#define SMR_UKERNEL(isa, suffix, lanes) (void)KERNEL_RUNS(isa, suffix);
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

static bool needs(const struct smr_f32_dwconv_args *args, bool sizes_vary, bool weights_vary,
                  size_t part) {
  struct smr_parts parts = {{0}};
  samara_error error;
  CHECK_EQ_INT(smr_f32_dwconv_need(args, sizes_vary, weights_vary, &parts, &error), SAMARA_OK);
  return smr_parts_have(&parts, part) != 0;
}

SMR_TEST(parts) {
  struct smr_f32_dwconv_args args = {.channels = 24, .kernel_w = 5, .stride_w = 2, .dilation_w = 1};
  CHECK(needs(&args, false, false, SMR_PART_f32_dwconv_5s2));
  CHECK(needs(&args, false, false, SMR_PART_f32_dwconv_part));
  CHECK(!needs(&args, false, false, SMR_PART_f32_dwconv_3s2));
  CHECK(!needs(&args, false, false, SMR_PART_f32_dwconv_f16w));
  CHECK(needs(&args, true, true, SMR_PART_f32_dwconv_3s1));
  args.kernel_h = args.stride_h = args.dilation_h = 1;
  args.out_h = args.out_w = 40;
  args.in_pixel_stride = 24;
  CHECK(!needs(&args, false, false, SMR_PART_f32_dwconv_copied));
  CHECK(needs(&args, true, false, SMR_PART_f32_dwconv_copied));
  args.in_pixel_stride = 512;
  CHECK(needs(&args, false, false, SMR_PART_f32_dwconv_copied));
  args.channels = 32;
  CHECK(!needs(&args, false, false, SMR_PART_f32_dwconv_part));
  args.residual_pixel_stride = 32;
  CHECK(needs(&args, false, false, SMR_PART_f32_dwconv_part));
}

SMR_TEST_MAIN(RUN(common_kernels_over_all_channel_counts); RUN(random_geometry);
              RUN(pixels_a_power_of_two_apart); RUN(indirect_matches); RUN(wide_rows_are_split);
              RUN(nan_and_empty); RUN(quads); RUN(names_its_kernel); RUN(parts))
