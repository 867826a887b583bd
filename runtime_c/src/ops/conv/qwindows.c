// SPDX-License-Identifier: Apache-2.0
// int8 convolutions: divides them into blocks, copies the lines of x that a block reads, and
// multiplies.
#include "base/fp.h"

#include "ops/conv/qwindows.h"

#include "base/checked.h"
#include "base/cut.h"
#include "base/lean.h"
#include "ops/matmul/linear.h"
#include "ops/partition.h"
#include "simd/common.h"

#include <string.h>

enum {
  QWINDOWS_BYTES = SMR_LEAN(64 << 10, 2 << 10),  // target size of a block's lines
  QWINDOWS_SLACK = 64,               // after the last line: copying may write it, taps may read it
  QWINDOWS_FILLED_BYTES = 32 << 10,  // most weights that are copied to fill up their groups
};

// Lines to copy per plane of taps for `lines` lines of output.
static size_t qwindows_rows(const struct smr_window *w, const struct smr_qwindows *s,
                            size_t lines) {
  if (s->rows_apart) return lines * (size_t)w->kernel[1];
  return (lines - 1) * (size_t)w->stride[1] + (size_t)smr_window_extent(w, 1);
}

// Bytes of a block; SIZE_MAX on overflow.
static size_t qwindows_bytes(const struct smr_window *w, struct smr_qwindows *s, size_t lines,
                             size_t columns) {
  const size_t extent = s->columns_apart ? 1 : (size_t)smr_window_extent(w, 2);
  size_t bytes;
  s->width = (columns - 1) * (size_t)w->stride[2] + extent;
  s->rows = qwindows_rows(w, s, lines);
  if (!smr_mul_size(s->width, s->groups * s->channels, &s->pitch) ||
      !smr_mul_size(s->pitch, s->rows, &bytes) ||
      !smr_mul_size(bytes, s->row_taps * (size_t)w->kernel[0], &bytes))
    return SIZE_MAX;
  return bytes;
}

// A number of lines near `lines` (half to twice as many) that fills the tallest register tile best.
static size_t qwindows_full_tiles(const struct smr_qwindows *s, size_t lines, size_t most,
                                  size_t width) {
  const size_t mr = s->config->mr;
  for (size_t fewer = lines; 2 * fewer > lines; fewer--)
    if (fewer * width % mr == 0) return fewer;
  for (size_t more = lines + 1; more <= most && more < 2 * lines + 2; more++)
    if (more * width % mr == 0) return more;
  return lines;
}

// Choose the block: whole lines if they fit and leave enough blocks for the threads, else part of a
// line.
static void qwindows_cut(const struct smr_job *job, const struct smr_window *w,
                         struct smr_qwindows *s) {
  const size_t images = (size_t)(w->batch * w->out[0]), mr = s->config->mr;
  const size_t height = (size_t)w->out[1], width = (size_t)w->out[2];
  const size_t pieces = smr_ceil_div(smr_partition(job), images);
  size_t most = 1, columns = width;
  while (most < height && qwindows_bytes(w, s, most + 1, width) <= QWINDOWS_BYTES) most++;
  const size_t blocks = smr_ceil_div(height, most);
  size_t lines = smr_ceil_div(height, blocks > pieces ? blocks : pieces);
  if (lines < height) lines = qwindows_full_tiles(s, lines, most, width);
  if (lines == 1 && height < pieces) {
    const size_t part = smr_ceil_div(width, smr_ceil_div(pieces, height));
    columns = smr_ceil_div(part, mr) * mr;
    if (columns > width) columns = width;
  }
  while (lines == 1 && columns > mr && qwindows_bytes(w, s, 1, columns) > QWINDOWS_BYTES)
    columns = (columns / 2 + mr - 1) / mr * mr;
  s->lines = lines;
  s->columns = columns;
  s->line_blocks = smr_ceil_div(height, lines);
  s->column_blocks = smr_ceil_div(width, columns);
  s->blocks = images * s->line_blocks * s->column_blocks;
}

