// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_I8_GEMM_KERNELS_H
#define SMR_KERNELS_I8_GEMM_KERNELS_H

#include "base/isa.h"
#include "kernels/i8_gemm/i8_gemm.h"

// Where core.h keeps rows of A for a tile: long enough to make the fixed costs of a chunk small,
// short enough for all rows to leave half of a small L1 cache to the weights; the pitch puts them
// into different sets of it.
enum { SMR_I8_GEMM_STAGE_BYTES = 2048, SMR_I8_GEMM_PITCH_BYTES = 2048 + 64 };

// What a tile needs to write int8 itself, from its first column on.
struct smr_i8_gemm_direct {
  const float *multiplier;
  int8_t *out;
  size_t out_stride;
  float hi;  // before the zero point is added
  int32_t lo, zero;
};

#define SMR_I8_GEMM_DECLARE(name)                                                        \
  void smr_i8_gemm_ukernel_##name(                                                       \
      size_t rows, size_t columns, const int8_t *a, const int8_t *const *indirect,       \
      const int8_t *w, const struct smr_i8_gemm_columns *arrays, const float *row_scale, \
      void *out, const struct smr_i8_gemm_params *params);
#define SMR_UKERNEL(isa, suffix, mr, nr, a_offset) \
  SMR_I8_GEMM_DECLARE(mr##x##nr##__##suffix)       \
  SMR_I8_GEMM_DECLARE(gemv__##suffix)
#include "kernels/i8_gemm/kernels.inc"
#undef SMR_UKERNEL
#undef SMR_I8_GEMM_DECLARE

#endif
