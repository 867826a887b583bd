// SPDX-License-Identifier: Apache-2.0
// reduce_sum, _mean, _max, _min, _prod and sum_to.
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/f32_exact/f32_exact.h"
#include "kernels/f32_reduce/f32_reduce.h"
#include "kernels/vreduce/vreduce.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <math.h>

enum {
  REDUCE_COLUMNS = 256,          // outputs accumulated side by side
  REDUCE_PIECES = 16,            // most chunks per output
  REDUCE_PIECE = 2 * SMR_GRAIN,  // fewest elements per chunk
};

// Whether this build reduces rows of float32, and columns.
enum {
  REDUCE_ROWS = SMR_HAS(f32_reduce_row_sum) || SMR_HAS(f32_reduce_row_max) ||
      SMR_HAS(f32_reduce_row_min) || SMR_HAS(f32_reduce_row_prod),
  REDUCE_IN_COLUMNS = SMR_HAS(f32_reduce_columns_sum) || SMR_HAS(f32_reduce_columns_max) ||
      SMR_HAS(f32_reduce_columns_min) || SMR_HAS(f32_reduce_columns_prod),
};
enum { SUM_TO_MORE = SMR_DTYPE_F64 | SMR_DTYPE_U32 | SMR_DTYPE_U64 };

// A subset of the input's axes; strides in elements.
struct reduce_axes {
  uint32_t rank;
  int64_t dims[SAMARA_MAX_RANK], strides[SAMARA_MAX_RANK];
};

struct reduce_state;
// Reduce elements [from, to) of `count` neighbouring outputs. The first output's elements start at
// `x`.
typedef void (*reduce_fold)(const struct reduce_state *s, const float *x, size_t count, size_t from,
                            size_t to, float *y);

// After merging neighbours of one kind, kept and reduced axes alternate. If the last axis is
// reduced, an output is made of rows. If it is kept, neighbouring outputs are computed together, as
// columns. Few outputs with many elements are computed in two phases: first partial results of
// chunks, then these, combined in order. The division depends on sizes only.
struct reduce_state {
  const struct smr_f32_reduce *kernels;
  reduce_fold fold;         // float32
  smr_vreduce_ukernel any;  // all other dtypes
  enum smr_f32_reduce_op op;
  bool mean, columns;
  struct reduce_axes kept, folded;
  size_t outputs, count;  // count: elements per output
  size_t width;           // columns: outputs of the last axis
  size_t chunks;          // columns: chunks of the last axis
  size_t units, group;    // units of work; units per tile
  size_t pieces;          // chunks per unit; 0: units are not divided
};

static samara_status reduce_check_set(const struct smr_job *job, uint32_t set) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", set));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and output");
}
static samara_status reduce_check_number(const struct smr_job *job) {
  return reduce_check_set(job, SMR_DTYPES_EVERY_NUMBER);
}
static samara_status reduce_check_plain(const struct smr_job *job) {
  return reduce_check_set(job, SMR_DTYPES_EVERY_NUMBER | SMR_DTYPE_BOOL);
}
static samara_status sum_to_check(const struct smr_job *job) {
  return reduce_check_set(job, SMR_DTYPES_FLOAT | SMR_DTYPE_I32 | SMR_DTYPE_I64 | SUM_TO_MORE);
}

static void reduce_append(struct reduce_axes *axes, int64_t dim, int64_t stride, bool merge) {
  if (merge) {
    axes->dims[axes->rank - 1] *= dim;
    axes->strides[axes->rank - 1] = stride;
    return;
  }
  axes->dims[axes->rank] = dim;
  axes->strides[axes->rank++] = stride;
}

// Split the input's axes by `mask` (bit set: reduced).
static void reduce_split(const struct smr_tensor *x, uint32_t mask, struct reduce_state *s) {
  int64_t strides[SAMARA_MAX_RANK], dense = 1;
  for (uint32_t i = x->rank; i-- > 0;) {
    strides[i] = dense;
    dense *= x->dims[i];
  }
  int previous = -1;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (x->dims[i] == 1) continue;
    const int folds = mask >> i & 1u;
    reduce_append(folds ? &s->folded : &s->kept, x->dims[i], strides[i], folds == previous);
    previous = folds;
  }
  s->columns = previous != 1;
  s->count = (size_t)smr_product(s->folded.dims, s->folded.rank);
  s->outputs = (size_t)smr_product(s->kept.dims, s->kept.rank);
}

