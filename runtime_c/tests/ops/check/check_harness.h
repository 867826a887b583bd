// SPDX-License-Identifier: Apache-2.0
// Check classes as tables: one line per node, accepted or refused with a text.
//
//   {"concat", "f32[2,3] f32[2,4] -> f32[2,7]", "axis=1", NULL},            // accepted
//   {"concat", "f32[2,3] f32[3,4] -> f32[2,7]", "axis=1", "an input has"},  // refused, part of the
//   text
//
// Tensors: dtype[dims], a `-` for an absent input; `!` after the dims packs the constant before it
// in panels. Attributes: name=number, name=[numbers] or name=choice, blanks between. No data
// exists: dims may be anything.
#ifndef SMR_TESTS_CHECK_HARNESS_H
#define SMR_TESTS_CHECK_HARNESS_H

#include "ops/op_harness.h"

struct check_case {
  const char *op, *tensors, *attrs;
  const char *refusal;  // NULL: accepted
};

static inline uint8_t check_dtype(const char *text, size_t length) {
  static const struct {
    const char *name;
    uint8_t dtype;
  } names[] = {{"f32", SAMARA_FLOAT32},   {"f16", SAMARA_FLOAT16}, {"i8", SAMARA_INT8},
               {"qs8", SAMARA_QINT8},     {"u8", SAMARA_UINT8},    {"i32", SAMARA_INT32},
               {"i64", SAMARA_INT64},     {"bool", SAMARA_BOOL},   {"f64", SAMARA_FLOAT64},
               {"bf16", SAMARA_BFLOAT16}, {"u64", SAMARA_UINT64},  {"i4", SAMARA_INT4}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strlen(names[i].name) == length && memcmp(names[i].name, text, length) == 0)
      return names[i].dtype;
  return 77;  // unknown on purpose
}

// "[1,2]" into numbers; what follows the bracket.
static inline const char *check_list(const char *at, int64_t *values, uint32_t *count) {
  *count = 0;
  for (at++; *at != ']';) {
    char *end;
    values[(*count)++] = strtoll(at, &end, 10);
    at = end + (*end == ',');
  }
  return at + 1;
}

static inline void check_tensors(struct op_test *t, const char *at) {
  static const float scale = 0.5f;
  static const int32_t zero_point = 3;
  bool outputs = false;
  while (*at) {
    if (*at == ' ') {
      at++;
    } else if (strncmp(at, "->", 2) == 0) {
      outputs = true;
      at += 2;
    } else if (*at == '-') {
      op_absent(t);
      at++;
    } else {
      const size_t length = strcspn(at, "[");
      const uint8_t dtype = check_dtype(at, length);
      int64_t dims[2 * SAMARA_MAX_RANK];
      uint32_t rank;
      at = check_list(at + length, dims, &rank);
      struct smr_tensor *tensor;
      if (outputs) {
        tensor = op_out(t, dtype, rank, dims);
      } else {
        const uint32_t i = t->job.input_count++;
        tensor = &t->in[i];
        op_test_tensor(tensor, dtype, rank, dims, "input");
        t->in_list[i] = tensor;
      }
      if (dtype == SAMARA_QINT8) op_quant(t, tensor, 1, &scale, &zero_point, -1);
      if (*at == '!') {
        tensor->constant = 0;
        tensor->layout = SMR_LAYOUT_PANEL;
        at++;
      }
    }
  }
}

static inline void check_attrs(struct op_test *t, const char *at) {
  while (*at) {
    if (*at == ' ') {
      at++;
      continue;
    }
    char name[64], choice[64];
    const size_t length = strcspn(at, "=");
    memcpy(name, at, length);
    name[length] = '\0';
    at += length + 1;
    if (*at == '[') {
      int64_t values[64];
      uint32_t count;
      at = check_list(at, values, &count);
      op_ints(t, name, count, values);
    } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
      char *end;
      op_int(t, name, strtoll(at, &end, 10));
      at = end;
    } else {
      const size_t n = strcspn(at, " ");
      memcpy(choice, at, n);
      choice[n] = '\0';
      op_enum(t, name, choice);
      at += n;
    }
  }
}

static inline void check_one(const struct check_case *c) {
  struct op_test t;
  op_begin(&t, c->op);
  check_tensors(&t, c->tensors);
  check_attrs(&t, c->attrs);
  const samara_status status = smr_op_check(&t.job);
  const bool as_expected = c->refusal == NULL ? CHECK_EQ_INT(status, SAMARA_OK)
                                              : CHECK_EQ_INT(status, SAMARA_BAD_SHAPE) &&
                                                    CHECK_CONTAINS(t.error.text, c->refusal);
  if (!as_expected && smr_test_reports())
    fprintf(stderr, "  %s: %s %s (\"%s\")\n", c->op, c->tensors, c->attrs, t.error.text);
  op_end(&t);
}

#define CHECK_CASES(...)                                                                     \
  do {                                                                                       \
    static const struct check_case cases_[] = {__VA_ARGS__};                                 \
    for (size_t i_ = 0; i_ < sizeof cases_ / sizeof cases_[0]; i_++) check_one(&cases_[i_]); \
  } while (0)

#endif
