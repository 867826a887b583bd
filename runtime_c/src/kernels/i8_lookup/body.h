// SPDX-License-Identifier: Apache-2.0
// Selects the lookups of the instruction set.
#if VF == 16
#include "kernels/i8_lookup/avx512.h"
#elif VF == 8
#include "kernels/i8_lookup/avx2.h"
#elif defined(SMR_SIMD_NEON)
#include "kernels/i8_lookup/neon.h"
#elif defined(SMR_SIMD_WASM)
#include "kernels/i8_lookup/wasm.h"
#else
#include "kernels/i8_lookup/scalar.h"
#endif

static const struct smr_i8_lookup N(i8_lookup_kernels) = {.name = "i8_lookup__" SMR_SIMD_NAME,
                                                          .run = N(i8_lookup)};