// Divide units into chunks if there are few units and each has `each` elements.
static void reduce_cut(struct smr_job *job, struct reduce_state *s, size_t each) {
  if (job->inputs[0]->dtype != SAMARA_FLOAT32 || s->units == 0 || s->units >= REDUCE_PIECES) return;
  if (each / REDUCE_PIECE < 4) return;
  const size_t pieces = each / REDUCE_PIECE < REDUCE_PIECES ? each / REDUCE_PIECE : REDUCE_PIECES;
  s->pieces = pieces < s->count ? pieces : s->count;
  job->tiles = s->units * s->pieces + 1;
  job->barriers[0] = s->units * s->pieces;
  job->scratch_bytes = s->pieces * s->outputs * sizeof(float);
}

// The same reduction for other dtypes.
static enum smr_vreduce_op reduce_any_op(enum smr_f32_reduce_op op) {
  switch (op) {
    case SMR_F32_REDUCE_MAX:
      return SMR_VREDUCE_MAX;
    case SMR_F32_REDUCE_MIN:
      return SMR_VREDUCE_MIN;
    case SMR_F32_REDUCE_PROD:
      return SMR_VREDUCE_PROD;
    default:
      return SMR_VREDUCE_SUM;
  }
}

// Offset of index `i`, counted over axes.
static size_t reduce_offset(const struct reduce_axes *axes, uint32_t rank, size_t i) {
  size_t offset = 0;
  for (uint32_t a = rank; a-- > 0;) {
    offset += i % (size_t)axes->dims[a] * (size_t)axes->strides[a];
    i /= (size_t)axes->dims[a];
  }
  return offset;
}

// Neighbouring outputs, as columns.
static void reduce_columns_f32(const struct reduce_state *s, const float *x, size_t count,
                               size_t from, size_t to, float *y) {
  const float start = smr_f32_reduce_start(s->op);
  for (size_t j = 0; j < count; j++) y[j] = start;
  // The last reduced axis forms the rows; iterate over the others.
  const uint32_t outer = s->folded.rank ? s->folded.rank - 1 : 0;
  const size_t rows = s->folded.rank ? (size_t)s->folded.dims[outer] : 1;
  const size_t stride = s->folded.rank ? (size_t)s->folded.strides[outer] : 0;
  while (from < to) {
    const size_t row = from % rows, n = rows - row < to - from ? rows - row : to - from;
    const size_t at = reduce_offset(&s->folded, outer, from / rows) + row * stride;
    s->kernels->columns[s->op](n, count, x + at, stride, y);
    from += n;
  }
}

// One output, made of rows.
static void reduce_row_f32(const struct reduce_state *s, const float *x, size_t count, size_t from,
                           size_t to, float *out) {
  (void)count;
  if (from == to) {
    *out = smr_f32_reduce_start(s->op);
    return;
  }
  const uint32_t last = s->folded.rank - 1;
  const size_t length = (size_t)s->folded.dims[last];
  // Reduce all rows of the axis before at once.
  const size_t lines = last > 0 ? (size_t)s->folded.dims[last - 1] : 1;
  const size_t stride = last > 0 ? (size_t)s->folded.strides[last - 1] : 0;
  float y = 0;
  for (size_t i = from; i < to;) {
    const size_t at = i % length, line = i / length % lines;
    size_t n = length - at < to - i ? length - at : to - i, rows = 1;
    if (n == length) rows = lines - line < (to - i) / n ? lines - line : (to - i) / n;
    const float part = s->kernels->row[s->op](
        rows, n, x + reduce_offset(&s->folded, last, i / length) + at, stride);
    y = i == from ? part : smr_f32_reduce_join(s->op, y, part);
    i += rows * n;
  }
  *out = y;
}

// `count` outputs (at most REDUCE_COLUMNS; 1 unless columns) from number `first` on; elements from
// `at` on. Sums and products of integers wrap in 64 bits, then in the dtype.
static void reduce_any(const struct smr_job *job, const struct reduce_state *s, size_t first,
                       size_t at, size_t count) {
  const struct smr_tensor *x = job->inputs[0];
  const size_t element = smr_dtype_bytes(x->dtype);
  const uint32_t outer = s->folded.rank ? s->folded.rank - 1 : 0;
  const size_t rows = s->folded.rank ? (size_t)s->folded.dims[outer] : 1;
  const size_t stride = s->folded.rank ? (size_t)s->folded.strides[outer] : 0;
  union smr_vreduce_total totals[REDUCE_COLUMNS];
  for (size_t j = 0; j < count; j++) totals[j] = smr_vreduce_start(reduce_any_op(s->op), x->dtype);
  for (size_t i = 0; i < s->count; i += rows)
    s->any(rows, stride, count,
           (const char *)x->data + (at + reduce_offset(&s->folded, outer, i / rows)) * element,
           totals);
  const bool is_mean = s->mean && (s->count > 0 || x->dtype == SAMARA_FLOAT64);
  for (size_t j = 0; j < count; j++) {
    if (is_mean && s->count == 0) totals[j].f = NAN;
    smr_vreduce_store(x->dtype, totals[j], is_mean ? s->count : 0, job->outputs[0]->data,
                      first + j);
  }
}

