// SPDX-License-Identifier: Apache-2.0
// The operator `custom`: runs an operator of the application, found by name.
#include "base/fp.h"

#include "session/control/control.h"

#include <string.h>

#include "ops/table/attrs.h"
#include "ops/table/opattrs.h"

struct smr_custom_state {
  const samara_custom_op *op;
  samara_custom_call call;
  samara_error error;
  samara_tensor *inputs, *outputs;
  samara_attribute *attributes;
};

static const samara_custom_op *custom_at(const struct smr_custom_ops *custom, size_t index) {
  const uint8_t *first = (const uint8_t *)custom->ops;
  return (const samara_custom_op *)(const void *)(first + index * custom->ops->struct_size);
}

samara_status smr_custom_check_options(const struct smr_custom_ops *custom, samara_error *error) {
  if (custom->ops == NULL) SMR_FAIL(error, BAD_ARGUMENT, "custom_op_count without custom_ops");
  for (size_t i = 0; i < custom->count; i++) {
    const samara_custom_op *op = custom_at(custom, i);
    if (op->struct_size < sizeof *op || op->struct_size != custom->ops->struct_size)
      SMR_FAIL(error, BAD_ARGUMENT, "custom operator %zu: struct_size is %zu, not %zu", i,
               op->struct_size, sizeof *op);
    if (op->name == NULL || op->run == NULL)
      SMR_FAIL(error, BAD_ARGUMENT, "custom operator %zu needs a name and run", i);
  }
  return SAMARA_OK;
}

// ---- attributes ----

// Files up to 0.6 store attributes as one string: `keys` holds name, kind and count or text of
// each, separated by 0x1f.

struct custom_words {
  const char *at, *end;
};

// A NUL-terminated copy of the next word; NULL if memory is exhausted.
static char *custom_word(struct smr_common *common, struct custom_words *words) {
  const char *stop = words->at;
  while (stop < words->end && *stop != '\x1f') stop++;
  const size_t length = (size_t)(stop - words->at);
  char *word = smr_session_take(common, length + 1, 1);
  if (word != NULL) memcpy(word, words->at, length);
  words->at = stop < words->end ? stop + 1 : stop;
  return word;
}

static bool custom_count(const char *word, uint32_t *out) {
  uint32_t value = 0;
  if (*word == '\0') return false;
  for (; *word != '\0'; word++) {
    if (*word < '0' || *word > '9' || value > 100000000) return false;
    value = value * 10 + (uint32_t)(*word - '0');
  }
  *out = value;
  return true;
}

static samara_status custom_joined(struct smr_common *common, struct smr_frame_node *node) {
  struct smr_custom_state *custom = node->control;
  const struct smr_attr *keys = &node->attrs[SMR_ATTR_INDEX(custom, keys)];
  const struct smr_attr *ints = &node->attrs[SMR_ATTR_INDEX(custom, ints)];
  const struct smr_attr *floats = &node->attrs[SMR_ATTR_INDEX(custom, floats)];
  struct custom_words words = {.at = keys->text, .end = keys->text + keys->count};
  if (keys->text == NULL || keys->count == 0) return SAMARA_OK;
  size_t count = 1;
  for (uint32_t i = 0; i < keys->count; i++) count += keys->text[i] == '\x1f';
  if (count % 3 != 0) goto malformed;
  count /= 3;
  SMR_TAKE(common, custom->attributes, count);
  uint32_t used_ints = 0, used_floats = 0;
  for (size_t i = 0; i < count; i++) {
    samara_attribute *a = &custom->attributes[i];
    const char *name = custom_word(common, &words), *kind = custom_word(common, &words);
    const char *text = custom_word(common, &words);
    uint32_t n = 0;
    if (name == NULL || kind == NULL || text == NULL) return SAMARA_OUT_OF_MEMORY;
    a->name = name;
    if (strcmp(kind, "s") == 0) {
      a->text = text;
    } else if (strcmp(kind, "i") == 0 && custom_count(text, &n) && n <= ints->count - used_ints) {
      a->ints = ints->ints + used_ints;
      used_ints += n;
    } else if (strcmp(kind, "f") == 0 && custom_count(text, &n) &&
               n <= floats->count - used_floats) {
      a->floats = floats->floats + used_floats;
      used_floats += n;
    } else {
      goto malformed;
    }
    a->count = n;
  }
  custom->call.attributes = custom->attributes;
  custom->call.attribute_count = count;
  return SAMARA_OK;
malformed:
  SMR_FAIL(common->error, BAD_MODEL, "malformed attributes of a custom operator");
}

static samara_status custom_attributes(struct smr_common *common, struct smr_frame_node *node) {
  struct smr_custom_state *custom = node->control;
  const struct smr_attr *given = &node->attrs[SMR_ATTR_INDEX(custom, attributes)];
  if (given->count == 0) return custom_joined(common, node);
  SMR_TAKE(common, custom->attributes, given->count);
  for (uint32_t i = 0; i < given->count; i++) {
    const struct smr_named *v = &given->named[i];
    samara_attribute *a = &custom->attributes[i];
    a->name = v->name;
    if (v->kind == SMR_NAMED_TEXT) a->text = v->text;
    if (v->kind == SMR_NAMED_INTS) a->ints = v->ints;
    if (v->kind == SMR_NAMED_FLOATS) a->floats = v->floats;
    a->count = v->kind == SMR_NAMED_INTS     ? v->int_count
               : v->kind == SMR_NAMED_FLOATS ? v->float_count
                                             : 0;
  }
  custom->call.attributes = custom->attributes;
  custom->call.attribute_count = given->count;
  return SAMARA_OK;
}

// ---- building ----

