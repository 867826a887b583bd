// SPDX-License-Identifier: Apache-2.0
// Nodes of the mirror: region nodes become single operators, packed constants become plain ones.
#include "base/fp.h"

#include "backends/mirror_node.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ops/op.h"
#include "ops/table/attrs.h"

enum {
  MIRROR_PANEL = 16,       // channels of a panel
  MIRROR_NIBBLE_ROWS = 32  // rows of 4 bits that lie together
};

static const samara_region_tensor *tensor_at(const samara_region *region, int32_t index) {
  return index < 0 ? NULL : &region->tensors[index];
}

static const struct smr_op *row_of(const samara_region_node *node) {
  size_t count;
  const struct smr_op *rows = smr_op_rows(&count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(rows[i].name, node->op) == 0) return &rows[i];
  return NULL;
}

// ---- packed constants: docs/reference/format.md ----

// The matrix [N, K] of every group that a packed constant holds.
struct packed {
  size_t groups, channels, rows;  // groups, N, K
  bool turned;                    // the plain form is [K, N]
};

static bool is_one_of(const char *name, const char *const *names) {
  for (; *names != NULL; names++)
    if (strcmp(name, *names) == 0) return true;
  return false;
}

// Whether the node reads its input 1 in panels; describes them.
static bool packed_of(const samara_region_node *node, const samara_region_tensor *w,
                      struct packed *out) {
  static const char *const convs[] = {"conv", "qconv", "conv_dynamic", NULL};
  static const char *const products[] = {"matmul", "qmatmul", "matmul_dynamic", "matmul_blocks",
                                         NULL};
  *out = (struct packed){.groups = 1};
  if (is_one_of(node->op, convs) && w->rank >= 3 && w->shape[0] >= 0) {
    const bool depthwise = w->layout == SAMARA_LAYOUT_DWPANEL;
    out->groups = depthwise || w->groups == 0 ? 1 : w->groups;
    out->channels = (size_t)w->shape[0] / out->groups;
    out->rows = 1;
    for (int32_t i = 1; i < w->rank; i++) out->rows *= (size_t)w->shape[i];
    return true;
  }
  if (!is_one_of(node->op, products) || w->rank != 2 || w->layout != SAMARA_LAYOUT_PANEL)
    return false;
  out->turned = strcmp(node->op, "matmul_blocks") != 0;
  for (uint32_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attributes[i].name, "transpose_w") == 0)
      out->turned = node->attributes[i].i == 0;
  out->channels = (size_t)w->shape[out->turned];
  out->rows = (size_t)w->shape[!out->turned];
  return true;
}

// Weight (group, n, k) of 4 bits.
static unsigned nibble_at(const samara_region_tensor *w, const unsigned char *data, size_t n,
                          size_t k) {
  const size_t block = k / MIRROR_NIBBLE_ROWS, row = k % MIRROR_NIBBLE_ROWS;
  const size_t low = row % (MIRROR_NIBBLE_ROWS / 2), j = low / 4, i = low % 4;
  const unsigned char byte = data[n / MIRROR_PANEL * w->panel_stride_bytes +
                                  ((block * 4 + j) * MIRROR_PANEL + n % MIRROR_PANEL) * 4 + i];
  return row < MIRROR_NIBBLE_ROWS / 2 ? byte & 15u : byte >> 4;
}

// The place of weight (group, n, k) of whole bytes.
static size_t packed_place(const samara_region_tensor *w, const struct packed *p, size_t element,
                           size_t group, size_t n, size_t k) {
  const size_t panels = (p->channels + MIRROR_PANEL - 1) / MIRROR_PANEL;
  const size_t together = element == 1 && w->layout == SAMARA_LAYOUT_PANEL ? 4 : 1;
  const size_t panel = group * panels + n / MIRROR_PANEL;
  const size_t in_panel =
      (k / together * MIRROR_PANEL + n % MIRROR_PANEL) * together + k % together;
  return panel * w->panel_stride_bytes + in_panel * element;
}

