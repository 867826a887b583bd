// SPDX-License-Identifier: Apache-2.0
// Sessions with devices: options, placement, reports, and recovery from a device that fails at any
// call, and from a host without memory at any allocation.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>

#include "session/device/device_rig.h"

static const enum rig_model models[] = {RIG_CHAIN,   RIG_IF,   RIG_LOOP,  RIG_CALL, RIG_READ,
                                        RIG_GROWING, RIG_BORN, RIG_STATE, RIG_STAY};
enum { MODELS = sizeof models / sizeof *models };

SMR_TEST(bad_options_are_refused) {
  rig_reset();
  struct rig rig = rig_bare(rig_model(RIG_CHAIN), 1);
  const samara_model *model = rig.model;
  samara_backend *device = rig.devices[0];
  samara_backend *nine[] = {device, device, device, device, device, device, device, device, device};
  samara_backend *hole[] = {device, NULL};
  samara_session *s;
  const samara_session_options none = {0};
  CHECK_EQ_INT(rig_try(model, NULL, 1, none, &s), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(rig_try(model, nine, 9, none, &s), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(rig_try(model, hole, 2, none, &s), SAMARA_BAD_ARGUMENT);
  CHECK(s == NULL);
  // The same device eight times counts as eight devices.
  CHECK_EQ_INT(rig_try(model, nine, 8, none, &s), SAMARA_OK);
  samara_session_destroy(s);
  CHECK(rig_end(&rig));
}

// ---- placement and report ----

SMR_TEST(placement_says_where_and_why) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 2, (samara_session_options){0});
  samara_session *s = rig.s;
  samara_placement_row rows[16];
  size_t count = 0;
  CHECK_EQ_INT(samara_session_placement(s, rows, 16, &count), SAMARA_OK);
  REQUIRE(count == 10);
  static const char *const places[] = {"mirror:0", "mirror:0", "cpu",      "mirror:0", "mirror:1",
                                       "mirror:1", "mirror:0", "mirror:0", "mirror:0", "mirror:0"};
  static const uint32_t regions[] = {1, 1, 0, 2, 3, 3, 4, 4, 4, 4};
  for (size_t i = 0; i < count; i++) {
    CHECK_STR(rows[i].device, places[i]);
    CHECK_EQ_INT(rows[i].region, regions[i]);
    CHECK_STR(rows[i].function, "main");
    CHECK_STR(rows[i].reason, i == 2 ? "the test wants it elsewhere" : "supported");
    CHECK(rows[i].runner_up == NULL && rows[i].cost_us <= 0);
  }
  CHECK_STR(rows[2].op, "neg");
  samara_placement_row one[2] = {{.function = NULL}, {.function = NULL}};
  CHECK_EQ_INT(samara_session_placement(s, one, 1, &count), SAMARA_OK);
  CHECK(count == 10 && one[0].function != NULL && one[1].function == NULL);
  CHECK_EQ_INT(samara_session_placement(NULL, one, 1, &count), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_placement(s, NULL, 1, &count), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_placement(s, one, 1, NULL), SAMARA_BAD_ARGUMENT);
  const samara_backend_report report = rig_report(s);
  CHECK_EQ_INT(report.regions, 4);
  CHECK_EQ_INT(report.nodes, 9);
  CHECK_EQ_INT(report.launches, 0);
  // Launches of the last run, not of all runs.
  for (int run = 0; run < 3; run++) {
    const int before = mirror_calls("node");
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK_EQ_INT(rig_report(s).launches, mirror_calls("node") - before);
    CHECK(rig_report(s).launches >= 8);
  }
  // After a failure all nodes run on the CPU.
  mirror_fail("submit", 1);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_placement(s, rows, 16, &count), SAMARA_OK);
  for (size_t i = 0; i < count; i++) {
    CHECK_STR(rows[i].device, "cpu");
    CHECK_STR(rows[i].reason, "a device failed");
  }
  CHECK_EQ_INT(rig_report(s).regions, 0);
  CHECK_EQ_INT(rig_report(s).device_bytes, 0);
  CHECK_EQ_INT(samara_session_placement(rig.cpu, rows, 16, &count), SAMARA_OK);
  CHECK_STR(rows[0].reason, "the session has no device");
  CHECK(!rig_report(rig.cpu).active && rig_report(rig.cpu).settled);
  CHECK(rig_end(&rig));
}

