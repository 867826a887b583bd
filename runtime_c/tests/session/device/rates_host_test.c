// SPDX-License-Identifier: Apache-2.0
// Rates of the CPU, with any threads and any memory.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>

#include "session/device/device_rig.h"
#include "session/device/rates.h"

static samara_error error;

SMR_TEST(the_host_has_rates_with_any_threads) {
  const samara_allocator allocator = smr_allocator(NULL);
  samara_pool *pool = NULL;
  const samara_pool_options options = {.struct_size = sizeof options, .threads = 2};
  CHECK_EQ_INT(samara_pool_create(&options, &pool, &error), SAMARA_OK);
  uint32_t isa;
  CHECK_EQ_INT(smr_isa_resolve(NULL, &isa, &error), SAMARA_OK);
  for (int i = 0; i < 2; i++) {
    samara_rates rates = {.launch_ns = 0};
    CHECK_EQ_INT(smr_rates_measure_host(i == 0 ? NULL : pool, isa, &allocator, &rates, &error),
                 SAMARA_OK);
    CHECK(rates.product_float32 != 0 && rates.product_int8 != 0 && rates.memory != 0);
    CHECK(rates.depthwise != 0 && rates.product_float16 != 0 && rates.launch_ns != 0 &&
          rates.product_ns != 0);
    CHECK(rates.wait_ns == 0 && rates.copy_ns == 0 && rates.to_device == 0);
  }
  samara_pool_destroy(pool);
}

SMR_TEST(memory_may_be_out_at_any_allocation) {
  uint32_t isa;
  CHECK_EQ_INT(smr_isa_resolve("scalar", &isa, &error), SAMARA_OK);
  samara_status status = SAMARA_OUT_OF_MEMORY;
  for (size_t k = 1; status != SAMARA_OK && k < 12; k++) {
    struct literal_memory memory;
    samara_rates rates = {.launch_ns = 0};
    literal_memory_init(&memory);
    memory.fail_at = k;
    status = smr_rates_measure_host(NULL, isa, &memory.allocator, &rates, &error);
    CHECK(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
    CHECK_EQ_INT(memory.live, 0);
  }
}

SMR_TEST_MAIN(RUN(the_host_has_rates_with_any_threads); RUN(memory_may_be_out_at_any_allocation))
