// SPDX-License-Identifier: Apache-2.0
// Detects the CPU's instruction sets once and cuts them to the ceiling in SAMARA_ISA.
#include "base/fp.h"

#include "base/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/os_hwcap.h"

#if SMR_ARCH_X86_64 && defined(__GNUC__)
#include <cpuid.h>
#endif

enum {
  ISA_WORD_READY = 1 << 30,         // the word has been computed
  ISA_WORD_BAD_OVERRIDE = 1 << 29,  // SAMARA_ISA could not be parsed
  ISA_WORD_MASK = ISA_WORD_BAD_OVERRIDE - 1,
};

static const struct isa_name {
  const char *name;
  uint32_t isa;      // the bit itself
  uint32_t implies;  // with everything below it
} isa_names[] = {
    {"scalar", SMR_ISA_NONE, SMR_ISA_NONE},
    {"avx2", SMR_ISA_AVX2, SMR_ISA_AVX2},
    {"avx512", SMR_ISA_AVX512, SMR_ISA_AVX2 | SMR_ISA_AVX512},
    {"avx512-vnni", SMR_ISA_AVX512_VNNI, SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_VNNI},
    {"neon", SMR_ISA_NEON, SMR_ISA_NEON},
    {"neon-fp16", SMR_ISA_NEON_FP16, SMR_ISA_NEON | SMR_ISA_NEON_FP16},
    {"neon-dot", SMR_ISA_NEON_DOT, SMR_ISA_NEON | SMR_ISA_NEON_DOT},
    {"neon-i8mm", SMR_ISA_NEON_I8MM, SMR_ISA_NEON | SMR_ISA_NEON_DOT | SMR_ISA_NEON_I8MM},
    {"wasm-simd", SMR_ISA_WASM_SIMD, SMR_ISA_WASM_SIMD},
    {"rvv", SMR_ISA_RVV, SMR_ISA_RVV},
};
enum { ISA_NAMES = sizeof isa_names / sizeof *isa_names };

bool smr_isa_parse(const char *list, uint32_t *mask) {
  uint32_t all = 0;
  size_t words = 0;
  for (const char *p = list + strspn(list, ", "); *p; p += strspn(p, ", ")) {
    const size_t length = strcspn(p, ", ");
    size_t i = 0;
    while (i < ISA_NAMES &&
           (strlen(isa_names[i].name) != length || memcmp(isa_names[i].name, p, length) != 0)) {
      i++;
    }
    if (i == ISA_NAMES) return false;
    all |= isa_names[i].implies;
    words++;
    p += length;
  }
  if (words == 0) return false;
  *mask = all;
  return true;
}

size_t smr_isa_format(uint32_t isa, char *text, size_t size) {
  size_t length = 0;
  for (size_t i = 0; i < ISA_NAMES; i++) {
    const bool wanted = i == 0 ? isa == 0 : (isa & isa_names[i].isa) != 0;
    if (!wanted) continue;
    const char *parts[2] = {length ? "," : "", isa_names[i].name};
    for (size_t part = 0; part < 2; part++) {
      for (const char *c = parts[part]; *c; c++, length++) {
        if (length + 1 < size) text[length] = *c;
      }
    }
  }
  if (size) text[length < size ? length : size - 1] = '\0';
  return length;
}

#if SMR_ARCH_X86_64 && defined(__GNUC__)

// XCR0: which register files the operating system saves.
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
    if (c & (1u << 11)) isa |= SMR_ISA_AVX512_VNNI;
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
  return isa;
}

#else

static uint32_t isa_detect(void) {
  uint32_t isa = 0;
#if defined(__wasm_simd128__)
  isa |= SMR_ISA_WASM_SIMD;
#endif
#if defined(__riscv_v)
  isa |= SMR_ISA_RVV;
#endif
  return isa;
}

#endif

// The one mutable global of the library. Two threads that race compute the same value.
static _Atomic uint32_t isa_word;

static uint32_t isa_load(void) {
  uint32_t word = atomic_load_explicit(&isa_word, memory_order_relaxed);
  if (word) return word;
  word = isa_detect() | ISA_WORD_READY;
  const char *list = getenv("SAMARA_ISA");
  uint32_t ceiling = 0;
  if (list && *list) {
    if (smr_isa_parse(list, &ceiling)) {
      word &= ceiling | ISA_WORD_READY;
    } else {
      word |= ISA_WORD_BAD_OVERRIDE;
    }
  }
  atomic_store_explicit(&isa_word, word, memory_order_relaxed);
  return word;
}

uint32_t smr_cpu_isa(void) { return isa_load() & ISA_WORD_MASK; }

bool smr_cpu_isa_override_valid(void) { return !(isa_load() & ISA_WORD_BAD_OVERRIDE); }
