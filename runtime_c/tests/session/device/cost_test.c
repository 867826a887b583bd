// SPDX-License-Identifier: Apache-2.0
// Costs: what is moved to a device, for rates of all sizes.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"
#include "session/device/rates.h"

enum { NODES = 10 };  // of the chain

// Decide about the chain, which is planned for the CPU. Returns how many nodes move.
static uint32_t decide(samara_session *s, const struct smr_rates *rates,
                       struct smr_device_choice *choices, uint32_t device) {
  uint32_t moved = 0;
  CHECK_EQ_INT(smr_devices_decide(s->entry, device, rates, choices), SAMARA_OK);
  for (uint32_t n = 0; n < s->function->node_count; n++) moved += choices[n].space == device + 1;
  return moved;
}

// A session whose own decision is stopped, so that the tests decide.
static struct rig begin(enum rig_model which) {
  rig_reset();
  struct rig rig = rig_start(which, 2, (samara_session_options){.backend_auto = true});
  smr_session_settle_end(rig.s);
  rig.s->common.devices->settling.phase = SMR_SETTLING_OVER;
  return rig;
}

static samara_rates all_of(uint64_t ns, uint64_t per_ms) {
  return (samara_rates){ns, ns, ns, ns, per_ms, per_ms, per_ms, per_ms, per_ms, per_ms, per_ms};
}

SMR_TEST(what_gains_moves) {
  struct rig rig = begin(RIG_CHAIN);
  struct smr_device_choice choices[NODES];
  struct smr_rates rates = {.host = all_of(1000000, 1000), .device = all_of(1, 1000000000)};
  memset(choices, 0, sizeof choices);
  CHECK_EQ_INT(decide(rig.s, &rates, choices, 0), 7);
  CHECK(choices[0].space == 1 && choices[0].has_other && choices[0].other == 0);
  CHECK_NEAR(choices[0].other_us, 1000 + 72, 1);  // launch, and 72 bytes at 1000 per ms
  CHECK_NEAR(choices[0].cost_us, 0.001, 0.0005);
  CHECK_STR(choices[0].reason, "the device is faster");
  // Constants need no copy: "one_mul" saves 36 ms, and each other copy to the device takes 24.
  const struct smr_rates slow_copies = {
      .host = all_of(36000000, 1000000000),
      .device = {.launch_ns = 1, .memory = 1000000000, .to_device = 1, .from_device = 1000000000}};
  memset(choices, 0, sizeof choices);
  CHECK_EQ_INT(decide(rig.s, &slow_copies, choices, 0), 7);
  memset(choices, 0, sizeof choices);
  CHECK_EQ_INT(decide(rig.s, &rates, choices, 0), 7);
  // The second device gets what the first one does not take.
  CHECK_EQ_INT(decide(rig.s, &rates, choices, 1), 2);
  CHECK_EQ_INT(choices[2].space, 0);
  CHECK_EQ_INT(choices[0].space, 1);
  rates.device = all_of(1000000000, 10);
  memset(choices, 0, sizeof choices);
  CHECK_EQ_INT(decide(rig.s, &rates, choices, 0), 0);
  CHECK_STR(choices[0].reason, "the CPU is faster");
  CHECK_EQ_INT(choices[0].other, 1);
  // The runner-up is the cheapest of the other places.
  rates.device = all_of(100000000, 10);
  CHECK_EQ_INT(decide(rig.s, &rates, choices, 1), 0);
  CHECK_EQ_INT(choices[6].other, 2);
  rates.device = all_of(2000000000, 10);
  CHECK_EQ_INT(decide(rig.s, &rates, choices, 1), 0);
  CHECK_EQ_INT(choices[6].other, 2);
  CHECK_NEAR(choices[6].other_us, 1e5 + 72e5 / 1000, 100);
  CHECK(rig_end(&rig));
}

SMR_TEST(a_region_must_be_worth_its_wait) {
  struct rig rig = begin(RIG_SYMBOLIC);
  struct smr_device_choice choices[NODES];
  // Three nodes before "host_neg" and the one after it save 1 ms each.
  struct smr_rates rates = {.host = all_of(1000000, 1000000000), .device = all_of(1, 1000000000)};
  static const struct {
    uint64_t wait_ns;
    uint32_t moved;
  } waits[] = {{0, 4}, {700000, 4}, {900000, 3}, {2400000, 3}, {2600000, 0}};
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
    rates.device.wait_ns = waits[i].wait_ns;
    memset(choices, 0, sizeof choices);
    CHECK_EQ_INT(decide(rig.s, &rates, choices, 0), waits[i].moved);
  }
  // A copy to the host takes 1.2 ms. "mul" stays on the CPU, so "relu" must be copied to the host
  // too. The first region then pays with a wait of 0 ms, but not with 0.5 ms.
  rates.device.from_device = 27;
  for (uint64_t wait_ns = 0; wait_ns <= 500000; wait_ns += 500000) {
    rates.device.wait_ns = wait_ns;
    memset(choices, 0, sizeof choices);
    CHECK_EQ_INT(decide(rig.s, &rates, choices, 0), wait_ns == 0 ? 3 : 0);
  }
  CHECK(rig_end(&rig));
}

