// SPDX-License-Identifier: Apache-2.0
// I8_ROWS(mr, step, tile): the kernel for mr rows, which calls `tile` for every `step` columns,
// from `at` on. The including file undefines it.
#define I8_ROWS(mr, step, tile)                                                     \
  static size_t N(i8_gemm_rows_##mr)(const struct smr_i8_gemm_rows *call) {         \
    struct smr_i8_gemm_rows at = *call;                                             \
    for (size_t j = 0; j < call->columns; j = smr_i8_gemm_next(&at, j, step)) tile; \
    return 0;                                                                       \
  }
