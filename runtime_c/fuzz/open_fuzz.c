// SPDX-License-Identifier: Apache-2.0
// Fuzz target: open any bytes as a model, then read everything that describes the model, and use
// its tokenizer.
//
// The header's sizes and checksum are corrected first, with and without checksums of data, so that
// inputs reach the checks after them.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "ops/table/attrs.h"
#include "prepare.h"

#include <samara/samara_media.h>
#include <samara/samara_text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Read everything, so that a sanitizer checks every pointer.
static uint64_t open_touch_function(const struct smr_function *f) {
  uint64_t sum = strlen(f->name);
  for (uint32_t i = 0; i < f->expr_count; i++) sum += f->exprs[i].op + f->expr_stage[i];
  for (uint32_t i = 0; i < f->guard_count; i++)
    sum += f->guard_stage[i] + strlen(f->guards[i].message);
  for (uint32_t i = 0; i < f->value_count; i++) {
    const struct smr_value *v = &f->values[i];
    sum += strlen(v->name);
    for (uint32_t j = 0; j < v->rank; j++) sum += f->exprs[v->dims[j]].op;
    if (v->quant != NULL) sum += (uint64_t)v->quant->zero_points[v->quant->count - 1];
  }
  for (uint32_t i = 0; i < f->node_count; i++) {
    const struct smr_node *n = &f->nodes[i];
    sum += strlen(n->name) + n->stage;
    for (uint32_t j = 0; j < n->absorbed_count; j++) sum += strlen(n->absorbed[j]);
    for (uint32_t j = 0; j < n->op->attr_count; j++) {
      const struct smr_node_attr *a = &n->attrs[j];
      for (uint32_t k = 0; k < a->expr_count; k++) sum += f->exprs[a->exprs[k]].op;
      const uint8_t type = smr_attr_descs[n->op->attr_first + j].type;
      for (uint32_t k = 0; k < a->literal.count; k++) {
        if (type == SMR_ATTR_INTS) sum += (uint64_t)a->literal.ints[k];
        if (type == SMR_ATTR_FLOATS) sum += a->literal.floats[k] > 0;
      }
      for (uint32_t k = 0; type == SMR_ATTR_NAMED && k < a->literal.count; k++) {
        const struct smr_named *v = &a->literal.named[k];
        sum += strlen(v->name) + strlen(v->text);
        for (uint32_t l = 0; l < v->int_count; l++) sum += (uint64_t)v->ints[l];
        for (uint32_t l = 0; l < v->float_count; l++) sum += v->floats[l] > 0;
      }
      if (type == SMR_ATTR_STRING) sum += strlen(a->literal.text);
    }
  }
  return sum;
}

static uint64_t open_touch(const samara_model *model) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < model->function_count; i++)
    sum += open_touch_function(&model->functions[i]);
  for (uint32_t i = 0; i < model->constant_count; i++) {
    const struct smr_constant *c = &model->constants[i];
    if (c->size_bytes != 0) sum += ((const uint8_t *)c->data)[c->size_bytes - 1];
  }
  for (uint32_t i = 0; i < model->metadata_count; i++) {
    sum += strlen(model->metadata[i].key) + strlen(model->metadata[i].value);
  }
  for (uint32_t i = 0; i < model->source_count; i++) sum += strlen(model->sources[i].detail);
  samara_tensor_info info;
  for (size_t e = 0; e < samara_model_function_count(model); e++) {
    const char *name = samara_model_function_name(model, e);
    for (size_t i = 0; i < samara_model_input_count(model, name); i++) {
      sum += samara_model_input_info(model, name, i, &info) == SAMARA_OK && info.name[0];
      samara_image_record record = {.struct_size = sizeof record};
      if (samara_model_image_record(model, name, i, &record) == SAMARA_OK) sum += record.fill[0];
    }
    for (size_t i = 0; i < samara_model_output_count(model, name); i++) {
      sum += samara_model_output_info(model, name, i, &info) == SAMARA_OK && info.name[0];
    }
  }
  return sum;
}

static uint64_t open_touch_tokenizer(const samara_model *model) {
  static const char text[] = "ab c<x> <b>_a ??";
  samara_tokenizer *tokenizer = NULL;
  samara_error error = {SAMARA_OK, ""};
  const samara_status status = samara_tokenizer_of_model(model, &tokenizer, &error);
  if ((status == SAMARA_OK) != (tokenizer != NULL)) abort();
  if (status != SAMARA_OK) return error.text[0] == 0;
  int32_t ids[64];
  size_t count = 0, bytes = 0;
  if (samara_tokenizer_encode(tokenizer, text, sizeof text - 1, SAMARA_TEXT_ADD_SPECIAL, ids, 64,
                              &count, &error) == SAMARA_OK)
    (void)samara_tokenizer_decode(tokenizer, ids, count < 64 ? count : 64, 0, NULL, 0, &bytes,
                                  &error);
  samara_tokenizer_close(tokenizer);
  return count + bytes;
}

static void open_one(const uint8_t *data, size_t size, bool sealed) {
  uint8_t *bytes = fuzz_prepare(data, size, sealed);
  if (bytes == NULL) return;
  samara_model *model = NULL;
  samara_error error;
  const samara_model_options options = {.struct_size = sizeof options,
                                        .verify = SAMARA_VERIFY_NEVER};
  const samara_status status = samara_model_open_memory(bytes, size, &options, &model, &error);
  if ((status == SAMARA_OK) != (model != NULL)) abort();
  // Use the sums, so that they are computed.
  if (model != NULL && open_touch(model) + open_touch_tokenizer(model) == UINT64_MAX) abort();
  if (model != NULL && samara_model_verify(model, &error) == SAMARA_OK && !sealed) abort();
  samara_model_close(model);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  open_one(data, size, false);
  open_one(data, size, true);
  return 0;
}
