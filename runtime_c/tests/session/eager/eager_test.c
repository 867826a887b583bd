// SPDX-License-Identifier: Apache-2.0
// Preparing operators: what is refused and why, what is copied, memory.
#include "base/fp.h"

#include "session/eager/eager_data.h"

#include "ops/table/opattrs.h"
#include "session/eager/eager.h"

static void eager_refused(const samara_op_desc *desc, samara_status status, const char *text) {
  samara_op *op = (samara_op *)(uintptr_t)1;
  samara_error error = {.text = ""};
  CHECK_EQ_INT(samara_op_create(desc, &op, &error), status);
  CHECK(op == NULL);
  CHECK_CONTAINS(error.text, text);
  CHECK_EQ_INT(samara_op_create(desc, &op, NULL), status);  // nobody reads the text
}

SMR_TEST(names) {
  const size_t count = samara_op_count();
  CHECK(count > 100);
  CHECK_STR(samara_op_name(0), "identity");
  CHECK(samara_op_name(count - 1) != NULL);
  CHECK(samara_op_name(count) == NULL);
  samara_op_destroy(NULL);
}

SMR_TEST(operators_that_do_not_run_alone) {
  const samara_op_tensor x[] = {EAGER_F32(2)};
  samara_op_desc desc = EAGER_PLAIN("no_such", x, x);
  eager_refused(&desc, SAMARA_NOT_FOUND, "there is no operator 'no_such'");
  desc.name = NULL;
  desc.code = 65000;
  eager_refused(&desc, SAMARA_NOT_FOUND, "there is no operator 65000");
  desc.code = SMR_CODE_LOOP;
  eager_refused(&desc, SAMARA_UNSUPPORTED, "loop only has a meaning in a model");
  desc.code = SMR_CODE_NONZERO;
  eager_refused(&desc, SAMARA_UNSUPPORTED, "nonzero: the dims of its output depend on data");
  desc.code = SMR_CODE_RELU;
  samara_op *op = eager_op(&desc);
  REQUIRE(op != NULL);
  CHECK_STR(op->job.op->name, "relu");
  samara_op_destroy(op);
}

SMR_TEST(arguments) {
  const samara_op_tensor x[] = {EAGER_F32(2)};
  const samara_op_desc good = EAGER_PLAIN("relu", x, x);
  samara_error error = {.text = ""};
  samara_op *op = NULL;
  CHECK_EQ_INT(samara_op_create(&good, NULL, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_op_create(NULL, &op, &error), SAMARA_BAD_ARGUMENT);
  samara_op_desc desc = good;
  desc.struct_size = 0;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "struct_size");
  desc = good;
  desc.inputs = NULL;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "relu: a count without its array");
  desc = good;
  desc.attribute_count = 1;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "relu: a count without its array");
  desc = good;
  desc.input_count = 70000;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "relu: too many operands");
  desc = good;
  desc.isa = "mmx";
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "isa \"mmx\"");
  desc = good;
  desc.input_count = desc.output_count = 0;
  eager_refused(&desc, SAMARA_BAD_SHAPE, "relu: has 0 inputs");
}

SMR_TEST(operands) {
  const samara_op_tensor x[] = {EAGER_F32(2, 3)}, w[] = {EAGER_F32(4, 5)};
  samara_op_tensor ins[] = {x[0], w[0]}, outs[] = {EAGER_F32(2, 5)};
  const samara_op_desc desc = EAGER_PLAIN("matmul", ins, outs);
  eager_refused(&desc, SAMARA_BAD_SHAPE, "matmul: ");
  ins[1] = (samara_op_tensor){0};
  eager_refused(&desc, SAMARA_BAD_SHAPE, "matmul: input 1 is required");
  ins[1] = (samara_op_tensor){.dtype = (samara_dtype)99};
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "matmul: input 1 has dtype 99 and rank 0");
  ins[1] = (samara_op_tensor)EAGER_F32(3, -5);
  eager_refused(&desc, SAMARA_BAD_SHAPE, "matmul: input 1 has dims [3, -5]");
  ins[1] = (samara_op_tensor)EAGER_F32(3, 5);
  outs[0] = (samara_op_tensor)EAGER_F32(2, 6);
  eager_refused(&desc, SAMARA_BAD_SHAPE, "[2, 6], expected [2, 5]");
  outs[0] = (samara_op_tensor){EAGER_DIMS(2, 5), EAGER_STRIDES(1, 2), .dtype = SAMARA_FLOAT32};
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "matmul: output 0 is not dense");
  outs[0] = (samara_op_tensor){EAGER_DIMS(2, 5), EAGER_STRIDES(7, 1), .dtype = SAMARA_FLOAT32};
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "matmul: output 0 is not dense");
  outs[0] = (samara_op_tensor){EAGER_DIMS(2, 5), .dtype = SAMARA_INT32};
  eager_refused(&desc, SAMARA_BAD_SHAPE, "matmul: x and output differ in dtype");
  const samara_op_tensor q[] = {{EAGER_DIMS(4), .dtype = SAMARA_QINT8}};
  const samara_op_desc quantized = EAGER_PLAIN("identity", q, q);
  eager_refused(&quantized, SAMARA_BAD_ARGUMENT, "identity: input 0 has the scale 0");
}

