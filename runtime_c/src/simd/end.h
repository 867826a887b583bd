// SPDX-License-Identifier: Apache-2.0
// Closes the region that a simd/<isa>_begin.h opened and takes its macros back. SMR_SIMD_HOT stays
// for the next region of a list of kernels.
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
#undef N
#undef VF
