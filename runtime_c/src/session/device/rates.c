// SPDX-License-Identifier: Apache-2.0
// Measuring how fast the host and a device are, on one node of every kind of work.
#include "base/fp.h"

#include "session/device/rates.h"

#include <stddef.h>
#include <string.h>

#include "base/format.h"
#include "base/isa.h"
#include "ops/table/attrs.h"

#include <samara/samara_experimental.h>

// ---- what is measured ----

// A node whose rate stands for all of its kind: a convolution, or a sum of two tensors.
struct rates_probe {
  size_t rate;  // offset in samara_rates
  const char *op;
  uint8_t dtype, weights;  // samara_dtype; weights 0: none
  uint32_t size, channels, kernel, groups;
};

#define RATES_FIELD(name) offsetof(samara_rates, name)
static const struct rates_probe rates_probes[] = {
    {RATES_FIELD(product_float32), "conv", SAMARA_FLOAT32, SAMARA_FLOAT32, 56, 64, 3, 1},
    {RATES_FIELD(product_float16), "conv", SAMARA_FLOAT32, SAMARA_FLOAT16, 56, 64, 3, 1},
    {RATES_FIELD(product_int8), "qconv", SAMARA_QINT8, SAMARA_QINT8, 56, 64, 3, 1},
    {RATES_FIELD(depthwise), "conv", SAMARA_FLOAT32, SAMARA_FLOAT32, 56, 64, 3, 64},
    {RATES_FIELD(memory), "add", SAMARA_FLOAT32, 0, 112, 64, 1, 1},
    {RATES_FIELD(launch_ns), "add", SAMARA_FLOAT32, 0, 1, 64, 1, 1},
};
enum { RATES_PROBES = sizeof rates_probes / sizeof *rates_probes };

static uint64_t *rates_at(samara_rates *rates, size_t offset) {
  return (uint64_t *)(void *)((uint8_t *)rates + offset);
}

static size_t rates_elements(const struct rates_probe *probe) {
  return (size_t)probe->size * probe->size * probe->channels;
}

// What one run is worth: multiply-adds, or bytes.
static double rates_work(const struct rates_probe *probe) {
  if (probe->weights == 0) return 3.0 * sizeof(float) * (double)rates_elements(probe);
  return (double)rates_elements(probe) * probe->kernel * probe->kernel * probe->channels /
         probe->groups;
}

static uint64_t rates_per_ms(double work, uint64_t ns) {
  return ns == 0 ? 0 : (uint64_t)(work * 1e6 / (double)ns);
}

// ---- the node ----

static const float rates_scale[1] = {0.05f};
static const int64_t rates_ones[2] = {1, 1}, rates_pads[4] = {1, 1, 1, 1};

// Nodes of a region: one, or as many as show what a launch costs beside others.
enum { RATES_TENSORS = 3, RATES_ATTRIBUTES = 16, RATES_NODES = 17 };

// A region of that one node: x, weights or a second operand, y.
struct rates_region {
  samara_region region;
  samara_region_node nodes[RATES_NODES];  // all alike
  samara_region_tensor tensors[RATES_TENSORS];
  samara_region_attribute attributes[RATES_ATTRIBUTES];
  void *weights;
};

static void rates_tensor(samara_region_tensor *out, uint8_t dtype, int64_t a, int64_t b, int64_t c,
                         int64_t d) {
  *out = (samara_region_tensor){.name = "probe",
                                .dtype = (samara_dtype)dtype,
                                .rank = 4,
                                .shape = {a, b, c, d},
                                .size_bytes = (size_t)(a * b * c * d) * smr_dtype_bytes(dtype),
                                .quant_axis = -1};
  if (dtype != SAMARA_QINT8) return;
  out->scales = rates_scale;
  out->quant_count = 1;
}

