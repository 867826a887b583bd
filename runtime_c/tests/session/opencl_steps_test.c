// SPDX-License-Identifier: Apache-2.0
// Pointwise nodes that OpenCL computes in steps: which are joined, with the bits of their nodes one
// by one, and wrong kernels of steps. The library is the one that fails on request; kernels are
// computed as C11, those of steps from the same text (backends/reference_fused.inc).
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "base/fp.h"

#include "backends/fault_opencl.h"
#include "backends/opencl/cl.h"
#include "backends/reference_driver.h"
#include "harness.h"
#include "ops/table/opattrs.h"
#include "session/device/device_rig.h"

#include <math.h>

static struct fault_opencl *faults;
static long fused, others;          // launches
static bool fused_lie, others_lie;  // kernels change the first element of their result

static void run_kernel(const char *name, unsigned char **buffers, const int32_t *ints,
                       const float *floats, uint32_t dims, const size_t *items) {
  struct smr_cl_launch launch = {.dims = (uint8_t)dims};
  const bool is_fused = strncmp(name, "fused_", 6) == 0;
  for (size_t i = 0; i < SMR_CL_BUFFERS; i++) launch.buffers[i].memory = buffers[i];
  memcpy(launch.ints, ints, sizeof launch.ints);
  memcpy(launch.floats, floats, sizeof launch.floats);
  memcpy(launch.items, items, dims * sizeof *items);
  REQUIRE(smr_reference_launch_named(&launch, name));
  if (is_fused)
    fused++;
  else
    others++;
  if (is_fused ? fused_lie : others_lie) {
    buffers[5][0] ^= 1;
    buffers[5][3] ^= 64;
  }
}

static void reset(void) {
  fault_opencl_reset(faults, run_kernel);
  faults->source = smr_reference_expect;
  fused = others = 0;
  fused_lie = others_lie = false;
}

static samara_backend *open_device(const char *cache) {
  const samara_backend_options options = {
      .struct_size = sizeof options, .name = "opencl:1", .cache_folder = cache};
  samara_backend *device = NULL;
  samara_error error = {.text = ""};
  CHECK_EQ_INT(samara_backend_open(&options, &device, &error), SAMARA_OK);
  return device;
}

// ---- models ----

static const float row[] = {0.5f, -1, 2}, third = 1 / 3.0f;
static struct literal *l;
static struct literal_function *f;
static uint32_t five, three, one;

static uint32_t node(uint16_t code, uint32_t y, const int64_t *inputs) {
  return literal_node(f, smr_op_find(code), f->values[y].name, inputs, LITERAL_LIST(y));
}

// A node that makes a value of the dims of `like`.
static uint32_t make(const char *name, uint16_t code, uint8_t dtype, uint32_t like,
                     const int64_t *inputs) {
  const uint32_t *dims = f->values[like].dims;
  const uint32_t y = f->values[like].rank == 1 ? literal_value(f, name, dtype, 1, dims[0])
                                               : literal_value(f, name, dtype, 2, dims[0], dims[1]);
  node(code, y, inputs);
  return y;
}

#define UNARY(name, code, x) make(name, SMR_CODE_##code, F32, x, LITERAL_LIST((x)))
#define BINARY(name, code, x, a, b) make(name, SMR_CODE_##code, F32, x, LITERAL_LIST((a), (b)))
#define F32 SAMARA_FLOAT32

static uint32_t input(const char *name, uint8_t dtype, uint32_t rows, uint32_t columns) {
  const uint32_t x = literal_input(f, literal_value(f, name, dtype, 2, rows, columns));
  return x;
}

static void begin(void) {
  l = literal_new();
  f = literal_add(l, "main", true);
  five = literal_int(f, 5);
  three = literal_int(f, 3);
  one = literal_int(f, 1);
}

