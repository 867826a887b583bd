// SPDX-License-Identifier: Apache-2.0
// Weight gradients as sums of outer products over pixels.
#include "base/fp.h"

#include "ops/conv/weight_grad.h"

#include "base/cut.h"
#include "kernels/f32_gemm/f32_gemm.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/matmul/linear.h"

#include <string.h>

enum {
  WEIGHT_GRAD_CHUNK_BYTES = 192 *
      1024,                        // of both sides: a share of L2, read by all tiles of a slice
  WEIGHT_GRAD_CHUNK_PIXELS = 256,  // at least: amortizes loading and storing the sums
  WEIGHT_GRAD_UNIT_FLOPS = 2 * 1000 * 1000,  // multiply-adds that pay for a hand-over to another
                                             // thread
  WEIGHT_GRAD_UNITS = 32,
  WEIGHT_GRAD_PARTIAL_FLOATS = 128 * 1024,  // of all partial sums together
  WEIGHT_GRAD_FINISH_FLOATS = 8 * 1024,     // additions per unit of the second phase
  WEIGHT_GRAD_COLUMNS = 256,                // of the second phase; on the stack
  WEIGHT_GRAD_FAR = 256,      // floats between pixels from which on cache lines of pixels collide
                              // in few sets
  WEIGHT_GRAD_FAR_TILES = 4,  // fewest tiles that reuse a copy so that it pays off
};

static size_t weight_grad_least(size_t a, size_t b) { return a < b ? a : b; }

// Start of share i when `all` is divided into nearly equal shares, multiples of `unit`.
static size_t weight_grad_cut(size_t all, size_t unit, size_t pieces, size_t i) {
  return weight_grad_least(all, smr_cut(smr_ceil_div(all, unit), pieces, i) * unit);
}

static size_t weight_grad_column_unit(const struct smr_weight_grad *s) {
  return s->config->nr < SMR_PANEL ? s->config->nr : SMR_PANEL;
}

// ---- preparing ----

// If every one-tap window reads each pixel in turn, treat the image as one long row.
static void weight_grad_flatten(struct smr_weight_grad *s) {
  struct smr_window *w = &s->window;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (w->kernel[i] != 1 || w->stride[i] != 1 || w->pad_begin[i] != 0 || w->in[i] != w->out[i])
      return;
  w->in[1] = w->out[1] = w->batch * smr_window_pixels(w);
  w->in[0] = w->out[0] = w->in[2] = w->out[2] = 1;
  w->batch = 1;
}

// Whether the depth axis counts. It does even with extent 1 if its tap may read padding.
static bool weight_grad_is_deep(const struct smr_window *w) {
  return w->in[0] != 1 || w->out[0] != 1 || w->kernel[0] != 1 || w->pad_begin[0] != 0;
}

// Cost of a pixel for a tile: its vectors, with columns rounded up to whole panels.
static size_t weight_grad_cost(const struct smr_weight_grad *s, size_t rows, size_t columns) {
  const size_t panels = smr_panels(columns);
  // With a single panel, each multiplication needs its own load.
  return rows * panels * (panels == 1 && s->config->nr > SMR_PANEL ? 9 : 8);
}

static void weight_grad_choose(struct smr_weight_grad *s) {
  const struct smr_window *w = &s->window;
  const size_t taps = (size_t)smr_window_taps(w), row_taps = (size_t)w->kernel[2];
  if (s->groups > 1 && s->a_channels == 1 && s->b_channels == 1) {
    s->kind = SMR_WEIGHT_GRAD_DIAGONAL;
    s->joined = row_taps;
    s->length = s->groups;
    s->segments = taps / row_taps;
    return;
  }
  s->joined = s->groups == 1 && w->dilation[2] == 1 ? row_taps : 1;
  s->length = s->joined * s->b_channels;
  s->segments = s->groups * (taps / s->joined);
  const size_t plain = weight_grad_cost(s, s->a_channels, s->length);
  const size_t turned = weight_grad_cost(s, s->length, s->a_channels);
  s->kind = turned + turned / 8 < plain ? SMR_WEIGHT_GRAD_TURNED : SMR_WEIGHT_GRAD_PLAIN;
}

