// SPDX-License-Identifier: Apache-2.0
// The peak of one core: multiply-adds of floats and bytes with the best instruction set in use, and
// bytes copied in cache and in memory. Fractions of a roof are relative to these.
#ifndef SAMARA_TOOLS_ROOF_H
#define SAMARA_TOOLS_ROOF_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "tool.h"

struct roof {
  double gflops, int8_gops;  // operations, two per multiply-add, 1e9 per second
  double cache_gbs, memory_gbs;
};

// Makes the compiler assume that the memory at `pointer` is read.
#define ROOF_USED(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

// Independent chains of operations, more than any latency times throughput.
enum { ROOF_CHAINS = 12, ROOF_STEPS = 4000 };

// A function of `steps` that runs ROOF_CHAINS chains of `body` on `acc[i]` of type `vector`; their
// starts differ, or a compiler could make one of all, and none is 1, which stays 1.
#define ROOF_LOOP(name, attribute, vector, start, body)     \
  attribute static void name(int steps, void *sink) {       \
    vector acc[ROOF_CHAINS];                                \
    for (int i = 0; i < ROOF_CHAINS; i++) acc[i] = (start); \
    for (int s = 0; s < steps; s++) {                       \
      ROOF_EACH(body, 0);                                   \
      ROOF_EACH(body, 1);                                   \
      ROOF_EACH(body, 2);                                   \
      ROOF_EACH(body, 3);                                   \
      ROOF_EACH(body, 4);                                   \
      ROOF_EACH(body, 5);                                   \
      ROOF_EACH(body, 6);                                   \
      ROOF_EACH(body, 7);                                   \
      ROOF_EACH(body, 8);                                   \
      ROOF_EACH(body, 9);                                   \
      ROOF_EACH(body, 10);                                  \
      ROOF_EACH(body, 11);                                  \
    }                                                       \
    memcpy(sink, acc, sizeof acc);                          \
  }
#define ROOF_EACH(body, i) acc[i] = body(acc[i])

#define ROOF_SCALAR_F32(a) ((a) * 0.999f + 1e-3f)
#define ROOF_SCALAR_I8(a) ((a) * 3 + 1)
ROOF_LOOP(roof_f32_scalar, , float, (float)(i + 2), ROOF_SCALAR_F32)
ROOF_LOOP(roof_i8_scalar, , uint32_t, (uint32_t)i, ROOF_SCALAR_I8)

#if defined(__x86_64__)
#define ROOF_AVX2_F32(a) _mm256_fmadd_ps(a, _mm256_set1_ps(0.999f), _mm256_set1_ps(1e-3f))
#define ROOF_AVX512_F32(a) _mm512_fmadd_ps(a, _mm512_set1_ps(0.999f), _mm512_set1_ps(1e-3f))
#define ROOF_AVX2_I8(a) \
  _mm256_add_epi32(     \
      a, _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(3), a), _mm256_set1_epi16(1)))
#define ROOF_VNNI_I8(a) _mm512_dpbusd_epi32(a, _mm512_set1_epi8(3), _mm512_set1_epi8(5))
#define ROOF_TARGET(list) __attribute__((target(list)))
ROOF_LOOP(roof_f32_avx2, ROOF_TARGET("avx2,fma"), __m256, _mm256_set1_ps((float)(i + 2)),
          ROOF_AVX2_F32)
ROOF_LOOP(roof_i8_avx2, ROOF_TARGET("avx2,fma"), __m256i, _mm256_set1_epi8((char)i), ROOF_AVX2_I8)
ROOF_LOOP(roof_f32_avx512, ROOF_TARGET("avx512f"), __m512, _mm512_set1_ps((float)(i + 2)),
          ROOF_AVX512_F32)
ROOF_LOOP(roof_i8_vnni, ROOF_TARGET("avx512f,avx512bw,avx512vnni"), __m512i, _mm512_set1_epi32(i),
          ROOF_VNNI_I8)
