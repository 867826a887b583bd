// SPDX-License-Identifier: Apache-2.0
// Copies strided views by rows, by steps or by transposed blocks, as the view allows.
#include "base/fp.h"

#include "kernels/view_copy/view_copy.h"

#include "base/cut.h"
#include "simd/common.h"

#include <stdbool.h>
#include <string.h>

enum {
  VIEW_TILE_BYTES = 32 * 1024,   // work that pays for a hand-over to another thread
  VIEW_CHUNK_BYTES = 64 * 1024,  // longer rows are divided
  VIEW_BLOCK_BYTES = 64,    // of the contiguous source axis in a transposed block: a cache line
  VIEW_MIN_ACROSS = 4,      // shorter axes do not use blocks
  VIEW_PANEL = 64,          // elements per row of a panel
  VIEW_CROWD_BYTES = 1024,  // rows a multiple of this apart share few cache sets
  VIEW_SHORT_BYTES = 32,    // shorter rows cost less than a call of memcpy
};

struct view_axis {
  size_t dim;
  ptrdiff_t step;
};

// Drops axes of extent 1 and merges neighbours that are contiguous in the source. Returns the new
// rank.
static uint32_t view_simplify(const struct smr_view *view, struct view_axis *axes) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < view->rank; i++) {
    const struct view_axis axis = {view->dims[i], view->stride_bytes[i]};
    if (axis.dim == 1) continue;
    if (rank > 0 && axes[rank - 1].step == axis.step * (ptrdiff_t)axis.dim)
      axes[rank - 1] = (struct view_axis){axes[rank - 1].dim * axis.dim, axis.step};
    else
      axes[rank++] = axis;
  }
  return rank;
}

