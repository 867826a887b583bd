// SPDX-License-Identifier: Apache-2.0
// examples/backend_npu against the mirror: nodes of random shapes give the same bits on both.
#include "base/fp.h"

#include "backends/mirror.h"

#include "harness.h"

#include <dlfcn.h>

enum { NPU_CASES = 400, NPU_BYTES = 1 << 17, NPU_CHANNELS = 512, NPU_TENSORS = 4 };

// ---- one node on one device ----

// Inputs, then the output. Inputs without `data` are copied from `values`.
struct scene {
  samara_region_node node;
  samara_region_attribute attributes[12];
  int32_t inputs[3], output;
  samara_region_tensor tensors[NPU_TENSORS];
  const void *values[NPU_TENSORS];
  samara_region region;
};

static void scene_quit(void *user, samara_log_level level, const char *text) {
  (void)user, (void)level, (void)text;
}

static void *scene_allocate(void *user, size_t size_bytes) {
  (void)user;
  return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void scene_release(void *user, void *pointer) {
  (void)user;
  free(pointer);
}

static void *scene_open(const samara_backend_table *table) {
  const samara_probe probe = {.struct_size = sizeof probe,
                              .allocator = {.allocate = scene_allocate, .release = scene_release},
                              .log = scene_quit};
  samara_device_info info = {.struct_size = sizeof info};
  samara_error error = {.text = ""};
  void *device = NULL;
  CHECK_EQ_INT(table->probe(&probe, &device, &info, &error), SAMARA_OK);
  return device;
}

// Fails with the device's text.
static samara_status scene_run(const struct scene *from, const samara_backend_table *table,
                               void *device, void *y) {
  struct scene scene = *from;
  samara_error error = {.text = ""};
  void *program = NULL, *memory = NULL;
  uint64_t ticket = 0, offset = 0;
  scene.node.attributes = scene.attributes;
  scene.node.inputs = scene.inputs;
  scene.node.outputs = &scene.output;
  scene.region.nodes = &scene.node;
  scene.region.tensors = scene.tensors;
  const uint32_t count = scene.region.tensor_count;
  samara_status status = table->compile(device, &scene.region, &program, &error);
  for (uint32_t i = 0; i < count; i++) {
    samara_region_tensor *t = &scene.tensors[i];
    if (t->data != NULL) {
      if (status == SAMARA_OK) status = table->load(device, t, &t->memory, &error);
    } else {
      t->offset_bytes = offset;
      offset += (t->size_bytes + 255) / 256 * 256;
    }
  }
  if (status == SAMARA_OK) status = table->allocate(device, (size_t)offset + 1, &memory, &error);
  for (uint32_t i = 0; i < count && status == SAMARA_OK; i++) {
    samara_region_tensor *t = &scene.tensors[i];
    if (t->data != NULL) continue;
    t->memory = memory;
    const samara_copy copy = {.memory = memory,
                              .offset_bytes = t->offset_bytes,
                              .host = (void *)(uintptr_t)scene.values[i],
                              .size_bytes = t->size_bytes,
                              .to_device = true};
    if (scene.values[i] != NULL && t->size_bytes != 0)
      status = table->copy(device, &copy, &ticket, &error);
  }
  scene.region.generation = 1;
  if (status == SAMARA_OK)
    status = table->submit(device, program, &scene.region, 0, 1, &ticket, &error);
  const samara_region_tensor *out = &scene.tensors[scene.output];
  const samara_copy back = {.memory = memory,
                            .offset_bytes = out->offset_bytes,
                            .host = y,
                            .size_bytes = out->size_bytes};
  if (status == SAMARA_OK && out->size_bytes != 0)
    status = table->copy(device, &back, &ticket, &error);
  bool done = ticket == 0;
  if (status == SAMARA_OK && !done) status = table->wait(device, ticket, UINT64_MAX, &done, &error);
  if (status != SAMARA_OK) fprintf(stderr, "  %s: %s\n", from->node.op, error.text);
  for (uint32_t i = 0; i < count; i++)
    if (scene.tensors[i].data != NULL && scene.tensors[i].memory != NULL)
      table->release(device, SAMARA_HANDLE_CONSTANT, scene.tensors[i].memory);
  if (memory != NULL) table->release(device, SAMARA_HANDLE_MEMORY, memory);
  if (program != NULL) table->release(device, SAMARA_HANDLE_PROGRAM, program);
  return status;
}

// ---- both devices ----

static const samara_backend_table *npu_table;
static void *npu_device, *mirror_device;
static unsigned char npu_out[NPU_BYTES], mirror_out[NPU_BYTES];

static bool scene_supported(const struct scene *from, const samara_backend_table *table,
                            void *device) {
  struct scene scene = *from;
  char reason[256] = "";
  scene.node.attributes = scene.attributes;
  scene.node.inputs = scene.inputs;
  scene.node.outputs = &scene.output;
  scene.region.nodes = &scene.node;
  scene.region.tensors = scene.tensors;
  const bool supported = table->supports(device, &scene.region, 0, reason, sizeof reason);
  if (!supported) fprintf(stderr, "  %s: %s\n", from->node.op, reason);
  return supported;
}

static void scene_compare(const struct scene *scene) {
  const size_t size = scene->tensors[scene->output].size_bytes;
  REQUIRE(size <= NPU_BYTES);
  REQUIRE(scene_supported(scene, samara_backend_entry(), mirror_device));
  REQUIRE(scene_supported(scene, npu_table, npu_device));
  memset(npu_out, 0x55, size);
  memset(mirror_out, 0xaa, size);
  CHECK_EQ_INT(scene_run(scene, samara_backend_entry(), mirror_device, mirror_out), SAMARA_OK);
  CHECK_EQ_INT(scene_run(scene, npu_table, npu_device, npu_out), SAMARA_OK);
  CHECK_MEM(npu_out, mirror_out, size);
}

// ---- random nodes ----

static uint64_t random_state = 1;

// A number in [from, to].
static int64_t pick(int64_t from, int64_t to) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return from + (int64_t)((random_state >> 33) % (uint64_t)(to - from + 1));
}

