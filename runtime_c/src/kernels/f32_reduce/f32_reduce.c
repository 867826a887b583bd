// SPDX-License-Identifier: Apache-2.0
// Dispatch of float reductions.
#include "base/fp.h"

#include "kernels/f32_reduce/f32_reduce.h"

#include "base/isa.h"
#include "kernels/f32_reduce/kernels.h"

#include <math.h>

static const struct {
  uint32_t isa;
  const struct smr_f32_reduce *table;
} f32_reduce_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_reduce_ukernels__##suffix},
#include "kernels/f32_reduce/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_reduce *smr_f32_reduce_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_reduce_rows[i].isa & isa) != f32_reduce_rows[i].isa) i++;  // the last needs nothing
  return f32_reduce_rows[i].table;
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
