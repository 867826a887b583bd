// SPDX-License-Identifier: Apache-2.0
// How strides become a dense tensor, a pixel stride, or a copy.
#include "base/fp.h"

#include "session/eager/eager_data.h"

#include "session/eager/eager.h"

enum layout_kind { LAYOUT_DENSE, LAYOUT_PIXELS, LAYOUT_COPY, LAYOUT_REFUSED };

// The layout of an operand for an operator that reads pixel strides. For others, strided pixels are
// copied.
static enum layout_kind layout_of(int32_t rank, const int64_t *dims, const int64_t *strides,
                                  int64_t *pixel_stride) {
  const samara_op_tensor operand = {
      .shape = dims, .strides = strides, .rank = rank, .dtype = SAMARA_FLOAT32};
  struct smr_tensor tensor, plain;
  struct smr_view view, copied;
  if (smr_eager_layout(&operand, true, &tensor, &view) != SAMARA_OK) return LAYOUT_REFUSED;
  CHECK_EQ_INT(smr_eager_layout(&operand, false, &plain, &copied), SAMARA_OK);
  *pixel_stride = tensor.pixel_stride;
  const bool dense = tensor.pixel_stride == plain.pixel_stride;
  CHECK(dense || copied.element_bytes != 0);
  if (view.element_bytes != 0) {
    CHECK(dense);
    CHECK_EQ_INT(copied.element_bytes, view.element_bytes);
    return LAYOUT_COPY;
  }
  CHECK(!dense || copied.element_bytes == 0);
  return dense ? LAYOUT_DENSE : LAYOUT_PIXELS;
}

#define LIST(...) \
  (const int64_t[]) { __VA_ARGS__ }
#define CHECK_LAYOUT(kind, rank, dims, strides, stride)                \
  do {                                                                 \
    int64_t pixel_stride = 0;                                          \
    CHECK_EQ_INT(layout_of(rank, dims, strides, &pixel_stride), kind); \
    if ((kind) != LAYOUT_REFUSED) CHECK_EQ_INT(pixel_stride, stride);  \
  } while (0)

SMR_TEST(kinds) {
  CHECK_LAYOUT(LAYOUT_DENSE, 0, NULL, NULL, 1);
  CHECK_LAYOUT(LAYOUT_DENSE, 0, NULL, LIST(7), 1);
  CHECK_LAYOUT(LAYOUT_DENSE, 3, LIST(2, 3, 4), NULL, 4);
  CHECK_LAYOUT(LAYOUT_DENSE, 3, LIST(2, 3, 4), LIST(12, 4, 1), 4);
  CHECK_LAYOUT(LAYOUT_DENSE, 3, LIST(1, 3, 1), LIST(99, 1, -5), 1);
  CHECK_LAYOUT(LAYOUT_DENSE, 3, LIST(2, 0, 4), LIST(-1, 0, 9), 4);
  CHECK_LAYOUT(LAYOUT_PIXELS, 3, LIST(2, 3, 4), LIST(18, 6, 1), 6);
  CHECK_LAYOUT(LAYOUT_PIXELS, 3, LIST(2, 1, 4), LIST(9, 77, 1), 9);
  CHECK_LAYOUT(LAYOUT_PIXELS, 2, LIST(3, 1), LIST(4, 9), 4);
  CHECK_LAYOUT(LAYOUT_COPY, 3, LIST(2, 3, 4), LIST(19, 6, 1), 4);
  CHECK_LAYOUT(LAYOUT_COPY, 3, LIST(2, 3, 4), LIST(24, 6, 2), 4);
  CHECK_LAYOUT(LAYOUT_COPY, 2, LIST(3, 4), LIST(1, 3), 4);
  CHECK_LAYOUT(LAYOUT_COPY, 2, LIST(3, 4), LIST(3, 1), 4);  // pixels overlap
  CHECK_LAYOUT(LAYOUT_COPY, 2, LIST(3, 4), LIST(0, 1), 4);
  CHECK_LAYOUT(LAYOUT_COPY, 2, LIST(3, 4), LIST(-4, 1), 4);
  CHECK_LAYOUT(LAYOUT_COPY, 1, LIST(3), LIST(2), 3);
  CHECK_LAYOUT(LAYOUT_COPY, 1, LIST(3), LIST(0), 3);
}

SMR_TEST(refused) {
  CHECK_LAYOUT(LAYOUT_REFUSED, 1, LIST(-1), NULL, 0);
  CHECK_LAYOUT(LAYOUT_REFUSED, 2, LIST(INT64_MAX, 4), NULL, 0);
  CHECK_LAYOUT(LAYOUT_REFUSED, 1, LIST(3), LIST(INT64_MIN), 0);
  CHECK_LAYOUT(LAYOUT_REFUSED, 2, LIST(2, 2), LIST(INT64_MAX / 16, INT64_MAX / 16), 0);
  CHECK_LAYOUT(LAYOUT_REFUSED, -1, NULL, NULL, 0);
  CHECK_LAYOUT(LAYOUT_REFUSED, SAMARA_MAX_RANK + 1, LIST(1), NULL, 0);
  CHECK_LAYOUT(LAYOUT_REFUSED, 1, NULL, NULL, 0);
  struct smr_tensor tensor;
  struct smr_view view;
  for (int dtype = 17; dtype < 600; dtype += 256 - 1) {
    const samara_op_tensor operand = {.dtype = (samara_dtype)dtype};
    CHECK_EQ_INT(smr_eager_layout(&operand, true, &tensor, &view), SAMARA_BAD_ARGUMENT);
  }
}

SMR_TEST(two_to_a_byte) {
  samara_op_tensor operand = {.shape = LIST(3, 3), .rank = 2, .dtype = SAMARA_INT4};
  struct smr_tensor tensor;
  struct smr_view view;
  CHECK_EQ_INT(smr_eager_layout(&operand, true, &tensor, &view), SAMARA_OK);
  CHECK_EQ_INT(tensor.size_bytes, 5);
  operand.strides = LIST(1, 3);
  CHECK_EQ_INT(smr_eager_layout(&operand, true, &tensor, &view), SAMARA_BAD_SHAPE);
}

SMR_TEST(view_of_a_copy) {
  const samara_op_tensor operand = {
      .shape = LIST(2, 1, 3), .strides = LIST(-3, 50, 2), .rank = 3, .dtype = SAMARA_INT64};
  struct smr_tensor tensor;
  struct smr_view view;
  REQUIRE(smr_eager_layout(&operand, true, &tensor, &view) == SAMARA_OK);
  CHECK_EQ_INT(tensor.size_bytes, 48);
  CHECK_EQ_INT(tensor.constant, -1);
  CHECK_EQ_INT(view.element_bytes, 8);
  CHECK_EQ_INT(view.rank, 3);
  CHECK_EQ_INT(view.stride_bytes[0], -24);
  CHECK_EQ_INT(view.stride_bytes[1], 0);
  CHECK_EQ_INT(view.stride_bytes[2], 16);
}

SMR_TEST_MAIN(RUN(kinds); RUN(refused); RUN(two_to_a_byte); RUN(view_of_a_copy))