static bool qwindows_is_dilated(const struct smr_window *w) {
  return w->dilation[2] > 1 && w->kernel[2] > 1;
}

// Whether dilated columns are copied to separate lines. Not if that always copies more.
static bool qwindows_columns_apart(const struct smr_window *w, size_t mr) {
  const int64_t least = w->out[2] < (int64_t)mr ? w->out[2] : (int64_t)mr;
  return qwindows_is_dilated(w) &&
         smr_window_extent(w, 2) / (w->kernel[2] - 1) > least * w->stride[2];
}

bool smr_qwindows_merge(const struct smr_window *w, size_t groups) {
  return groups == 1 && !qwindows_is_dilated(w);
}

bool smr_qwindows_fills(const struct smr_job *job, const struct smr_window *w, size_t groups) {
  const struct smr_tensor *weights = job->inputs[1];
  const int64_t k = w->kernel[2] * weights->dims[weights->rank - 1];
  for (uint32_t i = 0; i < weights->quant->count; i++)
    if (weights->quant->zero_points[i] != 0) return false;
  return weights->constant >= 0 && smr_qwindows_merge(w, groups) && k % SMR_I8_GROUP != 0 &&
         smr_numel(weights) <= QWINDOWS_FILLED_BYTES;
}

// Divide the work. Fails with LIMIT if a block is too large.
static samara_status qwindows_make(const struct smr_job *job, const struct smr_window *w,
                                   const struct smr_i8_gemm_config *config, size_t groups,
                                   size_t channels, bool w_zero, bool filled,
                                   struct smr_qwindows *s) {
  const size_t kernel_w = (size_t)w->kernel[2];
  *s = (struct smr_qwindows){.config = config, .groups = groups, .channels = channels};
  s->rows_apart = w->dilation[1] > 1 || w->stride[1] > w->kernel[1];
  s->columns_apart = qwindows_columns_apart(w, config->mr);
  s->row_taps = s->columns_apart ? kernel_w : 1;
  s->k = channels;
  s->taps = (size_t)smr_window_taps(w);
  if (smr_qwindows_merge(w, groups)) {
    s->k *= kernel_w;
    s->taps /= kernel_w;
    if (filled) s->k = smr_ceil_div(s->k, SMR_I8_GROUP) * SMR_I8_GROUP;
  }
  s->native = smr_i8_gemm_native(config, s->k, w_zero);
  qwindows_cut(job, w, s);
  s->bytes = qwindows_bytes(w, s, s->lines, s->columns);
  if (s->bytes > PTRDIFF_MAX - QWINDOWS_SLACK)
    SMR_FAIL(job->error, LIMIT, "%s: the lines under a window do not fit memory", job->op->name);
  s->bytes += QWINDOWS_SLACK;
  return SAMARA_OK;
}

// Fill [taps]: the offset of each tap of a window.
static void qwindows_taps(const struct smr_window *w, const struct smr_qwindows *s, size_t *taps) {
  const size_t of_row = s->taps / (size_t)(w->kernel[0] * w->kernel[1]);
  const size_t row = s->row_taps * s->pitch;
  for (size_t i = 0; i < s->taps; i++) {
    const size_t x = i % of_row, y = i / of_row % (size_t)w->kernel[1];
    const size_t z = i / of_row / (size_t)w->kernel[1];
    taps[i] = (z * s->rows + (s->rows_apart ? y : y * (size_t)w->dilation[1])) * row +
              x * (s->columns_apart ? s->pitch : (size_t)w->dilation[2] * s->groups * s->channels);
  }
}

// Describe a block for the product. `taps` is left unset.
static struct smr_i8_gemm_windows qwindows_of_block(const struct smr_window *w,
                                                    const struct smr_qwindows *s) {
  return (struct smr_i8_gemm_windows){
      .line = s->columns,
      .line_bytes = (size_t)(s->rows_apart ? w->kernel[1] : w->stride[1]) * s->row_taps * s->pitch,
      .step_bytes = (size_t)w->stride[2] * s->groups * s->channels,
      .native = s->native,
  };
}

