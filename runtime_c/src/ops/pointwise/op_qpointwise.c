// SPDX-License-Identifier: Apache-2.0
// qadd, qmul and qlookup.
#include "base/fp.h"

#include "kernels/i8_lookup/i8_lookup.h"
#include "kernels/i8_vbinary/i8_vbinary.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

enum {
  QPOINTWISE_FACTOR = 1 << 20,  // largest factor of qadd, so that sums fit int32
  QPOINTWISE_LEAST_SHIFT = -100,
  QPOINTWISE_MOST_SHIFT = 126,  // 2^-126 is the smallest normal number
};

struct qpointwise_state {
  struct smr_broadcast broadcast;
  const struct smr_i8_vbinary *kernels;
  struct smr_i8_vbinary_out out;
  int32_t a_zero, b_zero;
  int32_t a_factor, b_factor;  // qadd
};

static samara_status qpointwise_check(const struct smr_job *job,
                                      const struct smr_attrs_int8_output *attrs) {
  SMR_TRY(smr_expect_q8(job, job->inputs[0], "a"));
  SMR_TRY(smr_expect_q8(job, job->inputs[1], "b"));
  return smr_expect_q8_output(job, attrs);
}

static samara_status qpointwise_prepare(struct smr_job *job,
                                        const struct smr_attrs_int8_output *attrs,
                                        float multiplier) {
  struct qpointwise_state *s = job->state;
  const struct smr_tensor *operands[2] = {job->inputs[0], job->inputs[1]};
  *s = (struct qpointwise_state){
      .kernels = smr_i8_vbinary_config(job->isa),
      .out = {.multiplier = multiplier,
              .zero_point = (int32_t)attrs->zero_point.i,
              .lo = (int32_t)attrs->lo.i,
              .hi = (int32_t)attrs->hi.i},
      .a_zero = job->inputs[0]->quant->zero_points[0],
      .b_zero = job->inputs[1]->quant->zero_points[0],
  };
  smr_broadcast_make(&s->broadcast, job->outputs[0], operands, 2);
  job->kernel = s->kernels->name;
  job->tiles = smr_grain_tiles((size_t)smr_numel(job->outputs[0]));
  return SAMARA_OK;
}

// A row of sums. An operand with step 0 is one value, which is added to the offset.
static void qpointwise_add(const struct qpointwise_state *s, size_t n, const int8_t *a,
                           size_t a_step, const int8_t *b, size_t b_step, int8_t *y) {
  const int32_t offset = -(s->a_zero * s->a_factor + s->b_zero * s->b_factor);
  if (SMR_HAS(q8_vbinary_scale) && b_step == 0)
    s->kernels->scale(n, a, s->a_factor, *b * s->b_factor + offset, &s->out, y);
  else if (SMR_HAS(q8_vbinary_scale) && a_step == 0)
    s->kernels->scale(n, b, s->b_factor, *a * s->a_factor + offset, &s->out, y);
  else if (SMR_HAS(q8_vbinary_add))
    s->kernels->add(n, a, s->a_factor, b, s->b_factor, offset, &s->out, y);
}

// A row of products. An operand with step 0 is a factor of the other one.
static void qpointwise_mul(const struct qpointwise_state *s, size_t n, const int8_t *a,
                           size_t a_step, const int8_t *b, size_t b_step, int8_t *y) {
  const int32_t by_a = *a - s->a_zero, by_b = *b - s->b_zero;
  if (SMR_HAS(q8_vbinary_scale) && b_step == 0)
    s->kernels->scale(n, a, by_b, -s->a_zero * by_b, &s->out, y);
  else if (SMR_HAS(q8_vbinary_scale) && a_step == 0)
    s->kernels->scale(n, b, by_a, -s->b_zero * by_a, &s->out, y);
  else if (SMR_HAS(q8_vbinary_mul))
    s->kernels->mul(n, a, s->a_zero, b, s->b_zero, &s->out, y);
}

