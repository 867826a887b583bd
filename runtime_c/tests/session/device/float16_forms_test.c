// SPDX-License-Identifier: Apache-2.0
// Sessions that store float32 values as float16 on devices: which nodes use float16, and memory.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/device/device_rig.h"

enum { RUNS = 5 };

static const samara_session_options narrow = {.backend_float16 = true};

static void expect_forms(enum rig_model which, const char *const *float16,
                         const char *const *float32) {
  rig_reset();
  struct rig rig = rig_start(which, 1, narrow);
  samara_session *s = rig.s;
  for (; *float16 != NULL; float16++)
    if (!CHECK(rig_node(s, *float16)->float16)) fprintf(stderr, "%s\n", *float16);
  for (; *float32 != NULL; float32++)
    if (!CHECK(!rig_node(s, *float32)->float16)) fprintf(stderr, "%s\n", *float32);
  CHECK(rig_end(&rig));
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

SMR_TEST(what_a_later_run_or_trip_reads_keeps_float32) {
  expect_forms(RIG_CHAIN, NAMES("one_add", "one_relu", "one_mul", "sub", "reshape", "tanh", "last"),
               NAMES("host_neg", "two_sigmoid"));
  expect_forms(RIG_STATE, NAMES(NULL), NAMES("add", "sigmoid", "mul"));
  expect_forms(RIG_LOOP, NAMES("start", "negated"), NAMES("step", "product", "sum"));
  expect_forms(RIG_READ, NAMES("relu", "cut_relu", "cut_x"), NAMES("twice", "host_tanh"));
  expect_forms(RIG_IF, NAMES("before", "first", "second", "after"), NAMES("choose"));
}

// x [6] -> relu -> a, bitcast(neg(a)) -> bits; tanh(y [6]) -> b
static struct literal *bits_model(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t six = literal_int(f, 6);
  const uint32_t x = literal_input(f, literal_vector(f, "x", six));
  const uint32_t y = literal_input(f, literal_vector(f, "y", six));
  const uint32_t bits = literal_value(f, "bits", SAMARA_INT32, 1, six);
  const uint32_t b = literal_vector(f, "b", six);
  const uint32_t a = literal_map(f, smr_op_find(SMR_CODE_RELU), "relu", LITERAL_LIST(x), "a", six);
  const uint32_t n = literal_map(f, smr_op_find(SMR_CODE_NEG), "neg", LITERAL_LIST(a), "n", six);
  const uint32_t cast = literal_node(f, smr_op_find(SMR_CODE_BITCAST), "bitcast", LITERAL_LIST(n),
                                     LITERAL_LIST(bits));
  literal_attr(f, cast, "to", (struct smr_attr){.i = SAMARA_INT32});
  literal_node(f, smr_op_find(SMR_CODE_TANH), "tanh", LITERAL_LIST(y), LITERAL_LIST(b));
  literal_output(f, bits, "bits");
  literal_output(f, b, "b");
  (void)literal_finish(l);
  return l;
}

static uint32_t unary_of(struct literal_function *f, uint16_t code, const char *name, uint32_t x,
                         uint32_t dim) {
  const uint32_t y = literal_vector(f, name, dim);
  literal_node(f, smr_op_find(code), name, LITERAL_LIST(x), LITERAL_LIST(y));
  return y;
}

// relu(x), neg(a), tanh(x). `reads`: a is the variable A; else A becomes relu(x).
SMR_TEST(variables_keep_float32_read_and_written) {
  static const int64_t dims[] = {4};
  static const float start[] = {1, 2, 3, 4};
  for (int reads = 0; reads < 2; reads++) {
    rig_reset();
    struct literal *l = literal_new();
    struct literal_function *f = literal_add(l, "main", true);
    const uint32_t four = literal_int(f, 4);
    const uint32_t a = literal_input(f, literal_vector(f, "a", four));
    const uint32_t x = literal_input(f, literal_vector(f, "x", four));
    literal_output(f, unary_of(f, SMR_CODE_RELU, "relu", x, four), "next");
    literal_output(f, unary_of(f, SMR_CODE_NEG, "neg", a, four), "n");
    const uint32_t t = unary_of(f, SMR_CODE_TANH, "tanh", x, four);
    if (reads) literal_output(f, t, "t");
    literal_variable(l, "A", SAMARA_FLOAT32, start, 1, dims);
    literal_bind(f, !reads, 0, 0);
    (void)literal_finish(l);
    struct rig rig = rig_with(l, 1, narrow);
    samara_session *s = rig.s;
    CHECK(rig_node(s, "neg")->space == 1 && rig_node(s, "neg")->float16 == !reads);
    // Both read x, so relu and tanh have the same form.
    CHECK(rig_node(s, "relu")->float16 == (reads != 0) &&
          rig_node(s, "tanh")->float16 == (reads != 0));
    CHECK(rig_end(&rig));
  }
}

// x [6], c [1] -> relu(x[:k]), where k are the bits of abs(c). c = 4e-45 has the bits 3, and is 0
// in float16.
SMR_TEST(floats_that_are_read_as_dims_keep_float32) {
  static const uint32_t bits = 3;
  static const float x[] = {-1, 2, 3, 4, 5, 6};
  float c;
  rig_reset();
  memcpy(&c, &bits, sizeof c);
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t six = literal_int(f, 6), zero = literal_int(f, 0), one = literal_int(f, 1);
  const uint32_t in = literal_input(f, literal_vector(f, "x", six));
  const uint32_t from = literal_input(f, literal_vector(f, "c", one));
  const uint32_t a = unary_of(f, SMR_CODE_ABS, "abs", from, one);
  const uint32_t k = literal_expr(f, SMR_EXPR_READ, (int32_t)a, 0, (int32_t)six, 0);
  const uint32_t part = literal_vector(f, "part", k);
  const uint32_t node =
      literal_node(f, smr_op_find(SMR_CODE_SLICE), "slice", LITERAL_LIST(in), LITERAL_LIST(part));
  literal_attr_dims(f, node, "begin", 1, zero);
  literal_attr_dims(f, node, "end", 1, k);
  literal_attr_dims(f, node, "step", 1, one);
  literal_output(f, unary_of(f, SMR_CODE_RELU, "relu", part, k), "y");
  (void)literal_finish(l);
  struct rig rig = rig_with(l, 1, narrow);
  samara_session *s = rig.s;
  CHECK(literal_feed(s, 0, x, 6) && literal_feed(s, 1, &c, 1));
  const float want[] = {0, 2, 3};
  CHECK(literal_run(s) == SAMARA_OK && literal_expect(s, 0, want, 3));
  CHECK(rig_node(s, "abs")->space == 1 && !rig_node(s, "abs")->float16);
  CHECK(rig_node(s, "slice")->float16 && rig_node(s, "relu")->float16);
  CHECK(rig_end(&rig));
}

SMR_TEST(memory_of_the_device_is_half) {
  rig_reset();
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t many = literal_int(f, 4096);
  uint32_t x = literal_vector(f, "x", many);
  literal_input(f, x);
  for (int i = 0; i < 3; i++) x = unary_of(f, SMR_CODE_TANH, "tanh", x, many);
  literal_output(f, x, "y");
  (void)literal_finish(l);
  struct rig rig = rig_with(l, 1, narrow);
  CHECK_EQ_INT(rig_report(rig.s).device_bytes, 2 * 4096 * 2);
  CHECK_EQ_INT(rig_report(rig_again(&rig, (samara_session_options){0})).device_bytes, 2 * 4096 * 4);
  CHECK(rig_end(&rig));
}

// A device that takes bits of float16 as well.
static bool takes_bits(void *device, const samara_region *region, uint32_t node, char *reason,
                       size_t reason_size) {
  return strcmp(region->nodes[node].op, "bitcast") == 0 ||
         samara_backend_entry()->supports(device, region, node, reason, reason_size);
}

SMR_TEST(bits_of_floats_are_those_of_float32) {
  rig_reset();
  struct literal *l = bits_model();
  samara_backend_table table = *rig_table();
  table.supports = takes_bits;
  const samara_backend_options options = {
      .struct_size = sizeof options, .name = "mirror", .table = &table};
  samara_backend *device;
  REQUIRE(samara_backend_open(&options, &device, NULL) == SAMARA_OK);
  samara_session *s = rig_session(&l->model, &device, 1, narrow);
  CHECK(rig_node(s, "bitcast")->space == 1 && !rig_node(s, "bitcast")->float16);
  CHECK(!rig_node(s, "neg")->float16 && rig_node(s, "tanh")->float16);
  samara_session_destroy(s);
  samara_backend_close(device);
  literal_free(l);
}

// Whether the first outputs, which are integers, are equal.
static bool same_bits(const samara_session *cpu, const samara_session *other) {
  samara_tensor a, b;
  return samara_session_output(cpu, 0, &a) == SAMARA_OK &&
         samara_session_output(other, 0, &b) == SAMARA_OK &&
         memcmp(a.data, b.data, a.size_bytes) == 0;
}

SMR_TEST(what_keeps_float32_passes_it_on) {
  rig_reset();
  struct literal *l = bits_model();
  struct rig rig = rig_with(l, 1, narrow);
  samara_session *cpu = rig.cpu, *s = rig.s;
  CHECK(!rig_node(s, "bitcast")->float16 && !rig_node(s, "neg")->float16);
  CHECK(!rig_node(s, "relu")->float16 && rig_node(s, "tanh")->float16);
  CHECK_STR(rig_node(s, "relu")->reason, "supported, in float32");
  CHECK_STR(rig_node(s, "tanh")->reason, "supported, in float16");
  for (uint32_t run = 0; run < RUNS; run++)
    CHECK(rig_feed(cpu, run) && rig_feed(s, run) && literal_run(cpu) == SAMARA_OK &&
          literal_run(s) == SAMARA_OK && same_bits(cpu, s));
  CHECK(rig_end(&rig));
}

SMR_TEST_MAIN(RUN(what_a_later_run_or_trip_reads_keeps_float32);
              RUN(variables_keep_float32_read_and_written);
              RUN(floats_that_are_read_as_dims_keep_float32); RUN(memory_of_the_device_is_half);
              RUN(bits_of_floats_are_those_of_float32); RUN(what_keeps_float32_passes_it_on))
