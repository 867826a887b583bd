// SPDX-License-Identifier: Apache-2.0
// qmean: means over axes; each sum is requantized once.
#include "base/fp.h"

#include "kernels/i8_mean/i8_mean.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/move/move.h"
#include "ops/quantize/rescale.h"
#include "simd/requantize.h"

#include <string.h>

enum {
  QMEAN_COLUMNS = 256,    // outputs summed side by side
  QMEAN_STEPS = 1 << 20,  // elements between two checks of the deadline
};

// A subset of the input's axes; strides in elements.
struct qmean_axes {
  uint32_t rank;
  int64_t dims[SAMARA_MAX_RANK], strides[SAMARA_MAX_RANK];
};

struct qmean_state;
struct qmean_sums;
// Add `count` elements, `stride` apart, to each of several sums side by side, or to the only sum.
typedef void (*qmean_add)(const struct qmean_state *s, size_t count, size_t stride, const int8_t *x,
                          struct qmean_sums *sums);

// After merging neighbours of one kind, kept and reduced axes alternate. If the last axis is
// reduced, an output is a sum of rows. If it is kept, neighbouring outputs are computed together,
// as columns.
struct qmean_state {
  const struct smr_i8_mean *kernels;
  qmean_add add;
  struct smr_i8_mean_end end;
  int32_t x_zero;
  bool columns;
  struct qmean_axes kept, folded;
  size_t width, chunks;  // columns: outputs of the last axis; chunks of them
  size_t count;          // elements per output
  struct smr_units units;
};

static void qmean_append(struct qmean_axes *axes, int64_t dim, int64_t stride, bool merge) {
  if (merge) {
    axes->dims[axes->rank - 1] *= dim;
    axes->strides[axes->rank - 1] = stride;
    return;
  }
  axes->dims[axes->rank] = dim;
  axes->strides[axes->rank++] = stride;
}

// Split the input's axes by `mask` (bit set: reduced).
static void qmean_split(const struct smr_tensor *x, uint32_t mask, struct qmean_state *s) {
  int64_t strides[SAMARA_MAX_RANK], dense = 1;
  for (uint32_t i = x->rank; i-- > 0;) {
    strides[i] = dense;
    dense *= x->dims[i];
  }
  int previous = -1;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (x->dims[i] == 1) continue;
    const int folds = mask >> i & 1u;
    qmean_append(folds ? &s->folded : &s->kept, x->dims[i], strides[i], folds == previous);
    previous = folds;
  }
  s->columns = previous != 1;
  s->count = (size_t)smr_product(s->folded.dims, s->folded.rank);
}

static samara_status qmean_check(const struct smr_job *job) {
  return smr_rescale_check(job, SMR_ATTR_GROUP(job, qmean, int8_output));
}

// Offset of index `i`, counted over the first `rank` axes.
static size_t qmean_offset(const struct qmean_axes *axes, uint32_t rank, size_t i) {
  size_t offset = 0;
  for (uint32_t a = rank; a-- > 0;) {
    offset += i % (size_t)axes->dims[a] * (size_t)axes->strides[a];
    i /= (size_t)axes->dims[a];
  }
  return offset;
}

// Sums of up to QMEAN_COLUMNS outputs: in int32 for a limited number of elements, then moved to
// all[].
struct qmean_sums {
  size_t width, held;  // elements summed in each part[]
  int32_t part[QMEAN_COLUMNS];
  int64_t all[QMEAN_COLUMNS];
  bool moved;  // all[] is in use
};

static void qmean_move(struct qmean_sums *sums) {
  if (!sums->moved) memset(sums->all, 0, sizeof sums->all);
  for (size_t c = 0; c < sums->width; c++) sums->all[c] += sums->part[c];
  memset(sums->part, 0, sums->width * sizeof *sums->part);
  sums->held = 0;
  sums->moved = true;
}

static void qmean_add_columns(const struct qmean_state *s, size_t count, size_t stride,
                              const int8_t *x, struct qmean_sums *sums) {
  s->kernels->columns(sums->width, count, stride, x, sums->part);
}

static void qmean_add_row(const struct qmean_state *s, size_t count, size_t stride, const int8_t *x,
                          struct qmean_sums *sums) {
  (void)stride;
  sums->part[0] += s->kernels->row(count, x);
}

// One run along the last reduced axis.
static samara_status qmean_line(struct smr_deadline_watch *watch, const struct qmean_state *s,
                                const int8_t *x, size_t count, size_t stride,
                                struct qmean_sums *sums) {
  const size_t most = QMEAN_STEPS / sums->width;
  while (count > 0) {
    const size_t some = count < most ? count : most;
    if (sums->held > SMR_I8_MEAN_MOST - some) qmean_move(sums);
    SMR_TRY(smr_deadline_step(watch, some * sums->width));
    s->add(s, some, stride, x, sums);
    sums->held += some;
    count -= some;
    if (count > 0) x += some * stride;
  }
  return SAMARA_OK;
}