// A device that reports bad data although the CPU finds none.
SMR_TEST(data_that_is_blamed_does_not_cost_the_device) {
  static const enum rig_model blamed[] = {RIG_CHAIN, RIG_STAY, RIG_LOOP};
  for (size_t m = 0; m < sizeof blamed / sizeof *blamed; m++) {
    rig_reset();
    struct rig rig = rig_start(blamed[m], 1, (samara_session_options){0});
    samara_session *cpu = rig.cpu, *s = rig.s;
    mirror_blame();
    for (uint32_t run = 0; run < 8; run++) {
      const bool fails = run % 2 == 1;
      if (fails) mirror_fail("submit", 1);
      CHECK(rig_same(cpu, s, run));
      CHECK_EQ_INT(rig_report(s).repeated, (run + 1) / 2);
      CHECK_EQ_INT(rig_report(s).active, !fails);
      CHECK_EQ_INT(rig_report(s).failure[0] != '\0', fails);
    }
    // The device is not used again after the fourth time.
    for (uint32_t run = 8; run < 11; run++) CHECK(rig_same(cpu, s, run));
    CHECK(!rig_report(s).active);
    CHECK_EQ_INT(mirror_live(), 1);
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(reports_fit_callers_with_a_shorter_struct) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 0, (samara_session_options){0});
  samara_session *s = rig.cpu;
  samara_backend_report report;
  memset(&report, 0x5a, sizeof report);
  report.struct_size = offsetof(samara_backend_report, regions);
  CHECK_EQ_INT(samara_session_backend_report(s, &report), SAMARA_OK);
  CHECK(report.settled);
  CHECK_EQ_INT(report.regions, 0x5a5a5a5a);
  report.struct_size = 0;
  CHECK_EQ_INT(samara_session_backend_report(s, &report), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_backend_report(NULL, &report), SAMARA_BAD_ARGUMENT);
  CHECK(rig_end(&rig));
}

// ---- memory rows and algorithms ----

static void check_rows(const samara_session *s) {
  samara_memory_row rows[128];
  size_t count = 0;
  uint64_t arena = 0, total = 0;
  CHECK_EQ_INT(samara_session_memory(s, rows, 128, &count), SAMARA_OK);
  REQUIRE(count <= 128);
  for (size_t i = 0; i < count; i++) {
    if (rows[i].kind == SAMARA_MEMORY_ARENA || rows[i].kind == SAMARA_MEMORY_BLOCK)
      arena += rows[i].size_bytes;
    if (rows[i].kind != SAMARA_MEMORY_TENSOR && rows[i].kind != SAMARA_MEMORY_SCRATCH)
      total += rows[i].size_bytes;
  }
  CHECK_EQ_INT(arena, samara_session_arena_bytes(s));
  CHECK_EQ_INT(total, samara_session_total_bytes(s));
}

SMR_TEST(rows_of_memory_add_up) {
  static const enum rig_model own[] = {RIG_CHAIN, RIG_IF,      RIG_CALL,
                                       RIG_READ,  RIG_GROWING, RIG_BORN};
  for (size_t m = 0; m < sizeof own / sizeof *own; m++) {
    rig_reset();
    struct rig rig = rig_start(own[m], 1, (samara_session_options){.keep_all = true});
    samara_session *cpu = rig.cpu, *s = rig.s;
    for (uint32_t run = 0; run < 3; run++) {
      check_rows(s);
      if (run == 1) mirror_fail("submit", 1);
      CHECK(rig_same(cpu, s, run));
    }
    check_rows(s);
    CHECK_EQ_INT(rig_report(s).repeated, 1);
    // Memory of frames with regions is released.
    CHECK_EQ_INT(samara_session_arena_bytes(s) - s->arena.size_bytes,
                 samara_session_arena_bytes(cpu) - cpu->arena.size_bytes);
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(the_cpu_has_no_algorithm_for_what_a_device_runs) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){0});
  samara_session *s = rig.s;
  samara_algorithm_row rows[16];
  char text[4096];
  size_t count = 0;
  for (int run = 0; run < 2; run++) {
    CHECK_EQ_INT(samara_session_algorithms(s, rows, 16, &count), SAMARA_OK);
    CHECK_EQ_INT(count, 3);  // host_neg, two_sigmoid, two_add
    CHECK_STR(rows[0].node, "host_neg");
    CHECK_EQ_INT(samara_session_needs(s, text, sizeof text, &count), SAMARA_OK);
    CHECK_CONTAINS(text, "main\tone_relu\trelu\tdevice\tfloat32");
    CHECK_CONTAINS(text, "main\treshape\treshape\tdevice\tfloat32");
    CHECK_CONTAINS(text, "main\thost_neg\tneg\tprepared\tfloat32");
    CHECK(strstr(text, "unprepared") == NULL);
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  }
  CHECK(rig_end(&rig));
}

// ---- a device that fails ----

// Let call `k` of `function` fail. Returns whether there was such a call.
static bool check_failure(enum rig_model which, const char *function, int k, bool keep) {
  rig_reset();
  rig_settings.lazy = k % 4 >= 2;
  mirror_tickets(true);
  mirror_fail(function, k);
  struct rig rig =
      rig_start(which, 1, (samara_session_options){.keep_all = keep, .backend_check_every = 2});
  for (uint32_t run = 0; run < 4; run++) CHECK(rig_same(rig.cpu, rig.s, run));
  const bool failed = mirror_calls(function) >= k;
  const samara_backend_report report = rig_report(rig.s);
  if (strcmp(function, "supports") != 0) {
    CHECK(failed == (report.failure[0] != '\0') && failed == !report.active);
    if (failed) CHECK_CONTAINS(report.failure, "mirror:0: ");
    if (failed) CHECK_CONTAINS(report.failure, "fails, as it was told to");
    CHECK(report.repeated <= failed);
    if (failed) CHECK_EQ_INT(mirror_live(), 1);
  }
  CHECK(rig_end(&rig));
  return failed;
}

