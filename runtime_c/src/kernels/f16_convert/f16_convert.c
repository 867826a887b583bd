// SPDX-License-Identifier: Apache-2.0
// Compiles the conversions between float16 and float32 for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f16_convert/f16_convert.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f16_convert/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct f16_convert_row {
  uint32_t isa;
  smr_f16_to_f32_ukernel widen;
  smr_f32_to_f16_ukernel narrow;
} f16_convert_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) \
  {isa, smr_f16_to_f32_loop_##suffix, smr_f32_to_f16_loop_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

static const struct f16_convert_row *f16_convert_find(uint32_t isa) {
  size_t i = 0;
  while ((f16_convert_rows[i].isa & isa) != f16_convert_rows[i].isa) i++;  // the last needs nothing
  return &f16_convert_rows[i];
}

smr_f16_to_f32_ukernel smr_f16_to_f32_kernel(uint32_t isa) {
  return SMR_HAS(type_float16) ? f16_convert_find(isa)->widen : NULL;
}

smr_f32_to_f16_ukernel smr_f32_to_f16_kernel(uint32_t isa) {
  return SMR_HAS(type_float16) ? f16_convert_find(isa)->narrow : NULL;
}
