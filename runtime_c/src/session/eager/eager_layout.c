// SPDX-License-Identifier: Apache-2.0
// Memory layout of an operand of a prepared operator: dense, with a pixel stride, or to be copied.
#include "base/fp.h"

#include "session/eager/eager.h"

#include "base/checked.h"

// Whether the strides are dense except for a larger distance between pixels, which is written to
// *pixel_stride. Strides of axes of size 1 do not matter.
static bool eager_pixel_stride(const samara_op_tensor *operand, int64_t *pixel_stride) {
  const int64_t *dims = operand->shape, *strides = operand->strides;
  const uint32_t rank = (uint32_t)operand->rank;
  *pixel_stride = rank != 0 ? dims[rank - 1] : 1;
  int64_t pixels = 1;
  bool found = false;
  if (rank == 0) return true;
  if (dims[rank - 1] != 1 && strides[rank - 1] != 1) return false;
  for (uint32_t i = rank - 1; i-- > 0; pixels *= dims[i]) {
    if (dims[i] == 1) continue;
    if (!found) {
      if (strides[i] % pixels != 0 || strides[i] / pixels < *pixel_stride) return false;
      *pixel_stride = strides[i] / pixels;
      found = true;
    }
    int64_t expected;
    if (!smr_mul_i64(pixels, *pixel_stride, &expected) || strides[i] != expected) return false;
  }
  return true;
}

static bool eager_fits(const samara_op_tensor *operand, const struct smr_tensor *tensor) {
  const int64_t most = PTRDIFF_MAX / 2 / (int64_t)smr_dtype_bytes(tensor->dtype);
  int64_t reach = 0;
  for (uint32_t i = 0; i < tensor->rank; i++) {
    const int64_t stride = operand->strides[i], dim = operand->shape[i];
    int64_t step;
    if (dim <= 1) continue;
    if (stride < -most || stride > most ||
        !smr_mul_i64(stride < 0 ? -stride : stride, dim, &step) ||
        !smr_add_i64(reach, step, &reach) || reach > most)
      return false;
  }
  return true;
}

samara_status smr_eager_layout(const samara_op_tensor *operand, bool strided,
                               struct smr_tensor *tensor, struct smr_view *view) {
  *view = (struct smr_view){.element_bytes = 0};
  *tensor = (struct smr_tensor){.constant = -1, .dtype = (uint8_t)operand->dtype, .name = ""};
  const size_t element = smr_dtype_bytes(tensor->dtype);
  if (element == 0 || (uint32_t)operand->dtype > UINT8_MAX || operand->rank < 0 ||
      operand->rank > SAMARA_MAX_RANK || (operand->rank != 0 && operand->shape == NULL))
    return SAMARA_BAD_ARGUMENT;
  tensor->rank = (uint8_t)operand->rank;
  tensor->size_bytes = element;
  bool empty = false;
  for (uint32_t i = 0; i < tensor->rank; i++) {
    const int64_t dim = tensor->dims[i] = operand->shape[i];
    if (dim < 0 || (uint64_t)dim > SIZE_MAX ||
        !smr_mul_size(tensor->size_bytes, dim != 0 ? (size_t)dim : 1, &tensor->size_bytes) ||
        tensor->size_bytes > PTRDIFF_MAX / 2)
      return SAMARA_BAD_SHAPE;
    empty = empty || dim == 0;
  }
  tensor->size_bytes = empty ? 0 : smr_packed_bytes(tensor->dtype, tensor->size_bytes);
  tensor->pixel_stride = tensor->rank != 0 ? tensor->dims[tensor->rank - 1u] : 1;
  if (operand->strides == NULL || empty) return SAMARA_OK;
  if (!eager_fits(operand, tensor)) return SAMARA_BAD_SHAPE;
  int64_t pixel_stride;
  const bool pixels = eager_pixel_stride(operand, &pixel_stride);
  if (pixels && (strided || pixel_stride == tensor->pixel_stride)) {
    tensor->pixel_stride = pixel_stride;
    return SAMARA_OK;
  }
  if (smr_dtype_packed(tensor->dtype)) return SAMARA_BAD_SHAPE;  // half a byte has no address
  view->element_bytes = element;
  view->rank = tensor->rank;
  for (uint32_t i = 0; i < tensor->rank; i++) {
    view->dims[i] = (size_t)tensor->dims[i];
    if (tensor->dims[i] > 1)
      view->stride_bytes[i] = (ptrdiff_t)operand->strides[i] * (ptrdiff_t)element;
  }
  return SAMARA_OK;
}
