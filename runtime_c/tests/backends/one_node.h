// SPDX-License-Identifier: Apache-2.0
// One operator on the CPU and as launches on the reference driver, with the results compared.
//
//   one_begin("add");
//   one_input(SAMARA_FLOAT32, 2, (int64_t[]){3, 5});
//   one_input(SAMARA_FLOAT32, 1, (int64_t[]){5});
//   one_output(SAMARA_FLOAT32, 2, (int64_t[]){3, 5});
//   one_check(1e-5);
#ifndef SMR_TESTS_ONE_NODE_H
#define SMR_TESTS_ONE_NODE_H

#include <samara/samara_backend.h>
#include <samara/samara_experimental.h>

#include "backends/opencl/lower.h"
#include "backends/reference_driver.h"
#include "harness.h"
#include "simd/half.h"

#include <ctype.h>

/// Rank and dims, as in one_input(F32, DIMS(3, 5)); count and elements of a list of integers.
#define DIMS(...) \
  (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define LIST(...) \
  (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define F32 SAMARA_FLOAT32
#define F16 SAMARA_FLOAT16
#define Q8 SAMARA_QINT8

/// An operand; `data` has all its elements, plain.
struct one_tensor {
  samara_dtype dtype;  // 0: absent
  int32_t rank;
  int64_t shape[SAMARA_MAX_RANK];
  void *data;
  size_t size_bytes;
  float scale;
  int32_t zero_point;
  float *scales;  // one per index of quant_axis, or NULL
  int32_t *zero_points;
  int32_t quant_axis;
  samara_layout layout;  // on the device
  uint32_t groups;       // of that
  bool constant;
};

enum { MOST_OPERANDS = 12, MOST_ATTRIBUTES = 24 };

static struct {
  const char *op;
  struct one_tensor in[MOST_OPERANDS], out[MOST_OPERANDS];
  uint32_t inputs, outputs, given;
  struct {
    const char *name;
    int64_t ints[2 * SAMARA_MAX_RANK];
    float number;
    uint32_t count;
    bool is_float;
  } attributes[MOST_ATTRIBUTES];
  uint32_t seed;
  bool bad;     // a launch must set the flag
  int grouped;  // launches of work-groups, since the test's begin
} one;

// Every attribute of every operator, with its default.
struct one_default {
  const char *op, *name, *type;
  int64_t i;
  float f;
};
static const struct one_default defaults[] = {
#define SMR_OPATTR(OP, name, TYPE, required, default_int, default_f32, choice_count, choices) \
  {#OP, #name, #TYPE, default_int, default_f32},
#include "ops/table/opattrs.inc"
#undef SMR_OPATTR
};

static uint32_t one_random(void) {
  one.seed = one.seed * 1664525u + 1013904223u;
  return one.seed >> 8;
}

/// Begin a node of the operator.
static inline void one_begin(const char *op) {
  const uint32_t seed = one.seed;
  memset(&one, 0, sizeof one);
  one.op = op;
  one.seed = seed;
}

static int64_t one_numel(const struct one_tensor *t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->rank; i++) n *= t->shape[i];
  return n;
}

static void one_make(struct one_tensor *t, samara_dtype dtype, int32_t rank, const int64_t *shape) {
  memset(t, 0, sizeof *t);
  t->dtype = dtype;
  t->rank = rank;
  for (int32_t i = 0; i < rank; i++) t->shape[i] = shape[i];
  t->size_bytes = (size_t)one_numel(t) * smr_cl_element(dtype);
  t->data = calloc(1, t->size_bytes + 1);
  if (dtype == SAMARA_QINT8) t->scale = 0.05f;
}

/// Random elements between two numbers.
static inline void one_fill(struct one_tensor *t, float low, float high) {
  const int64_t n = one_numel(t);
  for (int64_t i = 0; i < n; i++) {
    const float v = low + (high - low) * (float)one_random() / 16777216.0f;
    switch (t->dtype) {
      case SAMARA_FLOAT32:
        ((float *)t->data)[i] = v;
        break;
      case SAMARA_FLOAT16:
        ((uint16_t *)t->data)[i] = smr_f32_to_f16(v);
        break;
      case SAMARA_QINT8:
      case SAMARA_INT8:
        ((int8_t *)t->data)[i] = (int8_t)v;
        break;
      case SAMARA_UINT8:
        ((uint8_t *)t->data)[i] = (uint8_t)v;
        break;
      case SAMARA_BOOL:
        ((uint8_t *)t->data)[i] = one_random() & 1;
        break;
      case SAMARA_INT32:
        ((int32_t *)t->data)[i] = (int32_t)v;
        break;
      case SAMARA_UINT32:
        ((uint32_t *)t->data)[i] = (uint32_t)v;
        break;
      case SAMARA_INT64:
        ((int64_t *)t->data)[i] = (int64_t)v;
        break;
      default:
        CHECK(0);
    }
  }
}

/// An input of random elements from -2 to 2, of integers from -100 to 100.
static inline struct one_tensor *one_input(samara_dtype dtype, int32_t rank, const int64_t *shape) {
  struct one_tensor *t = &one.in[one.inputs++];
  one_make(t, dtype, rank, shape);
  if (dtype == SAMARA_UINT8 || dtype == SAMARA_UINT32)
    one_fill(t, 0.0f, 200.0f);
  else if (smr_cl_float(dtype) >= 0)
    one_fill(t, -2.0f, 2.0f);
  else
    one_fill(t, -100.0f, 100.0f);
  return t;
}

/// Give a quantized operand a scale, a zero point, and bytes of the whole range.
static inline struct one_tensor *one_quantized(struct one_tensor *t, float scale, int32_t zero) {
  t->scale = scale;
  t->zero_point = zero;
  if (t->data != NULL) one_fill(t, -128.0f, 127.9f);
  return t;
}

/// Give int8 weights scales and zero points by index of `axis`; the arrays are borrowed.
static inline void one_per_channel(struct one_tensor *w, int32_t axis, float *scales,
                                   int32_t *zeros) {
  for (int64_t i = 0; i < w->shape[axis]; i++) {
    scales[i] = 0.01f + 0.001f * (float)(i % 7);
    zeros[i] = (int32_t)(i % 5) - 2;
  }
  w->scales = scales;
  w->zero_points = zeros;
  w->quant_axis = axis;
}

static inline struct one_tensor *one_absent(void) { return &one.in[one.inputs++]; }

static inline struct one_tensor *one_output(samara_dtype dtype, int32_t rank,
                                            const int64_t *shape) {
  struct one_tensor *t = &one.out[one.outputs++];
  one_make(t, dtype, rank, shape);
  return t;
}

static inline void one_ints(const char *name, uint32_t count, const int64_t *values) {
  one.attributes[one.given].name = name;
  one.attributes[one.given].count = count;
  for (uint32_t i = 0; i < count; i++) one.attributes[one.given].ints[i] = values[i];
  one.given++;
}

static inline void one_int(const char *name, int64_t value) { one_ints(name, 1, &value); }

static inline void one_number(const char *name, float value) {
  one.attributes[one.given].name = name;
  one.attributes[one.given].number = value;
  one.attributes[one.given].is_float = true;
  one.attributes[one.given].count = 1;
  one.given++;
}

/// Attributes and parameters of an output that is quantized again, unless it keeps int32.
static inline void one_requantized(struct one_tensor *y, float scale, int32_t zero) {
  one_number("scale", scale);
  one_int("zero_point", zero);
  if (y->dtype == Q8) {
    y->scale = scale;
    y->zero_point = zero;
  }
}

/// A list of one float.
static inline void one_scale(const char *name, float value) { one_number(name, value); }

/// Put weights [O, ..., C / groups] into panels on the device; `turned`: they are [K, N].
static inline void one_pack(struct one_tensor *w, uint32_t groups, bool turned) {
  const bool depthwise =
      !turned && groups > 1 && w->shape[0] == groups && w->shape[w->rank - 1] == 1;
  w->layout = depthwise ? SAMARA_LAYOUT_DWPANEL : SAMARA_LAYOUT_PANEL;
  w->groups = turned ? UINT32_MAX : groups;
  w->constant = true;
}

// The packed bytes of w by docs/reference/format.md; sets the stride of panels.
static void *one_packed(const struct one_tensor *w, size_t *size, uint64_t *stride,
                        uint32_t *groups_out) {
  const bool turned = w->groups == UINT32_MAX, depthwise = w->layout == SAMARA_LAYOUT_DWPANEL;
  const int64_t groups = turned || depthwise ? 1 : w->groups,
                element = (int64_t)smr_cl_element(w->dtype);
  const int64_t total = one_numel(w);
  const int64_t outputs = turned ? w->shape[1] : w->shape[0];
  const int64_t rows = outputs == 0 ? 0 : total / outputs, own = outputs / groups;
  const int64_t panels = (own + 15) / 16, together = element == 1 && !depthwise ? 4 : 1;
  const int64_t stored = (rows + together - 1) / together * together;
  *stride = (uint64_t)((stored * 16 * element + 63) / 64 * 64);
  *size = (size_t)(groups * panels) * *stride;
  *groups_out = depthwise ? w->groups : (uint32_t)groups;
  uint8_t *packed = (uint8_t *)calloc(1, *size + 1);
  for (int64_t o = 0; o < outputs; o++) {
    const int64_t g = o / own, n = o % own;
    for (int64_t k = 0; k < rows; k++) {
      const int64_t from = turned ? k * outputs + o : o * rows + k;
      const int64_t lane = together == 4 ? (k / 4 * 16 + n % 16) * 4 + k % 4 : k * 16 + n % 16;
      memcpy(packed + (uint64_t)(g * panels + n / 16) * *stride + (uint64_t)(lane * element),
             (const uint8_t *)w->data + from * element, (size_t)element);
    }
  }
  return packed;
}

// ---- the region ----

static bool one_same_op(const char *upper, const char *op) {
  while (*upper != '\0' && toupper((unsigned char)*op) == *upper) {
    upper++;
    op++;
  }
  return *upper == '\0' && *op == '\0';
}

static struct {
  samara_region region;
  samara_region_node node;
  samara_region_tensor tensors[2 * MOST_OPERANDS];
  samara_region_attribute attributes[MOST_ATTRIBUTES];
  float floats[MOST_ATTRIBUTES];
  int32_t inputs[MOST_OPERANDS], outputs[MOST_OPERANDS];
} built;

static void one_build_attributes(void) {
  for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
    if (!one_same_op(defaults[i].op, one.op)) continue;
    samara_region_attribute *a = &built.attributes[built.node.attribute_count++];
    a->name = defaults[i].name;
    a->i = defaults[i].i;
    a->f = defaults[i].f;
    for (uint32_t k = 0; k < one.given; k++) {
      if (strcmp(one.attributes[k].name, a->name) != 0) continue;
      a->i = one.attributes[k].ints[0];
      a->f = one.attributes[k].number;
      a->ints = one.attributes[k].ints;
      a->floats = &one.attributes[k].number;
      a->count = one.attributes[k].count;
    }
  }
}

static void one_build_tensor(const struct one_tensor *t, int32_t *index, bool is_output) {
  if (t->dtype == 0) {
    *index = -1;
    return;
  }
  *index = (int32_t)built.region.tensor_count;
  samara_region_tensor *r = &built.tensors[built.region.tensor_count++];
  r->name = "t";
  r->dtype = t->dtype;
  r->rank = t->rank;
  memcpy(r->shape, t->shape, sizeof r->shape);
  r->layout = t->layout;
  r->size_bytes = t->size_bytes;
  if (t->dtype == SAMARA_QINT8) {
    r->scales = t->scales != NULL ? t->scales : &t->scale;
    r->zero_points = t->scales != NULL ? t->zero_points : &t->zero_point;
    r->quant_axis = t->quant_axis;
    r->quant_count = t->scales != NULL ? (uint32_t)t->shape[t->quant_axis] : 1;
  }
  void *bytes = t->data;
  if (t->layout != SAMARA_LAYOUT_PLAIN)
    bytes = one_packed(t, &r->size_bytes, &r->panel_stride_bytes, &r->groups);
  samara_error error;
  CHECK_EQ_INT(smr_reference_driver.allocate(NULL, r->size_bytes > 0 ? r->size_bytes : 1,
                                             is_output || r->size_bytes == 0 ? NULL : bytes,
                                             &r->memory, &error),
               SAMARA_OK);
  if (t->constant) r->data = bytes;
  if (bytes != t->data && !t->constant) free(bytes);
}

static void one_build(struct smr_cl_node *node, const struct smr_cl_features *features) {
  memset(&built, 0, sizeof built);
  one_build_attributes();
  for (uint32_t i = 0; i < one.inputs; i++) one_build_tensor(&one.in[i], &built.inputs[i], false);
  for (uint32_t i = 0; i < one.outputs; i++) one_build_tensor(&one.out[i], &built.outputs[i], true);
  built.node.name = "node";
  built.node.op = one.op;
  built.node.attributes = built.attributes;
  built.node.inputs = built.inputs;
  built.node.input_count = one.inputs;
  built.node.outputs = built.outputs;
  built.node.output_count = one.outputs;
  built.region.struct_size = sizeof built.region;
  built.region.nodes = &built.node;
  built.region.node_count = 1;
  built.region.tensors = built.tensors;
  built.region.generation = 1;
  *node = (struct smr_cl_node){&built.region, &built.node, 0, features};
}

static void one_unbuild(void) {
  for (uint32_t i = 0; i < built.region.tensor_count; i++) {
    samara_region_tensor *r = &built.tensors[i];
    smr_reference_driver.release(NULL, r->memory);
    if (r->layout != SAMARA_LAYOUT_PLAIN) free((void *)(uintptr_t)r->data);
  }
}

static void one_free(void) {
  for (uint32_t i = 0; i < one.inputs; i++) free(one.in[i].data);
  for (uint32_t i = 0; i < one.outputs; i++) free(one.out[i].data);
}

// ---- the CPU ----

static samara_op_tensor one_operand(const struct one_tensor *t) {
  samara_op_tensor o = {0};
  o.shape = t->shape;
  o.rank = t->rank;
  o.dtype = t->dtype;
  o.scale = t->scale;
  o.zero_point = t->zero_point;
  if (t->scales != NULL) {
    o.scales = t->scales;
    o.zero_points = t->zero_points;
    o.quant_count = (size_t)t->shape[t->quant_axis];
    o.quant_axis = t->quant_axis;
  }
  return o;
}

static bool one_on_cpu(void) {
  samara_op_tensor in[MOST_OPERANDS], out[MOST_OPERANDS];
  const void *inputs[MOST_OPERANDS];
  void *outputs[MOST_OPERANDS];
  samara_attribute attributes[MOST_ATTRIBUTES] = {{0}};
  for (uint32_t i = 0; i < one.inputs; i++) {
    in[i] = one_operand(&one.in[i]);
    inputs[i] = one.in[i].data;
  }
  for (uint32_t i = 0; i < one.outputs; i++) {
    out[i] = one_operand(&one.out[i]);
    outputs[i] = one.out[i].data;
  }
  for (uint32_t i = 0; i < one.given; i++) {
    attributes[i].name = one.attributes[i].name;
    attributes[i].count = one.attributes[i].count;
    if (one.attributes[i].is_float)
      attributes[i].floats = &one.attributes[i].number;
    else
      attributes[i].ints = one.attributes[i].ints;
  }
  samara_op_desc desc = {
      .struct_size = sizeof desc,
      .name = one.op,
      .attributes = attributes,
      .attribute_count = one.given,
      .inputs = in,
      .input_count = one.inputs,
      .outputs = out,
      .output_count = one.outputs,
      .strict_accuracy = true,  // else some CPUs sum float16 in float16
  };
  samara_op_context *context = NULL;
  if (!CHECK_EQ_INT(samara_op_context_create(NULL, &context, NULL), SAMARA_OK)) return false;
  const samara_status status = samara_op_run_once(context, &desc, inputs, outputs);
  if (!CHECK_EQ_INT(status, SAMARA_OK))
    fprintf(stderr, "%s: %s\n", one.op, samara_op_context_error(context));
  samara_op_context_destroy(context);
  return status == SAMARA_OK;
}

// ---- both ----

static double one_value(samara_dtype dtype, const void *data, int64_t i) {
  return dtype == SAMARA_FLOAT16 ? (double)smr_f16_to_f32(((const uint16_t *)data)[i])
                                 : (double)((const float *)data)[i];
}

static void one_compare(const struct one_tensor *want, const void *got, double tolerance) {
  const int64_t n = one_numel(want);
  if (smr_cl_float(want->dtype) < 0) {
    if (!CHECK_MEM(got, want->data, want->size_bytes)) fprintf(stderr, "of %s\n", one.op);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const double e = one_value(want->dtype, want->data, i), g = one_value(want->dtype, got, i);
    if (!CHECK_NEAR(g, e, tolerance * (1.0 + fabs(e)))) {
      fprintf(stderr, "at %lld of %s\n", (long long)i, one.op);
      return;
    }
  }
}

static void *one_allocate(void *user, size_t bytes) {
  (void)user;
  return malloc(bytes);
}
static void one_release(void *user, void *memory) {
  (void)user;
  free(memory);
}

/// How many launches read their weights from an image as well.
static long one_from_images;

// A launch that can read its weights from an image must give the same `y` again.
static void one_same_from_image(const struct smr_cl_launch *launch, const samara_region_tensor *y) {
  void *first = malloc(y->size_bytes + 1);
  if (!CHECK(first != NULL)) return;
  memcpy(first, y->memory, y->size_bytes);
  memset(y->memory, 0xff, y->size_bytes);
  if (smr_reference_launch_texels(launch)) {
    CHECK_MEM(y->memory, first, y->size_bytes);
    one_from_images++;
  }
  memcpy(y->memory, first, y->size_bytes);
  free(first);
}

static void one_on_device(const struct smr_cl_features *features, double tolerance) {
  const samara_allocator allocator = {one_allocate, one_release, NULL};
  struct smr_cl_node node;
  bool kernels[SMR_CL_KERNELS + 1] = {false};
  const char *why = "";
  one_build(&node, features);
  const struct smr_cl_row *row = smr_cl_row(one.op);
  if (CHECK(row != NULL) && CHECK(row->fits(&node, &why))) {
    struct smr_cl_launches list = {.allocator = &allocator};
    row->kernels(&node, kernels);
    row->lower(&node, &list);
    CHECK(!list.failed);
    CHECK(list.refusal == NULL);
    void *scratch = NULL;
    samara_error error;
    if (list.scratch_bytes > 0 &&
        CHECK_EQ_INT(
            smr_reference_driver.allocate(NULL, (size_t)list.scratch_bytes, NULL, &scratch, &error),
            SAMARA_OK))
      memset(scratch, 0xff, (size_t)list.scratch_bytes);  // NaN
    smr_cl_bind_scratch(&list, scratch);
    void *flag = NULL;
    const int32_t unset = 0;
    if (list.flags)
      CHECK_EQ_INT(smr_reference_driver.allocate(NULL, sizeof unset, &unset, &flag, &error),
                   SAMARA_OK);
    smr_cl_bind_flag(&list, flag);
    for (size_t i = 0; i < list.count; i++) {
      CHECK(kernels[list.launches[i].kernel]);
      one.grouped += list.launches[i].grouped;
      smr_reference_launch(&list.launches[i]);
      one_same_from_image(&list.launches[i], &built.tensors[built.outputs[0]]);
    }
    smr_cl_launches_free(&list);
    if (scratch != NULL) smr_reference_driver.release(NULL, scratch);
    const bool flagged = flag != NULL && *(const int32_t *)flag != 0;
    if (flag != NULL) smr_reference_driver.release(NULL, flag);
    CHECK_EQ_INT(flagged, one.bad);
    for (uint32_t i = 0; i < one.outputs && !one.bad; i++)
      if (built.outputs[i] >= 0)
        one_compare(&one.out[i], built.tensors[built.outputs[i]].memory, tolerance);
  } else {
    fprintf(stderr, "%s: %s\n", one.op, why);
  }
  one_unbuild();
}

/// Lower the node, run it, and compare with the CPU: floats within tolerance * (1 + |expected|).
static inline void one_check(double tolerance) {
  // A CPU, a device that is busy with any work, and one that wants small tiles, also with
  // subgroups.
  const struct smr_cl_features devices[] = {
      {.cpu = true}, {.units = 1}, {.units = 1 << 20}, {.units = 1 << 20, .subgroups = true}};
  if (one_on_cpu())
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
      one_on_device(&devices[i], tolerance);
  one_free();
}

/// Run the node with data that the operator does not allow: a launch must set the flag.
static inline void one_flagged(void) {
  const struct smr_cl_features cpu = {.cpu = true}, gpu = {.cpu = false};
  one.bad = true;
  one_on_device(&cpu, 0);
  one_on_device(&gpu, 0);
  one_free();
}

/// Check that the node is refused.
static inline void one_refused(const char *part_of_the_reason) {
  const struct smr_cl_features features = {.cpu = true};
  struct smr_cl_node node;
  const char *why = "";
  one_build(&node, &features);
  const struct smr_cl_row *row = smr_cl_row(one.op);
  if (CHECK(row != NULL)) {
    CHECK(!row->fits(&node, &why));
    CHECK_CONTAINS(why, part_of_the_reason);
  }
  one_unbuild();
  one_free();
}

#endif