// The plain form of `data`, which lies as `w` says, in memory of its own; NULL if there is none.
static unsigned char *unpack(const samara_region_tensor *w, const struct packed *p,
                             const unsigned char *data) {
  const size_t count = p->groups * p->channels * p->rows;
  const size_t element = smr_dtype_bytes((uint8_t)w->dtype);
  const bool nibbles = smr_dtype_packed((uint8_t)w->dtype);
  unsigned char *plain = calloc(count + 1, element);
  if (plain == NULL) return NULL;
  for (size_t group = 0; group < p->groups; group++)
    for (size_t n = 0; n < p->channels; n++)
      for (size_t k = 0; k < p->rows; k++) {
        const size_t to = p->turned ? k * p->channels + n : (group * p->channels + n) * p->rows + k;
        if (nibbles)
          plain[to / 2] |= (unsigned char)(nibble_at(w, data, n, k) << (to % 2 * 4));
        else
          memcpy(plain + to * element, data + packed_place(w, p, element, group, n, k), element);
      }
  return plain;
}

// ---- what single operators support ----

static bool refuse(char *reason, size_t reason_size, const char *text) {
  const size_t length = strlen(text) < reason_size ? strlen(text) : reason_size - 1;
  memcpy(reason, text, length);
  reason[length] = '\0';
  return false;
}

// Why single operators do not support the operator; NULL if they do.
static const char *row_fault(const struct smr_op *row) {
  if (row == NULL) return "the operator is not known";
  if (row->funcs == NULL) return "the operator only has a meaning in a model";
  if (row->funcs->measure != NULL) return "the dims of its output depend on data";
  for (uint32_t i = 0; i < row->attr_count; i++) {
    const uint8_t type = smr_attr_descs[row->attr_first + i].type;
    if (type == SMR_ATTR_STRING || type == SMR_ATTR_FUNCTION || type == SMR_ATTR_NAMED)
      return "it has an attribute that only has a meaning in a model";
  }
  return NULL;
}

static const char *tensor_fault(const samara_region_node *node, const samara_region_tensor *t,
                                uint32_t input) {
  struct packed packed;
  if (t == NULL) return NULL;
  if (t->layout != SAMARA_LAYOUT_PLAIN && (input != 1 || !packed_of(node, t, &packed)))
    return "a packed constant that the operator does not read in panels";
  if (t->dtype != SAMARA_QINT8) return NULL;
  if (t->scales == NULL) return "a quantized tensor without scales";
  if (t->quant_count == 1) return NULL;
  if (t->quant_axis < 0 || t->quant_axis >= t->rank ||
      (t->shape[t->quant_axis] >= 0 && t->shape[t->quant_axis] != (int64_t)t->quant_count))
    return "scales of blocks";
  return NULL;
}

static bool is_known(const samara_region_tensor *t) {
  for (int32_t i = 0; t != NULL && i < t->rank; i++)
    if (t->shape[i] < 0 || (t->symbolic >> i & 1) != 0) return false;
  return true;
}

static samara_op_tensor operand_of(const samara_region_tensor *t) {
  if (t == NULL) return (samara_op_tensor){.dtype = (samara_dtype)0};
  samara_op_tensor operand = {.shape = t->shape, .rank = t->rank, .dtype = t->dtype};
  if (t->dtype != SAMARA_QINT8) return operand;
  operand.scale = t->scales[0];
  operand.zero_point = t->zero_points != NULL ? t->zero_points[0] : 0;
  if (t->quant_count == 1) return operand;
  operand.scales = t->scales;
  operand.zero_points = t->zero_points;
  operand.quant_count = t->quant_count;
  operand.quant_axis = t->quant_axis;
  return operand;
}

// The type of an attribute is in the table of operators, not in the region.
static samara_attribute attribute_of(const struct smr_op *row,
                                     const samara_region_attribute *from) {
  uint8_t type = SMR_ATTR_INT;
  for (uint32_t i = 0; i < row->attr_count; i++) {
    const struct smr_attr_desc *desc = &smr_attr_descs[row->attr_first + i];
    if (strcmp(smr_attr_name(desc), from->name) == 0) type = desc->type;
  }
  samara_attribute attribute = {.name = from->name, .count = 1};
  switch (type) {
    case SMR_ATTR_F32:
      attribute.floats = &from->f;
      break;
    case SMR_ATTR_FLOATS:
      attribute.floats = from->floats;
      attribute.count = from->count;
      break;
    case SMR_ATTR_INTS:
    case SMR_ATTR_DIMS:
      attribute.ints = from->ints;
      attribute.count = from->count;
      break;
    default:
      attribute.ints = &from->i;
  }
  return attribute;
}

