// SPDX-License-Identifier: Apache-2.0
// Operators that create tensors from numbers: range, iota, dims, nonzero (indices of nonzero
// elements).
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"
#include "simd/common.h"

#include <inttypes.h>
#include <math.h>

enum { RANGE_MAX_COUNT = INT32_MAX };  // elements of a range; far beyond any arena

// ---- range ----

static bool range_is_float(uint8_t dtype) {
  return dtype == SAMARA_FLOAT32 || dtype == SAMARA_FLOAT64;
}

// A float32 or float64 scalar.
static double range_float(const struct smr_tensor *t) {
  float single;
  double value;
  if (t->dtype == SAMARA_FLOAT64) {
    memcpy(&value, t->data, sizeof value);
    return value;
  }
  memcpy(&single, t->data, sizeof single);
  return (double)single;
}

static int64_t range_int(const struct smr_tensor *t) { return smr_index_at(t, 0); }

// ceil((limit - start) / delta), at least 0; -1 if that is not a valid count.
static int64_t range_count_float(double start, double limit, double delta) {
  const double count = ceil((limit - start) / delta);
  if (!(count <= (double)RANGE_MAX_COUNT)) return -1;  // NaN too
  return count > 0 ? (int64_t)count : 0;
}

static int64_t range_count_int(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return -1;
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  // As positive 64-bit distances, which cannot overflow.
  const uint64_t distance =
      delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  const uint64_t by = delta > 0 ? (uint64_t)delta : (uint64_t)0 - (uint64_t)delta;
  const uint64_t count = (distance - 1) / by + 1;
  return count <= RANGE_MAX_COUNT ? (int64_t)count : -1;
}

static samara_status range_measure(struct smr_job *job) {
  const struct smr_tensor *start = job->inputs[0], *limit = job->inputs[1], *delta = job->inputs[2];
  int64_t count;
  if (range_is_float(start->dtype)) {
    const double s = range_float(start), l = range_float(limit), d = range_float(delta);
    count = d == 0.0 ? -1 : range_count_float(s, l, d);
    if (count < 0)
      SMR_FAIL(job->error, BAD_DATA, "range: from %g to %g by %g is not a range", s, l, d);
  } else {
    const int64_t s = range_int(start), l = range_int(limit), d = range_int(delta);
    count = range_count_int(s, l, d);
    if (count < 0)
      SMR_FAIL(job->error, BAD_DATA,
               "range: from %" PRId64 " to %" PRId64 " by %" PRId64 " is not a range", s, l, d);
  }
  job->outputs[0]->dims[0] = count;
  return SAMARA_OK;
}

// Writes start + i * step for i in [first, last); integers wrap.
SMR_VECTORIZED static void range_line(struct smr_tensor *y, int64_t start, int64_t step,
                                      size_t first, size_t last) {
  uint64_t value = (uint64_t)start + (uint64_t)first * (uint64_t)step;
  int64_t *wide = y->data;
  int32_t *narrow = y->data;
  float *real = y->data;
  switch (y->dtype) {
    case SAMARA_INT64:
      for (size_t i = first; i < last; i++, value += (uint64_t)step) wide[i] = (int64_t)value;
      break;
    case SAMARA_INT32:
      for (size_t i = first; i < last; i++, value += (uint64_t)step) narrow[i] = (int32_t)value;
      break;
    default:
      for (size_t i = first; i < last; i++, value += (uint64_t)step)
        real[i] = (float)(int64_t)value;
      break;
  }
}

static samara_status range_prepare(struct smr_job *job) {
  const struct smr_tensor *y = job->outputs[0];
  struct smr_units *units = (struct smr_units *)job->state;
  *units = smr_units_make(job, (size_t)smr_numel(y), smr_dtype_bytes(y->dtype));
  job->kernel = "line";
  return SAMARA_OK;
}

static samara_status range_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  const struct smr_units *units = (const struct smr_units *)job->state;
  struct smr_tensor *y = job->outputs[0];
  const size_t first = smr_units_begin(units, begin), last = smr_units_begin(units, end);
  if (!range_is_float(y->dtype)) {
    range_line(y, range_int(job->inputs[0]), range_int(job->inputs[2]), first, last);
    return SAMARA_OK;
  }
  // Computed in float64 and rounded once, so that long ranges keep their step.
  const double start = range_float(job->inputs[0]), delta = range_float(job->inputs[2]);
  for (size_t i = first; i < last; i++) {
    const double value = start + (double)i * delta;
    if (y->dtype == SAMARA_FLOAT64)
      ((double *)y->data)[i] = value;
    else
      ((float *)y->data)[i] = (float)value;
  }
  return SAMARA_OK;
}

// ---- iota ----

static samara_status iota_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  const struct smr_units *units = (const struct smr_units *)job->state;
  range_line(job->outputs[0], SMR_ATTR(job, iota, start)->i, SMR_ATTR(job, iota, step)->i,
             smr_units_begin(units, begin), smr_units_begin(units, end));
  return SAMARA_OK;
}

// ---- dims ----

static samara_status dims_prepare(struct smr_job *job) {
  job->tiles = SMR_ATTR(job, dims, values)->count > 0 ? 1 : 0;
  job->kernel = "dims";
  return SAMARA_OK;
}

static samara_status dims_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  if (begin == end) return SAMARA_OK;
  const struct smr_attr *values = SMR_ATTR(job, dims, values);
  struct smr_tensor *y = job->outputs[0];
  for (uint32_t i = 0; i < values->count; i++) {
    const int64_t value = values->ints[i];
    switch (y->dtype) {
      case SAMARA_INT64:
        ((int64_t *)y->data)[i] = value;
        break;
      case SAMARA_INT32:
        ((int32_t *)y->data)[i] = (int32_t)value;
        break;
      case SAMARA_BOOL:
        ((uint8_t *)y->data)[i] = value != 0;
        break;
      default:
        ((float *)y->data)[i] = (float)value;
        break;
    }
  }
  return SAMARA_OK;
}

