// SPDX-License-Identifier: Apache-2.0
// Variables that live on a device: steady runs do not copy them, and reads give the right values
// whatever fails.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

static const char *const names[] = {"H", "G", "C", "Q", "P"};
enum { NAMES = 5, KEPT_RUNS = 16 };

static struct rig open(samara_session_options options) {
  rig_reset();
  mirror_tickets(true);
  return rig_start(RIG_STAY, 1, options);
}

static bool same_state(const struct rig *p) {
  for (size_t i = 0; i < NAMES; i++) {
    float a[4] = {0}, b[4] = {1};
    if (samara_session_state_read(p->cpu, names[i], a, sizeof a) != SAMARA_OK ||
        samara_session_state_read(p->s, names[i], b, sizeof b) != SAMARA_OK ||
        memcmp(a, b, sizeof a) != 0) {
      fprintf(stderr, "%s is %g, on the CPU %g: %s\n", names[i], (double)b[0], (double)a[0],
              samara_session_error(p->s));
      return false;
    }
  }
  return true;
}

// ---- without faults ----

SMR_TEST(steady_runs_copy_inputs_and_outputs_alone) {
  // x, v and host_abs go to the device; g, mul_q, last and neg come from it. Every 17th run H and C
  // come as well.
  enum { COPIES = 7, AWAY = 2 };
  struct rig p = open((samara_session_options){.backend_check_every = UINT64_MAX});
  CHECK(rig_same(p.cpu, p.s, 0));
  for (uint32_t run = 1; run < 3 * (KEPT_RUNS + 1); run++) {
    const int before = mirror_calls("copy"), prepared = mirror_calls("prepare");
    CHECK(rig_same(p.cpu, p.s, run));
    CHECK_EQ_INT(mirror_calls("copy") - before,
                 COPIES + (run % (KEPT_RUNS + 1) == KEPT_RUNS ? AWAY : 0));
    // The first two runs may be checked node by node, by programs for that alone.
    if (run > 2) CHECK_EQ_INT(mirror_calls("prepare"), prepared);
  }
  CHECK(same_state(&p));
  CHECK_STR(rig_report(p.s).failure, "");
  CHECK(rig_end(&p));
}

// What a user may do to variables between two runs.
static void touch(const struct rig *p, uint32_t what) {
  const float mine[] = {0.5f, -1, (float)what, 3};
  uint8_t file[1024];
  size_t bytes = 0;
  samara_tensor t;
  switch (what % 8) {
    case 1:
      CHECK(same_state(p));
      break;
    case 2:
      for (size_t i = 0; i < NAMES; i++) {
        if ((what >> i & 1) == 0) continue;
        CHECK_EQ_INT(samara_session_state_write(p->cpu, names[i], mine, sizeof mine), SAMARA_OK);
        CHECK_EQ_INT(samara_session_state_write(p->s, names[i], mine, sizeof mine), SAMARA_OK);
      }
      break;
    case 3:
      CHECK_EQ_INT(samara_session_reset(p->cpu), SAMARA_OK);
      CHECK_EQ_INT(samara_session_reset(p->s), SAMARA_OK);
      break;
    case 4:  // the state of one becomes that of both
      CHECK_EQ_INT(samara_session_state_save_memory(p->s, file, sizeof file, &bytes), SAMARA_OK);
      CHECK_EQ_INT(samara_session_reset(p->cpu), SAMARA_OK);
      CHECK_EQ_INT(samara_session_state_load_memory(p->cpu, file, bytes), SAMARA_OK);
      break;
    case 5:
      CHECK_EQ_INT(samara_session_state_save_memory(p->cpu, file, sizeof file, &bytes), SAMARA_OK);
      CHECK_EQ_INT(samara_session_state_load_memory(p->s, file, bytes - 1), SAMARA_BAD_MODEL);
      CHECK_EQ_INT(samara_session_state_load_memory(p->s, file, bytes), SAMARA_OK);
      break;
    case 6:
      CHECK_EQ_INT(samara_session_state_info(p->s, "C", &t), SAMARA_OK);
      CHECK_EQ_INT(samara_session_state_read(p->cpu, "C", file, t.size_bytes), SAMARA_OK);
      CHECK_MEM(t.data, file, t.size_bytes);
      break;
    case 7:
      CHECK_EQ_INT(literal_resize(p->s, 0, 1 + what % 8), SAMARA_OK);
      CHECK_EQ_INT(literal_resize(p->cpu, 0, 1 + what % 8), SAMARA_OK);
      break;
    default:
      break;
  }
}

