// SPDX-License-Identifier: Apache-2.0
// The depthwise convolution: its kernels for every instruction set, and the division into areas of
// pixels that use the same taps.
#include "base/fp.h"

#include "kernels/f32_dwconv/f32_dwconv.h"

#include "base/isa.h"
#include "base/lean.h"
#include "base/parts.h"
#include "kernels/f32_dwconv/area.h"
#include "kernels/rows.h"
#include "simd/common.h"

#include <string.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_dwconv/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

struct smr_f32_dwconv_config {
  uint32_t isa;
  const char *names[4];  // 3x3, 5x5, others, quads
  smr_f32_dwconv_area_ukernel area;
  smr_f32_dwconv_quads_ukernel quads;
  smr_f32_dwconv_indirect_ukernel indirect;
};

static const struct smr_f32_dwconv_config f32_dwconv_configs[] = {
#define SMR_UKERNEL(isa, suffix, lanes)                                                           \
  {isa,                                                                                           \
   {"f32_dwconv_3x3__" #suffix, "f32_dwconv_5x5__" #suffix, "f32_dwconv__" #suffix,               \
    "f32_dwconv_quads__" #suffix},                                                                \
   SMR_HAS(conv_depthwise) || SMR_HAS(spread_depthwise) ? smr_dwconv_kernel_area_##suffix : NULL, \
   SMR_HAS(f32_dwconv_quads) ? smr_dwconv_kernel_quads_##suffix : NULL,                           \
   SMR_HAS(f32_dwconv_indirect) ? smr_dwconv_kernel_indirect_##suffix : NULL},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_dwconv_config *smr_f32_dwconv_config(uint32_t isa) {
  const struct smr_f32_dwconv_config *config = f32_dwconv_configs;
  while ((config->isa & isa) != config->isa) config++;  // the last needs nothing
  return config;
}

const char *smr_f32_dwconv_kernel(const struct smr_f32_dwconv_config *config,
                                  const struct smr_f32_dwconv_args *args) {
  if (args->kernel_h == 3 && args->kernel_w == 3) return config->names[0];
  if (args->kernel_h == 5 && args->kernel_w == 5) return config->names[1];
  return config->names[2];
}

// A unit is a block of rows by a block of channels. Rows share input in L1; channels are split so
// that small images give enough units. Very wide rows and very large windows are split too.
enum {
  F32_DWCONV_ROWS = 8,
  F32_DWCONV_LEAST_ROWS = 3,  // fewest rows of a block
  F32_DWCONV_CHANNELS = 4 * SMR_PANEL,
  F32_DWCONV_TAPS = 1 << 15,  // most taps per row of a unit
  F32_DWCONV_COPY_ROWS = 4,   // with fewer rows, too many lines are copied twice
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

// Pixels of an input line that a row of output reads.
static size_t f32_dwconv_copied_width(const struct smr_f32_dwconv_args *args) {
  return (args->out_w - 1) * args->stride_w + (args->kernel_w - 1) * args->dilation_w + 1;
}

// Some images are copied with their padding, a panel of channels at a time: images whose pixels are
// a power of two apart and would evict each other from L1 (14x14x512: 31 us instead of 77), and
// images that are mostly borders. For others the copy costs as much as it saves.
enum {
  F32_DWCONV_COPY = SMR_LEAN(384, 0),          // pixels: 24 KiB of stack
  F32_DWCONV_FAR = 1024 / (int)sizeof(float),  // pixels a multiple of this apart share few L1 sets
};

// Rows of output whose inputs are copied at once; 0: no copy.
static size_t f32_dwconv_copied_rows(const struct smr_f32_dwconv_args *args) {
  const size_t most = F32_DWCONV_COPY;
  if (args->out_w > most || args->kernel_h > most || args->kernel_w > most ||
      args->stride_h > most || args->stride_w > most || args->dilation_h > most ||
      args->dilation_w > most || args->kernel_h == 0 || args->kernel_w == 0 || args->out_h == 0 ||
      args->out_w == 0 || args->out_w > f32_dwconv_columns(args))
    return 0;
  const size_t reach_h = (args->kernel_h - 1) * args->dilation_h;
  const size_t lines = most / f32_dwconv_copied_width(args);
  if (lines <= reach_h) return 0;
  const size_t rows = (lines - reach_h - 1) / args->stride_h + 1;
  if (rows < args->out_h && rows < F32_DWCONV_COPY_ROWS) return 0;
  const bool borders = rows >= args->out_h && args->out_w <= 2 * args->kernel_w + 1 &&
                       args->stride_h * args->stride_w == 1;
  if (args->in_pixel_stride % F32_DWCONV_FAR != 0 && !borders) return 0;
  return f32_dwconv_blocks(args->out_h, f32_dwconv_blocks(args->out_h, rows));
}

// The kernel depends on the width of a row of taps and on the step between pixels in taps
// (dwconv_choose in body.h). Here that is asked for the whole window instead of an area.
samara_status smr_f32_dwconv_need(const struct smr_f32_dwconv_args *args, bool sizes_vary,
                                  bool weights_vary, struct smr_parts *parts, samara_error *error) {
  const bool any = weights_vary, by3 = any || args->kernel_w == 3, by5 = any || args->kernel_w == 5;
  const bool ones = any || args->stride_w == args->dilation_w;
  const bool twos = any || args->stride_w == 2 * args->dilation_w;
  if (by3 && ones) SMR_NEED_IN(parts, error, f32_dwconv_3s1);
  if (by3 && twos) SMR_NEED_IN(parts, error, f32_dwconv_3s2);
  if (by5 && ones) SMR_NEED_IN(parts, error, f32_dwconv_5s1);
  if (by5 && twos) SMR_NEED_IN(parts, error, f32_dwconv_5s2);
  if (any || args->residual_pixel_stride != 0 || args->channels % SMR_PANEL != 0)
    SMR_NEED_IN(parts, error, f32_dwconv_part);
  if (args->w_type == SMR_GEMM_F16) SMR_NEED_IN(parts, error, f32_dwconv_f16w);
  if (sizes_vary || f32_dwconv_copied_rows(args) != 0) SMR_NEED_IN(parts, error, f32_dwconv_copied);
  return SAMARA_OK;
}

// Rows of a unit: blocks have nearly equal heights. Copied images are divided for threads only if
// channels give too few units, because lines shared by two blocks are copied twice.
static size_t f32_dwconv_rows(const struct smr_f32_dwconv_args *args) {
  const size_t copied = SMR_HAS(f32_dwconv_copied) ? f32_dwconv_copied_rows(args) : 0;
  const size_t most = copied != 0 ? copied : F32_DWCONV_ROWS;
  const size_t beside = copied != 0 ? f32_dwconv_blocks(args->channels, F32_DWCONV_CHANNELS) : 1;
  size_t blocks = f32_dwconv_blocks(args->out_h, F32_DWCONV_LEAST_ROWS);
  const size_t wanted = beside != 0 ? f32_dwconv_blocks(args->pieces, beside) : 1;
  if (blocks > wanted) blocks = wanted;
  const size_t high = f32_dwconv_blocks(args->out_h, most);
  if (blocks < high) blocks = high;
  return blocks > 1 ? f32_dwconv_blocks(args->out_h, blocks) : most;
}

size_t smr_f32_dwconv_units(const struct smr_f32_dwconv_args *args) {
  return args->batch * f32_dwconv_blocks(args->out_h, f32_dwconv_rows(args)) *
         f32_dwconv_blocks(args->out_w, f32_dwconv_columns(args)) *
         f32_dwconv_blocks(args->channels, F32_DWCONV_CHANNELS);
}

// Taps [begin, end) of one axis that are inside the image for output position `at`.
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

// Rows [y, y + area->rows), which use the tap rows ky, from column `x` to `x_stop`, one area at a
// time. `area` holds the common fields.
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

// The common fields of the areas of a rectangle.
SMR_HOT static struct smr_f32_dwconv_area f32_dwconv_area_of(
    const struct smr_f32_dwconv_args *args, const struct smr_f32_dwconv_rect *rect) {
  const size_t channels = args->channels - rect->channel, b = rect->image;
  struct smr_f32_dwconv_area area = {
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
      .residual_row = args->residual_row_stride,
      .residual_step = args->residual_pixel_stride,
      .lo = args->lo,
      .hi = args->hi,
  };
  if (args->residual)
    area.residual = args->residual + b * args->residual_batch_stride + rect->channel;
  return area;
}

SMR_HOT void smr_f32_dwconv_run_rect(const struct smr_f32_dwconv_config *config,
                                     const struct smr_f32_dwconv_args *args,
                                     const struct smr_f32_dwconv_rect *rect) {
  struct smr_f32_dwconv_area area = f32_dwconv_area_of(args, rect);
  for (size_t y = rect->y0; y < rect->y1; y += area.rows) {
    const struct f32_dwconv_span ky = f32_dwconv_taps_y(args, y);
    area.rows = 1;
    while (y + area.rows < rect->y1 && f32_dwconv_same(f32_dwconv_taps_y(args, y + area.rows), ky))
      area.rows++;
    f32_dwconv_strip(config, args, y, rect->x0, rect->x1, ky, &area);
  }
  for (size_t y = rect->y0; args->post && y < rect->y1; y++) {
    args->post(args->post_context,
               area.out + y * args->out_row_stride + rect->x0 * args->out_pixel_stride,
               rect->x1 - rect->x0, area.channels, args->out_pixel_stride, SMR_GEMM_F32);
  }
}

// Copy to `copy`, for `channels` of the panel at `in`, those of the `lines` read by rows from `y`
// on that exist.
SMR_HOT static void f32_dwconv_copy(const struct smr_f32_dwconv_args *args, const float *in,
                                    size_t channels, size_t y, size_t lines, size_t width,
                                    float *copy) {
  const size_t right = args->in_w + args->pad_left;  // where the padding resumes
  const size_t columns = right < width ? right : width;
  for (size_t i = 0; i < lines; i++) {
    const size_t line = y * args->stride_h + i;
    if (line < args->pad_top || line - args->pad_top >= args->in_h) continue;
    const float *from = in + (line - args->pad_top) * args->in_row_stride;
    float *to = copy + (i * width + args->pad_left) * SMR_PANEL;
    for (size_t x = args->pad_left; x < columns; x++) {
      if (channels == SMR_PANEL) {
        memcpy(to, from, SMR_PANEL * sizeof *to);
      } else {
        for (size_t c = 0; c < channels; c++) to[c] = from[c];
      }
      from += args->in_pixel_stride;
      to += SMR_PANEL;
    }
  }
}

// A unit of whole rows through `copy`. Unless `fresh`, the copy already holds the padding.
SMR_HOT static void f32_dwconv_run_copied(const struct smr_f32_dwconv_config *config,
                                          const struct smr_f32_dwconv_args *args,
                                          struct smr_f32_dwconv_rect rect, bool fresh,
                                          float *copy) {
  const size_t width = f32_dwconv_copied_width(args), y = rect.y0, rows = rect.y1 - y;
  const size_t lines = (rows - 1) * args->stride_h + (args->kernel_h - 1) * args->dilation_h + 1;
  struct smr_f32_dwconv_args inner = *args;
  inner.in_pixel_stride = SMR_PANEL;
  inner.in_row_stride = width * SMR_PANEL;
  if (fresh) smr_clear(copy, lines * width * SMR_PANEL * sizeof *copy);
  size_t left = f32_dwconv_area_of(args, &rect).channels;
  for (size_t n; left > 0; left -= n, rect.channel += n) {
    struct smr_f32_dwconv_area area = f32_dwconv_area_of(&inner, &rect);
    area.channels = n = left < SMR_PANEL ? left : SMR_PANEL;
    f32_dwconv_copy(args, area.in, n, y, lines, width, copy);
    area.in = copy;
    area.out += y * area.out_row;
    if (area.residual) area.residual += y * area.residual_row;
    area.rows = rows;
    area.pixels = args->out_w;
    area.taps_h = args->kernel_h;
    area.taps_w = args->kernel_w;
    config->area(&area);
    for (size_t row = 0; args->post && row < rows; row++)
      args->post(args->post_context, area.out + row * area.out_row, area.pixels, n, area.out_step,
                 SMR_GEMM_F32);
  }
}

SMR_HOT void smr_f32_dwconv_run(const struct smr_f32_dwconv_config *config,
                                const struct smr_f32_dwconv_args *args, size_t begin, size_t end) {
  const bool copied = SMR_HAS(f32_dwconv_copied) && f32_dwconv_copied_rows(args) != 0;
  const size_t rows = f32_dwconv_rows(args);
  const size_t row_blocks = f32_dwconv_blocks(args->out_h, rows);
  const size_t channel_blocks = f32_dwconv_blocks(args->channels, F32_DWCONV_CHANNELS);
  const size_t columns = f32_dwconv_columns(args);
  const size_t column_blocks = f32_dwconv_blocks(args->out_w, columns);
  float copy[(SMR_HAS(f32_dwconv_copied) ? F32_DWCONV_COPY : 0) * SMR_PANEL + 1];
  for (size_t unit = begin; unit < end; unit++) {
    const size_t strip = unit / channel_blocks, block = strip / column_blocks;
    struct smr_f32_dwconv_rect rect = {.image = block / row_blocks,
                                       .channel = unit % channel_blocks * F32_DWCONV_CHANNELS,
                                       .y0 = block % row_blocks * rows,
                                       .x0 = strip % column_blocks * columns};
    rect.y1 = args->out_h - rect.y0 < rows ? args->out_h : rect.y0 + rows;
    rect.x1 = args->out_w - rect.x0 < columns ? args->out_w : rect.x0 + columns;
    if (F32_DWCONV_COPY != 0 && copied) {
      f32_dwconv_run_copied(config, args, rect, unit == begin || rect.channel == 0, copy);
    } else {
      smr_f32_dwconv_run_rect(config, args, &rect);
    }
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
