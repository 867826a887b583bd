// SPDX-License-Identifier: Apache-2.0
// What benchmarks share: the clock, memory, the choice of an instruction set, and the best rate.
#ifndef SMR_BENCH_BENCH_H_
#define SMR_BENCH_BENCH_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/isa.h"

// Seconds.
static inline double bench_now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef double (*bench_body)(void *context);  // returns the operations done

// The best rate of several rounds: other work on the machine only ever slows a round down.
static inline double bench_rate(bench_body body, void *context, double seconds) {
  double best = 0;
  const double until = bench_now() + seconds;
  size_t repeat = 1;
  do {
    const double start = bench_now();
    double ops = 0;
    for (size_t i = 0; i < repeat; i++) ops += body(context);
    const double took = bench_now() - start;
    // A round too short for the clock only determines the number of repetitions.
    if (took < 3e-4) {
      repeat *= 2;
    } else if (ops / took > best) {
      best = ops / took;
    }
  } while (bench_now() < until || best == 0);
  return best;
}

// Zeroed, on a cache line.
static inline void *bench_alloc(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (p == NULL) exit(1);
  memset(p, 0, bytes);
  return p;
}

// The instruction sets of this CPU below the ceiling in argv[at], if it is there.
static inline uint32_t bench_isa(int argc, char **argv, int at) {
  uint32_t ceiling;
  if (argc <= at) return smr_cpu_isa();
  if (smr_isa_parse(argv[at], &ceiling)) return smr_cpu_isa() & ceiling;
  fprintf(stderr, "%s: there is no instruction set \"%s\"\n", argv[0], argv[at]);
  exit(2);
}

static inline int bench_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

#endif  // SMR_BENCH_BENCH_H_