static bool view_element_fits(size_t bytes) {
  return bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

// The axis along which the source is contiguous, other than the last; `rank` if there is none.
static uint32_t view_find_across(const struct view_axis *axes, uint32_t rank, size_t element) {
  uint32_t best = rank;
  for (uint32_t i = 0; i + 1 < rank; i++)
    if (axes[i].step == (ptrdiff_t)element && axes[i].dim >= VIEW_MIN_ACROSS &&
        (best == rank || axes[i].dim > axes[best].dim))
      best = i;
  return best;
}

static void view_plan_outer(struct smr_view_plan *plan, const struct view_axis *axes, uint32_t rank,
                            uint32_t across) {
  size_t stride = plan->element_bytes * plan->n, dst[SMR_VIEW_MAX_RANK];
  for (uint32_t i = rank - 1; i-- > 0;) {
    dst[i] = stride;
    stride *= axes[i].dim;
  }
  plan->units = plan->chunks;
  for (uint32_t i = 0; i + 1 < rank; i++) {
    if (i == across) {
      plan->across_bytes = dst[i];
      continue;
    }
    plan->outer_dims[plan->outer_rank] = axes[i].dim;
    plan->outer_dst[plan->outer_rank] = dst[i];
    plan->outer_src[plan->outer_rank++] = axes[i].step;
    plan->units *= axes[i].dim;
  }
}

void smr_view_plan_make(const struct smr_view *view, struct smr_view_plan *plan) {
  static const char *const kernels[] = {"view_rows", "view_fill", "view_gather", "view_transpose"};
  *plan = (struct smr_view_plan){.kernel = kernels[SMR_VIEW_ROWS]};
  for (uint32_t i = 0; i < view->rank; i++)
    if (view->dims[i] == 0) return;
  struct view_axis axes[SMR_VIEW_MAX_RANK + 1];
  uint32_t rank = view_simplify(view, axes);
  size_t element = view->element_bytes;
  if (rank > 0 && axes[rank - 1].step == (ptrdiff_t)element && axes[rank - 1].dim <= 16 &&
      view_element_fits(element * axes[rank - 1].dim))
    element *= axes[--rank].dim;
  if (rank == 0) axes[rank++] = (struct view_axis){1, (ptrdiff_t)element};

  const struct view_axis last = axes[rank - 1];
  plan->element_bytes = element;
  plan->n = last.dim;
  plan->step_bytes = last.step;
  uint32_t across = rank;
  size_t unit_bytes;
  if (last.step != (ptrdiff_t)element && last.step != 0)
    across = view_find_across(axes, rank, element);
  if (across < rank) {
    plan->kind = SMR_VIEW_TRANSPOSE;
    plan->across = axes[across].dim;
    // Three interleaved bytes or words are copied without blocks.
    const bool triples = (element == 1 || element == 4) && plan->n == 3 && across + 2 == rank;
    plan->chunk = (triples ? VIEW_TILE_BYTES / 3 : VIEW_BLOCK_BYTES) / element;
    plan->chunks = smr_ceil_div(plan->across, plan->chunk);
    unit_bytes = plan->chunk * plan->n * element;
  } else {
    plan->kind = last.step == 0                    ? SMR_VIEW_FILL
                 : last.step == (ptrdiff_t)element ? SMR_VIEW_ROWS
                                                   : SMR_VIEW_GATHER;
    const size_t most = VIEW_CHUNK_BYTES / element;
    plan->chunk = plan->n < most ? plan->n : most;
    plan->chunks = smr_ceil_div(plan->n, plan->chunk);
    unit_bytes = plan->chunk * element;
  }
  plan->kernel = kernels[plan->kind];
  view_plan_outer(plan, axes, rank, across);
  plan->tile_units = unit_bytes < VIEW_TILE_BYTES ? VIEW_TILE_BYTES / unit_bytes : 1;
  plan->tiles = smr_ceil_div(plan->units, plan->tile_units);
}

// ---- the four ways ----

struct view_wide {
  uint64_t part[2];
};

// Elements are moved by memcpy, so no alignment is needed.
#define VIEW_FUNCTIONS(type, bits)                                                                 \
  static void view_gather_##bits(size_t n, const char *src, ptrdiff_t step, char *dst) {           \
    for (size_t i = 0; i < n; i++, src += step, dst += sizeof(type)) {                             \
      type value;                                                                                  \
      memcpy(&value, src, sizeof value);                                                           \
      memcpy(dst, &value, sizeof value);                                                           \
    }                                                                                              \
  }                                                                                                \
  SMR_VECTORIZED static void view_fill_##bits(size_t n, const char *src, char *dst) {              \
    type value;                                                                                    \
    memcpy(&value, src, sizeof value);                                                             \
    for (size_t i = 0; i < n; i++) memcpy(dst + i * sizeof value, &value, sizeof value);           \
  }                                                                                                \
  /* rows x n elements; a source column is contiguous, so is a destination row. */                 \
  static void view_block_##bits(size_t rows, size_t n, const char *src, ptrdiff_t step, char *dst, \
                                size_t dst_row) {                                                  \
    for (size_t i = 0; i < n; i++, src += step, dst += sizeof(type))                               \
      for (size_t j = 0; j < rows; j++) {                                                          \
        type value;                                                                                \
        memcpy(&value, src + j * sizeof value, sizeof value);                                      \
        memcpy(dst + j * dst_row, &value, sizeof value);                                           \
      }                                                                                            \
  }
VIEW_FUNCTIONS(uint8_t, 8)
VIEW_FUNCTIONS(uint16_t, 16)
VIEW_FUNCTIONS(uint32_t, 32)
VIEW_FUNCTIONS(uint64_t, 64)
VIEW_FUNCTIONS(struct view_wide, 128)
#undef VIEW_FUNCTIONS

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define VIEW_SHUFFLE 1
#endif
#endif