SMR_TEST(the_host_may_read_and_set_them_between_runs) {
  for (int form = 0; form < 4; form++) {
    struct rig p = open((samara_session_options){.backend_check_every = form == 0 ? 3 : 1000});
    rig_settings.lazy = form == 2;
    uint32_t seed = (uint32_t)form;
    for (uint32_t run = 0; run < 200; run++) {
      seed = seed * 1664525u + 1013904223u;
      if (form == 3) p.s->away.capacity = run % 3;  // as if memory were short
      touch(&p, seed >> 8);
      if (!CHECK(rig_same(p.cpu, p.s, run))) break;
    }
    CHECK(same_state(&p));
    CHECK_STR(rig_report(p.s).failure, "");
    CHECK_EQ_INT(rig_report(p.s).device_runs, 200);
    CHECK(rig_end(&p));
  }
}

// ---- runs that are stopped ----

static int stop(void *user, const char *node, const char *const *tensors_names,
                const samara_tensor *tensors, size_t count) {
  float h[4];
  (void)tensors_names, (void)tensors, (void)count;
  // The old value, while the new one is made.
  CHECK_EQ_INT(samara_session_state_read(((struct rig *)user)->s, "H", h, sizeof h), SAMARA_OK);
  return strcmp(node, "last") == 0;
}

SMR_TEST(a_stopped_run_leaves_them_alone) {
  struct rig p = open((samara_session_options){0});
  for (uint32_t run = 0; run < 8; run++) {
    CHECK(rig_same(p.cpu, p.s, run));
    CHECK(rig_feed(p.s, run + 50));
    samara_session_watch(p.s, stop, &p);
    CHECK_EQ_INT(samara_session_run(p.s), SAMARA_CANCELLED);
    samara_session_watch(p.s, NULL, NULL);
    if (run % 2) CHECK(same_state(&p));
  }
  CHECK(same_state(&p));
  CHECK_STR(rig_report(p.s).failure, "");
  CHECK(rig_end(&p));
}

// ---- devices that fail ----

// 5 runs; state is read after `read_after` of them. Returns whether call `k` was made.
static bool fail_at(const char *function, int k, bool for_good, uint32_t read_after, bool lazy) {
  struct rig p = open((samara_session_options){.backend_check_every = 3});
  rig_settings.lazy = lazy;
  const int before = mirror_calls(function);
  if (!for_good) mirror_fail(function, k);
  for (uint32_t run = 0; run < 5; run++) {
    // A device that is lost is lost for all functions.
    if (for_good && (int)run == k) {
      mirror_fail("copy", -1);
      mirror_fail("submit", -1);
      mirror_fail("wait", -1);
    }
    if (run == read_after && !CHECK(same_state(&p))) break;
    if (!CHECK(rig_same(p.cpu, p.s, run))) {
      fprintf(stderr, "%s %d, run %u\n", function, k, (unsigned)run);
      break;
    }
  }
  CHECK(same_state(&p));
  const bool reached = for_good ? k < 5 : mirror_calls(function) - before >= k;
  CHECK_EQ_INT(rig_report(p.s).failure[0] != '\0', reached);
  CHECK(rig_report(p.s).active != reached);
  CHECK(rig_end(&p));
  return reached;
}