// First output pixel of a block.
struct qwindows_place {
  size_t image, z, y, x;
  size_t lines, columns;
};

static struct qwindows_place qwindows_place(const struct smr_window *w,
                                            const struct smr_qwindows *s, size_t block) {
  struct qwindows_place at = {.x = block % s->column_blocks * s->columns};
  block /= s->column_blocks;
  at.y = block % s->line_blocks * s->lines;
  block /= s->line_blocks;
  at.z = block % (size_t)w->out[0];
  at.image = block / (size_t)w->out[0];
  const size_t lines = (size_t)w->out[1] - at.y, columns = (size_t)w->out[2] - at.x;
  at.lines = lines < s->lines ? lines : s->lines;
  at.columns = columns < s->columns ? columns : s->columns;
  return at;
}

// Number of output pixels in a block, and the first one.
static size_t qwindows_pixels(const struct smr_window *w, const struct smr_qwindows *s,
                              size_t block, size_t *first) {
  const struct qwindows_place at = qwindows_place(w, s, block);
  const size_t line = (at.image * (size_t)w->out[0] + at.z) * (size_t)w->out[1] + at.y;
  *first = line * (size_t)w->out[2] + at.x;
  return at.lines * at.columns;
}

// Pixels [x, x + width) of a line of x; NULL in the padding.
SMR_HOT static void qwindows_line(const struct smr_window *w, const struct smr_qwindows *s,
                                  const int8_t *line, size_t pixel_stride, int8_t zero, int64_t x,
                                  int8_t *to) {
  const size_t channels = s->groups * s->channels;
  const int64_t width = (int64_t)s->width, room = w->in[2] - x;
  int64_t first = x < 0 ? -x : 0, last = room < width ? room : width;
  if (first > width) first = width;
  if (line == NULL || last < first) last = first;
  smr_fill(to, zero, (size_t)first * channels);
  size_t pixels = (size_t)(last - first), piece = channels;
  if (pixel_stride == channels && pixels > 0) {
    piece *= pixels;
    pixels = 1;
  }
  const int8_t *from = pixels > 0 ? line + (size_t)(x + first) * pixel_stride : NULL;
  int8_t *at = to + (size_t)first * channels;
  for (; pixels > 0; pixels--, from += pixel_stride, at += piece) {
    if (s->native)
      smr_i8_gemm_copy(s->config, from, piece, at);
    else
      smr_copy(at, from, piece);
  }
  smr_fill(to + (size_t)last * channels, zero, (size_t)(width - last) * channels);
}

// Copy the lines of x that a block reads. x has zero point `zero`.
static samara_status qwindows_copy(struct smr_deadline_watch *watch, const struct smr_window *w,
                                   const struct smr_qwindows *s, const int8_t *x,
                                   size_t pixel_stride, int32_t zero, size_t block, int8_t *to) {
  const struct qwindows_place at = qwindows_place(w, s, block);
  const int8_t fill = (int8_t)(uint8_t)(zero + (s->native ? s->config->a_offset : 0));
  const size_t kernel_h = (size_t)w->kernel[1], rows = qwindows_rows(w, s, at.lines);
  const int64_t x0 = (int64_t)at.x * w->stride[2] - w->pad_begin[2];
  for (int64_t kz = 0; kz < w->kernel[0]; kz++) {
    const int64_t z = (int64_t)at.z * w->stride[0] - w->pad_begin[0] + kz * w->dilation[0];
    int8_t *row = to + (size_t)kz * s->rows * s->row_taps * s->pitch;
    for (size_t r = 0; r < rows; r++) {
      int64_t y = (int64_t)at.y * w->stride[1] - w->pad_begin[1];
      y += s->rows_apart
               ? (int64_t)(r / kernel_h) * w->stride[1] + (int64_t)(r % kernel_h) * w->dilation[1]
               : (int64_t)r;
      const bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
      const int8_t *line = NULL;
      if (inside)
        line = x + ((at.image * (size_t)w->in[0] + (size_t)z) * (size_t)w->in[1] + (size_t)y) *
                       (size_t)w->in[2] * pixel_stride;
      for (size_t kx = 0; kx < s->row_taps; kx++, row += s->pitch) {
        SMR_TRY(smr_deadline_step(watch, s->pitch / 8));
        qwindows_line(w, s, line, pixel_stride, fill, x0 + (int64_t)kx * w->dilation[2], row);
      }
    }
  }
  return SAMARA_OK;
}

