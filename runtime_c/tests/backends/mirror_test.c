// SPDX-License-Identifier: Apache-2.0
// The mirror by itself: regions by hand, their results, requested faults, no leaks.
#include "base/fp.h"

#include "backends/mirror.h"

#include <time.h>

#include "session/eager/eager_data.h"

// ---- a session in miniature ----

enum { RIG_TENSORS = 8, RIG_NODES = 4, RIG_PANEL = 16 };

struct rig {
  const samara_backend_table *table;
  void *device, *program, *memory;
  samara_region region;
  samara_region_tensor tensors[RIG_TENSORS];
  samara_region_node nodes[RIG_NODES];
  samara_error error;
};

static size_t rig_elements(const int64_t *shape, int32_t rank) {
  size_t count = 1;
  for (int32_t i = 0; i < rank; i++) count *= (size_t)shape[i];
  return count;
}

static void rig_quit(void *user, samara_log_level level, const char *text) {
  (void)user, (void)level, (void)text;
}

static void rig_start(struct rig *rig) {
  *rig = (struct rig){.table = samara_backend_entry()};
  rig->region = (samara_region){.struct_size = sizeof rig->region,
                                .function = "main",
                                .nodes = rig->nodes,
                                .tensors = rig->tensors};
  const samara_probe probe = {.struct_size = sizeof probe, .log = rig_quit};
  samara_device_info info = {.struct_size = sizeof info};
  CHECK_EQ_INT(rig->table->probe(&probe, &rig->device, &info, &rig->error), SAMARA_OK);
}

/// Add a tensor of dense elements of `element` bytes; `data` makes a constant of it.
static int32_t rig_tensor(struct rig *rig, samara_dtype dtype, size_t element, int32_t rank,
                          const int64_t *shape, const void *data) {
  samara_region_tensor *t = &rig->tensors[rig->region.tensor_count];
  *t = (samara_region_tensor){.name = "t", .dtype = dtype, .rank = rank, .data = data};
  memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
  t->size_bytes = rig_elements(shape, rank) * element;
  return (int32_t)rig->region.tensor_count++;
}
#define RIG_RANK(...) ((int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define RIG_F32(rig, data, ...)                                                               \
  rig_tensor((rig), SAMARA_FLOAT32, 4, RIG_RANK(__VA_ARGS__), (const int64_t[]){__VA_ARGS__}, \
             (data))
#define RIG_BYTES(rig, dtype, data, ...) \
  rig_tensor((rig), (dtype), 1, RIG_RANK(__VA_ARGS__), (const int64_t[]){__VA_ARGS__}, (data))

/// Mark the constant as packed in panels: `bytes` in all, `stride` apart.
static void rig_packed(struct rig *rig, int32_t tensor, samara_layout layout, size_t bytes,
                       size_t stride, uint32_t groups) {
  rig->tensors[tensor].layout = layout;
  rig->tensors[tensor].size_bytes = bytes;
  rig->tensors[tensor].panel_stride_bytes = stride;
  rig->tensors[tensor].groups = groups;
}

static void rig_node(struct rig *rig, const char *op, const samara_region_attribute *attributes,
                     uint32_t attribute_count, const int32_t *inputs, uint32_t input_count,
                     const int32_t *output) {
  rig->nodes[rig->region.node_count++] = (samara_region_node){.name = op,
                                                              .op = op,
                                                              .attributes = attributes,
                                                              .attribute_count = attribute_count,
                                                              .inputs = inputs,
                                                              .input_count = input_count,
                                                              .outputs = output,
                                                              .output_count = 1};
}
#define RIG_NONE NULL, 0
#define RIG_ATTRIBUTES(list) (list), (uint32_t)EAGER_COUNT(list)

