// SPDX-License-Identifier: Apache-2.0
// The table of a family's kernels, a row for each instruction set, and the choice of a row.
#ifndef SMR_KERNELS_ROWS_H
#define SMR_KERNELS_ROWS_H

#include "base/isa.h"
#include "simd/common.h"

/// What a CPU must have (SMR_ISA_* bits) to run `kernels`, whose type is the family's.
struct smr_kernel_row {
  uint32_t isa;
  const void *kernels;
};

/// The first row that `isa` has all instruction sets of. Rows stand best first, and the last one
/// needs no more than every CPU of the build has.
SMR_INLINE const struct smr_kernel_row *smr_best_row(const struct smr_kernel_row *rows,
                                                     uint32_t isa) {
  while ((rows->isa & isa) != rows->isa) rows++;
  return rows;
}

#endif
