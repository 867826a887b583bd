// SPDX-License-Identifier: Apache-2.0
// Functions of one float, elementwise: the contract.
#ifndef SMR_KERNELS_F32_VUNARY_H
#define SMR_KERNELS_F32_VUNARY_H

#include <stddef.h>
#include <stdint.h>

/// y[i] = f(x[i]) for i < n. `y` may be `x`; otherwise they do not overlap. No alignment beyond
/// that of a float, nothing outside the n elements is touched. `params` holds two floats, always
/// readable. Each element's bits depend on its own value and the ISA only, not on n or its
/// position.
typedef void (*smr_f32_vunary_ukernel)(size_t n, const float *x, float *y, const float *params);

/// The functions; functions.inc defines them in terms of x, with params a and b. All return NaN for
/// NaN.
enum smr_f32_vunary {
#define SMR_F32_FUNCTION(NAME, name, LENGTH, value, value_f64) SMR_F32_##NAME,
#include "kernels/f32_vunary/functions.inc"

  SMR_F32_VUNARY_COUNT
#undef SMR_F32_FUNCTION
};

/// The best kernel for `function` among the instruction sets `isa` (SMR_ISA_* bits); NULL if this
/// build lacks it (part f32_vunary_neg + function).
smr_f32_vunary_ukernel smr_f32_vunary_kernel(uint32_t isa, enum smr_f32_vunary function);
/// Its name for profiles, e.g. "f32_vunary__avx2".
const char *smr_f32_vunary_kernel_name(uint32_t isa, enum smr_f32_vunary function);

#endif