static const void *pick_bytes(size_t which, size_t count) {
  static int8_t bytes[3][NPU_BYTES];
  for (size_t i = 0; i < count && i < NPU_BYTES; i++) bytes[which][i] = (int8_t)pick(-128, 127);
  return bytes[which];
}

// Scales that make ties and inexact products: m is often a power of two.
static float pick_scale(void) {
  return pick(0, 1) ? 1.0f / (float)(1 << pick(2, 6)) : 0.001f * (float)pick(20, 200);
}

static void scene_start(struct scene *scene, const char *op, uint32_t inputs) {
  *scene = (struct scene){.node = {.name = op, .op = op, .input_count = inputs, .output_count = 1},
                          .inputs = {0, 1, 2},
                          .output = (int32_t)inputs,
                          .region = {.struct_size = sizeof scene->region,
                                     .function = "main",
                                     .node_count = 1,
                                     .tensor_count = inputs + 1}};
}

static float scene_scales[NPU_TENSORS];

static void scene_tensor(struct scene *scene, uint32_t index, samara_dtype dtype, int32_t rank,
                         const int64_t *shape) {
  static int32_t zeros[NPU_TENSORS];
  samara_region_tensor *t = &scene->tensors[index];
  *t = (samara_region_tensor){.name = "t", .dtype = dtype, .rank = rank};
  t->size_bytes = dtype == SAMARA_INT32 ? 4 : 1;
  for (int32_t i = 0; i < rank; i++) {
    t->shape[i] = shape[i];
    t->size_bytes *= (size_t)shape[i];
  }
  if (dtype != SAMARA_QINT8) return;
  scene_scales[index] = pick_scale();
  zeros[index] = (int32_t)pick(-128, 127);
  t->scales = &scene_scales[index];
  t->zero_points = pick(0, 3) != 0 ? &zeros[index] : NULL;
  t->quant_count = 1;
  t->quant_axis = -1;
}

static samara_region_attribute *scene_attribute(struct scene *scene, const char *name) {
  samara_region_attribute *a = &scene->attributes[scene->node.attribute_count++];
  a->name = name;
  return a;
}

static void scene_int(struct scene *scene, const char *name, int64_t value) {
  scene_attribute(scene, name)->i = value;
}