// The outputs of a unit: the number of the first one, and the offset of its elements.
struct reduce_unit {
  size_t first, at, count;
};

static struct reduce_unit reduce_unit_of(const struct reduce_state *s, size_t unit) {
  if (!s->columns)
    return (struct reduce_unit){unit, reduce_offset(&s->kept, s->kept.rank, unit), 1};
  const size_t line = unit / s->chunks, column = unit % s->chunks * REDUCE_COLUMNS;
  const size_t rest = s->width - column;
  const uint32_t outer = s->kept.rank ? s->kept.rank - 1 : 0;
  return (struct reduce_unit){line * s->width + column,
                              reduce_offset(&s->kept, outer, line) + column,
                              rest < REDUCE_COLUMNS ? rest : REDUCE_COLUMNS};
}

// End of tiles [begin, end) in units.
static size_t reduce_last(const struct reduce_state *s, size_t end) {
  return end <= s->units / s->group ? end * s->group : s->units;
}

static samara_status reduce_any_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  (void)thread_scratch;
  const struct reduce_state *s = job->state;
  const size_t last = reduce_last(s, end);
  for (size_t unit = begin * s->group; unit < last; unit++) {
    const struct reduce_unit u = reduce_unit_of(s, unit);
    reduce_any(job, s, u.first, u.at, u.count);
  }
  return SAMARA_OK;
}

// Chunk `tile` of the partial results, which are stored chunk by chunk in scratch.
static void reduce_piece(const struct smr_job *job, const struct reduce_state *s, size_t tile) {
  const struct reduce_unit u = reduce_unit_of(s, tile / s->pieces);
  const size_t piece = tile % s->pieces, each = s->count / s->pieces, more = s->count % s->pieces;
  const size_t from = piece * each + (piece < more ? piece : more);
  s->fold(s, (const float *)job->inputs[0]->data + u.at, u.count, from,
          from + each + (piece < more), (float *)job->scratch + piece * s->outputs + u.first);
}

static void reduce_join_pieces(const struct smr_job *job, const struct reduce_state *s) {
  const float *parts = job->scratch;
  float *y = job->outputs[0]->data;
  for (size_t j = 0; j < s->outputs; j++) {
    float total = parts[j];
    for (size_t p = 1; p < s->pieces; p++)
      total = smr_f32_reduce_join(s->op, total, parts[p * s->outputs + j]);
    y[j] = s->mean ? total / (float)s->count : total;
  }
}

static samara_status reduce_f32_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  (void)thread_scratch;
  const struct reduce_state *s = job->state;
  if (s->pieces > 0) {
    for (size_t tile = begin; tile < end; tile++)
      if (tile < s->units * s->pieces)
        reduce_piece(job, s, tile);
      else
        reduce_join_pieces(job, s);
    return SAMARA_OK;
  }
  const size_t last = reduce_last(s, end);
  for (size_t unit = begin * s->group; unit < last; unit++) {
    const struct reduce_unit u = reduce_unit_of(s, unit);
    float *out = (float *)job->outputs[0]->data + u.first;
    s->fold(s, (const float *)job->inputs[0]->data + u.at, u.count, 0, s->count, out);
    if (s->mean)
      for (size_t j = 0; j < u.count; j++) out[j] /= (float)s->count;
  }
  return SAMARA_OK;
}

// The exact form of sums and means: the elements of an output in row-major order, copied to scratch
// unless they are neighbours.
static samara_status reduce_exact_run(const struct smr_job *job, size_t begin, size_t end,
                                      void *thread_scratch) {
  const struct reduce_state *s = job->state;
  const struct smr_f32_exact *exact = smr_f32_exact_config(job->isa);
  const bool together = s->folded.rank <= 1 && !s->columns;
  float *copy = thread_scratch, *y = job->outputs[0]->data;
  for (size_t at = begin; at < end; at++) {
    const float *x =
        (const float *)job->inputs[0]->data + reduce_offset(&s->kept, s->kept.rank, at);
    for (size_t i = 0; i < s->count && !together; i++)
      copy[i] = x[reduce_offset(&s->folded, s->folded.rank, i)];
    const float sum = exact->sum(s->count, together ? x : copy);
    y[at] = s->mean ? sum / (float)s->count : sum;
  }
  return SAMARA_OK;
}

