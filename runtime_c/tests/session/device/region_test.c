// SPDX-License-Identifier: Apache-2.0
// Regions: where they begin and end, what is copied at their borders, what is a view, and releases.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

// "begin-end:to_device>to_host" of the regions of a function, by node.
static void describe(const samara_session *s, const char *function, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < s->frames.count; i++) {
    const struct smr_frame *frame = s->frames.order[i];
    if (strcmp(frame->function->name, function) != 0) continue;
    for (uint32_t n = 0; n < frame->function->node_count; n++) {
      const struct smr_device_region *r = smr_region_at(frame, n);
      if (r == NULL) continue;
      used += (size_t)snprintf(text + used, size - used, "%u-%u:", (unsigned)r->begin,
                               (unsigned)r->end);
      for (uint32_t k = 0; k < r->to_device_count; k++)
        used += (size_t)snprintf(text + used, size - used, "%s,", r->tensors[r->to_device[k]].name);
      used += (size_t)snprintf(text + used, size - used, ">");
      for (uint32_t k = 0; k < r->to_host_count; k++)
        used += (size_t)snprintf(text + used, size - used, "%s,", r->tensors[r->to_host[k]].name);
      used += (size_t)snprintf(text + used, size - used, " ");
    }
  }
}

static void check(enum rig_model which, size_t devices, const char *function, const char *want) {
  char text[1024];
  rig_reset();
  struct rig rig = rig_start(which, devices, (samara_session_options){0});
  samara_session *s = rig.s;
  describe(s, function, text, sizeof text);
  CHECK_STR(text, want);
  CHECK(rig_end(&rig));
}

SMR_TEST(regions_end_where_another_space_or_stage_begins) {
  check(RIG_CHAIN, 1, "main", "0-2:x,>one_relu, 3-4:host_neg,>one_mul, 6-10:two_add,>y,last, ");
  check(RIG_CHAIN, 2, "main",
        "0-2:x,>one_relu, 3-4:host_neg,>one_mul, 4-6:one_mul,one_relu,>two_add, "
        "6-10:two_add,>y,last, ");
  check(RIG_IF, 1, "main", "0-1:x,>before, 2-3:y,>after, ");
  check(RIG_IF, 1, "then", "0-2:x,>first,second, ");
  check(RIG_LOOP, 1, "body", "0-4:x,k,>step,product,go, ");
  check(RIG_STATE, 1, "main", "0-3:a,x,b,>sigmoid,mul, ");
  // "relu" stays there for the second stage, where "x" goes to; "twice" is read as a dim.
  check(RIG_READ, 1, "main", "0-2:count,x,>twice, 2-4:>cut_x, 5-6:host_tanh,>sum, ");
}

SMR_TEST(views_are_of_values_with_the_same_bytes) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 0, (samara_session_options){0});
  samara_session *s = rig.cpu;
  struct smr_frame *frame = s->entry;
  for (uint32_t n = 0; n < s->function->node_count; n++)
    CHECK_EQ_INT(smr_region_is_view(frame, &s->function->nodes[n]),
                 strcmp(s->function->nodes[n].name, "reshape") == 0);
  // A reshape of a constant is no view.
  struct smr_node node = s->function->nodes[7];
  int32_t inputs[] = {s->function->nodes[0].inputs[1]};
  node.inputs = inputs;
  CHECK(!smr_region_is_view(frame, &node));
  CHECK(rig_end(&rig));
}

SMR_TEST(failures_name_the_device_and_the_work) {
  samara_error why = {.text = "no"}, none = {.text = ""}, error = {.text = ""};
  rig_reset();
  samara_backend *device = rig_open(1, NULL, NULL);
  REQUIRE(device != NULL);
  CHECK_EQ_INT(smr_device_error(device, "running", SAMARA_BACKEND, &why, &error), SAMARA_BACKEND);
  CHECK_STR(error.text, "mirror:1: running: no");
  CHECK_EQ_INT(smr_device_error(device, "waiting", SAMARA_LIMIT, &none, &error), SAMARA_LIMIT);
  CHECK_STR(error.text, "mirror:1: waiting: no reason given");
  samara_backend_close(device);
}

SMR_TEST(everything_is_released_once) {
  for (int which = 0; which < RIG_MODELS; which++) {
    rig_reset();
    struct rig rig = rig_start((enum rig_model)which, 1, (samara_session_options){0});
    samara_session *s = rig.s;
    CHECK(rig_feed(s, 3));
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK(mirror_live() > 2);
    smr_devices_release(s->common.devices);
    CHECK_EQ_INT(mirror_live(), 1);
    CHECK_EQ_INT(s->common.devices->device_bytes, 0);
    smr_devices_release(s->common.devices);
    CHECK(rig_end(&rig));
  }
}

SMR_TEST_MAIN(RUN(regions_end_where_another_space_or_stage_begins);
              RUN(views_are_of_values_with_the_same_bytes);
              RUN(failures_name_the_device_and_the_work); RUN(everything_is_released_once))
