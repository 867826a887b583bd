// SPDX-License-Identifier: Apache-2.0
// Functions of one element of each operand.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

#include "backends/opencl/cl_fuse.h"

// ---- one operand ----

// A function of one float: its operator, and the value of the attribute that selects it.
struct cl_unary {
  const char *op, *attribute;
  int64_t value;
  const char *a, *b;
  uint16_t kernels[2];  // for float32 and float16
};

static const struct cl_unary cl_unaries[] = {
#define SMR_CL_UNARY(op, name, attribute, value, a, b, text) \
  {#op, attribute, value, a, b, {SMR_CL_unary_##name##_f32, SMR_CL_unary_##name##_f16}},
#define SMR_CL_BINARY(op, text)
#define SMR_CL_COMPARE(op, type, text)
#define SMR_CL_INTEGER(op, type, U, text)
#define SMR_CL_CAST(from, to, text)
#include "backends/opencl/kernels/functions.inc"
#undef SMR_CL_UNARY
#undef SMR_CL_BINARY
#undef SMR_CL_COMPARE
#undef SMR_CL_INTEGER
#undef SMR_CL_CAST
    {.op = ""},  // where a build has none
};

static const struct cl_unary *cl_unary_of(const struct smr_cl_node *node) {
  for (size_t i = 0; i < sizeof cl_unaries / sizeof *cl_unaries; i++) {
    const struct cl_unary *row = &cl_unaries[i];
    if (strcmp(row->op, node->node->op) == 0 &&
        (row->attribute[0] == '\0' || smr_cl_int(node, row->attribute) == row->value))
      return row;
  }
  return NULL;
}

static bool cl_unary_fits(const struct smr_cl_node *node, const char **why) {
  if (smr_cl_float(smr_cl_input(node, 0)->dtype) < 0) {
    *why = "only float32 and float16 are supported";
    return false;
  }
  return smr_cl_sizes_fit(node, SAMARA_MAX_RANK, why) && cl_unary_of(node) != NULL;
}

static void cl_unary_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_unary_of(node)->kernels[smr_cl_float(smr_cl_input(node, 0)->dtype)]] = true;
}

static void cl_unary_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const struct cl_unary *row = cl_unary_of(node);
  struct smr_cl_launch *launch =
      smr_cl_walk(node, out, row->kernels[smr_cl_float(smr_cl_input(node, 0)->dtype)]);
  if (launch == NULL) return;
  if (row->a[0] != '\0') launch->floats[0] = smr_cl_number(node, row->a);
  if (row->b[0] != '\0') launch->floats[1] = smr_cl_number(node, row->b);
}

// ---- casts ----

enum cl_type { CL_f32, CL_f16, CL_i32, CL_i64, CL_i8, CL_u8, CL_bool, CL_OTHER };

static enum cl_type cl_type_of(samara_dtype dtype) {
  switch (dtype) {
    case SAMARA_FLOAT32:
      return CL_f32;
    case SAMARA_FLOAT16:
      return CL_f16;
    case SAMARA_INT32:
      return CL_i32;
    case SAMARA_INT64:
      return CL_i64;
    case SAMARA_INT8:
      return CL_i8;
    case SAMARA_UINT8:
      return CL_u8;
    case SAMARA_BOOL:
      return CL_bool;
    default:
      return CL_OTHER;
  }
}