#if defined(VIEW_SHUFFLE)
// A block of lanes x lanes elements in baseline 128-bit registers: interleaving the upper with the
// lower half of the rows, log2(lanes) times, transposes it.
#define VIEW_SQUARE(bits, lanes, stages, LOW, HIGH)                                               \
  typedef uint##bits##_t view_vector_##bits __attribute__((vector_size(16)));                     \
  static inline void view_square_##bits(const char *src, ptrdiff_t step, char *dst,               \
                                        size_t dst_row) {                                         \
    view_vector_##bits rows[lanes], next[lanes];                                                  \
    SMR_UNROLL                                                                                    \
    for (ptrdiff_t i = 0; i < lanes; i++) memcpy(&rows[i], src + i * step, sizeof rows[i]);       \
    SMR_UNROLL                                                                                    \
    for (int stage = 0; stage < stages; stage++) {                                                \
      SMR_UNROLL                                                                                  \
      for (size_t i = 0; i < lanes / 2; i++) {                                                    \
        next[2 * i] = __builtin_shufflevector(rows[i], rows[i + lanes / 2], LOW);                 \
        next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + lanes / 2], HIGH);            \
      }                                                                                           \
      SMR_UNROLL                                                                                  \
      for (size_t i = 0; i < lanes; i++) rows[i] = next[i];                                       \
    }                                                                                             \
    SMR_UNROLL                                                                                    \
    for (size_t i = 0; i < lanes; i++) memcpy(dst + i * dst_row, &rows[i], sizeof rows[i]);       \
  }                                                                                               \
  static void view_squares_##bits(size_t rows, size_t n, const char *src, ptrdiff_t step,         \
                                  char *dst, size_t dst_row) {                                    \
    size_t i = 0;                                                                                 \
    for (; i + lanes <= n; i += lanes, src += lanes * step, dst += 16) {                          \
      size_t j = 0;                                                                               \
      for (; j + lanes <= rows; j += lanes)                                                       \
        view_square_##bits(src + j * (bits / 8), step, dst + j * dst_row, dst_row);               \
      view_block_##bits(rows - j, lanes, src + j * (bits / 8), step, dst + j * dst_row, dst_row); \
    }                                                                                             \
    view_block_##bits(rows, n - i, src, step, dst, dst_row);                                      \
  }
#define VIEW_LOW16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define VIEW_HIGH16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define VIEW_LOW8 0, 8, 1, 9, 2, 10, 3, 11
#define VIEW_HIGH8 4, 12, 5, 13, 6, 14, 7, 15
#define VIEW_LOW4 0, 4, 1, 5
#define VIEW_HIGH4 2, 6, 3, 7
VIEW_SQUARE(8, 16, 4, VIEW_LOW16, VIEW_HIGH16)
VIEW_SQUARE(16, 8, 3, VIEW_LOW8, VIEW_HIGH8)
VIEW_SQUARE(32, 4, 2, VIEW_LOW4, VIEW_HIGH4)
#undef VIEW_SQUARE

// Interleaves three rows of bytes: an image's planes become pixels. Four vectors hold sixteen
// pixels of four bytes. Their halves move together, and each store overwrites the end of the one
// before.
static inline void view_triples_16(const char *src, ptrdiff_t step, char *dst) {
  typedef uint64_t view_vector_64 __attribute__((vector_size(16)));
  const view_vector_8 none = {0};
  view_vector_8 row[3], pair[4], quad[4];
  SMR_UNROLL for (ptrdiff_t i = 0; i < 3; i++) memcpy(&row[i], src + i * step, sizeof row[i]);
  pair[0] = __builtin_shufflevector(row[0], row[1], VIEW_LOW16);
  pair[1] = __builtin_shufflevector(row[0], row[1], VIEW_HIGH16);
  pair[2] = __builtin_shufflevector(row[2], none, VIEW_LOW16);
  pair[3] = __builtin_shufflevector(row[2], none, VIEW_HIGH16);
  SMR_UNROLL for (size_t i = 0; i < 2; i++) {
    const view_vector_16 a = (view_vector_16)pair[i], b = (view_vector_16)pair[i + 2];
    quad[2 * i] = (view_vector_8)__builtin_shufflevector(a, b, VIEW_LOW8);
    quad[2 * i + 1] = (view_vector_8)__builtin_shufflevector(a, b, VIEW_HIGH8);
  }
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    const view_vector_64 two = (view_vector_64)quad[i];
    const view_vector_64 six = (two & 0xffffff) | (two >> 8 & 0xffffff000000);
    memcpy(dst + 12 * i, &six, 8);
    memcpy(dst + 12 * i + 6, (const char *)&six + 8, 8);
  }
}