SMR_TEST(every_call_may_fail) {
  static const char *const functions[] = {"copy", "submit", "wait"};
  for (size_t i = 0; i < 3; i++)
    for (uint32_t form = 0; form < 4; form++) {
      int k = 1;
      while (fail_at(functions[i], k, false, form < 2 ? 3 : 9, form % 2)) k++;
      CHECK(k > 10);
    }
}

SMR_TEST(the_device_may_be_lost_between_runs) {
  for (int run = 0; run < 6; run++)
    for (uint32_t form = 0; form < 4; form++)
      CHECK_EQ_INT(fail_at("", run, true, form < 2 ? (uint32_t)run : 9, form % 2), run < 5);
}

SMR_TEST(a_device_that_lies_is_found_out) {
  // The CPU replays all runs since the host last had the values, so that state is right even if
  // the device had been wrong for some runs.
  static const char *const wrong[] = {"tanh", "relu", "sigmoid"};
  uint32_t late = 0;
  for (uint32_t form = 0; form < 12; form++) {
    uint32_t run = 0;
    struct rig p = open((samara_session_options){.backend_check_every = 1});
    while (run <= form) CHECK(rig_same(p.cpu, p.s, run++));
    CHECK(same_state(&p));
    rig_settings.wrong_op = wrong[form % 3];
    while (rig_report(p.s).active) {
      CHECK(rig_feed(p.cpu, run) && rig_feed(p.s, run++));
      CHECK_EQ_INT(literal_run(p.cpu), SAMARA_OK);
      CHECK_EQ_INT(literal_run(p.s), SAMARA_OK);
    }
    CHECK_CONTAINS(rig_report(p.s).failure, "is not what the CPU computes");
    CHECK_EQ_INT(rig_report(p.s).repeated, 1);
    const uint32_t runs = run - form - 1;
    if (runs <= KEPT_RUNS + 1) CHECK(rig_compare(p.cpu, p.s) && same_state(&p));
    late += runs > 1 && runs <= KEPT_RUNS + 1;
    CHECK(rig_end(&p));
  }
  CHECK(late > 4);
}

SMR_TEST(asking_for_them_leaves_outputs_alone) {
  // The device is lost. Replaying for the state must not change the outputs that the user reads.
  struct rig p = open((samara_session_options){0});
  float mine[4];
  CHECK_EQ_INT(samara_session_bind_output(p.s, 1, mine, sizeof mine), SAMARA_OK);
  for (uint32_t run = 0; run < 3; run++) CHECK(rig_same(p.cpu, p.s, run));
  mirror_fail("copy", -1);
  samara_tensor before[3], after;
  for (size_t i = 0; i < 3; i++) CHECK_EQ_INT(samara_session_output(p.s, i, &before[i]), SAMARA_OK);
  CHECK(same_state(&p));
  CHECK(rig_compare(p.cpu, p.s));
  CHECK(!rig_report(p.s).active);
  CHECK_CONTAINS(rig_report(p.s).failure, "copying from it");
  for (size_t i = 0; i < 3; i++) {
    CHECK_EQ_INT(samara_session_output(p.s, i, &after), SAMARA_OK);
    CHECK(before[i].data == after.data);
  }
  CHECK(rig_same(p.cpu, p.s, 3));
  CHECK_EQ_INT(rig_report(p.s).repeated, 0);  // the CPU had taken over before it
  CHECK(same_state(&p));
  CHECK(rig_end(&p));
}

SMR_TEST_MAIN(RUN(steady_runs_copy_inputs_and_outputs_alone);
              RUN(the_host_may_read_and_set_them_between_runs);
              RUN(a_stopped_run_leaves_them_alone); RUN(every_call_may_fail);
              RUN(the_device_may_be_lost_between_runs); RUN(a_device_that_lies_is_found_out);
              RUN(asking_for_them_leaves_outputs_alone))