// The kernel that casts `from` to `to`; -1: none is needed, or there is none.
static int cl_cast_kernel(enum cl_type from, enum cl_type to) {
  if (from == CL_bool) from = CL_u8;
#define SMR_CL_UNARY(op, name, attribute, value, a, b, text)
#define SMR_CL_BINARY(op, text)
#define SMR_CL_COMPARE(op, type, text)
#define SMR_CL_INTEGER(op, type, U, text)
#define SMR_CL_CAST(a, b, text) \
  if (from == CL_##a && to == CL_##b) return SMR_CL_cast_##a##_##b;
#include "backends/opencl/kernels/functions.inc"
#undef SMR_CL_UNARY
#undef SMR_CL_BINARY
#undef SMR_CL_COMPARE
#undef SMR_CL_INTEGER
#undef SMR_CL_CAST
  return -1;
}

static int cl_cast_of(const struct smr_cl_node *node) {
  return cl_cast_kernel(cl_type_of(smr_cl_input(node, 0)->dtype),
                        cl_type_of(smr_cl_output(node, 0)->dtype));
}

static bool cl_cast_fits(const struct smr_cl_node *node, const char **why) {
  if (cl_cast_of(node) < 0) {
    *why = "there is no such cast";
    return false;
  }
  return smr_cl_sizes_fit(node, SAMARA_MAX_RANK, why);
}

static void cl_cast_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_cast_of(node)] = true;
}

static void cl_cast_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  (void)smr_cl_walk(node, out, (uint16_t)cl_cast_of(node));
}

// ---- to bool ----

static int cl_test_kernel(const struct smr_cl_node *node) {
  const samara_dtype dtype = smr_cl_input(node, 0)->dtype;
  if (strcmp(node->node->op, "logical_not") == 0) return SMR_CL_logical_not;
  return dtype == SAMARA_FLOAT32   ? SMR_CL_isnan_f32
         : dtype == SAMARA_FLOAT16 ? SMR_CL_isnan_f16
                                   : -1;
}

static bool cl_test_fits(const struct smr_cl_node *node, const char **why) {
  if (cl_test_kernel(node) < 0) {
    *why = "its element type is not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, SAMARA_MAX_RANK, why);
}

static void cl_test_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_test_kernel(node)] = true;
}

static void cl_test_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  (void)smr_cl_walk(node, out, (uint16_t)cl_test_kernel(node));
}

// ---- two operands ----

struct cl_binary {
  const char *op;
  enum cl_type type;
  uint16_t kernel;
};

static const struct cl_binary cl_binaries[] = {
#define SMR_CL_UNARY(op, name, attribute, value, a, b, text)
#define SMR_CL_BINARY(op, text) \
  {#op, CL_f32, SMR_CL_binary_##op##_f32}, {#op, CL_f16, SMR_CL_binary_##op##_f16},
#define SMR_CL_COMPARE(op, type, text) {#op, CL_##type, SMR_CL_binary_##op##_##type},
#define SMR_CL_INTEGER(op, type, U, text) {#op, CL_##type, SMR_CL_binary_##op##_##type},
#define SMR_CL_CAST(from, to, text)
#include "backends/opencl/kernels/functions.inc"
#undef SMR_CL_UNARY
#undef SMR_CL_BINARY
#undef SMR_CL_COMPARE
#undef SMR_CL_INTEGER
#undef SMR_CL_CAST
    {.op = ""},  // where a build has none
};

static const struct cl_binary *cl_binary_of(const struct smr_cl_node *node) {
  enum cl_type type = cl_type_of(smr_cl_input(node, 0)->dtype);
  if (type == CL_bool) type = CL_u8;
  for (size_t i = 0; i < sizeof cl_binaries / sizeof *cl_binaries; i++)
    if (cl_binaries[i].type == type && strcmp(cl_binaries[i].op, node->node->op) == 0)
      return &cl_binaries[i];
  return NULL;
}

static bool cl_binary_fits(const struct smr_cl_node *node, const char **why) {
  if (cl_binary_of(node) == NULL) {
    *why = "its element type is not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, SMR_CL_AXES, why);
}

static void cl_binary_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_binary_of(node)->kernel] = true;
}

static void cl_binary_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  (void)smr_cl_broadcast(node, out, cl_binary_of(node)->kernel, 2);
}

// ---- where ----

static uint16_t cl_where_kernel(const struct smr_cl_node *node) {
  const size_t size = smr_cl_element(smr_cl_output(node, 0)->dtype);
  return size == 1   ? SMR_CL_where_1
         : size == 2 ? SMR_CL_where_2
         : size == 4 ? SMR_CL_where_4
                     : SMR_CL_where_8;
}

