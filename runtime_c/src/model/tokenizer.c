// SPDX-License-Identifier: Apache-2.0
// The tokenizer in a model's file.
#include "base/fp.h"

#include <samara/samara_text.h>

#include <string.h>

#include "model/model.h"

samara_status samara_tokenizer_of_model(const samara_model *model, samara_tokenizer **out,
                                        samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "out is NULL");
  *out = NULL;
  if (model == NULL) SMR_FAIL(error, BAD_ARGUMENT, "expected a model");
  const struct smr_segment *found = NULL;
  for (uint32_t i = 0; i < model->segment_count; i++) {
    const struct smr_segment *s = &model->segments[i];
    if (strcmp(s->name, SMR_TOKENIZER_SEGMENT) != 0) continue;
    if (found != NULL) SMR_FAIL(error, BAD_MODEL, "the file has two tokenizers");
    found = s;
  }
  if (found == NULL)
    SMR_FAIL(error, NOT_FOUND, "the file has no tokenizer: export the model with one");
  // The segment is in memory, so its size fits size_t.
  return samara_tokenizer_open(smr_model_segment(model, found), (size_t)found->size,
                               &model->allocator, out, error);
}
