// SPDX-License-Identifier: Apache-2.0
// Running prepared operators: strides, threads, many at once, failures, memory.
#include "base/fp.h"

#include "session/eager/eager_data.h"

#include "base/os.h"
#include "session/eager/eager.h"

// ---- one operator ----

// y[m][n] = sum x[m][k] w[k][n], of values for which floats are exact.
static void run_matmul(size_t m, size_t n, size_t k, const float *x, const float *w, float *y) {
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      y[i * n + j] = 0;
      for (size_t p = 0; p < k; p++) y[i * n + j] += x[i * k + p] * w[p * n + j];
    }
}

SMR_TEST(matmul_of_dense_and_transposed_operands) {
  enum { M = 5, K = 7, N = 19 };
  float *x = eager_floats(M * K, 1), *w = eager_floats(K * N, 5);
  float *turned = malloc(sizeof(float) * K * N), *reversed = malloc(sizeof(float) * M * K);
  float expected[M * N], y[M * N];
  REQUIRE(turned != NULL && reversed != NULL);
  for (size_t i = 0; i < K; i++)
    for (size_t j = 0; j < N; j++) turned[j * K + i] = w[i * N + j];
  for (size_t i = 0; i < M * K; i++) reversed[i] = x[M * K - 1 - i];
  run_matmul(M, N, K, x, w, expected);
  const samara_op_tensor outs[] = {EAGER_F32(M, N)};
  const samara_op_tensor dense[] = {EAGER_F32(M, K), EAGER_F32(K, N)};
  const samara_op_desc plain = EAGER_PLAIN("matmul", dense, outs);
  REQUIRE(eager_run(&plain, (const void *[]){x, w}, (void *[]){y}) == SAMARA_OK);
  CHECK_MEM(y, expected, sizeof y);
  const samara_op_tensor lying[] = {
      {EAGER_DIMS(M, K), EAGER_STRIDES(-K, -1), .dtype = SAMARA_FLOAT32},
      {EAGER_DIMS(K, N), EAGER_STRIDES(1, K), .dtype = SAMARA_FLOAT32}};
  const samara_op_desc strided = EAGER_PLAIN("matmul", lying, outs);
  memset(y, 0, sizeof y);
  REQUIRE(eager_run(&strided, (const void *[]){reversed + M * K - 1, turned}, (void *[]){y}) ==
          SAMARA_OK);
  CHECK_MEM(y, expected, sizeof y);
  free(x);
  free(w);
  free(turned);
  free(reversed);
}

// A 1x3x4x5 picture that lies channels first, and the same channels last.
SMR_TEST(convolution_of_a_channels_first_picture) {
  enum { H = 4, W = 5, C = 3, F = 2 };
  const int64_t strides[] = {C * H * W, W, 1, H * W};
  float *first = eager_floats(C * H * W, 3), *w = eager_floats(F * 9 * C, 8), last[H * W * C];
  float y[2][H * W * F], bias[F] = {0.5f, -1};
  for (size_t c = 0; c < C; c++)
    for (size_t p = 0; p < H * W; p++) last[p * C + c] = first[c * H * W + p];
  const samara_attribute attributes[] = {EAGER_INTS("strides", 1, 1), EAGER_INTS("dilations", 1, 1),
                                         EAGER_INTS("pads", 1, 1, 1, 1)};
  const samara_op_tensor outs[] = {EAGER_F32(1, H, W, F)};
  for (int i = 0; i < 2; i++) {
    samara_op_tensor ins[] = {EAGER_F32(1, H, W, C), EAGER_F32(F, 3, 3, C), EAGER_F32(F)};
    if (i == 0) ins[0].strides = strides;
    const samara_op_desc desc = EAGER_DESC("conv", attributes, ins, outs);
    const void *data[] = {i == 0 ? first : last, w, bias};
    REQUIRE(eager_run(&desc, data, (void *[]){y[i]}) == SAMARA_OK);
  }
  CHECK_MEM(y[0], y[1], sizeof y[0]);
  for (size_t f = 0; f < F; f++) {  // the pixel in the corner sees four others
    float sum = bias[f];
    for (size_t r = 0; r < 2; r++)
      for (size_t s = 0; s < 2; s++)
        for (size_t c = 0; c < C; c++)
          sum += last[(r * W + s) * C + c] * w[((f * 3 + r + 1) * 3 + s + 1) * C + c];
    CHECK(y[0][f] == sum);
  }
  free(first);
  free(w);
}