typedef void (*qpointwise_row)(const struct qpointwise_state *s, size_t n, const int8_t *a,
                               size_t a_step, const int8_t *b, size_t b_step, int8_t *y);

static void qpointwise_rows(const struct smr_job *job, size_t begin, size_t end,
                            qpointwise_row row) {
  const struct qpointwise_state *s = job->state;
  const int8_t *a = job->inputs[0]->data, *b = job->inputs[1]->data;
  const size_t a_step = smr_broadcast_step(&s->broadcast, 0);
  const size_t b_step = smr_broadcast_step(&s->broadcast, 1);
  int8_t *y = (int8_t *)job->outputs[0]->data + begin * SMR_GRAIN;
  struct smr_broadcast_cursor cursor;
  smr_broadcast_start(&s->broadcast, &cursor, begin * SMR_GRAIN,
                      smr_grain_end((size_t)smr_numel(job->outputs[0]), end));
  size_t at[SMR_BROADCAST_OPERANDS], n;
  while ((n = smr_broadcast_next(&s->broadcast, &cursor, SIZE_MAX, at)) > 0) {
    row(s, n, a + at[0], a_step, b + at[1], b_step, y);
    y += n;
  }
}

static samara_status qadd_check(const struct smr_job *job) {
  SMR_TRY(qpointwise_check(job, SMR_ATTR_GROUP(job, qadd, int8_output)));
  const int64_t shift = SMR_ATTR(job, qadd, shift)->i;
  const int64_t factors[] = {SMR_ATTR(job, qadd, a_multiplier)->i,
                             SMR_ATTR(job, qadd, b_multiplier)->i};
  for (size_t i = 0; i < 2; i++)
    if (factors[i] < -QPOINTWISE_FACTOR || factors[i] > QPOINTWISE_FACTOR)
      SMR_FAIL(job->error, BAD_SHAPE, "qadd: multiplier %" PRId64 " has more than 20 bits",
               factors[i]);
  if (shift < QPOINTWISE_LEAST_SHIFT || shift > QPOINTWISE_MOST_SHIFT)
    SMR_FAIL(job->error, BAD_SHAPE, "qadd: shift %" PRId64 ", expected %d to %d", shift,
             (int)QPOINTWISE_LEAST_SHIFT, (int)QPOINTWISE_MOST_SHIFT);
  return SAMARA_OK;
}

static bool qpointwise_last_open(const struct smr_tensor *t) {
  return t->rank > 0 && smr_dims_open(t, t->rank - 1u, t->rank);
}

// Whether a resize may change how operands are broadcast along rows. Rows run along the last axis
// if it is longer than 1.
static bool qpointwise_open(const struct smr_job *job) {
  const struct smr_tensor *y = job->outputs[0];
  return job->dims_vary &&
         (y->rank == 0 || y->dims[y->rank - 1] <= 1 || qpointwise_last_open(y) ||
          qpointwise_last_open(job->inputs[0]) || qpointwise_last_open(job->inputs[1]));
}

// Whether one operand may be a single value per row; and whether neither may be.
static bool qpointwise_scales(const struct smr_job *job) {
  const struct qpointwise_state *s = job->state;
  return qpointwise_open(job) || smr_broadcast_step(&s->broadcast, 0) == 0 ||
         smr_broadcast_step(&s->broadcast, 1) == 0;
}

static bool qpointwise_pairs(const struct smr_job *job) {
  const struct qpointwise_state *s = job->state;
  return qpointwise_open(job) ||
         (smr_broadcast_step(&s->broadcast, 0) != 0 && smr_broadcast_step(&s->broadcast, 1) != 0);
}