static samara_status custom_find(struct smr_frame_node *node, const struct smr_custom_ops *ops) {
  struct smr_custom_state *custom = node->control;
  const struct smr_attr *name = &node->attrs[SMR_ATTR_INDEX(custom, name)];
  const char *text = name->text != NULL ? name->text : "";
  for (size_t i = 0; i < ops->count && custom->op == NULL; i++) {
    const samara_custom_op *op = custom_at(ops, i);
    if (strlen(op->name) == name->count && memcmp(op->name, text, name->count) == 0)
      custom->op = op;
  }
  if (custom->op == NULL)
    SMR_FAIL(node->job.error, UNSUPPORTED,
             "needs the custom operator '%.*s', which is not in the session options' custom_ops",
             (int)(name->count < 200 ? name->count : 200), text);
  if (node->late && custom->op->measure == NULL)
    SMR_FAIL(node->job.error, UNSUPPORTED,
             "its output dims depend on data, but custom operator '%s' has no `measure`",
             custom->op->name);
  return SAMARA_OK;
}

samara_status smr_custom_build(struct smr_frame *frame, struct smr_frame_node *node,
                               const struct smr_custom_ops *ops) {
  struct smr_common *common = frame->common;
  struct smr_custom_state *custom;
  const struct smr_job *job = &node->job;
  SMR_TAKE(common, custom, 1);
  node->control = custom;
  node->late = false;
  for (uint32_t i = 0; i < job->output_count; i++)
    if (frame->values[node->node->outputs[i]].dims_stage > node->node->stage) node->late = true;
  SMR_TRY(custom_find(node, ops));
  SMR_TAKE(common, custom->inputs, job->input_count);
  SMR_TAKE(common, custom->outputs, job->output_count);
  custom->call = (samara_custom_call){.struct_size = sizeof custom->call,
                                      .inputs = custom->inputs,
                                      .input_count = job->input_count,
                                      .outputs = custom->outputs,
                                      .output_count = job->output_count,
                                      .user = custom->op->user,
                                      .error = &custom->error};
  node->job.kernel = custom->op->name;
  return custom_attributes(common, node);
}

// ---- calling ----

// Fill the operator's view of the call. Unknown output dims are -1.
static void custom_fill(struct smr_frame *frame, struct smr_frame_node *node, bool with_data) {
  struct smr_custom_state *custom = node->control;
  const struct smr_job *job = &node->job;
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < job->input_count; i++) {
    custom->inputs[i] = (samara_tensor){0};
    if (job->inputs[i] == NULL) continue;
    smr_public_tensor(job->inputs[i], with_data ? job->inputs[i]->data : NULL, &custom->inputs[i]);
  }
  for (uint32_t i = 0; i < job->output_count; i++) {
    smr_public_tensor(job->outputs[i], with_data ? job->outputs[i]->data : NULL,
                      &custom->outputs[i]);
    const struct smr_value *v = &f->values[node->node->outputs[i]];
    for (uint32_t axis = 0; !with_data && axis < v->rank; axis++)
      if (f->expr_stage[v->dims[axis]] > node->node->stage) custom->outputs[i].shape[axis] = -1;
  }
}

static samara_status custom_result(struct smr_frame *frame, const struct smr_frame_node *node,
                                   samara_status status, const char *step) {
  const struct smr_custom_state *custom = node->control;
  if (status == SAMARA_OK) return SAMARA_OK;
  SMR_FAIL(frame->common->error, CUSTOM_OP, "%s of custom operator '%s' failed: %s", step,
           custom->op->name,
           custom->error.text[0] != '\0' ? custom->error.text : samara_status_text(status));
}

static samara_status custom_prepare(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_custom_state *custom = node->control;
  size_t bytes = 0;
  if (custom->op->prepare != NULL)
    SMR_TRY(custom_result(frame, node, custom->op->prepare(&custom->call, &bytes), "prepare"));
  node->job.scratch_bytes = bytes;
  node->prepared = true;
  return SAMARA_OK;
}

samara_status smr_custom_check(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_custom_state *custom = node->control;
  custom->error = (samara_error){.status = SAMARA_OK};
  custom_fill(frame, node, false);
  for (uint32_t i = 0; i < node->job.input_count; i++)
    if (node->job.inputs[i] != NULL && node->job.inputs[i]->layout != SMR_LAYOUT_PLAIN)
      SMR_FAIL(frame->common->error, BAD_MODEL, "input %u is packed; only weights may be",
               (unsigned)i);
  if (custom->op->check != NULL)
    SMR_TRY(custom_result(frame, node, custom->op->check(&custom->call), "check"));
  return node->late ? SAMARA_OK : custom_prepare(frame, node);
}

samara_status smr_custom_run(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_custom_state *custom = node->control;
  custom->error = (samara_error){.status = SAMARA_OK};
  if (node->late) {
    for (uint32_t i = 0; i < node->job.output_count; i++)
      SMR_TRY(smr_value_known_dims(frame, node->node->outputs[i], node->node->stage));
    custom_fill(frame, node, true);
    SMR_TRY(custom_result(frame, node, custom->op->measure(&custom->call), "measure"));
    for (uint32_t i = 0; i < node->job.output_count; i++)
      SMR_TRY(smr_value_settle(frame, node, i, custom->outputs[i].shape));
    custom_fill(frame, node, true);
    SMR_TRY(custom_prepare(frame, node));
    SMR_TRY(smr_node_attach_scratch(frame, node));
  }
  custom_fill(frame, node, true);
  custom->call.scratch = node->job.scratch;
  const samara_status status = custom->op->run(&custom->call);
  custom->call.scratch = NULL;
  return custom_result(frame, node, status, "run");
}
