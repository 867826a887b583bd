// SPDX-License-Identifier: Apache-2.0
// The kernel table.
#include "base/fp.h"

#include "ops/algorithm.h"
#include "ops/op_harness.h"
#include "ops/widen.h"

#include <string.h>

SMR_TEST(rows) {
  size_t rows = 0;
  for (uint32_t code = 0; code <= UINT16_MAX; code++) {
    const struct smr_op *op = smr_op_find((uint16_t)code);
    if (op == NULL) continue;
    rows++;
    CHECK_EQ_INT(op->code, code);
    CHECK(op->min_inputs <= op->max_inputs);
    CHECK(op->min_outputs <= op->max_outputs);
    const bool control = (op->flags & SMR_OP_CONTROL) != 0;
    CHECK((op->funcs == NULL) == control);
    CHECK((op->check_class == NULL) == control);
    if (control) continue;
    CHECK(op->funcs->prepare != NULL);
    const struct smr_algorithms *table =
        op->funcs->prepare == smr_prepare_algorithm ? op->funcs->algorithms : NULL;
    CHECK(op->funcs->run == NULL || table == NULL);
    if (op->funcs->prepare == smr_widen_prepare) CHECK(op->funcs->float32_prepare != NULL);
    for (size_t i = 0; table != NULL && i < table->count; i++) {
      const struct smr_algorithm *row = table->rows[i];
      if (!CHECK(row != NULL)) continue;
      CHECK(row->prepare != NULL && row->run != NULL);
      CHECK((row->work == NULL) == (table->rows[0]->work == NULL));
      CHECK(i == 0 || row->loose || !table->rows[i - 1]->loose);  // loose rows are the last
      CHECK(row->part < SMR_PART_COUNT && strchr(row->name, ' ') == NULL);
      for (size_t k = 0; k < i; k++)  // rows of one name exclude each other
        CHECK(strcmp(row->name, table->rows[k]->name) != 0 || row->fits != table->rows[k]->fits);
    }
  }
  CHECK(rows > 100);
  CHECK(smr_op_find(0) == NULL);
  CHECK(smr_op_find(UINT16_MAX) == NULL);
  CHECK_STR(smr_op_find(50)->name, "add");
}

SMR_TEST(dtypes) {
  CHECK_EQ_INT(smr_dtype_bytes(0), 0);
  CHECK_EQ_INT(smr_dtype_bytes(SAMARA_FLOAT16), 2);
  CHECK_EQ_INT(smr_dtype_bytes(SAMARA_INT64), 8);
  CHECK_EQ_INT(smr_dtype_bytes(SAMARA_BOOL), 1);
  CHECK_EQ_INT(smr_dtype_bytes(SAMARA_BFLOAT16), 2);
  CHECK_EQ_INT(smr_dtype_bytes(SAMARA_UINT64), 8);
  CHECK_EQ_INT(smr_dtype_bytes(SAMARA_UINT4), 1);
  CHECK_EQ_INT(smr_dtype_bytes(SAMARA_UINT4 + 1), 0);
  CHECK_EQ_INT(smr_packed_bytes(SAMARA_INT4, 5), 3);
  CHECK_EQ_INT(smr_packed_bytes(SAMARA_UINT4, SIZE_MAX), SIZE_MAX / 2 + 1);
  CHECK_EQ_INT(smr_packed_bytes(SAMARA_INT8, 5), 5);
  CHECK_EQ_INT(smr_dtype_bytes(255), 0);
  CHECK_STR(smr_dtype_name(SAMARA_QINT8), "qint8");
  CHECK_STR(smr_dtype_name(0), "?");
  CHECK_STR(smr_dtype_name(200), "?");
}

SMR_TEST_MAIN(RUN(rows); RUN(dtypes))
