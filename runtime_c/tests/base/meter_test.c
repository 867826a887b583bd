// SPDX-License-Identifier: Apache-2.0
// The allocator that counts: bytes requested, bytes live, the peak, and failures.
#include "base/fp.h"

#include "base/alloc.h"

#include <samara/samara_experimental.h>

#include <stdlib.h>

#include "harness.h"

SMR_TEST(a_meter_counts_live_bytes_and_their_peak) {
  samara_meter meter;
  samara_meter_start(&meter, NULL);
  const samara_allocator *a = &meter.allocator;
  unsigned char *first = smr_allocate(a, 100), *second = smr_allocate(a, 1000);
  REQUIRE(first != NULL && second != NULL);
  CHECK_EQ_INT((uintptr_t)first % SMR_ALIGNMENT, 0);
  CHECK_EQ_INT((uintptr_t)second % SMR_ALIGNMENT, 0);
  memset(first, 1, 100);
  memset(second, 2, 1000);
  CHECK_EQ_INT(meter.live_bytes, 1100);
  CHECK_EQ_INT(meter.allocations, 2);
  smr_release(a, first);
  CHECK_EQ_INT(meter.live_bytes, 1000);
  first = smr_allocate(a, 50);
  CHECK_EQ_INT(meter.peak_bytes, 1100);
  for (int i = 0; i < 1000; i++) CHECK_EQ_INT(second[i], 2);
  a->release(a->user, NULL);
  smr_release(a, first);
  smr_release(a, second);
  CHECK_EQ_INT(meter.live_bytes, 0);
  CHECK_EQ_INT(meter.allocations, 3);
  samara_meter_start(NULL, NULL);
}

static void *refuse_allocate(void *user, size_t size_bytes) {
  (void)user, (void)size_bytes;
  return NULL;
}

static void refuse_release(void *user, void *pointer) { (void)user, (void)pointer; }

SMR_TEST(what_fails_is_not_counted) {
  const samara_allocator inner = {.allocate = refuse_allocate, .release = refuse_release};
  samara_meter meter;
  samara_meter_start(&meter, &inner);
  CHECK(smr_allocate(&meter.allocator, 10) == NULL);
  CHECK(smr_allocate(&meter.allocator, SIZE_MAX - 3) == NULL);
  CHECK_EQ_INT(meter.live_bytes, 0);
  CHECK_EQ_INT(meter.allocations, 0);
}

SMR_TEST_MAIN(RUN(a_meter_counts_live_bytes_and_their_peak); RUN(what_fails_is_not_counted))
