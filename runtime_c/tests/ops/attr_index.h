// SPDX-License-Identifier: Apache-2.0
// Attributes by name, for tests.
#ifndef SMR_TESTS_ATTR_INDEX_H
#define SMR_TESTS_ATTR_INDEX_H

#include <string.h>

#include "ops/table/attrs.h"

/// Position of the attribute `name` among those of the operator, -1 if there is none.
static inline int attr_index(const struct smr_op *op, const char *name) {
  for (int i = 0; i < op->attr_count; i++)
    if (strcmp(smr_attr_name(&smr_attr_descs[op->attr_first + i]), name) == 0) return i;
  return -1;
}

#endif
