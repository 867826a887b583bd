// SPDX-License-Identifier: Apache-2.0
// Tests the NPU through its table, without samara: a hand-made region, its results, its refusals.
#define _POSIX_C_SOURCE 200809L  // setenv
#include <samara/samara_backend.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const samara_backend_table *samara_backend_entry(void);

static int failures = 0;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
      failures++;                                                              \
    }                                                                          \
  } while (0)

static void *host_allocate(void *user, size_t size_bytes) {
  ++*(int *)user;
  return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void host_release(void *user, void *pointer) {
  if (pointer != NULL) --*(int *)user;
  free(pointer);
}

static void host_log(void *user, samara_log_level level, const char *text) {
  (void)user, (void)level, (void)text;
}

// ---- a region: y = relu(qconv(x, w, bias)), z = max_pool(y), s = qadd(z, z), r = reshape(s) ----

enum { H = 6, W = 5, C = 5, O = 18, PH = 3, PW = 2, K = 9 * C, PANELS = 2, STRIDE = 12 * 64 };
enum { X, WEIGHT, BIAS, Y, Z, S, R, TENSORS };

static const float x_scale = 0.05f, y_scale = 0.1f;
static const int32_t x_zero = 3, y_zero = -20;
static float w_scales[O];
static int32_t w_zeros[O];
static int8_t weights[O][K];
static int32_t bias[O];
static int8_t panels[PANELS * STRIDE];
static int8_t x_data[H * W * C];

static const int64_t ones[] = {1, 1, 1, 1}, twos[] = {2, 2}, zeros[] = {0, 0, 0, 0};
static const int64_t flat_shape[] = {1, PH * PW * O};

#define I(NAME, VALUE) {.name = (NAME), .i = (VALUE)}
#define LIST(NAME, VALUES, COUNT) {.name = (NAME), .ints = (VALUES), .count = (COUNT)}
static const samara_region_attribute conv_attributes[] = {
    LIST("strides", ones, 2),     LIST("dilations", ones, 2), LIST("pads", ones, 4), I("groups", 1),
    {.name = "scale", .f = 0.1f}, I("zero_point", -20),       I("lo", -20),          I("hi", 127),
    I("to", SAMARA_QINT8)};
static const samara_region_attribute pool_attributes[] = {
    LIST("kernel", twos, 2), LIST("strides", twos, 2), LIST("dilations", ones, 2),
    LIST("pads", zeros, 4)};
static const samara_region_attribute add_attributes[] = {I("a_multiplier", 1 << 19),
                                                         I("b_multiplier", -(1 << 18)),
                                                         I("shift", 19),
                                                         {.name = "scale", .f = 0.1f},
                                                         I("zero_point", 5),
                                                         I("lo", -128),
                                                         I("hi", 127)};
static const samara_region_attribute reshape_attributes[] = {LIST("shape", flat_shape, 2)};

#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof(list)[0]))
#define NODE(OP, ATTRIBUTES, INPUTS, INPUT_COUNT, OUTPUT) \
  {.name = (OP),                                          \
   .op = (OP),                                            \
   .attributes = (ATTRIBUTES),                            \
   .attribute_count = COUNT(ATTRIBUTES),                  \
   .inputs = (INPUTS),                                    \
   .input_count = (INPUT_COUNT),                          \
   .outputs = (OUTPUT),                                   \
   .output_count = 1}
static const int32_t conv_in[] = {X, WEIGHT, BIAS}, pool_in[] = {Y}, add_in[] = {Z, Z};
static const int32_t reshape_in[] = {S}, to_y[] = {Y}, to_z[] = {Z}, to_s[] = {S}, to_r[] = {R};
static const samara_region_node nodes[] = {
    NODE("qconv", conv_attributes, conv_in, 3, to_y),
    NODE("max_pool", pool_attributes, pool_in, 1, to_z),
    NODE("qadd", add_attributes, add_in, 2, to_s),
    NODE("reshape", reshape_attributes, reshape_in, 1, to_r)};

static samara_region_tensor picture(const char *name, int64_t h, int64_t w, int64_t c,
                                    const float *scale, const int32_t *zero) {
  return (samara_region_tensor){.name = name,
                                .dtype = SAMARA_QINT8,
                                .rank = 4,
                                .shape = {1, h, w, c},
                                .size_bytes = (size_t)(h * w * c),
                                .scales = scale,
                                .zero_points = zero,
                                .quant_count = 1};
}

static void make_tensors(samara_region_tensor *tensors, bool packed) {
  static const int32_t five = 5;
  tensors[X] = picture("x", H, W, C, &x_scale, &x_zero);
  tensors[Y] = picture("y", H, W, O, &y_scale, &y_zero);
  tensors[Z] = picture("z", PH, PW, O, &y_scale, &y_zero);
  tensors[S] = picture("s", PH, PW, O, &y_scale, &five);
  tensors[R] = tensors[S];
  tensors[R].rank = 2;
  memcpy(tensors[R].shape, flat_shape, sizeof flat_shape);
  tensors[WEIGHT] =
      (samara_region_tensor){.name = "w",
                             .dtype = SAMARA_QINT8,
                             .rank = 4,
                             .shape = {O, 3, 3, C},
                             .layout = packed ? SAMARA_LAYOUT_PANEL : SAMARA_LAYOUT_PLAIN,
                             .size_bytes = packed ? sizeof panels : sizeof weights,
                             .scales = w_scales,
                             .zero_points = w_zeros,
                             .quant_count = O,
                             .data = packed ? (const void *)panels : weights,
                             .panel_stride_bytes = packed ? STRIDE : 0,
                             .groups = 1};
  tensors[BIAS] = (samara_region_tensor){.name = "bias",
                                         .dtype = SAMARA_INT32,
                                         .rank = 1,
                                         .shape = {O},
                                         .size_bytes = sizeof bias,
                                         .data = bias};
}

static void fill(void) {
  for (int i = 0; i < H * W * C; i++) x_data[i] = (int8_t)((i * 37 + 11) % 256 - 128);
  for (int o = 0; o < O; o++) {
    w_scales[o] = 0.004f * (float)(1 + o % 5);
    w_zeros[o] = o % 3 - 1;
    bias[o] = o * 100 - 700;
    for (int k = 0; k < K; k++) {
      weights[o][k] = (int8_t)((o * 31 + k * 17) % 256 - 128);
      panels[o / 16 * STRIDE + k / 4 * 64 + o % 16 * 4 + k % 4] = weights[o][k];
    }
  }
}

// ---- expected results, by docs/reference/quantized-arithmetic.md ----

// p is less than 2^22, so rounding to the nearest integer, half to even, is done in integers.
static int32_t rounded(float p) {
  const int32_t down = (int32_t)p - ((float)(int32_t)p > p);
  const float rest = p - (float)down;
  return down + (rest > 0.5f || (rest == 0.5f && down % 2 != 0));
}

static int8_t requantized(float p, int32_t zero, int32_t lo, int32_t hi) {
  const float least = (float)(lo - zero), most = (float)(hi - zero);
  return (int8_t)(rounded(p < least ? least : p > most ? most : p) + zero);
}

static int8_t expected[PH * PW * O];

static void expect(void) {
  static int8_t y[H][W][O];
  int8_t *out = expected;
  for (int r = 0; r < H; r++)
    for (int s = 0; s < W; s++)
      for (int o = 0; o < O; o++) {
        int32_t acc = bias[o];
        for (int k = 0; k < K; k++) {
          const int i = r + k / C / 3 - 1, j = s + k / C % 3 - 1;
          if (i < 0 || i >= H || j < 0 || j >= W) continue;
          acc += (x_data[(i * W + j) * C + k % C] - x_zero) * (weights[o][k] - w_zeros[o]);
        }
        const float m = (x_scale * w_scales[o]) / y_scale, p = (float)acc * m;
        y[r][s][o] = requantized(p, y_zero, -20, 127);
      }
  for (int r = 0; r < PH; r++)
    for (int s = 0; s < PW; s++)
      for (int o = 0; o < O; o++) {
        int8_t most = INT8_MIN;
        for (int t = 0; t < 4; t++) {
          const int8_t value = y[2 * r + t / 2][2 * s + t % 2][o];
          if (value > most) most = value;
        }
        const int32_t acc = (1 << 19) * (most - y_zero) - (1 << 18) * (most - y_zero);
        *out++ = requantized((float)acc * (1.0f / (1 << 19)), 5, -128, 127);
      }
}

// ---- the order of calls that a session makes ----

static void run_region(const samara_backend_table *table, void *device, bool packed) {
  samara_region_tensor tensors[TENSORS];
  samara_region region = {.struct_size = sizeof region,
                          .function = "main",
                          .nodes = nodes,
                          .node_count = COUNT(nodes),
                          .tensors = tensors,
                          .tensor_count = TENSORS};
  samara_error error = {.text = ""};
  void *program = NULL, *memory = NULL;
  make_tensors(tensors, packed);
  char reason[128] = "";
  for (uint32_t i = 0; i < region.node_count; i++)
    CHECK(table->supports(device, &region, i, reason, sizeof reason));
  CHECK(table->compile(device, &region, &program, &error) == SAMARA_OK);
  for (int i = WEIGHT; i <= BIAS; i++)
    CHECK(table->load(device, &tensors[i], &tensors[i].memory, &error) == SAMARA_OK);
  CHECK(table->allocate(device, TENSORS * 1024, &memory, &error) == SAMARA_OK);
  CHECK((uintptr_t)memory < 65536);  // not a valid pointer on the host
  for (int i = 0; i < TENSORS; i++) {
    if (i == WEIGHT || i == BIAS) continue;
    tensors[i].memory = memory;
    tensors[i].offset_bytes = (uint64_t)i * 1024;
  }
  tensors[R].offset_bytes = tensors[S].offset_bytes;  // in place
  int8_t out[PH * PW * O];
  uint64_t ticket = 0;
  bool done = false;
  for (region.generation = 1; region.generation <= 3; region.generation++) {
    memset(out, 0, sizeof out);
    if (region.generation == 3) tensors[Z].offset_bytes = 7 * 1024 - 512;
    const samara_copy in = {.memory = memory,
                            .offset_bytes = tensors[X].offset_bytes,
                            .host = x_data,
                            .size_bytes = sizeof x_data,
                            .to_device = true};
    const samara_copy back = {.memory = memory,
                              .offset_bytes = tensors[R].offset_bytes,
                              .host = out,
                              .size_bytes = sizeof out};
    CHECK(table->copy(device, &in, &ticket, &error) == SAMARA_OK);
    if (region.generation == 2) {
      region.separate = true;
      for (uint32_t i = 0; i < region.node_count; i++)
        CHECK(table->submit(device, program, &region, i, 1, &ticket, &error) == SAMARA_OK);
    } else {
      CHECK(table->submit(device, program, &region, 0, region.node_count, &ticket, &error) ==
            SAMARA_OK);
    }
    CHECK(table->copy(device, &back, &ticket, &error) == SAMARA_OK);
    CHECK(ticket != 0);
    CHECK(table->wait(device, ticket, 0, &done, &error) == SAMARA_OK);  // timeout 0: only ask
    done = false;
    while (!done) CHECK(table->wait(device, ticket, 1000000, &done, &error) == SAMARA_OK);
    CHECK(memcmp(out, expected, sizeof out) == 0);
  }
  tensors[Z].offset_bytes = 100;  // not aligned
  region.generation++;
  CHECK(table->submit(device, program, &region, 0, 4, &ticket, &error) == SAMARA_BAD_ARGUMENT);
  tensors[Z].offset_bytes = tensors[Y].offset_bytes;  // not in place
  CHECK(table->submit(device, program, &region, 0, 4, &ticket, &error) == SAMARA_BAD_ARGUMENT);
  table->release(device, SAMARA_HANDLE_PROGRAM, program);
  table->release(device, SAMARA_HANDLE_MEMORY, memory);
  for (int i = WEIGHT; i <= BIAS; i++)
    table->release(device, SAMARA_HANDLE_CONSTANT, tensors[i].memory);
}

// Sessions in several threads: each has its own program and memory.
struct caller {
  const samara_backend_table *table;
  void *device;
  pthread_t thread;
};

static void *call_often(void *argument) {
  const struct caller *caller = argument;
  for (int i = 0; i < 20; i++) run_region(caller->table, caller->device, i % 2 != 0);
  return NULL;
}

static void several_threads(const samara_backend_table *table, void *device) {
  struct caller callers[4];
  for (int i = 0; i < 4; i++) {
    callers[i] = (struct caller){.table = table, .device = device};
    CHECK(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]) == 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(callers[i].thread, NULL);
}

static void refusals(const samara_backend_table *table, void *device) {
  samara_region_tensor tensors[TENSORS];
  const samara_region region = {.struct_size = sizeof region,
                                .nodes = nodes,
                                .node_count = COUNT(nodes),
                                .tensors = tensors,
                                .tensor_count = TENSORS};
  char reason[128] = "";
  samara_error error;
  void *handle = NULL;
  make_tensors(tensors, true);
  tensors[WEIGHT].dtype = SAMARA_FLOAT32;
  CHECK(!table->supports(device, &region, 0, reason, sizeof reason));
  CHECK(strstr(reason, "qint8") != NULL);
  CHECK(table->allocate(device, (size_t)1 << 40, &handle, &error) == SAMARA_LIMIT);
  CHECK(handle == NULL);
}

// Failed work is reported by the wait for its ticket, and by all later calls.
static void lost_device(const samara_backend_table *table, void *device) {
  samara_error error = {.text = ""};
  void *memory = NULL;
  char bytes[8] = "1234567";
  uint64_t ticket[2];
  bool done = false;
  CHECK(table->allocate(device, sizeof bytes, &memory, &error) == SAMARA_OK);
  const samara_copy copy = {
      .memory = memory, .host = bytes, .size_bytes = sizeof bytes, .to_device = true};
  for (int i = 0; i < 2; i++) CHECK(table->copy(device, &copy, &ticket[i], &error) == SAMARA_OK);
  CHECK(table->wait(device, ticket[0], UINT64_MAX, &done, &error) == SAMARA_OK && done);
  CHECK(table->wait(device, ticket[1], UINT64_MAX, &done, &error) == SAMARA_BACKEND && done);
  CHECK(strstr(error.text, "ticket 2") != NULL);
  table->release(device, SAMARA_HANDLE_MEMORY, memory);
}

static void *open_device(const samara_backend_table *table, uint32_t index, int *live,
                         samara_device_info *info) {
  const samara_probe probe = {
      .struct_size = sizeof probe,
      .index = index,
      .log = host_log,
      .allocator = {.allocate = host_allocate, .release = host_release, .user = live}};
  samara_error error;
  void *device = NULL;
  *info = (samara_device_info){.struct_size = sizeof *info};
  CHECK(table->probe(&probe, &device, info, &error) == (index == 0 ? SAMARA_OK : SAMARA_NOT_FOUND));
  return device;
}

int main(void) {
  const samara_backend_table *table = samara_backend_entry();
  int live = 0;
  samara_device_info info;
  samara_requirements needs = {.struct_size = sizeof needs};
  fill();
  expect();
  CHECK(table->version == SAMARA_BACKEND_VERSION && table->struct_size == sizeof *table);
  CHECK(open_device(table, 1, &live, &info) == NULL);
  void *device = open_device(table, 0, &live, &info);
  if (device == NULL) return 1;
  CHECK(!info.shares_memory && info.name != NULL);
  table->requirements(device, &needs);
  CHECK(needs.alignment_bytes == 256);
  run_region(table, device, false);
  run_region(table, device, true);
  several_threads(table, device);
  refusals(table, device);
  table->release(device, SAMARA_HANDLE_DEVICE, device);
  setenv("NPU_FAIL_AT", "2", 1);
  device = open_device(table, 0, &live, &info);
  lost_device(table, device);
  table->release(device, SAMARA_HANDLE_DEVICE, device);
  CHECK(live == 0);
  printf("npu_check: %s\n", failures == 0 ? "all is well" : "FAILED");
  return failures != 0;
}
