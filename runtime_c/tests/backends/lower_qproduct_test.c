// SPDX-License-Identifier: Apache-2.0
// Launches of int8 products, against the CPU to the bit.
#include "base/fp.h"

#include "backends/one_node.h"
#include "harness.h"

static void qconv(const char *op, int64_t n, int64_t h, int64_t w, int64_t c, int64_t o, int64_t k,
                  int64_t stride, int64_t dilation, int64_t pad, int64_t groups, int packed,
                  int variant) {
  float scales[128];
  int32_t zeros[128];
  const int transposed = strcmp(op, "qconv_transpose") == 0;
  const int64_t e = (k - 1) * dilation + 1;
  const int64_t oh = transposed ? (h - 1) * stride + e - 2 * pad : (h + 2 * pad - e) / stride + 1;
  const int64_t ow = transposed ? (w - 1) * stride + e - 2 * pad : (w + 2 * pad - e) / stride + 1;
  one_begin(op);
  one_quantized(one_input(Q8, DIMS(n, h, w, c)), 0.05f, variant ? -11 : 0);
  struct one_tensor *weights = one_quantized(one_input(Q8, DIMS(o, k, k, c / groups)), 0.02f, 0);
  if (variant) one_per_channel(weights, 0, scales, zeros);
  if (packed) one_pack(weights, (uint32_t)groups, false);
  if (variant) one_fill(one_input(SAMARA_INT32, DIMS(o)), -9000.0f, 9000.0f);
  struct one_tensor *y = one_output(variant == 2 ? SAMARA_INT32 : Q8, DIMS(n, oh, ow, o));
  one_ints("strides", LIST(stride, stride));
  one_ints("dilations", LIST(dilation, dilation));
  one_ints("pads", LIST(pad, pad, pad, pad));
  if (transposed) one_ints("output_padding", LIST(0, 0));
  one_int("groups", groups);
  if (variant == 2)
    one_int("to", SAMARA_INT32);
  else
    one_requantized(y, 0.4f, 5);
  if (variant == 1) one_int("lo", 5);
  one_check(0);
}

SMR_TEST(qconv) {
  for (int packed = 0; packed < 2; packed++) {
    for (int variant = 0; variant < 3; variant++) {
      qconv("qconv", 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, packed, variant);
      qconv("qconv", 2, 5, 7, 3, 17, 1, 1, 1, 0, 1, packed, variant);
      qconv("qconv", 1, 8, 9, 3, 16, 3, 2, 1, 1, 1, packed, variant);
      qconv("qconv", 1, 7, 7, 34, 35, 3, 1, 1, 1, 1, packed, variant);
      qconv("qconv", 1, 4, 4, 300, 20, 2, 1, 1, 0, 1, packed, variant);
      qconv("qconv", 1, 6, 6, 8, 12, 3, 1, 2, 2, 4, packed, variant);
      qconv("qconv", 1, 7, 8, 33, 33, 3, 2, 1, 1, 33, packed, variant);
      qconv("qconv", 2, 6, 6, 16, 16, 5, 1, 1, 2, 16, packed, variant);
      // Outputs enough for tiles of 4 x 4.
      qconv("qconv", 2, 15, 17, 8, 18, 3, 1, 1, 1, 1, packed, variant);
      qconv("qconv", 1, 19, 23, 6, 21, 2, 1, 1, 0, 3, packed, variant);
      if (packed) continue;
      qconv("qconv_transpose", 1, 5, 4, 6, 9, 3, 2, 1, 1, 3, 0, variant);
      qconv("qconv_transpose", 2, 3, 4, 5, 17, 2, 2, 1, 0, 1, 0, variant);
      qconv("qconv_transpose", 1, 11, 10, 5, 21, 3, 2, 1, 1, 1, 0, variant);
    }
  }
}

static void qmatmul(int32_t rank_x, const int64_t *x, int32_t rank_w, const int64_t *w,
                    int32_t rank_y, const int64_t *y, int turned, int packed, int variant) {
  float scales[128];
  int32_t zeros[128];
  one_begin("qmatmul");
  one_quantized(one_input(Q8, rank_x, x), 0.05f, 7);
  struct one_tensor *weights = one_quantized(one_input(Q8, rank_w, w), 0.02f, 0);
  if (variant) one_per_channel(weights, rank_w - (turned & 2 ? 2 : 1), scales, zeros);
  if (packed) one_pack(weights, 1, (turned & 2) == 0);
  if (variant) one_fill(one_input(SAMARA_INT32, DIMS(y[rank_y - 1])), -900.0f, 900.0f);
  struct one_tensor *result = one_output(variant == 2 ? SAMARA_INT32 : Q8, rank_y, y);
  one_int("transpose_x", turned & 1);
  one_int("transpose_w", turned >> 1);
  if (variant == 2)
    one_int("to", SAMARA_INT32);
  else
    one_requantized(result, 0.3f, -4);
  one_check(0);
}

SMR_TEST(qmatmul) {
  for (int variant = 0; variant < 3; variant++) {
    for (int packed = 0; packed < 2; packed++) {
      qmatmul(DIMS(7, 33), DIMS(33, 20), DIMS(7, 20), 0, packed, variant);
      qmatmul(DIMS(1, 600), DIMS(17, 600), DIMS(1, 17), 2, packed, variant);
      qmatmul(DIMS(9, 6), DIMS(9, 17), DIMS(6, 17), 1, packed, variant);
      qmatmul(DIMS(2, 3, 9), DIMS(9, 5), DIMS(2, 3, 5), 0, packed, variant);
      qmatmul(DIMS(3, 35, 20), DIMS(20, 79), DIMS(3, 35, 79), 0, packed, variant);
      qmatmul(DIMS(10, 131), DIMS(10, 79), DIMS(131, 79), 1, packed, variant);
    }
    qmatmul(DIMS(2, 3, 9), DIMS(2, 9, 5), DIMS(2, 3, 5), 0, 0, variant);
    qmatmul(DIMS(4, 9), DIMS(3, 17, 9), DIMS(3, 4, 17), 2, 0, variant);
  }
}

SMR_TEST_MAIN(RUN(qconv); RUN(qmatmul))