// The same for words: each of four vectors holds a pixel and one more word.
static inline void view_triples_4(const char *src, ptrdiff_t step, char *dst) {
  view_vector_32 row[3], pixel[4];
  SMR_UNROLL for (ptrdiff_t i = 0; i < 3; i++) memcpy(&row[i], src + i * step, sizeof row[i]);
  const view_vector_32 low = __builtin_shufflevector(row[0], row[1], VIEW_LOW4);
  const view_vector_32 high = __builtin_shufflevector(row[0], row[1], VIEW_HIGH4);
  pixel[0] = __builtin_shufflevector(low, row[2], 0, 1, 4, 5);
  pixel[1] = __builtin_shufflevector(low, row[2], 2, 3, 5, 5);
  pixel[2] = __builtin_shufflevector(high, row[2], 0, 1, 6, 7);
  pixel[3] = __builtin_shufflevector(high, row[2], 2, 3, 7, 7);
  SMR_UNROLL for (size_t i = 0; i < 4; i++) memcpy(dst + 12 * i, &pixel[i], sizeof pixel[i]);
}

// rows x 3. Returns the number of rows copied. Bytes written past the end are overwritten by the
// rest.
static size_t view_triples(size_t element, size_t rows, const char *src, ptrdiff_t step,
                           char *dst) {
  size_t j = 0;
  if (element == 1)
    for (; j + 16 < rows; j += 16) view_triples_16(src + j, step, dst + 3 * j);
  else
    for (; j + 4 < rows; j += 4) view_triples_4(src + 4 * j, step, dst + 12 * j);
  return j;
}
#undef VIEW_LOW16
#undef VIEW_HIGH16
#undef VIEW_LOW8
#undef VIEW_HIGH8
#undef VIEW_LOW4
#undef VIEW_HIGH4
#undef VIEW_SHUFFLE
#else
#define view_triples(element, rows, src, step, dst) 0
#define view_squares_8 view_block_8
#define view_squares_16 view_block_16
#define view_squares_32 view_block_32
#endif

// Blocks for widths without squares.
#define view_squares_64 view_block_64
#define view_squares_128 view_block_128

#define VIEW_BY_WIDTH(function, ...) \
  switch (plan->element_bytes) {     \
    case 1:                          \
      function##_8(__VA_ARGS__);     \
      break;                         \
    case 2:                          \
      function##_16(__VA_ARGS__);    \
      break;                         \
    case 4:                          \
      function##_32(__VA_ARGS__);    \
      break;                         \
    case 8:                          \
      function##_64(__VA_ARGS__);    \
      break;                         \
    default:                         \
      function##_128(__VA_ARGS__);   \
      break;                         \
  }

// A transposed block whose destination rows would evict each other from the cache before their
// lines are full. It is built in panels on the stack, from which rows are copied line by line.
static void view_panels(const struct smr_view_plan *plan, size_t rows, const char *src, char *dst) {
  char panel[VIEW_BLOCK_BYTES * VIEW_PANEL];
  const size_t element = plan->element_bytes, width = VIEW_PANEL * element;
  for (size_t i = 0; i < plan->n; i += VIEW_PANEL) {
    const size_t n = plan->n - i < VIEW_PANEL ? plan->n - i : VIEW_PANEL;
    VIEW_BY_WIDTH(view_squares, rows, n, src, plan->step_bytes, panel, width)
    for (size_t j = 0; j < rows; j++)
      memcpy(dst + j * plan->across_bytes, panel + j * width, n * element);
    src += (ptrdiff_t)n * plan->step_bytes;
    dst += n * element;
  }
}

// Copies a row of 4 to 32 bytes as two parts of a power of two bytes, which may overlap.
#define VIEW_ENDS(piece_bytes)                                 \
  for (; rows > 0; rows--, src += src_step, dst += dst_step) { \
    char first[piece_bytes], last[piece_bytes];                \
    memcpy(first, src, sizeof first);                          \
    memcpy(last, src + bytes - sizeof last, sizeof last);      \
    memcpy(dst, first, sizeof first);                          \
    memcpy(dst + bytes - sizeof last, last, sizeof last);      \
  }

static void view_short_rows(size_t rows, size_t bytes, const char *src, ptrdiff_t src_step,
                            char *dst, size_t dst_step) {
  if (bytes > 16)
    VIEW_ENDS(16)
  else if (bytes > 8)
    VIEW_ENDS(8)
  else if (bytes >= 4)
    VIEW_ENDS(4)
  else
    for (; rows > 0; rows--, src += src_step, dst += dst_step) {
      for (size_t i = 0; i < bytes; i++) dst[i] = src[i];
    }
}
#undef VIEW_ENDS

