// SPDX-License-Identifier: Apache-2.0
// Detects the CPU's instruction sets once and limits them to the ceiling in SAMARA_ISA.
#include "base/fp.h"

#include "base/isa.h"

#include <string.h>

#include "base/build.h"
#include "base/format.h"
#include "base/os.h"
#include "base/atomic.h"
#include "base/os_hwcap.h"

#if SMR_ARCH_X86_64 && defined(__GNUC__)
#include <cpuid.h>
#endif

enum {
  ISA_WORD_READY = 1 << 30,         // the word has been computed
  ISA_WORD_BAD_OVERRIDE = 1 << 29,  // SAMARA_ISA could not be parsed
  ISA_WORD_MASK = ISA_WORD_BAD_OVERRIDE - 1,
};

// The names of the sets in one block, and for each the sets that it implies: itself (its highest
// bit) and all below.
static const char isa_names[] =
    "scalar\0avx2\0avx512\0avx512-vnni\0avx512-bf16\0amx-int8\0neon\0neon-fp16\0neon-dot\0"
    "neon-i8mm\0neon-bf16\0wasm-simd\0rvv\0wasm-udot\0wasm-sdot\0";
static const uint32_t isa_implied[] = {
    SMR_ISA_NONE,
    SMR_ISA_AVX2,
    SMR_ISA_AVX2 | SMR_ISA_AVX512,
    SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_VNNI,
    SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_BF16,
    SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_VNNI | SMR_ISA_AMX_INT8,
    SMR_ISA_NEON,
    SMR_ISA_NEON | SMR_ISA_NEON_FP16,
    SMR_ISA_NEON | SMR_ISA_NEON_DOT,
    SMR_ISA_NEON | SMR_ISA_NEON_DOT | SMR_ISA_NEON_I8MM,
    SMR_ISA_NEON | SMR_ISA_NEON_BF16,
    SMR_ISA_WASM_SIMD,
    SMR_ISA_RVV,
    SMR_ISA_WASM_SIMD | SMR_ISA_WASM_UDOT,
    SMR_ISA_WASM_SIMD | SMR_ISA_WASM_SDOT,
};
enum { ISA_NAMES = sizeof isa_implied / sizeof *isa_implied };

static bool isa_separates(char c) { return c == ',' || c == ' '; }

bool smr_isa_parse(const char *list, uint32_t *mask) {
  uint32_t all = 0;
  while (isa_separates(*list)) list++;
  if (*list == '\0') return false;
  while (*list != '\0') {
    size_t length = 0;
    while (list[length] != '\0' && !isa_separates(list[length])) length++;
    const char *name = isa_names;
    size_t i = 0;
    while (strlen(name) != length || memcmp(name, list, length) != 0) {
      name += strlen(name) + 1;
      if (++i == ISA_NAMES) return false;
    }
    all |= isa_implied[i];
    list += length;
    while (isa_separates(*list)) list++;
  }
  *mask = all;
  return true;
}

size_t smr_isa_format(uint32_t isa, char *text, size_t size) {
  size_t length = 0;
  const char *name = isa_names;
  for (size_t i = 0; i < ISA_NAMES; i++, name += strlen(name) + 1) {
    uint32_t own = isa_implied[i];
    while ((own & (own - 1)) != 0) own &= own - 1;
    if (i == 0 ? isa != 0 : (isa & own) == 0) continue;
    const bool fits = length < size;
    length += smr_format(fits ? text + length : NULL, fits ? size - length : 0, "%s%s",
                         length != 0 ? "," : "", name);
  }
  return length;
}

#if SMR_ARCH_X86_64 && defined(__GNUC__)

// XCR0: the register files that the operating system saves.
static uint32_t isa_xgetbv(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static uint32_t isa_detect(void) {
  uint32_t a, b, c, d, isa = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const bool osxsave = c & (1u << 27), avx = c & (1u << 28);
  const bool fma = c & (1u << 12), f16c = c & (1u << 29);
  if (!osxsave || !avx || !fma || !f16c) return 0;
  const uint32_t xcr0 = isa_xgetbv();
  if ((xcr0 & 0x6) != 0x6) return 0;  // xmm and ymm
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if (!(b & (1u << 5))) return 0;
  isa |= SMR_ISA_AVX2;
  const uint32_t f_dq_bw_vl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  if ((xcr0 & 0xe0) == 0xe0 && (b & f_dq_bw_vl) == f_dq_bw_vl) {  // opmask and zmm
    isa |= SMR_ISA_AVX512;
    if (c & (1u << 11)) {
      isa |= SMR_ISA_AVX512_VNNI;
      const uint32_t tile_int8 = 1u << 24 | 1u << 25;
      const bool saved = (xcr0 & 0x60000) == 0x60000;  // tile configuration and data
      if (SMR_WITH_TILES && saved && (d & tile_int8) == tile_int8) isa |= SMR_ISA_AMX_INT8;
    }
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 5))) isa |= SMR_ISA_AVX512_BF16;
  }
  return isa;
}

