// SPDX-License-Identifier: Apache-2.0
// Which nodes run on which device, and which values the host sees.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

// ---- what a device takes ----

// Whether the device can have these operands at all.
static bool place_takes(const samara_backend *backend, const struct smr_device_region *slice) {
  for (uint32_t i = 0; i < slice->region.tensor_count; i++)
    if ((backend->requirements.constant_layouts >> slice->tensors[i].layout & 1) == 0 &&
        slice->tensors[i].data != NULL)
      return false;
  return true;
}

static samara_status place_keep_reason(const struct smr_frame *frame, const char *text,
                                       const char **out) {
  char *copy;
  const size_t length = strlen(text);
  SMR_TAKE(frame->common, copy, length + 1);
  memcpy(copy, text, length);
  *out = copy;
  return SAMARA_OK;
}

// The space of a node, the first device that supports it or else the host, and why.
static samara_status place_node(struct smr_frame *frame, uint32_t n) {
  const struct smr_devices *devices = frame->common->devices;
  struct smr_frame_node *node = &frame->nodes[n];
  char reason[128] = "";
  node->reason = "control flow runs on the CPU";
  if (smr_node_control(node) != SMR_CONTROL_NONE) return SAMARA_OK;
  node->reason = "its output dims depend on data";
  if (node->late) return SAMARA_OK;
  struct smr_device_region slice = {0};
  SMR_TRY(smr_region_describe(frame, n, n + 1, &slice));
  for (uint32_t i = 0; i < devices->count; i++) {
    const samara_backend *backend = devices->backends[i];
    const char *refusal = "weights in this layout are not supported";
    if (place_takes(backend, &slice)) {
      refusal = reason;
      if (backend->table->supports(backend->device, &slice.region, 0, reason, sizeof reason)) {
        node->space = (uint8_t)(i + 1);
        node->reason = "supported";
        return SAMARA_OK;
      }
    }
    reason[sizeof reason - 1] = '\0';
    if (i == 0) SMR_TRY(place_keep_reason(frame, refusal, &node->reason));
  }
  return SAMARA_OK;
}

// ---- what the host sees ----

static void place_host_values(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->value_count; i++) {
    struct smr_frame_value *value = &frame->values[i];
    value->on_device = value->space != 0 && !value->is_output && !smr_value_kept(value);
  }
  for (uint32_t n = 0; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++) {
      if (f->nodes[n].inputs[i] < 0) continue;
      struct smr_frame_value *value = &frame->values[f->nodes[n].inputs[i]];
      if (value->space != frame->nodes[n].space) value->on_device = false;
      // Copies are of dense values.
      if (frame->nodes[n].space != 0) value->dense_only = true;
    }
  for (uint32_t i = 0; i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_READ) frame->values[f->exprs[i].a].on_device = false;
}

samara_status smr_devices_place(struct smr_frame *frame) {
  const struct smr_devices *devices = frame->common->devices;
  const struct smr_function *f = frame->function;
  bool any = false;
  if (devices == NULL || !devices->active) return SAMARA_OK;
  for (uint32_t n = 0; n < f->node_count; n++) {
    SMR_TRY(place_node(frame, n));
    for (uint32_t i = 0; i < f->nodes[n].output_count; i++)
      frame->values[f->nodes[n].outputs[i]].space = frame->nodes[n].space;
    any = any || frame->nodes[n].space != 0;
  }
  if (!any) return SAMARA_OK;
  place_host_values(frame);
  SMR_TAKE(frame->common, frame->devices, 1);
  return SAMARA_OK;
}
