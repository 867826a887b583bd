// SPDX-License-Identifier: Apache-2.0
// softmax on int8, in integers: the contract.
//
//   e = table[max - x], f = 2^55 / sum of e (the sum at least 1), y = min((e f + 2^46) >> 47, 255)
//   - 128
//
// Sums, products and the one division per group are of 64 bits, modulo 2^64 whatever the table
// holds; all kernels give the same bits. `y` may be x; otherwise nothing overlaps. Nothing outside
// the elements is touched.
#ifndef SMR_KERNELS_I8_SOFTMAX_H
#define SMR_KERNELS_I8_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

enum {
  SMR_I8_SOFTMAX_COLUMNS = 256,
  SMR_I8_SOFTMAX_SHORT = 256,  // longer rows look results up
  SMR_I8_SOFTMAX_FEW = 32,     // up to here vectors are not faster
};

struct smr_i8_softmax {
  const char *name;  // for profiles

  /// One group of n >= 1 adjacent elements.
  void (*row)(size_t n, const int8_t *x, const uint32_t table[256], int8_t *y);

  /// `columns` <= SMR_I8_SOFTMAX_COLUMNS groups side by side: group j is the `rows` >= 1 elements
  /// x[j], x[stride + j], ...
  void (*columns)(size_t rows, size_t columns, size_t stride, const int8_t *x,
                  const uint32_t table[256], int8_t *y);
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_softmax *smr_i8_softmax_config(uint32_t isa);

#endif
