// SPDX-License-Identifier: Apache-2.0
// Functions of two elements of any dtype, in portable C, each operand a row or one value: the
// contract.
#ifndef SMR_KERNELS_VBINARY_H
#define SMR_KERNELS_VBINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Elements per block. Loops of constant length over arrays that do not overlap are vectorized by
/// all compilers.
enum { SMR_VBINARY_BLOCK = 64 };

/// y[i] = f(a[i], b[i]) for n elements, block by block. Functions with short code always compute
/// whole blocks. After each block, a and b advance by `a_next` and `b_next` elements: a block, or
/// 0. `y` may be an advancing operand of the same element size; otherwise it overlaps none. Element
/// alignment.
typedef void (*smr_vbinary_blocks)(size_t n, const void *a, size_t a_next, const void *b,
                                   size_t b_next, void *y);

struct smr_vbinary_kernel {
  smr_vbinary_blocks blocks;
  uint8_t bytes, out_bytes;  // per element
};

/// First the functions of f32_vbinary, in their order; here they exist for float64, and for
/// integers if the operator takes these. Results have the operands' dtype, except EQ, LT, LE, which
/// give bool. Integers wrap.
///   DIV truncates; MOD has the sign of the divisor, FMOD of the dividend; with a divisor 0
///   integers give 0 (the caller checks for it first). POW of integers with a negative exponent:
///   1 for base 1, +-1 for -1, else 0. SHL, SHR by the width or more: all bits are shifted out.
///   AND, OR, XOR take bools (any nonzero byte is true), the BIT_ ones integers. MIN and MAX of
///   floats return NaN if either operand is NaN.
enum smr_vbinary {
#define SMR_F32_BINARY(NAME, name, DTYPES, value, value_f64) SMR_VBINARY_##NAME,
#include "kernels/f32_vbinary/functions.inc"
#undef SMR_F32_BINARY

  SMR_VBINARY_MOD,
  SMR_VBINARY_FMOD,
  SMR_VBINARY_POW,
  SMR_VBINARY_EQ,
  SMR_VBINARY_LT,
  SMR_VBINARY_LE,
  SMR_VBINARY_ATAN2,
  SMR_VBINARY_AND,
  SMR_VBINARY_OR,
  SMR_VBINARY_XOR,
  SMR_VBINARY_BIT_AND,
  SMR_VBINARY_BIT_OR,
  SMR_VBINARY_BIT_XOR,
  SMR_VBINARY_SHL,
  SMR_VBINARY_SHR,
  SMR_VBINARY_COUNT
};

/// The kernel for `function` on `dtype` (samara_dtype). `blocks` is NULL if there is none: for
/// float16, and for float32 functions that f32_vbinary provides.
struct smr_vbinary_kernel smr_vbinary_kernel(enum smr_vbinary function, uint8_t dtype);

/// y[i] = f(a[i * a_step], b[i * b_step]) for i < n; steps are 0 or 1. `y` may be an operand of
/// step 1 and of its own element size; otherwise it overlaps none. Element alignment.
void smr_vbinary_run(const struct smr_vbinary_kernel *kernel, size_t n, const void *a,
                     size_t a_step, const void *b, size_t b_step, void *y);

/// Whether one of n integers of `dtype` is 0. Element alignment.
bool smr_vbinary_has_zero(uint8_t dtype, size_t n, const void *b);

#endif
