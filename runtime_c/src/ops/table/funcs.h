// SPDX-License-Identifier: Apache-2.0
// Declares smr_op_<name>_funcs of every operator that is not a control operator.
#ifndef SMR_OPS_FUNCS_H
#define SMR_OPS_FUNCS_H

#include "ops/op.h"

// Rows of class `control` have no functions. Token pasting tests the class name: only
// SMR_CLASS_IS_control is defined, and its comma shifts the second choice into second position.
#define SMR_CLASS_IS_control ~,
#define SMR_FUNCS_SECOND(a, b, ...) b
#define SMR_FUNCS_PICK(...) SMR_FUNCS_SECOND(__VA_ARGS__)
/// Expands to `control` in rows of that class and to `other` in all others.
#define SMR_IF_CONTROL(class, control, other) SMR_FUNCS_PICK(SMR_CLASS_IS_##class control, other, ~)

#define SMR_OP(NAME, code, name, class, min_in, max_in, min_out, max_out, attr_first, attr_count, \
               flags, measured, dtypes, form, shapes)                                             \
  SMR_IF_CONTROL(class, , extern const struct smr_op_funcs smr_op_##name##_funcs;)
#include "ops/table/opdefs.inc"
#undef SMR_OP

#endif