// Attributes of the node, defaults included.
static void rates_attributes(const struct rates_probe *probe, const struct smr_op *op,
                             samara_region_attribute *out) {
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const struct smr_attr_desc *desc = &smr_attr_descs[op->attr_first + i];
    const char *name = smr_attr_name(desc);
    out[i] =
        (samara_region_attribute){.name = name, .i = desc->default_int, .f = desc->default_f32};
    if (strcmp(name, "strides") == 0 || strcmp(name, "dilations") == 0)
      out[i].ints = rates_ones, out[i].count = 2;
    if (strcmp(name, "pads") == 0) out[i].ints = rates_pads, out[i].count = 4;
    if (strcmp(name, "groups") == 0) out[i].i = probe->groups;
    if (strcmp(name, "scale") == 0) out[i].f = rates_scale[0];
  }
}

static const struct smr_op *rates_op(const char *name) {
  size_t count;
  const struct smr_op *rows = smr_op_rows(&count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(rows[i].name, name) == 0 && rows[i].funcs != NULL) return &rows[i];
  return NULL;
}

// Weights in the layout of files: panels of 16 channels, each a multiple of 64 bytes.
static size_t rates_weights(const struct rates_probe *probe, samara_region_tensor *out) {
  const size_t bytes = smr_dtype_bytes(probe->weights);
  const size_t taps = (size_t)probe->kernel * probe->kernel;
  const size_t group = probe->channels / probe->groups;
  const size_t panels = (probe->channels + 15) / 16;
  const size_t panel = probe->groups == 1 ? (group * taps + 3) / 4 * 4 * 16 : taps * 16;
  rates_tensor(out, probe->weights, probe->channels, probe->kernel, probe->kernel, (int64_t)group);
  out->layout = probe->groups == 1 ? SAMARA_LAYOUT_PANEL : SAMARA_LAYOUT_DWPANEL;
  out->panel_stride_bytes = (panel * bytes + 63) / 64 * 64;
  out->groups = probe->groups;
  return out->size_bytes = panels * out->panel_stride_bytes;
}

// False where the operator is not in this build, or memory is out.
static bool rates_describe(const struct rates_probe *probe, const samara_allocator *allocator,
                           struct rates_region *out) {
  static const int32_t inputs[2] = {0, 1}, outputs[1] = {2};
  const struct smr_op *op = rates_op(probe->op);
  *out = (struct rates_region){.weights = NULL};
  if (op == NULL || op->attr_count > RATES_ATTRIBUTES) return false;
  for (int i = 0; i < RATES_TENSORS; i++)
    rates_tensor(&out->tensors[i], probe->dtype, 1, probe->size, probe->size, probe->channels);
  rates_attributes(probe, op, out->attributes);
  for (int i = 0; i < RATES_NODES; i++)
    out->nodes[i] = (samara_region_node){.name = "probe",
                                         .op = op->name,
                                         .code = op->code,
                                         .attributes = out->attributes,
                                         .attribute_count = op->attr_count,
                                         .inputs = inputs,
                                         .input_count = 2,
                                         .outputs = outputs,
                                         .output_count = 1};
  out->region = (samara_region){.struct_size = sizeof out->region,
                                .function = "probe",
                                .nodes = out->nodes,
                                .node_count = 1,
                                .tensors = out->tensors,
                                .tensor_count = RATES_TENSORS,
                                .generation = 1};
  if (probe->weights == 0) return true;
  const size_t bytes = rates_weights(probe, &out->tensors[1]);
  out->tensors[1].data = out->weights = smr_allocate_zeroed(allocator, 1, bytes);
  return out->weights != NULL;
}

// ---- a device ----

enum { RATES_RUNS = 5, RATES_COPY_BYTES = 1 << 20 };

static samara_status rates_wait(const samara_backend *backend, uint64_t ticket,
                                samara_error *error) {
  bool done = ticket == 0;
  while (!done) SMR_TRY(backend->table->wait(backend->device, ticket, UINT64_MAX, &done, error));
  return SAMARA_OK;
}

