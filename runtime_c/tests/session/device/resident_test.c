// SPDX-License-Identifier: Apache-2.0
// Variables that stay on a device: which ones, where they lie, and how two places take turns.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

static const struct smr_resident *find(const samara_session *s, const char *input) {
  const struct smr_function *f = s->function;
  const struct smr_resident *r = s->common.devices->residents;
  while (r != NULL && strcmp(f->values[f->inputs[r->input]].name, input) != 0) r = r->next;
  return r;
}

static uint32_t value_of(const samara_session *s, const char *value) {
  uint32_t id = 0;
  while (strcmp(s->function->values[id].name, value) != 0) id++;
  return id;
}

// The name of the value whose memory `value` shares.
static const char *place(const samara_session *s, const char *value, uint32_t turn) {
  const uint32_t id =
      smr_resident_place(s->entry, &s->entry->devices->spaces[0], value_of(s, value), turn);
  return s->function->values[id].name;
}

static struct rig open(enum rig_model which, samara_session_options options) {
  rig_reset();
  return rig_start(which, 1, options);
}

SMR_TEST(a_variable_stays_where_one_device_reads_and_makes_it) {
  struct rig rig = open(RIG_STAY, (samara_session_options){0});
  const samara_session *s = rig.s;
  const struct smr_function *f = s->function;
  const char *const inputs[] = {"h", "g", "c", "p"};
  const char *const roots[] = {"tanh", "sigmoid", "relu",
                               NULL};  // the root of c is before a reshape
  for (size_t i = 0; i < 4; i++) {
    const struct smr_resident *r = find(s, inputs[i]);
    REQUIRE(r != NULL);
    CHECK_EQ_INT(r->space, 1);
    CHECK((r->root >= 0) == (roots[i] != NULL) && (r->output >= 0) == (roots[i] != NULL));
    if (roots[i] != NULL) CHECK_STR(f->values[r->root].name, roots[i]);
    CHECK_STR(place(s, inputs[i], 0), inputs[i]);
    CHECK_STR(place(s, inputs[i], 1), roots[i] != NULL ? roots[i] : inputs[i]);
    if (roots[i] == NULL) continue;
    CHECK_STR(place(s, roots[i], 0), roots[i]);
    CHECK_STR(place(s, roots[i], 1), inputs[i]);
    CHECK(smr_resident_of(s->entry, &s->entry->devices->spaces[0], (uint32_t)r->root) == r);
  }
  CHECK(find(s, "q") == NULL);  // the host reads it
  const struct smr_device_space *space = &s->entry->devices->spaces[0];
  CHECK(smr_resident_of(s->entry, space, value_of(s, "sub")) == NULL);
  CHECK(smr_resident_of(s->entry, space, value_of(s, "x")) == NULL);
  // The host's plan omits values that only the device reads.
  CHECK(smr_resident_written(s->entry, 0) == find(s, "h"));
  CHECK(s->entry->values[f->outputs[0]].on_device);
  CHECK(!s->entry->values[f->outputs[1]].on_device);  // the user sees it as well
  CHECK(rig_end(&rig));
}

SMR_TEST(what_the_host_looks_at_does_not_stay) {
  struct rig rig = open(RIG_STAY, (samara_session_options){.keep_all = true});
  const samara_session *s = rig.s;
  CHECK(s->common.devices->residents == NULL);  // inputs are kept
  CHECK(rig_end(&rig));
  rig = open(RIG_STATE, (samara_session_options){0});
  s = rig.s;
  CHECK(find(s, "a") == NULL);  // it is an output
  const struct smr_resident *b = find(s, "b");
  CHECK(b == NULL);  // no node makes its value
  CHECK(rig_end(&rig));
}

SMR_TEST(places_take_turns) {
  struct rig rig = open(RIG_STAY, (samara_session_options){0});
  samara_session *s = rig.s;
  const struct smr_devices *devices = s->common.devices;
  uint64_t generations[2] = {0, 0};
  for (uint32_t run = 0; run < 4; run++) {
    uint32_t twins = 0;
    for (const struct smr_device_region *r = devices->regions; r != NULL; r = r->next) {
      CHECK(smr_region_at(s->entry, r->begin) == r);
      if (r->twin == NULL) continue;
      twins++;
      CHECK_EQ_INT(r->turn, run % 2);
      CHECK(r->twin->twin == r && r->twin->turn != r->turn && r->program != r->twin->program);
      // Neither is prepared again.
      if (run < 2) generations[run] = r->region.generation;
      CHECK_EQ_INT(r->region.generation, generations[run % 2]);
    }
    CHECK_EQ_INT(twins, 2);
    CHECK(rig_feed(s, run));
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK_EQ_INT(devices->turn, (run + 1) % 2);
    for (const struct smr_resident *r = devices->residents; r != NULL; r = r->next) CHECK(r->fresh);
  }
  CHECK(rig_end(&rig));
}

SMR_TEST_MAIN(RUN(a_variable_stays_where_one_device_reads_and_makes_it);
              RUN(what_the_host_looks_at_does_not_stay); RUN(places_take_turns))
