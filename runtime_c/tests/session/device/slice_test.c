// SPDX-License-Identifier: Apache-2.0
// The description of a region for backends: tensors, attributes and nodes.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"

static const samara_region_tensor *tensor_of(const struct smr_device_region *r, const char *name) {
  for (uint32_t i = 0; i < r->region.tensor_count; i++)
    if (strcmp(r->region.tensors[i].name, name) == 0) return &r->region.tensors[i];
  return NULL;
}

static const samara_region_attribute *attribute_of(const samara_region_node *node,
                                                   const char *name) {
  for (uint32_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attributes[i].name, name) == 0) return &node->attributes[i];
  return NULL;
}

SMR_TEST(a_slice_has_each_value_once) {
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 0, (samara_session_options){0});
  samara_session *s = rig.cpu;
  struct smr_device_region r = {0};
  CHECK_EQ_INT(smr_region_describe(s->entry, 0, 10, &r), SAMARA_OK);
  CHECK_EQ_INT(r.region.node_count, 10);
  CHECK_EQ_INT(r.region.tensor_count, 12);
  CHECK_EQ_INT(r.region.generation, 0);
  CHECK(r.region.strict && !r.region.separate);
  CHECK_STR(r.region.function, "main");
  const struct smr_function *f = s->function;
  for (uint32_t n = 0; n < 10; n++) {
    const samara_region_node *node = &r.region.nodes[n];
    CHECK_STR(node->name, f->nodes[n].name);
    CHECK_STR(node->op, f->nodes[n].op->name);
    CHECK_EQ_INT(node->code, f->nodes[n].op->code);
    REQUIRE(node->input_count == f->nodes[n].input_count && node->output_count == 1);
    for (uint32_t i = 0; i < node->input_count; i++)
      CHECK_STR(r.region.tensors[node->inputs[i]].name, f->values[f->nodes[n].inputs[i]].name);
    CHECK_STR(r.region.tensors[node->outputs[0]].name, f->values[f->nodes[n].outputs[0]].name);
  }
  const samara_region_tensor *w = tensor_of(&r, "w"), *y = tensor_of(&r, "y");
  REQUIRE(w != NULL && y != NULL);
  CHECK(w->data != NULL && w->size_bytes == 24 && w->rank == 1 && w->shape[0] == 6);
  CHECK(w->layout == SAMARA_LAYOUT_PLAIN && w->groups == 1 && w->quant_axis == -1);
  CHECK(y->data == NULL && y->rank == 2 && y->shape[0] == 2 && y->shape[1] == 3);
  CHECK(y->symbolic == 0 && y->dtype == SAMARA_FLOAT32);
  const samara_region_attribute *shape = attribute_of(&r.region.nodes[7], "shape");
  REQUIRE(shape != NULL);
  CHECK(shape->count == 2 && shape->ints[0] == 2 && shape->ints[1] == 3 && !shape->symbolic);
  CHECK(rig_end(&rig));
}

SMR_TEST(what_is_not_known_yet_comes_with_a_refresh) {
  rig_reset();
  struct rig rig = rig_start(RIG_READ, 1, (samara_session_options){0});
  samara_session *s = rig.s;
  const int64_t count[] = {1, 2};
  // Regions of the second stage: the two slices, and "sum".
  const struct smr_device_region *cut = NULL;
  for (const struct smr_device_region *r = s->common.devices->regions; r != NULL; r = r->next)
    if (strcmp(r->region.nodes[0].op, "slice") == 0) cut = r;
  REQUIRE(cut != NULL);
  const samara_region_attribute *end = attribute_of(&cut->region.nodes[0], "end");
  const samara_region_attribute *begin = attribute_of(&cut->region.nodes[0], "begin");
  const samara_region_tensor *y = tensor_of(cut, "cut_x");
  REQUIRE(end != NULL && begin != NULL && y != NULL);
  CHECK(end->symbolic && !begin->symbolic && begin->ints[0] == 0);
  CHECK(y->shape[0] == -1 && y->symbolic == 1);
  CHECK_EQ_INT(cut->region.generation, 0);
  uint64_t generation = 0;
  for (int64_t n = 1; n <= 3; n++) {
    const int64_t counts[] = {count[0], n};
    CHECK_EQ_INT(samara_session_set_input(s, 1, counts, sizeof counts), SAMARA_OK);
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK(y->shape[0] == 2 * n && y->size_bytes == 8 * (size_t)n && end->ints[0] == 2 * n);
    CHECK(cut->region.generation > generation);
    generation = cut->region.generation;
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK(cut->region.generation == generation);  // nothing has changed
  }
  CHECK(rig_end(&rig));
}

SMR_TEST_MAIN(RUN(a_slice_has_each_value_once); RUN(what_is_not_known_yet_comes_with_a_refresh))
