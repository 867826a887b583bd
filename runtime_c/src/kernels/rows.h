// SPDX-License-Identifier: Apache-2.0
// The table of a kernel family, one row per instruction set, and the choice of a row.
#ifndef SMR_KERNELS_ROWS_H
#define SMR_KERNELS_ROWS_H

#include "base/isa.h"
#include "simd/common.h"

/// `kernels`, of the family's type, and the SMR_ISA_* bits that a CPU must have to run them.
struct smr_kernel_row {
  uint32_t isa;
  const void *kernels;
};

/// The first row whose instruction sets are all in `isa`. Rows are ordered best first; the last one
/// runs on every CPU that the build supports.
SMR_INLINE const struct smr_kernel_row *smr_best_row(const struct smr_kernel_row *rows,
                                                     uint32_t isa) {
  while ((rows->isa & isa) != rows->isa) rows++;
  return rows;
}

#endif
