// SPDX-License-Identifier: Apache-2.0
// Running on devices: the bits of the CPU for models of all kinds, one copy for each value and
// space, watching, keeping and profiling.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

// A model with and without tickets and ranges, computed at once and when the session waits.
static void check_model(enum rig_model which, size_t devices, int form) {
  rig_reset();
  mirror_tickets(form & 1);
  rig_settings.any_range = (form & 2) != 0;
  rig_settings.lazy = (form & 4) != 0;
  struct rig rig = rig_start(which, devices, (samara_session_options){.backend_check_every = 3});
  samara_session *cpu = rig.cpu, *s = rig.s;
  if (CHECK(cpu != NULL && s != NULL)) {
    for (uint32_t seed = 0; seed < 9; seed++)
      if (!CHECK(rig_same(cpu, s, seed))) fprintf(stderr, "model %d, form %d\n", (int)which, form);
    const samara_backend_report report = rig_report(s);
    CHECK_STR(report.failure, "");
    CHECK(report.active && report.settled && report.regions != 0 && report.nodes > report.regions);
    CHECK_EQ_INT(report.device_runs, 9);
    CHECK_EQ_INT(report.repeated, 0);
    CHECK(report.checks > 1);
  }
  CHECK(rig_end(&rig));
}

SMR_TEST(models_have_the_bits_of_the_cpu) {
  for (int which = 0; which < RIG_MODELS; which++)
    for (int form = 0; form < 8; form++) check_model((enum rig_model)which, 1, form);
}

SMR_TEST(models_on_two_devices_have_the_bits_of_the_cpu) {
  for (int which = 0; which < RIG_MODELS; which++)
    for (int form = 0; form < 8; form++) check_model((enum rig_model)which, 2, form);
}

SMR_TEST(random_models_have_the_bits_of_the_cpu) {
  uint32_t regions = 0;
  for (uint32_t seed = 0; seed < 300; seed++) {
    rig_reset();
    rig_settings.lazy = true;
    rig_settings.any_range = seed % 2;
    struct rig rig = rig_start_random(
        seed, 2, (samara_session_options){.backend_check_every = 3, .keep_all = seed % 5 == 0});
    samara_session *cpu = rig.cpu, *s = rig.s;
    for (uint32_t run = 0; run < 4; run++)
      if (!CHECK(rig_same(cpu, s, run))) fprintf(stderr, "seed %u\n", (unsigned)seed);
    CHECK_STR(rig_report(s).failure, "");
    regions += rig_report(s).regions;
    CHECK(rig_end(&rig));
  }
  CHECK(regions > 900);
}

SMR_TEST(a_value_is_copied_once_for_each_space) {
  rig_reset();
  // One device: x, host_neg and two_add go to it; one_relu, one_mul, y and z come from it. With
  // two, the second takes one_mul and one_relu from the host, and gives two_add.
  static const int copies[] = {7, 10};
  for (size_t devices = 1; devices <= 2; devices++) {
    struct rig rig =
        rig_start(RIG_CHAIN, devices, (samara_session_options){.backend_check_every = UINT64_MAX});
    samara_session *s = rig.s;
    CHECK(rig_feed(s, 1));
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    const int before = mirror_calls("copy");  // checks copy in the first run only
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK_EQ_INT(mirror_calls("copy") - before, copies[devices - 1]);
    CHECK(rig_end(&rig));
  }
}

// ---- watch, keep, profile ----

struct seen {
  size_t count;
  uint64_t sum;  // of all bytes of all tensors, by place
};

static int look(void *user, const char *node, const char *const *names,
                const samara_tensor *tensors, size_t count) {
  struct seen *seen = user;
  (void)node, (void)names;
  for (size_t i = 0; i < count; i++, seen->count++)
    for (size_t k = 0; k < tensors[i].size_bytes; k++)
      seen->sum = seen->sum * 31 + ((const uint8_t *)tensors[i].data)[k];
  return 0;
}

