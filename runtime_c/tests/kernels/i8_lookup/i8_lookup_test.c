// SPDX-License-Identifier: Apache-2.0
// Every kernel of int8 lookups against single elements.
#include "base/fp.h"

#include "../kernel_data.h"
#include "harness.h"
#include "base/isa.h"
#include "kernels/i8_lookup/i8_lookup.h"

static const struct smr_i8_lookup *kernel;

static int8_t *bytes(size_t n, uint32_t *state) {
  int8_t *p = (int8_t *)kernel_alloc(n, 1);
  for (size_t i = 0; i < n; i++) p[i] = (int8_t)(kernel_random(state) & 0xff);
  return p;
}

SMR_TEST(every_value_is_looked_up) {
  uint32_t state = 1;
  int8_t *table = bytes(256, &state), x[256], y[256];
  for (int i = 0; i < 256; i++) x[i] = (int8_t)(i * 77 % 256 - 128);
  kernel->run(256, x, table, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], table[x[i] + 128]);
  kernel_free(table, 1);
}

SMR_TEST(lengths_agree_also_in_place) {
  uint32_t state = 2;
  int8_t *table = bytes(256, &state);
  for (size_t n = 0; n < 200; n += n < 70 ? 1 : 13) {
    int8_t *x = bytes(n, &state), *y = (int8_t *)kernel_alloc(n, 1), *want = bytes(n, &state);
    for (size_t i = 0; i < n; i++) want[i] = table[x[i] + 128];
    kernel->run(n, x, table, y);
    CHECK_MEM(y, want, n);
    kernel->run(n, x, table, x);
    CHECK_MEM(x, want, n);
    kernel_free(x, 1), kernel_free(y, 1), kernel_free(want, 1);
  }
  kernel_free(table, 1);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
#define SMR_UKERNEL(isa, suffix, lanes)             \
  if (KERNEL_RUNS(isa, suffix)) {                   \
    kernel = smr_i8_lookup_config(isa);             \
    CHECK_STR(kernel->name, "i8_lookup__" #suffix); \
    RUN(every_value_is_looked_up);                  \
    RUN(lengths_agree_also_in_place);               \
  }
#include "kernels/int8.inc"
#undef SMR_UKERNEL
  return SMR_TEST_END();
}
