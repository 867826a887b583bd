// SPDX-License-Identifier: Apache-2.0
// Products of matrices of integers and of float64, in portable C: the contract.
#ifndef SMR_KERNELS_VMATMUL_H
#define SMR_KERNELS_VMATMUL_H

#include <stddef.h>
#include <stdint.h>

/// Columns of the result that are computed together.
enum { SMR_VMATMUL_COLUMNS = 32 };

/// y[r][j] = start[j] + more[r][j] + sum over i < k of x[r][i] * w[i][j], for `rows` rows and n <=
/// SMR_VMATMUL_COLUMNS columns. Strides are in elements: x[r][i] is x[r * x_row + i * x_step] and
/// w[i][j] is w[i * w_row + j * w_step]; rows of y and `more` are `y_row` apart. Integers wrap;
/// float64 is added in the order of i. Element alignment.
struct smr_vmatmul_args {
  size_t rows, k, n;
  const void *x, *w;
  const void *start, *more;  // NULL: omitted
  void *y;
  size_t x_row, x_step, w_row, w_step, y_row;
};
typedef void (*smr_vmatmul_ukernel)(const struct smr_vmatmul_args *args);

/// The kernel for `dtype` (samara_dtype): int32, uint32, int64, uint64, float64; else NULL.
smr_vmatmul_ukernel smr_vmatmul_kernel(uint8_t dtype);

#endif
