// SPDX-License-Identifier: Apache-2.0
// Sessions that move to their devices by themselves if that pays, between two runs, and back.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>

#include "base/os.h"
#include "session/device/device_rig.h"
#include "session/device/rates.h"

static char fast[128], slow[128];  // files of rates
static const char *folder;

static void write_rates(char *path, size_t size, const char *name, uint64_t host_per_ms,
                        uint64_t device_per_ms) {
  struct smr_rates rates = {.host = {.launch_ns = 1000000000 / host_per_ms,
                                     .product_float32 = host_per_ms,
                                     .product_float16 = host_per_ms,
                                     .product_int8 = host_per_ms,
                                     .depthwise = host_per_ms,
                                     .memory = host_per_ms}};
  rates.device = rates.host;
  rates.device.launch_ns = 1000000000 / device_per_ms;
  rates.device.memory = rates.device.to_device = rates.device.from_device = device_per_ms;
  const samara_allocator allocator = smr_allocator(NULL);
  snprintf(path, size, "%s/%s.txt", folder, name);
  CHECK_EQ_INT(smr_rates_write(path, &allocator, &rates, NULL), SAMARA_OK);
}

static void begin(void) {
  rig_reset();
  folder = rig_folder();
  if (folder == NULL) abort();
  write_rates(fast, sizeof fast, "fast", 1000, 1000000000);
  write_rates(slow, sizeof slow, "slow", 1000000000, 1000);
  rig_settings.rates_file = fast;
}

static void end(void) {
  CHECK_EQ_INT(mirror_live(), 0);
  rig_remove(folder);
}

static const samara_session_options wait_for_it = {.backend_auto = true, .backend_wait = true};
static const samara_session_options at_once = {.backend_auto = true};

// Run until the session is settled, for 5 s at most, and compare each run with the CPU.
static uint32_t run_until_settled(samara_session *cpu, samara_session *s) {
  const uint64_t start = smr_os_now_ns();
  uint32_t runs = 0;
  while (!rig_report(s).settled && smr_os_now_ns() - start < 5000000000u)
    if (!CHECK(rig_same(cpu, s, runs++))) return runs;
  CHECK(rig_report(s).settled);
  return runs;
}

// ---- where it pays ----

SMR_TEST(a_fast_device_takes_all_that_it_can) {
  begin();
  for (int which = 0; which < RIG_MODELS; which++) {
    struct rig rig = rig_start((enum rig_model)which, 1, wait_for_it);
    samara_session *cpu = rig.cpu, *s = rig.s;
    CHECK(rig_report(s).settled);
    // Copies of a growing function have no known cost, but inner nodes can move.
    CHECK(rig_report(s).active || which == RIG_GROWING);
    for (uint32_t run = 0; run < 4; run++) CHECK(rig_same(cpu, s, run));
    CHECK_STR(rig_report(s).failure, "");
    CHECK(rig_report(s).device_runs == 4 || which == RIG_GROWING);
    CHECK(rig_end(&rig));
  }
  end();
}

SMR_TEST(costs_are_the_reasons) {
  begin();
  for (int is_fast = 0; is_fast < 2; is_fast++) {
    rig_settings.rates_file = is_fast ? fast : slow;
    struct rig rig = rig_start(RIG_CHAIN, 1, wait_for_it);
    samara_session *s = rig.s;
    samara_placement_row rows[16];
    size_t count = 0;
    CHECK_EQ_INT(samara_session_placement(s, rows, 16, &count), SAMARA_OK);
    CHECK_EQ_INT(count, 10);
    for (size_t i = 0; i < count; i++) {
      const bool stays =
          strncmp(rows[i].node, "host", 4) == 0 || strncmp(rows[i].node, "two", 3) == 0;
      CHECK_STR(rows[i].device, is_fast && !stays ? "mirror:0" : "cpu");
      CHECK(rows[i].cost_us > 0 || strcmp(rows[i].op, "reshape") == 0);
      if (stays) {
        CHECK_STR(rows[i].reason, "the test wants it elsewhere");
        CHECK(rows[i].runner_up == NULL);
      } else {
        CHECK_STR(rows[i].reason, is_fast ? "the device is faster" : "the CPU is faster");
        CHECK_STR(rows[i].runner_up, is_fast ? "cpu" : "mirror:0");
        CHECK(rows[i].runner_up_us > rows[i].cost_us || strcmp(rows[i].op, "reshape") == 0);
      }
    }
    CHECK_EQ_INT(rig_report(s).active, is_fast);
    CHECK_EQ_INT(rig_report(s).regions, is_fast ? 3 : 0);
    CHECK_EQ_INT(mirror_calls("compile") != 0, is_fast);
    CHECK(rig_end(&rig));
  }
  end();
}