/// Compile, load constants and place all other tensors one after the other, with gaps.
static samara_status rig_build(struct rig *rig) {
  uint64_t offset = 0;
  samara_status status = SAMARA_OK;
  for (uint32_t i = 0; i < rig->region.node_count; i++) {
    char reason[256] = "";
    if (!rig->table->supports(rig->device, &rig->region, i, reason, sizeof reason)) {
      fprintf(stderr, "  %s: %s\n", rig->nodes[i].op, reason);
      return SAMARA_UNSUPPORTED;
    }
  }
  status = rig->table->compile(rig->device, &rig->region, &rig->program, &rig->error);
  for (uint32_t i = 0; i < rig->region.tensor_count && status == SAMARA_OK; i++) {
    samara_region_tensor *t = &rig->tensors[i];
    if (t->data != NULL) {
      status = rig->table->load(rig->device, t, &t->memory, &rig->error);
    } else {
      t->offset_bytes = offset;
      offset += (t->size_bytes + 127) / 64 * 64;
    }
  }
  if (status == SAMARA_OK)
    status = rig->table->allocate(rig->device, (size_t)offset + 64, &rig->memory, &rig->error);
  for (uint32_t i = 0; i < rig->region.tensor_count; i++)
    if (rig->tensors[i].data == NULL) rig->tensors[i].memory = rig->memory;
  rig->region.generation = 1;
  return status;
}

static samara_status rig_copy(struct rig *rig, int32_t tensor, void *host, bool to_device,
                              uint64_t *ticket) {
  const samara_region_tensor *t = &rig->tensors[tensor];
  const samara_copy copy = {.memory = t->memory,
                            .offset_bytes = t->offset_bytes,
                            .host = host,
                            .size_bytes = t->size_bytes,
                            .to_device = to_device};
  return rig->table->copy(rig->device, &copy, ticket, &rig->error);
}

static samara_status rig_wait(struct rig *rig, uint64_t ticket) {
  bool done = ticket == 0;
  samara_status status = SAMARA_OK;
  while (!done && status == SAMARA_OK)
    status = rig->table->wait(rig->device, ticket, 1000000, &done, &rig->error);
  return status;
}

/// Copy `x` into tensor 0, compute, copy tensor `out` to `y`.
static samara_status rig_run(struct rig *rig, void *x, int32_t out, void *y) {
  uint64_t ticket = 0;
  samara_status status = rig_copy(rig, 0, x, true, &ticket);
  if (status == SAMARA_OK && !rig->region.separate)
    status = rig->table->submit(rig->device, rig->program, &rig->region, 0, rig->region.node_count,
                                &ticket, &rig->error);
  for (uint32_t i = 0; rig->region.separate && i < rig->region.node_count; i++)
    if (status == SAMARA_OK)
      status =
          rig->table->submit(rig->device, rig->program, &rig->region, i, 1, &ticket, &rig->error);
  if (status == SAMARA_OK) status = rig_copy(rig, out, y, false, &ticket);
  return status == SAMARA_OK ? rig_wait(rig, ticket) : status;
}

/// Release everything, the device last.
static void rig_end(struct rig *rig) {
  if (rig->program != NULL) rig->table->release(rig->device, SAMARA_HANDLE_PROGRAM, rig->program);
  for (uint32_t i = 0; i < rig->region.tensor_count; i++)
    if (rig->tensors[i].data != NULL && rig->tensors[i].memory != NULL)
      rig->table->release(rig->device, SAMARA_HANDLE_CONSTANT, rig->tensors[i].memory);
  if (rig->memory != NULL) rig->table->release(rig->device, SAMARA_HANDLE_MEMORY, rig->memory);
  if (rig->device != NULL) rig->table->release(rig->device, SAMARA_HANDLE_DEVICE, rig->device);
  CHECK_EQ_INT(mirror_live(), 0);
}

// ---- panels, by docs/reference/format.md ----

// Pack [groups][N][K] of whole bytes into zeroed panels.
static void pack_panels(const void *from, size_t element, size_t together, size_t groups, size_t n,
                        size_t k, size_t stride, void *to) {
  const size_t panels = (n + RIG_PANEL - 1) / RIG_PANEL;
  for (size_t g = 0; g < groups; g++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < k; j++)
        memcpy((char *)to + (g * panels + i / RIG_PANEL) * stride +
                   ((j / together * RIG_PANEL + i % RIG_PANEL) * together + j % together) * element,
               (const char *)from + ((g * n + i) * k + j) * element, element);
}

// ---- pointwise ----

static float out[2048], expected[2048];

static float *chain_x, *chain_w;  // made once

