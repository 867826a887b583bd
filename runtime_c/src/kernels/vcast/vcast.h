// SPDX-License-Identifier: Apache-2.0
// Conversion between dtypes, elementwise, in portable C: the contract.
#ifndef SMR_KERNELS_VCAST_H
#define SMR_KERNELS_VCAST_H

#include <stddef.h>
#include <stdint.h>

#include "base/parts.h"

/// y[i] = x[i] converted, for i < n. `y` may be `x` if element sizes agree. Element alignment.
typedef void (*smr_vcast_ukernel)(size_t n, const void *x, void *y);

/// The kernel between two of float32, int8, uint8, int32, int64 and bool (samara_dtype), or between
/// float32 and bfloat16. NULL for other pairs, which vcast_wide.h converts.
///
/// Float to integer truncates and saturates; NaN gives 0. Integer to narrower integer wraps. To
/// float: nearest, ties to even. To bool: not equal to 0; from bool: 0 or 1.
smr_vcast_ukernel smr_vcast_kernel(uint8_t from, uint8_t to);

#endif
