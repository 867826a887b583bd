// SPDX-License-Identifier: Apache-2.0
// Selection between two elements, in portable C, each operand a row or one value: the contract.
#ifndef SMR_KERNELS_VWHERE_H
#define SMR_KERNELS_VWHERE_H

#include <stddef.h>
#include <stdint.h>

/// y[i] = c[i * c_step] ? a[i * a_step] : b[i * b_step] for i < n; steps are 0 or 1. `y` overlaps
/// no operand. Element alignment; any nonzero byte of c is true.
typedef void (*smr_vwhere_ukernel)(size_t n, const uint8_t *c, size_t c_step, const void *a,
                                   size_t a_step, const void *b, size_t b_step, void *y);

/// The kernel for elements of 1, 2, 4 or 8 bytes, or NULL.
smr_vwhere_ukernel smr_vwhere_kernel(size_t element_bytes);

#endif