// Choose the tile: at most `columns` columns, and as many rows as suit them.
static void weight_grad_cut_tile(const struct smr_weight_grad *s, size_t rows, size_t columns,
                                 size_t *row_tiles, size_t *column_tiles) {
  const struct smr_f32_outer_config *config = s->config;
  const size_t unit = weight_grad_column_unit(s);
  *column_tiles = smr_ceil_div(columns, config->nr);
  const size_t widest = smr_ceil_div(smr_ceil_div(columns, unit), *column_tiles) * unit;
  *row_tiles = smr_ceil_div(rows, widest <= config->narrow ? config->tall : config->mr);
}

static void weight_grad_cut_tiles(struct smr_weight_grad *s) {
  if (s->kind == SMR_WEIGHT_GRAD_DIAGONAL) {
    s->a_tiles = 1;
    s->b_tiles = smr_ceil_div(s->length, 4 * SMR_PANEL);
  } else if (s->kind == SMR_WEIGHT_GRAD_PLAIN) {
    weight_grad_cut_tile(s, s->a_channels, s->length, &s->a_tiles, &s->b_tiles);
  } else {
    weight_grad_cut_tile(s, s->length, s->a_channels, &s->b_tiles, &s->a_tiles);
  }
}

static void weight_grad_cut_pixels(struct smr_weight_grad *s) {
  const struct smr_window *w = &s->window;
  const bool deep = weight_grad_is_deep(w);
  s->images = deep ? (size_t)w->batch : 1;
  s->planes = deep ? (size_t)w->out[0] : (size_t)w->batch;
  const size_t width = (size_t)w->out[2], height = (size_t)w->out[1];
  s->chunks = 0;
  if (s->images == 0 || s->planes == 0 || width == 0 || height == 0) return;
  const size_t floats =
      s->groups * (width * s->a_channels + (size_t)(w->in[2] * w->stride[1]) * s->b_channels);
  size_t rows = WEIGHT_GRAD_CHUNK_BYTES / sizeof(float) / (floats ? floats : 1);
  if (rows * width < WEIGHT_GRAD_CHUNK_PIXELS) rows = smr_ceil_div(WEIGHT_GRAD_CHUNK_PIXELS, width);
  s->row_blocks = smr_ceil_div(height, rows);
  s->chunk_rows = smr_ceil_div(height, s->row_blocks);
  s->row_blocks = smr_ceil_div(height, s->chunk_rows);
  s->chunk_planes = rows / height ? weight_grad_least(rows / height, s->planes) : 1;
  s->plane_blocks = smr_ceil_div(s->planes, s->chunk_planes);
  s->chunks = s->images * s->plane_blocks * s->row_blocks;
}

// Take scratch for the columns of b that a tile reads in a chunk.
static samara_status weight_grad_place_pack(struct smr_job *job, struct smr_weight_grad *s) {
  s->packs = s->kind == SMR_WEIGHT_GRAD_PLAIN && s->groups * s->b_channels >= WEIGHT_GRAD_FAR &&
             s->a_tiles >= WEIGHT_GRAD_FAR_TILES && s->chunks > 0;
  if (!s->packs) return SAMARA_OK;
  const size_t pixels = s->chunk_planes * s->chunk_rows * (size_t)s->window.out[2];
  const size_t width = weight_grad_least(s->length, s->config->nr);
  size_t offset;
  return smr_thread_scratch_take(job, pixels, width * sizeof(float), &offset);
}

