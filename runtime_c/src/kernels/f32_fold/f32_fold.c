// SPDX-License-Identifier: Apache-2.0
// Dispatch of folds.
#include "base/fp.h"

#include "kernels/f32_fold/f32_fold.h"

#include "base/isa.h"
#include "kernels/f32_fold/kernels.h"

static const struct {
  uint32_t isa;
  smr_f32_fold_ukernel kernel;
} f32_fold_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, smr_f32_fold_ukernel__##suffix},
#include "kernels/f32_fold/kernels.inc"
#undef SMR_UKERNEL
};

smr_f32_fold_ukernel smr_f32_fold_kernel(uint32_t isa) {
  size_t i = 0;
  while ((f32_fold_rows[i].isa & isa) != f32_fold_rows[i].isa) i++;  // the last row needs nothing
  return f32_fold_rows[i].kernel;
}