// Constants of one float and of a row, an attribute, two outputs: one step.
static void chain(void) {
  begin();
  const uint32_t x = input("x", F32, five, three);
  const uint32_t s = literal_constant(l, f, "s", F32, &third, 0);
  const uint32_t w = literal_constant(l, f, "w", F32, row, 1, 3);
  const uint32_t a = BINARY("a", MUL, x, x, s), b = BINARY("b", ADD, x, a, w);
  const uint32_t c = make("c", SMR_CODE_LEAKY_RELU, F32, x, LITERAL_LIST(b));
  literal_attr(f, f->f.node_count - 1, "alpha", (struct smr_attr){.f = 0.3f});
  const uint32_t d = BINARY("d", MUL, x, c, b), e = UNARY("e", TANH, d);
  literal_output(f, d, "d");
  literal_output(f, BINARY("g", SUB, x, e, a), "g");
}

// Integers, comparisons, a choice, float16 between two nodes: one step.
static void types(void) {
  begin();
  const uint32_t i = input("i", SAMARA_INT64, five, three),
                 j = input("j", SAMARA_INT64, five, three);
  const uint32_t x = input("x", F32, five, three);
#define TYPED(name, code, dtype, ...) \
  make(name, SMR_CODE_##code, SAMARA_##dtype, x, LITERAL_LIST(__VA_ARGS__))
  const int32_t n = (int32_t)TYPED("n", MUL, INT64, (int32_t)i, (int32_t)j);
  const int32_t p = (int32_t)TYPED("p", LT, BOOL, n, (int32_t)j);
  const int32_t q = (int32_t)TYPED("q", LOGICAL_NOT, BOOL, p);
  const int32_t h = (int32_t)TYPED("h", CAST, FLOAT16, (int32_t)x);
  literal_attr(f, f->f.node_count - 1, "to", (struct smr_attr){.i = SAMARA_FLOAT16});
  const int32_t k = (int32_t)TYPED("k", MUL, FLOAT16, h, h);
  const int32_t m = (int32_t)TYPED("m", CAST, FLOAT32, k);
  literal_attr(f, f->f.node_count - 1, "to", (struct smr_attr){.i = SAMARA_FLOAT32});
  const int32_t r = (int32_t)TYPED("r", WHERE, FLOAT32, q, m, (int32_t)x);
#undef TYPED
  literal_output(f, (uint32_t)r, "r");
}

// Dims that are known when it runs; operands of a row and of a column: one step.
static void symbolic(void) {
  begin();
  const uint32_t n = literal_symbol(f, "n", 0, 0, 8);
  const uint32_t x = input("x", F32, n, three), column = input("v", F32, n, one);
  const uint32_t w = literal_constant(l, f, "w", F32, row, 1, 3);
  const uint32_t a = UNARY("a", SIGMOID, x), b = BINARY("b", ADD, x, a, w);
  literal_output(f, BINARY("c", MUL, x, b, column), "c");
}

// A sum of twelve values: five operands at most, so three steps.
static void many(void) {
  static char names[24][4];
  begin();
  uint32_t x[12];
  for (uint32_t i = 0; i < 12; i++) {
    (void)snprintf(names[i], sizeof names[i], "x%u", (unsigned)i);
    x[i] = input(names[i], F32, five, three);
  }
  uint32_t sum = x[0];
  for (uint32_t i = 1; i < 12; i++) {
    (void)snprintf(names[12 + i], sizeof names[i], "s%u", (unsigned)i);
    sum = BINARY(names[12 + i], ADD, x[0], sum, x[i]);
  }
  literal_output(f, sum, "sum");
}

// Tensors that are read before the step ends, by a node or through a view, prevent a join: two
// steps of two nodes, and three nodes alone.
static void apart(void) {
  static const int64_t axes[] = {1};
  begin();
  const uint32_t x = input("x", F32, five, three);
  const uint32_t a = UNARY("a", EXP, x);
  const uint32_t s = literal_value(f, "s", F32, 2, five, one);
  literal_attr(f, node(SMR_CODE_REDUCE_SUM, s, LITERAL_LIST(a)), "axes",
               (struct smr_attr){.ints = axes, .count = 1});
  literal_attr(f, f->f.node_count - 1, "keepdims", (struct smr_attr){.i = 1});
  const uint32_t d = BINARY("d", DIV, x, a, s), e = UNARY("e", NEG, d);
  const uint32_t r = literal_value(f, "r", F32, 2, three, five);
  literal_attr_dims(f, node(SMR_CODE_RESHAPE, r, LITERAL_LIST(e)), "shape", 2, three, five);
  const uint32_t t = UNARY("t", TANH, r), g = UNARY("g", ABS, e);
  literal_output(f, t, "t");
  literal_output(f, UNARY("h", SQRT, g), "h");
}

static const struct {
  void (*make)(void);
  long fused, others;  // launches of a run
} models[] = {{chain, 1, 0}, {types, 1, 0}, {symbolic, 1, 0}, {many, 3, 0}, {apart, 2, 3}};
enum { MODELS = sizeof models / sizeof *models };

// ---- sessions ----

// Whether all outputs have the same bits; with `close`, floats may differ in the last digits.
static bool is_same(const samara_session *a, const samara_session *b, bool close) {
  for (uint32_t i = 0; i < a->function->user_output_count; i++) {
    samara_tensor x, y;
    if (samara_session_output(a, i, &x) != SAMARA_OK ||
        samara_session_output(b, i, &y) != SAMARA_OK || x.size_bytes != y.size_bytes)
      return false;
    if (!close && memcmp(x.data, y.data, x.size_bytes) != 0) return false;
    const float *want = x.data, *got = y.data;
    for (size_t e = 0; e < x.size_bytes / sizeof *want; e++)
      if (!(fabsf(got[e] - want[e]) <= 1e-6f + 1e-6f * fabsf(want[e]))) return false;
  }
  return true;
}

static bool run(samara_session *s, uint32_t seed) {
  return rig_feed(s, seed) && literal_run(s) == SAMARA_OK;
}

static samara_session *session(const samara_model *model, samara_backend *device, uint64_t every) {
  return rig_session(model, &device, device != NULL,
                     (samara_session_options){.backend_check_every = every});
}

SMR_TEST(steps_have_the_bits_of_their_nodes) {
  for (size_t m = 0; m < MODELS; m++) {
    reset();
    models[m].make();
    const samara_model *model = literal_finish(l);
    samara_backend *device = open_device(NULL);
    samara_session *cpu = session(model, NULL, 0), *steps = session(model, device, 3);
    samara_session *nodes = session(model, device, 3);
    CHECK_EQ_INT(samara_session_set_profiling(nodes, true), SAMARA_OK);
    for (uint32_t seed = 0; seed < 8; seed++) {
      const int64_t dims[] = {1 + seed % 8, 3}, column[] = {1 + seed % 8, 1};
      const int64_t *const shapes[] = {dims, column};
      samara_session *all[] = {cpu, steps, nodes};
      for (size_t i = 0; i < 3 && models[m].make == symbolic; i++)
        CHECK_EQ_INT(samara_session_resize(all[i], shapes, 2), SAMARA_OK);
      CHECK(run(cpu, seed) && run(nodes, seed));
      fused = others = 0;
      CHECK(run(steps, seed));
      CHECK_EQ_INT(fused, models[m].fused);
      CHECK_EQ_INT(others, models[m].others);
      CHECK(is_same(steps, nodes, false) && is_same(cpu, steps, true));
    }
    CHECK_STR(rig_report(steps).failure, "");
    CHECK_STR(rig_report(nodes).failure, "");
    samara_session_destroy(nodes);
    samara_session_destroy(steps);
    samara_session_destroy(cpu);
    samara_backend_close(device);
    literal_free(l);
    CHECK_EQ_INT(faults->live, 0);
  }
}

// Compare runs of a session with the CPU. Returns the last report.
static samara_backend_report live(const samara_model *model, samara_backend *device, uint64_t every,
                                  uint32_t runs) {
  samara_session *cpu = session(model, NULL, 0), *s = session(model, device, every);
  static char failure[512];
  samara_backend_report report = {.failure = ""};
  fused = others = 0;
  for (uint32_t seed = 0; seed < runs; seed++)
    CHECK(run(cpu, seed) && run(s, seed) && is_same(cpu, s, true));
  report = rig_report(s);
  (void)snprintf(failure, sizeof failure, "%s", report.failure);
  report.failure = failure;
  samara_session_destroy(s);
  samara_session_destroy(cpu);
  return report;
}

SMR_TEST(a_wrong_step_is_found_and_its_nodes_are_computed_one_by_one) {
  for (size_t m = 0; m < MODELS; m++) {
    if (models[m].make == symbolic) continue;  // its session has no shapes yet
    reset();
    models[m].make();
    const samara_model *model = literal_finish(l);
    const char *folder = rig_folder();
    samara_backend *device = open_device(folder);
    fused_lie = true;
    samara_backend_report report = live(model, device, UINT64_MAX, 4);
    CHECK_CONTAINS(report.failure, "opencl:1: checking: node '");
    CHECK_CONTAINS(report.failure, " #");
    CHECK_EQ_INT(report.repeated, 1);
    // Wrong steps are found one after the other. All nodes stay on the device.
    for (int i = 0; report.failure[0] != '\0' && i < 3; i++)
      report = live(model, device, UINT64_MAX, 4);
    for (int opened = 0; opened < 2; opened++) {
      CHECK_STR(report.failure, "");
      CHECK_EQ_INT(report.device_runs, 4);
      CHECK_EQ_INT(fused, 0);
      CHECK(others > 4);
      if (opened == 1) break;
      // The cache tells the next process.
      samara_backend_close(device);
      device = open_device(folder);
      report = live(model, device, UINT64_MAX, 4);
    }
    samara_backend_close(device);
    rig_remove(folder);
    literal_free(l);
    CHECK_EQ_INT(faults->live, 0);
  }
}

SMR_TEST(samples_find_a_step_that_turns_wrong) {
  reset();
  apart();
  const samara_model *model = literal_finish(l);
  samara_backend *device = open_device(NULL);
  CHECK_STR(live(model, device, 4, 8).failure, "");
  fused_lie = true;
  samara_session *cpu = session(model, NULL, 0), *s = session(model, device, 4);
  uint32_t runs = 0;
  while (rig_report(s).failure[0] == '\0' && runs < 200) CHECK(run(s, runs++));
  CHECK_CONTAINS(rig_report(s).failure, " #");
  CHECK(run(cpu, runs) && run(s, runs) && is_same(cpu, s, true));
  samara_session_destroy(s);
  samara_session_destroy(cpu);
  samara_backend_close(device);
  literal_free(l);
}

SMR_TEST(nodes_are_checked_where_steps_are_trusted) {
  reset();
  chain();
  const samara_model *model = literal_finish(l);
  samara_backend *device = open_device(NULL);
  samara_session *cpu = session(model, NULL, 0), *s = session(model, device, UINT64_MAX);
  others_lie = true;
  CHECK(run(cpu, 1) && run(s, 1) && is_same(cpu, s, true));
  CHECK_STR(rig_report(s).failure, "");
  CHECK_EQ_INT(samara_session_set_profiling(s, true), SAMARA_OK);
  CHECK(run(cpu, 2) && run(s, 2) && is_same(cpu, s, true));
  CHECK_CONTAINS(rig_report(s).failure, "(mul float32 float32 float32)");
  samara_session_destroy(s);
  samara_session_destroy(cpu);
  samara_backend_close(device);
  literal_free(l);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  void *library;
  faults = fault_opencl_load(SMR_FAULT_OPENCL, &library);
  if (faults == NULL) return 1;
  RUN(steps_have_the_bits_of_their_nodes);
  RUN(a_wrong_step_is_found_and_its_nodes_are_computed_one_by_one);
  RUN(samples_find_a_step_that_turns_wrong);
  RUN(nodes_are_checked_where_steps_are_trusted);
  smr_os_library_close(library);
  return SMR_TEST_END();
}
