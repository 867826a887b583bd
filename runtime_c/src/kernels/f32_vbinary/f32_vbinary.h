// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two floats, elementwise, each operand a row or one value: the contract.
#ifndef SMR_KERNELS_F32_VBINARY_H
#define SMR_KERNELS_F32_VBINARY_H

#include <stddef.h>
#include <stdint.h>

/// y[i] = f(a[i * a_step], b[i * b_step]) for i < n; steps are 0 or 1. `y` may be an operand of
/// step 1; otherwise it overlaps none. No alignment beyond that of a float, nothing outside the
/// elements is touched.
typedef void (*smr_f32_vbinary_ukernel)(size_t n, const float *a, size_t a_step, const float *b,
                                        size_t b_step, float *y);

/// The functions; functions.inc defines them in terms of a and b.
enum smr_f32_vbinary {
#define SMR_F32_BINARY(NAME, name, DTYPES, value, value_f64) SMR_F32_VBINARY_##NAME,
#include "kernels/f32_vbinary/functions.inc"

  SMR_F32_VBINARY_COUNT
#undef SMR_F32_BINARY
};

/// The best kernel for `function` among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
smr_f32_vbinary_ukernel smr_f32_vbinary_kernel(uint32_t isa, enum smr_f32_vbinary function);
/// Its name for profiles.
const char *smr_f32_vbinary_kernel_name(uint32_t isa);

#endif
