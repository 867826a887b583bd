// SPDX-License-Identifier: Apache-2.0
// Functions of one double, elementwise, in portable C: the contract.
#ifndef SMR_KERNELS_F64_VUNARY_H
#define SMR_KERNELS_F64_VUNARY_H

#include "kernels/f32_vunary/f32_vunary.h"

/// y[i] = f(x[i]) for i < n. `y` may be `x`; otherwise they do not overlap. Element alignment.
/// `params` holds two floats, as for float32.
typedef void (*smr_f64_vunary_ukernel)(size_t n, const void *x, void *y, const float *params);

/// The kernel for `function`, defined as for float32; never NULL.
smr_f64_vunary_ukernel smr_f64_vunary_kernel(enum smr_f32_vunary function);

#endif
