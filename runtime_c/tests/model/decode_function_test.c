// SPDX-License-Identifier: Apache-2.0
// One function: the decoded form, and one fault after the other that must be refused.
#include "model/decode.h"

#include "harness.h"
#include "model/sample.h"
#include "ops/table/attrs.h"

SMR_TEST(decodes_the_sample) {
  const struct mb_file file = mb_accept(mb_sample());
  samara_model *model = file.model;
  const struct smr_function *f = &model->functions[0];
  CHECK_STR(f->name, "main");
  CHECK(f->value_count == 8 && f->node_count == 5 && f->input_count == 2 && f->output_count == 3);
  CHECK(f->values[SAMPLE_X].producer == -1 && f->values[SAMPLE_W].producer == -1);
  CHECK_EQ_INT(f->values[SAMPLE_W].constant, 0);
  CHECK_EQ_INT(f->values[SAMPLE_G].producer, SAMPLE_ADD);
  CHECK_EQ_INT(f->values[SAMPLE_H].rank, 2);
  CHECK_EQ_INT(f->exprs[f->values[SAMPLE_H].dims[0]].op, SMR_EXPR_INPUT_DIM);
  const struct smr_node *reshape = &f->nodes[SAMPLE_RESHAPE];
  CHECK_STR(reshape->name, "reshape");
  CHECK_STR(reshape->op->name, "reshape");
  const struct smr_node_attr *shape = &reshape->attrs[SMR_ATTR_INDEX(reshape, shape)];
  CHECK(shape->is_list && shape->expr_count == 1 && shape->literal.present);
  CHECK_EQ_INT(shape->exprs[0], f->values[SAMPLE_FLAT].dims[0]);
  CHECK(reshape->absorbed_count == 1 && reshape->source == -1);
  CHECK_STR(reshape->absorbed[0], "relu:0");
  CHECK_EQ_INT(f->nodes[SAMPLE_ADD].source, 0);
  const struct smr_node_attr *lo = &f->nodes[SAMPLE_MATMUL].attrs[SMR_ATTR_INDEX(matmul, lo)];
  CHECK(!lo->literal.present && lo->literal.f == -INFINITY);
  CHECK_STR(f->output_names[1], "indices");
  CHECK(f->read_count == 1 && f->write_count == 1 && f->writes[0].position == 2);
  CHECK(f->user_input_count == 1 && f->user_inputs[0] == 0);
  CHECK(f->user_output_count == 2 && f->user_outputs[0] == 0 && f->user_outputs[1] == 1);
  CHECK(f->symbol_count == 1 && f->symbols[0].upper == 32 && f->symbols[0].lower == 0);
  CHECK_STR(f->guards[0].message, "n is at least 1");
  mb_close(&file);
}

SMR_TEST(folds_constant_expressions) {
  struct mb_model *m = mb_sample();
  struct mb_function *f = m->functions[0];
  const uint32_t two = mb_const(f, 2), three = mb_const(f, 3), zero = mb_const(f, 0);
  const uint32_t six = mb_binary(f, SMR_EXPR_MUL, two, three);
  const uint32_t picked = mb_expr(f, SMR_EXPR_SELECT, (int32_t)two, (int32_t)six, (int32_t)zero, 0);
  const uint32_t fails = mb_binary(f, SMR_EXPR_FLOORDIV, six, zero);
  const uint32_t symbolic = mb_binary(f, SMR_EXPR_ADD, six, 0);
  const struct mb_file file = mb_accept(m);
  samara_model *model = file.model;
  const struct smr_expr *exprs = model->functions[0].exprs;
  CHECK(exprs[six].op == SMR_EXPR_CONST && exprs[six].k == 6);
  CHECK(exprs[picked].op == SMR_EXPR_CONST && exprs[picked].k == 6);
  CHECK_EQ_INT(exprs[fails].op, SMR_EXPR_FLOORDIV);
  CHECK_EQ_INT(exprs[symbolic].op, SMR_EXPR_ADD);
  mb_close(&file);
}