static samara_status reduce_prepare_exact(struct smr_job *job) {
  const struct reduce_state *s = job->state;
  SMR_NEED(job, f32_exact_sum);
  job->barriers[0] = 0;
  job->scratch_bytes = 0;
  job->tiles = s->outputs;
  job->run = reduce_exact_run;
  job->kernel = smr_f32_exact_config(job->isa)->name;
  if (!smr_mul_size(s->count, sizeof(float), &job->thread_scratch_bytes))
    SMR_FAIL(job->error, LIMIT, "%s: scratch does not fit memory", job->op->name);
  return SAMARA_OK;
}

// ---- preparing ----

static samara_status reduce_prepare_mask(struct smr_job *job, enum smr_f32_reduce_op op, bool mean,
                                         uint32_t mask) {
  struct reduce_state *s = job->state;
  *s = (struct reduce_state){.kernels = smr_f32_reduce_config(job->isa), .op = op, .mean = mean};
  reduce_split(job->inputs[0], mask, s);
  size_t cost = s->count ? s->count : 1, across = 1;
  s->units = s->outputs;
  if (s->columns) {
    s->width = s->kept.rank ? (size_t)s->kept.dims[s->kept.rank - 1] : 1;
    s->chunks = s->width / REDUCE_COLUMNS + (s->width % REDUCE_COLUMNS != 0);
    s->units = s->width ? s->outputs / s->width * s->chunks : 0;
    across = s->width < REDUCE_COLUMNS ? s->width : REDUCE_COLUMNS;
    cost = cost < SMR_GRAIN ? cost * across : cost;
  }
  s->group = cost && cost < SMR_GRAIN ? SMR_GRAIN / cost : 1;
  job->tiles = s->units / s->group + (s->units % s->group != 0);
  reduce_cut(job, s, s->count <= SIZE_MAX / REDUCE_COLUMNS ? s->count * across : s->count);
  if (job->inputs[0]->dtype != SAMARA_FLOAT32) {
    SMR_NEED(job, vreduce);
    job->run = reduce_any_run;
    s->any = smr_vreduce_kernel(reduce_any_op(op), job->inputs[0]->dtype);
    SMR_NEED_KERNEL(job, vreduce_sum, reduce_any_op(op), s->any);
    job->kernel = "vreduce";
    return SAMARA_OK;
  }
  if (SMR_HAS(exact) && job->exact) return reduce_prepare_exact(job);
  // Which axes are longer than 1 determines whether the last of them is reduced.
  SMR_WAY_KERNEL(job, REDUCE_ROWS, f32_reduce_row_sum, op, s->kernels->row[op], !s->columns, true,
                 s->fold = reduce_row_f32);
  SMR_WAY_KERNEL(job, REDUCE_IN_COLUMNS, f32_reduce_row_sum, SMR_F32_REDUCE_COUNT + op,
                 s->kernels->columns[op], s->columns, true, s->fold = reduce_columns_f32);
  job->kernel = s->kernels->name;
  return SAMARA_OK;
}

static samara_status reduce_prepare(struct smr_job *job, enum smr_f32_reduce_op op, bool mean) {
  const struct smr_attr *axes = SMR_ATTR(job, reduce_sum, axes);
  const int64_t rank = job->inputs[0]->rank;
  uint32_t mask = 0;
  for (uint32_t i = 0; i < axes->count; i++)
    mask |= 1u << (axes->ints[i] < 0 ? axes->ints[i] + rank : axes->ints[i]);
  return reduce_prepare_mask(job, op, mean, mask);
}

#define REDUCE(name, OP, mean, check)                                                           \
  static samara_status name##_prepare(struct smr_job *job) {                                    \
    return reduce_prepare(job, SMR_F32_REDUCE_##OP, mean);                                      \
  }                                                                                             \
  SMR_WIDENED_OP_MORE(name, check, name##_prepare, reduce_f32_run, sizeof(struct reduce_state), \
                      SMR_DTYPES_MORE_NUMBER)
REDUCE(reduce_sum, SUM, false, reduce_check_number)
REDUCE(reduce_mean, SUM, true, reduce_check_number)
REDUCE(reduce_max, MAX, false, reduce_check_plain)
REDUCE(reduce_min, MIN, false, reduce_check_plain)
REDUCE(reduce_prod, PROD, false, reduce_check_number)
#undef REDUCE

// Reduces the axes that broadcasting the output to the input's dims would add or extend.
static samara_status sum_to_prepare(struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const uint32_t lead = (uint32_t)(x->rank - y->rank);
  uint32_t mask = (1u << lead) - 1u;
  for (uint32_t i = 0; i < y->rank; i++)
    if (y->dims[i] != x->dims[lead + i]) mask |= 1u << (lead + i);
  return reduce_prepare_mask(job, SMR_F32_REDUCE_SUM, false, mask);
}
SMR_WIDENED_OP_MORE(sum_to, sum_to_check, sum_to_prepare, reduce_f32_run,
                    sizeof(struct reduce_state), SUM_TO_MORE)
