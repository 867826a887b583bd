// SPDX-License-Identifier: Apache-2.0
// Which algorithm a convolution of floats uses, and which ones a build keeps for other sizes.
#include "base/fp.h"

#include "harness.h"
#include "kernels/bf16_gemm/bf16_gemm.h"
#include "ops/algorithm.h"
#include "ops/op_harness.h"

struct layer {
  const char *algorithm;  // and of a strict session
  const char *plain;
  int64_t size, c, n, kernel, stride, groups, pad;
};

static const struct layer layers[] = {
    {"winograd_f43", "indirect", 56, 64, 64, 3, 1, 1, 1},
    {"winograd_f43", "indirect", 28, 128, 128, 3, 1, 1, 1},
    {"winograd_f23", "indirect", 14, 256, 256, 3, 1, 1, 1},
    {"indirect", "indirect", 7, 512, 512, 3, 1, 1, 1},  // a small gain for much memory
    {"winograd_f43", "indirect", 55, 16, 64, 3, 1, 1, 1},
    {"winograd_f43", "indirect", 13, 64, 256, 3, 1, 1, 0},
    {"indirect", "indirect", 1, 512, 512, 3, 1, 1, 1},  // mostly weights
    {"indirect", "indirect", 56, 64, 64, 3, 2, 1, 1},
    {"indirect", "indirect", 28, 64, 64, 5, 1, 1, 2},
    {"indirect", "indirect", 28, 64, 64, 3, 1, 2, 1},
    {"direct", "direct", 224, 3, 64, 3, 1, 1, 1},
    {"direct", "direct", 32, 8, 8, 3, 1, 1, 1},
    {"point", "point", 56, 64, 256, 1, 1, 1, 0},
    {"depthwise", "depthwise", 56, 64, 64, 3, 1, 64, 1},
};

static void begin(struct op_test *t, const struct layer *l) {
  const int64_t out = (l->size + 2 * l->pad - l->kernel) / l->stride + 1;
  op_begin(t, "conv");
  op_in(t, SAMARA_FLOAT32, 4, DIMS(1, l->size, l->size, l->c), NULL);
  op_constant(t, SAMARA_FLOAT32, 4, DIMS(l->n, l->kernel, l->kernel, l->c / l->groups), NULL);
  op_out(t, SAMARA_FLOAT32, 4, DIMS(1, out, out, l->n));
  op_ints(t, "strides", 2, DIMS(l->stride, l->stride));
  op_ints(t, "dilations", 2, DIMS(1, 1));
  op_ints(t, "pads", 4, DIMS(l->pad, l->pad, l->pad, l->pad));
  op_int(t, "groups", l->groups);
  op_test_show(t, false);
}

// The choice, and its record.
static const char *chosen(struct op_test *t) {
  for (int i = 0; i < SMR_MAX_DERIVED; i++) t->job.derived[i].input = -1;
  if (!CHECK_EQ_INT(smr_op_prepare(&t->job), SAMARA_OK)) return "";
  CHECK_STR(t->job.choice.candidates[0].algorithm, t->job.algorithm->name);
  return t->job.choice.candidates[0].algorithm;
}

SMR_TEST(layers_of_networks) {
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    struct op_test t;
    begin(&t, &layers[i]);
    CHECK_STR(chosen(&t), layers[i].algorithm);
    t.job.strict = true;
    CHECK_STR(chosen(&t), layers[i].plain);
    op_end(&t);
  }
}

// With symbolic dims there is one form, whose weights are made for any size.
SMR_TEST(open_dims) {
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    struct op_test t;
    begin(&t, &layers[i]);
    t.job.dims_vary = true;
    CHECK(strcmp(chosen(&t), "winograd_f23") != 0);
    for (uint32_t k = 0; k < t.job.choice.count; k++)
      CHECK(strcmp(t.job.choice.candidates[k].algorithm, "winograd_f23") != 0);
    op_end(&t);
  }
}

SMR_TEST(instruction_sets_do_not_matter) {
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    struct op_test t;
    begin(&t, &layers[i]);
    t.job.isa = 0;
    CHECK_STR(chosen(&t), layers[i].algorithm);
    op_end(&t);
  }
}

SMR_TEST(a_measurement_decides) {
  struct op_test t;
  begin(&t, &layers[0]);
  t.job.tuned = "indirect";
  CHECK_STR(chosen(&t), "indirect");
  t.job.tuned = "winograd_f23";
  CHECK_STR(chosen(&t), "winograd_f23");
  op_end(&t);
}

