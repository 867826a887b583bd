// SPDX-License-Identifier: Apache-2.0
// The direct convolution: its kernels for every instruction set, and their driver. Tiles at the
// image's border read a zero-padded copy; all tiles of a small image read a padded copy of the
// whole image.
#include "base/fp.h"

#include "kernels/f32_conv_direct/f32_conv_direct.h"

#include <string.h>

#include "base/isa.h"
#include "base/lean.h"
#include "kernels/rows.h"
#include "simd/common.h"

// The configuration at the end of each instruction set's file.
#define CONV_DIRECT_CONFIG(rows, columns)                                      \
  static const struct smr_f32_conv_direct_config N(f32_conv_direct_config) = { \
      "f32_conv_direct_" #rows "x" #columns "__" SMR_SIMD_NAME,                \
      rows,                                                                    \
      columns,                                                                 \
      {SMR_HAS(conv_direct) ? N(f32_conv_direct) : NULL,                       \
       SMR_HAS(conv_direct_f16w) ? N(f32_conv_direct_f16w) : NULL}}

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_conv_direct/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT
#undef CONV_DIRECT_CONFIG

enum { F32_CONV_DIRECT_MAX_MR = 8 };

static const struct smr_kernel_row f32_conv_direct_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_f32_conv_direct_config_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_conv_direct_config *smr_f32_conv_direct_config(uint32_t isa) {
  return smr_best_row(f32_conv_direct_rows, isa)->kernels;
}

static size_t f32_conv_direct_k(const struct smr_f32_conv_direct_args *args) {
  return args->kernel_h * args->kernel_w * args->in_c;
}

// A copy of the part of an image that one tile reads; channels first if the image is.
struct f32_conv_direct_window {
  size_t width;  // pixels
  size_t pixel_stride, row_stride, channel_stride;
  size_t size;
};

static struct f32_conv_direct_window f32_conv_direct_window_of(
    const struct smr_f32_conv_direct_args *args, size_t mr) {
  struct f32_conv_direct_window w;
  const int channels_last = args->in_channel_stride <= args->in_pixel_stride;
  w.width = (mr - 1) * args->stride_w + (args->kernel_w - 1) * args->dilation_w + 1;
  w.pixel_stride = channels_last ? args->in_c : 1;
  w.row_stride = channels_last ? w.width * args->in_c : w.width;
  w.channel_stride = channels_last ? 1 : w.width * args->kernel_h;
  w.size = w.width * args->kernel_h * args->in_c;
  return w;
}

// Size of a padded copy of an image that fits half of an L1 cache; otherwise 0.
enum { F32_CONV_DIRECT_SMALL = SMR_LEAN(4096, 0) };  // floats; not where memory is scarce

static struct f32_conv_direct_window f32_conv_direct_whole_of(
    const struct smr_f32_conv_direct_args *args) {
  const int channels_last = args->in_channel_stride <= args->in_pixel_stride;
  const size_t most = F32_CONV_DIRECT_SMALL;
  const size_t reach_h = (args->kernel_h - 1) * args->dilation_h;
  const size_t reach_w = (args->kernel_w - 1) * args->dilation_w;
  struct f32_conv_direct_window w = {0};
  if (args->out_h > most || args->out_w > most || reach_h > most || reach_w > most ||
      args->stride_h > most || args->stride_w > most || args->in_c > most || args->out_h == 0 ||
      args->out_w == 0)
    return w;
  const uint64_t height = (uint64_t)(args->out_h - 1) * args->stride_h + reach_h + 1;
  const uint64_t width = (uint64_t)(args->out_w - 1) * args->stride_w + reach_w + 1;
  if (height > most || width > most || height * width * args->in_c > most) return w;
  w.width = (size_t)width;
  w.pixel_stride = channels_last ? args->in_c : 1;
  w.row_stride = w.width * w.pixel_stride;
  w.channel_stride = channels_last ? 1 : (size_t)(width * height);
  w.size = (size_t)(width * height) * args->in_c;
  return w;
}

bool smr_f32_conv_direct_is_small(const struct smr_f32_conv_direct_args *args) {
  return f32_conv_direct_whole_of(args).size != 0;
}

// A unit is a row of pixels, or part of a row that would be too much work.
enum { F32_CONV_DIRECT_UNIT_WORK = 1 << 24 };  // multiply-adds, and floats of windows copied

