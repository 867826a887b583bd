// SPDX-License-Identifier: Apache-2.0
// Attribute descriptors, generated from the op table, and access to a node's attributes.
#ifndef SMR_OPS_ATTRS_H
#define SMR_OPS_ATTRS_H

#include "ops/op.h"
#include "ops/table/opattrs.h"

#include <assert.h>

/// Attribute types. struct smr_attr says which field holds the value.
enum smr_attr_type {
  SMR_ATTR_INT,
  SMR_ATTR_BOOL,
  SMR_ATTR_F32,
  SMR_ATTR_ENUM,
  SMR_ATTR_DTYPE,
  SMR_ATTR_INTS,
  SMR_ATTR_FLOATS,
  SMR_ATTR_STRING,
  SMR_ATTR_DIM,
  SMR_ATTR_DIMS,
  SMR_ATTR_FUNCTION,
  SMR_ATTR_NAMED,
};

/// One attribute of one operator. An operator owns op->attr_count rows from op->attr_first on.
struct smr_attr_desc {
  uint16_t name;        // smr_attr_name
  uint8_t type;         // enum smr_attr_type
  bool required;        // has no default: every node must state it
  uint8_t choices;      // enum: number of choices
  int16_t default_int;  // int, bool, enum, dtype, dim; the default of a list is empty
  float default_f32;
};

enum {
  /// Rows of smr_attr_descs without the terminator.
  SMR_ATTR_DESC_COUNT = 0
#define SMR_OPATTR(OP, name, TYPE, required, default_int, default_f32, choice_count, choices) +1
#include "ops/table/opattrs.inc"
#undef SMR_OPATTR
};

// Declared with its size: a single-file build makes it internal, and ISO C then requires a complete
// type.
extern const struct smr_attr_desc smr_attr_descs[SMR_ATTR_DESC_COUNT + 1];

/// Position of attribute NAME among those of operator OP.
#define SMR_ATTR_INDEX(OP, NAME) (offsetof(struct smr_attrs_##OP, NAME) / sizeof(struct smr_attr))

/// Attribute NAME of a node of operator OP, as in SMR_ATTR(job, conv, groups)->i. The generated
/// struct says which field holds the value. An unknown name does not compile.
///
/// A function that serves several operators names one of them. All must have the attribute at the
/// same index; builds with assertions check this.
#define SMR_ATTR(job, OP, NAME) \
  (&((const struct smr_attrs_##OP *)smr_attrs_of((job), SMR_ATTR_INDEX(OP, NAME), #NAME))->NAME)

/// Attributes that operators share, as in SMR_ATTR_GROUP(job, conv, window)->strides.
#define SMR_ATTR_GROUP(job, OP, GROUP)                                             \
  (&((const struct smr_attrs_##OP *)smr_attrs_of((job), SMR_ATTR_INDEX(OP, GROUP), \
                                                 SMR_ATTR_GROUP_FIRST_##GROUP))    \
        ->GROUP)

/// For assertions: whether the node's attribute at `index` has this name.
bool smr_attr_is(const struct smr_job *job, size_t index, const char *name);

/// The node's attributes. Asserts that `name` is at `index`.
static inline const void *smr_attrs_of(const struct smr_job *job, size_t index, const char *name) {
  assert(smr_attr_is(job, index, name));
  (void)index;
  (void)name;
  return job->attrs;
}

/// The attribute's name.
const char *smr_attr_name(const struct smr_attr_desc *desc);

/// The names of an enum's choices, joined by ','; "" for other types. `desc` is a row of
/// smr_attr_descs.
const char *smr_attr_choices(const struct smr_attr_desc *desc);

#endif
