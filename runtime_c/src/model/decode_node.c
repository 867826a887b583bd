// SPDX-License-Identifier: Apache-2.0
// Decodes the nodes of a function: operands in an order that can run, attributes by the op table.
#include "base/fp.h"

#include "model/decode.h"

#include <string.h>

#include "ops/attrs.h"

void smr_decode_nodes_take(struct smr_decoder *d, uint32_t at, struct smr_function *f) {
  const struct smr_fb_vec list = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_nodes);
  struct smr_node *nodes = smr_bump_take(&d->bump, list.count, sizeof *nodes);
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t node_at = smr_fb_element(&d->fb, list, i);
    const struct smr_op *op = smr_op_find(smr_fb_u16(&d->fb, node_at, SMR_FB_NODE_op, 0));
    const uint32_t absorbed = smr_fb_vector(&d->fb, node_at, SMR_FB_NODE_absorbed).count;
    const struct smr_node_attr *attrs =
        smr_bump_take(&d->bump, op != NULL ? op->attr_count : 0, sizeof *attrs);
    const char *const *names = smr_bump_take(&d->bump, absorbed, sizeof *names);
    if (nodes != NULL) {
      nodes[i] = (struct smr_node){
          .op = op, .attrs = attrs, .absorbed = names, .absorbed_count = absorbed};
    }
  }
  if (f != NULL) {
    f->nodes = nodes;
    f->node_count = list.count;
  }
}

// Errors that name an attribute.
static samara_status node_bad_attr(struct smr_decoder *d, const struct smr_node *node,
                                   const struct smr_attr_desc *desc, const char *what) {
  SMR_FAIL(d->error, BAD_MODEL, "%s: attribute %s %s", node->op->name, desc->name, what);
}

static void node_default_attr(const struct smr_attr_desc *desc, struct smr_node_attr *attr) {
  *attr = (struct smr_node_attr){.literal = {.i = desc->default_int, .f = desc->default_f32}};
  attr->is_list = desc->type == SMR_ATTR_DIMS;
  if (desc->type == SMR_ATTR_STRING) attr->literal.text = "";
}

// An attribute that is stored as a scalar at `stored`.
static samara_status node_scalar_attr(struct smr_decoder *d, const struct smr_function *f,
                                      const struct smr_node *node, const struct smr_attr_desc *desc,
                                      const void *stored, struct smr_node_attr *attr) {
  uint32_t word;
  uint8_t byte;
  switch ((enum smr_attr_type)desc->type) {
    case SMR_ATTR_INT:
      memcpy(&attr->literal.i, stored, sizeof attr->literal.i);
      return SAMARA_OK;
    case SMR_ATTR_F32:
      memcpy(&attr->literal.f, stored, sizeof attr->literal.f);
      return SAMARA_OK;
    case SMR_ATTR_BOOL:
    case SMR_ATTR_ENUM:
    case SMR_ATTR_DTYPE:
      memcpy(&byte, stored, sizeof byte);
      attr->literal.i = byte;
      if (desc->type == SMR_ATTR_ENUM && byte >= smr_attr_choice_count(desc)) {
        return node_bad_attr(d, node, desc, "is none of its choices");
      }
      if (desc->type == SMR_ATTR_DTYPE && smr_dtype_bytes(byte) == 0) {
        return node_bad_attr(d, node, desc, "is a dtype unknown to this version");
      }
      return SAMARA_OK;
    case SMR_ATTR_FUNCTION:
      memcpy(&word, stored, sizeof word);
      attr->literal.i = word;
      if (word < d->model->function_count) return SAMARA_OK;
      return node_bad_attr(d, node, desc, "is no function of this file");
    case SMR_ATTR_DIM:
      memcpy(&word, stored, sizeof word);
      if (word == UINT32_MAX) {  // -1: not given
        attr->literal.present = false;
        return SAMARA_OK;
      }
      attr->exprs = (const uint32_t *)stored;  // aligned to 4 by the verifier
      attr->expr_count = 1;
      return smr_decode_check_expr(d, f, word, desc->name);
    default:
      return node_bad_attr(d, node, desc, "has an unknown type");
  }
}

