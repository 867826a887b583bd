// SPDX-License-Identifier: Apache-2.0
// The nodes by which rates are measured, as a device sees them.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"
#include "session/device/rates.h"

static samara_error error;

// A float32 convolution is 9 x 64 multiply-adds for each of 64 channels; a sum reads two floats and
// writes one.
SMR_TEST(work_grows_with_the_pixels) {
  CHECK_NEAR(smr_rates_work(&smr_rates_probes[0], 1), 9 * 64 * 64, 0);
  CHECK_NEAR(smr_rates_work(&smr_rates_probes[0], 8), 64 * 9 * 64 * 64, 0);
  CHECK_NEAR(smr_rates_work(&smr_rates_probes[3], 8), 64 * 9 * 64, 0);
  CHECK_NEAR(smr_rates_work(&smr_rates_probes[SMR_RATES_SUM], 8), 64 * 64 * 12, 0);
}

SMR_TEST(all_kinds_are_nodes_of_the_table) {
  const samara_allocator allocator = smr_allocator(NULL);
  rig_reset();
  samara_backend *device = rig_open(0, NULL, NULL);
  REQUIRE(device != NULL);
  for (int i = 0; i < SMR_RATES_PROBES; i++)
    for (uint32_t size = 1; size <= 128; size *= 2) {
      struct smr_rates_region r;
      char reason[64] = "";
      bool known;
      REQUIRE(smr_rates_describe(&smr_rates_probes[i], size, SMR_RATES_NODES, &allocator, &r,
                                 &known, &error) == SAMARA_OK);
      CHECK(known);
      CHECK_EQ_INT(r.region.node_count, SMR_RATES_NODES);
      CHECK_EQ_INT(r.tensors[0].size_bytes,
                   64 * size * size * (r.tensors[0].dtype == SAMARA_QINT8 ? 1 : 4));
      CHECK_EQ_INT(r.weights != NULL, i != SMR_RATES_SUM);
      for (uint32_t n = 0; n < SMR_RATES_NODES; n++)
        CHECK(device->table->supports(device->device, &r.region, n, reason, sizeof reason));
      CHECK_STR(reason, "");
      smr_release(&allocator, r.weights);
    }
  samara_backend_close(device);
}

SMR_TEST(memory_for_weights_may_be_out) {
  struct smr_rates_region r;
  struct literal_memory memory;
  bool known;
  literal_memory_init(&memory);
  memory.fail_at = 1;
  CHECK_EQ_INT(
      smr_rates_describe(&smr_rates_probes[0], 8, 1, &memory.allocator, &r, &known, &error),
      SAMARA_OUT_OF_MEMORY);
  CHECK(r.weights == NULL);
  CHECK_EQ_INT(memory.live, 0);
}

SMR_TEST_MAIN(RUN(work_grows_with_the_pixels); RUN(all_kinds_are_nodes_of_the_table);
              RUN(memory_for_weights_may_be_out))