static size_t f32_conv_direct_row_units(const struct smr_f32_conv_direct_args *args) {
  // Work of a tile of the widest kernel. No overflow: both factors are sizes in memory.
  const size_t mr = F32_CONV_DIRECT_MAX_MR, k = f32_conv_direct_k(args);
  const size_t tile =
      mr * k * smr_panels(args->n) * SMR_PANEL + f32_conv_direct_window_of(args, mr).size;
  const size_t tiles =
      tile < F32_CONV_DIRECT_UNIT_WORK && tile != 0 ? F32_CONV_DIRECT_UNIT_WORK / tile : 1;
  return (args->out_w - 1) / (tiles * mr) + 1;
}

size_t smr_f32_conv_direct_units(const struct smr_f32_conv_direct_args *args) {
  if (args->n == 0 || args->out_w == 0) return 0;
  return args->batch * args->out_h * f32_conv_direct_row_units(args);
}

// Scratch: offsets in the image, offsets in the window, then the window or the whole image.
size_t smr_f32_conv_direct_scratch_bytes(const struct smr_f32_conv_direct_config *config,
                                         const struct smr_f32_conv_direct_args *args) {
  const size_t window = f32_conv_direct_window_of(args, config->mr).size;
  const size_t whole = SMR_HAS(conv_direct_small) ? f32_conv_direct_whole_of(args).size : 0;
  return 2 * f32_conv_direct_k(args) * sizeof(int32_t) +
         (whole > window ? whole : window) * sizeof(float);
}

static void f32_conv_direct_offsets(const struct smr_f32_conv_direct_args *args, size_t row,
                                    size_t pixel, size_t channel, int32_t *offsets) {
  for (size_t ky = 0; ky < args->kernel_h; ky++) {
    for (size_t kx = 0; kx < args->kernel_w; kx++) {
      for (size_t c = 0; c < args->in_c; c++) {
        *offsets++ = (int32_t)(ky * row + kx * pixel + c * channel);
      }
    }
  }
}

// Copy the part of the window that lies in the image; the rest becomes zero. The window's first
// pixel is (y0, x0), relative to the image's corner and possibly negative.
SMR_HOT static void f32_conv_direct_copy(const struct smr_f32_conv_direct_args *args,
                                         const float *image, ptrdiff_t y0, ptrdiff_t x0,
                                         const struct f32_conv_direct_window *window, float *copy) {
  const ptrdiff_t in_w = (ptrdiff_t)args->in_w, width = (ptrdiff_t)window->width;
  const ptrdiff_t from = x0 < 0 ? -x0 : 0;
  const ptrdiff_t to = x0 + width < in_w ? width : in_w - x0;
  smr_clear(copy, window->size * sizeof *copy);
  if (from >= to) return;
  const size_t begin = (size_t)from, pixels = (size_t)(to - from), first = (size_t)(x0 + from);
  for (size_t ky = 0; ky < args->kernel_h; ky++) {
    const ptrdiff_t y = y0 + (ptrdiff_t)(ky * args->dilation_h);
    if (y < 0 || y >= (ptrdiff_t)args->in_h) continue;
    const float *src = image + (size_t)y * args->in_row_stride + first * args->in_pixel_stride;
    float *dst = copy + ky * window->row_stride + begin * window->pixel_stride;
    if (window->channel_stride == 1 && args->in_channel_stride == 1 &&
        args->in_pixel_stride == args->in_c) {
      smr_copy(dst, src, pixels * args->in_c * sizeof *dst);
      continue;
    }
    for (size_t c = 0; c < args->in_c; c++) {
      const float *s = src + c * args->in_channel_stride;
      float *d = dst + c * window->channel_stride;
      if (window->pixel_stride == 1 && args->in_pixel_stride == 1) {
        smr_copy(d, s, pixels * sizeof *d);
      } else {
        for (size_t i = 0; i < pixels; i++) {
          d[i * window->pixel_stride] = s[i * args->in_pixel_stride];
        }
      }
    }
  }
}

// A range divided into nearly equal parts: the first `larger` have `size` + 1 elements.
struct f32_conv_direct_cut {
  size_t parts, size, larger;
};

static struct f32_conv_direct_cut f32_conv_direct_cut(size_t all, size_t most) {
  const size_t parts = (all + most - 1) / most;
  return (struct f32_conv_direct_cut){parts, all / parts, all % parts};
}

// Start of part `i`.
static size_t f32_conv_direct_cut_at(struct f32_conv_direct_cut cut, size_t i) {
  return cut.size * i + (i < cut.larger ? i : cut.larger);
}

