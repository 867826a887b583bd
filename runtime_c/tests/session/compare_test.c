// SPDX-License-Identifier: Apache-2.0
// Sessions that compare their runs on the CPU and on devices: what they decide, and the bits of
// every run on the way. Times are replaced, so that the tests know which side wins.
#include "base/fp.h"

#include "harness.h"

#include "base/os.h"
#include "session/device/device_rig.h"

static const samara_session_options compare_options[] = {
    {.backend_auto = true}, {.backend_auto = true, .backend_wait = true}};

// The device states that it is far faster than any CPU. The session measures the CPU's rates.
static const samara_rates compare_fast = {.launch_ns = 1,
                                          .wait_ns = 1,
                                          .copy_ns = 1,
                                          .product_ns = 1,
                                          .product_float32 = 1000000000000,
                                          .product_float16 = 1000000000000,
                                          .product_int8 = 1000000000000,
                                          .depthwise = 1000000000000,
                                          .memory = 1000000000000,
                                          .to_device = 1000000000000,
                                          .from_device = 1000000000000};

static const char *folder;  // caches the CPU's rates, which are measured once

static void begin(void) {
  rig_reset();
  rig_settings.rates = &compare_fast;
  if (folder == NULL) folder = rig_folder();
  if (folder == NULL) abort();
  rig_settings.cache_folder = folder;
}

static struct smr_settling *settling_of(const samara_session *s) {
  return &s->common.devices->settling;
}

// Run once, compare with the CPU, and pretend that one side took 1 ns.
static bool compare_run(samara_session *cpu, samara_session *s, uint32_t seed, bool device_wins) {
  if (!rig_same(cpu, s, seed)) return false;
  if (settling_of(s)->compared[device_wins].runs > 2)
    settling_of(s)->compared[device_wins].least_ns = 1;
  return true;
}

// Run until all is decided. Returns how many runs that took.
static uint32_t compare_runs(samara_session *cpu, samara_session *s, bool device_wins) {
  uint32_t runs = 0;
  const uint64_t start = smr_os_now_ns();
  while (!rig_report(s).settled && smr_os_now_ns() - start < 20000000000u)
    if (!CHECK(compare_run(cpu, s, runs++, device_wins))) break;
  CHECK(rig_report(s).settled);
  return runs;
}

SMR_TEST(the_faster_side_is_kept) {
  for (int which = 0; which < RIG_MODELS; which++)
    for (int form = 0; form < 4; form++) {
      const bool wins = form % 2, waits = form / 2;
      begin();
      struct rig rig = rig_start((enum rig_model)which, 1, compare_options[waits]);
      samara_session *cpu = rig.cpu, *s = rig.s;
      CHECK(!rig_report(s).settled || which == RIG_GROWING);
      CHECK(rig_report(s).active == waits || which == RIG_GROWING);
      const uint32_t runs = compare_runs(cpu, s, wins);
      CHECK(runs >= 14 || which == RIG_GROWING);
      for (uint32_t run = 0; run < 20; run++) CHECK(rig_same(cpu, s, runs + run));
      CHECK(rig_report(s).active == wins || which == RIG_GROWING);
      CHECK_STR(rig_report(s).failure, "");
      CHECK_EQ_INT(rig_report(s).repeated, 0);
      if (!wins) CHECK_EQ_INT(mirror_live(), 1);  // the device itself
      CHECK(rig_end(&rig));
    }
}

