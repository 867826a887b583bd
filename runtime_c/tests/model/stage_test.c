// SPDX-License-Identifier: Apache-2.0
// Stages: when each node can run, which functions grow, and orders that are impossible.
#include "model/decode.h"

#include "harness.h"
#include "model/sample.h"

SMR_TEST(the_sample_has_two_stages) {
  const struct mb_file file = mb_accept(mb_sample());
  const samara_model *model = file.model;
  const struct smr_function *f = &model->functions[0];
  for (uint32_t i = 0; i < f->node_count; i++) CHECK_EQ_INT(f->nodes[i].stage, 0);
  for (uint32_t i = 0; i < 6; i++) CHECK_EQ_INT(f->expr_stage[i], 0);
  CHECK_EQ_INT(f->expr_stage[6], 1);  // the number of nonzeros is known after stage 0
  CHECK_EQ_INT(f->guard_stage[0], 0);
  CHECK_EQ_INT(f->stage_count, 2);
  CHECK(!f->growing);
  mb_close(&file);
}

// main(x [n], shape int64 [2]): reshapes x by data, finds nonzeros, reads one of their numbers.
enum { X, SHAPE, R, NZ, CAST, SMALL, IOTA };

static struct mb_model *dynamic(bool bounded) {
  struct mb_model *m = mb_new();
  struct mb_function *f = mb_function(m, "main");
  const uint32_t n = mb_input_dim(f, 0, 0), two = mb_const(f, 2), limit = mb_const(f, 100);
  const int32_t bound = bounded ? (int32_t)limit : -1;
  const uint32_t a = mb_read(f, SHAPE, 0, bound), b = mb_read(f, SHAPE, 1, bound);
  const uint32_t ab[] = {a, b};
  const uint32_t born = mb_born(f, 1, 0, 1, bounded ? (int64_t)n : -1), nz[] = {two, born};
  const uint32_t seen = mb_read(f, SMALL, 0, bound);
  const uint32_t half = mb_binary(f, SMR_EXPR_FLOORDIV, seen, two);
  mb_input(f, mb_value(f, "x", SAMARA_FLOAT32, 1, &n));
  mb_input(f, mb_value(f, "shape", SAMARA_INT64, 1, &two));
  mb_value(f, "r", SAMARA_FLOAT32, 2, ab);
  mb_value(f, "nz", SAMARA_INT64, 2, nz);
  mb_value(f, "cast", SAMARA_INT32, 2, nz);
  mb_value(f, "small", SAMARA_INT64, 1, &two);
  mb_output(f, mb_value(f, "iota", SAMARA_INT64, 1, &half));
  mb_set_dims(mb_node(f, "reshape", MB_OP_RESHAPE, 1, (int32_t[]){X}, 1, (uint32_t[]){R}), "shape",
              2, ab);
  mb_node(f, "nonzero", MB_OP_NONZERO, 1, (int32_t[]){R}, 1, (uint32_t[]){NZ});
  mb_set(mb_node(f, "cast", MB_OP_CAST, 1, (int32_t[]){NZ}, 1, (uint32_t[]){CAST}), "to",
         SAMARA_INT32);
  mb_node(f, "identity", MB_OP_IDENTITY, 1, (int32_t[]){SHAPE}, 1, (uint32_t[]){SMALL});
  mb_set(mb_node(f, "iota", MB_OP_IOTA, 0, NULL, 1, (uint32_t[]){IOTA}), "length", half);
  f->guards[f->guard_count++] =
      (struct smr_guard){.relation = SMR_RELATION_EQ, .a = born, .b = half, .node = -1};
  return m;
}

SMR_TEST(stages_rise_with_data) {
  struct mb_file file = mb_accept(dynamic(true));
  const samara_model *model = file.model;
  const struct smr_function *f = &model->functions[0];
  CHECK_EQ_INT(f->nodes[0].stage, 1);  // needs elements of an input
  CHECK_EQ_INT(f->nodes[1].stage, 1);  // measures in the stage it runs in
  CHECK_EQ_INT(f->nodes[2].stage, 2);  // has the measured dim
  CHECK_EQ_INT(f->nodes[3].stage, 2);  // stages never fall
  CHECK_EQ_INT(f->nodes[4].stage, 3);  // reads what a node of stage 2 makes
  CHECK_EQ_INT(f->stage_count, 4);
  CHECK_EQ_INT(f->guard_stage[0], 3);
  CHECK(!f->growing);
  mb_close(&file);
  file = mb_accept(dynamic(false));
  model = file.model;
  CHECK(model->functions[0].growing);
  mb_close(&file);
}

