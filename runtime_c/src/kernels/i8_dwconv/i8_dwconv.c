// SPDX-License-Identifier: Apache-2.0
// The int8 depthwise convolution: its kernels for every instruction set, and the division into
// areas of pixels that use the same taps.
#include "base/fp.h"

#include "kernels/i8_dwconv/i8_dwconv.h"

#include <string.h>

#include "base/cut.h"
#include "base/isa.h"
#include "base/parts.h"
#include "kernels/i8_dwconv/area.h"
#include "simd/requantize.h"
#include "simd/tail.h"
#include "simd/common.h"

// Vector kernels leave some cases to portable C, which must exist even if a selective build drops
// its row.
#include "simd/scalar_begin.h"
#include "kernels/i8_dwconv/scalar.h"
#include "simd/end.h"

// VNNI kernels leave some cases to AVX-512, which is compiled before them.
#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_dwconv/body.h"
#include "kernels/int8.inc"
#undef SMR_SIMD_BODY
#define SMR_SIMD_BODY "kernels/i8_dwconv/avx512vnni.h"
#include "kernels/i8_dwconv/kernels_vnni.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

struct smr_i8_dwconv_config {
  uint32_t isa;
  const char *names[3];  // 3x3, 5x5, others
  smr_i8_dwconv_area_ukernel area;
  smr_i8_dwconv_indirect_ukernel indirect;
};

