// SPDX-License-Identifier: Apache-2.0
// The instruction sets of the running CPU, and the user's ceiling.
#ifndef SMR_BASE_ISA_H
#define SMR_BASE_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64)
#define SMR_ARCH_X86_64 1
#else
#define SMR_ARCH_X86_64 0
#endif
#if defined(__aarch64__) || defined(_M_ARM64)
#define SMR_ARCH_AARCH64 1
#else
#define SMR_ARCH_AARCH64 0
#endif
// Known at compile time: 128-bit vectors, with the same kernels for both (simd/v128_begin.h).
#if defined(__wasm_simd128__)
#define SMR_ARCH_WASM_SIMD 1
#else
#define SMR_ARCH_WASM_SIMD 0
#endif
// WebAssembly with relaxed SIMD.
#if defined(__wasm_relaxed_simd__)
#define SMR_ARCH_WASM_RELAXED 1
#else
#define SMR_ARCH_WASM_RELAXED 0
#endif
#if defined(__riscv_v) && (defined(__clang__) || __GNUC__ >= 14)
#define SMR_ARCH_RVV 1
#else
#define SMR_ARCH_RVV 0
#endif
#define SMR_ARCH_V128 (SMR_ARCH_WASM_SIMD || SMR_ARCH_RVV)

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error \
    "samara: model files are little-endian and used in place; big-endian machines are not supported"
#endif

/// Instruction sets, as bits of a mask. A kernel needs all bits of its row.
enum {
  SMR_ISA_NONE = 0,              ///< portable C
  SMR_ISA_AVX2 = 1 << 0,         ///< AVX2, FMA and F16C
  SMR_ISA_AVX512 = 1 << 1,       ///< AVX-512 F, BW, DQ and VL
  SMR_ISA_AVX512_VNNI = 1 << 2,  ///< AVX-512 VNNI
  SMR_ISA_AVX512_BF16 = 1 << 3,  ///< AVX-512 BF16: products of bfloat16
  SMR_ISA_AMX_INT8 = 1 << 4,     ///< AMX tiles of int8, where Linux grants them
  SMR_ISA_NEON = 1 << 8,         ///< AArch64 Advanced SIMD
  SMR_ISA_NEON_FP16 = 1 << 9,    ///< float16 arithmetic
  SMR_ISA_NEON_DOT = 1 << 10,    ///< sdot, udot
  SMR_ISA_NEON_I8MM = 1 << 11,   ///< smmla, usdot
  SMR_ISA_NEON_BF16 = 1 << 12,   ///< bfdot, bfcvt
  SMR_ISA_WASM_SIMD = 1 << 16,   ///< known at compile time
  SMR_ISA_RVV = 1 << 17,         ///< known at compile time
  SMR_ISA_WASM_UDOT = 1 << 18,   ///< relaxed dot products: exact, of signed and unsigned bytes
  SMR_ISA_WASM_SDOT = 1 << 19,   ///< relaxed dot products: exact, of signed bytes
  SMR_ISA_V128 = SMR_ARCH_RVV ? SMR_ISA_RVV : SMR_ISA_WASM_SIMD,
};

/// The instruction sets that this process may use: those of the CPU and the operating system,
/// limited by the environment variable SAMARA_ISA, which the first call reads. Thread-safe; later
/// calls cost one relaxed atomic load.
uint32_t smr_cpu_isa(void);

/// False if SAMARA_ISA is set to something that smr_isa_parse refuses. smr_cpu_isa ignores it then;
/// session creation reports it, instead of silently running other code.
bool smr_cpu_isa_override_valid(void);

/// Tell the CPU that this thread spins on a word that another thread will change.
static inline void smr_cpu_relax(void) {
#if SMR_ARCH_X86_64 && defined(__GNUC__)
  __builtin_ia32_pause();
#elif SMR_ARCH_AARCH64 && defined(__GNUC__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

/// Parse a ceiling: names `scalar avx2 avx512 avx512-vnni avx512-bf16 amx-int8 neon neon-fp16
/// neon-dot neon-i8mm neon-bf16 wasm-simd rvv wasm-udot wasm-sdot`, separated by commas or spaces.
/// Each stands for itself and the sets it implies; the list is their union, so "scalar" alone
/// allows none. On success `*mask` receives the union. On an unknown name or an empty list returns
/// false and leaves `*mask` unchanged.
bool smr_isa_parse(const char *list, uint32_t *mask);

/// Write the names of the sets in `isa` to `text`, comma-separated, least first ("scalar" if none),
/// cut to `size` bytes including the NUL. Returns the full length.
size_t smr_isa_format(uint32_t isa, char *text, size_t size);

#endif