SMR_TEST(several_devices_share_a_model) {
  begin();
  struct rig rig = rig_bare(rig_model(RIG_CHAIN), 2);
  samara_backend_close(rig.devices[0]);
  rig.devices[0] = rig_open(0, NULL, slow);
  samara_session *cpu = rig.cpu, *s = rig_again(&rig, wait_for_it);
  samara_placement_row rows[16];
  size_t count = 0;
  CHECK_EQ_INT(samara_session_placement(s, rows, 16, &count), SAMARA_OK);
  for (size_t i = 0; i < count; i++) {
    const bool stays =
        strncmp(rows[i].node, "host", 4) == 0 || strncmp(rows[i].node, "one", 3) == 0;
    CHECK_STR(rows[i].device, stays ? "cpu" : "mirror:1");
    if (strncmp(rows[i].node, "one", 3) == 0) CHECK_STR(rows[i].runner_up, "mirror:0");
    if (!stays) CHECK_STR(rows[i].runner_up, "cpu");
  }
  for (uint32_t run = 0; run < 3; run++) CHECK(rig_same(cpu, s, run));
  CHECK(rig_end(&rig));
  end();
}

// ---- in a thread ----

SMR_TEST(runs_go_on_while_a_device_gets_ready) {
  begin();
  for (int keeps = 0; keeps < 2; keeps++) {
    samara_session_options options = at_once;
    options.keep = (const char *const[]){"relu"};
    options.keep_count = (size_t)keeps;
    mirror_slow(UINT64_MAX);
    struct rig rig = rig_start(RIG_SYMBOLIC, 1, options);
    samara_session *cpu = rig.cpu, *s = rig.s;
    samara_placement_row rows[8];
    size_t count = 0;
    float bound[8];
    CHECK(!rig_report(s).settled && !rig_report(s).active);
    CHECK_EQ_INT(rig_report(s).regions, 0);
    CHECK_EQ_INT(samara_session_bind_output(s, 0, bound, sizeof bound), SAMARA_OK);
    while (mirror_calls("compile") == 0 && !rig_report(s).settled) CHECK(rig_same(cpu, s, 1));
    CHECK_EQ_INT(samara_session_placement(s, rows, 8, &count), SAMARA_OK);
    CHECK_STR(rows[0].device, "cpu");
    CHECK_STR(rows[0].reason, "its device is not ready yet");
    CHECK_STR(rows[0].runner_up, "mirror:0");
    CHECK(rows[0].cost_us > rows[0].runner_up_us);
    mirror_slow(0);
    CHECK(run_until_settled(cpu, s) >= 1);
    CHECK(rig_report(s).active && rig_report(s).device_runs != 0);
    // Bound outputs stay bound, and kept tensors stay kept.
    samara_tensor t;
    CHECK_EQ_INT(samara_session_output(s, 0, &t), SAMARA_OK);
    CHECK(t.data == bound);
    CHECK(rig_same(cpu, s, 77));
    CHECK_EQ_INT(samara_session_kept(s, "relu", &t), keeps ? SAMARA_OK : SAMARA_NOT_FOUND);
    CHECK_EQ_INT(samara_session_placement(s, rows, 8, &count), SAMARA_OK);
    CHECK_STR(rows[0].device, "mirror:0");
    CHECK_STR(rows[0].reason, "the device is faster");
    CHECK_STR(rig_report(s).failure, "");
    CHECK(rig_end(&rig));
    mirror_reset();
  }
  end();
}