SMR_TEST(variables_that_stay_cost_no_copies) {
  struct rig rig = begin(RIG_STAY);
  struct smr_device_choice choices[LITERAL_NODES];
  // A node saves 1 ms, and copying 16 bytes takes 1.23 ms. So "mul" and "sigmoid" do not pay for a
  // copy of G and P, "mul_q" not for what the host makes, "neg" not for the user's input.
  struct smr_rates rates = {.host = all_of(1000000, 1000000000), .device = all_of(1, 1000000000)};
  rates.device.to_device = 13;
  memset(choices, 0, sizeof choices);
  CHECK_EQ_INT(decide(rig.s, &rates, choices, 0), 9);
  for (uint32_t n = 0; n < rig.s->function->node_count; n++) {
    const char *name = rig.s->function->nodes[n].name;
    const bool stays =
        strcmp(name, "host_abs") == 0 || strcmp(name, "mul_q") == 0 || strcmp(name, "neg") == 0;
    CHECK_EQ_INT(choices[n].space, stays ? 0 : 1);
  }
  CHECK(rig_end(&rig));
}

// No copy in a direction without a rate is made.
static void check_copies(const struct smr_frame *frame, const struct smr_device_choice *choices,
                         const samara_rates *rates) {
  const struct smr_function *f = frame->function;
  for (uint32_t n = 0; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++) {
      const int32_t x = f->nodes[n].inputs[i];
      if (x < 0 || f->values[x].constant >= 0) continue;
      const int32_t maker = f->values[x].producer;
      const bool there = maker >= 0 && choices[maker].space != 0;
      if (rates->to_device == 0) CHECK(there || choices[n].space == 0);
      if (rates->from_device == 0) CHECK(!there || choices[n].space != 0);
    }
  for (uint32_t i = 0; i < f->output_count; i++) {
    const int32_t maker = f->values[f->outputs[i]].producer;
    if (rates->from_device == 0 && maker >= 0) CHECK_EQ_INT(choices[maker].space, 0);
  }
}

// How many of the nodes that moved are views, which cost nothing.
static uint32_t moved_views(const struct smr_frame *frame,
                            const struct smr_device_choice *choices) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < frame->function->node_count; n++)
    count += choices[n].space != 0 && smr_region_is_view(frame, frame->nodes[n].node);
  return count;
}

SMR_TEST(no_rates_break_anything) {
  // Every rate is one of these.
  static const uint64_t any[] = {0, 1, 1000, 1000000000, UINT64_MAX / 10, UINT64_MAX};
  enum { ANY = sizeof any / sizeof *any };
  for (int which = 0; which < RIG_MODELS; which++) {
    uint32_t state = 1;
    struct rig rig = begin((enum rig_model)which);
    for (int round = 0; round < 100; round++) {
      struct smr_device_choice choices[LITERAL_NODES];
      struct smr_rates rates;
      uint64_t *numbers = (uint64_t *)&rates;
      memset(choices, 0, sizeof choices);
      for (size_t i = 0; i < sizeof rates / sizeof *numbers; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = any[(state >> 8) % ANY];
      }
      const uint32_t moved = decide(rig.s, &rates, choices, 0);
      check_copies(rig.s->entry, choices, &rates.device);
      // Without a memory rate, or with endless launches, only views move.
      const bool never =
          rates.device.memory == 0 || (rates.device.launch_ns >= UINT64_MAX / 10 &&
                                       rates.host.launch_ns <= 1000 && rates.host.memory >= 1000);
      if (never) CHECK_EQ_INT(moved, moved_views(rig.s->entry, choices));
      for (uint32_t n = 0; n < rig.s->function->node_count; n++)
        CHECK(choices[n].cost_us >= 0 && choices[n].cost_us < 1e10);
    }
    CHECK(rig_end(&rig));
  }
}

SMR_TEST_MAIN(RUN(what_gains_moves); RUN(a_region_must_be_worth_its_wait);
              RUN(variables_that_stay_cost_no_copies); RUN(no_rates_break_anything))
