// SPDX-License-Identifier: Apache-2.0
// Gradients of activations, elementwise: the contract.
#ifndef SMR_KERNELS_F32_ACTIVATION_GRAD_H
#define SMR_KERNELS_F32_ACTIVATION_GRAD_H

#include <stddef.h>
#include <stdint.h>

/// dx[i] = dy[i] f'(v[i]) for i < n. `dx` may be `dy` or `v`; otherwise it overlaps neither.
/// `params` holds two floats a and b, always readable. No alignment beyond that of a float, nothing
/// outside the n elements is touched. Each element's bits depend on its own values and the ISA
/// only.
typedef void (*smr_f32_activation_grad_ukernel)(size_t n, const float *dy, const float *v,
                                                float *dx, const float *params);

/// The activations. v is the operand x; for RELU, SIGMOID, TANH and HARD_SIGMOID it is the result
/// y. At kinks f' is
///
///     RELU          0 where y <= 0
///     LEAKY_RELU    a where x <= 0 or NaN
///     ELU           a e^x where x <= 0
///     HARD_SIGMOID  a where 0 < y < 1, else 0
///     HARD_SWISH    0 where x <= -3, 1 where x >= 3
///     CLAMP         1 where a <= x <= b, else 0
///
/// Where f' is given as 0 or 1, dx is exactly 0 or dy, even if dy is infinite or NaN.
enum smr_f32_activation_grad {
#define SMR_F32_ACTIVATION(NAME, name) SMR_F32_ACTIVATION_GRAD_##NAME,
#include "kernels/f32_activation_grad/functions.inc"
#undef SMR_F32_ACTIVATION
  SMR_F32_ACTIVATION_GRAD_COUNT
};

/// The best kernel for `function` among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
smr_f32_activation_grad_ukernel smr_f32_activation_grad_kernel(
    uint32_t isa, enum smr_f32_activation_grad function);
/// Its name for profiles.
const char *smr_f32_activation_grad_kernel_name(uint32_t isa);

#endif
