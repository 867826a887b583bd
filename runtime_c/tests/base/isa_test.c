// SPDX-License-Identifier: Apache-2.0
// Tests the parsing of ISA ceilings and what detection promises.
#include "base/fp.h"

#include "base/isa.h"

#include <stdlib.h>

#include "harness.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

static bool may_use_tiles(void) {
  uint64_t allowed = 0;  // ARCH_GET_XCOMP_PERM, TILE_DATA
  return syscall(SYS_arch_prctl, 0x1022, &allowed) == 0 && (allowed >> 18 & 1) != 0;
}
#else
static bool may_use_tiles(void) { return false; }
#endif

SMR_TEST(parses_ceilings) {
  uint32_t mask = 77;
  CHECK(smr_isa_parse("scalar", &mask));
  CHECK_EQ_INT(mask, 0);
  CHECK(smr_isa_parse("avx2", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_AVX2);
  CHECK(smr_isa_parse("avx512", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_AVX2 | SMR_ISA_AVX512);
  CHECK(smr_isa_parse("avx512-vnni", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_VNNI);
  CHECK(smr_isa_parse("avx512-bf16", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_BF16);
  CHECK(smr_isa_parse("amx-int8", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_AVX2 | SMR_ISA_AVX512 | SMR_ISA_AVX512_VNNI | SMR_ISA_AMX_INT8);
  CHECK(smr_isa_parse("neon-bf16", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_NEON | SMR_ISA_NEON_BF16);
  CHECK(smr_isa_parse("neon-i8mm", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_NEON | SMR_ISA_NEON_DOT | SMR_ISA_NEON_I8MM);
  CHECK(smr_isa_parse("neon-fp16", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_NEON | SMR_ISA_NEON_FP16);
  CHECK(smr_isa_parse(" avx2,neon-dot scalar,, wasm-simd rvv ", &mask));
  CHECK_EQ_INT(mask,
               SMR_ISA_AVX2 | SMR_ISA_NEON | SMR_ISA_NEON_DOT | SMR_ISA_WASM_SIMD | SMR_ISA_RVV);
}

SMR_TEST(dot_products_imply_vectors_of_128_bits) {
  uint32_t mask = 0;
  CHECK(smr_isa_parse("wasm-udot", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_WASM_SIMD | SMR_ISA_WASM_UDOT);
  CHECK(smr_isa_parse("wasm-sdot", &mask));
  CHECK_EQ_INT(mask, SMR_ISA_WASM_SIMD | SMR_ISA_WASM_SDOT);
}

SMR_TEST(refuses_what_it_does_not_know) {
  static const char *const bad[] = {"", " ", ",", "avx", "avx25", "AVX2", "avx2,sse9", "avx512-"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    uint32_t mask = 77;
    CHECK(!smr_isa_parse(bad[i], &mask));
    CHECK_EQ_INT(mask, 77);
  }
}

SMR_TEST(formats_names) {
  char text[64];
  CHECK_EQ_INT(smr_isa_format(0, text, sizeof text), 6);
  CHECK_STR(text, "scalar");
  CHECK_EQ_INT(smr_isa_format(SMR_ISA_AVX2 | SMR_ISA_AVX512, text, sizeof text), 11);
  CHECK_STR(text, "avx2,avx512");
  CHECK_EQ_INT(smr_isa_format(SMR_ISA_AVX2 | SMR_ISA_AVX512, text, 8), 11);
  CHECK_STR(text, "avx2,av");
  CHECK_EQ_INT(smr_isa_format(SMR_ISA_NEON_DOT, NULL, 0), 8);
}

SMR_TEST(what_is_detected_is_closed) {
  // A set never comes without what it implies, so that kernel tables can test single bits.
  const uint32_t have = smr_cpu_isa();
  char text[128];
  smr_isa_format(have, text, sizeof text);
  uint32_t closed = 0;
  CHECK(smr_isa_parse(text, &closed));
  CHECK_EQ_INT(have, closed);
  CHECK_EQ_INT(smr_cpu_isa(), have);
  if (have & SMR_ISA_AMX_INT8) CHECK(may_use_tiles());
}

#if defined(__unix__) || defined(__APPLE__)
// Runs this program again under another SAMARA_ISA; the word is computed once per process.
static int run_with(const char *self, const char *value, const char *test) {
  char command[1024];
  snprintf(command, sizeof command, "SAMARA_ISA='%s' '%s' child_%s >/dev/null 2>&1", value, self,
           test);
  return system(command);
}

static const char *self_path;

SMR_TEST(ceiling_comes_from_the_environment) {
  if (!getenv("SMR_TESTS_CAN_SPAWN") && !SMR_ARCH_X86_64) SKIP("emulated programs start no others");
  CHECK_EQ_INT(run_with(self_path, "scalar", "sees_nothing"), 0);
  CHECK(run_with(self_path, "avx2,neon", "sees_nothing") != 0 || smr_cpu_isa() == 0);
  CHECK_EQ_INT(run_with(self_path, "avx2,neon", "sees_at_most_the_first_level"), 0);
  CHECK_EQ_INT(run_with(self_path, "nonsense", "sees_a_bad_override"), 0);
  CHECK_EQ_INT(run_with(self_path, "avx512-vnni", "asks_for_no_tiles"), 0);
}
#endif

SMR_TEST(child_sees_nothing) {
  CHECK_EQ_INT(smr_cpu_isa(), 0);
  CHECK(smr_cpu_isa_override_valid());
}

SMR_TEST(child_sees_at_most_the_first_level) {
  CHECK_EQ_INT(smr_cpu_isa() & ~(uint32_t)(SMR_ISA_AVX2 | SMR_ISA_NEON), 0);
  CHECK(smr_cpu_isa_override_valid());
}

// The system saves tiles for a process that has asked for them once.
SMR_TEST(child_asks_for_no_tiles) {
  CHECK_EQ_INT(smr_cpu_isa() & SMR_ISA_AMX_INT8, 0);
  CHECK(!may_use_tiles());
}

SMR_TEST(child_sees_a_bad_override) { CHECK(!smr_cpu_isa_override_valid()); }

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  if (argc > 1 && strncmp(argv[1], "child_", 6) == 0) {
    RUN(child_sees_nothing);
    RUN(child_sees_at_most_the_first_level);
    RUN(child_sees_a_bad_override);
    RUN(child_asks_for_no_tiles);
    return SMR_TEST_END();
  }
  RUN(parses_ceilings);
  RUN(refuses_what_it_does_not_know);
  RUN(dot_products_imply_vectors_of_128_bits);
  RUN(formats_names);
  RUN(what_is_detected_is_closed);
#if defined(__unix__) || defined(__APPLE__)
  self_path = argv[0];
  RUN(ceiling_comes_from_the_environment);
#endif
  return SMR_TEST_END();
}