// add, then softmax and concat: c = concat(softmax(x + w), x).
static void rig_chain(struct rig *rig) {
  if (chain_x == NULL) chain_x = eager_floats(15, 1), chain_w = eager_floats(5, 9);
  static const samara_region_attribute axis[] = {{.name = "axis", .i = 1}};
  rig_start(rig);
  RIG_F32(rig, NULL, 3, 5);   // 0: x
  RIG_F32(rig, chain_w, 5);   // 1: w, broadcast
  RIG_F32(rig, NULL, 3, 5);   // 2: x + w
  RIG_F32(rig, NULL, 3, 5);   // 3: softmax
  RIG_F32(rig, NULL, 3, 10);  // 4
  static const int32_t sum_in[] = {0, 1}, sum[] = {2}, soft[] = {3}, both[] = {3, 0}, all[] = {4};
  rig_node(rig, "add", RIG_NONE, sum_in, 2, sum);
  rig_node(rig, "softmax", RIG_ATTRIBUTES(axis), sum, 1, soft);
  rig_node(rig, "concat", RIG_ATTRIBUTES(axis), both, 2, all);
}

static void expect_chain(float *y) {
  float sum[15], soft[15];
  for (int i = 0; i < 15; i++) sum[i] = chain_x[i] + chain_w[i % 5];
  const samara_attribute axis[] = {EAGER_INTS("axis", 1)};
  const samara_op_tensor one[] = {EAGER_F32(3, 5)};
  const samara_op_desc desc = EAGER_DESC("softmax", axis, one, one);
  CHECK_EQ_INT(eager_run(&desc, (const void *[]){sum}, (void *[]){soft}), SAMARA_OK);
  for (int r = 0; r < 3; r++) {
    memcpy(y + r * 10, soft + r * 5, 5 * sizeof *y);
    memcpy(y + r * 10 + 5, chain_x + r * 5, 5 * sizeof *y);
  }
}

SMR_TEST(chain_of_three_nodes) {
  struct rig rig;
  mirror_reset();
  rig_chain(&rig);
  REQUIRE(rig_build(&rig) == SAMARA_OK);
  CHECK((uintptr_t)rig.memory < 65536 && (uintptr_t)rig.tensors[1].memory < 65536);
  expect_chain(expected);
  for (int round = 0; round < 4; round++) {
    rig.region.separate = round >= 2;  // node by node
    mirror_tickets(round % 2 == 1);
    memset(out, 0, sizeof out);
    CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_OK);
    CHECK_MEM(out, expected, 30 * sizeof *out);
  }
  CHECK_EQ_INT(mirror_calls("submit"), 2 + 2 * 3);
  CHECK_EQ_INT(mirror_calls("node"), 4 * 3);
  CHECK_EQ_INT(mirror_calls("prepare"), 3);  // one generation
  CHECK(mirror_calls("wait") > 0);
  CHECK_EQ_INT(mirror_calls("no such function"), -1);
  rig_end(&rig);
}

SMR_TEST(new_shapes_and_places) {
  struct rig rig;
  mirror_reset();
  rig_chain(&rig);
  for (int i = 0; i < 5; i++)
    if (i != 1) rig.tensors[i].symbolic = 1;
  REQUIRE(rig_build(&rig) == SAMARA_OK);
  expect_chain(expected);
  CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_OK);
  for (int i = 0; i < 5; i++) {
    if (i == 1) continue;
    rig.tensors[i].shape[0] = 2;
    rig.tensors[i].size_bytes = rig.tensors[i].size_bytes / 3 * 2;
  }
  // The sum in place. The mirror must handle that although add is not marked inplace.
  rig.tensors[2].offset_bytes = rig.tensors[3].offset_bytes = rig.tensors[0].offset_bytes + 64;
  rig.region.generation++;
  memset(out, 0, sizeof out);
  CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_OK);
  CHECK_MEM(out, expected, 20 * sizeof *out);
  CHECK_EQ_INT(mirror_calls("prepare"), 6);
  rig.tensors[2].offset_bytes = 3;
  rig.region.generation++;
  CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(rig.error.text, "offset 3");
  rig_end(&rig);
}

// ---- packed weights ----

static const int64_t conv_ones[] = {1, 1, 1, 1}, conv_zeros[] = {0, 0};