static samara_status qadd_prepare(struct smr_job *job) {
  struct qpointwise_state *s = job->state;
  // 2^-shift from its bits; check ensures a normal number.
  const uint32_t bits = (uint32_t)(127 - SMR_ATTR(job, qadd, shift)->i) << 23;
  float factor;
  memcpy(&factor, &bits, sizeof factor);
  SMR_TRY(qpointwise_prepare(job, SMR_ATTR_GROUP(job, qadd, int8_output), factor));
  if (qpointwise_scales(job)) SMR_NEED(job, q8_vbinary_scale);
  if (qpointwise_pairs(job)) SMR_NEED(job, q8_vbinary_add);
  s->a_factor = (int32_t)SMR_ATTR(job, qadd, a_multiplier)->i;
  s->b_factor = (int32_t)SMR_ATTR(job, qadd, b_multiplier)->i;
  return SAMARA_OK;
}

static samara_status qadd_run(const struct smr_job *job, size_t begin, size_t end,
                              void *thread_scratch) {
  (void)thread_scratch;
  qpointwise_rows(job, begin, end, qpointwise_add);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_qadd_funcs = {.check = qadd_check,
                                               .prepare = qadd_prepare,
                                               .run = qadd_run,
                                               .state_bytes = sizeof(struct qpointwise_state)};

static float qmul_multiplier(const struct smr_job *job) {
  const float product = job->inputs[0]->quant->scales[0] * job->inputs[1]->quant->scales[0];
  return product / SMR_ATTR(job, qmul, scale)->f;
}

static samara_status qmul_check(const struct smr_job *job) {
  SMR_TRY(qpointwise_check(job, SMR_ATTR_GROUP(job, qmul, int8_output)));
  if (!(qmul_multiplier(job) <= FLT_MAX))
    SMR_FAIL(job->error, BAD_SHAPE,
             "qmul: scales %g, %g and %g of the output have no float32 multiplier",
             smr_g(job->inputs[0]->quant->scales[0]), smr_g(job->inputs[1]->quant->scales[0]),
             smr_g(SMR_ATTR(job, qmul, scale)->f));
  return SAMARA_OK;
}

static samara_status qmul_prepare(struct smr_job *job) {
  SMR_TRY(qpointwise_prepare(job, SMR_ATTR_GROUP(job, qmul, int8_output), qmul_multiplier(job)));
  if (qpointwise_scales(job)) SMR_NEED(job, q8_vbinary_scale);
  if (qpointwise_pairs(job)) SMR_NEED(job, q8_vbinary_mul);
  return SAMARA_OK;
}

static samara_status qmul_run(const struct smr_job *job, size_t begin, size_t end,
                              void *thread_scratch) {
  (void)thread_scratch;
  qpointwise_rows(job, begin, end, qpointwise_mul);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_qmul_funcs = {.check = qmul_check,
                                               .prepare = qmul_prepare,
                                               .run = qmul_run,
                                               .state_bytes = sizeof(struct qpointwise_state)};

static samara_status qlookup_check(const struct smr_job *job) {
  static const int64_t values[] = {256};
  SMR_TRY(smr_expect_q8(job, job->inputs[0], "x"));
  SMR_TRY(smr_expect_dtype(job, job->inputs[1], "table", SMR_DTYPE_I8));
  SMR_TRY(smr_expect_dims(job, job->inputs[1], "table", values, 1));
  return smr_expect_q8_quant(job, SMR_ATTR(job, qlookup, scale)->f,
                             SMR_ATTR(job, qlookup, zero_point)->i);
}

static samara_status qlookup_prepare(struct smr_job *job) {
  job->kernel = smr_i8_lookup_config(job->isa)->name;
  job->tiles = smr_grain_tiles((size_t)smr_numel(job->outputs[0]));
  return SAMARA_OK;
}

static samara_status qlookup_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  (void)thread_scratch;
  const size_t from = begin * SMR_GRAIN;
  const size_t to = smr_grain_end((size_t)smr_numel(job->outputs[0]), end);
  if (from < to)
    smr_i8_lookup_config(job->isa)->run(to - from, (const int8_t *)job->inputs[0]->data + from,
                                        job->inputs[1]->data,
                                        (int8_t *)job->outputs[0]->data + from);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_qlookup_funcs = {
    .check = qlookup_check, .prepare = qlookup_prepare, .run = qlookup_run};
