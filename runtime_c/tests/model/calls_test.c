// SPDX-License-Identifier: Apache-2.0
// Control operators and the functions that they call, and call graphs that must be refused.
#include "model/decode.h"

#include "harness.h"
#include "model/sample.h"

enum { MAIN, THEN, ELSE, BODY };

// identity of a float vector; `fname` [n] -> [n].
static void unary(struct mb_model *m, const char *name) {
  struct mb_function *f = mb_function(m, name);
  const uint32_t n = mb_input_dim(f, 0, 0);
  mb_input(f, mb_value(f, "in", SAMARA_FLOAT32, 1, &n));
  mb_output(f, mb_value(f, "out", SAMARA_FLOAT32, 1, &n));
  mb_node(f, "identity", MB_OP_IDENTITY, 1, (int32_t[]){0}, 1, (uint32_t[]){1});
}

// main(x [n], c bool, k int64): y = if c then(x) else orelse(x); z = call then(y);
// (w, slices) = loop(k, c, carried z), body(i, cond, v) -> (cond, v, v).
static struct mb_model *control_model(void) {
  struct mb_model *m = mb_new();
  struct mb_function *f = mb_function(m, "main");
  unary(m, "then");
  unary(m, "else");
  struct mb_function *body = mb_function(m, "body");
  const uint32_t bn = mb_input_dim(body, 2, 0);
  mb_input(body, mb_value(body, "i", SAMARA_INT64, 0, NULL));
  mb_input(body, mb_value(body, "cond", SAMARA_BOOL, 0, NULL));
  mb_input(body, mb_value(body, "v", SAMARA_FLOAT32, 1, &bn));
  mb_output(body, 1);
  mb_output(body, 2);
  mb_output(body, 2);

  const uint32_t n = mb_input_dim(f, 0, 0);
  const uint32_t x = mb_value(f, "x", SAMARA_FLOAT32, 1, &n);
  const uint32_t c = mb_value(f, "c", SAMARA_BOOL, 0, NULL);
  const uint32_t k = mb_value(f, "k", SAMARA_INT64, 0, NULL);
  mb_input(f, x);
  mb_input(f, c);
  mb_input(f, k);
  const uint32_t y = mb_value(f, "y", SAMARA_FLOAT32, 1, &n);
  const uint32_t z = mb_value(f, "z", SAMARA_FLOAT32, 1, &n);
  const uint32_t w = mb_value(f, "w", SAMARA_FLOAT32, 1, &n);
  const uint32_t trips = mb_born(f, 2, 1, 0, -1), stacked[] = {trips, n};
  const uint32_t slices = mb_value(f, "slices", SAMARA_FLOAT32, 2, stacked);
  mb_output(f, w);
  mb_output(f, slices);
  struct mb_node *node = mb_node(f, "if", MB_OP_IF, 2, (int32_t[]){(int32_t)c, (int32_t)x}, 1, &y);
  mb_set(node, "then", THEN);
  mb_set(node, "orelse", ELSE);
  mb_set(mb_node(f, "call", MB_OP_CALL, 1, (int32_t[]){(int32_t)y}, 1, &z), "body", THEN);
  node = mb_node(f, "loop", MB_OP_LOOP, 3, (int32_t[]){(int32_t)k, (int32_t)c, (int32_t)z}, 2,
                 (uint32_t[]){w, slices});
  mb_set(node, "body", BODY);
  mb_set(node, "carried", 1);
  return m;
}

SMR_TEST(accepts_what_fits) {
  struct mb_file file = mb_accept(control_model());
  const samara_model *model = file.model;
  const struct smr_function *f = &model->functions[MAIN];
  CHECK(f->depth == 2 && f->frames == 5);
  CHECK(model->functions[THEN].depth == 1 && model->functions[THEN].frames == 1);
  // The trip count has no bound.
  CHECK(f->growing && !model->functions[BODY].growing);
  CHECK(samara_model_is_growing(model, NULL));
  mb_close(&file);

  // Trip count and condition may be absent.
  struct mb_model *m = control_model();
  m->functions[MAIN]->nodes[2].inputs[0] = m->functions[MAIN]->nodes[2].inputs[1] = -1;
  file = mb_accept(m);
  mb_close(&file);
}

