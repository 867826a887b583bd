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

/// MIN and MAX: NaN if either is. PRELU: a >= 0 ? a : a b.
#define SMR_F32_VBINARY_MAP(X) \
  X(ADD, add) X(SUB, sub) X(MUL, mul) X(DIV, div) X(MIN, min) X(MAX, max) X(PRELU, prelu)

enum smr_f32_vbinary {
#define SMR_F32_VBINARY_ENUM(NAME, name) SMR_F32_VBINARY_##NAME,
  SMR_F32_VBINARY_MAP(SMR_F32_VBINARY_ENUM) SMR_F32_VBINARY_COUNT
#undef SMR_F32_VBINARY_ENUM
};

/// The best kernel for `function` among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
smr_f32_vbinary_ukernel smr_f32_vbinary_kernel(uint32_t isa, enum smr_f32_vbinary function);
/// Its name for profiles.
const char *smr_f32_vbinary_kernel_name(uint32_t isa);

#endif
