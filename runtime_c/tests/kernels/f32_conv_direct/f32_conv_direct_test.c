// SPDX-License-Identifier: Apache-2.0
// Tests the direct convolution against a naive one to the bit, in both axis orders.
#include "base/fp.h"

#include "kernels/f32_conv_direct/f32_conv_direct.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/window_shapes.h"

enum { OUT_GAP = 2, RESIDUAL_GAP = 3 };

struct shape {
  size_t batch, n, in_h, in_w, in_c, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w,
      pad_top, pad_left, pad_bottom, pad_right;
  int channels_first, gap, apart, f16_w, f16_out, bias, residual, clamp;
};

struct data {
  struct smr_f32_conv_direct_args args;
  float *in, *bias;
  void *w, *out, *residual;
};

static struct data make_data(const struct shape *s, uint32_t *seed) {
  struct data d;
  const size_t k = s->kernel_h * s->kernel_w * s->in_c, panels = smr_panels(s->n);
  const size_t w_bytes = s->f16_w ? 2 : 4, out_bytes = s->f16_out ? 2 : 4;
  const size_t panel_bytes = smr_panel_stride_bytes(k, w_bytes);
  const size_t out_h =
      window_count(s->in_h, s->pad_top + s->pad_bottom, s->kernel_h, s->stride_h, s->dilation_h);
  const size_t out_w =
      window_count(s->in_w, s->pad_left + s->pad_right, s->kernel_w, s->stride_w, s->dilation_w);
  const size_t gap = s->gap ? 2 : 0, out_pixel = s->n + OUT_GAP, res_pixel = s->n + RESIDUAL_GAP;
  const size_t pixel = s->channels_first ? 1 : s->in_c + gap;
  const size_t row = s->channels_first ? s->in_w + gap : s->in_w * pixel;
  const size_t channel = s->channels_first ? s->in_h * row : 1;
  const size_t image = s->channels_first ? s->in_c * channel : s->in_h * row;
  d.in = kernel_floats(s->batch * image - gap, seed);
  d.bias = kernel_floats(panels * 16, seed);
  d.w = kernel_alloc((panels - 1) * panel_bytes + k * 16 * w_bytes, 4);
  kernel_fill_panels(d.w, s->n, k, panel_bytes, s->f16_w, seed);
  // Rows of output a pixel apart: small images do not fill tiles across their ends then.
  const size_t line = out_w + (s->apart ? 1 : 0), pixels = s->batch * out_h * line;
  d.out = kernel_alloc((pixels * out_pixel - OUT_GAP) * out_bytes, 4);
  d.residual = s->f16_out ? (void *)kernel_halves(pixels * res_pixel - RESIDUAL_GAP, seed)
                          : (void *)kernel_floats(pixels * res_pixel - RESIDUAL_GAP, seed);
  d.args = (struct smr_f32_conv_direct_args){WINDOW_ARGS(s),
                                             .n = s->n,
                                             .in_c = s->in_c,
                                             .out_h = out_h,
                                             .out_w = out_w,
                                             .in = d.in,
                                             .in_pixel_stride = pixel,
                                             .in_row_stride = row,
                                             .in_channel_stride = channel,
                                             .in_batch_stride = image,
                                             .w = d.w,
                                             .w_type = s->f16_w ? SMR_GEMM_F16 : SMR_GEMM_F32,
                                             .panel_stride_bytes = panel_bytes,
                                             .bias = s->bias ? d.bias : NULL,
                                             .out = d.out,
                                             .out_type = s->f16_out ? SMR_GEMM_F16 : SMR_GEMM_F32,
                                             .out_pixel_stride = out_pixel,
                                             .out_row_stride = line * out_pixel,
                                             .out_batch_stride = out_h * line * out_pixel,
                                             .residual = s->residual ? d.residual : NULL,
                                             .residual_pixel_stride = res_pixel,
                                             .residual_row_stride = line * res_pixel,
                                             .residual_batch_stride = out_h * line * res_pixel,
                                             .lo = s->clamp ? -0.25f : -INFINITY,
                                             .hi = s->clamp ? 0.5f : INFINITY};
  return d;
}

static void free_data(struct data *d) {
  kernel_free(d->in, 4);
  kernel_free(d->bias, 4);
  kernel_free(d->w, 4);
  kernel_free(d->out, 4);
  kernel_free(d->residual, 4);
}

static float read_element(const void *p, size_t i, smr_gemm_type type) {
  return type == SMR_GEMM_F16 ? smr_f16_to_f32(((const uint16_t *)p)[i]) : ((const float *)p)[i];
}