SMR_TEST(what_is_watched_is_what_the_cpu_computes) {
  for (int which = 0; which < RIG_MODELS; which++) {
    rig_reset();
    rig_settings.lazy = true;
    struct rig rig = rig_start((enum rig_model)which, 1, (samara_session_options){0});
    samara_session *cpu = rig.cpu, *s = rig.s;
    for (uint32_t seed = 0; seed < 4; seed++) {
      struct seen a = {0}, b = {0};
      // The second run is not watched.
      CHECK_EQ_INT(samara_session_watch(cpu, seed == 1 ? NULL : look, &a), SAMARA_OK);
      CHECK_EQ_INT(samara_session_watch(s, seed == 1 ? NULL : look, &b), SAMARA_OK);
      CHECK(rig_same(cpu, s, seed));
      CHECK_EQ_INT(a.count, b.count);
      CHECK(a.sum == b.sum && (a.count != 0) == (seed != 1));
    }
    CHECK_STR(rig_report(s).failure, "");
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(what_is_kept_is_what_the_cpu_computes) {
  for (int which = 0; which < RIG_MODELS; which++) {
    rig_reset();
    rig_settings.lazy = true;
    struct rig rig =
        rig_start((enum rig_model)which, 1, (samara_session_options){.keep_all = true});
    samara_session *cpu = rig.cpu, *s = rig.s;
    for (uint32_t seed = 0; seed < 3; seed++) {
      CHECK(rig_same(cpu, s, seed));
      const struct smr_function *f = s->function;
      for (uint32_t i = 0; i < f->value_count; i++) {
        samara_tensor a, b;
        if (!CHECK_EQ_INT(samara_session_kept(cpu, f->values[i].name, &a), SAMARA_OK)) continue;
        CHECK_EQ_INT(samara_session_kept(s, f->values[i].name, &b), SAMARA_OK);
        if (CHECK_EQ_INT(a.size_bytes, b.size_bytes) && a.size_bytes != 0)
          CHECK_MEM(a.data, b.data, a.size_bytes);
      }
    }
    CHECK_STR(rig_report(s).failure, "");
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(a_profile_names_the_device) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 2, (samara_session_options){.profile = true});
  samara_session *cpu = rig.cpu, *s = rig.s;
  mirror_tickets(true);
  for (uint32_t run = 0; run < 2; run++) {
    samara_profile_row rows[16];
    size_t count = 0;
    const int waits = mirror_calls("wait");
    CHECK(rig_same(cpu, s, run));
    // 9 nodes and the copies of 4 regions: a node's time ends when its work is done.
    if (run == 1) CHECK_EQ_INT(mirror_calls("wait") - waits, 9 + 4);
    CHECK_EQ_INT(samara_session_profile(s, rows, 16, &count), SAMARA_OK);
    REQUIRE(count == s->function->node_count);
    for (size_t i = 0; i < count; i++) {
      const char *node = rows[i].node;
      if (strncmp(node, "host", 4) == 0) CHECK(strchr(rows[i].kernel, ':') == NULL);
      if (strncmp(node, "one", 3) == 0) CHECK_STR(rows[i].kernel, "mirror:0");
      if (strncmp(node, "two", 3) == 0) CHECK_STR(rows[i].kernel, "mirror:1");
      CHECK_EQ_INT(rows[i].count, 1);
      CHECK(i == 0 || rows[i].start_ns >= rows[i - 1].start_ns + rows[i - 1].total_ns);
    }
  }
  // Profiled runs are checked.
  CHECK(rig_report(s).checks != 0);
  CHECK_EQ_INT(samara_session_set_profiling(s, false), SAMARA_OK);
  const uint64_t checks = rig_report(s).checks;
  CHECK(rig_same(cpu, s, 2));
  CHECK_EQ_INT(rig_report(s).checks, checks);
  CHECK(rig_end(&rig));
}

// ---- limits ----

SMR_TEST(steps_and_deadlines_end_runs_on_devices_too) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){.max_steps = 10});
  samara_session *s = rig.s;
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  s = rig_again(&rig, (samara_session_options){.max_steps = 9});
  for (int i = 0; i < 2; i++) CHECK_EQ_INT(samara_session_run(s), SAMARA_LIMIT);
  CHECK_CONTAINS(samara_session_error(s), "max_steps = 9");
  // This is no failure of the device. After one, counting of steps starts again.
  CHECK_EQ_INT(rig_report(s).repeated, 0);
  s = rig_again(&rig, (samara_session_options){.max_steps = 10});
  mirror_fail("submit", 2);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(rig_report(s).repeated, 1);
  s = rig_again(&rig, (samara_session_options){.deadline_us = 1});
  int late = 0;
  for (int i = 0; i < 20; i++) late += samara_session_run(s) == SAMARA_LIMIT;
  CHECK(late != 0);
  CHECK_EQ_INT(rig_report(s).repeated, 0);
  CHECK(rig_end(&rig));
}