// One tile of pixels, all channels of output.
SMR_HOT static void f32_conv_direct_tile(const struct smr_f32_conv_direct_config *config,
                                         const struct smr_f32_conv_direct_args *args, size_t rows,
                                         const float *const *rows_a, const int32_t *offsets,
                                         struct f32_conv_direct_cut groups, char *out,
                                         const char *residual,
                                         const struct smr_f32_gemm_params *params) {
  const size_t out_bytes = args->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  size_t panel_end = 0;
  for (size_t g = 0; g < groups.parts; g++) {
    const size_t panel = panel_end, column = panel * SMR_PANEL;
    panel_end += groups.size + (g < groups.larger);
    const size_t end = panel_end * SMR_PANEL;
    config->ukernel[args->w_type](rows, (end < args->n ? end : args->n) - column, rows_a, offsets,
                                  (const char *)args->w + panel * args->panel_stride_bytes,
                                  args->bias ? args->bias + column : NULL, out + column * out_bytes,
                                  residual ? residual + column * out_bytes : NULL, params);
  }
}

// Rows [begin, end) of a small image. Tiles extend over the ends of output rows, which are
// contiguous, because single rows would not fill tiles.
SMR_HOT static void f32_conv_direct_small(const struct smr_f32_conv_direct_config *config,
                                          const struct smr_f32_conv_direct_args *args,
                                          const struct f32_conv_direct_window *whole, size_t b,
                                          size_t begin, size_t end, const int32_t *offsets,
                                          struct f32_conv_direct_cut groups, float *copy,
                                          const struct smr_f32_gemm_params *params) {
  const size_t out_bytes = args->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  struct smr_f32_conv_direct_args rows = *args;  // a window over all these rows
  rows.kernel_h = (end - begin - 1) * args->stride_h + (args->kernel_h - 1) * args->dilation_h + 1;
  rows.dilation_h = 1;
  f32_conv_direct_copy(&rows, args->in + b * args->in_batch_stride,
                       (ptrdiff_t)(begin * args->stride_h) - (ptrdiff_t)args->pad_top,
                       -(ptrdiff_t)args->pad_left, whole, copy);
  const size_t pixels = (end - begin) * args->out_w;
  const size_t first = b * args->out_batch_stride + begin * args->out_row_stride;
  char *out = (char *)args->out + first * out_bytes;
  const char *residual = args->residual;
  if (residual)
    residual += (b * args->residual_batch_stride + begin * args->residual_row_stride) * out_bytes;
  const struct f32_conv_direct_cut tiles = f32_conv_direct_cut(pixels, config->mr);
  const float *row = copy;
  for (size_t tile = 0, at = 0, x = 0; tile < tiles.parts; tile++) {
    const size_t count = tiles.size + (tile < tiles.larger);
    const float *rows_a[F32_CONV_DIRECT_MAX_MR];
    for (size_t i = 0; i < config->mr; i++) {
      if (i >= count) {
        rows_a[i] = rows_a[i - 1];
        continue;
      }
      rows_a[i] = row + x * args->stride_w * whole->pixel_stride;
      if (++x < args->out_w) continue;
      x = 0;
      row += args->stride_h * whole->row_stride;
    }
    f32_conv_direct_tile(
        config, args, count, rows_a, offsets, groups, out + at * args->out_pixel_stride * out_bytes,
        residual ? residual + at * args->residual_pixel_stride * out_bytes : NULL, params);
    at += count;
  }
  if (args->post)
    args->post(args->post_context, out, pixels, args->n, args->out_pixel_stride, args->out_type);
}