static void scene_ints(struct scene *scene, const char *name, const int64_t *ints, int32_t count) {
  samara_region_attribute *a = scene_attribute(scene, name);
  a->ints = ints;
  a->count = (uint32_t)count;
}

// The attributes that describe the output. They must match its tensor.
static void scene_output(struct scene *scene, bool clamps) {
  samara_region_tensor *y = &scene->tensors[scene->output];
  const int32_t zero = y->zero_points != NULL ? y->zero_points[0] : 0;
  scene_attribute(scene, "scale")->f = y->dtype == SAMARA_QINT8 ? y->scales[0] : 1.0f;
  scene_int(scene, "zero_point", zero);
  if (!clamps) return;
  const int64_t lo = pick(0, 1) ? -128 : pick(-128, 0);
  scene_int(scene, "lo", lo);
  scene_int(scene, "hi", pick(0, 1) ? 127 : pick(lo, 127));
}

// A picture of 1 to 3 axes and a window over it: [batch, in…, channels] and [batch, out…, …].
struct view {
  int32_t axes;
  int64_t kernel[3], strides[3], dilations[3], pads[6], extend[3];
  int64_t x[5], y[5];
};

static void pick_view(struct view *view, int64_t channels, int64_t outputs, bool extends) {
  *view = (struct view){.axes = (int32_t)pick(1, 3)};
  view->x[0] = view->y[0] = pick(1, 2);
  view->x[view->axes + 1] = channels;
  view->y[view->axes + 1] = outputs;
  for (int32_t i = 0; i < view->axes; i++) {
    view->kernel[i] = pick(1, 3);
    view->strides[i] = pick(1, 3);
    view->dilations[i] = pick(1, 2);
    const int64_t reach = (view->kernel[i] - 1) * view->dilations[i] + 1;
    view->pads[i] = pick(0, view->kernel[i] - 1);
    view->pads[view->axes + i] = pick(0, view->kernel[i] - 1);
    view->extend[i] = extends ? pick(0, view->strides[i] - 1) : 0;
    view->x[1 + i] = pick(reach, reach + 5);
    const int64_t padded =
        view->x[1 + i] + view->pads[i] + view->pads[view->axes + i] + view->extend[i];
    view->y[1 + i] = (padded - reach) / view->strides[i] + 1;
  }
}

static void scene_view(struct scene *scene, const struct view *view) {
  scene_ints(scene, "strides", view->strides, view->axes);
  scene_ints(scene, "dilations", view->dilations, view->axes);
  scene_ints(scene, "pads", view->pads, 2 * view->axes);
}

// ---- qconv ----

// Pack weights [groups][N][K] by docs/reference/format.md, and set the tensor's fields.
static void pack_weights(samara_region_tensor *w, samara_layout layout, size_t groups, size_t n,
                         size_t k) {
  static int8_t packed[4 * NPU_BYTES];
  const int8_t *plain = w->data;
  const size_t together = layout == SAMARA_LAYOUT_PANEL ? 4 : 1, panels = (n + 15) / 16;
  const size_t stride = ((k + together - 1) / together * together * 16 + 63) / 64 * 64;
  memset(packed, 0, sizeof packed);
  for (size_t g = 0; g < groups; g++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < k; j++)
        packed[(g * panels + i / 16) * stride + (j / together * 16 + i % 16) * together +
               j % together] = plain[(g * n + i) * k + j];
  w->layout = layout;
  w->data = packed;
  w->size_bytes = groups * panels * stride;
  w->panel_stride_bytes = stride;
}

