// SPDX-License-Identifier: Apache-2.0
// Launches that gather and scatter, by constant and other indices, against the CPU.
#include "base/fp.h"

#include "backends/one_node.h"
#include "harness.h"

#define I64 SAMARA_INT64
#define I32 SAMARA_INT32

static const samara_dtype element_types[] = {F32, F16, I64, SAMARA_INT8};

enum { CONSTANT, GIVEN, GIVEN_32, WAYS };

// Random indices from -size to size - 1. The last axis holds one index for each of `axes` sizes.
static struct one_tensor *picks(int way, int32_t rank, const int64_t *shape, int64_t axes,
                                const int64_t *sizes) {
  struct one_tensor *t = one_input(way == GIVEN_32 ? I32 : I64, rank, shape);
  const int64_t n = one_numel(t);
  for (int64_t i = 0; i < n; i++) {
    const int64_t size = sizes[i % axes];
    const int64_t at = (int64_t)(one_random() % (uint32_t)(2 * size)) - size;
    if (way == GIVEN_32)
      ((int32_t *)t->data)[i] = (int32_t)at;
    else
      ((int64_t *)t->data)[i] = at;
  }
  t->constant = way == CONSTANT;
  return t;
}

SMR_TEST(gather) {
  for (int way = 0; way < WAYS; way++) {
    for (int i = 0; i < 4; i++) {
      one_begin("gather");
      one_input(element_types[i], DIMS(2, 5, 9));
      picks(way, DIMS(2, 3), 1, (int64_t[]){5});
      one_output(element_types[i], DIMS(2, 2, 3, 9));
      one_int("axis", 1);
      one_check(0);
    }
    one_begin("gather");
    one_input(F32, DIMS(70, 33));
    picks(way, DIMS(41), 1, (int64_t[]){70});
    one_output(F32, DIMS(41, 33));
    one_check(0);
    one_begin("gather");
    one_input(F32, DIMS(3, 7));
    picks(way, 0, NULL, 1, (int64_t[]){7});
    one_output(F32, DIMS(3));
    one_int("axis", -1);
    one_check(0);
    one_begin("gather");
    one_input(F32, DIMS(0, 3));
    picks(way, DIMS(2, 0), 1, (int64_t[]){1});
    one_output(F32, DIMS(2, 0, 3));
    one_check(0);
  }
}

SMR_TEST(gather_elements) {
  for (int way = 0; way < WAYS; way++) {
    for (int64_t axis = 0; axis < 3; axis++) {
      static const int64_t sizes[] = {4, 6, 9};
      for (int i = 0; i < 4; i++) {
        one_begin("gather_elements");
        one_input(element_types[i], DIMS(4, 6, 9));
        picks(way, DIMS(4, 3, 5), 1, &sizes[axis]);
        one_output(element_types[i], DIMS(4, 3, 5));
        one_int("axis", axis - 3);
        one_check(0);
      }
    }
  }
}

SMR_TEST(gather_nd) {
  for (int way = 0; way < WAYS; way++) {
    for (int i = 0; i < 4; i++) {
      one_begin("gather_nd");
      one_input(element_types[i], DIMS(4, 5, 17));
      picks(way, DIMS(3, 2), 2, (int64_t[]){4, 5});
      one_output(element_types[i], DIMS(3, 17));
      one_check(0);
      one_begin("gather_nd");
      one_input(element_types[i], DIMS(3, 5, 2, 4));
      picks(way, DIMS(3, 6, 2), 2, (int64_t[]){5, 2});
      one_output(element_types[i], DIMS(3, 6, 4));
      one_int("batch_dims", 1);
      one_check(0);
    }
    one_begin("gather_nd");
    one_input(F32, DIMS(3, 2));
    picks(way, DIMS(4, 0), 1, (int64_t[]){1});
    one_output(F32, DIMS(4, 3, 2));
    one_check(0);
  }
}

