// SPDX-License-Identifier: Apache-2.0
// A device that gives wrong answers is detected: at the first node of a kind, and by samples later.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

// Models, and an operator that the device computes wrongly.
static const struct {
  enum rig_model model;
  const char *op;
} lies[] = {{RIG_CHAIN, "relu"},   {RIG_CHAIN, "sub"},      {RIG_CHAIN, "tanh"},
            {RIG_SYMBOLIC, "mul"}, {RIG_IF, "sigmoid"},     {RIG_LOOP, "add"},
            {RIG_CALL, "neg"},     {RIG_READ, "slice"},     {RIG_GROWING, "add"},
            {RIG_BORN, "cast"},    {RIG_STATE, "mul"},      {RIG_EMPTY, "concat"},
            {RIG_STATE, "add"},    {RIG_LOOP, "reduce_sum"}};
enum { LIES = sizeof lies / sizeof *lies };

static bool contains_op(const char *failure, const char *op) {
  char part[64];
  snprintf(part, sizeof part, "(%s ", op);
  return strstr(failure, part) != NULL;
}

SMR_TEST(wrong_answers_are_found_at_the_first_use) {
  for (size_t i = 0; i < LIES; i++)
    for (int form = 0; form < 4; form++) {
      rig_reset();
      rig_settings.wrong_op = lies[i].op;
      rig_settings.any_range = form & 1;
      struct rig rig = rig_start(
          lies[i].model, 1,
          (samara_session_options){.backend_check_every = UINT64_MAX, .profile = form & 2});
      samara_session *cpu = rig.cpu, *s = rig.s;
      // No run returns the wrong result, whichever branch and trip count come first.
      for (uint32_t run = 0; run < 6; run++) CHECK(rig_same(cpu, s, run));
      samara_backend_report report = rig_report(s);
      if (!CHECK(contains_op(report.failure, lies[i].op)))
        fprintf(stderr, "%s: \"%s\"\n", lies[i].op, report.failure);
      CHECK_CONTAINS(report.failure, "mirror:0: checking: node '");
      CHECK(!report.active && report.repeated == 1);
      // The next session keeps such nodes on the CPU and gives the device the others.
      s = rig_again(&rig, (samara_session_options){.backend_check_every = 2});
      samara_placement_row rows[32];
      size_t count = 0, elsewhere = 0;
      CHECK_EQ_INT(samara_session_placement(s, rows, 32, &count), SAMARA_OK);
      for (size_t k = 0; k < count; k++) {
        if (strcmp(rows[k].op, lies[i].op) == 0 && strcmp(rows[k].device, "cpu") == 0) elsewhere++;
        if (strcmp(rows[k].reason, "this device gave a wrong answer for such a node") == 0)
          CHECK_STR(rows[k].op, lies[i].op);
      }
      CHECK(elsewhere != 0);
      CHECK_EQ_INT(samara_session_reset(cpu), SAMARA_OK);
      for (uint32_t run = 0; run < 6; run++) CHECK(rig_same(cpu, s, run));
      CHECK(rig_end(&rig));
    }
}

SMR_TEST(samples_find_wrong_answers_of_trusted_kinds) {
  for (size_t i = 0; i < LIES; i++)
    for (int any_range = 0; any_range < 2; any_range++) {
      rig_reset();
      rig_settings.any_range = any_range;
      struct rig rig =
          rig_start(lies[i].model, 1, (samara_session_options){.backend_check_every = 4});
      samara_session *s = rig.s;
      for (uint32_t run = 0; run < 8; run++) {
        CHECK(rig_feed(s, run));
        CHECK_EQ_INT(literal_run(s), SAMARA_OK);
      }
      CHECK_STR(rig_report(s).failure, "");
      rig_settings.wrong_op = lies[i].op;
      uint32_t runs = 0;
      while (rig_report(s).failure[0] == '\0' && runs < 2000) {
        const bool due = (rig_report(s).device_runs + 1) % 4 == 0;
        CHECK(rig_feed(s, runs++));
        CHECK_EQ_INT(literal_run(s), SAMARA_OK);
        if (rig_report(s).failure[0] != '\0') CHECK(due);
      }
      if (!CHECK(contains_op(rig_report(s).failure, lies[i].op)))
        fprintf(stderr, "%s: %u runs\n", lies[i].op, (unsigned)runs);
      CHECK(rig_end(&rig));
    }
}

SMR_TEST(a_sample_is_due_every_so_many_runs) {
  rig_reset();
  rig_settings.any_range = true;
  struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){.backend_check_every = 5});
  samara_session *s = rig.s;
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  uint64_t checks = rig_report(s).checks;
  CHECK(checks >= 5);  // the kinds of its nodes
  uint64_t nodes = 0;  // that were sampled
  for (uint64_t run = 2; run <= 200; run++) {
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    const uint64_t now = rig_report(s).checks;
    // Views are not sampled: every fifth run checks one.
    CHECK_EQ_INT(now - checks, run % 5 == 0);
    nodes += now - checks;
    checks = now;
  }
  CHECK_EQ_INT(nodes, 40);
  s = rig_again(&rig, (samara_session_options){.backend_check_every = UINT64_MAX});
  for (int run = 0; run < 600; run++) CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK(rig_report(s).checks < 9);
  CHECK(rig_end(&rig));
}

