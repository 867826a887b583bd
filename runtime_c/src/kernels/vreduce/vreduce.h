// SPDX-License-Identifier: Apache-2.0
// Sums, products, maxima and minima of integers, bool and float64 in portable C: the contract.
#ifndef SMR_KERNELS_VREDUCE_H
#define SMR_KERNELS_VREDUCE_H

#include <stddef.h>
#include <stdint.h>

/// The running result: `f` for float64, otherwise the value sign-extended to 64 bits (uint64: its
/// bits).
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
/// products of integers wrap in 64 bits. Maxima and minima are NaN if an element is. Any nonzero
/// bool byte is 1. Element alignment.
typedef void (*smr_vreduce_ukernel)(size_t n, size_t stride, size_t count, const void *x,
                                    union smr_vreduce_total *totals);

/// The kernel for `op` on `dtype` (samara_dtype), or NULL where there is none.
smr_vreduce_ukernel smr_vreduce_kernel(enum smr_vreduce_op op, uint8_t dtype);

/// The result of reducing no elements.
union smr_vreduce_total smr_vreduce_start(enum smr_vreduce_op op, uint8_t dtype);

/// Store `total` as element `i` of `y`. With `divisor` != 0, store the sum divided by it; integers
/// truncate.
void smr_vreduce_store(uint8_t dtype, union smr_vreduce_total total, uint64_t divisor, void *y,
                       size_t i);

#endif