SMR_TEST(quantization_parameters) {
  float scales[] = {0.5f, 0.25f, 2};
  int32_t zero_points[] = {0, -128, 127};
  samara_op_tensor q[] = {{EAGER_DIMS(2, 3), .dtype = SAMARA_QINT8, .scales = scales,
                           .zero_points = zero_points, .quant_count = 3, .quant_axis = 1}};
  const samara_op_tensor x[] = {EAGER_F32(2, 3)};
  const samara_op_desc desc = EAGER_PLAIN("dequantize", q, x);
  samara_op *op = eager_op(&desc);
  REQUIRE(op != NULL);
  const struct smr_quant *own = op->tensors[0].quant;
  CHECK(own->axis == 1 && own->count == 3);
  CHECK(own->scales != scales && own->zero_points != zero_points);
  CHECK_MEM(own->scales, scales, sizeof scales);
  CHECK_MEM(own->zero_points, zero_points, sizeof zero_points);
  samara_op_destroy(op);
  q[0].zero_points = NULL;
  op = eager_op(&desc);
  REQUIRE(op != NULL);
  for (size_t i = 0; i < 3; i++) CHECK_EQ_INT(op->tensors[0].quant->zero_points[i], 0);
  samara_op_destroy(op);

  q[0].quant_axis = 2;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "input 0 is quantized along axis 2 of rank 2");
  q[0].quant_axis = -1;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "input 0 is quantized along axis -1 of rank 2");
  q[0].quant_axis = 0;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "input 0 has 3 scales along axis 0, expected 2");
  q[0].quant_axis = 1;
  const float bad[] = {0, -1, INFINITY, NAN, 1e-40f};
  for (size_t i = 0; i < EAGER_COUNT(bad); i++) {
    scales[2] = bad[i];
    eager_refused(&desc, SAMARA_BAD_ARGUMENT, "dequantize: input 0 has the scale ");
  }
  scales[2] = 2;
  q[0].zero_points = zero_points;
  zero_points[1] = -129;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "dequantize: input 0 has the zero point -129");
  q[0].scales = NULL;
  q[0].scale = 1;
  q[0].zero_point = 128;
  eager_refused(&desc, SAMARA_BAD_ARGUMENT, "dequantize: input 0 has the zero point 128");
  // An axis without indices has no parameters.
  const samara_op_tensor empty[] = {
      {EAGER_DIMS(0), .dtype = SAMARA_QINT8, .scales = scales, .quant_axis = 0}};
  const samara_op_tensor nothing[] = {EAGER_F32(0)};
  const samara_op_desc none = EAGER_PLAIN("dequantize", empty, nothing);
  op = eager_op(&none);
  CHECK(op != NULL);
  samara_op_destroy(op);
}

