// SPDX-License-Identifier: Apache-2.0
// Transposes sixteen rows into a weight panel, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/pack/kernels.h"

void smr_pack_f32_transpose_ukernel__scalar(size_t k, const float *src, size_t n_stride,
                                            float *dst) {
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < SMR_PANEL; j++) dst[i * SMR_PANEL + j] = src[j * n_stride + i];
  }
}
