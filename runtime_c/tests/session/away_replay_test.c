// SPDX-License-Identifier: Apache-2.0
// Replaying runs whose variables were lost with a device: with little memory, and with the
// session's own choices.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

// Lose the device after 3 runs, then read a variable while allocation `k` fails. Returns whether
// there was such an allocation.
static bool ask_hungry(size_t k, bool by_run) {
  struct literal_memory memory;
  rig_reset();
  literal_memory_init(&memory);
  struct rig rig = rig_start(RIG_STAY, 1, (samara_session_options){.allocator = &memory.allocator});
  samara_session *cpu = rig.cpu, *s = rig.s;
  for (uint32_t run = 0; run < 3; run++) CHECK(rig_same(cpu, s, run));
  mirror_fail("copy", -1);
  memory.fail_at = memory.calls + k;
  float want[4], got[4];
  if (by_run) CHECK(rig_feed(cpu, 3) && literal_run(cpu) == SAMARA_OK && rig_feed(s, 3));
  CHECK_EQ_INT(samara_session_state_read(cpu, "H", want, sizeof want), SAMARA_OK);
  for (int attempt = 0; attempt < 2; attempt++) {
    samara_status status = by_run ? SAMARA_OK : samara_session_state_read(s, "H", got, sizeof got);
    if (by_run) {
      status = attempt == 0 ? SAMARA_OK : samara_session_resize(s, NULL, 0);
      if (status == SAMARA_OK && rig_feed(s, 3)) status = samara_session_run(s);
      if (status == SAMARA_OK) CHECK(rig_compare(cpu, s));
      if (status == SAMARA_OK) status = samara_session_state_read(s, "H", got, sizeof got);
    }
    if (status == SAMARA_OK) break;
    CHECK_EQ_INT(status, SAMARA_OUT_OF_MEMORY);
    CHECK(attempt == 0 && memory.calls >= memory.fail_at);
  }
  CHECK_MEM(got, want, sizeof want);
  const bool failed = memory.calls >= memory.fail_at;
  CHECK(rig_end(&rig));
  CHECK_EQ_INT(memory.live, 0);
  return failed;
}

SMR_TEST(memory_may_be_out_at_any_allocation) {
  for (int by_run = 0; by_run < 2; by_run++) {
    size_t k = 1;
    while (ask_hungry(k, by_run)) k++;
    CHECK(k > 5);
  }
}

SMR_TEST(a_twin_has_the_choices_and_dims_of_the_session) {
  rig_reset();
  struct rig rig =
      rig_start(RIG_STAY, 1, (samara_session_options){.isa = "scalar", .max_steps = 1000});
  samara_session *s = rig.s;
  samara_session *twin = NULL;
  CHECK_EQ_INT(literal_resize(s, 0, 5), SAMARA_OK);
  samara_error error;
  REQUIRE(smr_session_twin(s, &twin, &error) == SAMARA_OK);
  CHECK(twin->common.devices == NULL && twin->ready);
  CHECK_EQ_INT(twin->common.isa, s->common.isa);
  CHECK_EQ_INT(twin->inputs[0].dims[0], 5);
  CHECK_EQ_INT(twin->common.run.max_steps, 0);
  samara_tensor y;
  CHECK_EQ_INT(samara_session_output_shape(twin, 2, &y), SAMARA_OK);
  CHECK_EQ_INT(y.shape[0], 5);
  samara_session_destroy(twin);
  CHECK(rig_end(&rig));
}

SMR_TEST_MAIN(RUN(memory_may_be_out_at_any_allocation);
              RUN(a_twin_has_the_choices_and_dims_of_the_session))
