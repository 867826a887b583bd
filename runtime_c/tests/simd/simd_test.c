// SPDX-License-Identifier: Apache-2.0
// Tests every helper of the vector vocabulary on every ISA this machine has, side by side in one
// translation unit.
#include "base/fp.h"

#include "simd/common.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

static const float simd_values[] = {
    0.0f,       -0.0f,       0.5f,       -0.5f,       1.0f,        -1.0f,  1.5f,
    2.0f,       2.5f,        -2.5f,      3.5f,        0.49999997f, 1e-40f, -1e-40f,
    8388607.5f, -8388607.5f, 8388609.0f, 16777217.0f, 1e30f,       -1e30f, 3.4e38f,
    INFINITY,   -INFINITY,   NAN,        1e-20f,      100.5f,      101.0f};
enum { SIMD_VALUES = sizeof simd_values / sizeof *simd_values };

static float simd_neg(float x) { return -x; }
static float simd_add(float a, float b) { return a + b; }
static float simd_sub(float a, float b) { return a - b; }
static float simd_mul(float a, float b) { return a * b; }
static float simd_div(float a, float b) { return a / b; }
static float simd_clamp(float a, float b) {
  (void)a;
  return b < -1.5f ? -1.5f : b > 2.0f ? 2.0f : b;
}
static float simd_lt(float a, float b) { return a < b ? 1.0f : 2.0f; }
static float simd_le(float a, float b) { return a <= b ? 1.0f : 2.0f; }
static float simd_gt(float a, float b) { return a > b ? 1.0f : 2.0f; }
static float simd_ge(float a, float b) { return a >= b ? 1.0f : 2.0f; }
static float simd_eq(float a, float b) { return a == b ? 1.0f : 2.0f; }
static float simd_ne(float a, float b) { return a != b ? 1.0f : 2.0f; }
static float simd_masks(float a, float b) { return (a < b && !(b == 2.0f)) || a > 100.0f ? a : b; }

#include "simd/scalar_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#include "simd/avx512_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#include "simd/avx512vnni_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#include "simd/avx512bf16_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#include "simd/amxint8_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#endif
#if SMR_ARCH_AARCH64
#include "simd/neon_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#include "simd/neon_fp16_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#include "simd/neon_dot_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#include "simd/neon_i8mm_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#include "simd/neon_bf16_begin.h"
#include "simd/simd_body.h"
#include "simd/end.h"
#endif
#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#include "simd/simd_body.h"
#include "simd/v128_test.h"
#include "simd/end.h"
#endif

static int simd_have(uint32_t isa, const char *name) {
  if ((smr_cpu_isa() & isa) == isa) return 1;
  fprintf(stderr, "NOT RUN: simd %s (this CPU lacks it)\n", name);
  return 0;
}

SMR_TEST(vocabulary) {
  smr_check_vocabulary_scalar();
#if SMR_ARCH_X86_64
  if (simd_have(SMR_ISA_AVX2, "avx2")) smr_check_vocabulary_avx2();
  if (simd_have(SMR_ISA_AVX512, "avx512")) smr_check_vocabulary_avx512();
  if (simd_have(SMR_ISA_AVX512_VNNI, "avx512-vnni")) smr_check_vocabulary_avx512vnni();
  if (simd_have(SMR_ISA_AVX512_BF16, "avx512-bf16")) smr_check_vocabulary_avx512bf16();
  if (simd_have(SMR_ISA_AMX_INT8, "amx-int8")) smr_check_vocabulary_amxint8();
#endif
#if SMR_ARCH_AARCH64
  if (simd_have(SMR_ISA_NEON, "neon")) smr_check_vocabulary_neon();
  if (simd_have(SMR_ISA_NEON_FP16, "neon-fp16")) smr_check_vocabulary_neon_fp16();
  if (simd_have(SMR_ISA_NEON_DOT, "neon-dot")) smr_check_vocabulary_neon_dot();
  if (simd_have(SMR_ISA_NEON_I8MM, "neon-i8mm")) smr_check_vocabulary_neon_i8mm();
  if (simd_have(SMR_ISA_NEON_BF16, "neon-bf16")) smr_check_vocabulary_neon_bf16();
#endif
#if SMR_ARCH_V128
  smr_check_vocabulary_v128();
  smr_check_bytes_v128();
#endif
  (void)simd_have;
}

SMR_TEST_MAIN(RUN(vocabulary))
