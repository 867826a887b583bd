// SPDX-License-Identifier: Apache-2.0
// Sizes of values, what the host reads of them, and errors that name them.
#include "base/fp.h"

#include "harness.h"

#include "session/frame/frame.h"

// A frame of one value and one node, by hand.
struct value_frame {
  samara_error error;
  struct smr_source source;
  samara_model model;
  struct smr_common common;
  struct smr_op op;
  struct smr_node node;
  struct smr_frame_node frame_node;
  uint32_t dims[2], outputs[1];
  struct smr_value value;
  struct smr_function function;
  int64_t exprs[2];
  uint32_t stages[2];
  struct smr_frame_value frame_value;
  struct smr_frame frame;
};

static struct smr_tensor *value_init(struct value_frame *v) {
  memset(v, 0, sizeof *v);
  v->source = (struct smr_source){.file = "net.py", .line = 7};
  v->model.sources = &v->source;
  v->common.error = &v->error;
  v->common.model = &v->model;
  v->op.name = "conv";
  v->node = (struct smr_node){.op = &v->op, .name = "first"};
  v->frame_node.node = &v->node;
  v->dims[1] = 1;
  v->value = (struct smr_value){.name = "y", .dims = v->dims, .rank = 2};
  v->stages[1] = 1;
  v->exprs[0] = 3;
  v->exprs[1] = 5;
  v->function = (struct smr_function){.name = "main",
                                      .values = &v->value,
                                      .outputs = v->outputs,
                                      .expr_stage = v->stages,
                                      .output_count = 1,
                                      .value_count = 1};
  v->frame = (struct smr_frame){
      .common = &v->common, .function = &v->function, .values = &v->frame_value, .exprs = v->exprs};
  v->frame_value.tensor =
      (struct smr_tensor){.name = "y", .constant = -1, .dtype = SAMARA_FLOAT32, .rank = 2};
  return &v->frame_value.tensor;
}

SMR_TEST(sizes_come_from_dims_that_are_known) {
  struct value_frame v;
  struct smr_tensor *t = value_init(&v);
  CHECK_EQ_INT(smr_value_known_dims(&v.frame, 0, 1), SAMARA_OK);
  CHECK_EQ_INT(t->size_bytes, 60);
  CHECK_EQ_INT(t->pixel_stride, 5);
  CHECK_EQ_INT(smr_value_known_dims(&v.frame, 0, 0), SAMARA_OK);
  CHECK_EQ_INT(t->dims[0], 3);
  CHECK_EQ_INT(t->dims[1], 0);
  CHECK_EQ_INT(t->size_bytes, 0);
  t->dims[1] = 4;
  v.frame_value.view_stride = 9;
  CHECK_EQ_INT(smr_value_size(&v.frame, 0), SAMARA_OK);
  CHECK_EQ_INT(t->pixel_stride, 9);
  t->dims[1] = -1;
  CHECK_EQ_INT(smr_value_size(&v.frame, 0), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(v.error.text, "function 'main': 'y' cannot have -1 elements along axis 1");
}

SMR_TEST(the_host_reads_whole_values_and_conditions) {
  struct value_frame v;
  struct smr_tensor *t = value_init(&v);
  float bytes[15] = {1, 2, 3}, copy[15] = {0};
  const void *data = NULL;
  bool condition = true;
  CHECK(smr_frame_output(&v.frame, 0) == t);
  CHECK_EQ_INT(smr_value_known_dims(&v.frame, 0, 1), SAMARA_OK);
  t->data = bytes;
  CHECK_EQ_INT(smr_value_read(&v.common, t, &data), SAMARA_OK);
  CHECK(data == bytes);
  CHECK_EQ_INT(smr_value_copy(&v.common, t, copy), SAMARA_OK);
  CHECK_MEM(copy, bytes, sizeof copy);
  CHECK_EQ_INT(smr_value_copy(&v.common, t, bytes), SAMARA_OK);  // to where it lies
  t->size_bytes = 0;
  t->data = NULL;
  CHECK_EQ_INT(smr_value_copy(&v.common, t, copy), SAMARA_OK);
  CHECK_MEM(copy, bytes, sizeof copy);
  uint8_t flag = 0;
  t->data = &flag;
  CHECK_EQ_INT(smr_value_read_bool(&v.common, t, &condition), SAMARA_OK);
  CHECK(!condition);
  flag = 1;
  CHECK_EQ_INT(smr_value_read_bool(&v.common, t, &condition), SAMARA_OK);
  CHECK(condition);
}

SMR_TEST(the_host_writes_whole_values) {
  static const float from[15] = {4, 5, 6};
  static const float zeros[15] = {0};
  struct value_frame v;
  struct smr_tensor *t = value_init(&v);
  float bytes[16] = {[15] = 7};
  CHECK_EQ_INT(smr_value_known_dims(&v.frame, 0, 1), SAMARA_OK);
  t->data = bytes;
  CHECK_EQ_INT(smr_value_write(&v.common, t, from), SAMARA_OK);
  CHECK_MEM(bytes, from, sizeof from);
  CHECK_EQ_INT(smr_value_write(&v.common, t, NULL), SAMARA_OK);
  CHECK_MEM(bytes, zeros, sizeof zeros);
  CHECK(bytes[15] == 7);
}

SMR_TEST(the_public_tensor_has_dims_bytes_and_one_scale) {
  static const float scale = 0.5f;
  static const int32_t zero_point = -3;
  struct smr_quant quant = {.scales = &scale, .zero_points = &zero_point, .count = 1};
  struct value_frame v;
  struct smr_tensor *t = value_init(&v);
  CHECK_EQ_INT(smr_value_known_dims(&v.frame, 0, 1), SAMARA_OK);
  t->quant = &quant;
  samara_tensor seen;
  smr_public_tensor(t, &v, &seen);
  CHECK(seen.data == &v);
  CHECK_EQ_INT(seen.rank, 2);
  CHECK_EQ_INT(seen.shape[1], 5);
  CHECK_EQ_INT(seen.size_bytes, 60);
  CHECK(seen.scale == scale);
  CHECK_EQ_INT(seen.zero_point, zero_point);
}

SMR_TEST(errors_name_function_node_and_source) {
  struct value_frame v;
  (void)value_init(&v);
  (void)smr_fail(&v.error, SAMARA_BAD_SHAPE, "too large");
  CHECK_EQ_INT(smr_node_fail(&v.frame, &v.frame_node, SAMARA_BAD_SHAPE), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(v.error.text, "function 'main', node 'first' (conv, net.py:7): too large");
  v.node.source = -1;
  CHECK(smr_node_source(&v.model, &v.frame_node) == NULL);
  CHECK_EQ_INT(smr_frame_exceeds(&v.frame, "y", 60, 50), SAMARA_LIMIT);
  CHECK_CONTAINS(v.error.text, "'y' has 60 bytes, but 50 are planned");
}

SMR_TEST_MAIN(RUN(sizes_come_from_dims_that_are_known);
              RUN(the_host_reads_whole_values_and_conditions); RUN(the_host_writes_whole_values);
              RUN(the_public_tensor_has_dims_bytes_and_one_scale);
              RUN(errors_name_function_node_and_source))
