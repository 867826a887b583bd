// SPDX-License-Identifier: Apache-2.0
// Sessions that go over to their devices by themselves: where it pays, between two runs, and back.
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
}

static void end(void) {
  CHECK_EQ_INT(mirror_live(), 0);
  rig_remove(folder);
}

static const samara_session_options wait_for_it = {.backend_auto = true, .backend_wait = true};
static const samara_session_options at_once = {.backend_auto = true};

// Run until the session is settled, for a second at most; each run has the bits of the CPU.
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
    const samara_model *model;
    struct literal *l = rig_model((enum rig_model)which, &model);
    samara_backend *device = rig_open(0, NULL, fast);
    samara_session *cpu = rig_session(model, NULL, 0, (samara_session_options){0});
    samara_session *s = rig_session(model, &device, 1, wait_for_it);
    REQUIRE(cpu != NULL && s != NULL);
    CHECK(rig_report(s).settled);
    // A growing function has no costs of copies, but nodes between others can move.
    CHECK(rig_report(s).active || which == RIG_GROWING);
    for (uint32_t run = 0; run < 4; run++) CHECK(rig_same(cpu, s, run));
    CHECK_STR(rig_report(s).failure, "");
    CHECK(rig_report(s).device_runs == 4 || which == RIG_GROWING);
    samara_session_destroy(s);
    samara_session_destroy(cpu);
    samara_backend_close(device);
    literal_free(l);
  }
  end();
}

SMR_TEST(costs_are_the_reasons) {
  const samara_model *model;
  begin();
  struct literal *l = rig_model(RIG_CHAIN, &model);
  for (int is_fast = 0; is_fast < 2; is_fast++) {
    samara_backend *device = rig_open(0, NULL, is_fast ? fast : slow);
    samara_session *s = rig_session(model, &device, 1, wait_for_it);
    REQUIRE(s != NULL);
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
    samara_session_destroy(s);
    samara_backend_close(device);
  }
  literal_free(l);
  end();
}

SMR_TEST(several_devices_share_a_model) {
  const samara_model *model;
  begin();
  struct literal *l = rig_model(RIG_CHAIN, &model);
  samara_backend *all[] = {rig_open(0, NULL, slow), rig_open(1, NULL, fast)};
  samara_session *cpu = rig_session(model, NULL, 0, (samara_session_options){0});
  samara_session *s = rig_session(model, all, 2, wait_for_it);
  REQUIRE(cpu != NULL && s != NULL);
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
  samara_session_destroy(s);
  samara_session_destroy(cpu);
  samara_backend_close(all[0]);
  samara_backend_close(all[1]);
  literal_free(l);
  end();
}

// ---- in a thread ----

SMR_TEST(runs_go_on_while_a_device_gets_ready) {
  const samara_model *model;
  begin();
  for (int keeps = 0; keeps < 2; keeps++) {
    struct literal *l = rig_model(RIG_SYMBOLIC, &model);
    samara_backend *device = rig_open(0, NULL, fast);
    samara_session *cpu = rig_session(model, NULL, 0, (samara_session_options){0});
    samara_session_options options = at_once;
    options.keep = (const char *const[]){"relu"};
    options.keep_count = (size_t)keeps;
    mirror_slow(UINT64_MAX);
    samara_session *s = rig_session(model, &device, 1, options);
    REQUIRE(cpu != NULL && s != NULL);
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
    // What was bound before is bound still, and what is kept is kept.
    samara_tensor t;
    CHECK_EQ_INT(samara_session_output(s, 0, &t), SAMARA_OK);
    CHECK(t.data == bound);
    CHECK(rig_same(cpu, s, 77));
    CHECK_EQ_INT(samara_session_kept(s, "relu", &t), keeps ? SAMARA_OK : SAMARA_NOT_FOUND);
    CHECK_EQ_INT(samara_session_placement(s, rows, 8, &count), SAMARA_OK);
    CHECK_STR(rows[0].device, "mirror:0");
    CHECK_STR(rows[0].reason, "the device is faster");
    CHECK_STR(rig_report(s).failure, "");
    samara_session_destroy(s);
    samara_session_destroy(cpu);
    samara_backend_close(device);
    literal_free(l);
    mirror_reset();
  }
  end();
}