static void qmean_finish(const struct qmean_state *s, struct qmean_sums *sums, int8_t *y) {
  struct smr_i8_mean_end end = s->end;
  if (!sums->moved) {
    end.offset = s->x_zero * (int32_t)s->count;
    s->kernels->finish(sums->width, sums->part, &end, y);
    return;
  }
  qmean_move(sums);
  const float lo = (float)(end.lo - end.zero), hi = (float)(end.hi - end.zero);
  for (size_t c = 0; c < sums->width; c++) {
    const float sum = (float)(sums->all[c] - s->x_zero * (int64_t)s->count);
    const float p = sum * end.multiplier;
    y[c] = (int8_t)smr_rounded(p, lo, hi, end.zero);
  }
}

static samara_status qmean_unit(struct smr_deadline_watch *watch, const struct qmean_state *s,
                                size_t unit, const int8_t *x, int8_t *y) {
  struct qmean_sums sums;  // all[] is initialized when first used
  sums.width = 1;
  sums.held = 0;
  sums.moved = false;
  size_t first = unit, from;  // output, and its first element
  if (s->columns) {
    const size_t row = unit / s->chunks, column = unit % s->chunks * QMEAN_COLUMNS;
    sums.width = s->width - column < QMEAN_COLUMNS ? s->width - column : QMEAN_COLUMNS;
    first = row * s->width + column;
    from = qmean_offset(&s->kept, s->kept.rank ? s->kept.rank - 1u : 0, row) + column;
  } else {
    from = qmean_offset(&s->kept, s->kept.rank, unit);
  }
  memset(sums.part, 0, sums.width * sizeof *sums.part);
  const struct qmean_axes *folded = &s->folded;
  const uint32_t outer = folded->rank ? folded->rank - 1u : 0;
  const size_t runs = (size_t)smr_product(folded->dims, outer);
  const size_t count = folded->rank ? (size_t)folded->dims[outer] : 1;
  const size_t stride = folded->rank ? (size_t)folded->strides[outer] : 0;
  for (size_t i = 0; s->count > 0 && i < runs; i++)
    SMR_TRY(qmean_line(watch, s, x + from + qmean_offset(folded, outer, i), count, stride, &sums));
  qmean_finish(s, &sums, y + first);
  return SAMARA_OK;
}

static samara_status qmean_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  (void)thread_scratch;
  const struct qmean_state *s = (const struct qmean_state *)job->state;
  struct smr_deadline_watch watch = {.job = job};
  const size_t last = smr_units_begin(&s->units, end);
  for (size_t unit = smr_units_begin(&s->units, begin); unit < last; unit++)
    SMR_TRY(qmean_unit(&watch, s, unit, (const int8_t *)job->inputs[0]->data,
                       (int8_t *)job->outputs[0]->data));
  return SAMARA_OK;
}

static samara_status qmean_prepare(struct smr_job *job) {
  struct qmean_state *s = (struct qmean_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  const struct smr_attr *axes = SMR_ATTR(job, qmean, axes);
  const struct smr_rescale rescale = smr_rescale_read(job, SMR_ATTR_GROUP(job, qmean, int8_output));
  *s = (struct qmean_state){.kernels = smr_i8_mean_config(job->isa), .x_zero = rescale.x_zero};
  uint32_t mask = 0;
  for (uint32_t i = 0; i < axes->count; i++)
    mask |= 1u << (axes->ints[i] < 0 ? axes->ints[i] + x->rank : axes->ints[i]);
  qmean_split(x, mask, s);
  // Without elements: the mean of a single zero.
  s->end = (struct smr_i8_mean_end){.multiplier = rescale.ratio / (float)(s->count ? s->count : 1),
                                    .zero = rescale.zero,
                                    .lo = rescale.lo,
                                    .hi = rescale.hi};
  const size_t outputs = (size_t)smr_product(s->kept.dims, s->kept.rank);
  size_t cost = s->count ? s->count : 1, units = outputs;
  if (s->columns) {
    s->width = s->kept.rank ? (size_t)s->kept.dims[s->kept.rank - 1] : 1;
    s->chunks = s->width / QMEAN_COLUMNS + (s->width % QMEAN_COLUMNS != 0);
    units = s->width ? outputs / s->width * s->chunks : 0;
    if (cost < SMR_MOVE_TILE_BYTES) cost *= s->width < QMEAN_COLUMNS ? s->width : QMEAN_COLUMNS;
  }
  SMR_WAY(job, s8_mean_columns, s->columns, true, s->add = qmean_add_columns);
  SMR_WAY(job, s8_mean_row, !s->columns, true, s->add = qmean_add_row);
  SMR_NEED(job, s8_mean_finish);
  s->units = smr_units_make(job, units, cost);
  job->kernel = s->kernels->name;
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_qmean_funcs = {.check = qmean_check,
                                                .prepare = qmean_prepare,
                                                .run = qmean_run,
                                                .state_bytes = sizeof(struct qmean_state)};
