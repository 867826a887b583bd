// SPDX-License-Identifier: Apache-2.0
// Attributes of prepared operators: every kind, defaults, and what is refused, by name.
#include "base/fp.h"

#include "session/eager/eager_data.h"

#include "ops/attr_index.h"
#include "ops/table/attrs.h"
#include "ops/table/opattrs.h"
#include "session/eager/eager.h"

static const struct smr_op *attrs_row(uint16_t code) { return smr_op_find(code); }

enum { ATTRS_MOST = 24 };

// Attributes of the operator `code` from a list; the lists in them lie in `memory`.
static samara_status attrs_read(uint16_t code, const samara_attribute *list, size_t count,
                                struct smr_attr *out, uint64_t *memory, samara_error *error) {
  const samara_op_desc desc = {.attributes = list, .attribute_count = count};
  struct smr_bump measure = {.base = NULL};
  const samara_status status = smr_eager_attrs(attrs_row(code), &desc, NULL, &measure, error);
  if (status != SAMARA_OK) return status;
  struct smr_bump bump = {.base = (uint8_t *)memory, .capacity = 512};
  CHECK_EQ_INT(smr_eager_attrs(attrs_row(code), &desc, out, &bump, error), SAMARA_OK);
  CHECK_EQ_INT(bump.used, measure.used);
  return SAMARA_OK;
}

static const struct smr_attr *attrs_of(uint16_t code, const char *name,
                                       const struct smr_attr *attrs) {
  const int index = attr_index(attrs_row(code), name);
  assert(index >= 0);
  return &attrs[index];
}

#define ATTRS_READ(code, list) \
  attrs_read((code), (list), sizeof(list) / sizeof(list)[0], attrs, memory, &error)

SMR_TEST(defaults_and_kinds) {
  struct smr_attr attrs[ATTRS_MOST];
  uint64_t memory[64];
  samara_error error = {.text = ""};
  const samara_attribute conv[] = {EAGER_INTS("strides", 2, 3),
                                   EAGER_INTS("dilations", 1, 1),
                                   EAGER_INTS("pads", 0, 1, 2, 3),
                                   EAGER_INTS("lo", 0),
                                   {.name = "post", .text = "silu"},
                                   {.name = "post_alpha", .floats = (float[]){0.5f}, .count = 1}};
  REQUIRE(ATTRS_READ(SMR_CODE_CONV, conv) == SAMARA_OK);
  const struct smr_attr *strides = attrs_of(SMR_CODE_CONV, "strides", attrs);
  CHECK_EQ_INT(strides->count, 2);
  CHECK_EQ_INT(strides->ints[1], 3);
  CHECK(strides->ints != conv[0].ints);  // copied
  CHECK_EQ_INT(attrs_of(SMR_CODE_CONV, "pads", attrs)->ints[3], 3);
  CHECK_EQ_INT(attrs_of(SMR_CODE_CONV, "groups", attrs)->i, 1);
  CHECK(attrs_of(SMR_CODE_CONV, "lo", attrs)->f == 0);
  CHECK(attrs_of(SMR_CODE_CONV, "hi", attrs)->f == INFINITY);
  CHECK_EQ_INT(attrs_of(SMR_CODE_CONV, "post", attrs)->i, 5);
  CHECK(attrs_of(SMR_CODE_CONV, "post_alpha", attrs)->f == 0.5f);
  CHECK(attrs_of(SMR_CODE_CONV, "post", attrs)->present);
  CHECK(!attrs_of(SMR_CODE_CONV, "hi", attrs)->present);

  const samara_attribute matmul[] = {EAGER_INTS("transpose_w", 1), EAGER_INTS("post", 2)};
  REQUIRE(ATTRS_READ(SMR_CODE_MATMUL, matmul) == SAMARA_OK);
  CHECK_EQ_INT(attrs_of(SMR_CODE_MATMUL, "transpose_w", attrs)->i, 1);
  CHECK_EQ_INT(attrs_of(SMR_CODE_MATMUL, "post", attrs)->i, 2);

  const samara_attribute by_name[] = {{.name = "to", .text = "int64"}};
  REQUIRE(ATTRS_READ(SMR_CODE_CAST, by_name) == SAMARA_OK);
  CHECK_EQ_INT(attrs[0].i, SAMARA_INT64);
  const samara_attribute by_number[] = {EAGER_INTS("to", SAMARA_BOOL)};
  REQUIRE(ATTRS_READ(SMR_CODE_CAST, by_number) == SAMARA_OK);
  CHECK_EQ_INT(attrs[0].i, SAMARA_BOOL);
}