// The least time of the region and a wait.
static samara_status rates_submit(const samara_backend *backend, void *program,
                                  const samara_region *region, uint64_t *least,
                                  samara_error *error) {
  *least = UINT64_MAX;
  for (int run = 0; run <= RATES_RUNS; run++) {
    const uint64_t start = smr_os_now_ns();
    uint64_t ticket = 0;
    SMR_TRY(backend->table->submit(backend->device, program, region, 0, region->node_count, &ticket,
                                   error));
    SMR_TRY(rates_wait(backend, ticket, error));
    const uint64_t ns = smr_os_now_ns() - start;
    if (run > 0 && ns < *least) *least = ns;  // the first one warms up
  }
  return SAMARA_OK;
}

// Launches beside others: a region of many nodes against one of a single node.
static samara_status rates_launch(const samara_backend *backend, struct rates_region *r,
                                  uint64_t one, samara_rates *rates, samara_error *error) {
  void *program;
  uint64_t many;
  r->region.node_count = RATES_NODES;
  SMR_TRY(backend->table->compile(backend->device, &r->region, &program, error));
  const samara_status status = rates_submit(backend, program, &r->region, &many, error);
  backend->table->release(backend->device, SAMARA_HANDLE_PROGRAM, program);
  if (status != SAMARA_OK) return status;
  rates->launch_ns = many > one ? (many - one) / (RATES_NODES - 1) + 1 : 1;
  rates->wait_ns = one;
  return SAMARA_OK;
}

static samara_status rates_run(const samara_backend *backend, const struct rates_probe *probe,
                               void *program, struct rates_region *r, samara_rates *rates,
                               samara_error *error) {
  uint64_t one;
  SMR_TRY(rates_submit(backend, program, &r->region, &one, error));
  if (probe->rate == RATES_FIELD(launch_ns)) return rates_launch(backend, r, one, rates, error);
  *rates_at(rates, probe->rate) = rates_per_ms(rates_work(probe), one);
  return SAMARA_OK;
}

// Everything that a probe holds on the device.
struct rates_held {
  void *program, *constant, *memory;
};

static samara_status rates_hold(const samara_backend *backend, const struct rates_probe *probe,
                                struct rates_region *r, struct rates_held *held,
                                samara_error *error) {
  const samara_backend_table *table = backend->table;
  const size_t alignment = backend->requirements.alignment_bytes;
  uint64_t used = 0;
  SMR_TRY(table->compile(backend->device, &r->region, &held->program, error));
  if (probe->weights != 0) {
    SMR_TRY(table->load(backend->device, &r->tensors[1], &held->constant, error));
    r->tensors[1].memory = held->constant;
  }
  for (int i = 0; i < RATES_TENSORS; i++) {
    if (r->tensors[i].data != NULL) continue;
    r->tensors[i].offset_bytes = used;
    used += (r->tensors[i].size_bytes + alignment - 1) / alignment * alignment;
  }
  SMR_TRY(table->allocate(backend->device, (size_t)used, &held->memory, error));
  for (int i = 0; i < RATES_TENSORS; i++)
    if (r->tensors[i].data == NULL) r->tensors[i].memory = held->memory;
  return SAMARA_OK;
}

static samara_status rates_node(const samara_backend *backend, const struct rates_probe *probe,
                                samara_rates *rates, samara_error *error) {
  const samara_backend_table *table = backend->table;
  struct rates_region r;
  struct rates_held held = {NULL, NULL, NULL};
  char reason[64];
  samara_status status = SAMARA_OK;
  if (rates_describe(probe, &backend->allocator, &r) &&
      (probe->weights == 0 ||
       (backend->requirements.constant_layouts >> r.tensors[1].layout & 1) != 0) &&
      table->supports(backend->device, &r.region, 0, reason, sizeof reason)) {
    status = rates_hold(backend, probe, &r, &held, error);
    if (status == SAMARA_OK) status = rates_run(backend, probe, held.program, &r, rates, error);
    if (held.program != NULL) table->release(backend->device, SAMARA_HANDLE_PROGRAM, held.program);
    if (held.memory != NULL) table->release(backend->device, SAMARA_HANDLE_MEMORY, held.memory);
    if (held.constant != NULL)
      table->release(backend->device, SAMARA_HANDLE_CONSTANT, held.constant);
  }
  smr_release(&backend->allocator, r.weights);
  return status;
}

