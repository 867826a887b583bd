// SPDX-License-Identifier: Apache-2.0
// Choice between two elements in portable C.
#include "base/fp.h"

#include "kernels/vwhere/vwhere.h"

#define VWHERE(name, T)                                                                  \
  static void vwhere_##name(size_t n, const uint8_t *c, size_t c_step, const void *a_,   \
                            size_t a_step, const void *b_, size_t b_step, void *y_) {    \
    const T *a = (const T *)a_, *b = (const T *)b_;                                      \
    T *y = (T *)y_;                                                                      \
    for (size_t i = 0; i < n; i++) y[i] = c[i * c_step] ? a[i * a_step] : b[i * b_step]; \
  }
VWHERE(8, uint8_t)
VWHERE(16, uint16_t)
VWHERE(32, uint32_t)
VWHERE(64, uint64_t)
#undef VWHERE

smr_vwhere_ukernel smr_vwhere_kernel(size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return vwhere_8;
    case 2:
      return vwhere_16;
    case 4:
      return vwhere_32;
    case 8:
      return vwhere_64;
    default:
      return NULL;
  }
}
