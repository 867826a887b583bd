// SPDX-License-Identifier: Apache-2.0
// What the attributes of resize say about an axis; check_resize_test.c has what is refused.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "ops/resample/resize_attrs.h"

static void begin(struct op_test *t, const char *op) {
  op_begin(t, op);
  op_in(t, SAMARA_FLOAT32, 4, DIMS(1, 4, 6, 2), NULL);
  op_enum(t, "mode", "cubic");
  op_enum(t, "coordinate", "tf_crop_and_resize");
  op_enum(t, "nearest", "ceil");
  op_f32(t, "cubic_a", -0.5f);
  op_int(t, "antialias", 1);
  op_ints(t, "scales", 2, DIMS(0, 0x40200000));  // the ratio, 2.5
  op_floats(t, "roi", 4, (const float[]){0, 0.25f, 0.5f, 1});
}

// resize and its gradient are told alike.
SMR_TEST(specs) {
  static const char *const ops[] = {"resize", "resize_grad"};
  for (size_t i = 0; i < 2; i++) {
    struct op_test t;
    begin(&t, ops[i]);
    CHECK_EQ_INT(smr_resize_check_attrs(&t.job), SAMARA_OK);
    struct smr_resize_spec spec;
    smr_resize_spec(&t.job, 0, 4, 8, &spec);
    CHECK(spec.mode == SMR_RESIZE_CUBIC && spec.rounding == SMR_RESIZE_CEIL);
    CHECK(spec.coordinate == SMR_RESIZE_TF_CROP_AND_RESIZE);
    CHECK(spec.in == 4 && spec.out == 8 && spec.scale == 2 && spec.cubic_a == -0.5);
    CHECK(spec.begin == 0 && spec.end == 0.5 && spec.antialias && !spec.exclude_outside);
    smr_resize_spec(&t.job, 1, 6, 5, &spec);
    CHECK(spec.scale == 2.5 && spec.begin == 0.25 && spec.end == 1);
    smr_resize_spec_absent(&t.job, &spec);
    CHECK(spec.mode == SMR_RESIZE_CUBIC && spec.in == 1 && spec.out == 1 && spec.scale == 1);
    op_end(&t);
  }
}

SMR_TEST(roi_is_as_long_as_two_ends_per_axis) {
  struct op_test t;
  begin(&t, "resize_grad");
  op_floats(&t, "roi", 3, (const float[]){0, 0, 1});
  CHECK_EQ_INT(smr_resize_check_attrs(&t.job), SAMARA_BAD_SHAPE);
  CHECK_STR(t.error.text, "resize_grad: roi has 3 elements, expected 4");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(specs), RUN(roi_is_as_long_as_two_ends_per_axis))
