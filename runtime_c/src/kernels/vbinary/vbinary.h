// SPDX-License-Identifier: Apache-2.0
// Functions of two elements of any dtype, in portable C, each operand a row or one value: the
// contract.
#ifndef SMR_KERNELS_VBINARY_H
#define SMR_KERNELS_VBINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Elements of a block. Loops of a constant length, without any overlap to think of, are what
/// compilers turn into vector code everywhere.
enum { SMR_VBINARY_BLOCK = 64 };

/// y[i] = f(a[i], b[i]), block by block, for n elements; functions with a short way to each result
/// compute whole blocks whatever n is. From block to block a and b move by `a_next` and `b_next`
/// elements: a block's, or none. `y` may be an operand of its own element size that moves;
/// otherwise it overlaps none. Element alignment.
typedef void (*smr_vbinary_blocks)(size_t n, const void *a, size_t a_next, const void *b,
                                   size_t b_next, void *y);

struct smr_vbinary_kernel {
  smr_vbinary_blocks blocks;
  uint8_t bytes, out_bytes;  // of an element
};

/// First the functions of f32_vbinary, in their order; they have float64 here, and integers where
/// the operator has. Results have the operands' dtype but for EQ, LT, LE, which give bool. Integers
/// wrap.
///   DIV truncates; MOD has the sign of the divisor, FMOD of the dividend; with a divisor 0
///   integers give 0 (the caller looks for them first). POW of integers with a negative exponent: 1
///   for base 1, +-1 for -1, else 0. SHL, SHR by the width or more: all bits out. AND, OR, XOR take
///   bools (any nonzero byte is true), the BIT_ ones integers. MIN and MAX of floats: NaN wins.
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

/// The kernel for `function` on `dtype` (samara_dtype). `blocks` is NULL where there is none:
/// float16, and what f32_vbinary has for float32.
struct smr_vbinary_kernel smr_vbinary_kernel(enum smr_vbinary function, uint8_t dtype);

/// y[i] = f(a[i * a_step], b[i * b_step]) for i < n; steps are 0 or 1. `y` may be an operand of
/// step 1 and of its own element size; otherwise it overlaps none. Element alignment.
void smr_vbinary_run(const struct smr_vbinary_kernel *kernel, size_t n, const void *a,
                     size_t a_step, const void *b, size_t b_step, void *y);

/// Whether one of n integers of `dtype` is 0. Element alignment.
bool smr_vbinary_has_zero(uint8_t dtype, size_t n, const void *b);

#endif