SMR_TEST(quantization_parameters) {
  struct mb_model *m = mb_new();
  struct mb_function *f = mb_function(m, "main");
  const int64_t three = 3;
  mb_input(f, mb_static(f, "x", SAMARA_QINT8, 1, &three));
  mb_quantize(&f->values[0].quant, 0.5f, -3);
  mb_output(f, mb_static(f, "y", SAMARA_QINT8, 1, &three));
  f->values[1].quant = (struct mb_quant){
      .scales = {1, 2, 3}, .zero_points = {0, -128, 127}, .count = 3, .zero_count = 3, .axis = 0};
  mb_node(f, "identity", MB_OP_IDENTITY, 1, (int32_t[]){0}, 1, (uint32_t[]){1});
  const struct mb_file file = mb_accept(m);
  samara_model *model = file.model;
  const struct smr_quant *q = model->functions[0].values[1].quant;
  CHECK(q->count == 3 && q->axis == 0 && q->scales[2] == 3 && q->zero_points[1] == -128);
  samara_tensor_info info;
  CHECK_EQ_INT(samara_model_input_info(model, NULL, 0, &info), SAMARA_OK);
  CHECK(info.dtype == SAMARA_QINT8 && info.scale == 0.5f && info.zero_point == -3);
  mb_close(&file);
}

// A value that is a constant in panels.
static uint32_t packed_value(struct mb_model *m) {
  const int64_t dims[] = {4, 16};
  const int32_t w = mb_data(m, "packed", SAMARA_FLOAT32, 2, dims, NULL, 256);
  m->constants[w].layout = SMR_LAYOUT_PANEL;
  m->constants[w].panel_stride = 256;
  return mb_constant_value(m, m->functions[0], w);
}

// The sample, changed in one way, must be refused with this text.
#define REFUSED_AS(status, part, ...)        \
  do {                                       \
    struct mb_model *m = mb_sample();        \
    struct mb_function *f = m->functions[0]; \
    struct mb_value *values = f->values;     \
    (void)values;                            \
    __VA_ARGS__;                             \
    CHECK_REFUSED(m, status, part);          \
  } while (0)
#define REFUSED(part, ...) REFUSED_AS(SAMARA_BAD_MODEL, part, __VA_ARGS__)