static void weight_grad_cut_work(struct smr_weight_grad *s) {
  const struct smr_window *w = &s->window;
  const size_t pixels = (size_t)(w->batch * smr_window_pixels(w));
  const double unit = WEIGHT_GRAD_UNIT_FLOPS;
  const double wanted = 2.0 * (double)pixels * (double)s->partial_floats / unit;
  size_t units = wanted < (double)WEIGHT_GRAD_UNITS ? (size_t)wanted : WEIGHT_GRAD_UNITS;
  if (units == 0) units = 1;
  size_t parts = weight_grad_least(units, WEIGHT_GRAD_PARTIAL_FLOATS / s->partial_floats);
  parts = weight_grad_least(parts, s->chunks);
  if (parts < 2) parts = 1;
  // Use the fewest parts among those with the same longest part.
  s->parts = parts == 1 ? 1 : smr_ceil_div(s->chunks, smr_ceil_div(s->chunks, parts));
  s->slices =
      weight_grad_least(smr_ceil_div(units, s->parts), s->segments * s->a_tiles * s->b_tiles);
}

samara_status smr_weight_grad_prepare(struct smr_job *job, struct smr_weight_grad *s) {
  SMR_NEED(job, f32_reduce_columns_sum);
  s->config = smr_f32_outer_config(job->isa);
  s->reduce = smr_f32_reduce_config(job->isa);
  weight_grad_flatten(s);
  weight_grad_choose(s);
  s->partial_floats =
      s->groups * s->a_channels * s->b_channels * (size_t)smr_window_taps(&s->window);
  job->kernel = s->kind == SMR_WEIGHT_GRAD_DIAGONAL ? s->config->diagonal_name : s->config->name;
  if (s->partial_floats == 0) {
    job->tiles = 0;
    return SAMARA_OK;
  }
  weight_grad_cut_tiles(s);
  weight_grad_cut_pixels(s);
  weight_grad_cut_work(s);
  SMR_TRY(weight_grad_place_pack(job, s));
  job->tiles = s->parts * s->slices;
  if (s->parts == 1 && s->kind == SMR_WEIGHT_GRAD_PLAIN) return SAMARA_OK;
  const size_t across = s->kind == SMR_WEIGHT_GRAD_PLAIN      ? WEIGHT_GRAD_COLUMNS
                        : s->kind == SMR_WEIGHT_GRAD_DIAGONAL ? s->groups
                                                              : s->a_channels;
  s->finish_rows = smr_ceil_div(s->partial_floats, across);
  s->finish_group = WEIGHT_GRAD_FINISH_FLOATS / (across * s->parts);
  if (s->finish_group == 0) s->finish_group = 1;
  job->barriers[0] = job->tiles;
  job->tiles += smr_ceil_div(s->finish_rows, s->finish_group);
  size_t floats;
  if (!smr_mul_size(s->partial_floats, s->parts, &floats)) floats = SIZE_MAX;
  return smr_scratch_take(job, floats, sizeof(float), &s->partial_offset);
}

// ---- the first phase ----

// A tile of the result: its range of sums, and their address.
struct weight_grad_tile {
  size_t group, tap[SMR_MAX_SPATIAL];  // of the tile's first tap
  size_t a0, a1, b0, b1;               // channels of a; columns of the segment of b
  float *out;                          // address of (a0, column 0)
  size_t out_stride;
};

