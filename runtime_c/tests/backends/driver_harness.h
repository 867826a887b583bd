// SPDX-License-Identifier: Apache-2.0
// Helpers of tests of the OpenCL driver: a test operator with its kernel, a region of two nodes,
// and an allocator that counts and fails.
#ifndef SMR_TESTS_BACKENDS_DRIVER_HARNESS_H
#define SMR_TESTS_BACKENDS_DRIVER_HARNESS_H

#include "backends/opencl/cl_device.h"
#include "base/alloc.h"
#include "base/atomic.h"
#include "harness.h"

// ---- the operator "scale": y = x * 3 + 1, node by node ----

enum { SCALE_KERNEL = 0, SCALE_COUNT = 1000, SCALE_BYTES = SCALE_COUNT * 4, SCALE_OFFSET = 4096 };

static const char scale_dialect[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#define KERNEL(name) __kernel void name(__global const uchar *b0, \\\n"
    "    __global const uchar *b1, __global const uchar *b2, __global const uchar *b3, \\\n"
    "    __global const uchar *b4, __global uchar *b5, __global uchar *b6, __global uchar *b7, \\\n"
    "    uint8 o, int16 p, int16 q, float8 f)\n";

static const char scale_text[] =
    "KERNEL(NAME) {\n"
    "  __global const T *x = (__global const T *)(b0 + (size_t)4 * o.s0);\n"
    "  __global const T *w = (__global const T *)(b1 + (size_t)4 * o.s1);\n"
    "  __global T *y = (__global T *)(b5 + (size_t)4 * o.s5);\n"
    "  size_t i = get_global_id(0);\n"
    "  if ((int)i < p.s0) y[i] = x[i] * w[0] + (float)q.sf + f.s7;\n"
    "}\n";

/// The text that the next build uses for all kernels, and their defines.
static const char *scale_text_now = scale_text, *scale_defines_now = "T=float UNUSED";

/// The layout of the weights.
static samara_layout scale_layout = SAMARA_LAYOUT_PLAIN;
static size_t scale_panel_bytes = sizeof(float);
static uint64_t scale_panel_stride = 0;

/// Whether there is also a kernel with subgroups, with the same text.
static bool scale_shares;

static samara_status scale_build(void *device, const bool *kernels,
                                 const struct smr_cl_steps *steps, void **program,
                                 samara_error *error) {
  static struct smr_cl_text texts[SMR_CL_KERNELS];  // a device knows compiled kernels by these
  for (size_t k = 0; k < SMR_CL_KERNELS; k++)
    texts[k] = (struct smr_cl_text){"scale_floats", scale_text_now, scale_defines_now};
  texts[SCALE_KERNEL + 1].defines = "SHARE=1";
  return smr_cl_build_texts(device, scale_dialect, texts, kernels, steps, program, error);
}

static bool scale_fits(const struct smr_cl_node *node, const char **why) {
  *why = "only float32 is supported";
  return node->region->tensors[node->node->inputs[0]].dtype == SAMARA_FLOAT32;
}

static bool scale_may_share(const struct smr_cl_node *node) {
  return scale_shares && SMR_ATOMIC_LOAD(&node->features->subgroups);
}

static void scale_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[SCALE_KERNEL] = true;
  kernels[SCALE_KERNEL + 1] = scale_may_share(node);
}

/// How often nodes were lowered.
static SMR_ATOMIC(long) scale_lowered;

static struct smr_cl_place scale_place(const samara_region_tensor *tensor) {
  return (struct smr_cl_place){tensor->memory, tensor->offset_bytes};
}

static void scale_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *tensors = node->region->tensors;
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)SCALE_KERNEL);
  launch->dims = 1;
  launch->items[0] = SCALE_COUNT;
  if (scale_may_share(node)) {
    launch->kernel++;
    launch->grouped = true;
    launch->group = SMR_CL_GROUP;
    launch->items[0] = (SCALE_COUNT + SMR_CL_GROUP - 1) / SMR_CL_GROUP * SMR_CL_GROUP;
  }
  launch->buffers[0] = scale_place(&tensors[node->node->inputs[0]]);
  samara_region_tensor w = tensors[node->node->inputs[1]];
  w.layout = scale_layout;
  w.size_bytes = scale_panel_bytes;
  w.panel_stride_bytes = scale_panel_stride;
  smr_cl_bind(launch, 1, &w);
  launch->buffers[5] = scale_place(&tensors[node->node->outputs[0]]);
  launch->ints[0] = SCALE_COUNT;
  launch->ints[31] = 3;
  launch->floats[7] = -2;
  scale_lowered++;
}

