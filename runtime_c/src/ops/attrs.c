// SPDX-License-Identifier: Apache-2.0
// The attribute descriptors, from the generated rows, and look-up by name.
#include "base/fp.h"

#include "ops/attrs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct smr_attr_desc smr_attr_descs[] = {
#define SMR_OPATTR(OP, name_, TYPE, required_, default_int_, default_f32_, choices_) \
  {.name = #name_,                                                                   \
   .type = SMR_ATTR_##TYPE,                                                          \
   .required = (required_),                                                          \
   .default_int = (default_int_),                                                    \
   .default_f32 = (default_f32_),                                                    \
   .choices = (choices_)},
#include "ops/opattrs.inc"
#undef SMR_OPATTR
};

const size_t smr_attr_desc_count = sizeof smr_attr_descs / sizeof smr_attr_descs[0];

static const struct smr_attr *attrs_find(const struct smr_job *job, const char *name) {
  const struct smr_attr_desc *rows = smr_attr_descs + job->op->attr_first;
  for (uint32_t i = 0; i < job->op->attr_count; i++)
    if (strcmp(rows[i].name, name) == 0) return &job->attrs[i];
  return NULL;
}

const struct smr_attr *smr_op_attr(const struct smr_job *job, const char *name) {
  const struct smr_attr *attr = attrs_find(job, name);
  assert(attr != NULL);
  return attr;
}

bool smr_op_has_attr(const struct smr_job *job, const char *name) {
  return attrs_find(job, name) != NULL;
}

int64_t smr_attr_choice_count(const struct smr_attr_desc *desc) {
  int64_t count = desc->choices[0] != '\0';
  for (const char *c = desc->choices; *c; c++) count += *c == ',';
  return count;
}
