// SPDX-License-Identifier: Apache-2.0
// All rows of operators, by name.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

static const struct smr_cl_row *rows_find(const struct smr_cl_row *rows, const char *op) {
  for (; rows->op != NULL; rows++)
    if (strcmp(rows->op, op) == 0) return rows;
  return NULL;
}

// Families without a part in this build are left out, because their rows would take space.
const struct smr_cl_row *smr_cl_row(const char *op) {
  const struct smr_cl_row *row = NULL;
#define FIND(family, has) \
  if ((has) && row == NULL) row = rows_find(smr_cl_##family##_rows(), op)
  FIND(conv, SMR_HAS(cl_conv));
  FIND(matmul, SMR_HAS(cl_matmul));
  FIND(pointwise, SMR_HAS(cl_unary) || SMR_HAS(cl_binary) || SMR_HAS(cl_cast) || SMR_HAS(cl_where));
  FIND(move, SMR_HAS(cl_raster) || SMR_HAS(cl_pad));
  FIND(pool, SMR_HAS(cl_pool));
  FIND(reduce,
       SMR_HAS(cl_reduce) || SMR_HAS(cl_argmax) || SMR_HAS(cl_softmax) || SMR_HAS(cl_cumsum));
  FIND(norm, SMR_HAS(cl_norm) || SMR_HAS(cl_lrn));
  FIND(qproduct, SMR_HAS(cl_qconv) || SMR_HAS(cl_qmatmul));
  FIND(integer, SMR_HAS(type_qint8));
  FIND(sample, SMR_HAS(cl_resize));
  FIND(attention, SMR_HAS(cl_attention));
  FIND(recurrent, SMR_HAS(cl_recurrent));
  FIND(indexed, SMR_HAS(cl_indexed));
#undef FIND
  return row;
}