static struct weight_grad_tile weight_grad_tile_of(const struct smr_weight_grad *s, size_t tile,
                                                   float *result) {
  const struct smr_window *w = &s->window;
  const size_t unit = weight_grad_column_unit(s);
  const size_t ia = tile % s->a_tiles, ib = tile / s->a_tiles % s->b_tiles;
  size_t segment = tile / s->a_tiles / s->b_tiles;
  struct weight_grad_tile t = {.group = 0};
  const size_t row_segments = (size_t)w->kernel[2] / s->joined;
  t.tap[2] = segment % row_segments * s->joined;
  segment /= row_segments;
  t.tap[1] = segment % (size_t)w->kernel[1];
  segment /= (size_t)w->kernel[1];
  t.tap[0] = segment % (size_t)w->kernel[0];
  t.group = segment / (size_t)w->kernel[0];
  const size_t tap = (t.tap[0] * (size_t)w->kernel[1] + t.tap[1]) * (size_t)w->kernel[2] + t.tap[2];
  const size_t taps = (size_t)smr_window_taps(w);
  const bool turned = s->kind == SMR_WEIGHT_GRAD_TURNED;
  t.b0 = weight_grad_cut(s->length, turned ? 1 : unit, s->b_tiles, ib);
  t.b1 = weight_grad_cut(s->length, turned ? 1 : unit, s->b_tiles, ib + 1);
  if (s->kind == SMR_WEIGHT_GRAD_DIAGONAL) {
    t.out_stride = s->length;
    t.out = result + tap * s->length;
    return t;
  }
  t.a0 = weight_grad_cut(s->a_channels, turned ? unit : 1, s->a_tiles, ia);
  t.a1 = weight_grad_cut(s->a_channels, turned ? unit : 1, s->a_tiles, ia + 1);
  if (turned) {
    t.out_stride = s->a_channels;
    t.out = result + (t.group * taps + tap) * s->b_channels * s->a_channels + t.a0;
  } else {
    t.out_stride = taps * s->b_channels;
    t.out = result + (t.group * s->a_channels + t.a0) * t.out_stride + tap * s->b_channels;
  }
  return t;
}

static void weight_grad_clear(const struct smr_weight_grad *s, const struct weight_grad_tile *t) {
  const bool plain = s->kind == SMR_WEIGHT_GRAD_PLAIN,
             diagonal = s->kind == SMR_WEIGHT_GRAD_DIAGONAL;
  const size_t rows = plain ? t->a1 - t->a0 : diagonal ? s->joined : t->b1 - t->b0;
  const size_t columns = plain || diagonal ? t->b1 - t->b0 : t->a1 - t->a0;
  float *out = t->out + (s->kind == SMR_WEIGHT_GRAD_TURNED ? t->b0 * t->out_stride : t->b0);
  for (size_t i = 0; i < rows; i++) memset(out + i * t->out_stride, 0, columns * sizeof *out);
}

// Pixels of `out` along an axis, within [from, to), whose tap `tap` reads a pixel of `in`.
struct weight_grad_range {
  int64_t begin, end;
};

static struct weight_grad_range weight_grad_range_of(const struct smr_window *w, uint32_t axis,
                                                     size_t tap, int64_t from, int64_t to) {
  const int64_t stride = w->stride[axis];
  const int64_t shift = w->pad_begin[axis] - (int64_t)tap * w->dilation[axis];
  const int64_t last = w->in[axis] - 1 + shift;  // the last pixel inside, times the stride
  const int64_t begin = shift > 0 ? (shift + stride - 1) / stride : 0;
  const int64_t end = last >= 0 ? last / stride + 1 : 0;
  return (struct weight_grad_range){begin > from ? begin : from, end < to ? end : to};
}

// Pixels of a row of `out` that use the same taps of a segment.
struct weight_grad_span {
  int64_t begin, end;
  size_t tap0, tap1;
};

// The span that starts at pixel `at`. tap0 == tap1 if it has no taps.
static struct weight_grad_span weight_grad_span_at(const struct smr_weight_grad *s,
                                                   const struct weight_grad_tile *t, int64_t at) {
  const struct smr_window *w = &s->window;
  const int64_t step = w->dilation[2], taps = (int64_t)s->joined;
  const int64_t first = at * w->stride[2] - w->pad_begin[2] + (int64_t)t->tap[2] * step;
  const int64_t low = first < 0 ? (-first + step - 1) / step : 0;
  int64_t high = first < w->in[2] ? (w->in[2] - first + step - 1) / step : 0;
  if (high > taps) high = taps;
  struct weight_grad_span span = {
      .begin = at, .end = at + 1, .tap0 = (size_t)low, .tap1 = (size_t)high};
  if (high <= low) {
    span.tap1 = span.tap0;
  } else if (low == 0 && high == taps) {
    // In the interior all taps are inside, up to the last pixel whose last tap is.
    const int64_t room = w->in[2] - 1 - first - (taps - 1) * step;
    span.end += room / w->stride[2];
    if (span.end > w->out[2]) span.end = w->out[2];
  }
  return span;
}