static float expect(const struct smr_f32_conv_direct_args *g, size_t b, size_t y, size_t x,
                    size_t n, int fused) {
  const char *panel = (const char *)g->w + n / 16 * g->panel_stride_bytes;
  float sum = g->bias ? g->bias[n] : 0.0f;
  size_t i = n % 16;
  for (size_t ky = 0; ky < g->kernel_h; ky++) {
    for (size_t kx = 0; kx < g->kernel_w; kx++) {
      const size_t in_y = y * g->stride_h + ky * g->dilation_h - g->pad_top;  // wraps when outside
      const size_t in_x = x * g->stride_w + kx * g->dilation_w - g->pad_left;
      for (size_t c = 0; c < g->in_c; c++, i += 16) {
        const size_t at = b * g->in_batch_stride + in_y * g->in_row_stride +
                          in_x * g->in_pixel_stride + c * g->in_channel_stride;
        const float v = in_y < g->in_h && in_x < g->in_w ? g->in[at] : 0.0f;
        const float w = read_element(panel, i, g->w_type);
        sum = fused ? fmaf(v, w, sum) : v * w + sum;
      }
    }
  }
  if (g->residual) {
    sum += read_element(g->residual,
                        b * g->residual_batch_stride + y * g->residual_row_stride +
                            x * g->residual_pixel_stride + n,
                        g->out_type);
  }
  sum = sum < g->lo ? g->lo : sum > g->hi ? g->hi : sum;
  return g->out_type == SMR_GEMM_F16 ? smr_f16_to_f32(smr_f32_to_f16(sum)) : sum;
}

static int check_output(const struct smr_f32_conv_direct_args *g, int fused) {
  for (size_t b = 0; b < g->batch; b++) {
    for (size_t y = 0; y < g->out_h; y++) {
      for (size_t x = 0; x < g->out_w; x++) {
        const size_t at = b * g->out_batch_stride + y * g->out_row_stride + x * g->out_pixel_stride;
        for (size_t n = 0; n < g->n; n++) {
          const float got = read_element(g->out, at + n, g->out_type);
          if (!kernel_same_bits(got, expect(g, b, y, x, n, fused))) return 0;
        }
        const int last = b + 1 == g->batch && y + 1 == g->out_h && x + 1 == g->out_w;
        for (size_t i = 0; !last && i < OUT_GAP; i++) {
          if (!isnan(read_element(g->out, at + g->n + i, g->out_type))) return 0;
        }
      }
    }
  }
  return 1;
}

static void check_shape(const struct shape *s, uint32_t isa, uint32_t *seed) {
  struct data d = make_data(s, seed);
  const struct smr_f32_conv_direct_config *config = smr_f32_conv_direct_config(isa);
  const size_t units = smr_f32_conv_direct_units(&d.args), half = units / 2;
  void *scratch = kernel_alloc(smr_f32_conv_direct_scratch_bytes(config, &d.args), 4);
  // The second half first: a split is an ordinary run.
  smr_f32_conv_direct_run(config, &d.args, half, units, scratch);
  smr_f32_conv_direct_run(config, &d.args, 0, half, scratch);
  kernel_free(scratch, 4);
  if (!CHECK(check_output(&d.args, kernel_fused(isa)))) {
    fprintf(stderr,
            "  %s n=%zu in %zux%zux%zu kernel %zux%zu stride %zux%zu pad %zu %zu %zu %zu %s\n",
            config->name, s->n, s->in_h, s->in_w, s->in_c, s->kernel_h, s->kernel_w, s->stride_h,
            s->stride_w, s->pad_top, s->pad_left, s->pad_bottom, s->pad_right,
            s->channels_first ? "channels first" : "channels last");
  }
  free_data(&d);
}

static void draw_options(struct shape *s, uint32_t r) {
  s->channels_first = r & 1;
  s->gap = r >> 1 & 1;
  s->f16_w = r >> 2 & 1;
  s->f16_out = r >> 3 & 1;
  s->bias = r >> 4 & 1;
  s->residual = r >> 5 & 1;
  s->clamp = r >> 6 & 1;
  s->apart = r >> 7 & 1;
}

