// SPDX-License-Identifier: Apache-2.0
// Prints the multiply-add peak of one core in GFLOP/s:  fma_peak [seconds] [ISA ceiling]
#include "base/fp.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "peak.h"

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
  struct bench_peak peak = {bench_isa(argc, argv, 2), 0};
  const double best = bench_rate(bench_peak_once, &peak, seconds);
  char names[128];
  smr_isa_format(peak.isa, names, sizeof names);
  printf("%.2f GFLOP/s %s%s\n", best * 1e-9, names, peak.sink == 0.5f ? " " : "");
  return 0;
}