// One unit at src and dst: chunk `chunk` of a row, or a block of rows.
static void view_unit(const struct smr_view_plan *plan, const char *src, char *dst, size_t chunk) {
  const size_t first = chunk * plan->chunk;
  const size_t all = plan->kind == SMR_VIEW_TRANSPOSE ? plan->across : plan->n;
  size_t count = all - first < plan->chunk ? all - first : plan->chunk;
  if (plan->kind == SMR_VIEW_TRANSPOSE) {
    src += first * plan->element_bytes;
    dst += first * plan->across_bytes;
    const size_t element = plan->element_bytes;
    if (plan->n == 3 && (element == 1 || element == 4) && plan->across_bytes == 3 * element) {
      const size_t done = view_triples(element, count, src, plan->step_bytes, dst);
      src += done * element;
      dst += 3 * done * element;
      count -= done;
    }
    if (count > VIEW_MIN_ACROSS && plan->across_bytes % VIEW_CROWD_BYTES == 0)
      view_panels(plan, count, src, dst);
    else
      VIEW_BY_WIDTH(view_squares, count, plan->n, src, plan->step_bytes, dst, plan->across_bytes)
    return;
  }
  src += (ptrdiff_t)first * plan->step_bytes;
  dst += first * plan->element_bytes;
  if (plan->kind == SMR_VIEW_ROWS)
    memcpy(dst, src, count * plan->element_bytes);
  else if (plan->kind == SMR_VIEW_FILL)
    VIEW_BY_WIDTH(view_fill, count, src, dst)
  else
    VIEW_BY_WIDTH(view_gather, count, src, plan->step_bytes, dst)
}
#undef VIEW_BY_WIDTH
#undef view_squares_64
#undef view_squares_128
#undef view_triples
#undef view_squares_8
#undef view_squares_16
#undef view_squares_32

void smr_view_copy(const struct smr_view_plan *plan, const void *src, void *dst, size_t begin,
                   size_t end) {
  size_t unit = begin * plan->tile_units;
  const size_t stop = end * plan->tile_units < plan->units ? end * plan->tile_units : plan->units;
  if (unit >= stop) return;
  size_t index[SMR_VIEW_MAX_RANK], rest = unit / plan->chunks, chunk = unit % plan->chunks;
  const char *from = (const char *)src;
  char *to = (char *)dst;
  for (uint32_t i = plan->outer_rank; i-- > 0;) {
    index[i] = rest % plan->outer_dims[i];
    rest /= plan->outer_dims[i];
    from += (ptrdiff_t)index[i] * plan->outer_src[i];
    to += index[i] * plan->outer_dst[i];
  }
  const size_t bytes = plan->n * plan->element_bytes;
  const bool is_short =
      plan->kind == SMR_VIEW_ROWS && bytes <= VIEW_SHORT_BYTES && plan->outer_rank > 0;
  for (;;) {
    if (is_short) {  // as many as there are along one axis
      const uint32_t i = plan->outer_rank - 1;
      size_t rows = plan->outer_dims[i] - index[i];
      if (rows > stop - unit) rows = stop - unit;
      view_short_rows(rows, bytes, from, plan->outer_src[i], to, plan->outer_dst[i]);
      from += (ptrdiff_t)(rows - 1) * plan->outer_src[i];
      to += (rows - 1) * plan->outer_dst[i];
      index[i] += rows - 1;
      unit += rows - 1;
    } else {
      view_unit(plan, from, to, chunk);
    }
    if (++unit == stop) return;
    if (++chunk < plan->chunks) continue;
    chunk = 0;
    for (uint32_t i = plan->outer_rank; i-- > 0;) {
      from += plan->outer_src[i];
      to += plan->outer_dst[i];
      if (++index[i] < plan->outer_dims[i]) break;
      from -= (ptrdiff_t)plan->outer_dims[i] * plan->outer_src[i];
      to -= plan->outer_dims[i] * plan->outer_dst[i];
      index[i] = 0;
    }
  }
}