static void qconv_case(void) {
  static float scales[NPU_CHANNELS];
  static int32_t zeros[NPU_CHANNELS], bias[NPU_CHANNELS];
  const bool depthwise = pick(0, 3) == 0, to_int32 = pick(0, 4) == 0, has_bias = pick(0, 2) != 0;
  const int64_t groups = depthwise ? pick(2, 35) : pick(0, 1) ? 1 : pick(2, 3);
  const int64_t n = depthwise ? 1 : pick(1, 35), depth = depthwise ? 1 : pick(1, 9);
  struct view view;
  struct scene scene;
  pick_view(&view, groups * depth, groups * n, false);
  scene_start(&scene, "qconv", has_bias ? 3 : 2);
  const int64_t outputs = groups * n;
  int64_t w_shape[5] = {outputs}, k = depth;
  for (int32_t i = 0; i < view.axes; i++) k *= w_shape[1 + i] = view.kernel[i];
  w_shape[view.axes + 1] = depth;
  scene_tensor(&scene, 0, SAMARA_QINT8, view.axes + 2, view.x);
  scene_tensor(&scene, 1, SAMARA_QINT8, view.axes + 2, w_shape);
  if (has_bias) scene_tensor(&scene, 2, SAMARA_INT32, 1, &outputs);
  const samara_dtype to = to_int32 ? SAMARA_INT32 : SAMARA_QINT8;
  scene_tensor(&scene, (uint32_t)scene.output, to, view.axes + 2, view.y);
  scene.values[0] = pick_bytes(0, scene.tensors[0].size_bytes);
  samara_region_tensor *w = &scene.tensors[1];
  w->data = pick_bytes(1, w->size_bytes);
  w->groups = (uint32_t)groups;
  for (int64_t i = 0; i < outputs; i++) {
    scales[i] = pick_scale() / 64;
    zeros[i] = (int32_t)pick(-9, 9);
    bias[i] = (int32_t)pick(-5000, 5000);
  }
  w->scales = scales;
  w->zero_points = pick(0, 1) ? zeros : NULL;
  if (pick(0, 3) != 0) w->quant_count = (uint32_t)outputs;
  w->quant_axis = 0;
  if (has_bias) scene.tensors[2].data = bias;
  // If the multiplier is a power of two, some sums are ties, unless (s_x * s_w) / s_y is computed
  // in another order.
  if (pick(0, 2) == 0) {
    w->quant_count = 1;
    scene_scales[0] = 0.001f * (float)pick(20, 200);
    scales[0] = 0.00001f * (float)pick(20, 200);
    scene_scales[scene.output] = scene_scales[0] * scales[0] * (float)(1 << pick(5, 9));
  }
  if (depthwise && pick(0, 2) != 0)
    pack_weights(w, SAMARA_LAYOUT_DWPANEL, 1, (size_t)outputs, (size_t)k);
  else if (!depthwise && pick(0, 2) != 0)
    pack_weights(w, SAMARA_LAYOUT_PANEL, (size_t)groups, (size_t)n, (size_t)k);
  scene_view(&scene, &view);
  scene_int(&scene, "groups", groups);
  scene_output(&scene, true);
  scene_int(&scene, "to", to);
  scene_compare(&scene);
}

SMR_TEST(qconv) {
  for (int i = 0; i < NPU_CASES; i++) qconv_case();
}

// ---- pools ----

static void pool_case(bool mean) {
  const int64_t channels = pick(1, 20);
  const samara_dtype dtype = mean || pick(0, 1) ? SAMARA_QINT8 : SAMARA_INT8;
  struct view view;
  struct scene scene;
  pick_view(&view, channels, channels, mean);
  scene_start(&scene, mean ? "qavg_pool" : "max_pool", 1);
  scene_tensor(&scene, 0, dtype, view.axes + 2, view.x);
  scene_tensor(&scene, 1, dtype, view.axes + 2, view.y);
  if (!mean) {  // the bytes, moved: parameters are the same
    scene.tensors[1].scales = scene.tensors[0].scales;
    scene.tensors[1].zero_points = scene.tensors[0].zero_points;
  }
  scene.values[0] = pick_bytes(0, scene.tensors[0].size_bytes);
  scene_ints(&scene, "kernel", view.kernel, view.axes);
  scene_view(&scene, &view);
  if (mean) {
    scene_ints(&scene, "extend", view.extend, view.axes);
    scene_int(&scene, "count_include_pad", pick(0, 1));
    scene_int(&scene, "dequantized", 0);
    scene_output(&scene, true);
  }
  scene_compare(&scene);
}

SMR_TEST(pools) {
  for (int i = 0; i < NPU_CASES; i++) pool_case(i % 2 == 0);
}

// ---- the others ----