SMR_TEST(scatter_elements) {
  for (int way = 0; way < WAYS; way++) {
    for (int64_t axis = 0; axis < 3; axis++) {
      static const int64_t sizes[] = {4, 6, 9};
      for (int i = 0; i < 4; i++) {
        one_begin("scatter_elements");
        one_input(element_types[i], DIMS(4, 6, 9));
        picks(way, DIMS(4, 5, 7), 1, &sizes[axis]);
        one_input(element_types[i], DIMS(4, 5, 7));
        one_output(element_types[i], DIMS(4, 6, 9));
        one_int("axis", axis);
        one_check(0);
      }
    }
  }
}

SMR_TEST(scatter_nd) {
  for (int way = 0; way < WAYS; way++) {
    for (int i = 0; i < 4; i++) {
      one_begin("scatter_nd");
      one_input(element_types[i], DIMS(4, 5, 40));
      picks(way, DIMS(9, 2), 2, (int64_t[]){4, 5});
      one_input(element_types[i], DIMS(9, 40));
      one_output(element_types[i], DIMS(4, 5, 40));
      one_check(0);
      one_begin("scatter_nd");
      one_input(element_types[i], DIMS(50));
      picks(way, DIMS(70, 1), 1, (int64_t[]){50});
      one_input(element_types[i], DIMS(70));
      one_output(element_types[i], DIMS(50));
      one_check(0);
    }
    one_begin("scatter_nd");
    one_input(F32, DIMS(4, 3));
    picks(way, DIMS(0, 1), 1, (int64_t[]){4});
    one_input(F32, DIMS(0, 3));
    one_output(F32, DIMS(4, 3));
    one_check(0);
  }
}

// An index out of range; `wrap`: negative indices count from the end.
static void out_of_range(const char *op, int64_t index, bool wrap, int way) {
  const bool scatters = op[0] == 's', elements = strstr(op, "elements") != NULL;
  one_begin(op);
  one_input(F32, DIMS(5, 3));
  struct one_tensor *t = one_input(way == GIVEN_32 ? I32 : I64, DIMS(2, 1));
  if (way == GIVEN_32) {
    ((int32_t *)t->data)[0] = 0;
    ((int32_t *)t->data)[1] = (int32_t)index;
  } else {
    ((int64_t *)t->data)[0] = 0;
    ((int64_t *)t->data)[1] = index;
  }
  t->constant = way == CONSTANT;
  const int64_t columns = elements ? 1 : 3;
  if (scatters) one_input(F32, DIMS(2, columns));
  if (scatters)
    one_output(F32, DIMS(5, 3));
  else if (strcmp(op, "gather") == 0)
    one_output(F32, DIMS(2, 1, 3));
  else
    one_output(F32, DIMS(2, columns));
  one_int("wrap", wrap);
  if (way == CONSTANT)
    one_refused("out of range");
  else
    one_flagged();
}

SMR_TEST(ranges) {
  static const char *const ops[] = {"gather", "gather_elements", "gather_nd", "scatter_elements",
                                    "scatter_nd"};
  for (int i = 0; i < 5; i++) {
    for (int way = 0; way < WAYS; way++) {
      out_of_range(ops[i], 5, true, way);
      out_of_range(ops[i], -6, true, way);
      out_of_range(ops[i], -1, false, way);
      out_of_range(ops[i], INT32_MAX, true, way);
      out_of_range(ops[i], INT32_MIN, true, way);
      if (way == GIVEN_32) continue;
      out_of_range(ops[i], INT64_MAX, true, way);
      out_of_range(ops[i], INT64_MIN, true, way);
      out_of_range(ops[i], (int64_t)1 << 32, true, way);
    }
  }
}

SMR_TEST(refusals) {
  one_begin("scatter_nd");
  one_input(F32, DIMS(5));
  one_input(I64, DIMS(2, 1));
  one_input(F32, DIMS(2));
  one_output(F32, DIMS(5));
  one_int("reduction", 1);
  one_refused("added or compared");
  one_begin("gather_elements");
  one_input(F32, DIMS(1, 1, 1, 1, 1, 1, 2));
  one_input(I64, DIMS(1, 1, 1, 1, 1, 1, 2));
  one_output(F32, DIMS(1, 1, 1, 1, 1, 1, 2));
  one_refused("axes");
}

SMR_TEST_MAIN(RUN(gather); RUN(gather_elements); RUN(gather_nd); RUN(scatter_elements);
              RUN(scatter_nd); RUN(ranges); RUN(refusals))