SMR_TEST(every_width_and_channel_count) {
  uint32_t seed = 1;
#define SMR_UKERNEL(isa, suffix, lanes)                                                 \
  if (KERNEL_RUNS(isa, suffix)) {                                                       \
    for (size_t n = 1; n <= 2 * smr_f32_conv_direct_config(isa)->nr + 1; n++) {         \
      struct shape s = {.batch = 1,                                                     \
                        .n = n,                                                         \
                        .in_h = 4,                                                      \
                        .in_w = n % 39 + 3,                                             \
                        .in_c = 3,                                                      \
                        .kernel_h = 3,                                                  \
                        .kernel_w = 3,                                                  \
                        .stride_h = 2,                                                  \
                        .stride_w = 2,                                                  \
                        .dilation_h = 1,                                                \
                        .dilation_w = 1,                                                \
                        .pad_top = 1,                                                   \
                        .pad_left = 1,                                                  \
                        .pad_right = 1};                                                \
      for (size_t i = 0; i < 4; i++) {                                                  \
        draw_options(&s, kernel_random(&seed));                                         \
        check_shape(&s, (isa) == SMR_ISA_AVX512 ? (isa) | SMR_ISA_AVX2 : (isa), &seed); \
      }                                                                                 \
    }                                                                                   \
  }
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(random_geometry) {
  uint32_t seed = 2;
  for (size_t i = 0; i < WINDOW_CEILINGS; i++) {
    if ((smr_cpu_isa() & window_ceilings[i]) != window_ceilings[i]) continue;
    for (size_t round = 0; round < 400; round++) {
      struct shape s = {.batch = 1 + (round & 1)};
      s.n = 1 + kernel_random(&seed) % 60;
      s.in_c = 1 + kernel_random(&seed) % 5;
      s.kernel_h = 1 + kernel_random(&seed) % 4;
      s.kernel_w = 1 + kernel_random(&seed) % 4;
      s.stride_h = 1 + kernel_random(&seed) % 3;
      s.stride_w = 1 + kernel_random(&seed) % 3;
      s.dilation_h = 1 + kernel_random(&seed) % 3;
      s.dilation_w = 1 + kernel_random(&seed) % 3;
      // Padding up to more than the kernel's reach: some tiles see nothing but zeros.
      s.pad_top = kernel_random(&seed) % 9;
      s.pad_left = kernel_random(&seed) % 13;
      s.pad_bottom = kernel_random(&seed) % 9;
      s.pad_right = kernel_random(&seed) % 13;
      s.in_h = 1 + kernel_random(&seed) % 6;
      s.in_w = 1 + kernel_random(&seed) % 30;
      if (s.in_h + s.pad_top + s.pad_bottom < (s.kernel_h - 1) * s.dilation_h + 1) continue;
      if (s.in_w + s.pad_left + s.pad_right < (s.kernel_w - 1) * s.dilation_w + 1) continue;
      draw_options(&s, kernel_random(&seed));
      check_shape(&s, window_ceilings[i], &seed);
    }
  }
}

SMR_TEST(rows_of_much_work_are_split) {
  uint32_t seed = 3;
  for (size_t i = 0; i < WINDOW_CEILINGS; i++) {
    if ((smr_cpu_isa() & window_ceilings[i]) != window_ceilings[i]) continue;
    // Windows far apart: what a border tile copies is most of the work.
    struct shape s = {.batch = 2,
                      .n = 3,
                      .in_h = 2,
                      .in_w = 40,
                      .in_c = 1,
                      .kernel_h = 2,
                      .kernel_w = 3,
                      .stride_h = 1,
                      .stride_w = 100000,
                      .dilation_h = 1,
                      .dilation_w = 1,
                      .pad_left = 2,
                      .pad_right = 9900000};
    draw_options(&s, kernel_random(&seed));
    s.channels_first = 0;
    check_shape(&s, window_ceilings[i], &seed);
    struct data d = make_data(&s, &seed);
    CHECK_EQ_INT(d.args.out_w, 100);
    CHECK(smr_f32_conv_direct_units(&d.args) > 2);
    d.args.stride_w = 1;
    CHECK_EQ_INT(smr_f32_conv_direct_units(&d.args), 2);
    free_data(&d);
  }
}

SMR_TEST(names_its_kernel) {
  CHECK_STR(smr_f32_conv_direct_config(0)->name, "f32_conv_direct_4x16__scalar");
  const struct smr_f32_conv_direct_args none = {.batch = 1, .out_h = 3, .out_w = 3};
  CHECK_EQ_INT(smr_f32_conv_direct_units(&none), 0);
}

SMR_TEST_MAIN(RUN(every_width_and_channel_count); RUN(random_geometry);
              RUN(rows_of_much_work_are_split); RUN(names_its_kernel))