// The model, changed in one way, must be refused with this text.
#define REFUSED_AS(status, part, ...)                                               \
  do {                                                                              \
    struct mb_model *m = control_model();                                           \
    struct mb_function *f = m->functions[MAIN], *then = m->functions[THEN];         \
    struct mb_function *orelse = m->functions[ELSE], *body = m->functions[BODY];    \
    struct mb_node *if_ = &f->nodes[0], *call = &f->nodes[1], *loop = &f->nodes[2]; \
    (void)then, (void)orelse, (void)body, (void)if_, (void)call, (void)loop;        \
    __VA_ARGS__;                                                                    \
    CHECK_REFUSED(m, status, part);                                                 \
  } while (0)
#define REFUSED(part, ...) REFUSED_AS(SAMARA_BAD_MODEL, part, __VA_ARGS__)

SMR_TEST(refuses_what_does_not_fit) {
  REFUSED("not a bool scalar", if_->inputs[0] = 0);
  REFUSED("has 1 inputs", if_->input_count = 1);
  REFUSED("input 1 does not fit", if_->inputs[1] = 2);
  REFUSED("output 0 does not fit", orelse->values[1].dtype = SAMARA_FLOAT16);
  REFUSED("output 0 does not fit", orelse->values[1].rank = 0);
  REFUSED("0 outputs", orelse->output_count = 0);
  REFUSED("2 outputs", then->output_count = 2, then->outputs[1] = 0);
  REFUSED("then is 9 of 4", mb_set(if_, "then", 9));
  REFUSED("missing", if_->attrs[1].present = false);
  REFUSED("input 0 does not fit", call->inputs[0] = 1);
  REFUSED("has 1 inputs", call->input_count = 0);
  REFUSED("has 3 inputs", mb_set(call, "body", MAIN));
  REFUSED("is not a scalar of its type", loop->inputs[0] = 1);
  REFUSED("is not a scalar of its type", loop->inputs[1] = 2);
  REFUSED("input 2 does not fit", loop->inputs[2] = -1);
  REFUSED("input 2 does not fit", loop->inputs[2] = 2);
  REFUSED("cannot carry -1", mb_set(loop, "carried", -1));
  REFUSED("cannot carry 2", mb_set(loop, "carried", 2));
  REFUSED("output 0 does not fit", mb_set(loop, "carried", 0));
  REFUSED("cannot carry 1", loop->input_count = 1);
  REFUSED("has 1 inputs", mb_set(loop, "body", THEN));
  REFUSED("is not a scalar of its type", body->values[0].dtype = SAMARA_INT32);
  REFUSED("is not a scalar of its type", body->values[1].dtype = SAMARA_UINT8);
  REFUSED("is not a scalar of its type", body->outputs[0] = 0);
  REFUSED("2 outputs", body->output_count = 2);
  REFUSED("output 1 does not fit", body->outputs[2] = 1);
  REFUSED("output 0 does not fit", body->outputs[1] = 0);
}

SMR_TEST(called_functions_are_not_bound) {
  struct mb_model *m = control_model();
  const int64_t four = 4;
  const int32_t zeros = mb_data(m, "zeros", SAMARA_FLOAT32, 1, &four, NULL, 0);
  m->variables[m->variable_count++] = (struct mb_variable){
      .name = "s", .dtype = SAMARA_FLOAT32, .dims = {4}, .rank = 1, .initial = zeros};
  m->functions[THEN]->reads[m->functions[THEN]->read_count++] = (struct smr_binding){0, 0};
  CHECK_REFUSED(m, SAMARA_BAD_MODEL, "bound to variables");
}

SMR_TEST(packed_constants_stay_out_of_control) {
  struct mb_model *m = control_model();
  struct mb_function *f = m->functions[MAIN];
  const int64_t dims[] = {4, 16};
  const int32_t w = mb_data(m, "w", SAMARA_FLOAT32, 2, dims, NULL, 256);
  m->constants[w].layout = SMR_LAYOUT_PANEL;
  m->constants[w].panel_stride = 256;
  f->nodes[1].inputs[0] = (int32_t)mb_constant_value(m, f, w);
  CHECK_REFUSED(m, SAMARA_BAD_MODEL, "is packed");
}

