// SPDX-License-Identifier: Apache-2.0
// Attributes of a prepared operator: checks those given by the caller against the row and adds
// defaults.
#include "base/fp.h"

#include "session/eager/eager.h"

#include <string.h>

#include "ops/table/attrs.h"

static samara_status eager_bad_attr(const struct smr_op *row, const struct smr_attr_desc *desc,
                                    const char *what, samara_error *error) {
  SMR_FAIL(error, BAD_ARGUMENT, "%s: attribute '%s' %s", row->name, smr_attr_name(desc), what);
}

static bool eager_is_int(const samara_attribute *given) {
  return given->ints != NULL && given->text == NULL && given->floats == NULL && given->count == 1;
}

// Position of `name` in a list of names joined by commas, -1 if it is none of them.
static int64_t eager_choice(const char *choices, const char *name) {
  const size_t length = strlen(name);
  for (int64_t i = 0; *choices != '\0'; i++) {
    const size_t n = strcspn(choices, ",");
    if (n == length && memcmp(choices, name, n) == 0) return i;
    choices += n + (choices[n] == ',');
  }
  return -1;
}

static samara_status eager_enum(const struct smr_op *row, const struct smr_attr_desc *desc,
                                const samara_attribute *given, struct smr_attr *out,
                                samara_error *error) {
  if (given->text != NULL)
    out->i = eager_choice(smr_attr_choices(desc), given->text);
  else if (eager_is_int(given))
    out->i = given->ints[0];
  else
    return eager_bad_attr(row, desc, "takes one of its choices, by name or number", error);
  if (out->i >= 0 && out->i < desc->choices) return SAMARA_OK;
  SMR_FAIL(error, BAD_ARGUMENT, "%s: attribute '%s' takes one of %s", row->name,
           smr_attr_name(desc), smr_attr_choices(desc));
}

static samara_status eager_dtype(const struct smr_op *row, const struct smr_attr_desc *desc,
                                 const samara_attribute *given, struct smr_attr *out,
                                 samara_error *error) {
  out->i = 0;
  if (given->text != NULL) {
    for (uint8_t code = 1; smr_dtype_bytes(code) != 0; code++)
      if (strcmp(smr_dtype_name(code), given->text) == 0) out->i = code;
  } else if (eager_is_int(given) && given->ints[0] >= 0 && given->ints[0] <= UINT8_MAX) {
    out->i = given->ints[0];
  }
  if (smr_dtype_bytes((uint8_t)out->i) != 0) return SAMARA_OK;
  return eager_bad_attr(row, desc, "takes a dtype, by name or number", error);
}

static samara_status eager_floats(const struct smr_op *row, const struct smr_attr_desc *desc,
                                  const samara_attribute *given, struct smr_attr *out,
                                  struct smr_bump *bump, samara_error *error) {
  if (given->count != 0 && (given->floats == NULL) == (given->ints == NULL))
    return eager_bad_attr(row, desc, "takes a list of floats", error);
  float *copy = smr_bump_take(bump, given->count, sizeof *copy);
  for (size_t i = 0; copy != NULL && i < given->count; i++)
    copy[i] = given->floats != NULL ? given->floats[i] : (float)given->ints[i];
  out->floats = copy;
  out->count = (uint32_t)given->count;
  return SAMARA_OK;
}

static samara_status eager_ints(const struct smr_op *row, const struct smr_attr_desc *desc,
                                const samara_attribute *given, struct smr_attr *out,
                                struct smr_bump *bump, samara_error *error) {
  if (given->count != 0 && (given->ints == NULL || given->floats != NULL))
    return eager_bad_attr(row, desc, "takes a list of integers", error);
  int64_t *copy = smr_bump_take(bump, given->count, sizeof *copy);
  if (copy != NULL) memcpy(copy, given->ints, given->count * sizeof *copy);
  out->ints = copy;
  out->count = (uint32_t)given->count;
  return SAMARA_OK;
}