// The least time of a copy of so many bytes.
static samara_status rates_copy(const samara_backend *backend, samara_copy copy, size_t size_bytes,
                                uint64_t *least, samara_error *error) {
  *least = UINT64_MAX;
  copy.size_bytes = size_bytes;
  for (int run = 0; run <= RATES_RUNS; run++) {
    uint64_t ticket = 0;
    const uint64_t start = smr_os_now_ns();
    SMR_TRY(backend->table->copy(backend->device, &copy, &ticket, error));
    SMR_TRY(rates_wait(backend, ticket, error));
    const uint64_t ns = smr_os_now_ns() - start;
    if (run > 0 && ns < *least) *least = ns;
  }
  return SAMARA_OK;
}

static samara_status rates_direction(const samara_backend *backend, const samara_copy *copy,
                                     samara_rates *rates, samara_error *error) {
  uint64_t small, large;
  SMR_TRY(rates_copy(backend, *copy, 64, &small, error));
  SMR_TRY(rates_copy(backend, *copy, RATES_COPY_BYTES, &large, error));
  uint64_t *rate = copy->to_device ? &rates->to_device : &rates->from_device;
  *rate = rates_per_ms(RATES_COPY_BYTES, large > small ? large - small : 1);
  if (small > rates->copy_ns) rates->copy_ns = small;
  return SAMARA_OK;
}

static samara_status rates_copies(const samara_backend *backend, samara_rates *rates,
                                  samara_error *error) {
  samara_copy copy = {.host = smr_allocate_zeroed(&backend->allocator, 1, RATES_COPY_BYTES)};
  samara_status status = copy.host == NULL ? smr_no_memory(error, RATES_COPY_BYTES) : SAMARA_OK;
  if (status == SAMARA_OK)
    status = backend->table->allocate(backend->device, RATES_COPY_BYTES, &copy.memory, error);
  if (status == SAMARA_OK) {
    copy.to_device = true;
    status = rates_direction(backend, &copy, rates, error);
    copy.to_device = false;
    if (status == SAMARA_OK) status = rates_direction(backend, &copy, rates, error);
    backend->table->release(backend->device, SAMARA_HANDLE_MEMORY, copy.memory);
  }
  smr_release(&backend->allocator, copy.host);
  return status;
}

samara_status smr_rates_measure_device(const samara_backend *backend, samara_rates *rates,
                                       samara_error *error) {
  samara_rates found = {0};
  for (int i = 0; i < RATES_PROBES; i++) {
    const bool waits =
        rates_probes[i].rate == RATES_FIELD(launch_ns);  // of which it is the probe too
    if (*rates_at(rates, rates_probes[i].rate) == 0 || (waits && rates->wait_ns == 0))
      SMR_TRY(rates_node(backend, &rates_probes[i], &found, error));
  }
  if (rates->to_device == 0 || rates->from_device == 0 || rates->copy_ns == 0)
    SMR_TRY(rates_copies(backend, &found, error));
  // What the backend states is not measured.
  for (size_t at = 0; at < sizeof found; at += sizeof(uint64_t))
    if (*rates_at(rates, at) == 0) *rates_at(rates, at) = *rates_at(&found, at);
  return SAMARA_OK;
}

// ---- the host ----

static void rates_operand(const samara_region_tensor *tensor, samara_op_tensor *out) {
  *out = (samara_op_tensor){.shape = tensor->shape,
                            .rank = tensor->rank,
                            .dtype = tensor->dtype,
                            .scale = tensor->scales != NULL ? tensor->scales[0] : 0};
}

