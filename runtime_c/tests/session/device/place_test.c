// SPDX-License-Identifier: Apache-2.0
// Which nodes devices get, which values the host sees, and the reasons.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

static const struct smr_frame_node *node_of(const struct smr_frame *frame, const char *name) {
  for (uint32_t n = 0; n < frame->function->node_count; n++)
    if (strcmp(frame->function->nodes[n].name, name) == 0) return &frame->nodes[n];
  return NULL;
}

static const struct smr_frame_value *value_of(const struct smr_frame *frame, const char *name) {
  for (uint32_t i = 0; i < frame->function->value_count; i++)
    if (strcmp(frame->function->values[i].name, name) == 0) return &frame->values[i];
  return NULL;
}

static struct rig begin(enum rig_model which, size_t devices, samara_session_options options) {
  rig_reset();
  return rig_start(which, devices, options);
}

SMR_TEST(the_host_sees_what_it_reads_and_no_more) {
  struct rig rig = begin(RIG_CHAIN, 2, (samara_session_options){0});
  static const struct {
    const char *name;
    uint8_t space;
    bool on_device;
  } want[] = {{"x", 0, false},        {"one_add", 1, true},  {"one_relu", 1, false},
              {"host_neg", 0, false}, {"one_mul", 1, false}, {"two_sigmoid", 2, true},
              {"two_add", 2, false},  {"sub", 1, true},      {"reshaped", 1, true},
              {"y", 1, false},        {"last", 1, false},    {"w", 0, false}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    const struct smr_frame_value *value = value_of(rig.s->entry, want[i].name);
    REQUIRE(value != NULL);
    CHECK_EQ_INT(value->space, want[i].space);
    if (!CHECK_EQ_INT(value->on_device, want[i].on_device)) fprintf(stderr, "%s\n", want[i].name);
    // The host's plan has no bytes for the others.
    if (value->on_device) CHECK_EQ_INT(value->home, SMR_HOME_NONE);
  }
  CHECK(rig_end(&rig));
  rig = begin(RIG_CHAIN, 2, (samara_session_options){.keep_all = true});
  for (uint32_t i = 0; i < rig.s->function->value_count; i++)
    CHECK(!rig.s->entry->values[i].on_device);
  CHECK(rig_end(&rig));
}

SMR_TEST(dims_that_are_read_come_to_the_host) {
  struct rig rig = begin(RIG_READ, 1, (samara_session_options){0});
  CHECK_EQ_INT(value_of(rig.s->entry, "twice")->space, 1);
  CHECK(!value_of(rig.s->entry, "twice")->on_device);
  CHECK(value_of(rig.s->entry, "relu")->on_device);
  CHECK(rig_end(&rig));
}

SMR_TEST(control_and_dims_of_data_stay_on_the_cpu) {
  static const struct {
    enum rig_model model;
    const char *node, *reason;
  } want[] = {{RIG_IF, "choose", "control flow runs on the CPU"},
              {RIG_LOOP, "loop", "control flow runs on the CPU"},
              {RIG_CALL, "call", "control flow runs on the CPU"},
              {RIG_BORN, "where", "its output dims depend on data"}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    struct rig rig = begin(want[i].model, 1, (samara_session_options){0});
    const struct smr_frame_node *node = node_of(rig.s->entry, want[i].node);
    REQUIRE(node != NULL);
    CHECK_EQ_INT(node->space, 0);
    CHECK_STR(node->reason, want[i].reason);
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(devices_say_why_not) {
  struct rig rig = begin(RIG_CHAIN, 2, (samara_session_options){0});
  bool supported;
  const char *reason;
  struct smr_frame *frame = rig.s->entry;
  mirror_fail("supports", 1);
  CHECK_EQ_INT(smr_device_supports(frame, 0, 0, &supported, &reason), SAMARA_OK);
  CHECK(!supported);
  CHECK_CONTAINS(reason, "fails, as it was told to");
  CHECK_EQ_INT(smr_device_supports(frame, 0, 0, &supported, &reason), SAMARA_OK);
  CHECK(supported);
  CHECK_EQ_INT(smr_device_supports(frame, 0, 1, &supported, &reason), SAMARA_OK);
  CHECK(!supported);
  // Node 0 reads a constant, node 1 does not.
  rig.devices[0]->requirements.constant_layouts = 1u << SAMARA_LAYOUT_PANEL;
  CHECK_EQ_INT(smr_device_supports(frame, 0, 0, &supported, &reason), SAMARA_OK);
  CHECK(!supported);
  CHECK_STR(reason, "weights in this layout are not supported");
  CHECK_EQ_INT(smr_device_supports(frame, 1, 0, &supported, &reason), SAMARA_OK);
  CHECK(supported);
  smr_trust_note(rig.devices[0], "relu float32 float32", SMR_TRUST_BAD);
  CHECK_EQ_INT(smr_device_supports(frame, 1, 0, &supported, &reason), SAMARA_OK);
  CHECK(!supported);
  CHECK_STR(reason, "this device gave a wrong answer for such a node");
  CHECK(rig_end(&rig));
}

SMR_TEST(frames_without_regions_pay_nothing) {
  rig_reset();
  mirror_fail("supports", -1);
  struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){0});
  CHECK(rig.s->entry->devices == NULL);
  CHECK(!rig_report(rig.s).active);
  CHECK_EQ_INT(literal_run(rig.s), SAMARA_OK);
  CHECK_EQ_INT(rig_report(rig.s).device_runs, 0);
  CHECK_EQ_INT(mirror_calls("copy") + mirror_calls("load") + mirror_calls("compile"), 0);
  CHECK(rig_end(&rig));
}

SMR_TEST_MAIN(RUN(the_host_sees_what_it_reads_and_no_more);
              RUN(dims_that_are_read_come_to_the_host);
              RUN(control_and_dims_of_data_stay_on_the_cpu); RUN(devices_say_why_not);
              RUN(frames_without_regions_pay_nothing))
