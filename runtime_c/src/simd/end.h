// SPDX-License-Identifier: Apache-2.0
// Closes the region that a simd/<isa>_begin.h opened and takes its macros back.
#if !defined(SMR_SIMD_PLAIN)
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#undef SMR_SIMD_PLAIN
#undef SMR_SIMD_HOT
#undef SMR_SIMD_SUFFIX
#undef SMR_SIMD_ISA
#undef SMR_SIMD_NAME
#undef N
#undef VF