static samara_status rates_host_node(samara_op_context *context, const samara_op_desc *desc,
                                     const void *const *inputs, void *const *outputs,
                                     uint64_t *least, samara_error *error) {
  samara_op *op;
  *least = UINT64_MAX;
  SMR_TRY(samara_op_create(desc, &op, error));
  samara_status status = SAMARA_OK;
  for (int run = 0; run <= RATES_RUNS && status == SAMARA_OK; run++) {
    const uint64_t start = smr_os_now_ns();
    status = samara_op_run(context, op, inputs, outputs);
    const uint64_t ns = smr_os_now_ns() - start;
    if (run > 0 && ns < *least) *least = ns;
  }
  samara_op_destroy(op);
  return status;
}

static samara_status rates_host(samara_op_context *context, const struct rates_probe *probe,
                                uint32_t isa, const samara_allocator *allocator,
                                samara_rates *rates, samara_error *error) {
  struct rates_region r;
  samara_op_tensor tensors[RATES_TENSORS];
  samara_attribute attributes[5];
  char names[128];
  int64_t groups = probe->groups;
  size_t count = 0;
  samara_status status = SAMARA_OK;
  if (!rates_describe(probe, allocator, &r)) {
    smr_release(allocator, r.weights);
    return SAMARA_OK;
  }
  (void)smr_isa_format(isa, names, sizeof names);
  for (int i = 0; i < RATES_TENSORS; i++) rates_operand(&r.tensors[i], &tensors[i]);
  if (probe->weights != 0) {
    attributes[count++] = (samara_attribute){.name = "strides", .ints = rates_ones, .count = 2};
    attributes[count++] = (samara_attribute){.name = "dilations", .ints = rates_ones, .count = 2};
    attributes[count++] = (samara_attribute){.name = "pads", .ints = rates_pads, .count = 4};
    attributes[count++] = (samara_attribute){.name = "groups", .ints = &groups, .count = 1};
    if (probe->dtype == SAMARA_QINT8)
      attributes[count++] = (samara_attribute){.name = "scale", .floats = rates_scale, .count = 1};
  }
  const samara_op_desc desc = {.struct_size = sizeof desc,
                               .name = probe->op,
                               .attributes = attributes,
                               .attribute_count = count,
                               .inputs = tensors,
                               .input_count = 2,
                               .outputs = &tensors[2],
                               .output_count = 1,
                               .isa = names,
                               .allocator = allocator};
  uint8_t *data = smr_allocate_zeroed(allocator, 3, r.tensors[0].size_bytes);
  if (data == NULL) {
    status = smr_no_memory(error, 3 * r.tensors[0].size_bytes);
  } else {
    const void *inputs[2] = {
        data, r.weights != NULL ? r.weights : (void *)(data + r.tensors[0].size_bytes)};
    void *outputs[1] = {data + 2 * r.tensors[0].size_bytes};
    uint64_t ns;
    status = rates_host_node(context, &desc, inputs, outputs, &ns, error);
    if (status == SAMARA_OK)
      *rates_at(rates, probe->rate) = probe->rate == RATES_FIELD(launch_ns)
                                          ? (ns == 0 ? 1 : ns)
                                          : rates_per_ms(rates_work(probe), ns);
    if (status == SAMARA_UNSUPPORTED) status = SAMARA_OK;  // a build without it
  }
  smr_release(allocator, data);
  smr_release(allocator, r.weights);
  return status;
}

samara_status smr_rates_measure_host(samara_pool *pool, uint32_t isa,
                                     const samara_allocator *allocator, samara_rates *rates,
                                     samara_error *error) {
  samara_op_context *context;
  const samara_op_context_options options = {
      .struct_size = sizeof options, .pool = pool, .allocator = allocator};
  SMR_TRY(samara_op_context_create(&options, &context, error));
  samara_status status = SAMARA_OK;
  for (int i = 0; i < RATES_PROBES && status == SAMARA_OK; i++)
    status = rates_host(context, &rates_probes[i], isa, allocator, rates, error);
  samara_op_context_destroy(context);
  return status;
}

