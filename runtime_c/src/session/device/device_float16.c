// SPDX-License-Identifier: Apache-2.0
// Storing float32 values as float16 on devices: which nodes do, and conversions between host and
// device.
#include "base/fp.h"

#include "session/device/device.h"

#include <math.h>
#include <string.h>

#include "kernels/f16_convert/f16_convert.h"
#include "ops/table/attrs.h"
#include "ops/table/opattrs.h"

// ---- which nodes ----

static bool float16_is_float(const struct smr_frame *frame, int32_t id) {
  return id >= 0 && frame->values[id].tensor.dtype == SAMARA_FLOAT32;
}

// Whether the frame's function is the body of a loop.
static bool float16_is_body(const struct smr_frame *frame) {
  const samara_model *model = frame->common->model;
  const int64_t own = frame->function - model->functions;
  for (uint32_t i = 0; i < model->function_count; i++)
    for (uint32_t n = 0; n < model->functions[i].node_count; n++) {
      const struct smr_node *node = &model->functions[i].nodes[n];
      if (node->op->code == SMR_CODE_LOOP &&
          node->attrs[SMR_ATTR_INDEX(loop, body)].literal.i == own)
        return true;
    }
  return false;
}

// Values that keep float32 on every device: those that a later run or iteration reads, where
// rounding errors would accumulate, and those whose bits the host reads as dims.
static void float16_keep_values(const struct smr_frame *frame, uint8_t *wide) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->read_count; i++) wide[f->inputs[f->reads[i].position]] = UINT8_MAX;
  for (uint32_t i = 0; i < f->write_count; i++) wide[f->outputs[f->writes[i].position]] = UINT8_MAX;
  for (uint32_t i = 0; i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_READ) wide[f->exprs[i].a] = UINT8_MAX;
  if (!float16_is_body(frame)) return;
  for (uint32_t i = 0; i < f->input_count; i++) wide[f->inputs[i]] = UINT8_MAX;
  for (uint32_t i = 0; i < f->output_count; i++) wide[f->outputs[i]] = UINT8_MAX;
}

static int32_t float16_operand(const struct smr_node *node, uint32_t i) {
  return i < node->input_count ? node->inputs[i] : (int32_t)node->outputs[i - node->input_count];
}

static bool float16_has_floats(const struct smr_frame *frame, const struct smr_node *node) {
  bool any = false;
  for (uint32_t i = 0; i < node->input_count + node->output_count; i++)
    any = any || float16_is_float(frame, float16_operand(node, i));
  return any;
}

// Whether a node may use float16 for its floats. Not if the operator uses their bits, and not with
// quantized tensors, whose results must be the same everywhere.
static bool float16_may(const struct smr_frame *frame, const struct smr_node *node) {
  for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
    const int32_t id = float16_operand(node, i);
    if (id >= 0 && frame->values[id].tensor.quant != NULL) return false;
  }
  return !(node->op->flags & SMR_OP_READS_BITS) && float16_has_floats(frame, node);
}

// Whether a value that the node reads or writes keeps float32 on its device.
static bool float16_meets(const struct smr_frame *frame, const struct smr_frame_node *node,
                          const uint8_t *wide) {
  const uint32_t inputs = node->node->input_count;
  for (uint32_t i = 0; i < inputs + node->node->output_count; i++) {
    const int32_t id = float16_operand(node->node, i);
    if (float16_is_float(frame, id) && (wide[id] >> (node->space - 1) & 1) != 0) return true;
  }
  return false;
}

// The node keeps float32, and so do its values on its device. Constants may be loaded in both
// forms.
static void float16_widen_node(const struct smr_frame *frame, const struct smr_frame_node *node,
                               uint8_t *wide) {
  for (uint32_t i = 0; i < node->node->input_count + node->node->output_count; i++) {
    const int32_t id = float16_operand(node->node, i);
    if (float16_is_float(frame, id) && frame->function->values[id].constant < 0)
      wide[id] |= (uint8_t)(1u << (node->space - 1));
  }
}

// A node has all its floats in one form, so it propagates float32. Returns whether the node has
// changed.
static bool float16_pass_on(struct smr_frame *frame, uint32_t n, uint8_t *wide) {
  struct smr_frame_node *node = &frame->nodes[n];
  if (node->space == 0) return false;
  const bool changes = node->float16 && float16_meets(frame, node, wide);
  if (changes) node->float16 = false;
  if (!node->float16) float16_widen_node(frame, node, wide);
  return changes;
}

