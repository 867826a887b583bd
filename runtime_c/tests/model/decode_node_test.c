// SPDX-License-Identifier: Apache-2.0
// Nodes: every kind of attribute, and operands and attributes that must be refused.
#include "model/decode.h"

#include "harness.h"
#include "model/sample.h"
#include "ops/table/attrs.h"

// A function of every kind of attribute, set and not set.
SMR_TEST(decodes_attributes) {
  struct mb_model *m = mb_new();
  struct mb_function *f = mb_function(m, "main");
  const int64_t four = 4;
  const uint32_t x = mb_static(f, "x", SAMARA_FLOAT32, 1, &four);
  mb_input(f, x);
  const int32_t in[] = {0};
  uint32_t y = mb_static(f, "clamped", SAMARA_FLOAT32, 1, &four);
  mb_set_f32(mb_node(f, "clamp", MB_OP_CLAMP, 1, in, 1, &y), "hi", 6.0f);
  y = mb_static(f, "gelu", SAMARA_FLOAT32, 1, &four);
  mb_set(mb_node(f, "gelu", MB_OP_GELU, 1, in, 1, &y), "approximate", 1);
  y = mb_static(f, "cast", SAMARA_INT32, 1, &four);
  mb_set(mb_node(f, "cast", MB_OP_CAST, 1, in, 1, &y), "to", SAMARA_INT32);
  y = mb_static(f, "reduced", SAMARA_FLOAT32, 0, NULL);
  mb_set_ints(mb_node(f, "sum", MB_OP_REDUCE_SUM, 1, in, 1, &y), "axes", 1, (int64_t[]){0});
  y = mb_static(f, "iota", SAMARA_INT64, 1, &four);
  struct mb_node *iota = mb_node(f, "iota", MB_OP_IOTA, 0, NULL, 1, &y);
  mb_set(iota, "length", mb_const(f, 4));
  mb_set(iota, "start", -1);  // present, and unset
  y = mb_static(f, "trapped", SAMARA_FLOAT32, 0, NULL);
  struct mb_node *trap = mb_node(f, "trap", MB_OP_TRAP, 1, in, 1, &y);
  mb_set_text(trap, "message", "not here");
  mb_set_ints(trap, "dtypes", 1, (int64_t[]){SAMARA_FLOAT32});
  mb_set_ints(trap, "ranks", 1, (int64_t[]){0});
  mb_set_dims(trap, "shape", 0, NULL);
  const struct smr_attr *scales;
  const uint32_t q = mb_static(f, "quantized", SAMARA_QINT8, 1, &four);
  mb_quantize(&f->values[q].quant, 0.5f, 1);
  struct mb_node *quantize = mb_node(f, "quantize", MB_OP_QUANTIZE, 1, in, 1, &q);
  mb_set_floats(quantize, "scales", 1, (float[]){0.5f});
  mb_set_ints(quantize, "zero_points", 1, (int64_t[]){1});
  mb_output(f, y);
  const struct mb_file file = mb_accept(m);
  samara_model *model = file.model;
  const struct smr_node *nodes = model->functions[0].nodes;
  CHECK(nodes[0].attrs[SMR_ATTR_INDEX(clamp, hi)].literal.f == 6.0f);
  CHECK(nodes[0].attrs[SMR_ATTR_INDEX(clamp, lo)].literal.f == -INFINITY);
  CHECK_EQ_INT(nodes[1].attrs[SMR_ATTR_INDEX(gelu, approximate)].literal.i, 1);
  CHECK_EQ_INT(nodes[2].attrs[SMR_ATTR_INDEX(cast, to)].literal.i, SAMARA_INT32);
  const struct smr_attr *axes = &nodes[3].attrs[SMR_ATTR_INDEX(reduce_sum, axes)].literal;
  CHECK(axes->count == 1 && axes->ints[0] == 0 && axes->present);
  CHECK(!nodes[3].attrs[SMR_ATTR_INDEX(reduce_sum, keepdims)].literal.present);
  const struct smr_node_attr *length = &nodes[4].attrs[SMR_ATTR_INDEX(iota, length)];
  CHECK(!length->is_list && length->expr_count == 1);
  CHECK_EQ_INT(model->functions[0].exprs[length->exprs[0]].k, 4);
  const struct smr_node_attr *step = &nodes[4].attrs[SMR_ATTR_INDEX(iota, step)];
  CHECK(step->exprs == NULL && step->literal.i == 1 && !step->literal.present);
  const struct smr_node_attr *start = &nodes[4].attrs[SMR_ATTR_INDEX(iota, start)];
  CHECK(start->exprs == NULL && start->literal.i == 0 && !start->literal.present);
  CHECK_EQ_INT(nodes[4].attrs[SMR_ATTR_INDEX(iota, dtype)].literal.i, SAMARA_INT64);
  CHECK_STR(nodes[5].attrs[SMR_ATTR_INDEX(trap, message)].literal.text, "not here");
  CHECK_EQ_INT(nodes[5].attrs[SMR_ATTR_INDEX(trap, message)].literal.count, 8);
  scales = &nodes[6].attrs[SMR_ATTR_INDEX(quantize, scales)].literal;
  CHECK(scales->count == 1 && scales->floats[0] == 0.5f);
  // Outputs without names have the names of their values.
  CHECK_STR(model->functions[0].output_names[0], "trapped");
  mb_close(&file);
}

