// SPDX-License-Identifier: Apache-2.0
// All rows of operators, by name.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

const struct smr_cl_row *smr_cl_row(const char *op) {
  static const struct smr_cl_row *const families[] = {
      smr_cl_conv_rows,   smr_cl_matmul_rows,    smr_cl_pointwise_rows, smr_cl_move_rows,
      smr_cl_pool_rows,   smr_cl_reduce_rows,    smr_cl_norm_rows,      smr_cl_integer_rows,
      smr_cl_sample_rows, smr_cl_attention_rows, smr_cl_recurrent_rows, smr_cl_indexed_rows,
  };
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    for (const struct smr_cl_row *row = families[i]; row->op != NULL; row++)
      if (strcmp(row->op, op) == 0) return row;
  return NULL;
}