SMR_TEST(broadcasting_by_shape_and_by_stride) {
  float *x = eager_floats(24, 0), *row = eager_floats(6, 9), y[24];
  const samara_op_tensor outs[] = {EAGER_F32(4, 6)};
  samara_op_tensor ins[] = {EAGER_F32(4, 6), EAGER_F32(6)};
  const samara_op_desc desc = EAGER_PLAIN("sub", ins, outs);
  const samara_op_tensor kinds[] = {
      ins[1], {EAGER_DIMS(4, 6), EAGER_STRIDES(0, 1), .dtype = SAMARA_FLOAT32}};
  for (int kind = 0; kind < 2; kind++) {
    ins[1] = kinds[kind];
    memset(y, 0, sizeof y);
    REQUIRE(eager_run(&desc, (const void *[]){x, row}, (void *[]){y}) == SAMARA_OK);
    for (size_t i = 0; i < 24; i++) CHECK(y[i] == x[i] - row[i % 6]);
  }
  ins[0] = kinds[1];  // nobody keeps the size: both are copied
  REQUIRE(eager_run(&desc, (const void *[]){row, row}, (void *[]){y}) == SAMARA_OK);
  for (size_t i = 0; i < 24; i++) CHECK(y[i] == 0);
  free(x);
  free(row);
}

SMR_TEST(in_place_empty_absent_and_quantized) {
  float x[] = {-1, 2, -3};
  const samara_op_tensor three[] = {EAGER_F32(3)};
  const samara_op_desc relu = EAGER_PLAIN("relu", three, three);
  REQUIRE(eager_run(&relu, (const void *[]){x}, (void *[]){x}) == SAMARA_OK);
  CHECK(x[0] == 0 && x[1] == 2 && x[2] == 0);

  const samara_op_tensor none[] = {EAGER_F32(0, 3)};
  const samara_op_desc nothing = EAGER_PLAIN("relu", none, none);
  CHECK_EQ_INT(eager_run(&nothing, (const void *[]){NULL}, (void *[]){NULL}), SAMARA_OK);

  float y[2];
  const float w[] = {1, 2}, residual[] = {10, 20}, scalar = 3;
  const samara_op_tensor ins[] = {EAGER_F32(1, 1), EAGER_F32(1, 2), {0}, EAGER_F32(1, 2)};
  const samara_op_tensor outs[] = {EAGER_F32(1, 2)};
  const samara_op_desc matmul = EAGER_PLAIN("matmul", ins, outs);
  REQUIRE(eager_run(&matmul, (const void *[]){&scalar, w, NULL, residual}, (void *[]){y}) ==
          SAMARA_OK);
  CHECK(y[0] == 13 && y[1] == 26);

  const float real[] = {-1, 0, 1.25f};
  int8_t q[3];
  const samara_op_tensor to[] = {
      {EAGER_DIMS(3), .dtype = SAMARA_QINT8, .scale = 0.25f, .zero_point = 3}};
  const samara_attribute parameters[] = {{.name = "scales", .floats = &to[0].scale, .count = 1},
                                         EAGER_INTS("zero_points", 3)};
  const samara_op_desc quantize = EAGER_DESC("quantize", parameters, three, to);
  const samara_op_desc dequantize = EAGER_PLAIN("dequantize", to, three);
  REQUIRE(eager_run(&quantize, (const void *[]){real}, (void *[]){q}) == SAMARA_OK);
  CHECK(q[0] == -1 && q[1] == 3 && q[2] == 8);
  REQUIRE(eager_run(&dequantize, (const void *[]){q}, (void *[]){x}) == SAMARA_OK);
  CHECK_MEM(x, real, sizeof x);
}