SMR_TEST(resizes_go_on_while_a_device_gets_ready) {
  begin();
  mirror_slow(10000000);
  struct rig rig = rig_start(RIG_SYMBOLIC, 1, at_once);
  samara_session *cpu = rig.cpu, *s = rig.s;
  const uint64_t start = smr_os_now_ns();
  for (int64_t n = 0; !rig_report(s).settled && smr_os_now_ns() - start < 5000000000u; n++) {
    const int64_t dim = 1 + n % 8;
    CHECK_EQ_INT(literal_resize(cpu, 0, dim), SAMARA_OK);
    CHECK_EQ_INT(literal_resize(s, 0, dim), SAMARA_OK);
    CHECK(rig_same(cpu, s, (uint32_t)n));
  }
  CHECK(rig_report(s).active);
  CHECK(rig_same(cpu, s, 5));
  CHECK(rig_end(&rig));
  end();
}

SMR_TEST(a_session_may_end_while_its_device_gets_ready) {
  begin();
  struct rig rig = rig_bare(rig_model(RIG_CHAIN), 1);
  for (int runs = 0; runs < 4; runs++) {
    mirror_slow(5000000);
    samara_session *s = rig_again(&rig, at_once);
    while (runs != 0 && mirror_calls("compile") == 0) CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    for (int i = 1; i < runs; i++) CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    rig_destroy(&rig);
    CHECK_EQ_INT(mirror_live(), 1);
    mirror_reset();
  }
  CHECK(rig_end(&rig));
  end();
}

// ---- rates ----

SMR_TEST(rates_are_measured_once_and_kept) {
  static const samara_rates nothing = {.launch_ns = 0};
  begin();
  rig_settings.rates = &nothing;
  rig_settings.rates_file = NULL;
  rig_settings.cache_folder = folder;
  struct rig rig = rig_bare(rig_model(RIG_CHAIN), 1);
  for (int i = 0; i < 3; i++) {
    mirror_reset();
    samara_session *s = rig_again(&rig, wait_for_it);
    CHECK(rig_report(s).settled);
    CHECK_STR(rig_report(s).failure, "");
    CHECK_EQ_INT(mirror_calls("submit") != 0, i == 0);
    CHECK(s->common.devices->settling.rates[0].device.product_float32 != 0);
    CHECK(s->common.devices->settling.rates[0].device.wait_ns != 0);
    CHECK(s->common.devices->settling.rates[0].host.memory != 0);
    rig_destroy(&rig);
    if (i != 1) continue;
    samara_backend_close(rig.devices[0]);
    rig.devices[0] = rig_open(0, folder, NULL);
  }
  CHECK(rig_end(&rig));
  end();
}

SMR_TEST(a_bad_file_of_rates_leaves_the_session_on_the_cpu) {
  begin();
  for (int i = 0; i < 2; i++) {
    FILE *f = i == 0 ? NULL : fopen(fast, "w");
    if (f != NULL) fclose(f);
    rig_settings.rates_file = i == 0 ? "no such file" : fast;
    struct rig rig = rig_start(RIG_CHAIN, 1, i == 0 ? wait_for_it : at_once);
    samara_session *cpu = rig.cpu, *s = rig.s;
    run_until_settled(cpu, s);
    CHECK_CONTAINS(rig_report(s).failure, "mirror:0: measuring: ");
    CHECK_CONTAINS(rig_report(s).failure, i == 0 ? "no such file: cannot open" : "fast.txt: ");
    CHECK(!rig_report(s).active);
    CHECK(rig_same(cpu, s, 1));
    CHECK(rig_end(&rig));
  }
  end();
}

// ---- failures ----

SMR_TEST(a_device_may_fail_before_it_is_ready) {
  static const char *const functions[] = {"supports", "compile", "load",
                                          "allocate", "copy",    "submit"};
  begin();
  for (int form = 0; form < 2; form++)
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
      bool failed = true;
      for (int k = 1; failed; k++) {
        mirror_reset();
        mirror_fail(functions[i], k);
        struct rig rig = rig_start(RIG_CHAIN, 1, form == 0 ? wait_for_it : at_once);
        samara_session *cpu = rig.cpu, *s = rig.s;
        run_until_settled(cpu, s);
        for (uint32_t run = 0; run < 3; run++) CHECK(rig_same(cpu, s, run));
        failed = mirror_calls(functions[i]) >= k;
        if (i != 0) CHECK_EQ_INT(rig_report(s).active, !failed);
        if (i != 0 && failed) CHECK_EQ_INT(mirror_live(), 1);
        CHECK(rig_end(&rig));
      }
    }
  end();
}