#elif SMR_ARCH_AARCH64

static uint32_t isa_detect(void) {
  const uint64_t have = smr_os_hwcap();
  uint32_t isa = SMR_ISA_NEON;
  if (have & SMR_HWCAP_FP16) isa |= SMR_ISA_NEON_FP16;
  if (have & SMR_HWCAP_DOT) isa |= SMR_ISA_NEON_DOT;
  if ((have & SMR_HWCAP_I8MM) && (have & SMR_HWCAP_DOT)) isa |= SMR_ISA_NEON_I8MM;
  if (have & SMR_HWCAP_BF16) isa |= SMR_ISA_NEON_BF16;
  return isa;
}

#else

#if SMR_ARCH_WASM_RELAXED

// Relaxed dot products of bytes take the second factor as signed or as unsigned, and engines that
// lack an instruction for them may saturate the sum of two products. One engine always computes the
// same.
static uint32_t isa_detect_dot(void) {
  typedef int8_t bytes __attribute__((vector_size(16)));
  typedef int32_t ints __attribute__((vector_size(16)));
  static const int8_t factors[2][16] = {
      {-128, -128, -128, -128, 127, 127, 127, 127, -128, -128, -128, -128, 127, 127, 127, 127},
      {-1, -1, -1, -1, -1, -1, -1, -1, -128, -128, -128, -128, -128, -128, -128, -128}};
  static const int32_t as_unsigned[4] = {-130560, 129540, -65536, 65024};
  static const int32_t as_signed[4] = {512, -508, 65536, -65024};
  const int8_t (*from)[16] = factors;
  __asm__("" : "+r"(from));  // the engine computes it, not the compiler
  bytes a, b;
  memcpy(&a, from[0], sizeof a);
  memcpy(&b, from[1], sizeof b);
  const ints sums = __builtin_wasm_relaxed_dot_i8x16_i7x16_add_s_i32x4(a, b, (ints){0, 0, 0, 0});
  if (memcmp(&sums, as_unsigned, sizeof sums) == 0) return SMR_ISA_WASM_UDOT;
  if (memcmp(&sums, as_signed, sizeof sums) == 0) return SMR_ISA_WASM_SDOT;
  return 0;
}

#endif

static uint32_t isa_detect(void) {
  uint32_t isa = 0;
#if SMR_ARCH_WASM_SIMD
  isa |= SMR_ISA_WASM_SIMD;
#endif
#if SMR_ARCH_WASM_RELAXED
  isa |= isa_detect_dot();
#endif
#if SMR_ARCH_RVV
  isa |= SMR_ISA_RVV;
#endif
  return isa;
}

#endif

// The library's only mutable global. Threads that race compute the same value.
static SMR_ATOMIC(uint32_t) isa_word;

static uint32_t isa_load(void) {
  uint32_t word = SMR_ATOMIC_LOAD(&isa_word);
  if (word) return word;
  word = isa_detect() | ISA_WORD_READY;
  const char *list = smr_os_environment("SAMARA_ISA");
  uint32_t ceiling = 0;
  if (list && *list) {
    if (smr_isa_parse(list, &ceiling)) {
      word &= ceiling | ISA_WORD_READY;
    } else {
      word |= ISA_WORD_BAD_OVERRIDE;
    }
  }
  // After the ceiling, so that SAMARA_ISA can keep the process from asking.
  if (word & SMR_ISA_AMX_INT8 && !smr_os_use_tiles()) word &= ~(uint32_t)SMR_ISA_AMX_INT8;
  SMR_ATOMIC_STORE(&isa_word, word);
  return word;
}

uint32_t smr_cpu_isa(void) { return isa_load() & ISA_WORD_MASK; }

bool smr_cpu_isa_override_valid(void) { return !(isa_load() & ISA_WORD_BAD_OVERRIDE); }