// Copies of the columns of b that a tile reads in a chunk, in the order of the walk.
struct weight_grad_pack {
  float *at;  // NULL: b is read in place
  bool fill;  // true: make the copies; false: use them
};

static void weight_grad_copy(const struct smr_f32_outer_walk *walk, size_t width, float *to) {
  for (size_t plane = 0; plane < walk->planes; plane++) {
    for (size_t row = 0; row < walk->rows; row++) {
      const float *b = walk->b + plane * walk->b_plane + row * walk->b_row;
      for (size_t i = 0; i < walk->pixels; i++, b += walk->b_step, to += width)
        memcpy(to, b, width * sizeof *to);
    }
  }
}

static void weight_grad_use_copy(struct smr_f32_outer_walk *walk, size_t width, const float *from) {
  walk->b = from;
  walk->b_step = width;
  walk->b_row = width * walk->pixels;
  walk->b_plane = walk->b_row * walk->rows;
}

static void weight_grad_walk_tile(const struct smr_weight_grad *s, const struct weight_grad_tile *t,
                                  const struct weight_grad_span *span,
                                  struct smr_f32_outer_walk *walk, struct weight_grad_pack *pack) {
  if (s->kind == SMR_WEIGHT_GRAD_DIAGONAL) {
    const size_t b_tap = (size_t)s->window.dilation[2] * s->groups;
    walk->a += t->b0;
    walk->b += t->b0;
    walk->out = t->out + span->tap0 * t->out_stride + t->b0;
    walk->out_stride = t->out_stride;
    s->config->diagonal(span->tap1 - span->tap0, t->b1 - t->b0, b_tap, walk);
    return;
  }
  size_t b0 = t->b0, b1 = t->b1;
  const size_t low = span->tap0 * s->b_channels, high = span->tap1 * s->b_channels;
  if (b0 < low) b0 = low;
  if (b1 > high) b1 = high;
  if (b0 >= b1) return;
  walk->a += t->a0;
  walk->b += b0 - low;
  walk->out_stride = t->out_stride;
  if (pack->at != NULL) {
    float *copy = pack->at;
    pack->at += walk->planes * walk->rows * walk->pixels * (b1 - b0);
    if (pack->fill) {
      weight_grad_copy(walk, b1 - b0, copy);
      return;
    }
    weight_grad_use_copy(walk, b1 - b0, copy);
  }
  if (s->kind == SMR_WEIGHT_GRAD_PLAIN) {
    walk->out = t->out + b0;
    s->config->ukernel(t->a1 - t->a0, b1 - b0, walk);
    return;
  }
  struct smr_f32_outer_walk turned = *walk;
  turned.a = walk->b, turned.a_plane = walk->b_plane;
  turned.a_row = walk->b_row, turned.a_step = walk->b_step;
  turned.b = walk->a, turned.b_plane = walk->a_plane;
  turned.b_row = walk->a_row, turned.b_step = walk->a_step;
  turned.out = t->out + b0 * t->out_stride;
  s->config->ukernel(b1 - b0, t->a1 - t->a0, &turned);
}