static bool cl_where_fits(const struct smr_cl_node *node, const char **why) {
  return smr_cl_sizes_fit(node, SMR_CL_AXES, why) && smr_cl_plain(node, why);
}

static void cl_where_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_where_kernel(node)] = true;
}

static void cl_where_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  (void)smr_cl_broadcast(node, out, cl_where_kernel(node), 3);
}

#define CL_UNARY(op) SMR_CL_ROW(unary, op, cl_unary_fits, cl_unary_kernels, cl_unary_lower)
#define CL_BINARY(op) SMR_CL_ROW(binary, op, cl_binary_fits, cl_binary_kernels, cl_binary_lower)

static const struct smr_cl_row cl_pointwise_rows[] = {
#define SMR_CL_UNARY(op, name, attribute, value, a, b, text) CL_UNARY(op),
#define SMR_CL_BINARY(op, text) CL_BINARY(op),
#define SMR_CL_COMPARE(op, type, text) CL_BINARY(op),
#define SMR_CL_INTEGER(op, type, U, text)
#define SMR_CL_CAST(from, to, text)
#include "backends/opencl/kernels/functions.inc"
#undef SMR_CL_UNARY
#undef SMR_CL_BINARY
#undef SMR_CL_COMPARE
#undef SMR_CL_INTEGER
#undef SMR_CL_CAST
    SMR_CL_ROW(cast, cast, cl_cast_fits, cl_cast_kernels, cl_cast_lower),
    SMR_CL_ROW(cast, isnan, cl_test_fits, cl_test_kernels, cl_test_lower),
    SMR_CL_ROW(cast, logical_not, cl_test_fits, cl_test_kernels, cl_test_lower),
    SMR_CL_ROW(where, where, cl_where_fits, cl_where_kernels, cl_where_lower),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_pointwise_rows(void) { return cl_pointwise_rows; }

#undef CL_UNARY
#undef CL_BINARY

// ---- nodes as functions ----

const char *smr_cl_type_name(samara_dtype dtype) {
  static const char *const names[] = {"f32", "f16", "i32", "i64", "i8", "u8", "u8", NULL};
  return names[cl_type_of(dtype)];
}

struct smr_cl_function smr_cl_function_of(const struct smr_cl_node *node) {
  struct smr_cl_function out = {.operands = 0, .a = "", .b = ""};
  const struct smr_cl_row *row = smr_cl_row(node->node->op);
  const char *why;
  if (row == NULL || row->lower == NULL || !row->fits(node, &why)) return out;
  if (row->lower == cl_unary_lower) {
    const struct cl_unary *unary = cl_unary_of(node);
    out = (struct smr_cl_function){
        .operands = 1,
        .kernel = unary->kernels[smr_cl_float(smr_cl_input(node, 0)->dtype)],
        .a = unary->a,
        .b = unary->b};
  } else if (row->lower == cl_binary_lower) {
    out.operands = 2;
    out.kernel = cl_binary_of(node)->kernel;
  } else if (row->lower == cl_cast_lower) {
    out.operands = 1;
    out.kernel = (uint16_t)cl_cast_of(node);
  } else if (row->lower == cl_test_lower) {
    out.operands = 1;
    out.kernel = (uint16_t)cl_test_kernel(node);
  } else if (row->lower == cl_where_lower) {
    out.operands = 3;
    out.where = true;
    out.kernel = cl_where_kernel(node);
  }
  if (smr_cl_type_name(smr_cl_output(node, 0)->dtype) == NULL || out.kernel == SMR_CL_NONE)
    out.operands = 0;
  for (uint32_t i = 0; i < out.operands; i++)
    if (smr_cl_type_name(smr_cl_input(node, i)->dtype) == NULL) out.operands = 0;
  return out;
}
