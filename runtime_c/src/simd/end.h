// SPDX-License-Identifier: Apache-2.0
// Closes the region that a simd/<isa>_begin.h opened and undefines its macros. SMR_SIMD_HOT stays
// defined for the next region of a list of kernels.
#if !defined(SMR_SIMD_PLAIN)
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#undef SMR_SIMD_PLAIN
#if !defined(SMR_SIMD_BODY)
#undef SMR_SIMD_HOT
#endif
#undef SMR_SIMD_SUFFIX
#undef SMR_SIMD_ISA
#undef SMR_SIMD_NAME
#undef SMR_SIMD_AMXINT8
#undef SMR_SIMD_AVX2
#undef SMR_SIMD_AVX512
#undef SMR_SIMD_AVX512BF16
#undef SMR_SIMD_AVX512VNNI
#undef SMR_SIMD_NEON
#undef SMR_SIMD_NEON_BF16
#undef SMR_SIMD_NEON_DOT
#undef SMR_SIMD_NEON_FP16
#undef SMR_SIMD_NEON_I8MM
#undef SMR_SIMD_SCALAR
#undef SMR_SIMD_V128
#undef SMR_SIMD_V128_DOT
#undef SMR_SIMD_RELAXED
#undef SMR_SIMD_WASM
#undef N
#undef VF