static samara_status create(const samara_region *region, const samara_region_node *node,
                            samara_op **out, samara_error *error) {
  const struct smr_op *row = row_of(node);
  const size_t operands = (size_t)node->input_count + node->output_count;
  samara_op_tensor *tensors = calloc(operands + 1, sizeof *tensors);
  samara_attribute *attributes = calloc(node->attribute_count + 1u, sizeof *attributes);
  samara_status status = SAMARA_OUT_OF_MEMORY;
  if (tensors != NULL && attributes != NULL) {
    for (uint32_t i = 0; i < node->input_count; i++)
      tensors[i] = operand_of(tensor_at(region, node->inputs[i]));
    for (uint32_t i = 0; i < node->output_count; i++)
      tensors[node->input_count + i] = operand_of(tensor_at(region, node->outputs[i]));
    for (uint32_t i = 0; i < node->attribute_count; i++)
      attributes[i] = attribute_of(row, &node->attributes[i]);
    const samara_op_desc desc = {.struct_size = sizeof desc,
                                 .name = node->op,
                                 .attributes = attributes,
                                 .attribute_count = node->attribute_count,
                                 .inputs = tensors,
                                 .input_count = node->input_count,
                                 .outputs = tensors + node->input_count,
                                 .output_count = node->output_count,
                                 .strict_accuracy = region->strict};
    status = samara_op_create(&desc, out, error);
  }
  free(tensors);
  free(attributes);
  return status;
}

bool mirror_node_supported(const samara_region *region, const samara_region_node *node,
                           char *reason, size_t reason_size) {
  const char *fault = row_fault(row_of(node));
  bool known = true;
  for (uint32_t i = 0; i < node->input_count && fault == NULL; i++) {
    fault = tensor_fault(node, tensor_at(region, node->inputs[i]), i);
    known &= is_known(tensor_at(region, node->inputs[i]));
  }
  for (uint32_t i = 0; i < node->output_count && fault == NULL; i++) {
    fault = node->outputs[i] < 0
                ? "an output that nobody wants"
                : tensor_fault(node, tensor_at(region, node->outputs[i]), UINT32_MAX);
    known &= is_known(tensor_at(region, node->outputs[i]));
  }
  for (uint32_t i = 0; i < node->attribute_count; i++) known &= !node->attributes[i].symbolic;
  if (fault != NULL) return refuse(reason, reason_size, fault);
  if (!known) return true;
  samara_op *op = NULL;
  samara_error error = {.text = ""};
  if (create(region, node, &op, &error) != SAMARA_OK)
    return refuse(reason, reason_size, error.text);
  samara_op_destroy(op);
  return true;
}

// ---- prepare and run ----

static samara_status make_lists(const samara_region_node *source, struct mirror_node *node,
                                samara_error *error) {
  node->input_count = source->input_count;
  node->output_count = source->output_count;
  node->inputs = calloc(node->input_count + 1u, sizeof *node->inputs);
  node->outputs = calloc(node->output_count + 1u, sizeof *node->outputs);
  node->unpacked = calloc(node->input_count + 1u, sizeof *node->unpacked);
  node->spare = calloc(node->output_count + 1u, sizeof *node->spare);
  if (node->inputs != NULL && node->outputs != NULL && node->unpacked != NULL &&
      node->spare != NULL)
    return SAMARA_OK;
  SMR_FAIL(error, OUT_OF_MEMORY, "mirror: no memory for %s", source->name);
}

static samara_status place_input(const samara_region *region, const samara_region_node *source,
                                 mirror_address_fn address, struct mirror_node *node, uint32_t i,
                                 samara_error *error) {
  const samara_region_tensor *t = tensor_at(region, source->inputs[i]);
  struct packed packed;
  node->inputs[i] = NULL;
  if (t == NULL || t->size_bytes == 0) return SAMARA_OK;
  const unsigned char *at = address(t, error);
  if (at == NULL) return SAMARA_BAD_ARGUMENT;
  node->inputs[i] = at;
  if (t->layout == SAMARA_LAYOUT_PLAIN) return SAMARA_OK;
  if (node->unpacked[i] == NULL && packed_of(source, t, &packed)) {
    const size_t panels = (packed.channels + MIRROR_PANEL - 1) / MIRROR_PANEL;
    if (packed.groups * panels * t->panel_stride_bytes > t->size_bytes)
      SMR_FAIL(error, BAD_ARGUMENT, "mirror: '%s' has %zu bytes, fewer than its panels", t->name,
               t->size_bytes);
    node->unpacked[i] = unpack(t, &packed, at);
  }
  node->inputs[i] = node->unpacked[i];
  if (node->unpacked[i] == NULL)
    SMR_FAIL(error, OUT_OF_MEMORY, "mirror: no memory for '%s'", t->name);
  return SAMARA_OK;
}

