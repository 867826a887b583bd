// SPDX-License-Identifier: Apache-2.0
// Parameters of operators from one int8 tensor to another, usable and not.
#include "base/fp.h"

#include "ops/quantize/rescale.h"

#include <float.h>

#include "ops/op_harness.h"

struct parameters {
  float x_scale, scale;
  int32_t x_zero;
  int64_t zero, lo, hi;
  const char *refusal;
};

static void begin(struct op_test *t, const struct parameters *p) {
  static const int64_t dims[] = {1, 2, 1};
  op_begin(t, "qmean");
  op_in(t, SAMARA_QINT8, 2, dims, NULL);
  op_quant(t, &t->in[0], 1, &p->x_scale, &p->x_zero, -1);
  op_out(t, SAMARA_QINT8, 1, dims);
  op_ints(t, "axes", 1, dims);
  op_f32(t, "scale", p->scale);
  op_int(t, "zero_point", p->zero);
  op_int(t, "lo", p->lo);
  op_int(t, "hi", p->hi);
}

SMR_TEST(usable_or_not) {
  const struct parameters cases[] = {
      {0.5f, 0.25f, 3, -128, -128, 127, NULL},
      {0.5f, 0.25f, 3, 127, 5, 5, NULL},
      {0.5f, 0.0f, 3, 0, -128, 127, "the output has scale 0"},
      {0.5f, -1.0f, 3, 0, -128, 127, "the output has scale -1"},
      {0.5f, NAN, 3, 0, -128, 127, "the output has scale nan"},
      {0.5f, INFINITY, 3, 0, -128, 127, "the output has scale inf"},
      {0.5f, 0.25f, 3, 128, -128, 127, "zero point 128"},
      {0.5f, 0.25f, 3, 0, -129, 127, "clamp from -129 to 127"},
      {0.5f, 0.25f, 3, 0, 1, 0, "clamp from 1 to 0"},
      {0.5f, 0.25f, 3, 0, -128, INT64_MAX, "clamp from -128"},
      {FLT_MAX, FLT_MIN, 3, 0, -128, 127, "no float32 multiplier"},
      {0.0f, 0.25f, 3, 0, -128, 127, "input has scale 0"},
      {0.5f, 0.25f, 200, 0, -128, 127, "zero point 200"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct op_test t;
    begin(&t, &cases[i]);
    const samara_status status = smr_op_check(&t.job);
    if (cases[i].refusal == NULL)
      CHECK_EQ_INT(status, SAMARA_OK);
    else if (CHECK_EQ_INT(status, SAMARA_BAD_SHAPE))
      CHECK_CONTAINS(t.error.text, cases[i].refusal);
    op_end(&t);
  }
}

SMR_TEST(reads) {
  const struct parameters p = {0.5f, 0.25f, 3, -7, -100, 90, NULL};
  struct op_test t;
  begin(&t, &p);
  const struct smr_rescale r = smr_rescale_read(&t.job, SMR_ATTR_GROUP(&t.job, qmean, int8_output));
  CHECK(r.ratio == 2.0f);
  CHECK_EQ_INT(r.x_zero, 3);
  CHECK_EQ_INT(r.zero, -7);
  CHECK_EQ_INT(r.lo, -100);
  CHECK_EQ_INT(r.hi, 90);
  op_end(&t);
}

SMR_TEST(one_pair_of_parameters) {
  const struct parameters p = {0.5f, 0.25f, 3, 0, -128, 127, NULL};
  const float scales[] = {1, 2};
  const int32_t zeros[] = {0, 0};
  struct op_test t;
  begin(&t, &p);
  op_quant(&t, &t.in[0], 2, scales, zeros, 1);
  if (CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE))
    CHECK_CONTAINS(t.error.text, "quantized along axis 1");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(usable_or_not); RUN(reads); RUN(one_pair_of_parameters))
