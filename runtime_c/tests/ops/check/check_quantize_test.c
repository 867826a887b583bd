// SPDX-License-Identifier: Apache-2.0
// Check class of operators between real and quantized tensors.
#include "base/fp.h"

#include "ops/check/check_harness.h"

static void refused(const float *scales, const int32_t *zero_points, uint32_t count, int32_t axis,
                    const char *text) {
  struct op_test t;
  op_begin(&t, "dequantize");
  check_tensors(&t, "qs8[2,3] -> f32[2,3]");
  const struct smr_quant quant = {scales, zero_points, count, axis};
  t.in[0].quant = &quant;
  const samara_status status = smr_check_quantize(&t.job);
  CHECK_EQ_INT(status, text == NULL ? SAMARA_OK : SAMARA_BAD_SHAPE);
  if (text != NULL) CHECK_CONTAINS(t.error.text, text);
  op_end(&t);
}

SMR_TEST(parameters) {
  const float scales[3] = {0.5f, 1.0f, 2.0f}, bad[3] = {0.5f, 0.0f, 2.0f};
  const float infinite[1] = {INFINITY}, nan[1] = {NAN}, tiny[1] = {1e-40f};
  const int32_t zeros[3] = {0, -128, 127}, far[1] = {128};
  refused(scales, zeros, 1, -1, NULL);
  refused(scales, zeros, 3, 1, NULL);
  refused(scales, zeros, 3, 0, "has 3 quantization parameters");
  refused(scales, zeros, 3, 2, "quantization parameters");
  refused(scales, zeros, 2, -1, "has 2 quantization parameters");
  refused(bad, zeros, 3, 1, "scale 0");
  refused(infinite, zeros, 1, -1, "scale inf");
  refused(nan, zeros, 1, -1, "scale");
  refused(tiny, zeros, 1, -1, "scale");
  refused(scales, far, 1, -1, "zero point 128");
}

SMR_TEST(dims) {
  struct op_test t;
  op_begin(&t, "dequantize");
  check_tensors(&t, "qs8[2,3] -> f32[3,2]");
  CHECK_EQ_INT(smr_check_quantize(&t.job), SAMARA_BAD_SHAPE);
  t.out[0].dims[0] = 2;
  t.out[0].dims[1] = 3;
  CHECK_EQ_INT(smr_check_quantize(&t.job), SAMARA_OK);
  t.in[0].quant = NULL;
  CHECK_EQ_INT(smr_check_quantize(&t.job), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(parameters); RUN(dims))