// With twice as many multiply-adds per cycle, transforms must save more.
SMR_TEST(products_in_bfloat16) {
  static const struct layer rounded[] = {
      {"indirect", "winograd_f23", 14, 256, 256, 3, 1, 1, 1},
      {"indirect", "direct", 32, 12, 96, 5, 1, 1, 2},
      {"direct", "direct", 32, 8, 8, 3, 1, 1, 1},
      {"winograd_f43", "winograd_f43", 55, 33, 64, 3, 1, 1, 1},  // odd taps are not rounded
      {"direct", "direct", 224, 3, 64, 3, 1, 1, 1},
      {"depthwise", "depthwise", 56, 64, 64, 3, 1, 64, 1},
  };
  for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++) {
    struct op_test t;
    begin(&t, &rounded[i]);
    t.job.bfloat16 = true;
    const bool pays = smr_bf16_gemm_pays(t.job.isa);
    CHECK_STR(chosen(&t), pays ? rounded[i].algorithm : rounded[i].plain);
    t.job.isa &= ~(uint32_t)(SMR_ISA_AVX512_BF16 | SMR_ISA_NEON_BF16);
    CHECK_STR(chosen(&t), rounded[i].plain);
    op_end(&t);
  }
}

// The parts that a build keeps for a node with symbolic sizes or padding.
struct kept {
  struct layer layer;
  bool pads_vary;
  size_t parts[3];  // of those below; the others are left out
};

static bool holds(const size_t *parts, size_t part) {
  for (size_t i = 0; i < 3; i++)
    if (parts[i] == part) return true;
  return false;
}

SMR_TEST(what_symbolic_dims_keep) {
  enum { PRODUCT = SMR_PART_conv_product, INDIRECT = SMR_PART_conv_indirect };
  enum { DIRECT = SMR_PART_conv_direct, TRANSFORMED = SMR_PART_conv_winograd };
  static const size_t all[] = {PRODUCT, INDIRECT, DIRECT, TRANSFORMED, SMR_PART_conv_depthwise};
  static const struct kept cases[] = {
      {{"", "", 56, 64, 256, 1, 1, 1, 0}, false, {PRODUCT}},
      {{"", "", 56, 64, 256, 1, 1, 1, 0}, true, {PRODUCT, INDIRECT}},
      {{"", "", 56, 64, 256, 1, 1, 1, 1}, true, {PRODUCT, INDIRECT}},
      {{"", "", 56, 8, 256, 1, 1, 1, 1}, true, {PRODUCT, DIRECT}},
      {{"", "", 56, 64, 256, 1, 1, 1, 1}, false, {INDIRECT}},
      {{"", "", 56, 64, 64, 3, 2, 1, 1}, true, {INDIRECT}},
      {{"", "", 56, 64, 64, 3, 1, 1, 1}, false, {INDIRECT, TRANSFORMED}},
      {{"", "", 7, 512, 512, 3, 1, 1, 1}, false, {INDIRECT, TRANSFORMED}},
      {{"", "", 32, 8, 8, 3, 1, 1, 1}, false, {DIRECT}},
      {{"", "", 56, 64, 64, 3, 1, 64, 1}, false, {SMR_PART_conv_depthwise}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct op_test t;
    struct smr_parts parts = {{0}};
    begin(&t, &cases[i].layer);
    t.job.dims_vary = true;
    t.job.parts = &parts;
    op_test_attr(&t, "pads")->varies = cases[i].pads_vary;
    chosen(&t);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
      CHECK_EQ_INT(smr_parts_have(&parts, all[k]), holds(cases[i].parts, all[k]));
    op_end(&t);
  }
}

// Computed weights of any dims: all parts that their attributes allow.
SMR_TEST(what_weights_of_any_dims_keep) {
  for (int64_t groups = 1; groups <= 2; groups++) {
    struct op_test t;
    struct smr_parts parts = {{0}};
    begin(&t, &(struct layer){"", "", 56, 64, 64, 3, 1, groups, 1});
    t.in[1].constant = -1;
    t.in[1].open = 1;
    t.job.dims_vary = true;
    t.job.parts = &parts;
    CHECK_STR(chosen(&t), "indirect");
    CHECK(smr_parts_have(&parts, SMR_PART_conv_product));
    CHECK_EQ_INT(smr_parts_have(&parts, SMR_PART_conv_depthwise), groups > 1);
    CHECK_EQ_INT(smr_parts_have(&parts, SMR_PART_f32_dwconv_5s2), groups > 1);
    CHECK_EQ_INT(smr_parts_have(&parts, SMR_PART_conv_direct), groups == 1);
    CHECK(!smr_parts_have(&parts, SMR_PART_conv_winograd));
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(layers_of_networks); RUN(open_dims); RUN(what_symbolic_dims_keep);
              RUN(what_weights_of_any_dims_keep); RUN(instruction_sets_do_not_matter);
              RUN(a_measurement_decides); RUN(products_in_bfloat16))