// The sample, changed in one way, must be refused with this text.
#define REFUSED_AS(status, part, ...)               \
  do {                                              \
    struct mb_model *m = mb_sample();               \
    struct mb_node *nodes = m->functions[0]->nodes; \
    (void)nodes;                                    \
    __VA_ARGS__;                                    \
    CHECK_REFUSED(m, status, part);                 \
  } while (0)
#define REFUSED(part, ...) REFUSED_AS(SAMARA_BAD_MODEL, part, __VA_ARGS__)

SMR_TEST(refuses_what_is_wrong) {
  REFUSED("node 'add': input 0 is value 5", nodes[SAMPLE_ADD].inputs[0] = SAMPLE_FLAT);
  REFUSED("input 1 is value -1", nodes[SAMPLE_ADD].inputs[1] = -1);
  REFUSED("inputs is -2 of 8", nodes[SAMPLE_ADD].inputs[1] = -2);
  REFUSED("inputs is 99 of 8", nodes[SAMPLE_ADD].inputs[1] = 99);
  REFUSED("made twice", nodes[SAMPLE_ADD].outputs[0] = SAMPLE_H);
  REFUSED("made twice", nodes[SAMPLE_ADD].outputs[0] = SAMPLE_X);
  REFUSED("outputs is 99 of 8", nodes[SAMPLE_ADD].outputs[0] = 99);
  REFUSED("does not take 1 inputs", nodes[SAMPLE_ADD].input_count = 1);
  REFUSED("does not take 3 inputs", nodes[SAMPLE_ADD].input_count = 3);
  REFUSED("0 outputs", nodes[SAMPLE_ADD].output_count = 0);
  REFUSED("source is 1 of 1", nodes[SAMPLE_ADD].source = 1);
  REFUSED_AS(SAMARA_UNSUPPORTED, "node 'add': operator 9999 is not in this build",
             nodes[SAMPLE_ADD].op = 9999);
  REFUSED("attributes of another operator", nodes[SAMPLE_RESHAPE].attrs_type = MB_OP_CLAMP);
  REFUSED("missing", nodes[SAMPLE_RESHAPE].attrs[0].present = false);
  REFUSED("shape is 7 of 7", nodes[SAMPLE_RESHAPE].attrs[0].exprs[0] = 7);
  REFUSED("post is 100 of 10", mb_set(&nodes[SAMPLE_MATMUL], "post", 100));
  REFUSED_AS(
      SAMARA_UNSUPPORTED, "to 60 is not in this build", nodes[SAMPLE_IDENTITY].op = MB_OP_CAST;
      nodes[SAMPLE_IDENTITY].attrs_type = MB_OP_CAST; mb_set(&nodes[SAMPLE_IDENTITY], "to", 60));
  // an iota that does not say how long it is
  REFUSED("missing", nodes[SAMPLE_IDENTITY].op = MB_OP_IOTA;
          nodes[SAMPLE_IDENTITY].attrs_type = MB_OP_IOTA; nodes[SAMPLE_IDENTITY].input_count = 0;
          mb_set(&nodes[SAMPLE_IDENTITY], "length", -1));
  REFUSED("attributes of another operator", mb_set(&nodes[SAMPLE_MATMUL], "post", 1);
          nodes[SAMPLE_MATMUL].more_attrs = true);
}

// The sample with its identity as a custom operator that has these attributes.
static struct mb_model *named_sample(uint32_t count, const struct smr_named *values) {
  struct mb_model *m = mb_sample();
  struct mb_node *node = &m->functions[0]->nodes[SAMPLE_IDENTITY];
  static const int64_t dtypes[] = {SAMARA_FLOAT32}, ranks[] = {0};
  node->op = node->attrs_type = MB_OP_CUSTOM;
  mb_set_text(node, "name", "a::b");
  mb_set_ints(node, "dtypes", 1, dtypes);
  mb_set_ints(node, "ranks", 1, ranks);
  mb_set_named(node, "attributes", count, values);
  return m;
}

SMR_TEST(refuses_named_values_that_are_wrong) {
  const struct smr_named unknown[] = {{.name = "n", .kind = SMR_NAMED_KINDS}};
  CHECK_REFUSED(named_sample(1, unknown), SAMARA_BAD_MODEL, "attributes is 3 of 3");
}

// What a file says of operator 9999, and what the message then calls it.
SMR_TEST(names_an_operator_that_it_lacks) {
  static const char *const texts[][2] = {
      {"9999 swirl\n", "operator swirl is not"},
      {"50 add\n9999 swirl\n10000 more\n", "operator swirl is not"},
      {"50 add\n9999 swirl", "operator swirl is not"},
      {"", "operator 9999 is not"},
      {"\n\n", "operator 9999 is not"},
      {"9999", "operator 9999 is not"},
      {"9999 ", "operator 9999 is not"},
      {"19999 no\n99990 no\n 9999 no\n", "operator 9999 is not"},
      {"9999 "
       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
       "aaaa is not"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct mb_model *m = mb_sample();
    m->functions[0]->nodes[SAMPLE_ADD].op = 9999;
    m->operators = texts[i][0];
    CHECK_REFUSED(m, SAMARA_UNSUPPORTED, texts[i][1]);
  }
}

SMR_TEST_MAIN(RUN(decodes_attributes); RUN(refuses_what_is_wrong);
              RUN(names_an_operator_that_it_lacks); RUN(refuses_named_values_that_are_wrong))
