// SPDX-License-Identifier: Apache-2.0
// Dispatch of the depthwise convolution, and its cut into areas of pixels that see equal taps.
#include "base/fp.h"

#include "kernels/f32_dwconv/f32_dwconv.h"

#include "base/isa.h"
#include "kernels/f32_dwconv/kernels.h"
#include "simd/common.h"

struct smr_f32_dwconv_config {
  uint32_t isa;
  const char *names[4];  // 3x3, 5x5, others, quads
  smr_f32_dwconv_area_ukernel area;
  smr_f32_dwconv_quads_ukernel quads;
  smr_f32_dwconv_indirect_ukernel indirect;
};

static const struct smr_f32_dwconv_config f32_dwconv_configs[] = {
#define SMR_UKERNEL(isa, suffix, lanes)                                                         \
  {isa,                                                                                         \
   {"f32_dwconv_3x3__" #suffix, "f32_dwconv_5x5__" #suffix, "f32_dwconv__" #suffix,             \
    "f32_dwconv_quads__" #suffix},                                                              \
   SMR_HAS(conv_depthwise) || SMR_HAS(spread_depthwise) ? smr_f32_dwconv_area_ukernel__##suffix \
                                                        : NULL,                                 \
   SMR_HAS(f32_dwconv_quads) ? smr_f32_dwconv_quads_ukernel__##suffix : NULL,                   \
   SMR_HAS(f32_dwconv_indirect) ? smr_f32_dwconv_indirect_ukernel__##suffix : NULL},
#include "kernels/f32_dwconv/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_dwconv_config *smr_f32_dwconv_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_dwconv_configs[i].isa & isa) != f32_dwconv_configs[i].isa)
    i++;  // the last needs nothing
  return &f32_dwconv_configs[i];
}

const char *smr_f32_dwconv_kernel(const struct smr_f32_dwconv_config *config,
                                  const struct smr_f32_dwconv_args *args) {
  if (args->kernel_h == 3 && args->kernel_w == 3) return config->names[0];
  if (args->kernel_h == 5 && args->kernel_w == 5) return config->names[1];
  return config->names[2];
}

// A unit is a block of rows by a block of channels: rows share input in L1, channels are split so
// that small images give enough units. Very wide rows, or very large windows, are split too.
enum {
  F32_DWCONV_ROWS = 8,
  F32_DWCONV_CHANNELS = 4 * SMR_PANEL,
  F32_DWCONV_TAPS = 1 << 15,  // of a row of a unit
};

static size_t f32_dwconv_blocks(size_t all, size_t block) {
  return all / block + (all % block != 0);
}

// Pixels of a row of a unit.
static size_t f32_dwconv_columns(const struct smr_f32_dwconv_args *args) {
  if (args->kernel_h > F32_DWCONV_TAPS || args->kernel_w > F32_DWCONV_TAPS) return 1;
  const size_t taps = args->kernel_h * args->kernel_w;
  return taps < F32_DWCONV_TAPS && taps != 0 ? F32_DWCONV_TAPS / taps : 1;
}

size_t smr_f32_dwconv_units(const struct smr_f32_dwconv_args *args) {
  return args->batch * f32_dwconv_blocks(args->out_h, F32_DWCONV_ROWS) *
         f32_dwconv_blocks(args->out_w, f32_dwconv_columns(args)) *
         f32_dwconv_blocks(args->channels, F32_DWCONV_CHANNELS);
}

// Taps [begin, end) of one axis that fall inside the image for output position `at`.
struct f32_dwconv_span {
  size_t begin, end;
};

static struct f32_dwconv_span f32_dwconv_taps(size_t at, size_t stride, size_t dilation, size_t pad,
                                              size_t kernel, size_t size) {
  const size_t origin = at * stride;  // of tap 0, plus pad
  struct f32_dwconv_span span;
  span.begin = origin < pad ? (pad - origin + dilation - 1) / dilation : 0;
  span.end = origin < pad + size ? (pad + size - origin + dilation - 1) / dilation : 0;
  if (span.end > kernel) span.end = kernel;
  if (span.begin > span.end) span.begin = span.end;
  return span;
}

static struct f32_dwconv_span f32_dwconv_taps_y(const struct smr_f32_dwconv_args *args, size_t y) {
  return f32_dwconv_taps(y, args->stride_h, args->dilation_h, args->pad_top, args->kernel_h,
                         args->in_h);
}

static struct f32_dwconv_span f32_dwconv_taps_x(const struct smr_f32_dwconv_args *args, size_t x) {
  return f32_dwconv_taps(x, args->stride_w, args->dilation_w, args->pad_left, args->kernel_w,
                         args->in_w);
}

static int f32_dwconv_same(struct f32_dwconv_span a, struct f32_dwconv_span b) {
  return a.begin == b.begin && a.end == b.end;
}

// Rows [y, y + area->rows) that see the rows of taps ky, from column `x` to `x_stop`, piece by
// piece; area holds what is common.
SMR_HOT static void f32_dwconv_strip(const struct smr_f32_dwconv_config *config,
                                     const struct smr_f32_dwconv_args *args, size_t y, size_t x,
                                     size_t x_stop, struct f32_dwconv_span ky,
                                     const struct smr_f32_dwconv_area *common) {
  const size_t w_bytes = args->w_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  struct smr_f32_dwconv_area area = *common;
  area.taps_h = ky.end - ky.begin;
  while (x < x_stop) {
    const struct f32_dwconv_span kx = f32_dwconv_taps_x(args, x);
    size_t x_end = x + 1;
    while (x_end < x_stop && f32_dwconv_same(f32_dwconv_taps_x(args, x_end), kx)) x_end++;
    area.pixels = x_end - x;
    area.taps_w = kx.end - kx.begin;
    area.in = common->in;
    if (area.taps_h > 0 && area.taps_w > 0) {
      const size_t in_y = y * args->stride_h + ky.begin * args->dilation_h - args->pad_top;
      const size_t in_x = x * args->stride_w + kx.begin * args->dilation_w - args->pad_left;
      area.in += in_y * args->in_row_stride + in_x * args->in_pixel_stride;
    }
    area.w = (const char *)common->w + (ky.begin * args->kernel_w + kx.begin) * SMR_PANEL * w_bytes;
    area.out = common->out + y * args->out_row_stride + x * args->out_pixel_stride;
    if (common->residual) {
      area.residual =
          common->residual + y * args->residual_row_stride + x * args->residual_pixel_stride;
    }
    config->area(&area);
    x = x_end;
  }
}

SMR_HOT void smr_f32_dwconv_run_rect(const struct smr_f32_dwconv_config *config,
                                     const struct smr_f32_dwconv_args *args,
                                     const struct smr_f32_dwconv_rect *rect) {
  const size_t channels = args->channels - rect->channel, b = rect->image;
  const struct smr_f32_dwconv_area common = {
      .channels = channels < F32_DWCONV_CHANNELS ? channels : F32_DWCONV_CHANNELS,
      .in = args->in + b * args->in_batch_stride + rect->channel,
      .in_row = args->stride_h * args->in_row_stride,
      .in_step = args->stride_w * args->in_pixel_stride,
      .in_tap_row = args->dilation_h * args->in_row_stride,
      .in_tap = args->dilation_w * args->in_pixel_stride,
      .w = (const char *)args->w + rect->channel / SMR_PANEL * args->panel_stride_bytes,
      .w_type = args->w_type,
      .w_taps = args->kernel_w,
      .panel_stride_bytes = args->panel_stride_bytes,
      .bias = args->bias ? args->bias + rect->channel : NULL,
      .out = args->out + b * args->out_batch_stride + rect->channel,
      .out_row = args->out_row_stride,
      .out_step = args->out_pixel_stride,
      .residual =
          args->residual ? args->residual + b * args->residual_batch_stride + rect->channel : NULL,
      .residual_row = args->residual_row_stride,
      .residual_step = args->residual_pixel_stride,
      .lo = args->lo,
      .hi = args->hi,
  };
  struct smr_f32_dwconv_area area = common;
  for (size_t y = rect->y0; y < rect->y1; y += area.rows) {
    const struct f32_dwconv_span ky = f32_dwconv_taps_y(args, y);
    area.rows = 1;
    while (y + area.rows < rect->y1 && f32_dwconv_same(f32_dwconv_taps_y(args, y + area.rows), ky))
      area.rows++;
    f32_dwconv_strip(config, args, y, rect->x0, rect->x1, ky, &area);
  }
  for (size_t y = rect->y0; args->post && y < rect->y1; y++) {
    args->post(args->post_context,
               common.out + y * args->out_row_stride + rect->x0 * args->out_pixel_stride,
               rect->x1 - rect->x0, common.channels, args->out_pixel_stride, SMR_GEMM_F32);
  }
}

void smr_f32_dwconv_run(const struct smr_f32_dwconv_config *config,
                        const struct smr_f32_dwconv_args *args, size_t begin, size_t end) {
  const size_t row_blocks = f32_dwconv_blocks(args->out_h, F32_DWCONV_ROWS);
  const size_t channel_blocks = f32_dwconv_blocks(args->channels, F32_DWCONV_CHANNELS);
  const size_t columns = f32_dwconv_columns(args);
  const size_t column_blocks = f32_dwconv_blocks(args->out_w, columns);
  for (size_t unit = begin; unit < end; unit++) {
    const size_t strip = unit / channel_blocks, block = strip / column_blocks;
    struct smr_f32_dwconv_rect rect = {.image = block / row_blocks,
                                       .channel = unit % channel_blocks * F32_DWCONV_CHANNELS,
                                       .y0 = block % row_blocks * F32_DWCONV_ROWS,
                                       .x0 = strip % column_blocks * columns};
    rect.y1 = args->out_h - rect.y0 < F32_DWCONV_ROWS ? args->out_h : rect.y0 + F32_DWCONV_ROWS;
    rect.x1 = args->out_w - rect.x0 < columns ? args->out_w : rect.x0 + columns;
    smr_f32_dwconv_run_rect(config, args, &rect);
  }
}

void smr_f32_dwconv_quads_run(const struct smr_f32_dwconv_config *config,
                              const struct smr_f32_dwconv_quads *quads) {
  config->quads(quads);
}

const char *smr_f32_dwconv_quads_kernel(const struct smr_f32_dwconv_config *config) {
  return config->names[3];
}

void smr_f32_dwconv_indirect_run(const struct smr_f32_dwconv_config *config,
                                 const struct smr_f32_dwconv_indirect_args *args, size_t begin,
                                 size_t end) {
  config->indirect(args, begin, end);
}