samara_status smr_devices_choose_float16(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  uint8_t *wide;  // by value: a bit for each device on which it keeps float32
  SMR_TAKE(frame->common, wide, f->value_count);
  float16_keep_values(frame, wide);
  for (uint32_t n = 0; n < f->node_count; n++) {
    struct smr_frame_node *node = &frame->nodes[n];
    const char *reason;
    bool supported;
    if (node->space == 0 || !float16_may(frame, node->node)) continue;
    node->float16 = true;  // smr_device_supports asks about this form
    SMR_TRY(smr_device_supports(frame, n, node->space - 1u, &supported, &reason));
    node->float16 = supported;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t n = 0; n < f->node_count; n++) changed |= float16_pass_on(frame, n, wide);
    for (uint32_t n = f->node_count; n-- > 0;) changed |= float16_pass_on(frame, n, wide);
  }
  for (uint32_t n = 0; n < f->node_count; n++) {
    struct smr_frame_node *node = &frame->nodes[n];
    if (node->space != 0 && float16_has_floats(frame, node->node))
      node->reason = node->float16 ? "supported, in float16" : "supported, in float32";
  }
  return SAMARA_OK;
}

// ---- conversions ----

enum { FLOAT16_CHUNK = 256 };  // elements copied at a time before conversion

void smr_float16_narrow(uint32_t isa, const void *from, size_t count, void *to) {
  smr_f32_to_f16_kernel(isa)(count, (const float *)from, (uint16_t *)to);
}

void smr_float16_widen(uint32_t isa, void *floats, size_t count) {
  const smr_f16_to_f32_ukernel widen = smr_f16_to_f32_kernel(isa);
  const uint8_t *from = (const uint8_t *)floats + count * sizeof(uint16_t);
  uint16_t chunk[FLOAT16_CHUNK];
  // Front to back: writes never pass the elements still to be read.
  for (size_t i = 0, n; i < count; i += n) {
    n = count - i < FLOAT16_CHUNK ? count - i : FLOAT16_CHUNK;
    memcpy(chunk, from + i * sizeof *chunk, n * sizeof *chunk);
    widen(n, chunk, (float *)floats + i);
  }
}

// Weights: finite values stay finite, nonzero values nonzero.
static void float16_weights(uint32_t isa, const float *from, size_t count, uint16_t *to) {
  smr_f32_to_f16_kernel(isa)(count, from, to);
  for (size_t i = 0; i < count; i++)
    if ((to[i] & 0x7fffu) == 0x7c00u && isfinite(from[i]))
      to[i]--;  // 65504
    else if ((to[i] & 0x7fffu) == 0 && from[i] != 0)
      to[i]++;  // 2^-24
}

void smr_float16_round_weights(uint32_t isa, const void *from, size_t count, void *to) {
  uint16_t chunk[FLOAT16_CHUNK];
  for (size_t i = 0, n; i < count; i += n) {
    n = count - i < FLOAT16_CHUNK ? count - i : FLOAT16_CHUNK;
    float16_weights(isa, (const float *)from + i, n, chunk);
    smr_f16_to_f32_kernel(isa)(n, chunk, (float *)to + i);
  }
}

void smr_float16_describe(samara_region_tensor *tensor) {
  const uint64_t stride = tensor->panel_stride_bytes;
  tensor->dtype = SAMARA_FLOAT16;
  tensor->narrowed = true;
  tensor->data = NULL;
  if (stride == 0) {
    tensor->size_bytes /= 2;
    return;
  }
  // Panels of float32 are not padded; those of float16 may be (docs/reference/format.md).
  tensor->panel_stride_bytes = smr_align64(stride / 2);
  tensor->size_bytes = tensor->size_bytes / stride * tensor->panel_stride_bytes;
}

void smr_float16_constant(uint32_t isa, const struct smr_constant *constant,
                          const samara_region_tensor *tensor, void *out) {
  const uint64_t stride = constant->panel_stride_bytes;
  const uint8_t *from = constant->data;
  if (stride == 0) {
    float16_weights(isa, (const float *)(const void *)from, tensor->size_bytes / 2, out);
    return;
  }
  memset(out, 0, tensor->size_bytes);
  for (size_t i = 0; i < tensor->size_bytes / tensor->panel_stride_bytes; i++)
    float16_weights(isa, (const float *)(const void *)(from + i * stride), stride / sizeof(float),
                    (uint16_t *)out + i * tensor->panel_stride_bytes / sizeof(uint16_t));
}
