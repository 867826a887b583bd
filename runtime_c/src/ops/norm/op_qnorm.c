// SPDX-License-Identifier: Apache-2.0
// qsoftmax, qlayer_norm and qrms_norm.
#include "base/fp.h"

#include "kernels/i8_norm/i8_norm.h"
#include "kernels/i8_softmax/i8_softmax.h"
#include "ops/axis.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

#include <assert.h>
#include <inttypes.h>

struct qsoftmax_state {
  struct smr_axis axis;  // first member, so that a struct smr_axis is at job->state
  const struct smr_i8_softmax *kernels;
};

static samara_status qsoftmax_check(const struct smr_job *job) {
  static const int64_t steps[] = {256};
  const struct smr_tensor *table = job->inputs[1], *y = job->outputs[0];
  SMR_TRY(smr_expect_q8(job, job->inputs[0], "x"));
  SMR_TRY(smr_expect_dtype(job, table, "table", SMR_DTYPE_U32));
  SMR_TRY(smr_expect_dims(job, table, "table", steps, 1));
  SMR_TRY(smr_expect_q8(job, y, "output"));
  if (y->quant->scales[0] != 1.0f / 256 || y->quant->zero_points[0] != -128)
    SMR_FAIL(job->error, BAD_SHAPE,
             "qsoftmax: the output has scale %g and zero point %" PRId32
             ", expected 1/256 and -128",
             smr_g(y->quant->scales[0]), y->quant->zero_points[0]);
  return SAMARA_OK;
}

static void qsoftmax_row(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct qsoftmax_state *s = job->state;
  s->kernels->row(s->axis.n, (const int8_t *)job->inputs[0]->data + span->offset,
                  job->inputs[1]->data, (int8_t *)job->outputs[0]->data + span->offset);
}

static samara_status qsoftmax_rows_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, qsoftmax_row);
}

static void qsoftmax_columns(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct qsoftmax_state *s = job->state;
  s->kernels->columns(s->axis.n, span->count, s->axis.inner,
                      (const int8_t *)job->inputs[0]->data + span->offset, job->inputs[1]->data,
                      (int8_t *)job->outputs[0]->data + span->offset);
}

static samara_status qsoftmax_columns_run(const struct smr_job *job, size_t begin, size_t end,
                                          void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, qsoftmax_columns);
}

static samara_status qsoftmax_prepare(struct smr_job *job) {
  static_assert((int)SMR_I8_SOFTMAX_COLUMNS >= (int)SMR_AXIS_COLUMNS, "spans fit the kernels");
  struct qsoftmax_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  const int64_t given = SMR_ATTR(job, qsoftmax, axis)->i;
  const uint32_t axis = (uint32_t)(given < 0 ? given + (int64_t)x->rank : given);
  *s = (struct qsoftmax_state){smr_axis_of(x, given), smr_i8_softmax_config(job->isa)};
  const bool open = smr_dims_open(x, axis, axis + 1),
             inner_open = smr_dims_open(x, axis + 1, x->rank);
  const bool rows = s->axis.inner == 1, columns = !rows || inner_open;
  SMR_WAY(job, q8_softmax_row, rows, inner_open, job->run = qsoftmax_rows_run);
  SMR_WAY(job, q8_softmax_columns, !rows, inner_open, job->run = qsoftmax_columns_run);
  if (s->axis.n > SMR_I8_SOFTMAX_SHORT || open) SMR_NEED(job, q8_softmax_long_row);
  if (s->axis.n > SMR_I8_SOFTMAX_FEW || open || columns) SMR_NEED(job, q8_softmax_above_floor);
  job->kernel = s->kernels->name;
  job->tiles = smr_axis_tiles(&s->axis);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_qsoftmax_funcs = {.check = qsoftmax_check,
                                                   .prepare = qsoftmax_prepare,
                                                   .state_bytes = sizeof(struct qsoftmax_state),
                                                   .more_dtypes = SMR_DTYPE_U32};

struct qnorm_state {
  const struct smr_i8_norm *kernels;
  size_t groups, n;    // number of rows, elements per row
  size_t tile_groups;  // rows per tile
  struct smr_i8_norm_args args;
};

// Elements of a row. The check class has checked the axis.
static uint64_t qnorm_length(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t given = SMR_ATTR(job, qlayer_norm, axis)->i;
  const uint32_t axis = (uint32_t)(given < 0 ? given + (int64_t)x->rank : given);
  return (uint64_t)smr_product(x->dims + axis, x->rank - axis);
}

static samara_status qnorm_check(const struct smr_job *job) {
  const float eps = SMR_ATTR(job, qlayer_norm, eps)->f;
  const uint64_t n = qnorm_length(job);
  SMR_TRY(smr_expect_q8(job, job->inputs[0], "x"));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(smr_expect_dtype(job, job->inputs[i], i == 1 ? "scale" : "bias", SMR_DTYPE_F32));
  SMR_TRY(smr_expect_q8_output(job, SMR_ATTR_GROUP(job, qlayer_norm, int8_output)));
  if (n > SMR_I8_NORM_MOST)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: rows of %" PRIu64 " elements, expected at most %d",
             job->op->name, n, (int)SMR_I8_NORM_MOST);
  if (!(eps > 0.0f))
    SMR_FAIL(job->error, BAD_SHAPE, "%s: eps is %g, expected a positive number", job->op->name,
             smr_g(eps));
  return SAMARA_OK;
}