// Add chunk `chunk` to a tile.
static void weight_grad_add(const struct smr_weight_grad *s, const struct weight_grad_tile *t,
                            const float *a, const float *b, size_t chunk,
                            struct weight_grad_pack pack) {
  const struct smr_window *w = &s->window;
  const size_t row_block = chunk % s->row_blocks,
               plane_block = chunk / s->row_blocks % s->plane_blocks;
  const size_t image = chunk / s->row_blocks / s->plane_blocks;
  const bool deep = weight_grad_is_deep(w);
  struct weight_grad_range planes = {
      (int64_t)(plane_block * s->chunk_planes),
      (int64_t)weight_grad_least(s->planes, (plane_block + 1) * s->chunk_planes)};
  if (deep) planes = weight_grad_range_of(w, 0, t->tap[0], planes.begin, planes.end);
  const int64_t from = (int64_t)(row_block * s->chunk_rows);
  const int64_t to = (int64_t)weight_grad_least((size_t)w->out[1], (row_block + 1) * s->chunk_rows);
  const struct weight_grad_range rows = weight_grad_range_of(w, 1, t->tap[1], from, to);
  if (planes.begin >= planes.end || rows.begin >= rows.end) return;
  const size_t a_pixel = s->groups * s->a_channels, b_pixel = s->groups * s->b_channels;
  const size_t a_row = (size_t)w->out[2] * a_pixel, b_row = (size_t)w->in[2] * b_pixel;
  const size_t a_plane = (size_t)w->out[1] * a_row, b_plane = (size_t)w->in[1] * b_row;
  // The planes of `in` read by the first plane of `out`, and the step to the next.
  int64_t in_plane = planes.begin;
  if (deep)
    in_plane = planes.begin * w->stride[0] - w->pad_begin[0] + (int64_t)t->tap[0] * w->dilation[0];
  const int64_t in_row =
      rows.begin * w->stride[1] - w->pad_begin[1] + (int64_t)t->tap[1] * w->dilation[1];
  const float *a_first = a + (image * s->planes + (size_t)planes.begin) * a_plane +
                         (size_t)rows.begin * a_row + t->group * s->a_channels;
  const float *b_first = b + (image * (size_t)w->in[0] + (size_t)in_plane) * b_plane +
                         (size_t)in_row * b_row + t->group * s->b_channels;
  struct weight_grad_span span;
  for (int64_t at = 0; at < w->out[2]; at = span.end) {
    span = weight_grad_span_at(s, t, at);
    if (span.tap0 == span.tap1) continue;
    const int64_t tap = (int64_t)(t->tap[2] + span.tap0);
    const int64_t column = at * w->stride[2] - w->pad_begin[2] + tap * w->dilation[2];
    struct smr_f32_outer_walk walk = {
        .planes = (size_t)(planes.end - planes.begin),
        .rows = (size_t)(rows.end - rows.begin),
        .pixels = (size_t)(span.end - span.begin),
        .a = a_first + (size_t)at * a_pixel,
        .a_plane = a_plane,
        .a_row = a_row,
        .a_step = a_pixel,
        .b = b_first + (size_t)column * b_pixel,
        .b_plane = b_plane * (deep ? (size_t)w->stride[0] : 1),
        .b_row = b_row * (size_t)w->stride[1],
        .b_step = b_pixel * (size_t)w->stride[2],
    };
    smr_f32_outer_merge(&walk);
    weight_grad_walk_tile(s, t, &span, &walk, &pack);
  }
}

// Cost of a chunk for a tile: vectors of sums per pixel.
static size_t weight_grad_work(const struct smr_weight_grad *s, const struct weight_grad_tile *t) {
  const size_t pixels = s->chunk_planes * s->chunk_rows * (size_t)s->window.out[2];
  return pixels *
         ((t->b1 - t->b0) * (s->kind == SMR_WEIGHT_GRAD_DIAGONAL ? 1 : t->a1 - t->a0) / 16 + 1);
}

