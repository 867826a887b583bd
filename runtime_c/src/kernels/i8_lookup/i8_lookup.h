// SPDX-License-Identifier: Apache-2.0
// A function of one int8 value by a table of 256: the contract.
#ifndef SMR_KERNELS_I8_LOOKUP_H
#define SMR_KERNELS_I8_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

struct smr_i8_lookup {
  const char *name;  // for profiles

  /// y[i] = table[x[i] + 128]. `y` may be x; otherwise nothing overlaps, and nothing outside the
  /// elements is touched.
  void (*run)(size_t n, const int8_t *x, const int8_t table[256], int8_t *y);
};

/// The best kernel among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_lookup *smr_i8_lookup_config(uint32_t isa);

#endif
