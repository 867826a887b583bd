// SPDX-License-Identifier: Apache-2.0
// Representative nodes for each rate, as regions for a device.
#include "base/fp.h"

#include <stddef.h>
#include <string.h>

#include "ops/table/attrs.h"
#include "session/device/rates.h"

#define RATES_FIELD(name) offsetof(samara_rates, name)
const struct smr_rates_probe smr_rates_probes[SMR_RATES_PROBES] = {
    {RATES_FIELD(product_float32), "conv", SAMARA_FLOAT32, SAMARA_FLOAT32, 64, 3, 1},
    {RATES_FIELD(product_float16), "conv", SAMARA_FLOAT32, SAMARA_FLOAT16, 64, 3, 1},
    {RATES_FIELD(product_int8), "qconv", SAMARA_QINT8, SAMARA_QINT8, 64, 3, 1},
    {RATES_FIELD(depthwise), "conv", SAMARA_FLOAT32, SAMARA_FLOAT32, 64, 3, 64},
    {RATES_FIELD(memory), "add", SAMARA_FLOAT32, 0, 64, 1, 1},
};
#undef RATES_FIELD

double smr_rates_work(const struct smr_rates_probe *probe, uint32_t size) {
  const double elements = (double)size * size * probe->channels;
  if (probe->weights == 0) return SMR_RATES_TENSORS * sizeof(float) * elements;
  return elements * probe->kernel * probe->kernel * probe->channels / probe->groups;
}

static const float rates_scale[1] = {0.05f};
static const int64_t rates_ones[2] = {1, 1}, rates_pads[4] = {1, 1, 1, 1};

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
static void rates_attributes(const struct smr_rates_probe *probe, const struct smr_op *op,
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
static size_t rates_weights(const struct smr_rates_probe *probe, samara_region_tensor *out) {
  const size_t bytes = smr_dtype_bytes(probe->weights);
  const size_t taps = (size_t)probe->kernel * probe->kernel;
  const size_t group = (size_t)probe->channels / probe->groups;
  const size_t panels = ((size_t)probe->channels + 15) / 16;
  const size_t panel = probe->groups == 1 ? (group * taps + 3) / 4 * 4 * 16 : taps * 16;
  rates_tensor(out, probe->weights, probe->channels, probe->kernel, probe->kernel, (int64_t)group);
  out->layout = probe->groups == 1 ? SAMARA_LAYOUT_PANEL : SAMARA_LAYOUT_DWPANEL;
  out->panel_stride_bytes = (panel * bytes + 63) / 64 * 64;
  out->groups = probe->groups;
  return out->size_bytes = panels * out->panel_stride_bytes;
}

samara_status smr_rates_describe(const struct smr_rates_probe *probe, uint32_t size, uint32_t nodes,
                                 const samara_allocator *allocator, struct smr_rates_region *out,
                                 bool *known, samara_error *error) {
  static const int32_t inputs[2] = {0, 1}, outputs[1] = {2};
  const struct smr_op *op = rates_op(probe->op);
  *out = (struct smr_rates_region){.weights = NULL};
  *known = op != NULL && op->attr_count <= SMR_RATES_ATTRIBUTES;
  if (!*known) return SAMARA_OK;
  for (int i = 0; i < SMR_RATES_TENSORS; i++)
    rates_tensor(&out->tensors[i], probe->dtype, 1, size, size, probe->channels);
  rates_attributes(probe, op, out->attributes);
  for (uint32_t i = 0; i < nodes; i++)
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
                                .node_count = nodes,
                                .tensors = out->tensors,
                                .tensor_count = SMR_RATES_TENSORS,
                                .generation = 1};
  if (probe->weights == 0) return SAMARA_OK;
  const size_t bytes = rates_weights(probe, &out->tensors[1]);
  out->tensors[1].data = out->weights = smr_allocate_zeroed(allocator, 1, bytes);
  return out->weights != NULL ? SAMARA_OK : smr_no_memory(error, bytes);
}