SMR_TEST(an_unknown_kind_is_checked_whole_even_where_a_sample_is_due) {
  rig_reset();
  struct rig rig = rig_start(RIG_SYMBOLIC, 1, (samara_session_options){.backend_check_every = 1});
  samara_session *s = rig.s;
  CHECK(rig_feed(s, 3));
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "relu float32 float32"), SMR_TRUST_GOOD);
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "sigmoid float32 float32"), SMR_TRUST_GOOD);
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "add float32 float32 float32"), SMR_TRUST_GOOD);
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "mul float32 float32 float32"), SMR_TRUST_GOOD);
  CHECK(rig_end(&rig));
}

SMR_TEST(a_bit_that_flips_once_is_seen_in_the_first_node_of_a_kind) {
  // add, relu, mul, sub, reshape, tanh, mul: a reshape computes nothing, and the last is not the
  // first of its kind.
  for (int node = 1; node <= 6; node++) {
    if (node == 5) continue;
    rig_reset();
    struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){0});
    mirror_lie(node);
    CHECK(rig_same(rig.cpu, rig.s, 5));
    CHECK_EQ_INT(rig_report(rig.s).repeated, 1);
    CHECK_CONTAINS(rig_report(rig.s).failure, "element 0 of ");
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(outputs_that_are_all_alike_prove_nothing) {
  rig_reset();
  struct rig rig = rig_start(RIG_SYMBOLIC, 1, (samara_session_options){.backend_check_every = 1});
  samara_session *s = rig.s;
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);  // inputs are 0
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "relu float32 float32"), SMR_TRUST_UNKNOWN);
  CHECK_EQ_INT(rig_report(s).checks, 4);
  // Nor does a sample, which compares one tile.
  for (uint32_t run = 0; run < 40; run++) {
    CHECK(rig_feed(s, run));
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  }
  CHECK_EQ_INT(rig_report(s).checks, 44);
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "relu float32 float32"), SMR_TRUST_UNKNOWN);
  CHECK(rig_end(&rig));
}

// A session whose device joins nodes at random beside one on the CPU, in all forms. Returns how
// many nodes were joined to a later one.
static uint64_t join_at_random(struct literal *l, uint32_t seed) {
  rig_reset();
  rig_settings.any_range = true;
  rig_settings.joins = seed;
  struct rig rig = rig_with(l, 1, (samara_session_options){.backend_check_every = 1 + seed % 3});
  samara_session *cpu = rig.cpu, *s = rig.s;
  uint64_t joined = 0;
  for (const struct smr_device_region *r = s->common.devices->regions; r != NULL; r = r->next)
    for (uint32_t n = r->begin; n < r->end; n++) joined += smr_region_last(r, n) != n;
  for (uint32_t run = 0; run < 8; run++) {
    // Two of four runs compute node by node.
    if (run % 4 != 1) CHECK_EQ_INT(samara_session_set_profiling(s, run % 4 == 2), SAMARA_OK);
    CHECK(rig_same(cpu, s, run));
  }
  CHECK_STR(rig_report(s).failure, "");
  CHECK(rig_end(&rig));
  return joined;
}

SMR_TEST(steps_have_what_they_read_until_they_are_computed) {
  uint64_t joined = 0;
  for (uint32_t which = 0; which < RIG_MODELS; which++)
    for (uint32_t seed = 1; seed <= 6; seed++)
      joined += join_at_random(rig_model((enum rig_model)which), seed);
  CHECK(joined > 20);
  joined = 0;
  for (uint32_t seed = 1; seed <= 150; seed++)
    joined += join_at_random(rig_random_model(seed), seed);
  CHECK(joined > 150);
}

SMR_TEST(wrong_steps_are_found_and_their_nodes_computed_apart) {
  uint32_t found = 0;
  for (uint32_t seed = 1; seed <= 40; seed++) {
    rig_reset();
    rig_settings.any_range = rig_settings.wrong_steps = true;
    rig_settings.joins = seed;
    struct rig rig = rig_bare(rig_random_model(seed), 1);
    bool wrong = true;
    for (int sessions = 0; sessions < 20 && wrong; sessions++) {
      samara_session *s =
          rig_again(&rig, (samara_session_options){.backend_check_every = UINT64_MAX});
      for (uint32_t run = 0; run < 3; run++) CHECK(rig_same(rig.cpu, s, run));
      wrong = rig_report(s).failure[0] != '\0';
      if (wrong) CHECK_CONTAINS(rig_report(s).failure, " #");
      if (!wrong) CHECK_EQ_INT(rig_report(s).device_runs, rig_report(s).nodes != 0 ? 3 : 0);
      found += wrong;
    }
    CHECK(!wrong);
    CHECK(rig_end(&rig));
  }
  CHECK(found > 20);
}

SMR_TEST(steps_that_cannot_be_are_refused) {
  rig_reset();
  rig_settings.any_range = rig_settings.bad_joins = true;
  struct rig rig = rig_start(RIG_SYMBOLIC, 1, (samara_session_options){0});
  samara_session *cpu = rig.cpu, *s = rig.s;
  CHECK(rig_same(cpu, s, 1));
  CHECK_CONTAINS(rig_report(s).failure, "the backend joined nodes that cannot form one step");
  CHECK(rig_end(&rig));
}

SMR_TEST_MAIN(RUN(wrong_answers_are_found_at_the_first_use);
              RUN(samples_find_wrong_answers_of_trusted_kinds);
              RUN(a_sample_is_due_every_so_many_runs);
              RUN(an_unknown_kind_is_checked_whole_even_where_a_sample_is_due);
              RUN(a_bit_that_flips_once_is_seen_in_the_first_node_of_a_kind);
              RUN(outputs_that_are_all_alike_prove_nothing);
              RUN(steps_have_what_they_read_until_they_are_computed);
              RUN(wrong_steps_are_found_and_their_nodes_computed_apart);
              RUN(steps_that_cannot_be_are_refused))