static const struct smr_cl_row *scale_row(const char *op) {
  static const struct smr_cl_row row = {"scale", scale_fits, scale_kernels, scale_lower, 0};
  return strcmp(op, "scale") == 0 ? &row : NULL;
}

/// The driver of OpenCL with this operator and kernel.
static const struct smr_cl_driver *scale_driver(void) {
  static struct smr_cl_driver driver;
  driver = smr_opencl_driver;
  driver.build = scale_build;
  driver.row = scale_row;
  return &driver;
}

// ---- a region of two such nodes: x -> h -> y, by the constant w ----

struct scale_region {
  samara_region region;
  samara_region_node nodes[2];
  samara_region_tensor tensors[4];
  int32_t slots[6];
  float w;
};

static void scale_region_make(struct scale_region *made) {
  memset(made, 0, sizeof *made);
  made->w = 3;
  static const char *const names[] = {"x", "h", "y", "w"};
  for (size_t i = 0; i < 4; i++) {
    made->tensors[i] = (samara_region_tensor){.name = names[i],
                                              .dtype = SAMARA_FLOAT32,
                                              .rank = 1,
                                              .shape = {i < 3 ? SCALE_COUNT : 1},
                                              .size_bytes = i < 3 ? SCALE_BYTES : sizeof(float)};
  }
  made->tensors[3].data = &made->w;
  const int32_t slots[6] = {0, 3, 1, 1, 3, 2};
  memcpy(made->slots, slots, sizeof slots);
  for (size_t i = 0; i < 2; i++) {
    made->nodes[i] = (samara_region_node){.name = i == 0 ? "first" : "second",
                                          .op = "scale",
                                          .inputs = made->slots + 3 * i,
                                          .input_count = 2,
                                          .outputs = made->slots + 3 * i + 2,
                                          .output_count = 1};
  }
  made->region = (samara_region){.struct_size = sizeof made->region,
                                 .function = "main",
                                 .nodes = made->nodes,
                                 .node_count = 2,
                                 .tensors = made->tensors,
                                 .tensor_count = 4};
}

static float scale_expected(float x) { return (x * 3 + 1) * 3 + 1; }

// ---- an allocator that counts, and fails at the k-th call ----

struct counting {
  samara_allocator inner;
  long calls, live, fail_at;  // fail_at negative: never
};

static void *counting_allocate(void *user, size_t size_bytes) {
  struct counting *own = (struct counting *)user;
  if (own->calls++ == own->fail_at) return NULL;
  void *pointer = own->inner.allocate(own->inner.user, size_bytes);
  own->live += pointer != NULL;
  return pointer;
}
static void counting_release(void *user, void *pointer) {
  struct counting *own = (struct counting *)user;
  own->live--;
  own->inner.release(own->inner.user, pointer);
}

static char last_log[600];
static void keep_log(void *user, samara_log_level level, const char *text) {
  (void)user, (void)level;
  (void)snprintf(last_log, sizeof last_log, "%s", text);
}

static samara_probe scale_probe(struct counting *counting, long fail_at, uint32_t index,
                                const char *folder) {
  *counting = (struct counting){.inner = smr_allocator(NULL), .fail_at = fail_at};
  return (samara_probe){
      .struct_size = sizeof(samara_probe),
      .index = index,
      .cache_folder = folder,
      .allocator = {.allocate = counting_allocate, .release = counting_release, .user = counting},
      .log = keep_log};
}

// ---- all of a backend's functions, one after the other ----

struct scale_use {
  const samara_backend_table *table;
  void *device, *program, *constant, *memory[2];
  struct scale_region region;
  float x[SCALE_COUNT], y[SCALE_COUNT];
};