SMR_TEST(resizes_go_on_while_a_device_gets_ready) {
  const samara_model *model;
  begin();
  struct literal *l = rig_model(RIG_SYMBOLIC, &model);
  samara_backend *device = rig_open(0, NULL, fast);
  samara_session *cpu = rig_session(model, NULL, 0, (samara_session_options){0});
  mirror_slow(10000000);
  samara_session *s = rig_session(model, &device, 1, at_once);
  REQUIRE(cpu != NULL && s != NULL);
  const uint64_t start = smr_os_now_ns();
  for (int64_t n = 0; !rig_report(s).settled && smr_os_now_ns() - start < 5000000000u; n++) {
    const int64_t dim = 1 + n % 8;
    const int64_t *shapes[] = {&dim};
    CHECK_EQ_INT(samara_session_resize(cpu, shapes, 1), SAMARA_OK);
    CHECK_EQ_INT(samara_session_resize(s, shapes, 1), SAMARA_OK);
    CHECK(rig_same(cpu, s, (uint32_t)n));
  }
  CHECK(rig_report(s).active);
  CHECK(rig_same(cpu, s, 5));
  samara_session_destroy(s);
  samara_session_destroy(cpu);
  samara_backend_close(device);
  literal_free(l);
  end();
}

SMR_TEST(a_session_may_end_while_its_device_gets_ready) {
  const samara_model *model;
  begin();
  struct literal *l = rig_model(RIG_CHAIN, &model);
  samara_backend *device = rig_open(0, NULL, fast);
  for (int runs = 0; runs < 4; runs++) {
    mirror_slow(5000000);
    samara_session *s = rig_session(model, &device, 1, at_once);
    REQUIRE(s != NULL);
    while (runs != 0 && mirror_calls("compile") == 0) CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    for (int i = 1; i < runs; i++) CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    samara_session_destroy(s);
    CHECK_EQ_INT(mirror_live(), 1);
    mirror_reset();
  }
  samara_backend_close(device);
  literal_free(l);
  end();
}

// ---- rates ----

SMR_TEST(rates_are_measured_once_and_kept) {
  static const samara_rates nothing = {.launch_ns = 0};
  const samara_model *model;
  begin();
  struct literal *l = rig_model(RIG_CHAIN, &model);
  rig_settings.rates = &nothing;
  samara_backend *device = rig_open(0, folder, NULL);
  for (int i = 0; i < 3; i++) {
    mirror_reset();
    samara_session *s = rig_session(model, &device, 1, wait_for_it);
    REQUIRE(s != NULL);
    CHECK(rig_report(s).settled);
    CHECK_STR(rig_report(s).failure, "");
    CHECK_EQ_INT(mirror_calls("submit") != 0, i == 0);
    CHECK(s->common.devices->settling.rates[0].device.product_float32 != 0);
    CHECK(s->common.devices->settling.rates[0].device.wait_ns != 0);
    CHECK(s->common.devices->settling.rates[0].host.memory != 0);
    samara_session_destroy(s);
    if (i != 1) continue;
    samara_backend_close(device);
    device = rig_open(0, folder, NULL);
  }
  samara_backend_close(device);
  literal_free(l);
  end();
}

