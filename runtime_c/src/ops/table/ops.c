// SPDX-License-Identifier: Apache-2.0
// The op table: generated rows joined with the functions of the operator families.
#include "base/fp.h"

#include "base/checked.h"
#include "ops/check/check.h"
#include "ops/op.h"
#include "ops/table/funcs.h"

// A build that only runs models keeps the names of training operators but drops their functions;
// the linker then removes unused code.
#ifdef SMR_NO_TRAINING
#define OP_UNLESS_DROPPED(flags, function) ((flags) & SMR_OP_TRAINING ? NULL : (function))
#else
#define OP_UNLESS_DROPPED(flags, function) (function)
#endif

// The shape strings of all rows in one block: pointers in the rows would take more room.
static const struct op_shapes {
#define SMR_OP(NAME, code, name, class, min_in, max_in, min_out, max_out, attr_first, attr_count, \
               flags, measured, dtypes, form, shapes)                                             \
  char line_##name[sizeof(shapes)];
#include "ops/table/opdefs.inc"
#undef SMR_OP
  char end[1];
} op_shapes = {
#define SMR_OP(NAME, code, name, class, min_in, max_in, min_out, max_out, attr_first, attr_count, \
               flags, measured, dtypes, form, shapes)                                             \
  shapes,
#include "ops/table/opdefs.inc"
#undef SMR_OP
    "",
};

static const struct smr_op op_table[] = {
#define SMR_OP(NAME, code_, name_, class, min_in, max_in, min_out, max_out, attr_first_,     \
               attr_count_, flags_, measured_, dtypes_, form_, shapes_)                      \
  {.name = #name_,                                                                           \
   .code = (code_),                                                                          \
   .min_inputs = (min_in),                                                                   \
   .max_inputs = (max_in),                                                                   \
   .min_outputs = (min_out),                                                                 \
   .max_outputs = (max_out),                                                                 \
   .attr_count = (attr_count_),                                                              \
   .attr_first = (attr_first_),                                                              \
   .shapes = offsetof(struct op_shapes, line_##name_),                                       \
   .check_form = (form_),                                                                    \
   .flags = (flags_),                                                                        \
   .dtypes = (dtypes_),                                                                      \
   .check_class = SMR_IF_CONTROL(class, NULL, OP_UNLESS_DROPPED(flags_, smr_check_##class)), \
   .funcs = SMR_IF_CONTROL(class, NULL, OP_UNLESS_DROPPED(flags_, &smr_op_##name_##_funcs))},
#include "ops/table/opdefs.inc"
#undef SMR_OP
};
#undef OP_UNLESS_DROPPED

const struct smr_op *smr_op_rows(size_t *count) {
  *count = sizeof op_table / sizeof op_table[0];
  return op_table;
}

samara_status smr_op_expect_built(const struct smr_op *op, samara_error *error) {
  if (op->funcs != NULL || (op->flags & SMR_OP_CONTROL) != 0) return SAMARA_OK;
  SMR_FAIL(error, UNSUPPORTED, "operator %s is not in this build, which only runs models",
           op->name);
}

const char *smr_op_shapes(const struct smr_op *op) { return (const char *)&op_shapes + op->shapes; }

bool smr_op_reads_strided(const struct smr_op *op, uint32_t input) {
  const uint32_t bit = input < SMR_OP_STRIDED_LAST ? input : SMR_OP_STRIDED_LAST;
  return (op->flags >> (SMR_OP_STRIDED_SHIFT + bit) & 1u) != 0;
}

// Rows are sorted by code.
const struct smr_op *smr_op_find(uint16_t code) {
  size_t low = 0, high = sizeof op_table / sizeof op_table[0];
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (op_table[middle].code == code) return &op_table[middle];
    if (op_table[middle].code < code)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

static const struct {
  char name[9];
  uint8_t bytes;
} op_dtypes[] = {
    [SAMARA_FLOAT32] = {"float32", 4}, [SAMARA_FLOAT16] = {"float16", 2},
    [SAMARA_INT8] = {"int8", 1},       [SAMARA_QINT8] = {"qint8", 1},
    [SAMARA_UINT8] = {"uint8", 1},     [SAMARA_INT32] = {"int32", 4},
    [SAMARA_INT64] = {"int64", 8},     [SAMARA_BOOL] = {"bool", 1},
    [SAMARA_FLOAT64] = {"float64", 8}, [SAMARA_BFLOAT16] = {"bfloat16", 2},
    [SAMARA_INT16] = {"int16", 2},     [SAMARA_UINT16] = {"uint16", 2},
    [SAMARA_UINT32] = {"uint32", 4},   [SAMARA_UINT64] = {"uint64", 8},
    [SAMARA_INT4] = {"int4", 1},       [SAMARA_UINT4] = {"uint4", 1},
};

size_t smr_dtype_bytes(uint8_t dtype) {
  return dtype < sizeof op_dtypes / sizeof op_dtypes[0] ? op_dtypes[dtype].bytes : 0;
}

bool smr_dims_bytes(uint8_t dtype, uint32_t rank, const int64_t *dims, size_t *bytes) {
  size_t product = smr_dtype_bytes(dtype);
  bool empty = false;
  for (uint32_t i = 0; i < rank; i++) {
    empty = empty || dims[i] == 0;
    if (dims[i] < 0 || (uint64_t)dims[i] > SIZE_MAX ||
        !smr_mul_size(product, dims[i] != 0 ? (size_t)dims[i] : 1, &product) ||
        product > PTRDIFF_MAX / 2) {
      *bytes = i;
      return false;
    }
  }
  *bytes = empty ? 0 : smr_packed_bytes(dtype, product);
  return true;
}

const char *smr_dtype_name(uint8_t dtype) {
  return smr_dtype_bytes(dtype) ? op_dtypes[dtype].name : "?";
}
