// SPDX-License-Identifier: Apache-2.0
// The attribute descriptors, built from the generated rows.
#include "base/fp.h"

#include "ops/table/attrs.h"

#include <math.h>
#include <string.h>

// All names in one block: pointers in the rows would take more room and need relocations.
static const struct attrs_names {
#define SMR_OPATTR(OP, name, TYPE, required, default_int, default_f32, choice_count, choices) \
  char OP##_##name[sizeof #name];
#include "ops/table/opattrs.inc"
#undef SMR_OPATTR
  char end[1];  // a build may have no attributes
} attrs_names = {
#define SMR_OPATTR(OP, name, TYPE, required, default_int, default_f32, choice_count, choices) #name,
#include "ops/table/opattrs.inc"
#undef SMR_OPATTR
    "",
};

const struct smr_attr_desc smr_attr_descs[SMR_ATTR_DESC_COUNT + 1] = {
#define SMR_OPATTR(OP, name_, TYPE, required_, default_int_, default_f32_, choice_count, choices_) \
  {.name = offsetof(struct attrs_names, OP##_##name_),                                             \
   .type = SMR_ATTR_##TYPE,                                                                        \
   .required = (required_),                                                                        \
   .choices = (choice_count),                                                                      \
   .default_int = (default_int_),                                                                  \
   .default_f32 = (default_f32_)},
#include "ops/table/opattrs.inc"
#undef SMR_OPATTR
    {.name = offsetof(struct attrs_names, end)},
};

const char *smr_attr_name(const struct smr_attr_desc *desc) {
  return (const char *)&attrs_names + desc->name;
}

const char *smr_attr_choices(const struct smr_attr_desc *desc) {
  static const char *const choices[] = {
#define SMR_OPATTR(OP, name, TYPE, required, default_int, default_f32, choice_count, choices) \
  (choices),
#include "ops/table/opattrs.inc"
#undef SMR_OPATTR
      "",
  };
  return choices[desc - smr_attr_descs];
}

bool smr_attr_is(const struct smr_job *job, size_t index, const char *name) {
  return index < job->op->attr_count &&
         strcmp(smr_attr_name(&smr_attr_descs[job->op->attr_first + index]), name) == 0;
}