// A convolution of 5 x 6 pixels by 3 x 3: C channels to O in `groups`, weights in `layout`.
static void check_conv(size_t c, size_t o, size_t groups, samara_layout layout) {
  const size_t k = 9 * c / groups, n = o / groups, panels = (n + 15) / 16;
  const bool depthwise = layout == SAMARA_LAYOUT_DWPANEL;
  const size_t stride = k * 64,
               bytes = depthwise ? (o + 15) / 16 * stride : groups * panels * stride;
  const int64_t channels = (int64_t)c, outputs = (int64_t)o, depth = (int64_t)(c / groups);
  float *x = eager_floats(30 * c, 2), *w = eager_floats(o * k, 7), *bias = eager_floats(o, 3);
  float *packed = calloc(bytes, 1);
  REQUIRE(packed != NULL);
  pack_panels(w, 4, 1, depthwise ? 1 : groups, depthwise ? o : n, k, stride, packed);
  const samara_region_attribute attributes[] = {
      {.name = "strides", .ints = conv_ones, .count = 2},
      {.name = "dilations", .ints = conv_ones, .count = 2},
      {.name = "pads", .ints = conv_ones, .count = 4},
      {.name = "groups", .i = (int64_t)groups},
      {.name = "lo", .f = -0.5f},
      {.name = "hi", .f = INFINITY},
      {.name = "post", .i = 0},
      {.name = "post_alpha", .f = 0},
      {.name = "post_beta", .f = 0}};
  struct rig rig;
  rig_start(&rig);
  RIG_F32(&rig, NULL, 1, 5, 6, channels);
  RIG_F32(&rig, packed, outputs, 3, 3, depth);
  RIG_F32(&rig, bias, outputs);
  RIG_F32(&rig, NULL, 1, 5, 6, outputs);
  rig_packed(&rig, 1, layout, bytes, stride, (uint32_t)groups);
  static const int32_t in[] = {0, 1, 2, -1}, to[] = {3};
  rig_node(&rig, "conv", RIG_ATTRIBUTES(attributes), in, 4, to);
  REQUIRE(rig_build(&rig) == SAMARA_OK);
  CHECK_EQ_INT(rig_run(&rig, x, 3, out), SAMARA_OK);
  const float lo = -0.5f;
  const samara_attribute plain[] = {EAGER_INTS("strides", 1, 1),
                                    EAGER_INTS("dilations", 1, 1),
                                    EAGER_INTS("pads", 1, 1, 1, 1),
                                    EAGER_INTS("groups", (int64_t)groups),
                                    {.name = "lo", .floats = &lo, .count = 1}};
  const samara_op_tensor ins[] = {EAGER_F32(1, 5, 6, channels), EAGER_F32(outputs, 3, 3, depth),
                                  EAGER_F32(outputs)};
  const samara_op_tensor outs[] = {EAGER_F32(1, 5, 6, outputs)};
  const samara_op_desc desc = EAGER_DESC("conv", plain, ins, outs);
  CHECK_EQ_INT(eager_run(&desc, (const void *[]){x, w, bias}, (void *[]){expected}), SAMARA_OK);
  CHECK_MEM(out, expected, 30 * o * sizeof *out);
  rig_end(&rig);
  free(x);
  free(w);
  free(bias);
  free(packed);
}

SMR_TEST(conv_with_weights_in_panels) {
  mirror_reset();
  check_conv(3, 18, 1, SAMARA_LAYOUT_PANEL);
  check_conv(6, 8, 2, SAMARA_LAYOUT_PANEL);
  check_conv(20, 20, 20, SAMARA_LAYOUT_DWPANEL);
}