static samara_status scale_copy(struct scale_use *use, size_t tensor, float *host, bool to_device,
                                uint64_t *ticket, samara_error *error) {
  const samara_region_tensor *of = &use->region.tensors[tensor];
  const samara_copy copy = {of->memory, of->offset_bytes, host, of->size_bytes, to_device};
  return use->table->copy(use->device, &copy, ticket, error);
}

/// Copies x in, computes, copies y out, and waits.
static samara_status scale_run(struct scale_use *use, uint64_t timeout_ns, samara_error *error) {
  uint64_t ticket = 0;
  bool done = false;
  memset(use->y, 0, sizeof use->y);
  samara_status status = scale_copy(use, 0, use->x, true, &ticket, error);
  if (status == SAMARA_OK)
    status =
        use->table->submit(use->device, use->program, &use->region.region, 0, 2, &ticket, error);
  if (status == SAMARA_OK) status = scale_copy(use, 2, use->y, false, &ticket, error);
  for (int i = 0; status == SAMARA_OK && !done && i < 1000; i++)
    status = use->table->wait(use->device, ticket, timeout_ns, &done, error);
  return status;
}

static samara_status scale_prepare(struct scale_use *use, samara_error *error) {
  const samara_backend_table *table = use->table;
  struct scale_region *region = &use->region;
  SMR_TRY(table->compile(use->device, &region->region, &use->program, error));
  SMR_TRY(table->load(use->device, &region->tensors[3], &use->constant, error));
  for (size_t i = 0; i < 2; i++) {
    SMR_TRY(table->allocate(use->device, SCALE_OFFSET + SCALE_BYTES, &use->memory[i], error));
  }
  region->tensors[0].memory = use->memory[0];
  region->tensors[1].memory = use->memory[1];
  region->tensors[2].memory = use->memory[0];
  region->tensors[2].offset_bytes = SCALE_OFFSET;
  region->tensors[3].memory = use->constant;
  region->region.generation = 1;
  return SAMARA_OK;
}

static void scale_release(struct scale_use *use) {
  const samara_backend_table *table = use->table;
  table->release(use->device, SAMARA_HANDLE_PROGRAM, use->program);
  table->release(use->device, SAMARA_HANDLE_CONSTANT, use->constant);
  for (size_t i = 0; i < 2; i++) table->release(use->device, SAMARA_HANDLE_MEMORY, use->memory[i]);
  table->release(use->device, SAMARA_HANDLE_DEVICE, use->device);
}

static void scale_begin(struct scale_use *use) {
  memset(use, 0, sizeof *use);
  use->table = &smr_cl_functions;
  scale_region_make(&use->region);
  for (size_t i = 0; i < SCALE_COUNT; i++) use->x[i] = (float)i * 0.5f;
}

/// Whether reported successes must be real; false while calls may lie.
static bool scale_honest = true;

static long scale_wrong(const struct scale_use *use) {
  long wrong = 0;
  for (size_t i = 0; i < SCALE_COUNT; i++) {
    const float expected = scale_expected(use->x[i]);
    wrong += memcmp(&expected, &use->y[i], sizeof expected) != 0;
  }
  return wrong;
}

/// Opens, computes twice in two places, and releases all. The numbers are checked if all calls
/// succeeded.
static inline samara_status scale_whole(const samara_probe *request, samara_error *error) {
  static struct scale_use use;
  scale_begin(&use);
  samara_device_info info = {.struct_size = sizeof info};
  samara_status status = smr_cl_probe(scale_driver(), request, &use.device, &info, error);
  if (status != SAMARA_OK) {
    CHECK(use.device == NULL);
    return status;
  }
  status = scale_prepare(&use, error);
  if (status == SAMARA_OK) status = scale_run(&use, UINT64_MAX, error);
  if (status == SAMARA_OK && scale_honest) CHECK_EQ_INT(scale_wrong(&use), 0);
  if (status == SAMARA_OK) {
    use.region.tensors[1].offset_bytes = SCALE_OFFSET;
    use.region.region.generation++;
    status = scale_run(&use, 1000000000, error);
  }
  if (status == SAMARA_OK && scale_honest) CHECK_EQ_INT(scale_wrong(&use), 0);
  scale_release(&use);
  return status;
}

#endif
