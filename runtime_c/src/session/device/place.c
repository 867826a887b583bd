// SPDX-License-Identifier: Apache-2.0
// Which nodes run on which device, and which values the host reads.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

// ---- what a device supports ----

// Whether the device supports the layouts and sizes of these operands.
static bool place_takes(const samara_backend *backend, const struct smr_device_region *slice) {
  for (uint32_t i = 0; i < slice->region.tensor_count; i++)
    if ((backend->requirements.constant_layouts >> slice->tensors[i].layout & 1) == 0 &&
        slice->frame->function->values[slice->value_of[i]].constant >= 0)
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

samara_status smr_device_supports(struct smr_frame *frame, uint32_t n, uint32_t device,
                                  bool *supported, const char **reason) {
  samara_backend *backend = frame->common->devices->backends[device];
  const struct smr_frame_node *node = &frame->nodes[n];
  struct smr_device_region slice = {0};
  char text[128] = "", key[SMR_TRUST_KEY];
  *supported = false;
  *reason = "control flow runs on the CPU";
  if (smr_node_control(node) != SMR_CONTROL_NONE) return SAMARA_OK;
  *reason = "its output dims depend on data";
  if (node->late) return SAMARA_OK;
  SMR_TRY(smr_region_describe(frame, n, n + 1, &slice));
  *reason = "weights in this layout are not supported";
  if (!place_takes(backend, &slice)) return SAMARA_OK;
  smr_trust_key(node, key);
  *reason = "this device gave a wrong answer for such a node";
  if (smr_trust_of(backend, key) == SMR_TRUST_BAD) return SAMARA_OK;
  *supported = backend->table->supports(backend->device, &slice.region, 0, text, sizeof text);
  *reason = "supported";
  text[sizeof text - 1] = '\0';
  if (!*supported && text[0] == '\0') {
    *reason = "not supported";
    return SAMARA_OK;
  }
  return *supported ? SAMARA_OK : place_keep_reason(frame, text, reason);
}

// The first device that supports the node, else the host.
static samara_status place_supported(struct smr_frame *frame, uint32_t n) {
  struct smr_frame_node *node = &frame->nodes[n];
  const char *reason;
  for (uint32_t i = 0; i < frame->common->devices->count && node->space == 0; i++) {
    bool supported;
    SMR_TRY(smr_device_supports(frame, n, i, &supported, &reason));
    if (supported) node->space = (uint8_t)(i + 1);
    if (supported || i == 0) node->reason = reason;
  }
  return SAMARA_OK;
}

static samara_status place_node(struct smr_frame *frame, uint32_t n) {
  const struct smr_devices *devices = frame->common->devices;
  struct smr_frame_node *node = &frame->nodes[n];
  if (!SMR_HAS(backends_auto) || !devices->automatic) return place_supported(frame, n);
  const size_t function = (size_t)(frame->function - frame->common->model->functions);
  if (devices->choices[function] == NULL) return SAMARA_OK;
  node->space = devices->choices[function][n].space;
  node->reason = devices->choices[function][n].reason;
  return SAMARA_OK;
}

// ---- what the host reads ----

static void place_host_values(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->value_count; i++) {
    struct smr_frame_value *value = &frame->values[i];
    value->on_device = value->space != 0 && !smr_value_kept(value);
  }
  for (uint32_t i = 0; i < f->output_count; i++)
    if (smr_resident_written(frame, i) == NULL) frame->values[f->outputs[i]].on_device = false;
  for (uint32_t n = 0; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++) {
      if (f->nodes[n].inputs[i] < 0) continue;
      struct smr_frame_value *value = &frame->values[f->nodes[n].inputs[i]];
      if (value->space != frame->nodes[n].space) value->on_device = false;
      // Only dense values can be copied.
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
  SMR_TAKE(frame->common, frame->devices, 1);
  if (SMR_HAS(variables) && frame->is_entry) SMR_TRY(smr_residents_find(frame));
  place_host_values(frame);
  return SMR_HAS(backends_float16) && devices->float16 ? smr_devices_choose_float16(frame)
                                                       : SAMARA_OK;
}