// One pixel row by 1 x 1, so that the sums are easy: 4 pixels of 6 channels to 18.
SMR_TEST(qconv_with_weights_in_panels) {
  enum { P = 4, C = 6, O = 18, STRIDE = 128 };
  static const float x_scale = 0.05f, y_scale = 0.1f;
  static const int32_t x_zero = 3, y_zero = -7;
  static int8_t w[O][C], packed[2 * STRIDE], x[P * C], y[P * O], wanted[P * O];
  static float w_scales[O];
  static int32_t bias[O];
  for (int i = 0; i < P * C; i++) x[i] = (int8_t)(i * 37 % 256 - 128);
  for (int o = 0; o < O; o++) {
    w_scales[o] = 0.004f * (float)(1 + o % 5);
    bias[o] = 40 * o - 300;
    for (int c = 0; c < C; c++) w[o][c] = (int8_t)((o * 31 + c * 17) % 255 - 127);
  }
  memset(packed, 0, sizeof packed);
  pack_panels(w, 1, 4, 1, O, C, STRIDE, packed);
  static const samara_region_attribute attributes[] = {
      {.name = "strides", .ints = conv_ones, .count = 1},
      {.name = "dilations", .ints = conv_ones, .count = 1},
      {.name = "pads", .ints = conv_zeros, .count = 2},
      {.name = "groups", .i = 1},
      {.name = "scale", .f = 0.1f},
      {.name = "zero_point", .i = -7},
      {.name = "lo", .i = -128},
      {.name = "hi", .i = 127},
      {.name = "to", .i = SAMARA_QINT8}};
  for (int i = 0; i < P * O; i++) {
    int32_t acc = bias[i % O];
    for (int c = 0; c < C; c++) acc += (x[i / O * C + c] - x_zero) * w[i % O][c];
    const float p = (float)acc * ((x_scale * w_scales[i % O]) / y_scale);
    const float within = p < -121 ? -121 : p > 134 ? 134 : p;
    wanted[i] = (int8_t)((int)lrintf(within) + y_zero);
  }
  struct rig rig;
  mirror_reset();
  rig_start(&rig);
  RIG_BYTES(&rig, SAMARA_QINT8, NULL, 1, P, C);
  RIG_BYTES(&rig, SAMARA_QINT8, packed, O, 1, C);
  rig_tensor(&rig, SAMARA_INT32, 4, 1, (const int64_t[]){O}, bias);
  RIG_BYTES(&rig, SAMARA_QINT8, NULL, 1, P, O);
  rig_packed(&rig, 1, SAMARA_LAYOUT_PANEL, sizeof packed, STRIDE, 1);
  for (int i = 0; i < 4; i++) rig.tensors[i].quant_count = i != 2;
  rig.tensors[0].scales = &x_scale;
  rig.tensors[0].zero_points = &x_zero;
  rig.tensors[1].scales = w_scales;
  rig.tensors[1].quant_count = O;
  rig.tensors[3].scales = &y_scale;
  rig.tensors[3].zero_points = &y_zero;
  static const int32_t in[] = {0, 1, 2}, to[] = {3};
  rig_node(&rig, "qconv", RIG_ATTRIBUTES(attributes), in, 3, to);
  REQUIRE(rig_build(&rig) == SAMARA_OK);
  CHECK_EQ_INT(rig_run(&rig, x, 3, y), SAMARA_OK);
  CHECK_MEM(y, wanted, sizeof y);
  rig_end(&rig);
}

// x [4, 7] by w of 21 columns, which lies as [K, N] or as [N, K]. Panels are the same.
static void check_matmul(bool transposed) {
  enum { M = 4, K = 7, N = 21, STRIDE = K * 64 };
  static float packed[2 * STRIDE / 4];
  float *x = eager_floats(M * K, 4), *w = eager_floats(N * K, 6);  // w is [N, K]
  memset(packed, 0, sizeof packed);
  pack_panels(w, 4, 1, 1, N, K, STRIDE, packed);
  for (int i = 0; i < M * N; i++) {
    expected[i] = 0;
    for (int k = 0; k < K; k++) expected[i] += x[i / N * K + k] * w[i % N * K + k];
  }
  const samara_region_attribute attributes[] = {
      {.name = "transpose_x", .i = 0}, {.name = "transpose_w", .i = transposed},
      {.name = "lo", .f = -INFINITY},  {.name = "hi", .f = INFINITY},
      {.name = "post", .i = 0},        {.name = "post_alpha", .f = 0},
      {.name = "post_beta", .f = 0}};
  struct rig rig;
  rig_start(&rig);
  RIG_F32(&rig, NULL, M, K);
  if (transposed)
    RIG_F32(&rig, packed, N, K);
  else
    RIG_F32(&rig, packed, K, N);
  RIG_F32(&rig, NULL, M, N);
  rig_packed(&rig, 1, SAMARA_LAYOUT_PANEL, sizeof packed, STRIDE, 1);
  static const int32_t in[] = {0, 1}, to[] = {2};
  rig_node(&rig, "matmul", RIG_ATTRIBUTES(attributes), in, 2, to);
  REQUIRE(rig_build(&rig) == SAMARA_OK);
  CHECK_EQ_INT(rig_run(&rig, x, 2, out), SAMARA_OK);
  CHECK_MEM(out, expected, M * N * sizeof *out);
  rig_end(&rig);
  free(x);
  free(w);
}