// An unbounded dim does not matter if no tensor has it, or if a minimum bounds it.
SMR_TEST(growth_is_about_tensors) {
  for (int which = 0; which < 4; which++) {
    struct mb_model *m = mb_new();
    struct mb_function *f = mb_function(m, "main");
    const uint32_t n = mb_input_dim(f, 0, 0), read = mb_read(f, 0, 0, -1);
    const uint32_t least = mb_binary(f, SMR_EXPR_MIN, read, n);
    const uint32_t some = mb_expr(f, SMR_EXPR_SELECT, (int32_t)n, (int32_t)n, (int32_t)least, 0);
    const uint32_t length = which == 0 ? n : which == 1 ? least : which == 2 ? read : some;
    mb_input(f, mb_value(f, "x", SAMARA_INT32, 1, &n));
    mb_output(f, mb_value(f, "iota", SAMARA_INT64, 1, &length));
    mb_set(mb_node(f, "iota", MB_OP_IOTA, 0, NULL, 1, (uint32_t[]){1}), "length", length);
    f->guards[f->guard_count++] =
        (struct smr_guard){.relation = SMR_RELATION_LE, .a = read, .b = n, .node = 0};
    const struct mb_file file = mb_accept(m);
    const samara_model *model = file.model;
    CHECK_EQ_INT(model->functions[0].growing, which == 2);
    CHECK_EQ_INT(model->functions[0].nodes[0].stage, which == 0 ? 0 : 1);
    mb_close(&file);
  }
}

SMR_TEST(constants_are_readable_at_once) {
  struct mb_model *m = mb_new();
  struct mb_function *f = mb_function(m, "main");
  const int64_t one = 1, seven = 7;
  const uint32_t bound = mb_const(f, 7), length = mb_read(f, 0, 0, (int32_t)bound);
  mb_constant_value(m, f, mb_data(m, "k", SAMARA_INT64, 1, &one, &seven, 0));
  mb_output(f, mb_value(f, "iota", SAMARA_INT64, 1, &length));
  mb_set(mb_node(f, "iota", MB_OP_IOTA, 0, NULL, 1, (uint32_t[]){1}), "length", length);
  const struct mb_file file = mb_accept(m);
  const samara_model *model = file.model;
  CHECK_EQ_INT(model->functions[0].nodes[0].stage, 0);
  CHECK_EQ_INT(model->functions[0].stage_count, 1);
  mb_close(&file);
}

SMR_TEST(refuses_impossible_orders) {
  for (int which = 0; which < 5; which++) {
    struct mb_model *m = dynamic(true);
    struct mb_function *f = m->functions[0];
    const char *part = "depends on node";
    if (which == 0) f->nodes[0].attrs[0].exprs[0] = f->nodes[4].attrs[0].exprs[0] = 7;
    if (which == 1) f->values[R].dims[0] = 5;     // born later
    if (which == 2) f->values[CAST].dims[0] = 6;  // an element of a later tensor
    if (which == 3) {                             // more than the measured dim itself
      const uint32_t more = mb_binary(f, SMR_EXPR_ADD, 5, 1);
      f->values[NZ].dims[0] = more;
    }
    if (which == 4) {
      f->values[SHAPE].dims[0] = 3;  // an input whose dim is its own element
      part = "depends on data";
    }
    CHECK_REFUSED(m, SAMARA_BAD_MODEL, part);
  }
}

SMR_TEST_MAIN(RUN(the_sample_has_two_stages); RUN(stages_rise_with_data);
              RUN(growth_is_about_tensors); RUN(constants_are_readable_at_once);
              RUN(refuses_impossible_orders))