static samara_status eager_value(const struct smr_op *row, const struct smr_attr_desc *desc,
                                 const samara_attribute *given, struct smr_attr *out,
                                 struct smr_bump *bump, samara_error *error) {
  out->present = true;
  if (given->count > UINT32_MAX) return eager_bad_attr(row, desc, "is too long", error);
  const bool named = desc->type == SMR_ATTR_ENUM || desc->type == SMR_ATTR_DTYPE;
  if (given->text != NULL && !named) return eager_bad_attr(row, desc, "takes no text", error);
  switch ((enum smr_attr_type)desc->type) {
    case SMR_ATTR_INT:
    case SMR_ATTR_DIM:
    case SMR_ATTR_BOOL:
      if (!eager_is_int(given)) return eager_bad_attr(row, desc, "takes one integer", error);
      out->i = given->ints[0];
      if (desc->type == SMR_ATTR_BOOL && out->i != 0 && out->i != 1)
        return eager_bad_attr(row, desc, "takes 0 or 1", error);
      return SAMARA_OK;
    case SMR_ATTR_F32:
      if (given->count != 1 || (given->floats == NULL) == (given->ints == NULL))
        return eager_bad_attr(row, desc, "takes one number", error);
      out->f = given->floats != NULL ? given->floats[0] : (float)given->ints[0];
      return SAMARA_OK;
    case SMR_ATTR_ENUM:
      return eager_enum(row, desc, given, out, error);
    case SMR_ATTR_DTYPE:
      return eager_dtype(row, desc, given, out, error);
    case SMR_ATTR_FLOATS:
      return eager_floats(row, desc, given, out, bump, error);
    case SMR_ATTR_INTS:
    case SMR_ATTR_DIMS:
      return eager_ints(row, desc, given, out, bump, error);
    case SMR_ATTR_STRING:
    case SMR_ATTR_FUNCTION:
    case SMR_ATTR_NAMED:
      break;
  }
  return eager_bad_attr(row, desc, "only has a meaning in a model", error);
}

// The attribute named `desc->name`, which may occur once; NULL if there is none.
static samara_status eager_find(const struct smr_op *row, const struct smr_attr_desc *desc,
                                const samara_op_desc *given, const samara_attribute **out,
                                samara_error *error) {
  *out = NULL;
  for (size_t i = 0; i < given->attribute_count; i++) {
    if (strcmp(given->attributes[i].name, smr_attr_name(desc)) != 0) continue;
    if (*out != NULL) return eager_bad_attr(row, desc, "is given twice", error);
    *out = &given->attributes[i];
  }
  return SAMARA_OK;
}

static samara_status eager_known(const struct smr_op *row, const samara_op_desc *given,
                                 samara_error *error) {
  const struct smr_attr_desc *descs = &smr_attr_descs[row->attr_first];
  for (size_t i = 0; i < given->attribute_count; i++) {
    const char *name = given->attributes[i].name;
    if (name == NULL) SMR_FAIL(error, BAD_ARGUMENT, "%s: attribute %zu has no name", row->name, i);
    bool known = false;
    for (uint32_t k = 0; k < row->attr_count; k++)
      known |= strcmp(smr_attr_name(&descs[k]), name) == 0;
    if (!known) SMR_FAIL(error, BAD_ARGUMENT, "%s: there is no attribute '%s'", row->name, name);
  }
  return SAMARA_OK;
}

samara_status smr_eager_attrs(const struct smr_op *row, const samara_op_desc *desc,
                              struct smr_attr *attrs, struct smr_bump *bump, samara_error *error) {
  const struct smr_attr_desc *descs = &smr_attr_descs[row->attr_first];
  SMR_TRY(eager_known(row, desc, error));
  for (uint32_t i = 0; i < row->attr_count; i++) {
    const samara_attribute *given;
    struct smr_attr value = {.i = descs[i].default_int, .f = descs[i].default_f32};
    SMR_TRY(eager_find(row, &descs[i], desc, &given, error));
    if (given != NULL)
      SMR_TRY(eager_value(row, &descs[i], given, &value, bump, error));
    else if (descs[i].required)
      return eager_bad_attr(row, &descs[i], "is missing", error);
    if (attrs != NULL) attrs[i] = value;
  }
  return SAMARA_OK;
}