static const struct smr_i8_dwconv_config i8_dwconv_configs[] = {
#define SMR_UKERNEL(isa, suffix, lanes)                                           \
  {isa,                                                                           \
   {"i8_dwconv_3x3__" #suffix, "i8_dwconv_5x5__" #suffix, "i8_dwconv__" #suffix}, \
   smr_i8_dwconv_area_##suffix,                                                   \
   smr_i8_dwconv_indirect_##suffix},
#include "kernels/i8_dwconv/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_dwconv_config *smr_i8_dwconv_config(uint32_t isa) {
  const struct smr_i8_dwconv_config *config = i8_dwconv_configs;
  while ((config->isa & isa) != config->isa) config++;  // the last needs nothing
  return config;
}

const char *smr_i8_dwconv_kernel(const struct smr_i8_dwconv_config *config,
                                 const struct smr_i8_dwconv_args *args) {
  if (args->kernel_h == 3 && args->kernel_w == 3) return config->names[0];
  if (args->kernel_h == 5 && args->kernel_w == 5) return config->names[1];
  return config->names[2];
}

// A unit is a block of rows by a block of channels. Rows share input in L1; channels are split so
// that small images give enough units. Very wide rows and very large windows are split too.
enum {
  I8_DWCONV_ROWS = 8,
  I8_DWCONV_LEAST_ROWS = 3,  // fewest rows of a block
  I8_DWCONV_CHANNELS = 4 * SMR_I8_PANEL,
  I8_DWCONV_TAPS = 1 << 15,  // most taps per row of a unit
};

// Pixels of a row of a unit.
static size_t i8_dwconv_columns(const struct smr_i8_dwconv_args *args) {
  if (args->kernel_h > I8_DWCONV_TAPS || args->kernel_w > I8_DWCONV_TAPS) return 1;
  const size_t taps = args->kernel_h * args->kernel_w;
  return taps < I8_DWCONV_TAPS && taps != 0 ? I8_DWCONV_TAPS / taps : 1;
}

// Rows of a unit: blocks have nearly equal heights.
static size_t i8_dwconv_rows(const struct smr_i8_dwconv_args *args) {
  size_t blocks = smr_ceil_div(args->out_h, I8_DWCONV_LEAST_ROWS);
  if (blocks > args->pieces) blocks = args->pieces;
  const size_t high = smr_ceil_div(args->out_h, I8_DWCONV_ROWS);
  if (blocks < high) blocks = high;
  return blocks > 1 ? smr_ceil_div(args->out_h, blocks) : I8_DWCONV_ROWS;
}

size_t smr_i8_dwconv_units(const struct smr_i8_dwconv_args *args) {
  return args->batch * smr_ceil_div(args->out_h, i8_dwconv_rows(args)) *
         smr_ceil_div(args->out_w, i8_dwconv_columns(args)) *
         smr_ceil_div(args->channels, I8_DWCONV_CHANNELS);
}

// Taps [begin, end) of one axis that are inside the image for output position `at`.
struct i8_dwconv_span {
  size_t begin, end;
};

static struct i8_dwconv_span i8_dwconv_taps(size_t at, size_t stride, size_t dilation, size_t pad,
                                            size_t kernel, size_t size) {
  const size_t origin = at * stride;  // of tap 0, plus pad
  struct i8_dwconv_span span;
  span.begin = origin < pad ? (pad - origin + dilation - 1) / dilation : 0;
  span.end = origin < pad + size ? (pad + size - origin + dilation - 1) / dilation : 0;
  if (span.end > kernel) span.end = kernel;
  if (span.begin > span.end) span.begin = span.end;
  return span;
}

static struct i8_dwconv_span i8_dwconv_taps_y(const struct smr_i8_dwconv_args *args, size_t y) {
  return i8_dwconv_taps(y, args->stride_h, args->dilation_h, args->pad_top, args->kernel_h,
                        args->in_h);
}

static struct i8_dwconv_span i8_dwconv_taps_x(const struct smr_i8_dwconv_args *args, size_t x) {
  return i8_dwconv_taps(x, args->stride_w, args->dilation_w, args->pad_left, args->kernel_w,
                        args->in_w);
}

static int i8_dwconv_same(struct i8_dwconv_span a, struct i8_dwconv_span b) {
  return a.begin == b.begin && a.end == b.end;
}

static void *i8_dwconv_out(const struct smr_i8_dwconv_args *args, void *out, size_t elements) {
  if (args->end.to == SMR_I8_TO_I32) return (int32_t *)out + elements;
  return (int8_t *)out + elements;
}

// Outputs [y0, y1) by [x0, x1) of an image, for up to 64 channels from `channel`.
struct i8_dwconv_rect {
  size_t image, channel, y0, y1, x0, x1;
};

// Weights are prepared once for as many rectangles as possible. Pixels whose windows leave the
// image read a padded copy of their inputs.
enum {
  I8_DWCONV_PATCH = 24 * 1024,  // bytes of such copies
  I8_DWCONV_PIECES = 8,
};

struct i8_dwconv_batch {
  const struct smr_i8_dwconv_config *config;
  const struct smr_i8_dwconv_args *args;
  struct smr_i8_dwconv_area area;
  struct smr_i8_dwconv_piece pieces[I8_DWCONV_PIECES];
  const int8_t *in;  // address of the image at the first channel
  size_t reach_h, reach_w, used;
  int8_t patch[I8_DWCONV_PATCH];
};

SMR_HOT static void i8_dwconv_flush(struct i8_dwconv_batch *batch) {
  if (batch->area.count > 0) batch->config->area(&batch->area);
  batch->area.count = batch->used = 0;
}

// Add a rectangle; its `in` and strides address its taps. A border column is treated as a row.
SMR_HOT static void i8_dwconv_add(struct i8_dwconv_batch *batch, struct smr_i8_dwconv_piece piece) {
  if (batch->area.count == I8_DWCONV_PIECES) i8_dwconv_flush(batch);
  if (piece.pixels < 4 && piece.rows >= 4) {
    const struct smr_i8_dwconv_piece given = piece;
    piece.rows = given.pixels, piece.pixels = given.rows;
    piece.in_row = given.in_step, piece.in_step = given.in_row;
    piece.out_row = given.out_step, piece.out_step = given.out_row;
  }
  batch->pieces[batch->area.count++] = piece;
}

SMR_HOT static struct smr_i8_dwconv_piece i8_dwconv_piece_at(const struct smr_i8_dwconv_args *args,
                                                             const struct i8_dwconv_rect *rect,
                                                             size_t in_row, size_t in_pixel) {
  return (struct smr_i8_dwconv_piece){
      .rows = rect->y1 - rect->y0,
      .pixels = rect->x1 - rect->x0,
      .in_row = args->stride_h * in_row,
      .in_step = args->stride_w * in_pixel,
      .in_tap_row = args->dilation_h * in_row,
      .in_tap = args->dilation_w * in_pixel,
      .out = rect->y0 * args->out_row_stride + rect->x0 * args->out_pixel_stride,
      .out_row = args->out_row_stride,
      .out_step = args->out_pixel_stride,
  };
}

SMR_HOT static void i8_dwconv_inside(struct i8_dwconv_batch *batch,
                                     const struct i8_dwconv_rect *rect) {
  const struct smr_i8_dwconv_args *args = batch->args;
  if (rect->y0 >= rect->y1 || rect->x0 >= rect->x1) return;
  struct smr_i8_dwconv_piece piece =
      i8_dwconv_piece_at(args, rect, args->in_row_stride, args->in_pixel_stride);
  piece.in = batch->in + (rect->y0 * args->stride_h - args->pad_top) * args->in_row_stride +
             (rect->x0 * args->stride_w - args->pad_left) * args->in_pixel_stride;
  i8_dwconv_add(batch, piece);
}

// Copy the inputs of a rectangle, which must fit the patch.
SMR_HOT static void i8_dwconv_copied(struct i8_dwconv_batch *batch,
                                     const struct i8_dwconv_rect *rect, size_t rows,
                                     size_t columns) {
  const struct smr_i8_dwconv_args *args = batch->args;
  const size_t channels = batch->area.channels, pitch = I8_DWCONV_CHANNELS;
  int8_t *to = batch->patch + batch->used;
  struct smr_i8_dwconv_piece piece = i8_dwconv_piece_at(args, rect, columns * pitch, pitch);
  piece.in = to;
  int8_t padding[16];  // runs of this length are copied in registers by any compiler target
  memset(padding, args->x_zero, sizeof padding);
  for (size_t r = 0; r < rows; r++) {
    const size_t y = rect->y0 * args->stride_h + r - args->pad_top;  // wraps outside the image
    const size_t x0 = rect->x0 * args->stride_w - args->pad_left;
    for (size_t i = 0; i < columns; i++, to += pitch) {
      const size_t x = x0 + i;
      if (y >= args->in_h || x >= args->in_w) {
        SMR_UNROLL for (size_t j = 0; j < I8_DWCONV_CHANNELS; j += 16) memcpy(to + j, padding, 16);
        continue;
      }
      const int8_t *from = batch->in + y * args->in_row_stride + x * args->in_pixel_stride;
      if (channels == pitch)
        SMR_UNROLL for (size_t j = 0; j < I8_DWCONV_CHANNELS; j += 16) memcpy(to + j, from + j, 16);
      else
        smr_copy(to, from, channels);
    }
  }
  batch->used += rows * columns * pitch;
  i8_dwconv_add(batch, piece);
}

// The most outputs, between 1 and `all`, whose inputs along an axis number at most `most`.
static size_t i8_dwconv_fitting(size_t all, size_t most, size_t reach, size_t stride) {
  const size_t n = most > reach ? (most - reach) / stride + 1 : 1;
  return n < all ? n : all;
}

// Compute a rectangle through copies, in parts if needed. A single window must fit.
SMR_HOT static void i8_dwconv_outside(struct i8_dwconv_batch *batch,
                                      const struct i8_dwconv_rect *rect) {
  const struct smr_i8_dwconv_args *args = batch->args;
  const size_t most = I8_DWCONV_PATCH / I8_DWCONV_CHANNELS;
  struct i8_dwconv_rect part = *rect;
  for (part.y0 = rect->y0; part.y0 < rect->y1; part.y0 = part.y1) {
    part.y1 = part.y0 + i8_dwconv_fitting(rect->y1 - part.y0, most / batch->reach_w, batch->reach_h,
                                          args->stride_h);
    const size_t rows = (part.y1 - part.y0 - 1) * args->stride_h + batch->reach_h;
    for (part.x0 = rect->x0; part.x0 < rect->x1; part.x0 = part.x1) {
      part.x1 = part.x0 +
                i8_dwconv_fitting(rect->x1 - part.x0, most / rows, batch->reach_w, args->stride_w);
      const size_t columns = (part.x1 - part.x0 - 1) * args->stride_w + batch->reach_w;
      if (rows * columns * I8_DWCONV_CHANNELS > I8_DWCONV_PATCH - batch->used ||
          batch->area.count == I8_DWCONV_PIECES)
        i8_dwconv_flush(batch);
      i8_dwconv_copied(batch, &part, rows, columns);
    }
  }
}

// Outputs [begin, end) of [from, to) along an axis whose windows are inside the image.
static void i8_dwconv_interior(size_t pad, size_t in, size_t stride, size_t reach, size_t from,
                               size_t to, size_t *begin, size_t *end) {
  *begin = (pad + stride - 1) / stride;
  *end = in + pad >= reach ? (in + pad - reach) / stride + 1 : 0;
  if (*begin < from) *begin = from;
  if (*begin > to) *begin = to;
  if (*end > to) *end = to;
  if (*end < *begin) *end = *begin;
}

// A rectangle with windows small enough to be copied.
SMR_HOT static void i8_dwconv_run_small(const struct smr_i8_dwconv_config *config,
                                        const struct smr_i8_dwconv_args *args,
                                        const struct smr_i8_dwconv_area *common,
                                        const struct i8_dwconv_rect *rect) {
  struct i8_dwconv_batch batch;  // its patch is filled when used
  batch.config = config;
  batch.args = args;
  batch.area = *common;
  batch.area.pieces = batch.pieces;
  batch.in = args->in + rect->image * args->in_batch_stride + rect->channel;
  batch.reach_h = (args->kernel_h - 1) * args->dilation_h + 1;
  batch.reach_w = (args->kernel_w - 1) * args->dilation_w + 1;
  batch.used = 0;
  size_t ya, yb, xa, xb;
  i8_dwconv_interior(args->pad_top, args->in_h, args->stride_h, batch.reach_h, rect->y0, rect->y1,
                     &ya, &yb);
  i8_dwconv_interior(args->pad_left, args->in_w, args->stride_w, batch.reach_w, rect->x0, rect->x1,
                     &xa, &xb);
  struct i8_dwconv_rect part = *rect;
  const size_t rows = (rect->y1 - rect->y0 - 1) * args->stride_h + batch.reach_h;
  const size_t columns = (rect->x1 - rect->x0 - 1) * args->stride_w + batch.reach_w;
  const int whole = xb - xa == rect->x1 - rect->x0 && yb - ya == rect->y1 - rect->y0;
  const int fits = columns <= I8_DWCONV_PATCH / I8_DWCONV_CHANNELS / rows;
  const size_t outputs = (rect->y1 - rect->y0) * (rect->x1 - rect->x0);
  // A single rectangle fills vectors of pixels, which pays for the copy if that is little work in
  // comparison.
  if (!whole && fits && 4 * rows * columns <= outputs * args->kernel_h * args->kernel_w) {
    i8_dwconv_outside(&batch, rect);
  } else {
    if (ya == yb || xa == xb) ya = yb = rect->y1;  // no window is completely inside
    part.y0 = ya, part.y1 = yb, part.x0 = xa, part.x1 = xb;
    i8_dwconv_inside(&batch, &part);
    part.x1 = xa, part.x0 = rect->x0;
    i8_dwconv_outside(&batch, &part);
    part.x0 = xb, part.x1 = rect->x1;
    i8_dwconv_outside(&batch, &part);
    part.x0 = rect->x0;
    part.y0 = rect->y0, part.y1 = ya;
    i8_dwconv_outside(&batch, &part);
    part.y0 = yb, part.y1 = rect->y1;
    i8_dwconv_outside(&batch, &part);
  }
  i8_dwconv_flush(&batch);
}

// A rectangle with large windows: separate areas of pixels that use the same taps.
static void i8_dwconv_run_large(const struct smr_i8_dwconv_config *config,
                                const struct smr_i8_dwconv_args *args,
                                const struct smr_i8_dwconv_area *common,
                                const struct i8_dwconv_rect *rect) {
  const int8_t *in = args->in + rect->image * args->in_batch_stride + rect->channel;
  struct i8_dwconv_rect part = *rect;
  for (part.y0 = rect->y0; part.y0 < rect->y1; part.y0 = part.y1) {
    const struct i8_dwconv_span ky = i8_dwconv_taps_y(args, part.y0);
    part.y1 = part.y0 + 1;
    while (part.y1 < rect->y1 && i8_dwconv_same(i8_dwconv_taps_y(args, part.y1), ky)) part.y1++;
    for (part.x0 = rect->x0; part.x0 < rect->x1; part.x0 = part.x1) {
      const struct i8_dwconv_span kx = i8_dwconv_taps_x(args, part.x0);
      part.x1 = part.x0 + 1;
      while (part.x1 < rect->x1 && i8_dwconv_same(i8_dwconv_taps_x(args, part.x1), kx)) part.x1++;
      struct smr_i8_dwconv_piece piece =
          i8_dwconv_piece_at(args, &part, args->in_row_stride, args->in_pixel_stride);
      struct smr_i8_dwconv_area area = *common;
      area.pieces = &piece;
      area.count = 1;
      area.taps_h = ky.end - ky.begin;
      area.taps_w = kx.end - kx.begin;
      piece.in = in;
      if (area.taps_h > 0 && area.taps_w > 0) {
        piece.in += (part.y0 * args->stride_h + ky.begin * args->dilation_h - args->pad_top) *
                        args->in_row_stride +
                    (part.x0 * args->stride_w + kx.begin * args->dilation_w - args->pad_left) *
                        args->in_pixel_stride;
        area.w += (ky.begin * args->kernel_w + kx.begin) * SMR_I8_PANEL;
      } else {
        area.taps_h = area.taps_w = 0;
      }
      config->area(&area);
    }
  }
}

// Whether the inputs of a window fit a patch.
static int i8_dwconv_small(const struct smr_i8_dwconv_args *args) {
  const size_t most = I8_DWCONV_PATCH / I8_DWCONV_CHANNELS;
  if (args->kernel_h > most || args->kernel_w > most) return 0;
  if (args->dilation_h > most || args->dilation_w > most) return 0;
  return ((args->kernel_h - 1) * args->dilation_h + 1) *
             ((args->kernel_w - 1) * args->dilation_w + 1) <=
         most;
}

static void i8_dwconv_run_rect(const struct smr_i8_dwconv_config *config,
                               const struct smr_i8_dwconv_args *args,
                               const struct i8_dwconv_rect *rect) {
  const size_t channels = args->channels - rect->channel, c = rect->channel;
  const struct smr_i8_dwconv_end *end = &args->end;
  struct smr_i8_dwconv_area area = {
      .channels = channels < I8_DWCONV_CHANNELS ? channels : I8_DWCONV_CHANNELS,
      .taps_h = args->kernel_h,
      .taps_w = args->kernel_w,
      .x_zero = args->x_zero,
      .w = args->w + c / SMR_I8_PANEL * args->panel_stride_bytes,
      .w_taps = args->kernel_w,
      .panel_stride_bytes = args->panel_stride_bytes,
      .w_zero = args->w_zero ? args->w_zero + c : NULL,
      .out = i8_dwconv_out(args, args->out, rect->image * args->out_batch_stride + c),
      .end = *end,
  };
  if (end->bias) area.end.bias = end->bias + c;
  if (end->multiplier) area.end.multiplier = end->multiplier + c;
  if (i8_dwconv_small(args))
    i8_dwconv_run_small(config, args, &area, rect);
  else
    i8_dwconv_run_large(config, args, &area, rect);
}

void smr_i8_dwconv_run(const struct smr_i8_dwconv_config *config,
                       const struct smr_i8_dwconv_args *args, size_t begin, size_t end) {
  const size_t rows = i8_dwconv_rows(args);
  const size_t row_blocks = smr_ceil_div(args->out_h, rows);
  const size_t channel_blocks = smr_ceil_div(args->channels, I8_DWCONV_CHANNELS);
  const size_t columns = i8_dwconv_columns(args);
  const size_t column_blocks = smr_ceil_div(args->out_w, columns);
  for (size_t unit = begin; unit < end; unit++) {
    const size_t strip = unit / channel_blocks, block = strip / column_blocks;
    struct i8_dwconv_rect rect = {.image = block / row_blocks,
                                  .channel = unit % channel_blocks * I8_DWCONV_CHANNELS,
                                  .y0 = block % row_blocks * rows,
                                  .x0 = strip % column_blocks * columns};
    rect.y1 = args->out_h - rect.y0 < rows ? args->out_h : rect.y0 + rows;
    rect.x1 = args->out_w - rect.x0 < columns ? args->out_w : rect.x0 + columns;
    i8_dwconv_run_rect(config, args, &rect);
  }
}

void smr_i8_dwconv_indirect_run(const struct smr_i8_dwconv_config *config,
                                const struct smr_i8_dwconv_indirect_args *args, size_t begin,
                                size_t end) {
  config->indirect(args, begin, end);
}

size_t smr_i8_dwconv_panel_stride_bytes(size_t taps) {
  return (taps * SMR_I8_PANEL + 63) / 64 * 64;
}

void smr_i8_dwconv_pack(size_t taps, size_t channels, const int8_t *w, size_t tap_stride,
                        size_t channel_stride, int8_t *panels) {
  const size_t stride = smr_i8_dwconv_panel_stride_bytes(taps);
  for (size_t c = 0; c < channels; c += SMR_I8_PANEL, panels += stride) {
    memset(panels, 0, stride);
    const size_t n = channels - c < SMR_I8_PANEL ? channels - c : SMR_I8_PANEL;
    for (size_t t = 0; t < taps; t++)
      for (size_t i = 0; i < n; i++)
        panels[t * SMR_I8_PANEL + i] = w[t * tap_stride + (c + i) * channel_stride];
  }
}