SMR_TEST(quantized_per_axis) {
  // Both operands of a strided view: [3, 2] whose parameters run along either axis.
  const float scales[] = {0.5f, 0.25f, 2}, real[] = {1, 2, -4, 0.5f, 1, 2};
  const int32_t zero_points[] = {0, 3, -1};
  int8_t q[6];
  float back[6];
  const samara_op_tensor x[] = {{EAGER_DIMS(3, 2), EAGER_STRIDES(1, 3), .dtype = SAMARA_FLOAT32}};
  const samara_op_tensor to[] = {{EAGER_DIMS(3, 2), .dtype = SAMARA_QINT8, .scales = scales,
                                  .zero_points = zero_points, .quant_count = 3, .quant_axis = 0}};
  const samara_op_tensor y[] = {EAGER_F32(3, 2)};
  const samara_attribute parameters[] = {{.name = "scales", .floats = scales, .count = 3},
                                         EAGER_INTS("zero_points", 0, 3, -1),
                                         EAGER_INTS("axis", 0)};
  const samara_op_desc quantize = EAGER_DESC("quantize", parameters, x, to);
  const samara_op_desc dequantize = EAGER_PLAIN("dequantize", to, y);
  REQUIRE(eager_run(&quantize, (const void *[]){real}, (void *[]){q}) == SAMARA_OK);
  CHECK_MEM(q, ((int8_t[]){2, 1, 11, 7, -3, 0}), 6);
  REQUIRE(eager_run(&dequantize, (const void *[]){q}, (void *[]){back}) == SAMARA_OK);
  CHECK_MEM(back, ((float[]){1, 0.5f, 2, 1, -4, 2}), sizeof back);
  // Read the other way round, the copy keeps the axis that the parameters belong to.
  const samara_op_tensor turned[] = {{EAGER_DIMS(2, 3), EAGER_STRIDES(1, 2), .dtype = SAMARA_QINT8,
                                      .scales = scales, .zero_points = zero_points,
                                      .quant_count = 3, .quant_axis = 1}};
  const samara_op_tensor dense[] = {EAGER_F32(2, 3)};
  const samara_op_desc read = EAGER_PLAIN("dequantize", turned, dense);
  REQUIRE(eager_run(&read, (const void *[]){q}, (void *[]){back}) == SAMARA_OK);
  CHECK_MEM(back, real, sizeof back);
}