SMR_TEST(empty_lists) {
  struct smr_attr attrs[ATTRS_MOST];
  uint64_t memory[64];
  samara_error error = {.text = ""};
  const samara_attribute scalar[] = {{.name = "shape"}};
  REQUIRE(ATTRS_READ(SMR_CODE_SUM_TO, scalar) == SAMARA_OK);
  CHECK_EQ_INT(attrs[0].count, 0);
  CHECK(attrs[0].present);
}

static void attrs_refused(uint16_t code, const samara_attribute *list, size_t count,
                          const char *text) {
  struct smr_attr attrs[ATTRS_MOST];
  uint64_t memory[64];
  samara_error error = {.text = ""};
  CHECK_EQ_INT(attrs_read(code, list, count, attrs, memory, &error), SAMARA_BAD_ARGUMENT);
  CHECK_STR(error.text, text);
}

SMR_TEST(refused_by_name) {
#define REFUSED(code, text, ...)                                                            \
  attrs_refused((code), (const samara_attribute[]){__VA_ARGS__},                            \
                sizeof((const samara_attribute[]){__VA_ARGS__}) / sizeof(samara_attribute), \
                (text))
  const float half[] = {0.5f};
  const int64_t one[] = {1};
  REFUSED(SMR_CODE_RELU, "relu: there is no attribute 'alpha'", EAGER_INTS("alpha", 1));
  REFUSED(SMR_CODE_ELU, "elu: attribute 1 has no name", EAGER_INTS("alpha", 1), {.name = NULL});
  REFUSED(SMR_CODE_CAST, "cast: attribute 'to' takes a dtype, by name or number",
          {.name = "to", .text = "float99"});
  REFUSED(SMR_CODE_CAST, "cast: attribute 'to' takes a dtype, by name or number",
          EAGER_INTS("to", 257));
  REFUSED(SMR_CODE_CAST, "cast: attribute 'to' takes a dtype, by name or number",
          EAGER_INTS("to", 0));
  REFUSED(SMR_CODE_GELU, "gelu: attribute 'approximate' takes one of none,tanh",
          {.name = "approximate", .text = "tan"});
  REFUSED(SMR_CODE_GELU, "gelu: attribute 'approximate' takes one of none,tanh",
          {.name = "approximate", .text = ""});
  REFUSED(SMR_CODE_GELU, "gelu: attribute 'approximate' takes one of none,tanh",
          EAGER_INTS("approximate", 2));
  REFUSED(SMR_CODE_GELU,
          "gelu: attribute 'approximate' takes one of its choices, by name or number",
          {.name = "approximate", .floats = half, .count = 1});
  REFUSED(SMR_CODE_SOFTMAX, "softmax: attribute 'axis' takes one integer",
          {.name = "axis", .floats = half, .count = 1});
  REFUSED(SMR_CODE_SOFTMAX, "softmax: attribute 'axis' takes one integer",
          EAGER_INTS("axis", 1, 2));
  REFUSED(SMR_CODE_SOFTMAX, "softmax: attribute 'axis' takes one integer", {.name = "axis"});
  REFUSED(SMR_CODE_SOFTMAX, "softmax: attribute 'axis' takes no text",
          {.name = "axis", .text = "1"});
  REFUSED(SMR_CODE_SOFTMAX, "softmax: attribute 'axis' is given twice", EAGER_INTS("axis", 1),
          EAGER_INTS("axis", 1));
  REFUSED(SMR_CODE_MATMUL, "matmul: attribute 'transpose_x' takes 0 or 1",
          EAGER_INTS("transpose_x", 2));
  REFUSED(SMR_CODE_ELU, "elu: attribute 'alpha' takes one number",
          {.name = "alpha", .floats = half, .ints = one, .count = 1});
  REFUSED(SMR_CODE_ELU, "elu: attribute 'alpha' takes one number", {.name = "alpha"});
  REFUSED(SMR_CODE_SUM_TO, "sum_to: attribute 'shape' takes a list of integers",
          {.name = "shape", .floats = half, .count = 1});
  REFUSED(SMR_CODE_CONV, "conv: attribute 'dilations' is missing", EAGER_INTS("strides", 1, 1));
#undef REFUSED
}

SMR_TEST_MAIN(RUN(defaults_and_kinds); RUN(empty_lists); RUN(refused_by_name))
