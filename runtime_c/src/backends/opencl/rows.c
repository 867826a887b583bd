// SPDX-License-Identifier: Apache-2.0
// All rows of operators, by name.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

// A family's rows where this build has any of its parts, else the empty list: rows that are left
// out would take as much room as others.
static const struct smr_cl_row rows_none[] = {{.op = NULL}};
#define ROWS_OF(family, has) ((has) ? smr_cl_##family##_rows : rows_none)

const struct smr_cl_row *smr_cl_row(const char *op) {
  static const struct smr_cl_row *const families[] = {
      ROWS_OF(conv, SMR_HAS(cl_conv)),
      ROWS_OF(matmul, SMR_HAS(cl_matmul)),
      ROWS_OF(pointwise,
              SMR_HAS(cl_unary) || SMR_HAS(cl_binary) || SMR_HAS(cl_cast) || SMR_HAS(cl_where)),
      ROWS_OF(move, SMR_HAS(cl_raster) || SMR_HAS(cl_pad)),
      ROWS_OF(pool, SMR_HAS(cl_pool)),
      ROWS_OF(reduce, SMR_HAS(cl_reduce) || SMR_HAS(cl_argmax) || SMR_HAS(cl_softmax)),
      ROWS_OF(norm, SMR_HAS(cl_norm) || SMR_HAS(cl_lrn)),
      ROWS_OF(integer, SMR_HAS(type_qint8)),
      ROWS_OF(sample, SMR_HAS(cl_resize) || SMR_HAS(cl_gather)),
      ROWS_OF(attention, SMR_HAS(cl_attention)),
  };
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    for (const struct smr_cl_row *row = families[i]; row->op != NULL; row++)
      if (strcmp(row->op, op) == 0) return row;
  return NULL;
}

#undef ROWS_OF