static int cancel(void *user, const char *node, const char *const *names,
                  const samara_tensor *tensors, size_t count) {
  (void)node, (void)names, (void)tensors, (void)count;
  samara_session_cancel(user);
  return 0;
}

SMR_TEST(a_run_is_cancelled_between_regions) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){0});
  samara_session *s = rig.s;
  CHECK_EQ_INT(samara_session_watch(s, cancel, s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_CANCELLED);
  CHECK_EQ_INT(samara_session_watch(s, NULL, NULL), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(rig_report(s).repeated, 0);
  CHECK(rig_report(s).active);
  CHECK(rig_end(&rig));
}

// ---- memory of the caller ----

SMR_TEST(inputs_and_outputs_may_be_memory_of_the_caller) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){0});
  samara_session *cpu = rig.cpu, *s = rig.s;
  float x[6], y[6], z[6];
  for (int at = 0; at < 3; at++) {
    // The input may lie in an output.
    float *in = at == 2 ? z : x;
    for (int run = 0; run < 3; run++) {
      for (int i = 0; i < 6; i++) in[i] = (float)(i * (run + 1)) - 3.5f;
      CHECK(literal_feed(cpu, 0, in, 6));
      CHECK_EQ_INT(samara_session_bind_input(s, 0, in, sizeof x), SAMARA_OK);
      CHECK_EQ_INT(samara_session_bind_output(s, 0, at > 0 ? y : NULL, at > 0 ? sizeof y : 0),
                   SAMARA_OK);
      CHECK_EQ_INT(samara_session_bind_output(s, 2, at > 0 ? z : NULL, at > 0 ? sizeof z : 0),
                   SAMARA_OK);
      if (run == 2) mirror_fail("submit", 2);
      CHECK_EQ_INT(literal_run(cpu), SAMARA_OK);
      CHECK_EQ_INT(literal_run(s), SAMARA_OK);
      CHECK(rig_compare(cpu, s));
      samara_tensor t;
      CHECK_EQ_INT(samara_session_output(s, 2, &t), SAMARA_OK);
      CHECK((t.data == z) == (at > 0));
    }
    CHECK_EQ_INT(rig_report(s).repeated, 1);
    s = rig_again(&rig, (samara_session_options){0});
  }
  CHECK(rig_end(&rig));
}

SMR_TEST_MAIN(
    RUN(models_have_the_bits_of_the_cpu); RUN(models_on_two_devices_have_the_bits_of_the_cpu);
    RUN(random_models_have_the_bits_of_the_cpu); RUN(a_value_is_copied_once_for_each_space);
    RUN(what_is_watched_is_what_the_cpu_computes); RUN(what_is_kept_is_what_the_cpu_computes);
    RUN(a_profile_names_the_device); RUN(steps_and_deadlines_end_runs_on_devices_too);
    RUN(a_run_is_cancelled_between_regions); RUN(inputs_and_outputs_may_be_memory_of_the_caller))