static samara_status node_list_attr(struct smr_decoder *d, const struct smr_function *f,
                                    const struct smr_attr_desc *desc, struct smr_fb_vec list,
                                    struct smr_node_attr *attr) {
  attr->literal.count = list.count;
  switch ((enum smr_attr_type)desc->type) {
    case SMR_ATTR_INTS:
      attr->literal.ints = (const int64_t *)list.data;
      return SAMARA_OK;
    case SMR_ATTR_FLOATS:
      attr->literal.floats = (const float *)list.data;
      return SAMARA_OK;
    case SMR_ATTR_STRING:
      attr->literal.text = (const char *)list.data;
      return SAMARA_OK;
    default:
      break;
  }
  attr->exprs = (const uint32_t *)list.data;
  attr->expr_count = list.count;
  for (uint32_t i = 0; i < list.count; i++) {
    SMR_TRY(smr_decode_check_expr(d, f, attr->exprs[i], desc->name));
  }
  return SAMARA_OK;
}

static samara_status node_fill_attrs(struct smr_decoder *d, uint32_t at,
                                     const struct smr_function *f, struct smr_node *node) {
  const struct smr_attr_desc *descs = &smr_attr_descs[node->op->attr_first];
  struct smr_node_attr *attrs = (struct smr_node_attr *)node->attrs;
  const uint8_t type = smr_fb_u8(&d->fb, at, SMR_FB_NODE_attrs_type, 0);
  const uint32_t table = smr_fb_child(&d->fb, at, SMR_FB_NODE_attrs);
  if (type != 0 && (type != node->op->code || node->op->attr_count == 0)) {
    SMR_FAIL(d->error, BAD_MODEL, "%s (operator %u) has attributes of operator %u", node->op->name,
             (unsigned)node->op->code, (unsigned)type);
  }
  for (uint32_t i = 0; i < node->op->attr_count; i++) {
    const struct smr_attr_desc *desc = &descs[i];
    node_default_attr(desc, &attrs[i]);
    // An attribute's id in its table is its position in the row.
    const void *stored = table != 0 ? smr_fb_scalar(&d->fb, table, i) : NULL;
    if (stored != NULL) {
      const bool list = desc->type == SMR_ATTR_INTS || desc->type == SMR_ATTR_FLOATS ||
                        desc->type == SMR_ATTR_STRING || desc->type == SMR_ATTR_DIMS;
      attrs[i].literal.present = true;
      SMR_TRY(list ? node_list_attr(d, f, desc, smr_fb_vector(&d->fb, table, i), &attrs[i])
                   : node_scalar_attr(d, f, node, desc, stored, &attrs[i]));
    }
    if (desc->required && !attrs[i].literal.present) {
      return node_bad_attr(d, node, desc, "is missing");
    }
  }
  return SAMARA_OK;
}

static samara_status node_check_arity(struct smr_decoder *d, const struct smr_node *node) {
  const struct smr_op *op = node->op;
  const bool good = node->input_count >= op->min_inputs &&
                    (op->max_inputs == UINT8_MAX || node->input_count <= op->max_inputs) &&
                    node->output_count >= op->min_outputs &&
                    (op->max_outputs == UINT8_MAX || node->output_count <= op->max_outputs);
  if (good) return SAMARA_OK;
  SMR_FAIL(d->error, BAD_MODEL, "%s has %u inputs and %u outputs, expected %u to %u and %u to %u",
           op->name, node->input_count, node->output_count, (unsigned)op->min_inputs,
           (unsigned)op->max_inputs, (unsigned)op->min_outputs, (unsigned)op->max_outputs);
}