SMR_TEST(stated_types_are_kept) {
  for (int which = 0; which < 5; which++) {
    struct mb_model *m = mb_new();
    struct mb_function *f = mb_function(m, "main");
    const uint32_t y = mb_value(f, "y", SAMARA_FLOAT32, 0, NULL);
    mb_output(f, y);
    struct mb_node *trap = mb_node(f, "trap", MB_OP_TRAP, 0, NULL, 1, &y);
    mb_set_text(trap, "message", "");
    mb_set_ints(trap, "dtypes", which == 1 ? 0 : 1,
                (int64_t[]){which == 2 ? SAMARA_INT32 : SAMARA_FLOAT32});
    mb_set_ints(trap, "ranks", which == 3 ? 2 : 1, (int64_t[]){which == 4 ? 1 : 0, 0});
    mb_set_dims(trap, "shape", 0, NULL);
    if (which != 0) {
      CHECK_REFUSED(m, SAMARA_BAD_MODEL, "dtypes and ranks");
      continue;
    }
    const struct mb_file file = mb_accept(m);
    mb_close(&file);
  }
}

// `count` functions of a vector; each calls the next one `times` times, the last one nothing.
// "Next" is `step` functions further: 1, or count - 1 for the function before.
static struct mb_model *chain_by(uint32_t count, uint32_t times, bool cycle, uint32_t step) {
  struct mb_model *m = mb_new();
  for (uint32_t i = 0; i < count; i++) {
    struct mb_function *f = mb_function(m, "link");
    const uint32_t n = mb_input_dim(f, 0, 0);
    mb_input(f, mb_value(f, "in", SAMARA_FLOAT32, 1, &n));
    uint32_t last = 0;
    const bool calls = cycle || (step == 1 ? i + 1 < count : i > 0);
    for (uint32_t j = 0; j < (calls ? times : 0); j++) {
      const uint32_t out = mb_value(f, "out", SAMARA_FLOAT32, 1, &n);
      struct mb_node *call = mb_node(f, "call", MB_OP_CALL, 1, (int32_t[]){(int32_t)last}, 1, &out);
      mb_set(call, "body", (i + step) % count);
      last = out;
    }
    mb_output(f, last);
  }
  return m;
}

static struct mb_model *chain(uint32_t count, uint32_t times, bool cycle) {
  return chain_by(count, times, cycle, 1);
}

SMR_TEST(call_graphs) {
  struct mb_file file = mb_accept(chain(32, 1, false));
  CHECK_EQ_INT(file.model->functions[0].depth, 32);
  mb_close(&file);
  CHECK_REFUSED(chain(33, 1, false), SAMARA_BAD_MODEL, "nest more than 32");
  CHECK_REFUSED(chain(40, 1, false), SAMARA_BAD_MODEL, "nest more than 32");
  // The same if the deepest function comes first in the file.
  CHECK_REFUSED(chain_by(33, 1, false, 32), SAMARA_BAD_MODEL, "nest more than 32");
  CHECK_REFUSED(chain(1, 1, true), SAMARA_BAD_MODEL, "calls itself");
  CHECK_REFUSED(chain(5, 1, true), SAMARA_BAD_MODEL, "calls itself");
  // 2^16 - 1 frames pass, 2^17 - 1 do not, and neither takes long.
  file = mb_accept(chain(16, 2, false));
  CHECK_EQ_INT(file.model->functions[0].frames, 65535);
  mb_close(&file);
  CHECK_REFUSED(chain(17, 2, false), SAMARA_BAD_MODEL, "nested calls");
  CHECK_REFUSED(chain(32, 40, false), SAMARA_BAD_MODEL, "nested calls");
}

// A callee that is defined later grows, so its callers do.
SMR_TEST(growth_goes_through_calls) {
  struct mb_model *m = chain(3, 1, false);
  struct mb_function *f = m->functions[2];
  const uint32_t one = mb_const(f, 1), born = mb_born(f, 0, 0, 1, -1), dims[] = {one, born};
  const uint32_t nz = mb_value(f, "nz", SAMARA_INT64, 2, dims);
  mb_node(f, "nonzero", MB_OP_NONZERO, 1, (int32_t[]){0}, 1, &nz);
  const struct mb_file file = mb_accept(m);
  samara_model *model = file.model;
  CHECK(model->functions[2].growing && model->functions[1].growing && model->functions[0].growing);
  mb_close(&file);
}

SMR_TEST_MAIN(RUN(accepts_what_fits); RUN(refuses_what_does_not_fit);
              RUN(called_functions_are_not_bound); RUN(packed_constants_stay_out_of_control);
              RUN(stated_types_are_kept); RUN(call_graphs); RUN(growth_goes_through_calls))