// Single operators take no output that overlaps an input, unless it is input 0 of one that works in
// place.
static bool overlaps(const samara_region *region, const samara_region_node *source,
                     const struct mirror_node *node, const unsigned char *out, size_t out_bytes) {
  const bool in_place = (row_of(source)->flags & SMR_OP_INPLACE) != 0;
  for (uint32_t i = 0; i < source->input_count; i++) {
    const samara_region_tensor *t = tensor_at(region, source->inputs[i]);
    if (t == NULL || node->inputs[i] == NULL || t->layout != SAMARA_LAYOUT_PLAIN) continue;
    if (in_place && i == 0 && node->inputs[0] == out && t->size_bytes == out_bytes) continue;
    const uintptr_t from = (uintptr_t)node->inputs[i], to = (uintptr_t)out;
    if (from < to + out_bytes && to < from + t->size_bytes) return true;
  }
  return false;
}

static samara_status place_output(const samara_region *region, const samara_region_node *source,
                                  mirror_address_fn address, struct mirror_node *node, uint32_t i,
                                  samara_error *error) {
  const samara_region_tensor *t = tensor_at(region, source->outputs[i]);
  free(node->spare[i]);
  node->spare[i] = NULL;
  node->outputs[i] = NULL;
  if (t->size_bytes == 0) return SAMARA_OK;
  unsigned char *at = address(t, error);
  if (at == NULL) return SAMARA_BAD_ARGUMENT;
  node->outputs[i] = at;
  if (!overlaps(region, source, node, at, t->size_bytes)) return SAMARA_OK;
  node->outputs[i] = node->spare[i] = malloc(t->size_bytes);
  if (node->spare[i] == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "mirror: no memory for '%s'", t->name);
  return SAMARA_OK;
}

samara_status mirror_node_prepare(const samara_region *region, const samara_region_node *source,
                                  mirror_address_fn address, struct mirror_node *node,
                                  samara_error *error) {
  samara_op_destroy(node->op);
  node->op = NULL;
  if (node->inputs == NULL) SMR_TRY(make_lists(source, node, error));
  for (uint32_t i = 0; i < source->input_count; i++)
    SMR_TRY(place_input(region, source, address, node, i, error));
  for (uint32_t i = 0; i < source->output_count; i++)
    SMR_TRY(place_output(region, source, address, node, i, error));
  return create(region, source, &node->op, error);
}

samara_status mirror_node_run(const samara_region *region, const samara_region_node *source,
                              samara_op_context *context, const struct mirror_node *node,
                              mirror_address_fn address, samara_error *error) {
  const samara_status status =
      samara_op_run(context, node->op, node->inputs, (void *const *)node->outputs);
  if (status != SAMARA_OK)
    return smr_fail(error, status, "mirror: %s: %s", source->name,
                    samara_op_context_error(context));
  for (uint32_t i = 0; i < node->output_count; i++) {
    if (node->spare[i] == NULL) continue;
    const samara_region_tensor *t = tensor_at(region, source->outputs[i]);
    memcpy(address(t, error), node->spare[i], t->size_bytes);
  }
  return SAMARA_OK;
}

void mirror_node_clear(struct mirror_node *node) {
  samara_op_destroy(node->op);
  for (uint32_t i = 0; node->unpacked != NULL && i < node->input_count; i++)
    free(node->unpacked[i]);
  for (uint32_t i = 0; node->spare != NULL && i < node->output_count; i++) free(node->spare[i]);
  free(node->inputs);
  free(node->outputs);
  free(node->unpacked);
  free(node->spare);
  *node = (struct mirror_node){.op = NULL};
}
