// SPDX-License-Identifier: Apache-2.0
// Plans of devices' memory: values that live at the same time do not overlap, views share bytes,
// and a device with too little memory leaves the work to the CPU.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

static bool apart(uint64_t a, size_t a_bytes, uint64_t b, size_t b_bytes) {
  return a + a_bytes <= b || b + b_bytes <= a;
}

// Checks every pair of values in one block of a space. The last use of each is computed here,
// independently of region.c.
static void check_space(const struct smr_frame *frame, uint32_t index) {
  const struct smr_function *f = frame->function;
  const struct smr_device_space *space = &frame->devices->spaces[index];
  const size_t alignment = space->backend->requirements.alignment_bytes;
  uint32_t first[LITERAL_VALUES] = {0}, last[LITERAL_VALUES] = {0};
  REQUIRE(f->value_count <= LITERAL_VALUES);
  for (uint32_t n = f->node_count; n-- > 0;) {
    if (frame->nodes[n].space != index + 1) continue;
    uint32_t begin = n, end = n;
    while (frame->devices->region_of[begin] == NULL) begin--;
    while (end + 1 < f->node_count && frame->devices->region_of[end + 1] == NULL &&
           frame->nodes[end + 1].space == index + 1 && f->nodes[end + 1].stage == f->nodes[n].stage)
      end++;
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++) {
      const int32_t x = f->nodes[n].inputs[i];
      if (x < 0 || f->values[x].constant >= 0) continue;
      if (last[x] == 0) last[x] = n + 1;
      // A value from another space is copied when its first region begins.
      if (frame->values[x].space != index + 1) first[x] = begin;
    }
    for (uint32_t i = 0; i < f->nodes[n].output_count; i++) {
      const uint32_t y = f->nodes[n].outputs[i];
      first[y] = n;
      if (last[y] == 0) last[y] = n + 1;
      if (!frame->values[y].on_device && last[y] < end + 1) last[y] = end + 1;
    }
  }
  // Resident variables are always live.
  for (uint32_t a = 0; a < f->value_count; a++)
    if (space->values[a].here && smr_resident_of(frame, space, space->values[a].root) != NULL) {
      CHECK_EQ_INT(space->values[space->values[a].root].stage, 0);
      first[a] = 0;
      last[a] = UINT32_MAX;
    }
  for (uint32_t a = 0; a < f->value_count; a++)
    for (uint32_t b = 0; b < a; b++) {
      const struct smr_device_value *va = &space->values[a], *vb = &space->values[b];
      if (!va->here || !vb->here) continue;
      const struct smr_device_value *ra = &space->values[va->root], *rb = &space->values[vb->root];
      CHECK_EQ_INT(ra->offset % alignment, 0);
      if (ra->stage != rb->stage || va->root == vb->root || last[a] <= first[b] ||
          last[b] <= first[a])
        continue;
      if (!CHECK(apart(ra->offset, frame->values[a].tensor.size_bytes, rb->offset,
                       frame->values[b].tensor.size_bytes)))
        fprintf(stderr, "%s and %s\n", f->values[a].name, f->values[b].name);
    }
}

// Offsets in the regions equal those of the plan and lie inside a block.
static void check_regions(const samara_session *s) {
  for (const struct smr_device_region *r = s->common.devices->regions; r != NULL; r = r->next)
    for (uint32_t i = 0; i < r->region.tensor_count; i++) {
      const samara_region_tensor *t = &r->tensors[i];
      const struct smr_device_value *value = &r->space->values[r->value_of[i]];
      if (r->loaded[i] != NULL) {
        CHECK(t->memory == r->loaded[i]->handle && t->data != NULL && t->offset_bytes == 0);
        continue;
      }
      if (r->frame->function->values[r->value_of[i]].constant >= 0) {
        CHECK_EQ_INT((int)t->size_bytes, 0);  // all others are loaded
        continue;
      }
      const struct smr_device_value *root =
          &r->space->values[smr_resident_place(r->frame, r->space, value->root, r->turn)];
      const struct smr_device_block *block = &r->space->blocks[root->stage];
      CHECK(t->memory == block->handle && t->offset_bytes == root->offset);
      CHECK(t->offset_bytes + t->size_bytes <= block->size_bytes);
      CHECK(t->memory != NULL || t->size_bytes == 0);
    }
}