static samara_status node_fill_operands(struct smr_decoder *d, struct smr_function *f,
                                        uint32_t index, struct smr_node *node) {
  struct smr_value *values = (struct smr_value *)f->values;
  SMR_TRY(node_check_arity(d, node));
  for (uint32_t i = 0; i < node->input_count; i++) {
    const int32_t id = node->inputs[i];
    if (id == -1 && i >= node->op->min_inputs) continue;
    if (id < 0 || (uint32_t)id >= f->value_count || values[id].producer == SMR_VALUE_NOT_MADE) {
      SMR_FAIL(d->error, BAD_MODEL, "input %u is value %d, which is none or not made before", i,
               id);
    }
  }
  for (uint32_t i = 0; i < node->output_count; i++) {
    const uint32_t id = node->outputs[i];
    if (id >= f->value_count || values[id].producer != SMR_VALUE_NOT_MADE) {
      SMR_FAIL(d->error, BAD_MODEL, "output %u is value %u, which is none or made twice", i, id);
    }
    values[id].producer = (int32_t)index;
  }
  return SAMARA_OK;
}

static samara_status node_fill(struct smr_decoder *d, uint32_t at, struct smr_function *f,
                               uint32_t index, struct smr_node *node) {
  if (node->op == NULL) {
    const uint32_t needed = smr_fb_u32(&d->fb, d->root, SMR_FB_MODEL_min_runtime, 0);
    SMR_FAIL(d->error, UNSUPPORTED,
             "operator %u is unknown to samara " SAMARA_VERSION
             "; the file asks for %u.%u.%u or later",
             (unsigned)smr_fb_u16(&d->fb, at, SMR_FB_NODE_op, 0), needed >> 16, needed >> 8 & 0xff,
             needed & 0xff);
  }
  SMR_TRY(smr_op_expect_built(node->op, d->error));
  const struct smr_fb_vec inputs = smr_fb_vector(&d->fb, at, SMR_FB_NODE_inputs);
  const struct smr_fb_vec outputs = smr_fb_vector(&d->fb, at, SMR_FB_NODE_outputs);
  node->inputs = (const int32_t *)inputs.data;
  node->outputs = (const uint32_t *)outputs.data;
  node->input_count = inputs.count;
  node->output_count = outputs.count;
  node->source = smr_fb_i32(&d->fb, at, SMR_FB_NODE_source, -1);
  if (node->source < -1 || node->source >= (int64_t)d->model->source_count) {
    SMR_FAIL(d->error, BAD_MODEL, "source %d of %u", node->source, d->model->source_count);
  }
  const struct smr_fb_vec absorbed = smr_fb_vector(&d->fb, at, SMR_FB_NODE_absorbed);
  const char **names = (const char **)node->absorbed;
  for (uint32_t i = 0; i < absorbed.count; i++) names[i] = smr_fb_element_text(&d->fb, absorbed, i);
  SMR_TRY(node_fill_operands(d, f, index, node));
  return node_fill_attrs(d, at, f, node);
}

samara_status smr_decode_nodes_fill(struct smr_decoder *d, uint32_t at, struct smr_function *f) {
  const struct smr_fb_vec list = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_nodes);
  struct smr_node *nodes = (struct smr_node *)f->nodes;
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t node_at = smr_fb_element(&d->fb, list, i);
    nodes[i].name = smr_fb_text(&d->fb, node_at, SMR_FB_NODE_name);
    const samara_status status = node_fill(d, node_at, f, i, &nodes[i]);
    if (status != SAMARA_OK) {
      return smr_fail_prefix(d->error, status, "node '" SMR_NAME "': ", nodes[i].name);
    }
  }
  for (uint32_t i = 0; i < f->value_count; i++) {
    if (f->values[i].producer == SMR_VALUE_NOT_MADE) {
      SMR_FAIL(d->error, BAD_MODEL, "value '" SMR_NAME "' is made by nothing", f->values[i].name);
    }
  }
  return SAMARA_OK;
}