static samara_status weight_grad_unit(struct smr_deadline_watch *watch,
                                      const struct smr_weight_grad *s, size_t unit, const float *a,
                                      const float *b, float *result, float *copies) {
  const size_t part = unit / s->slices, slice = unit % s->slices;
  const size_t tiles = s->segments * s->a_tiles * s->b_tiles;
  const size_t first = weight_grad_cut(tiles, 1, s->slices, slice);
  const size_t last = weight_grad_cut(tiles, 1, s->slices, slice + 1);
  result += part * s->partial_floats;
  for (size_t tile = first; tile < last; tile++) {
    const struct weight_grad_tile t = weight_grad_tile_of(s, tile, result);
    weight_grad_clear(s, &t);
  }
  const size_t end = weight_grad_cut(s->chunks, 1, s->parts, part + 1);
  for (size_t chunk = weight_grad_cut(s->chunks, 1, s->parts, part); chunk < end; chunk++) {
    for (size_t tile = first; tile < last; tile++) {
      const struct weight_grad_tile t = weight_grad_tile_of(s, tile, result);
      SMR_TRY(smr_deadline_step(watch, weight_grad_work(s, &t)));
      struct weight_grad_pack pack = {.at = s->packs ? copies : NULL};
      // Tiles that only differ in a are consecutive and share the copies.
      pack.fill = tile == first || tile % s->a_tiles == 0;
      if (s->packs && pack.fill) weight_grad_add(s, &t, a, b, chunk, pack);
      pack.fill = false;
      weight_grad_add(s, &t, a, b, chunk, pack);
    }
  }
  return SAMARA_OK;
}

// ---- the second phase ----

// Add `count` floats of all parts, from `at` on.
static void weight_grad_sum(const struct smr_weight_grad *s, const float *partial, size_t at,
                            size_t count, float *out) {
  memset(out, 0, count * sizeof *out);
  s->reduce->columns[SMR_F32_REDUCE_SUM](s->parts, count, partial + at, s->partial_floats, out);
}

// Write row `row` of the sums to the result, where it is part of a row or of a column.
static void weight_grad_finish_row(const struct smr_weight_grad *s, const float *partial,
                                   size_t row, float *out) {
  if (s->kind == SMR_WEIGHT_GRAD_PLAIN) {
    const size_t at = row * WEIGHT_GRAD_COLUMNS;
    weight_grad_sum(s, partial, at, weight_grad_least(WEIGHT_GRAD_COLUMNS, s->partial_floats - at),
                    out + at);
    return;
  }
  const bool diagonal = s->kind == SMR_WEIGHT_GRAD_DIAGONAL;
  const size_t across = diagonal ? s->groups : s->a_channels;
  const size_t down = (size_t)smr_window_taps(&s->window) * s->b_channels;
  float *to = out + row / down * across * down + row % down;
  for (size_t i = 0; i < across; i += WEIGHT_GRAD_COLUMNS) {
    float sums[WEIGHT_GRAD_COLUMNS];
    const size_t n = weight_grad_least(WEIGHT_GRAD_COLUMNS, across - i);
    weight_grad_sum(s, partial, row * across + i, n, sums);
    for (size_t j = 0; j < n; j++) to[(i + j) * down] = sums[j];
  }
}

samara_status smr_weight_grad_run(const struct smr_job *job, const struct smr_weight_grad *s,
                                  const float *a, const float *b, float *out, size_t begin,
                                  size_t end, void *thread_scratch) {
  const bool direct = s->parts == 1 && s->kind == SMR_WEIGHT_GRAD_PLAIN;
  const size_t units = s->parts * s->slices;
  float *partial = direct ? out : (float *)(void *)((char *)job->scratch + s->partial_offset);
  struct smr_deadline_watch watch = {.job = job};
  for (; begin < end && begin < units; begin++)
    SMR_TRY(weight_grad_unit(&watch, s, begin, a, b, partial, thread_scratch));
  for (; begin < end; begin++) {
    const size_t first = (begin - units) * s->finish_group;
    const size_t last = weight_grad_least(s->finish_rows, first + s->finish_group);
    for (size_t row = first; row < last; row++) weight_grad_finish_row(s, partial, row, out);
  }
  return SAMARA_OK;
}