SMR_TEST(reasons_say_who_was_faster) {
  for (int wins = 0; wins < 2; wins++) {
    begin();
    struct rig rig = rig_start(RIG_SYMBOLIC, 1, compare_options[0]);
    samara_session *cpu = rig.cpu, *s = rig.s;
    samara_placement_row rows[8];
    size_t count = 0;
    bool compared = false;
    for (uint32_t run = 0; run < 10000000 && !rig_report(s).settled; run++) {
      CHECK(compare_run(cpu, s, run, wins));
      if (rig_report(s).active || settling_of(s)->phase != SMR_SETTLING_COMPARING) continue;
      CHECK_EQ_INT(samara_session_placement(s, rows, 8, &count), SAMARA_OK);
      CHECK_STR(rows[0].reason, "runs here and on its device are being compared");
      compared = true;
    }
    CHECK(compared);
    CHECK_EQ_INT(samara_session_placement(s, rows, 8, &count), SAMARA_OK);
    CHECK_STR(rows[0].device, wins ? "mirror:0" : "cpu");
    CHECK_STR(rows[0].reason,
              wins ? "the device is faster" : "runs on its device took longer than on the CPU");
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(runs_with_other_dims_are_not_compared) {
  begin();
  struct rig rig = rig_start(RIG_SYMBOLIC, 1, compare_options[1]);
  samara_session *cpu = rig.cpu, *s = rig.s;
  uint32_t runs = 0;
  for (; runs < 100 && !rig_report(s).settled; runs++) {
    const int64_t dim = 1 + runs % 8;
    CHECK_EQ_INT(literal_resize(cpu, 0, dim), SAMARA_OK);
    CHECK_EQ_INT(literal_resize(s, 0, dim), SAMARA_OK);
    CHECK(rig_same(cpu, s, runs));
    CHECK(rig_report(s).active);
    CHECK(settling_of(s)->compared[1].runs <= 1);
  }
  // After enough runs without a comparison the rates decide.
  CHECK_EQ_INT(runs, 65);
  CHECK(rig_report(s).settled && rig_report(s).active);
  CHECK(rig_same(cpu, s, 5));
  CHECK(rig_end(&rig));
}

SMR_TEST(runs_that_somebody_looks_at_do_not_count) {
  begin();
  samara_session_options options = compare_options[1];
  options.profile = true;
  struct rig rig = rig_start(RIG_CHAIN, 1, options);
  samara_session *cpu = rig.cpu, *s = rig.s;
  for (uint32_t run = 0; run < 20; run++) CHECK(rig_same(cpu, s, run));
  CHECK(!rig_report(s).settled && rig_report(s).active);
  CHECK_EQ_INT(settling_of(s)->compared[1].runs, 0);
  s->profile.on = false;
  CHECK_EQ_INT(compare_runs(cpu, s, false), 15);  // the last one begins with the change
  CHECK(!rig_report(s).active);
  CHECK(rig_end(&rig));
}

// Every call of the device fails in turn, in every run of a session that compares.
SMR_TEST(a_device_may_fail_in_every_run) {
  static const char *const functions[] = {"copy", "submit"};
  static const enum rig_model models[] = {RIG_CHAIN, RIG_STAY};
  for (size_t m = 0; m < 2; m++)
    for (size_t i = 0; i < 2; i++)
      for (uint32_t at = 0; at < 24; at++) {
        begin();
        struct rig rig = rig_start(models[m], 1, compare_options[1]);
        samara_session *cpu = rig.cpu, *s = rig.s;
        for (uint32_t run = 0; run < 32; run++) {
          if (run == at) mirror_fail(functions[i], mirror_calls(functions[i]) + 1);
          CHECK(compare_run(cpu, s, run, true));
        }
        CHECK(rig_report(s).settled);
        const bool failed = rig_report(s).failure[0] != '\0';
        CHECK_EQ_INT(rig_report(s).active, !failed);
        CHECK(failed || at >= 7);  // in the first runs the device is in use
        CHECK(rig_end(&rig));
      }
}

// Every allocation of the host fails in turn: before, during and after the comparison.
static bool compare_hunger(struct rig *rig, size_t k, bool wins) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  memory.fail_at = k;
  memory.stays_out = k % 2;
  samara_session_options options = compare_options[1];
  options.allocator = &memory.allocator;
  samara_session *s = NULL;
  const samara_status made = rig_try(rig->model, rig->devices, 1, options, &s);
  CHECK(made == SAMARA_OK || made == SAMARA_OUT_OF_MEMORY);
  CHECK_EQ_INT(samara_session_reset(rig->cpu), SAMARA_OK);
  for (uint32_t run = 0; s != NULL && run < 20; run++) {
    CHECK(rig_hungry(rig->cpu, s, run, &memory));
    if (settling_of(s)->compared[wins].runs > 2) settling_of(s)->compared[wins].least_ns = 1;
  }
  CHECK(s == NULL || rig_report(s).settled);
  const bool failed = memory.calls >= k;
  samara_session_destroy(s);
  CHECK_EQ_INT(memory.live, 0);
  CHECK_EQ_INT(mirror_live(), 1);
  return failed;
}

SMR_TEST(the_host_may_have_no_memory_while_it_compares) {
  static const enum rig_model models[] = {RIG_CHAIN, RIG_READ, RIG_STAY};
  for (size_t m = 0; m < sizeof models / sizeof *models; m++)
    for (int wins = 0; wins < 2; wins++) {
      begin();
      struct rig rig = rig_bare(rig_model(models[m]), 1);
      for (size_t k = 1; compare_hunger(&rig, k, wins); k++) continue;
      CHECK(rig_end(&rig));
    }
}

// A device that reports bad data in one run is still compared.
SMR_TEST(data_that_is_blamed_does_not_end_it) {
  for (int wins = 0; wins < 2; wins++)
    for (uint32_t at = 0; at < 7; at++) {  // in these runs the device is in use
      begin();
      struct rig rig = rig_start(RIG_STAY, 1, compare_options[1]);
      samara_session *cpu = rig.cpu, *s = rig.s;
      mirror_blame();
      for (uint32_t run = 0; run < 32; run++) {
        if (run == at) mirror_fail("submit", 1);
        CHECK(compare_run(cpu, s, run, wins));
      }
      CHECK(rig_report(s).settled);
      CHECK_EQ_INT(rig_report(s).repeated, 1);
      CHECK_EQ_INT(rig_report(s).active, wins);
      CHECK(rig_end(&rig));
    }
}

SMR_TEST_MAIN(RUN(the_faster_side_is_kept); RUN(reasons_say_who_was_faster);
              RUN(runs_with_other_dims_are_not_compared);
              RUN(runs_that_somebody_looks_at_do_not_count); RUN(a_device_may_fail_in_every_run);
              RUN(data_that_is_blamed_does_not_end_it);
              RUN(the_host_may_have_no_memory_while_it_compares); rig_remove(folder))