SMR_TEST(copies_only_what_is_not_read_as_it_lies) {
  const samara_op_tensor y[] = {EAGER_F32(4, 6)};
  // [inputs, copies wanted]: dense, transposed, a row repeated, both repeated, a pixel stride.
  const samara_op_tensor dense = EAGER_F32(4, 6);
  const samara_op_tensor turned = {EAGER_DIMS(4, 6), EAGER_STRIDES(1, 4), .dtype = SAMARA_FLOAT32};
  const samara_op_tensor row = {EAGER_DIMS(4, 6), EAGER_STRIDES(0, 1), .dtype = SAMARA_FLOAT32};
  const samara_op_tensor pixels = {EAGER_DIMS(4, 6), EAGER_STRIDES(9, 1), .dtype = SAMARA_FLOAT32};
  const struct {
    samara_op_tensor in[2];
    uint32_t copies;
  } cases[] = {{{dense, dense}, 0}, {{dense, turned}, 1}, {{row, dense}, 0},
               {{row, row}, 2},     {{turned, row}, 1},   {{pixels, row}, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const samara_op_desc desc = EAGER_PLAIN("add", cases[i].in, y);
    samara_op *op = eager_op(&desc);
    if (!CHECK(op != NULL)) continue;
    CHECK_EQ_INT(op->copy_count, cases[i].copies);
    samara_op_destroy(op);
  }
  // A transposed second operand of matmul is none, a first one is.
  const samara_op_tensor factors[] = {
      dense, {EAGER_DIMS(6, 5), EAGER_STRIDES(1, 6), .dtype = SAMARA_FLOAT32}};
  const samara_op_tensor firsts[] = {turned, EAGER_F32(6, 5)}, product[] = {EAGER_F32(4, 5)};
  for (int i = 0; i < 2; i++) {
    const samara_op_desc first = EAGER_PLAIN("matmul", firsts, product);
    const samara_op_desc second = EAGER_PLAIN("matmul", factors, product);
    samara_op *matmul = eager_op(i == 0 ? &first : &second);
    REQUIRE(matmul != NULL);
    CHECK_EQ_INT(matmul->copy_count, i == 0);
    samara_op_destroy(matmul);
  }
  const samara_op_tensor side[] = {pixels, dense}, joined[] = {EAGER_F32(4, 12)};
  const samara_attribute attributes[] = {EAGER_INTS("axis", 1)};
  const samara_op_desc concat = EAGER_DESC("concat", attributes, side, joined);
  samara_op *op = eager_op(&concat);
  REQUIRE(op != NULL);
  CHECK_EQ_INT(op->copy_count, 0);
  CHECK_EQ_INT(op->tensors[0].pixel_stride, 9);
  samara_op_destroy(op);
}

SMR_TEST(ceiling_and_kernel) {
  const samara_op_tensor ins[] = {EAGER_F32(64, 64), EAGER_F32(64, 64)}, outs[] = {ins[0]};
  samara_op_desc desc = EAGER_PLAIN("matmul", ins, outs);
  desc.isa = "scalar";
  samara_op *op = eager_op(&desc);
  REQUIRE(op != NULL);
  CHECK_CONTAINS(samara_op_kernel(op), "scalar");
  samara_op_destroy(op);
}

SMR_TEST(one_small_block) {
  const samara_op_tensor ins[] = {
      EAGER_F32(64, 64),
      {EAGER_DIMS(64, 64), EAGER_STRIDES(1, 64), .dtype = SAMARA_FLOAT32},
      EAGER_F32(64)};
  const samara_op_tensor outs[] = {EAGER_F32(64, 64)};
  struct eager_memory memory = {.fail_at = 0};
  const samara_allocator allocator = eager_allocator(&memory);
  samara_op_desc desc = EAGER_PLAIN("matmul", ins, outs);
  desc.allocator = &allocator;
  samara_op *op = eager_op(&desc);
  REQUIRE(op != NULL);
  CHECK_EQ_INT(memory.calls, 1);
  CHECK(memory.bytes < 4096);
  samara_op_destroy(op);
  CHECK_EQ_INT(memory.live, 0);

  memory = (struct eager_memory){.fail_at = 1};
  samara_error error = {.text = ""};
  CHECK_EQ_INT(samara_op_create(&desc, &op, &error), SAMARA_OUT_OF_MEMORY);
  CHECK(op == NULL);
  CHECK_STR(error.text, "no memory for the operator matmul");
  samara_op_tensor bad[] = {ins[0], ins[1], EAGER_F32(63)};
  desc.inputs = bad;
  memory = (struct eager_memory){.fail_at = 0};
  eager_refused(&desc, SAMARA_BAD_SHAPE, "matmul");
  CHECK_EQ_INT(memory.live, 0);
}

SMR_TEST_MAIN(RUN(names); RUN(operators_that_do_not_run_alone); RUN(arguments); RUN(operands);
              RUN(quantization_parameters); RUN(copies_only_what_is_not_read_as_it_lies);
              RUN(ceiling_and_kernel); RUN(one_small_block))