#elif defined(__aarch64__)
#define ROOF_NEON_F32(a) vfmaq_f32(vdupq_n_f32(1e-3f), a, vdupq_n_f32(0.999f))
#define ROOF_NEON_I8(a) vpadalq_s16(a, vmull_s8(vget_low_s8(vreinterpretq_s8_s32(a)), vdup_n_s8(3)))
ROOF_LOOP(roof_f32_neon, , float32x4_t, vdupq_n_f32((float)(i + 2)), ROOF_NEON_F32)
ROOF_LOOP(roof_i8_neon, , int32x4_t, vdupq_n_s32(i), ROOF_NEON_I8)
#if defined(__GNUC__) && !defined(__clang__)
#define ROOF_TARGET(list) __attribute__((target(list)))
#define ROOF_DOT_I8(a) vdotq_s32(a, vdupq_n_s8(3), vdupq_n_s8(5))
#define ROOF_I8MM_I8(a) vmmlaq_s32(a, vdupq_n_s8(3), vdupq_n_s8(5))
ROOF_LOOP(roof_i8_dot, ROOF_TARGET("arch=armv8.2-a+dotprod"), int32x4_t, vdupq_n_s32(i),
          ROOF_DOT_I8)
ROOF_LOOP(roof_i8_i8mm, ROOF_TARGET("arch=armv8.2-a+i8mm"), int32x4_t, vdupq_n_s32(i), ROOF_I8MM_I8)
#define ROOF_HAS_DOT 1
#endif
#endif

// A loop, and the multiply-adds per operation.
struct roof_loop {
  const char *isa;  // required instruction set
  void (*run)(int steps, void *sink);
  int macs;
};

// Best first.
static const struct roof_loop roof_f32[] = {
#if defined(__x86_64__)
    {"avx512", roof_f32_avx512, 16},
    {"avx2", roof_f32_avx2, 8},
#elif defined(__aarch64__)
    {"neon", roof_f32_neon, 4},
#endif
    {"", roof_f32_scalar, 1},
};
static const struct roof_loop roof_i8[] = {
#if defined(__x86_64__)
    {"avx512-vnni", roof_i8_vnni, 64},
    {"avx2", roof_i8_avx2, 32},
#elif defined(__aarch64__)
#if defined(ROOF_HAS_DOT)
    {"neon-i8mm", roof_i8_i8mm, 32},
    {"neon-dot", roof_i8_dot, 16},
#endif
    {"neon", roof_i8_neon, 8},
#endif
    {"", roof_i8_scalar, 1},
};

// Whether the comma-separated list `isa` contains `name`; always true for "".
static int roof_has(const char *isa, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = isa; length != 0 && at != NULL; at = strchr(at, ',')) {
    if (*at == ',') at++;
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return 1;
  }
  return length == 0;
}

// The best of rounds for `ms` milliseconds: other work on the machine only ever slows one down.
static double roof_gops(const struct roof_loop *loop, const char *isa, unsigned ms) {
  char sink[ROOF_CHAINS * 64];
  double best = 0;
  while (!roof_has(isa, loop->isa)) loop++;
  const uint64_t end = tool_now_ns() + (uint64_t)ms * 1000000;
  do {
    const uint64_t start = tool_now_ns();
    loop->run(ROOF_STEPS, sink);
    ROOF_USED(sink);
    const double ns = (double)(tool_now_ns() - start);
    const double gops = (double)(2 * ROOF_CHAINS * ROOF_STEPS * loop->macs) / (ns > 1 ? ns : 1);
    if (gops > best) best = gops;
  } while (tool_now_ns() < end);
  return best;
}

// Bytes read and written per nanosecond by copies within `bytes` bytes.
static double roof_gbs(size_t bytes, unsigned ms) {
  char *memory = malloc(bytes);
  double best = 0;
  if (memory == NULL) return 0;
  memset(memory, 1, bytes);
  const uint64_t end = tool_now_ns() + (uint64_t)ms * 1000000;
  do {
    const uint64_t start = tool_now_ns();
    const int rounds = bytes < 1 << 20 ? 64 : 1;
    for (int i = 0; i < rounds; i++) {
      memcpy(memory, memory + bytes / 2, bytes / 2);
      ROOF_USED(memory);
    }
    const double ns = (double)(tool_now_ns() - start);
    const double gbs = (double)bytes * rounds / (ns > 1 ? ns : 1);
    if (gbs > best) best = gbs;
  } while (tool_now_ns() < end);
  free(memory);
  return best;
}

/// Measure for about 0.2 s. `isa`: comma-separated instruction sets in use.
static struct roof roof_measure(const char *isa) {
  return (struct roof){.gflops = roof_gops(roof_f32, isa, 60),
                       .int8_gops = roof_gops(roof_i8, isa, 60),
                       .cache_gbs = roof_gbs((size_t)256 << 10, 40),
                       .memory_gbs = roof_gbs((size_t)64 << 20, 60)};
}

#endif