SMR_TEST(matmul_with_weights_in_panels) {
  mirror_reset();
  check_matmul(false);
  check_matmul(true);
}

// y = x w of int4 weights [N, K] in blocks of 16, all scales 1.
SMR_TEST(matmul_blocks_with_weights_in_panels) {
  enum { M = 2, K = 48, N = 18, BLOCKS = 3, STRIDE = 2 * 256 };
  static unsigned char packed[2 * STRIDE];
  static float scales[N * BLOCKS];
  float *x = eager_floats(M * K, 4);
  memset(packed, 0, sizeof packed);
  memset(expected, 0, sizeof expected);
  for (size_t i = 0; i < EAGER_COUNT(scales); i++) scales[i] = 1;
  for (unsigned n = 0; n < N; n++)
    for (unsigned k = 0; k < K; k++) {
      const int value = (int)((n * 5 + k * 3) % 16) - 8;
      const unsigned row = k % 32, j = row % 16 / 4, i = row % 4;
      unsigned char *byte = &packed[n / 16 * STRIDE + ((k / 32 * 4 + j) * 16 + n % 16) * 4 + i];
      *byte = (unsigned char)(*byte | ((unsigned)value & 15u) << (row / 16 * 4));
      for (unsigned m = 0; m < M; m++) expected[m * N + n] += x[m * K + k] * (float)value;
    }
  static const samara_region_attribute attributes[] = {
      {.name = "block", .i = 16}, {.name = "lo", .f = -INFINITY}, {.name = "hi", .f = INFINITY},
      {.name = "post", .i = 0},   {.name = "post_alpha", .f = 0}, {.name = "post_beta", .f = 0}};
  struct rig rig;
  mirror_reset();
  rig_start(&rig);
  RIG_F32(&rig, NULL, M, K);
  RIG_BYTES(&rig, SAMARA_INT4, packed, N, K);
  RIG_F32(&rig, scales, N, BLOCKS);
  RIG_F32(&rig, NULL, M, N);
  rig_packed(&rig, 1, SAMARA_LAYOUT_PANEL, sizeof packed, STRIDE, 1);
  static const int32_t in[] = {0, 1, 2}, to[] = {3};
  rig_node(&rig, "matmul_blocks", RIG_ATTRIBUTES(attributes), in, 3, to);
  REQUIRE(rig_build(&rig) == SAMARA_OK);
  CHECK_EQ_INT(rig_run(&rig, x, 3, out), SAMARA_OK);
  for (int i = 0; i < M * N; i++) CHECK_NEAR(out[i], expected[i], 3e-5);
  rig_end(&rig);
  free(x);
}

// ---- refusals ----

static void check_refused(const char *op, samara_layout layout, const char *why) {
  struct rig rig;
  float w[64] = {0};
  char reason[256] = "";
  rig_start(&rig);
  RIG_F32(&rig, NULL, 2, 2);
  RIG_F32(&rig, w, 2, 2);
  RIG_F32(&rig, NULL, 2, 2);
  rig_packed(&rig, 1, layout, sizeof w, 128, 1);
  static const int32_t in[] = {0, 1}, to[] = {2};
  rig_node(&rig, op, RIG_NONE, in, 2, to);
  CHECK(!rig.table->supports(rig.device, &rig.region, 0, reason, sizeof reason));
  CHECK_CONTAINS(reason, why);
  CHECK(!rig.table->supports(rig.device, &rig.region, 0, reason, 4));
  CHECK_EQ_INT(strlen(reason), 3);
  rig_end(&rig);
}