SMR_HOT void smr_f32_conv_direct_run(const struct smr_f32_conv_direct_config *config,
                                     const struct smr_f32_conv_direct_args *args, size_t begin,
                                     size_t end, void *scratch) {
  if (begin >= end) return;
  const size_t k = f32_conv_direct_k(args), mr = config->mr;
  const size_t out_bytes = args->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  const struct f32_conv_direct_window window = f32_conv_direct_window_of(args, mr);
  int32_t *in_image = (int32_t *)scratch, *in_window = in_image + k;
  float *copy = (float *)(void *)(in_window + k);
  f32_conv_direct_offsets(args, args->dilation_h * args->in_row_stride,
                          args->dilation_w * args->in_pixel_stride, args->in_channel_stride,
                          in_image);
  f32_conv_direct_offsets(args, window.row_stride, args->dilation_w * window.pixel_stride,
                          window.channel_stride, in_window);
  const struct smr_f32_gemm_params params = {
      .k = k,
      .taps = 1,
      .panel_stride_bytes = args->panel_stride_bytes,
      .out_stride = args->out_pixel_stride,
      .residual_stride = args->residual_pixel_stride,
      .out_type = args->out_type,
      .lo = args->lo,
      .hi = args->hi,
  };
  const struct f32_conv_direct_cut tiles = f32_conv_direct_cut(args->out_w, mr);
  const size_t row_units = f32_conv_direct_row_units(args);
  const struct f32_conv_direct_cut parts = {row_units, tiles.parts / row_units,
                                            tiles.parts % row_units};
  const struct f32_conv_direct_cut groups =
      f32_conv_direct_cut(smr_panels(args->n), config->nr / SMR_PANEL);
  // Whether output rows are contiguous.
  const int whole_rows =
      args->out_row_stride == args->out_w * args->out_pixel_stride &&
      (!args->residual || args->residual_row_stride == args->out_w * args->residual_pixel_stride);
  if (SMR_HAS(conv_direct_small) && whole_rows && row_units == 1 &&
      smr_f32_conv_direct_is_small(args)) {
    const struct f32_conv_direct_window whole = f32_conv_direct_whole_of(args);
    f32_conv_direct_offsets(args, args->dilation_h * whole.row_stride,
                            args->dilation_w * whole.pixel_stride, whole.channel_stride, in_window);
    for (size_t row = begin, stop; row < end; row = stop) {
      const size_t b = row / args->out_h, image = b * args->out_h;
      stop = image + args->out_h < end ? image + args->out_h : end;
      f32_conv_direct_small(config, args, &whole, b, row - image, stop - image, in_window, groups,
                            copy, &params);
    }
    return;
  }
  const ptrdiff_t reach_h = (ptrdiff_t)((args->kernel_h - 1) * args->dilation_h);
  const ptrdiff_t reach_w = (ptrdiff_t)((args->kernel_w - 1) * args->dilation_w);
  for (size_t unit = begin; unit < end; unit++) {
    const size_t row = unit / row_units, part = unit % row_units;
    const size_t b = row / args->out_h, y = row % args->out_h;
    const float *image = args->in + b * args->in_batch_stride;
    char *out =
        (char *)args->out + (b * args->out_batch_stride + y * args->out_row_stride) * out_bytes;
    const char *residual =
        args->residual
            ? (const char *)args->residual +
                  (b * args->residual_batch_stride + y * args->residual_row_stride) * out_bytes
            : NULL;
    const ptrdiff_t y0 = (ptrdiff_t)(y * args->stride_h) - (ptrdiff_t)args->pad_top;
    const int rows_inside = y0 >= 0 && y0 + reach_h < (ptrdiff_t)args->in_h;
    // Divide the row at whole tiles, so that tiles do not depend on the number of units.
    const size_t tile_begin = f32_conv_direct_cut_at(parts, part);
    const size_t tile_end = f32_conv_direct_cut_at(parts, part + 1);
    const size_t x_begin = f32_conv_direct_cut_at(tiles, tile_begin);
    size_t x = x_begin;
    for (size_t tile = tile_begin; tile < tile_end; tile++) {
      const size_t rows = tiles.size + (tile < tiles.larger);
      const ptrdiff_t x0 = (ptrdiff_t)(x * args->stride_w) - (ptrdiff_t)args->pad_left;
      const ptrdiff_t x_last = x0 + (ptrdiff_t)((rows - 1) * args->stride_w) + reach_w;
      const int inside = rows_inside && x0 >= 0 && x_last < (ptrdiff_t)args->in_w;
      const float *rows_a[F32_CONV_DIRECT_MAX_MR];
      const float *first = copy;
      size_t step = args->stride_w * window.pixel_stride;
      if (inside) {
        first = image + (size_t)y0 * args->in_row_stride + (size_t)x0 * args->in_pixel_stride;
        step = args->stride_w * args->in_pixel_stride;
      } else {
        f32_conv_direct_copy(args, image, y0, x0, &window, copy);
      }
      for (size_t i = 0; i < mr; i++) rows_a[i] = first + (i < rows ? i : rows - 1) * step;
      f32_conv_direct_tile(config, args, rows, rows_a, inside ? in_image : in_window, groups,
                           out + x * args->out_pixel_stride * out_bytes,
                           residual ? residual + x * args->residual_pixel_stride * out_bytes : NULL,
                           &params);
      x += rows;
    }
    if (args->post) {
      args->post(args->post_context, out + x_begin * args->out_pixel_stride * out_bytes,
                 x - x_begin, args->n, args->out_pixel_stride, args->out_type);
    }
  }
}
