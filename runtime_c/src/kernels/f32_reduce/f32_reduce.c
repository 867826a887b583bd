// SPDX-License-Identifier: Apache-2.0
// Compiles float reductions for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_reduce/f32_reduce.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"

#include <math.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_reduce/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row f32_reduce_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_reduce_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_reduce *smr_f32_reduce_config(uint32_t isa) {
  return smr_best_row(f32_reduce_rows, isa)->kernels;
}

float smr_f32_reduce_start(enum smr_f32_reduce_op op) {
  switch (op) {
    case SMR_F32_REDUCE_MAX:
      return -INFINITY;
    case SMR_F32_REDUCE_MIN:
      return INFINITY;
    case SMR_F32_REDUCE_PROD:
      return 1.0f;
    default:
      return 0.0f;
  }
}

float smr_f32_reduce_join(enum smr_f32_reduce_op op, float a, float b) {
  switch (op) {
    case SMR_F32_REDUCE_MAX:
      return a > b || a != a ? a : b;
    case SMR_F32_REDUCE_MIN:
      return a < b || a != a ? a : b;
    case SMR_F32_REDUCE_PROD:
      return a * b;
    default:
      return a + b;
  }
}
