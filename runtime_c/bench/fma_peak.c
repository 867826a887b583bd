// SPDX-License-Identifier: Apache-2.0
// Prints the multiply-add peak of one core in GFLOP/s:  fma_peak [seconds] [ISA ceiling]
#include "base/fp.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "peak.h"

static double peak_now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
  uint32_t isa = smr_cpu_isa(), ceiling;
  if (argc > 2) {
    if (!smr_isa_parse(argv[2], &ceiling)) {
      fprintf(stderr, "fma_peak: there is no instruction set \"%s\"\n", argv[2]);
      return 2;
    }
    isa &= ceiling;
  }
  // The best of many short rounds: other work on the machine only ever slows a round down.
  double best = 0, until = peak_now() + seconds;
  float sink = 0;
  do {
    const double start = peak_now();
    double operations = 0;
    for (int i = 0; i < 8; i++) operations += bench_peak(isa, &sink);
    const double took = peak_now() - start;
    if (took > 0 && operations / took > best) best = operations / took;
  } while (peak_now() < until);
  char names[128];
  smr_isa_format(isa, names, sizeof names);
  printf("%.2f GFLOP/s %s%s\n", best * 1e-9, names, sink == 0.5f ? " " : "");
  return 0;
}