SMR_TEST(refusals) {
  mirror_reset();
  check_refused("no_such_operator", SAMARA_LAYOUT_PLAIN, "not known");
  check_refused("call", SAMARA_LAYOUT_PLAIN, "only has a meaning in a model");
  check_refused("custom", SAMARA_LAYOUT_PLAIN, "only has a meaning in a model");
  check_refused("nonzero", SAMARA_LAYOUT_PLAIN, "depend on data");
  check_refused("add", SAMARA_LAYOUT_PANEL, "packed");
  check_refused("matmul", SAMARA_LAYOUT_DWPANEL, "packed");
  check_refused("softmax", SAMARA_LAYOUT_PLAIN, "softmax");  // the library's own text
}

// ---- faults ----

SMR_TEST(every_function_fails_when_told_to) {
  static const char *const functions[] = {"probe", "supports", "compile", "load", "allocate",
                                          "copy",  "submit",   "node",    "wait", "prepare"};
  for (size_t i = 0; i < EAGER_COUNT(functions); i++) {
    struct rig rig;
    mirror_reset();
    mirror_tickets(true);
    mirror_fail(functions[i], 1);
    if (i == 0) {
      const samara_probe probe = {.struct_size = sizeof probe, .log = rig_quit};
      samara_device_info info = {.struct_size = sizeof info};
      samara_error error;
      void *device = NULL;
      CHECK_EQ_INT(samara_backend_entry()->probe(&probe, &device, &info, &error), SAMARA_BACKEND);
      CHECK_CONTAINS(error.text, "call 1 of probe");
    }
    rig_chain(&rig);
    samara_status status = rig_build(&rig);
    if (status == SAMARA_OK) status = rig_run(&rig, chain_x, 4, out);
    if (i != 0) CHECK(status != SAMARA_OK);
    if (i > 1) CHECK_CONTAINS(rig.error.text, functions[i]);
    rig_end(&rig);
  }
}

SMR_TEST(failures_come_at_their_call) {
  struct rig rig;
  mirror_reset();
  rig_chain(&rig);
  REQUIRE(rig_build(&rig) == SAMARA_OK);
  mirror_fail("submit", 3);
  const samara_status one[] = {SAMARA_OK, SAMARA_OK, SAMARA_BACKEND, SAMARA_OK};
  for (size_t i = 0; i < EAGER_COUNT(one); i++)
    CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), one[i]);
  mirror_fail("submit", -1);
  for (int i = 0; i < 3; i++) CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_BACKEND);
  mirror_fail("submit", 0);
  CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_OK);
  mirror_fail("no such function", 1);
  CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_OK);
  rig_end(&rig);
}

SMR_TEST(lies_are_seen_once) {
  struct rig rig;
  mirror_reset();
  rig_chain(&rig);
  REQUIRE(rig_build(&rig) == SAMARA_OK);
  expect_chain(expected);
  mirror_lie(3);  // concat
  CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_OK);
  uint32_t wrong, right;
  memcpy(&wrong, out, sizeof wrong);
  memcpy(&right, expected, sizeof right);
  CHECK_EQ_INT(wrong ^ right, 0x40000000);
  CHECK_MEM(out + 1, expected + 1, 29 * sizeof *out);
  CHECK_EQ_INT(rig_run(&rig, chain_x, 4, out), SAMARA_OK);
  CHECK_MEM(out, expected, 30 * sizeof *out);
  rig_end(&rig);
}

SMR_TEST(slow_compile) {
  struct rig rig;
  struct timespec begin, end;
  mirror_reset();
  rig_chain(&rig);
  mirror_slow(20000000);
  timespec_get(&begin, TIME_UTC);
  CHECK_EQ_INT(rig_build(&rig), SAMARA_OK);
  timespec_get(&end, TIME_UTC);
  const int64_t ns =
      (int64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
  CHECK(ns >= 19000000);
  mirror_reset();
  rig_end(&rig);
}

SMR_TEST_MAIN(RUN(chain_of_three_nodes); RUN(new_shapes_and_places);
              RUN(conv_with_weights_in_panels); RUN(qconv_with_weights_in_panels);
              RUN(matmul_with_weights_in_panels); RUN(matmul_blocks_with_weights_in_panels);
              RUN(refusals); RUN(every_function_fails_when_told_to);
              RUN(failures_come_at_their_call); RUN(lies_are_seen_once); RUN(slow_compile))
