// SPDX-License-Identifier: Apache-2.0
// Custom operators: found by name, attributes, scratch, measured outputs, failures.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

// "test::pick": the elements above a threshold; attributes above (float), times (int), label
// (text).
struct picked {
  int checks, measures, prepares, runs;
  bool fail;
  size_t scratch_bytes;
};

static const samara_attribute *attribute(const samara_custom_call *call, const char *name) {
  for (size_t i = 0; i < call->attribute_count; i++)
    if (strcmp(call->attributes[i].name, name) == 0) return &call->attributes[i];
  return NULL;
}

static samara_status pick_check(const samara_custom_call *call) {
  struct picked *p = call->user;
  p->checks++;
  CHECK_EQ_INT(call->struct_size, sizeof *call);
  CHECK_EQ_INT(call->input_count, 1);
  CHECK(call->inputs[0].data == NULL);
  if (call->inputs[0].dtype == SAMARA_FLOAT32) return SAMARA_OK;
  snprintf(call->error->text, sizeof call->error->text, "floats only");
  return SAMARA_BAD_SHAPE;
}

static bool pick_takes(const samara_custom_call *call, int64_t i) {
  return ((const float *)call->inputs[0].data)[i] > attribute(call, "above")->floats[0];
}

static samara_status pick_measure(samara_custom_call *call) {
  ((struct picked *)call->user)->measures++;
  call->outputs[0].shape[0] = 0;
  for (int64_t i = 0; i < call->inputs[0].shape[0]; i++)
    call->outputs[0].shape[0] += pick_takes(call, i);
  return SAMARA_OK;
}

static samara_status pick_prepare(const samara_custom_call *call, size_t *scratch_bytes) {
  struct picked *p = call->user;
  p->prepares++;
  *scratch_bytes = p->scratch_bytes;
  return SAMARA_OK;
}

static samara_status pick_run(const samara_custom_call *call) {
  struct picked *p = call->user;
  p->runs++;
  if (p->fail) {
    snprintf(call->error->text, sizeof call->error->text, "no luck today");
    return SAMARA_IO;
  }
  CHECK((uintptr_t)call->scratch % 64 == 0);
  memset(call->scratch, 0x77, p->scratch_bytes);
  float *y = call->outputs[0].data;
  for (int64_t i = 0; i < call->inputs[0].shape[0]; i++)
    if (pick_takes(call, i))
      *y++ = ((const float *)call->inputs[0].data)[i] * (float)attribute(call, "times")->ints[1];
  CHECK_STR(attribute(call, "label")->text, "it's a text");
  return SAMARA_OK;
}

// x [6] -> pick -> relu -> y; the dim of the result is born, bounded by 6 or not at all.
// Its attributes are joined by `keys`, or named where that is NULL.
static struct literal *picking(bool bounded, const char *keys) {
  static const int64_t ints[] = {2, 3};
  static const float floats[] = {1.5f};
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 6);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t born = literal_expr(f, SMR_EXPR_BORN, 0, 0, 0, bounded ? (int64_t)n : -1);
  const uint32_t p = literal_vector(f, "p", born), y = literal_vector(f, "y", born);
  const uint32_t node =
      literal_node(f, smr_op_find(SMR_CODE_CUSTOM), "picker", LITERAL_LIST(x), LITERAL_LIST(p));
  literal_attr(f, node, "name", (struct smr_attr){.text = "test::pick", .count = 10});
  if (keys != NULL) {
    literal_attr(f, node, "keys", (struct smr_attr){.text = keys, .count = (uint32_t)strlen(keys)});
    literal_attr(f, node, "ints", (struct smr_attr){.ints = ints, .count = 2});
    literal_attr(f, node, "floats", (struct smr_attr){.floats = floats, .count = 1});
  } else {
    static const struct smr_named named[] = {
        {.name = "above", .floats = floats, .float_count = 1, .kind = SMR_NAMED_FLOATS, .text = ""},
        {.name = "times", .ints = ints, .int_count = 2, .kind = SMR_NAMED_INTS, .text = ""},
        {.name = "label", .text = "it's a text", .kind = SMR_NAMED_TEXT},
    };
    literal_attr(f, node, "attributes", (struct smr_attr){.named = named, .count = 3});
  }
  literal_node(f, smr_op_find(SMR_CODE_RELU), "relu", LITERAL_LIST(p), LITERAL_LIST(y));
  literal_output(f, y, "y");
  return l;
}