SMR_TEST(failures_say_why) {
  const samara_op_tensor ins[] = {EAGER_F32(4, 2), {EAGER_DIMS(3), .dtype = SAMARA_INT64}};
  const samara_op_tensor outs[] = {EAGER_F32(3, 2)};
  const samara_op_desc desc = EAGER_PLAIN("gather", ins, outs);
  samara_op *op = eager_op(&desc);
  samara_pool *pool;
  samara_op_context *context = eager_context(1, &pool);
  REQUIRE(op != NULL && context != NULL);
  CHECK_STR(samara_op_context_error(context), "");
  float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[6];
  int64_t at[4] = {1, 3, -1, 0};
  void *out[] = {y};
  CHECK_EQ_INT(samara_op_run(context, op, (const void *[]){x, at}, out), SAMARA_OK);
  CHECK(y[0] == 2 && y[3] == 7 && y[5] == 7);
  at[1] = 4;
  CHECK_EQ_INT(samara_op_run(context, op, (const void *[]){x, at}, out), SAMARA_BAD_DATA);
  CHECK_CONTAINS(samara_op_context_error(context), "gather: index 4 at position 1");
  CHECK_EQ_INT(samara_op_run(context, NULL, (const void *[]){x, at}, out), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_op_run(context, op, NULL, out), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_op_run(context, op, (const void *[]){x, at}, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_op_run(context, op, (const void *[]){x, NULL}, out), SAMARA_BAD_ARGUMENT);
  CHECK_STR(samara_op_context_error(context), "gather: input 1 is NULL");
  const void *skewed[] = {x, (char *)at + 4};
  CHECK_EQ_INT(samara_op_run(context, op, skewed, out), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_op_context_error(context), "input 1 is not aligned");
  CHECK_EQ_INT(samara_op_run(context, op, (const void *[]){x, at}, (void *[]){NULL}),
               SAMARA_BAD_ARGUMENT);
  CHECK_STR(samara_op_context_error(context), "gather: output 0 is NULL");
  CHECK_EQ_INT(samara_op_run_once(context, NULL, NULL, NULL), SAMARA_BAD_ARGUMENT);
  at[1] = 0;
  CHECK_EQ_INT(samara_op_run(context, op, (const void *[]){x, at}, out), SAMARA_OK);
  CHECK_STR(samara_op_context_error(context), "");
  size_t index = 0;
  while (strcmp(samara_op_name(index), "gather") != 0) index++;
  CHECK_EQ_INT(samara_op_context_runs(context, index), 2);
  CHECK_EQ_INT(samara_op_context_runs(context, index + 1), 0);
  CHECK_EQ_INT(samara_op_context_runs(context, samara_op_count()), 0);
  samara_op_context_destroy(context);
  samara_op_context_destroy(NULL);
  samara_op_destroy(op);
}

// ---- threads and lists ----

// Operators of every kind of run: tiles alone, a prologue, scratch, a copy, scratch of threads.
enum { RUN_OPS = 7, RUN_MOST = 4 };

struct run_case {
  samara_op *op;
  size_t input_count, floats_in[RUN_MOST], floats_out;
};

static size_t run_floats(const samara_op_tensor *operand) {
  size_t n = 1;
  for (int32_t d = 0; d < operand->rank; d++) n *= (size_t)operand->shape[d];
  return n;
}

static bool run_case_make(struct run_case *c, const char *name, size_t input_count,
                          const samara_op_tensor *inputs, const samara_op_tensor *output) {
  const samara_op_desc desc = {.struct_size = sizeof desc,
                               .name = name,
                               .inputs = inputs,
                               .input_count = input_count,
                               .outputs = output,
                               .output_count = 1};
  c->input_count = input_count;
  c->floats_out = run_floats(output);
  for (size_t i = 0; i < input_count; i++) c->floats_in[i] = run_floats(&inputs[i]);
  return CHECK((c->op = eager_op(&desc)) != NULL);
}

static bool run_make(struct run_case *cases) {
  const samara_op_tensor big = EAGER_F32(96, 160), small = EAGER_F32(7), empty = EAGER_F32(0);
  const samara_op_tensor turned = {EAGER_DIMS(96, 160), EAGER_STRIDES(1, 96),
                                   .dtype = SAMARA_FLOAT32};
  const samara_op_tensor square = EAGER_F32(96, 96), product = EAGER_F32(6, 40, 40);
  const samara_op_tensor two[] = {big, turned}, tiny[] = {small, small};
  const samara_op_tensor linear[] = {big, EAGER_F32(160, 96)};
  const samara_op_tensor batched[] = {EAGER_F32(6, 40, 24), EAGER_F32(6, 24, 40)};
  return run_case_make(&cases[0], "tanh", 1, &big, &big) &&
         run_case_make(&cases[1], "mul", 2, tiny, &small) &&
         run_case_make(&cases[2], "add", 2, two, &big) &&
         run_case_make(&cases[3], "exp", 1, &empty, &empty) &&
         run_case_make(&cases[4], "matmul", 2, linear, &square) &&
         run_case_make(&cases[5], "matmul", 2, batched, &product) &&
         run_case_make(&cases[6], "softmax", 1, &big, &big);
}

enum { RUN_REPEAT = 3, RUN_LIST = RUN_OPS * RUN_REPEAT };

// The list of all operators, RUN_REPEAT times on different data.
struct run_list {
  struct run_case cases[RUN_OPS];
  const samara_op *ops[RUN_LIST];
  const void *inputs[RUN_LIST * RUN_MOST];
  void *outputs[RUN_LIST];
  size_t input_count;
};

static bool run_list_make(struct run_list *list) {
  *list = (struct run_list){.input_count = 0};
  if (!run_make(list->cases)) return false;
  for (size_t i = 0; i < RUN_LIST; i++) {
    const struct run_case *c = &list->cases[i % RUN_OPS];
    list->ops[i] = c->op;
    list->outputs[i] = eager_floats(c->floats_out, 0);
    for (size_t k = 0; k < c->input_count; k++)
      list->inputs[list->input_count++] = eager_floats(c->floats_in[k], 100 * i + k);
  }
  return true;
}

static void run_list_release(struct run_list *list) {
  for (size_t i = 0; i < RUN_OPS; i++) samara_op_destroy(list->cases[i].op);
  for (size_t i = 0; i < RUN_LIST; i++) free(list->outputs[i]);
  for (size_t i = 0; i < list->input_count; i++) free((void *)(uintptr_t)list->inputs[i]);
}

static void run_list_clear(struct run_list *list) {
  for (size_t i = 0; i < RUN_LIST; i++)
    memset(list->outputs[i], 0xa5, list->cases[i % RUN_OPS].floats_out * sizeof(float));
}

// Run one by one, in `context`.
static void run_list_singly(struct run_list *list, samara_op_context *context) {
  const void *const *inputs = list->inputs;
  for (size_t i = 0; i < RUN_LIST; i++) {
    CHECK_EQ_INT(samara_op_run(context, list->ops[i], inputs, &list->outputs[i]), SAMARA_OK);
    inputs += list->cases[i % RUN_OPS].input_count;
  }
}

SMR_TEST(threads_and_lists_change_no_bit) {
  struct run_list list, alone;
  samara_pool *pool;
  REQUIRE(run_list_make(&alone) && run_list_make(&list));
  samara_op_context *context = eager_context(1, &pool);
  run_list_singly(&alone, context);
  samara_op_context_destroy(context);
  for (size_t threads = 1; threads <= 3; threads++) {
    context = eager_context(threads, &pool);
    for (int together = 0; together < 2; together++) {
      run_list_clear(&list);
      if (together)
        CHECK_EQ_INT(samara_op_run_all(context, RUN_LIST, list.ops, list.inputs, list.outputs),
                     SAMARA_OK);
      else
        run_list_singly(&list, context);
      for (size_t i = 0; i < RUN_LIST; i++)
        CHECK_MEM(list.outputs[i], alone.outputs[i],
                  list.cases[i % RUN_OPS].floats_out * sizeof(float));
    }
    CHECK_EQ_INT(samara_op_run_all(context, 0, NULL, NULL, NULL), SAMARA_OK);
    samara_op_context_destroy(context);
    samara_pool_destroy(pool);
  }
  run_list_release(&list);
  run_list_release(&alone);
}

SMR_TEST(list_names_the_operator_that_failed) {
  enum { COUNT = 6, ROWS = 4000 };
  const samara_op_tensor ins[] = {EAGER_F32(4, 2), {EAGER_DIMS(ROWS), .dtype = SAMARA_INT64}};
  const samara_op_tensor outs[] = {EAGER_F32(ROWS, 2)};
  const samara_op_desc desc = EAGER_PLAIN("gather", ins, outs);
  samara_op *op = eager_op(&desc);
  REQUIRE(op != NULL);
  static int64_t at[COUNT][ROWS];
  static float y[COUNT][ROWS * 2];
  const float x[8] = {0};
  const samara_op *ops[COUNT];
  const void *inputs[2 * COUNT];
  void *outputs[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    ops[i] = op;
    inputs[2 * i] = x;
    inputs[2 * i + 1] = at[i];
    outputs[i] = y[i];
  }
  at[2][3999] = at[4][0] = at[5][17] = 99;  // the first of them is reported
  for (size_t threads = 1; threads <= 3; threads++) {
    samara_pool *pool;
    samara_op_context *context = eager_context(threads, &pool);
    for (int run = 0; run < 5; run++) {
      CHECK_EQ_INT(samara_op_run_all(context, COUNT, ops, inputs, outputs), SAMARA_BAD_DATA);
      CHECK_CONTAINS(samara_op_context_error(context),
                     "operator 2: gather: index 99 at position 3999");
    }
    outputs[3] = NULL;
    CHECK_EQ_INT(samara_op_run_all(context, COUNT, ops, inputs, outputs), SAMARA_BAD_ARGUMENT);
    CHECK_STR(samara_op_context_error(context), "operator 3: gather: output 0 is NULL");
    outputs[3] = y[3];
    ops[1] = NULL;
    CHECK_EQ_INT(samara_op_run_all(context, COUNT, ops, inputs, outputs), SAMARA_BAD_ARGUMENT);
    CHECK_STR(samara_op_context_error(context), "operator 1 is NULL");
    CHECK_EQ_INT(samara_op_run_all(context, 1, NULL, inputs, outputs), SAMARA_BAD_ARGUMENT);
    ops[1] = op;
    samara_op_context_destroy(context);
    samara_pool_destroy(pool);
  }
  samara_op_destroy(op);
}

// ---- one operator in many threads ----

struct run_sharing {
  struct run_list *list;
  samara_pool *pool;
  float *outputs[RUN_LIST];
};

static void run_share(void *argument) {
  struct run_sharing *sharing = argument;
  const samara_op_context_options options = {.struct_size = sizeof options, .pool = sharing->pool};
  samara_op_context *context = NULL;
  if (samara_op_context_create(&options, &context, NULL) != SAMARA_OK) return;
  void *outputs[RUN_LIST];
  for (size_t i = 0; i < RUN_LIST; i++) outputs[i] = sharing->outputs[i];
  samara_op_run_all(context, RUN_LIST, sharing->list->ops, sharing->list->inputs, outputs);
  const void *const *inputs = sharing->list->inputs;
  for (size_t i = 0; i < RUN_LIST; i++) {
    samara_op_run(context, sharing->list->ops[i], inputs, &outputs[i]);
    inputs += sharing->list->cases[i % RUN_OPS].input_count;
  }
  samara_op_context_destroy(context);
}

SMR_TEST(prepared_operators_are_shared_by_threads) {
  enum { THREADS = 2 };
  struct run_list list;
  samara_pool *pool;
  REQUIRE(run_list_make(&list));
  samara_op_context *context = eager_context(2, &pool);
  run_list_singly(&list, context);
  struct run_sharing sharing[THREADS];
  struct smr_os_thread threads[THREADS];
  for (size_t t = 0; t < THREADS; t++) {
    sharing[t] = (struct run_sharing){.list = &list, .pool = pool};
    for (size_t i = 0; i < RUN_LIST; i++)
      sharing[t].outputs[i] = eager_floats(list.cases[i % RUN_OPS].floats_out, 1);
    CHECK(smr_os_thread_start(&threads[t], run_share, &sharing[t]));
  }
  for (size_t t = 0; t < THREADS; t++) {
    smr_os_thread_join(&threads[t]);
    for (size_t i = 0; i < RUN_LIST; i++) {
      CHECK_MEM(sharing[t].outputs[i], list.outputs[i],
                list.cases[i % RUN_OPS].floats_out * sizeof(float));
      free(sharing[t].outputs[i]);
    }
  }
  samara_op_context_destroy(context);
  samara_pool_destroy(pool);
  run_list_release(&list);
}

// ---- memory ----

SMR_TEST(allocates_only_for_the_largest_run_so_far) {
  struct run_list list;
  struct eager_memory memory = {.fail_at = 0};
  const samara_allocator allocator = eager_allocator(&memory);
  const samara_op_context_options options = {.struct_size = sizeof options,
                                             .allocator = &allocator};
  samara_op_context *context = NULL;
  REQUIRE(run_list_make(&list));
  REQUIRE(samara_op_context_create(&options, &context, NULL) == SAMARA_OK);
  CHECK_EQ_INT(memory.calls, 1);
  CHECK_EQ_INT(samara_op_context_scratch_bytes(context), 0);
  run_list_singly(&list, context);
  CHECK_EQ_INT(samara_op_run_all(context, RUN_LIST, list.ops, list.inputs, list.outputs),
               SAMARA_OK);
  const size_t warm = memory.calls, scratch = samara_op_context_scratch_bytes(context);
  CHECK(scratch >= 96 * 160 * sizeof(float));  // the copy of a transposed input
  run_list_singly(&list, context);
  CHECK_EQ_INT(samara_op_run_all(context, RUN_LIST, list.ops, list.inputs, list.outputs),
               SAMARA_OK);
  CHECK_EQ_INT(memory.calls, warm);
  CHECK_EQ_INT(samara_op_context_scratch_bytes(context), scratch);
  samara_op_context_destroy(context);
  CHECK_EQ_INT(memory.live, 0);
  run_list_release(&list);
}

// Create a context, run alone and together; false where memory was refused, the context then
// usable.
static bool run_with_failures(struct run_list *list, struct eager_memory *memory) {
  const samara_allocator allocator = eager_allocator(memory);
  const samara_op_context_options options = {.struct_size = sizeof options,
                                             .allocator = &allocator};
  samara_op_context *context = (samara_op_context *)(uintptr_t)1;
  samara_error error = {.text = ""};
  if (samara_op_context_create(&options, &context, &error) != SAMARA_OK) {
    CHECK(context == NULL);
    CHECK_EQ_INT(error.status, SAMARA_OUT_OF_MEMORY);
    return false;
  }
  bool all = true;
  for (int run = 0; run < 2; run++) {
    samara_status status =
        samara_op_run(context, list->ops[4], &list->inputs[6], list->outputs + 4);
    if (status == SAMARA_OK)
      status = samara_op_run_all(context, RUN_LIST, list->ops, list->inputs, list->outputs);
    if (status == SAMARA_OK) continue;
    CHECK_EQ_INT(status, SAMARA_OUT_OF_MEMORY);
    CHECK_CONTAINS(samara_op_context_error(context), "bytes");
    all = false;
  }
  samara_op_context_destroy(context);
  return all;
}

SMR_TEST(every_allocation_may_fail) {
  struct run_list list;
  REQUIRE(run_list_make(&list));
  size_t k = 1;
  for (bool done = false; !done && k < 20; k++) {
    struct eager_memory memory = {.fail_at = k};
    done = run_with_failures(&list, &memory);
    CHECK_EQ_INT(memory.live, 0);
    CHECK(done == (memory.calls < k));
  }
  CHECK(k > 4 && k < 20);
  run_list_release(&list);
}

SMR_TEST_MAIN(RUN(matmul_of_dense_and_transposed_operands);
              RUN(convolution_of_a_channels_first_picture);
              RUN(broadcasting_by_shape_and_by_stride); RUN(in_place_empty_absent_and_quantized);
              RUN(quantized_per_axis); RUN(failures_say_why); RUN(threads_and_lists_change_no_bit);
              RUN(list_names_the_operator_that_failed);
              RUN(prepared_operators_are_shared_by_threads);
              RUN(allocates_only_for_the_largest_run_so_far); RUN(every_allocation_may_fail))