// ---- nonzero ----

// Whether element `i` is nonzero. NaN is nonzero, -0 is zero.
static bool nonzero_at(const struct smr_tensor *x, size_t i) {
  const char *data = (const char *)x->data;
  switch (x->dtype) {
    case SAMARA_FLOAT32: {
      uint32_t bits;
      memcpy(&bits, data + i * sizeof bits, sizeof bits);
      return (bits & 0x7fffffffu) != 0;
    }
    case SAMARA_FLOAT16:
    case SAMARA_BFLOAT16: {
      uint16_t bits;
      memcpy(&bits, data + i * sizeof bits, sizeof bits);
      return (bits & 0x7fffu) != 0;
    }
    case SAMARA_FLOAT64: {
      uint64_t bits;
      memcpy(&bits, data + i * sizeof bits, sizeof bits);
      return bits << 1 != 0;
    }
    case SAMARA_INT16:
    case SAMARA_UINT16: {
      uint16_t bits;
      memcpy(&bits, data + i * sizeof bits, sizeof bits);
      return bits != 0;
    }
    case SAMARA_INT32:
    case SAMARA_UINT32: {
      uint32_t bits;
      memcpy(&bits, data + i * sizeof bits, sizeof bits);
      return bits != 0;
    }
    case SAMARA_INT64:
    case SAMARA_UINT64: {
      uint64_t bits;
      memcpy(&bits, data + i * sizeof bits, sizeof bits);
      return bits != 0;
    }
    default:
      return data[i] != 0;
  }
}

static samara_status nonzero_measure(struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const size_t all = (size_t)smr_numel(x);
  int64_t count = 0;
  for (size_t i = 0; i < all; i++) count += nonzero_at(x, i);
  job->outputs[0]->dims[0] = x->rank;
  job->outputs[0]->dims[1] = count;
  return SAMARA_OK;
}

static samara_status nonzero_prepare(struct smr_job *job) {
  const struct smr_tensor *y = job->outputs[0];
  job->tiles = y->dims[0] > 0 && y->dims[1] > 0 ? 1 : 0;
  job->kernel = "nonzero";
  return SAMARA_OK;
}

static samara_status nonzero_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *scratch) {
  (void)scratch;
  if (begin == end) return SAMARA_OK;
  const struct smr_tensor *x = job->inputs[0];
  const size_t all = (size_t)smr_numel(x), count = (size_t)job->outputs[0]->dims[1];
  int64_t *y = (int64_t *)job->outputs[0]->data, index[SAMARA_MAX_RANK] = {0};
  for (size_t i = 0, found = 0; i < all && found < count; i++) {
    if (nonzero_at(x, i)) {
      for (uint32_t axis = 0; axis < x->rank; axis++) y[axis * count + found] = index[axis];
      found++;
    }
    for (uint32_t axis = x->rank; axis-- > 0;) {
      if (++index[axis] < x->dims[axis]) break;
      index[axis] = 0;
    }
  }
  return SAMARA_OK;
}

// Three scalars of one dtype.
static samara_status range_check(const struct smr_job *job) {
  const struct smr_tensor *y = job->outputs[0];
  SMR_TRY(smr_expect_dtype(job, y, "output",
                           SMR_DTYPE_F32 | SMR_DTYPE_F64 | SMR_DTYPE_I32 | SMR_DTYPE_I64));
  for (uint32_t i = 0; i < 3; i++) {
    const struct smr_tensor *scalar = job->inputs[i];
    SMR_TRY(smr_expect_same_dtype(job, scalar, y, "an input and the output"));
    if (smr_numel(scalar) != 1) SMR_TRY(smr_expect_dims(job, scalar, "an input", y->dims, 0));
  }
  return SAMARA_OK;
}

static samara_status iota_check(const struct smr_job *job) {
  return smr_expect_dtype_attr(job, SMR_ATTR(job, iota, dtype)->i,
                               SMR_DTYPE_F32 | SMR_DTYPE_I32 | SMR_DTYPE_I64);
}

static samara_status nonzero_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_dtype(job, x, "input", SMR_DTYPES_PLAIN | SMR_DTYPES_MORE));
  SMR_TRY(smr_expect_dtype(job, y, "output", SMR_DTYPE_I64));
  if (y->dims[0] != (int64_t)x->rank)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: output has %" PRId64 " rows for an input of rank %u",
             job->op->name, y->dims[0], (unsigned)x->rank);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_range_funcs = {.check = range_check,
                                                .measure = range_measure,
                                                .prepare = range_prepare,
                                                .run = range_run,
                                                .state_bytes = sizeof(struct smr_units),
                                                .more_dtypes = SMR_DTYPE_F64};
const struct smr_op_funcs smr_op_iota_funcs = {.check = iota_check,
                                               .prepare = range_prepare,
                                               .run = iota_run,
                                               .state_bytes = sizeof(struct smr_units)};
const struct smr_op_funcs smr_op_dims_funcs = {.prepare = dims_prepare, .run = dims_run};
const struct smr_op_funcs smr_op_nonzero_funcs = {.check = nonzero_check,
                                                  .measure = nonzero_measure,
                                                  .prepare = nonzero_prepare,
                                                  .run = nonzero_run,
                                                  .more_dtypes = SMR_DTYPES_MORE};