SMR_TEST(a_device_may_fail_at_any_call) {
  static const char *const functions[] = {"supports", "compile", "load", "allocate",
                                          "copy",     "submit",  "wait"};
  for (size_t m = 0; m < MODELS; m++)
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
      for (int k = 1; check_failure(models[m], functions[i], k, k % 2); k++) continue;
}

SMR_TEST(a_failing_device_does_not_hide_faults_of_the_model) {
  // The allocation of a callee's memory fails when shapes are set. Later runs fail for another
  // reason.
  rig_reset();
  struct rig rig = rig_bare(rig_model(RIG_IF), 1);
  for (int k = 1; k <= 3; k++) {
    mirror_fail("allocate", k);
    samara_session *s = rig_again(&rig, (samara_session_options){.max_steps = 4});
    CHECK_EQ_INT(samara_session_run(s), SAMARA_LIMIT);
    CHECK_CONTAINS(samara_session_error(s), "max_steps");
    CHECK_EQ_INT(rig_report(s).repeated, 0);
    CHECK_CONTAINS(rig_report(s).failure, "allocating memory");
  }
  CHECK(rig_end(&rig));
}

// ---- a host without memory ----

struct hungry {
  struct rig rig;
  const char *fails;  // a function of the device that also fails, in the first run; NULL: none
  bool stays_out;     // allocations fail until one call has failed
};

// Create, resize and run while allocation `k` fails. Returns whether there was such an allocation.
static bool check_hunger(struct hungry *h, size_t k, bool resizes) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  memory.fail_at = k;
  memory.stays_out = h->stays_out;
  samara_session *s = NULL;
  const samara_status made = rig_try(h->rig.model, h->rig.devices, 1,
                                     (samara_session_options){.allocator = &memory.allocator}, &s);
  CHECK(made == SAMARA_OK || made == SAMARA_OUT_OF_MEMORY);
  CHECK((made == SAMARA_OK) == (s != NULL));
  if (h->fails != NULL) mirror_fail(h->fails, 1);
  CHECK_EQ_INT(samara_session_reset(h->rig.cpu), SAMARA_OK);
  for (uint32_t run = 0; s != NULL && run < 5; run++) {
    const int64_t n = 3 + run;
    const int64_t *shapes[] = {&n};
    if (resizes) CHECK_EQ_INT(samara_session_resize(h->rig.cpu, shapes, 1), SAMARA_OK);
    samara_status status = resizes ? samara_session_resize(s, shapes, 1) : SAMARA_OK;
    if (status == SAMARA_OK && rig_feed(s, run)) status = samara_session_run(s);
    if (status == SAMARA_OUT_OF_MEMORY) {
      // It recovers, after a resize if necessary.
      CHECK(memory.calls >= k);
      memory.stays_out = false;
      if (samara_session_resize(s, resizes ? shapes : NULL, resizes) == SAMARA_OK &&
          rig_feed(s, run))
        status = samara_session_run(s);
    }
    CHECK_EQ_INT(status, SAMARA_OK);
    CHECK(rig_feed(h->rig.cpu, run) && literal_run(h->rig.cpu) == SAMARA_OK);
    if (status == SAMARA_OK && !CHECK(rig_compare(h->rig.cpu, s)))
      fprintf(stderr, "allocation %zu, run %u\n", k, (unsigned)run);
  }
  const bool failed = memory.calls >= k;
  samara_session_destroy(s);
  CHECK_EQ_INT(memory.live, 0);
  CHECK_EQ_INT(mirror_live(), 1);
  mirror_reset();
  return failed;
}

SMR_TEST(the_host_may_have_no_memory_at_any_allocation) {
  static const enum rig_model own[] = {RIG_CHAIN,   RIG_SYMBOLIC, RIG_IF,    RIG_LOOP, RIG_READ,
                                       RIG_GROWING, RIG_BORN,     RIG_STATE, RIG_STAY};
  static const char *const fails[] = {NULL, "submit", "copy", "allocate"};
  for (size_t m = 0; m < sizeof own / sizeof *own; m++)
    for (size_t i = 0; i < 2 * sizeof fails / sizeof *fails; i++) {
      struct hungry h = {.fails = fails[i / 2], .stays_out = i % 2};
      rig_reset();
      h.rig = rig_bare(rig_model(own[m]), 1);
      for (size_t k = 1; check_hunger(&h, k, own[m] == RIG_SYMBOLIC); k++) continue;
      CHECK(rig_end(&h.rig));
    }
}

SMR_TEST_MAIN(RUN(bad_options_are_refused); RUN(placement_says_where_and_why);
              RUN(data_that_is_blamed_does_not_cost_the_device);
              RUN(reports_fit_callers_with_a_shorter_struct); RUN(rows_of_memory_add_up);
              RUN(the_cpu_has_no_algorithm_for_what_a_device_runs);
              RUN(a_device_may_fail_at_any_call);
              RUN(a_failing_device_does_not_hide_faults_of_the_model);
              RUN(the_host_may_have_no_memory_at_any_allocation))
