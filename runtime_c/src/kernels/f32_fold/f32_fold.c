// SPDX-License-Identifier: Apache-2.0
// Compiles folds for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_fold/f32_fold.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_fold/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct {
  uint32_t isa;
  smr_f32_fold_ukernel kernel;
} f32_fold_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, smr_f32_fold_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

smr_f32_fold_ukernel smr_f32_fold_kernel(uint32_t isa) {
  size_t i = 0;
  while ((f32_fold_rows[i].isa & isa) != f32_fold_rows[i].isa) i++;  // the last row needs nothing
  return f32_fold_rows[i].kernel;
}