SMR_TEST(refuses_what_is_wrong) {
  // expressions
  REFUSED("expression 7 (op 16)", mb_expr(f, SMR_EXPR_COUNT, 0, 0, 0, 0));
  REFUSED("needs a later one", mb_expr(f, SMR_EXPR_ADD, 7, 0, 0, 0));
  REFUSED("needs a later one", mb_expr(f, SMR_EXPR_ADD, 0, -1, 0, 0));
  REFUSED("needs a later one", mb_expr(f, SMR_EXPR_SELECT, 0, 0, 7, 0));
  REFUSED("needs a later one", mb_expr(f, SMR_EXPR_READ, SAMPLE_NZ, 0, 9, 0));
  REFUSED("needs a later one", mb_expr(f, SMR_EXPR_BORN, SAMPLE_NONZERO, 0, 1, INT64_C(1) << 32));
  REFUSED("expression 7 (op 1)", mb_input_dim(f, 2, 0));
  REFUSED("expression 7 (op 1)", mb_input_dim(f, 0, 2));
  REFUSED("expression 7 (op 1)", mb_input_dim(f, -1, 0));
  REFUSED("expression 7 (op 1)", mb_input_dim(f, 0, -1));
  REFUSED("expression 7 (op 2)", mb_read(f, 50, 0, -1));
  REFUSED("expression 7 (op 2)", mb_read(f, SAMPLE_NZ, -1, -1));
  REFUSED("expression 7 (op 2)", mb_read(f, SAMPLE_W, 16, -1));
  REFUSED("expression 7 (op 2)", values[SAMPLE_H].dtype = SAMARA_FLOAT16;
          mb_read(f, SAMPLE_H, 0, -1));
  REFUSED("expression 7 (op 3)", mb_born(f, SAMPLE_ADD, 0, 0, -1));
  REFUSED("expression 7 (op 3)", mb_born(f, SAMPLE_NONZERO, 1, 0, -1));
  REFUSED("expression 7 (op 3)", mb_born(f, SAMPLE_NONZERO, 0, 0, -1));
  REFUSED("expression 7 (op 3)", mb_born(f, SAMPLE_NONZERO, 0, 2, -1));
  REFUSED("expression 7 (op 3)", mb_born(f, 50, 0, 0, -1));
  // values
  REFUSED("value 'h': dims is 7 of 7", values[SAMPLE_H].dims[0] = 7);
  REFUSED("rank above 8", values[SAMPLE_H].rank = 9);
  REFUSED_AS(SAMARA_UNSUPPORTED, "dtype 0", values[SAMPLE_H].dtype = 0);
  REFUSED("constant is 44 of 4", values[SAMPLE_W].constant = 44);
  REFUSED("differs in type", values[SAMPLE_W].constant = 1);
  REFUSED("differs in type", values[SAMPLE_W].dtype = SAMARA_INT32);
  REFUSED("differs in type", values[SAMPLE_W].dims[0] = 0);
  REFUSED("constant is -5 of 4", values[SAMPLE_W].constant = -5);
  REFUSED("made twice", f->inputs[1] = SAMPLE_X);
  REFUSED("made twice", f->inputs[1] = SAMPLE_W);
  REFUSED("inputs is 99 of 8", f->inputs[1] = 99);
  REFUSED("has no producer", mb_value(f, "orphan", SAMARA_FLOAT32, 0, NULL));
  REFUSED("dim 1 is -4", f->exprs[1].k = -4);
  // outputs, guards, bindings, symbols
  REFUSED("outputs is 99 of 8", f->outputs[0] = 99);
  REFUSED("3 outputs with 2 names", f->output_name_count = 2);
  REFUSED("guard '0': relation is 3 of 3", f->guards[0].relation = SMR_RELATION_LT + 1);
  REFUSED("a is 7 of 7", f->guards[0].a = 7);
  REFUSED("b is 7 of 7", f->guards[0].b = 7);
  REFUSED("node is 5 of 5", f->guards[0].node = 5);
  REFUSED("position 2, variable 0", f->reads[0].position = 2);
  REFUSED("variable is 1 of 1", f->reads[0].variable = 1);
  REFUSED("of another type", f->reads[0].position = 0);
  REFUSED("of another type", f->writes[0].position = 1);
  REFUSED("bound twice", f->writes[f->write_count++] = f->writes[0]);
  REFUSED("bound twice", f->reads[f->read_count++] = f->reads[0]);
  REFUSED("is not an input dim", f->symbols[0].expr = 1);
  REFUSED("symbol 'n': expr is 7 of 7", f->symbols[0].expr = 7);
  REFUSED("has no value", f->symbols[0].lower = 33);
  // quantization
  REFUSED("no quantization parameters", values[SAMPLE_H].dtype = SAMARA_QINT8);
  REFUSED("scale 0 is not a positive normal", mb_quantize(&values[SAMPLE_H].quant, -1.0f, 0));
  REFUSED("scale 0 is not a positive normal", mb_quantize(&values[SAMPLE_H].quant, INFINITY, 0));
  REFUSED("scale 0 is not a positive normal", mb_quantize(&values[SAMPLE_H].quant, NAN, 0));
  REFUSED("scale 0 is not a positive normal", mb_quantize(&values[SAMPLE_H].quant, 1e-40f, 0));
  REFUSED("zero point 128", mb_quantize(&values[SAMPLE_H].quant, 1.0f, 128));
  REFUSED("not as many", mb_quantize(&values[SAMPLE_H].quant, 1.0f, 0);
          values[SAMPLE_H].quant.zero_count = 0);
  REFUSED("do not fit axis 2", mb_quantize(&values[SAMPLE_H].quant, 1.0f, 0);
          values[SAMPLE_H].quant.axis = 2);
  REFUSED("do not fit axis", mb_quantize(&values[SAMPLE_H].quant, 1.0f, 0);
          values[SAMPLE_H].quant.axis = 1);
  REFUSED("do not fit axis", mb_quantize(&values[SAMPLE_H].quant, 1.0f, 0);
          values[SAMPLE_H].quant.axis = 0);
  REFUSED_AS(SAMARA_UNSUPPORTED, "block 32 is not in this build",
             mb_quantize(&values[SAMPLE_H].quant, 1.0f, 0);
             values[SAMPLE_H].quant.block = 32);
  // packed constants
  REFUSED("is packed", f->outputs[0] = packed_value(m); m->golden_count = 0);
  REFUSED("expression 9 (op 2)", mb_read(f, packed_value(m), 0, -1));
}

SMR_TEST_MAIN(RUN(decodes_the_sample); RUN(folds_constant_expressions);
              RUN(quantization_parameters); RUN(refuses_what_is_wrong))