static samara_status qnorm_prepare(struct smr_job *job) {
  struct qnorm_state *s = job->state;
  const size_t n = (size_t)qnorm_length(job);
  *s = (struct qnorm_state){
      .kernels = smr_i8_norm_config(job->isa),
      .groups = n ? (size_t)smr_numel(job->inputs[0]) / n : 0,
      .n = n,
      .tile_groups = n && n < SMR_GRAIN ? SMR_GRAIN / n : 1,
      .args = {.eps = SMR_ATTR(job, qlayer_norm, eps)->f,
               .x_zero = job->inputs[0]->quant->zero_points[0],
               .zero_point = (int32_t)SMR_ATTR(job, qlayer_norm, zero_point)->i,
               .lo = (int32_t)SMR_ATTR(job, qlayer_norm, lo)->i,
               .hi = (int32_t)SMR_ATTR(job, qlayer_norm, hi)->i},
  };
  job->kernel = s->kernels->name;
  job->tiles = s->groups / s->tile_groups + (s->groups % s->tile_groups != 0);
  return SAMARA_OK;
}

static void qnorm_rows(const struct smr_job *job, size_t begin, size_t end,
                       smr_i8_norm_row kernel) {
  const struct qnorm_state *s = job->state;
  const struct smr_tensor *bias = smr_optional_input(job, 2);
  struct smr_i8_norm_args args = s->args;
  args.scale = job->inputs[1]->data;
  args.bias = bias != NULL ? bias->data : NULL;
  const size_t whole = end * s->tile_groups, last = whole < s->groups ? whole : s->groups;
  for (size_t i = begin * s->tile_groups; i < last; i++)
    kernel(s->n, (const int8_t *)job->inputs[0]->data + i * s->n, &args,
           (int8_t *)job->outputs[0]->data + i * s->n);
}

static samara_status qlayer_norm_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  qnorm_rows(job, begin, end, ((const struct qnorm_state *)job->state)->kernels->centred_row);
  return SAMARA_OK;
}

static samara_status qrms_norm_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *thread_scratch) {
  (void)thread_scratch;
  qnorm_rows(job, begin, end, ((const struct qnorm_state *)job->state)->kernels->plain_row);
  return SAMARA_OK;
}

#define QNORM_FUNCS(name)                                                      \
  const struct smr_op_funcs smr_op_##name##_funcs = {.check = qnorm_check,     \
                                                     .prepare = qnorm_prepare, \
                                                     .run = name##_run,        \
                                                     .state_bytes = sizeof(struct qnorm_state)}
QNORM_FUNCS(qlayer_norm);
QNORM_FUNCS(qrms_norm);
#undef QNORM_FUNCS