static const char good_keys[] =
    "above\x1f"
    "f\x1f"
    "1\x1f"
    "times\x1f"
    "i\x1f"
    "2\x1f"
    "label\x1f"
    "s\x1fit's a text";

static samara_custom_op pick_op(struct picked *user) {
  return (samara_custom_op){.struct_size = sizeof(samara_custom_op),
                            .name = "test::pick",
                            .check = pick_check,
                            .measure = pick_measure,
                            .prepare = pick_prepare,
                            .run = pick_run,
                            .user = user};
}

static void check_picking(bool bounded, const char *keys) {
  struct literal *l = picking(bounded, keys);
  struct picked p = {.scratch_bytes = 1000};
  const samara_custom_op ops[] = {pick_op(&p)};
  samara_session *s = literal_session(
      literal_finish(l), (samara_session_options){.custom_ops = ops, .custom_op_count = 1});
  CHECK(literal_feed(s, 0, (const float[]){1, 2, 3, 0, -1, 4}, 6));
  CHECK(literal_gives(s, 0, (const float[]){6, 9, 12}, 3));
  CHECK(literal_feed(s, 0, (const float[]){1, 1, 1, 1, 1, 5}, 6));
  CHECK(literal_gives(s, 0, (const float[]){15}, 1));
  CHECK(literal_feed(s, 0, (const float[]){1, 1, 1, 1, 1, 1}, 6));
  CHECK(literal_gives(s, 0, NULL, 0));
  CHECK_EQ_INT(p.runs, 3);
  CHECK_EQ_INT(p.measures, 3);
  CHECK(p.checks >= 1);
  p.fail = true;
  CHECK_EQ_INT(samara_session_run(s), SAMARA_CUSTOM_OP);
  CHECK_STR(samara_session_error(s),
            "function 'main', node 'picker' (custom): run of custom operator 'test::pick' failed: "
            "no luck today");
  literal_close(s, l);
}

SMR_TEST(runs_with_attributes_scratch_and_measured_dims) { check_picking(true, NULL); }
SMR_TEST(runs_with_joined_attributes) { check_picking(true, good_keys); }
SMR_TEST(works_in_a_growing_function) { check_picking(false, NULL); }

SMR_TEST(a_missing_operator_is_named_at_creation) {
  struct literal *l = picking(true, good_keys);
  const samara_model *model = literal_finish(l);
  samara_session *s = NULL;
  samara_error error;
  CHECK_EQ_INT(samara_session_create(model, NULL, &s, &error), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "node 'picker' (custom): needs the custom operator 'test::pick'");
  struct picked p = {0};
  samara_custom_op ops[] = {pick_op(&p)};
  samara_session_options options = {
      .struct_size = sizeof options, .custom_ops = ops, .custom_op_count = 1};
  ops[0].measure = NULL;
  CHECK_EQ_INT(samara_session_create(model, &options, &s, &error), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "has no `measure`");
  ops[0].run = NULL;
  CHECK_EQ_INT(samara_session_create(model, &options, &s, &error), SAMARA_BAD_ARGUMENT);
  ops[0] = pick_op(&p);
  ops[0].struct_size = 8;
  CHECK_EQ_INT(samara_session_create(model, &options, &s, &error), SAMARA_BAD_ARGUMENT);
  literal_free(l);
}

SMR_TEST(malformed_attributes_are_refused) {
  static const char *const bad[] = {"above",
                                    "above\x1f"
                                    "f\x1f"
                                    "2",
                                    "a\x1f"
                                    "i\x1f"
                                    "3",
                                    "a\x1f"
                                    "x\x1f"
                                    "1",
                                    "a\x1f"
                                    "i\x1f"
                                    "-1",
                                    "a\x1f"
                                    "i\x1f"
                                    "99999999999999999999"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct literal *l = picking(true, bad[i]);
    const samara_model *model = literal_finish(l);
    struct picked p = {0};
    const samara_custom_op ops[] = {pick_op(&p)};
    const samara_session_options options = {
        .struct_size = sizeof options, .custom_ops = ops, .custom_op_count = 1};
    samara_session *s = NULL;
    samara_error error;
    CHECK_EQ_INT(samara_session_create(model, &options, &s, &error), SAMARA_BAD_MODEL);
    CHECK_CONTAINS(error.text, "malformed attributes");
    literal_free(l);
  }
}

SMR_TEST_MAIN(RUN(runs_with_attributes_scratch_and_measured_dims); RUN(runs_with_joined_attributes);
              RUN(works_in_a_growing_function); RUN(a_missing_operator_is_named_at_creation);
              RUN(malformed_attributes_are_refused))
