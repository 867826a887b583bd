// SPDX-License-Identifier: Apache-2.0
// Describes nodes of a frame to backends: a read-only slice with tensors and typed attributes.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

#include "ops/table/attrs.h"

// ---- tensors ----

static void slice_tensor(const struct smr_frame *frame, uint32_t id, samara_region_tensor *out) {
  const struct smr_function *f = frame->function;
  const struct smr_value *v = &f->values[id];
  const struct smr_tensor *t = &frame->values[id].tensor;
  *out = (samara_region_tensor){.name = t->name,
                                .dtype = (samara_dtype)t->dtype,
                                .rank = t->rank,
                                .symbolic = t->open,
                                .layout = (samara_layout)t->layout,
                                .size_bytes = t->size_bytes,
                                .quant_axis = -1};
  for (uint32_t axis = 0; axis < v->rank; axis++) {
    const struct smr_expr *e = &f->exprs[v->dims[axis]];
    out->shape[axis] = e->op == SMR_EXPR_CONST ? e->k : -1;
  }
  if (t->quant != NULL) {
    out->scales = t->quant->scales;
    out->zero_points = t->quant->zero_points;
    out->quant_count = t->quant->count;
    out->quant_axis = t->quant->axis;
  }
  if (v->constant < 0) return;
  const struct smr_constant *constant = &frame->common->model->constants[v->constant];
  memcpy(out->shape, constant->dims, sizeof out->shape);
  out->data = constant->data;
  out->panel_stride_bytes = constant->panel_stride_bytes;
  out->groups = constant->groups;
}

// The index of a value among the tensors of a slice; a new value is added. A constant shared by
// float32 and float16 nodes is two tensors.
static int32_t slice_find(struct smr_device_region *out, uint32_t id, bool float16) {
  const bool narrowed =
      SMR_HAS(backends_float16) && float16 && out->frame->values[id].tensor.dtype == SAMARA_FLOAT32;
  uint32_t i = 0;
  while (i < out->region.tensor_count &&
         (out->value_of[i] != id || out->tensors[i].narrowed != narrowed))
    i++;
  if (i == out->region.tensor_count) {
    out->value_of[i] = id;
    slice_tensor(out->frame, id, &out->tensors[i]);
    if (narrowed) smr_float16_describe(&out->tensors[i]);
    out->region.tensor_count++;
  }
  return (int32_t)i;
}

// ---- attributes ----

static void slice_attribute(const struct smr_attr_desc *desc, const struct smr_attr *attr,
                            samara_region_attribute *out) {
  *out = (samara_region_attribute){.name = smr_attr_name(desc),
                                   .i = attr->i,
                                   .f = attr->f,
                                   .count = attr->count,
                                   .symbolic = attr->varies};
  if (desc->type == SMR_ATTR_INTS || desc->type == SMR_ATTR_DIMS) out->ints = attr->ints;
  if (desc->type == SMR_ATTR_FLOATS) out->floats = attr->floats;
  if (desc->type == SMR_ATTR_STRING) out->text = attr->text;
}

static void slice_attributes(const struct smr_frame_node *node, samara_region_attribute *out) {
  const struct smr_op *op = node->node->op;
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const struct smr_attr_desc *desc = &smr_attr_descs[op->attr_first + i];
    slice_attribute(desc, &node->attrs[i], &out[i]);
    if (smr_is_float16(node) && desc->type == SMR_ATTR_DTYPE && out[i].i == SAMARA_FLOAT32)
      out[i].i = SAMARA_FLOAT16;
  }
}

// ---- nodes ----

// Sizes of all arrays of a slice.
struct slice_counts {
  size_t operands, attributes;
};

static struct slice_counts slice_count(const struct smr_frame *frame, uint32_t begin,
                                       uint32_t end) {
  struct slice_counts counts = {0, 0};
  for (uint32_t n = begin; n < end; n++) {
    const struct smr_node *node = frame->nodes[n].node;
    counts.operands += (size_t)node->input_count + node->output_count;
    counts.attributes += node->op->attr_count;
  }
  return counts;
}

samara_status smr_region_describe(struct smr_frame *frame, uint32_t begin, uint32_t end,
                                  struct smr_device_region *out) {
  const struct slice_counts counts = slice_count(frame, begin, end);
  samara_region_node *nodes;
  samara_region_attribute *attributes;
  int32_t *operands;
  SMR_TAKE(frame->common, nodes, (size_t)end - begin);
  SMR_TAKE(frame->common, attributes, counts.attributes);
  SMR_TAKE(frame->common, operands, counts.operands);
  SMR_TAKE(frame->common, out->tensors, counts.operands);
  SMR_TAKE(frame->common, out->value_of, counts.operands);
  out->frame = frame;
  out->begin = begin;
  out->end = end;
  out->region = (samara_region){.struct_size = sizeof out->region,
                                .function = frame->function->name,
                                .nodes = nodes,
                                .node_count = end - begin,
                                .tensors = out->tensors,
                                .strict = frame->common->strict};
  for (uint32_t n = begin; n < end; n++, nodes++) {
    const struct smr_node *node = frame->nodes[n].node;
    const bool half = smr_is_float16(&frame->nodes[n]);
    *nodes = (samara_region_node){.name = node->name,
                                  .op = node->op->name,
                                  .code = node->op->code,
                                  .attributes = attributes,
                                  .attribute_count = node->op->attr_count,
                                  .inputs = operands,
                                  .input_count = node->input_count,
                                  .outputs = operands + node->input_count,
                                  .output_count = node->output_count};
    slice_attributes(&frame->nodes[n], attributes);
    attributes += node->op->attr_count;
    for (uint32_t i = 0; i < node->input_count; i++)
      *operands++ = node->inputs[i] < 0 ? -1 : slice_find(out, (uint32_t)node->inputs[i], half);
    for (uint32_t i = 0; i < node->output_count; i++)
      *operands++ = slice_find(out, node->outputs[i], half);
  }
  return SAMARA_OK;
}

void smr_region_outside(struct smr_device_region *region, bool *read) {
  const struct smr_frame *frame = region->frame;
  const struct smr_function *f = frame->function;
  memset(read, 0, f->value_count * sizeof *read);
  for (uint32_t n = 0; n < f->node_count; n++) {
    if (n >= region->begin && n < region->end) continue;
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++)
      if (f->nodes[n].inputs[i] >= 0) read[f->nodes[n].inputs[i]] = true;
  }
  for (uint32_t i = 0; i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_READ) read[f->exprs[i].a] = true;
  for (uint32_t i = 0; i < region->region.tensor_count; i++) {
    const struct smr_frame_value *value = &frame->values[region->value_of[i]];
    region->tensors[i].used_outside =
        read[region->value_of[i]] || value->is_output || smr_value_kept(value);
  }
}

void smr_region_refresh(struct smr_device_region *region) {
  for (uint32_t i = 0; i < region->region.tensor_count; i++) {
    const struct smr_tensor *t = &region->frame->values[region->value_of[i]].tensor;
    samara_region_tensor *out = &region->tensors[i];
    if (region->frame->function->values[region->value_of[i]].constant >= 0) continue;
    memcpy(out->shape, t->dims, t->rank * sizeof *t->dims);
    out->size_bytes = smr_is_narrowed(out) ? t->size_bytes / 2 : t->size_bytes;
  }
  for (uint32_t n = region->begin; n < region->end; n++) {
    const samara_region_node *node = &region->region.nodes[n - region->begin];
    slice_attributes(&region->frame->nodes[n],
                     (samara_region_attribute *)(uintptr_t)node->attributes);
  }
}