SMR_TEST(values_that_live_at_the_same_time_lie_apart) {
  for (int which = 0; which < RIG_MODELS; which++)
    for (size_t devices = 1; devices <= 2; devices++) {
      rig_reset();
      struct rig rig = rig_start((enum rig_model)which, devices, (samara_session_options){0});
      samara_session *s = rig.s;
      for (uint32_t run = 0; run < 3; run++) {
        CHECK(rig_feed(s, run));
        CHECK_EQ_INT(literal_run(s), SAMARA_OK);
        for (uint32_t i = 0; i < s->frames.count; i++)
          for (uint32_t d = 0; s->frames.order[i]->devices != NULL && d < devices; d++)
            check_space(s->frames.order[i], d);
        if (which != RIG_IF) check_regions(s);  // a branch that has never run has no place
      }
      CHECK(rig_end(&rig));
    }
}

SMR_TEST(values_of_random_models_lie_apart) {
  for (uint32_t seed = 0; seed < 200; seed++) {
    rig_reset();
    struct rig rig = rig_start_random(seed, 2, (samara_session_options){0});
    samara_session *s = rig.s;
    for (uint32_t d = 0; s->entry->devices != NULL && d < 2; d++) check_space(s->entry, d);
    check_regions(s);
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(a_view_shares_the_bytes_of_its_input) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){0});
  samara_session *s = rig.s;
  const struct smr_frame *frame = s->entry;
  // "one_add", "sub" that the view is of, and two more at most live at once.
  CHECK_EQ_INT(rig_report(s).device_bytes, 4 * 64);
  for (uint32_t n = 0; n < frame->function->node_count; n++) {
    const struct smr_node *node = &frame->function->nodes[n];
    if (strcmp(node->name, "reshape") != 0) continue;
    const struct smr_device_value *values = frame->devices->spaces[0].values;
    CHECK_EQ_INT(values[node->outputs[0]].root, node->inputs[0]);
    // "last" reads the input after "tanh" has read the view.
    CHECK_EQ_INT(values[node->inputs[0]].last, frame->function->node_count - 1);
  }
  CHECK(rig_end(&rig));
}

SMR_TEST(blocks_grow_with_the_dims_and_are_counted) {
  rig_reset();
  struct rig rig = rig_start(RIG_UNBOUNDED, 1, (samara_session_options){0});
  samara_session *cpu = rig.cpu, *s = rig.s;
  CHECK_EQ_INT(rig_report(s).device_bytes, 0);
  const int handles = mirror_live();
  static const int64_t dims[] = {0, 3, 16, 17, 200, 5, 33, 0, 200, 201};
  int64_t most = 0;
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    if (dims[i] > most) most = dims[i];
    CHECK_EQ_INT(literal_resize(cpu, 0, dims[i]), SAMARA_OK);
    CHECK_EQ_INT(literal_resize(s, 0, dims[i]), SAMARA_OK);
    CHECK(rig_same(cpu, s, (uint32_t)i));
    // "x" and "relu" live to the end beside "sigmoid", whose bytes "mul" takes; "add" and "neg"
    // take those of "x".
    const uint64_t each = (4 * (uint64_t)most + 63) / 64 * 64;
    if (most != 0) CHECK(rig_report(s).device_bytes / each == 4);
    CHECK_EQ_INT(rig_report(s).device_bytes % 64, 0);
    CHECK_EQ_INT(mirror_live(), handles + (most != 0));
  }
  CHECK_STR(rig_report(s).failure, "");
  CHECK(rig_end(&rig));
}

SMR_TEST(more_than_one_allocation_may_have_ends_on_the_cpu) {
  rig_reset();
  rig_settings.most_bytes = 63;
  struct rig rig = rig_start(RIG_CHAIN, 1, (samara_session_options){0});
  samara_session *cpu = rig.cpu, *s = rig.s;
  CHECK_CONTAINS(rig_report(s).failure, "mirror:0: allocating memory: ");
  CHECK_CONTAINS(rig_report(s).failure, "can have at most 63");
  CHECK(!rig_report(s).active);
  CHECK(rig_same(cpu, s, 1));
  CHECK(rig_end(&rig));
}

SMR_TEST_MAIN(RUN(values_that_live_at_the_same_time_lie_apart);
              RUN(values_of_random_models_lie_apart); RUN(a_view_shares_the_bytes_of_its_input);
              RUN(blocks_grow_with_the_dims_and_are_counted);
              RUN(more_than_one_allocation_may_have_ends_on_the_cpu))
