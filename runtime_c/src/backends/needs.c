// SPDX-License-Identifier: Apache-2.0
// What a build must keep so that a session's nodes can run on a built-in backend.
#include "base/fp.h"

#include "session/session.h"

#include <samara/samara_experimental.h>

#include <string.h>

#include "backends/opencl/cl_fuse.h"
#include "backends/opencl/driver.h"

// The part of each kernel's text.
static const uint16_t needs_part[SMR_CL_KERNELS + 1] = {
#define SMR_CL_KERNEL(name, file, defines) SMR_PART_cl_##file,
#include "backends/opencl/kernels/rows.inc"
#undef SMR_CL_KERNEL
};

// All kinds of devices, because the target's device is not known at build time.
static const struct smr_cl_features needs_features[] = {{.subgroups = true}, {.cpu = true}};

// *fits: whether a device supports the node.
static samara_status needs_node(struct smr_frame *frame, uint32_t n, bool *kernels,
                                struct smr_parts *parts, bool *fits) {
  const struct smr_frame_node *node = &frame->nodes[n];
  struct smr_device_region slice = {0};
  const char *why;
  *fits = false;
  if (smr_node_control(node) != SMR_CONTROL_NONE || node->late) return SAMARA_OK;
  const struct smr_cl_row *row = smr_cl_row(node->node->op->name);
  if (row == NULL) return SAMARA_OK;
  SMR_TRY(smr_region_describe(frame, n, n + 1, &slice));
  for (size_t i = 0; i < sizeof needs_features / sizeof *needs_features; i++) {
    const struct smr_cl_node of = {.region = &slice.region,
                                   .node = slice.region.nodes,
                                   .index = 0,
                                   .features = &needs_features[i]};
    if (!row->fits(&of, &why)) continue;
    *fits = true;
    row->kernels(&of, kernels);
    smr_parts_add(parts, row->part);
  }
  return SAMARA_OK;
}

// Whether a region of nodes [begin, end) has steps of several nodes.
static samara_status needs_steps(struct smr_frame *frame, uint32_t begin, uint32_t end,
                                 struct smr_parts *parts) {
  struct smr_device_region slice = {0};
  struct smr_cl_steps steps = {.steps = NULL};
  bool *read, *apart;
  SMR_TAKE(frame->common, read, frame->function->value_count);
  SMR_TAKE(frame->common, apart, (size_t)end - begin);
  SMR_TAKE(frame->common, slice.joins, (size_t)end - begin);
  SMR_TRY(smr_region_describe(frame, begin, end, &slice));
  smr_region_outside(&slice, read);
  slice.region.joins = slice.joins;
  slice.region.apart = apart;
  const samara_status status =
      smr_cl_join(&slice.region, needs_features, &frame->common->memory.allocator, &steps,
                  frame->common->error);
  if (steps.count > 0) {
    smr_parts_add(parts, SMR_PART_cl_fused);
    smr_parts_add(parts, SMR_PART_backends_steps);
  }
  smr_cl_steps_free(&steps, &frame->common->memory.allocator);
  return status;
}

static samara_status needs_frame(struct smr_frame *frame, bool *kernels, struct smr_parts *parts) {
  const uint32_t count = frame->function->node_count;
  uint32_t begin = 0;
  for (uint32_t n = 0; n < count; n++) {
    bool fits;
    SMR_TRY(needs_node(frame, n, kernels, parts, &fits));
    const bool follows =
        fits && n > begin && frame->nodes[n].node->stage == frame->nodes[begin].node->stage;
    if (n > begin && !follows) SMR_TRY(needs_steps(frame, begin, n, parts));
    if (!follows) begin = fits ? n : n + 1;
  }
  return begin < count ? needs_steps(frame, begin, count, parts) : SAMARA_OK;
}

// Names separated by commas, truncated to the buffer.
struct needs_text {
  char *text;
  size_t size, used;
};

static void needs_put(struct needs_text *out, const char *name) {
  for (; *name != '\0'; name++, out->used++)
    if (out->used < out->size) out->text[out->used] = *name;
}

static void needs_name(struct needs_text *out, const char *prefix, const char *name) {
  if (out->used != 0) needs_put(out, ",");
  needs_put(out, prefix);
  needs_put(out, name);
}

samara_status samara_session_backend_needs(samara_session *session, const char *backend, char *text,
                                           size_t size, size_t *length) {
  if (session == NULL || backend == NULL || length == NULL || (text == NULL && size != 0))
    return SAMARA_BAD_ARGUMENT;
  if (!SMR_HAS(survey) || !SMR_HAS(backend_opencl) || strcmp(backend, "opencl") != 0)
    SMR_FAIL(&session->error, NOT_FOUND, "this library has no backend \"%.60s\"", backend);
  bool kernels[SMR_CL_KERNELS + 1] = {false};
  struct smr_parts parts = {.words = {0}};
  for (uint32_t i = 0; i < session->frames.count; i++)
    SMR_TRY(needs_frame(session->frames.order[i], kernels, &parts));
  smr_parts_add(&parts, SMR_PART_backends);
  smr_parts_add(&parts, SMR_PART_backend_opencl);
  for (size_t k = 0; k < SMR_CL_KERNELS; k++)
    if (kernels[k]) smr_parts_add(&parts, needs_part[k]);
  struct needs_text out = {.text = text, .size = size};
  for (size_t i = 0; i < SMR_PART_COUNT; i++)
    if (smr_parts_have(&parts, i)) needs_name(&out, "", smr_part_name(i));
  for (size_t k = 0; k < SMR_CL_KERNELS; k++)
    if (kernels[k]) needs_name(&out, "opencl.", smr_cl_texts[k].name);
  if (size != 0) text[out.used < size ? out.used : size - 1] = '\0';
  *length = out.used;
  return SAMARA_OK;
}