static void qadd_case(void) {
  struct scene scene;
  int64_t a[4], b[4], y[4];
  const int32_t rank = (int32_t)pick(0, 4), less = (int32_t)pick(0, rank);
  scene_start(&scene, "qadd", 2);
  for (int32_t i = 0; i < rank; i++) {
    y[i] = a[i] = b[i] = pick(1, 6);
    if (pick(0, 3) == 0) a[i] = 1;
    if (pick(0, 3) == 0) b[i] = 1;
    if (i < less) b[i] = 1;
    y[i] = a[i] > b[i] ? a[i] : b[i];
  }
  scene_tensor(&scene, 0, SAMARA_QINT8, rank, a);
  scene_tensor(&scene, 1, SAMARA_QINT8, rank - less, b + less);
  scene_tensor(&scene, 2, SAMARA_QINT8, rank, y);
  for (uint32_t i = 0; i < 2; i++) scene.values[i] = pick_bytes(i, scene.tensors[i].size_bytes);
  scene_int(&scene, "a_multiplier", pick(1 << 19, (1 << 20) - 1));
  scene_int(&scene, "b_multiplier", pick(-(1 << 19), 1 << 19));
  scene_int(&scene, "shift", pick(17, 22));
  scene_output(&scene, true);
  scene_compare(&scene);
}

SMR_TEST(qadd) {
  for (int i = 0; i < NPU_CASES; i++) qadd_case();
}

static void requantize_case(void) {
  struct scene scene;
  const int64_t shape[] = {pick(0, 5), pick(1, 40)};
  scene_start(&scene, "requantize", 1);
  scene_tensor(&scene, 0, SAMARA_QINT8, 2, shape);
  scene_tensor(&scene, 1, SAMARA_QINT8, 2, shape);
  scene.values[0] = pick_bytes(0, scene.tensors[0].size_bytes);
  const samara_region_tensor *y = &scene.tensors[1];
  const int64_t zero = y->zero_points != NULL ? y->zero_points[0] : 0;
  samara_region_attribute *scales = scene_attribute(&scene, "scales");
  scales->floats = y->scales;
  scales->count = 1;
  scene_ints(&scene, "zero_points", &zero, 1);
  scene_int(&scene, "axis", -1);
  scene_compare(&scene);
}

static void reshape_case(void) {
  struct scene scene;
  const int64_t from[] = {pick(0, 5), 2, 3}, to[] = {6, from[0]};
  scene_start(&scene, "reshape", 1);
  scene_tensor(&scene, 0, SAMARA_QINT8, 3, from);
  scene_tensor(&scene, 1, SAMARA_QINT8, 2, to);
  scene.tensors[1].scales = scene.tensors[0].scales;
  scene.tensors[1].zero_points = scene.tensors[0].zero_points;
  scene.values[0] = pick_bytes(0, scene.tensors[0].size_bytes);
  scene_ints(&scene, "shape", to, 2);
  scene_compare(&scene);
}

SMR_TEST(requantize_and_reshape) {
  for (int i = 0; i < NPU_CASES / 4; i++) {
    requantize_case();
    reshape_case();
  }
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  // Loaded as a program loads a vendor's library: its entry has the name of the mirror's.
  void *library = dlopen(SMR_NPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  samara_backend_entry_fn entry = NULL;
  if (library != NULL) {
    void *symbol = dlsym(library, SAMARA_BACKEND_ENTRY);
    memcpy(&entry, &symbol, sizeof entry);
  }
  if (!CHECK(entry != NULL)) return SMR_TEST_END();
  npu_table = entry();
  CHECK(npu_table != samara_backend_entry());
  npu_device = scene_open(npu_table);
  mirror_device = scene_open(samara_backend_entry());
  if (npu_device != NULL && mirror_device != NULL) {
    RUN(qconv);
    RUN(pools);
    RUN(qadd);
    RUN(requantize_and_reshape);
    npu_table->release(npu_device, SAMARA_HANDLE_DEVICE, npu_device);
    samara_backend_entry()->release(mirror_device, SAMARA_HANDLE_DEVICE, mirror_device);
  }
  CHECK_EQ_INT(mirror_live(), 0);
  dlclose(library);
  return SMR_TEST_END();
}