SMR_TEST(a_bad_file_of_rates_leaves_the_session_on_the_cpu) {
  const samara_model *model;
  begin();
  struct literal *l = rig_model(RIG_CHAIN, &model);
  samara_session *cpu = rig_session(model, NULL, 0, (samara_session_options){0});
  for (int i = 0; i < 2; i++) {
    FILE *f = i == 0 ? NULL : fopen(fast, "w");
    if (f != NULL) fclose(f);
    samara_backend *device = rig_open(0, NULL, i == 0 ? "no such file" : fast);
    samara_session *s = rig_session(model, &device, 1, i == 0 ? wait_for_it : at_once);
    REQUIRE(cpu != NULL && s != NULL);
    run_until_settled(cpu, s);
    CHECK_CONTAINS(rig_report(s).failure, "mirror:0: measuring: ");
    CHECK_CONTAINS(rig_report(s).failure, i == 0 ? "no such file: cannot open" : "fast.txt: ");
    CHECK(!rig_report(s).active);
    CHECK(rig_same(cpu, s, 1));
    samara_session_destroy(s);
    samara_backend_close(device);
  }
  samara_session_destroy(cpu);
  literal_free(l);
  end();
}

// ---- failures ----

SMR_TEST(a_device_may_fail_before_it_is_ready) {
  static const char *const functions[] = {"supports", "compile", "load",
                                          "allocate", "copy",    "submit"};
  const samara_model *model;
  begin();
  struct literal *l = rig_model(RIG_CHAIN, &model);
  samara_session *cpu = rig_session(model, NULL, 0, (samara_session_options){0});
  for (int form = 0; form < 2; form++)
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
      bool failed = true;
      for (int k = 1; failed; k++) {
        mirror_reset();
        samara_backend *device = rig_open(0, NULL, fast);
        mirror_fail(functions[i], k);
        samara_session *s = rig_session(model, &device, 1, form == 0 ? wait_for_it : at_once);
        REQUIRE(cpu != NULL && s != NULL);
        run_until_settled(cpu, s);
        for (uint32_t run = 0; run < 3; run++) CHECK(rig_same(cpu, s, run));
        failed = mirror_calls(functions[i]) >= k;
        if (i != 0) CHECK_EQ_INT(rig_report(s).active, !failed);
        if (i != 0 && failed) CHECK_EQ_INT(mirror_live(), 1);
        samara_session_destroy(s);
        samara_backend_close(device);
        CHECK_EQ_INT(mirror_live(), 0);
      }
    }
  samara_session_destroy(cpu);
  literal_free(l);
  end();
}

SMR_TEST(measuring_may_fail_at_any_call) {
  static const samara_rates nothing = {.launch_ns = 0};
  static const char *const functions[] = {"supports", "compile", "load",
                                          "allocate", "copy",    "submit"};
  rig_reset();
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    // A few of many runs of each probe: how many there are depends on how fast they are.
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

static bool check_hunger(const samara_model *model, samara_session *cpu, samara_backend *device,
                         size_t k, samara_session_options options, const char *fails) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  memory.fail_at = k;
  memory.stays_out = k % 2;
  options.allocator = &memory.allocator;
  samara_session *s = NULL;
  const samara_status made = rig_try(model, &device, 1, options, &s);
  CHECK(made == SAMARA_OK || made == SAMARA_OUT_OF_MEMORY);
  CHECK_EQ_INT(samara_session_reset(cpu), SAMARA_OK);
  const uint64_t start = smr_os_now_ns();
  bool settled = false;
  for (uint32_t run = 0; s != NULL && smr_os_now_ns() - start < 5000000000u; run++) {
    if (rig_report(s).settled && fails != NULL) mirror_fail(fails, 1);
    CHECK(rig_hungry(cpu, s, run, &memory));
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
        const samara_model *model;
        struct literal *l = rig_model(models[m], &model);
        samara_backend *device = rig_open(0, NULL, fast);
        samara_session *cpu = rig_session(model, NULL, 0, (samara_session_options){0});
        REQUIRE(cpu != NULL && device != NULL);
        // What is kept in a callee lies in blocks of its own.
        samara_session_options options = form == 0 ? wait_for_it : at_once;
        options.keep_all = i != 1;
        for (size_t k = 1; check_hunger(model, cpu, device, k, options, fails[i]); k++) continue;
        samara_session_destroy(cpu);
        samara_backend_close(device);
        literal_free(l);
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