SMR_TEST(measuring_may_fail_at_any_call) {
  static const samara_rates nothing = {.launch_ns = 0};
  static const char *const functions[] = {"supports", "compile", "load",
                                          "allocate", "copy",    "submit"};
  rig_reset();
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    // Try a few of the many calls: how many there are depends on the speed.
    const bool often = strcmp(functions[i], "submit") == 0 || strcmp(functions[i], "copy") == 0;
    const int step = often ? 97 : 1;
    bool failed = true;
    for (int k = 1; failed; k += step) {
      samara_rates rates = nothing;
      samara_error error = {.text = ""};
      mirror_reset();
      samara_backend *device = rig_open(0, NULL, NULL);
      const int live = mirror_live();
      mirror_fail(functions[i], k);
      const samara_status status = smr_rates_measure_device(device, &rates, &error);
      failed = mirror_calls(functions[i]) >= k;
      CHECK_EQ_INT(status, failed && i != 0 ? SAMARA_BACKEND : SAMARA_OK);
      CHECK_EQ_INT(mirror_live(), live);
      samara_backend_close(device);
    }
  }
  CHECK_EQ_INT(mirror_live(), 0);
}

static bool check_hunger(struct rig *rig, size_t k, samara_session_options options,
                         const char *fails) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  memory.fail_at = k;
  memory.stays_out = k % 2;
  options.allocator = &memory.allocator;
  samara_session *s = NULL;
  const samara_status made = rig_try(rig->model, rig->devices, 1, options, &s);
  CHECK(made == SAMARA_OK || made == SAMARA_OUT_OF_MEMORY);
  CHECK_EQ_INT(samara_session_reset(rig->cpu), SAMARA_OK);
  const uint64_t start = smr_os_now_ns();
  bool settled = false;
  for (uint32_t run = 0; s != NULL && smr_os_now_ns() - start < 5000000000u; run++) {
    if (rig_report(s).settled && fails != NULL) mirror_fail(fails, 1);
    CHECK(rig_hungry(rig->cpu, s, run, &memory));
    if (settled) break;
    settled = rig_report(s).settled;
  }
  CHECK(s == NULL || settled);
  const bool failed = memory.calls >= k;
  samara_session_destroy(s);
  CHECK_EQ_INT(memory.live, 0);
  CHECK_EQ_INT(mirror_live(), 1);
  mirror_reset();
  return failed;
}

SMR_TEST(the_host_may_have_no_memory_at_any_allocation) {
  static const enum rig_model models[] = {RIG_CHAIN, RIG_IF, RIG_READ, RIG_STATE};
  static const char *const fails[] = {NULL, "submit", "allocate"};
  begin();
  for (size_t m = 0; m < sizeof models / sizeof *models; m++)
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++)
      for (int form = 0; form < 2; form++) {
        struct rig rig = rig_bare(rig_model(models[m]), 1);
        // Kept tensors of a callee lie in separate blocks.
        samara_session_options options = form == 0 ? wait_for_it : at_once;
        options.keep_all = i != 1;
        for (size_t k = 1; check_hunger(&rig, k, options, fails[i]); k++) continue;
        CHECK(rig_end(&rig));
      }
  end();
}

SMR_TEST_MAIN(RUN(a_fast_device_takes_all_that_it_can); RUN(costs_are_the_reasons);
              RUN(several_devices_share_a_model); RUN(runs_go_on_while_a_device_gets_ready);
              RUN(resizes_go_on_while_a_device_gets_ready);
              RUN(a_session_may_end_while_its_device_gets_ready);
              RUN(rates_are_measured_once_and_kept);
              RUN(a_bad_file_of_rates_leaves_the_session_on_the_cpu);
              RUN(a_device_may_fail_before_it_is_ready); RUN(measuring_may_fail_at_any_call);
              RUN(the_host_may_have_no_memory_at_any_allocation))
