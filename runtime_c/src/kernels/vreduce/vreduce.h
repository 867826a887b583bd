// SPDX-License-Identifier: Apache-2.0
// Sums, products and extremes of integers, bool and float64 in portable C: the contract.
#ifndef SMR_KERNELS_VREDUCE_H
#define SMR_KERNELS_VREDUCE_H

#include <stddef.h>
#include <stdint.h>

/// What elements are folded into: `f` for float64, else the value extended to 64 bits by its sign
/// (uint64: its bits).
union smr_vreduce_total {
  uint64_t u;
  double f;
};

enum smr_vreduce_op {
  SMR_VREDUCE_SUM,
  SMR_VREDUCE_MAX,
  SMR_VREDUCE_MIN,
  SMR_VREDUCE_PROD,
  SMR_VREDUCE_COUNT
};

/// totals[j] = totals[j] op x[j] op x[stride + j] op ... over `n` rows, for j < count. Sums and
/// products of integers wrap in 64 bits; NaN wins in extremes; any nonzero bool byte is 1. Element
/// alignment.
typedef void (*smr_vreduce_ukernel)(size_t n, size_t stride, size_t count, const void *x,
                                    union smr_vreduce_total *totals);

/// The kernel for `op` on `dtype` (samara_dtype), or NULL where there is none.
smr_vreduce_ukernel smr_vreduce_kernel(enum smr_vreduce_op op, uint8_t dtype);

/// What no elements at all give.
union smr_vreduce_total smr_vreduce_start(enum smr_vreduce_op op, uint8_t dtype);

/// Store `total` as element `i` of `y`; with `divisor` != 0 a sum divided by it, integers towards
/// zero.
void smr_vreduce_store(uint8_t dtype, union smr_vreduce_total total, uint64_t divisor, void *y,
                       size_t i);

#endif