// ---- files ----

static const struct rates_line {
  const char *name;
  size_t at;
} rates_lines[] = {
#define RATES_LINE(side, name) {#side "." #name, offsetof(struct smr_rates, side.name)}
    RATES_LINE(host, launch_ns),         RATES_LINE(host, product_float32),
    RATES_LINE(host, product_float16),   RATES_LINE(host, product_int8),
    RATES_LINE(host, depthwise),         RATES_LINE(host, memory),
    RATES_LINE(device, launch_ns),       RATES_LINE(device, wait_ns),
    RATES_LINE(device, copy_ns),         RATES_LINE(device, product_float32),
    RATES_LINE(device, product_float16), RATES_LINE(device, product_int8),
    RATES_LINE(device, depthwise),       RATES_LINE(device, memory),
    RATES_LINE(device, to_device),       RATES_LINE(device, from_device),
#undef RATES_LINE
};
enum { RATES_LINES = sizeof rates_lines / sizeof *rates_lines, RATES_FILE_BYTES = 4096 };
static const char rates_magic[] = "samara-rates 1\n";

// The number behind "`name` " at the start of a line of the text.
static bool rates_find(const char *text, const char *name, uint64_t *out) {
  const size_t length = strlen(name);
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
    const char *digit = line + length + 1;
    uint64_t value = 0;
    if (*digit == '\n' || *digit == '\0') return false;
    for (; *digit != '\n' && *digit != '\0'; digit++) {
      if (*digit < '0' || *digit > '9' || value > UINT64_MAX / 100) return false;
      value = value * 10 + (uint64_t)(*digit - '0');
    }
    *out = value;
    return true;
  }
  return false;
}

static samara_status rates_parse(const char *path, const char *text, struct smr_rates *out,
                                 samara_error *error) {
  if (strncmp(text, rates_magic, sizeof rates_magic - 1) != 0)
    SMR_FAIL(error, BAD_DATA, "%.200s is no file of rates: its first line is not \"%.14s\"", path,
             rates_magic);
  for (int i = 0; i < RATES_LINES; i++)
    if (!rates_find(text, rates_lines[i].name,
                    (uint64_t *)(void *)((uint8_t *)out + rates_lines[i].at)))
      SMR_FAIL(error, BAD_DATA, "%.200s: no line \"%s NUMBER\"", path, rates_lines[i].name);
  return SAMARA_OK;
}

samara_status smr_rates_read(const char *path, const samara_allocator *allocator,
                             struct smr_rates *out, samara_error *error) {
  struct smr_os_file file;
  char text[RATES_FILE_BYTES];
  samara_error why = {.text = ""};
  *out = (struct smr_rates){.host = {0}};
  const samara_status status = smr_os_read_path(path, sizeof text - 1, allocator, &file, &why);
  if (status != SAMARA_OK) return smr_fail(error, status, "%.200s: %s", path, why.text);
  memcpy(text, file.data, file.size_bytes);
  text[file.size_bytes] = '\0';
  smr_os_close(&file, allocator);
  return rates_parse(path, text, out, error);
}

samara_status smr_rates_write(const char *path, const samara_allocator *allocator,
                              const struct smr_rates *rates, samara_error *error) {
  char text[RATES_FILE_BYTES];
  size_t used = smr_format(text, sizeof text, "%s", rates_magic);
  for (int i = 0; i < RATES_LINES; i++) {
    uint64_t value;
    memcpy(&value, (const uint8_t *)rates + rates_lines[i].at, sizeof value);
    used += smr_format(text + used, sizeof text - used, "%s %llu\n", rates_lines[i].name,
                       (unsigned long long)value);
  }
  return smr_os_write_path(path, text, used, allocator, error);
}

#undef RATES_FIELD
