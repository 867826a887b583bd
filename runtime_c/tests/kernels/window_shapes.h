// SPDX-License-Identifier: Apache-2.0
// What the tests of window kernels share: arguments that are copied from a shape, and counts.
#ifndef SMR_TESTS_WINDOW_SHAPES_H
#define SMR_TESTS_WINDOW_SHAPES_H

#include "kernels/kernel_data.h"

/// Initialisers of a kernel's arguments, from fields of the same names of a shape.
#define WINDOW_ARGS(s)                                                                   \
  .batch = (s)->batch, .in_h = (s)->in_h, .in_w = (s)->in_w, .kernel_h = (s)->kernel_h,  \
  .kernel_w = (s)->kernel_w, .stride_h = (s)->stride_h, .stride_w = (s)->stride_w,       \
  .dilation_h = (s)->dilation_h, .dilation_w = (s)->dilation_w, .pad_top = (s)->pad_top, \
  .pad_left = (s)->pad_left

/// How many windows there are along an axis; `pad` is that of both ends.
static inline size_t window_count(size_t in, size_t pad, size_t kernel, size_t stride,
                                  size_t dilation) {
  return (in + pad - (kernel - 1) * dilation - 1) / stride + 1;
}

/// Instruction sets that choose different float kernels.
static const uint32_t window_ceilings[] = {
    SMR_ISA_NONE, SMR_ISA_AVX2,      SMR_ISA_AVX2 | SMR_ISA_AVX512,
    SMR_ISA_NEON, SMR_ISA_WASM_SIMD, SMR_ISA_RVV};
enum { WINDOW_CEILINGS = sizeof window_ceilings / sizeof *window_ceilings };

#endif