// ---- the product ----

static size_t *qwindows_tap_places(const struct smr_job *job, const struct smr_qwindows *s) {
  return (size_t *)(void *)((char *)job->scratch + s->tap_offset);
}

samara_status smr_qwindows_prepare(struct smr_job *job, const struct smr_window *w,
                                   const struct smr_i8_gemm_config *config, bool w_zero,
                                   bool filled, struct smr_i8_gemm_args *args,
                                   struct smr_qwindows *s) {
  static const struct smr_i8_gemm_windows some = {.line = 1};  // a plan only asks whether there are
                                                               // windows
  SMR_TRY(qwindows_make(job, w, config, args->batch, args->k, w_zero, filled, s));
  args->m = s->lines * s->columns;
  args->k = s->k;
  args->taps = s->taps;
  args->windows = &some;
  smr_i8_gemm_plan_make(config, args, &s->plan);
  job->kernel = s->plan.kernel;
  size_t offset;
  if (!smr_mul_size(s->blocks, s->plan.units, &s->tiles)) s->tiles = SIZE_MAX;
  SMR_TRY(smr_scratch_take(job, s->taps, sizeof(size_t), &s->tap_offset));
  return smr_thread_scratch_take(job, s->bytes, 1, &offset);
}

void smr_qwindows_prologue(const struct smr_job *job, const struct smr_window *w,
                           const struct smr_qwindows *s) {
  qwindows_taps(w, s, qwindows_tap_places(job, s));
}

// The copied lines of a block are reused by all of its tiles in a call. The last block of an image
// may have fewer tiles than the others.
samara_status smr_qwindows_run(const struct smr_job *job, const struct smr_window *w,
                               const struct smr_qwindows *s, const struct smr_i8_gemm_args *all,
                               int32_t x_zero, size_t begin, size_t end, void *thread_scratch) {
  struct smr_i8_gemm_windows rows = qwindows_of_block(w, s);
  rows.taps = qwindows_tap_places(job, s);
  const size_t element = smr_i8_output_bytes(all->to), units = s->plan.units;
  struct smr_i8_gemm_args args = *all;
  args.k = s->k;
  args.taps = s->taps;
  args.windows = &rows;
  args.a = thread_scratch;
  struct smr_deadline_watch watch = {.job = job};
  for (size_t tile = begin, stop; tile < end; tile += stop) {
    const size_t block = tile / units, unit = tile % units;
    struct smr_i8_gemm_plan plan = s->plan;
    size_t first;
    args.m = qwindows_pixels(w, s, block, &first);
    args.out = (char *)all->out + first * all->out_stride * element;
    if (SMR_HAS(i8_gemm_to_f32) && all->row_scale != NULL) args.row_scale = all->row_scale + first;
    if (args.m < s->lines * s->columns) smr_i8_gemm_plan_make(s->config, &args, &plan);
    stop = units - unit < end - tile ? units - unit : end - tile;
    if (unit >= plan.units) continue;
    const size_t count = plan.units - unit < stop ? plan.units - unit : stop;
    SMR_TRY(qwindows_copy(&watch, w, s, all->a, all->a_stride, x_zero, block, thread_scratch));
    smr_i8_gemm_run(&plan, &args, unit, unit + count);
  }
  return SAMARA_OK;
}
