// SPDX-License-Identifier: Apache-2.0
// Image records of a file: the public form, and one fault after the other that opening refuses.
#include "base/fp.h"

#include "model/record.h"

#include "harness.h"
#include "model/sample.h"

static const uint32_t numbers[] = {256, 224, 112, 7, 5};
static const float reals[] = {1.5f, -2, 3, 4, 5};

// rgb float32 nchw, and nothing else.
static struct smr_image_fields fields_of(void) {
  return (struct smr_image_fields){
      .colour = SAMARA_COLOUR_RGB, .dtype = SAMARA_FLOAT32, .layout = SAMARA_NCHW};
}

// main(x: dtype [n, 3, h, w], z: float32 [1]) -> z + z; all of n, h and w are symbols.
static struct mb_model *model_of(uint8_t dtype, const struct smr_image_fields *image) {
  struct mb_model *m = mb_new();
  struct mb_function *f = mb_function(m, "main");
  const uint32_t n = mb_input_dim(f, 0, 0), h = mb_input_dim(f, 0, 2), w = mb_input_dim(f, 0, 3);
  const uint32_t dims[] = {n, mb_const(f, 3), h, w}, one = mb_const(f, 1);
  mb_input(f, mb_value(f, "x", dtype, 4, dims));
  if (dtype == SAMARA_QINT8) mb_quantize(&f->values[0].quant, 0.25f, -3);
  const uint32_t z = mb_value(f, "z", SAMARA_FLOAT32, 1, &one);
  const uint32_t y = mb_value(f, "y", SAMARA_FLOAT32, 1, &one);
  mb_input(f, z);
  mb_output(f, y);
  mb_node(f, "add", MB_OP_ADD, 2, (int32_t[]){(int32_t)z, (int32_t)z}, 1, &y);
  f->records[f->record_count++] = (struct mb_record){.input = 0, .image = image};
  return m;
}

// The record of input 0 as callers see it; false where there is none.
static bool record_of(struct mb_model *m, samara_image_record *out) {
  const struct mb_file file = mb_accept(m);
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  const int found = CHECK_EQ_INT(samara_model_image_record(file.model, NULL, 0, out), SAMARA_OK);
  mb_close(&file);
  return found;
}

SMR_TEST(a_record_without_choices) {
  const struct smr_image_fields fields = fields_of();
  samara_image_record r;
  REQUIRE(record_of(model_of(SAMARA_FLOAT32, &fields), &r));
  CHECK(r.struct_size == sizeof r && r.colour == SAMARA_COLOUR_RGB && r.dtype == SAMARA_FLOAT32 &&
        r.layout == SAMARA_NCHW && r.filter == 0 && !r.antialias);
  CHECK(r.resize == SAMARA_RESIZE_NONE && r.crop_width == 0 && r.crop_height == 0);
  CHECK(!r.normalize && r.quant_scale == 0 && r.quant_zero == 0 && r.matrix == 0 && r.range == 0);
  for (int c = 0; c < 3; c++) CHECK(r.fill[c] == 0 && r.mean[c] == 0 && r.scale[c] == 1);
}

SMR_TEST(a_record_with_all_of_them) {
  struct smr_image_fields fields = fields_of();
  fields.colour = SAMARA_COLOUR_BGR, fields.filter = SAMARA_BILINEAR, fields.antialias = 1;
  fields.matrix = SAMARA_BT709, fields.range = SAMARA_FULL_RANGE;
  fields.resize = numbers, fields.resize_count = 1;
  fields.crop = numbers + 1, fields.crop_count = 2;
  fields.mean = reals, fields.mean_count = 3;
  fields.scale = reals + 1, fields.scale_count = 1;
  samara_image_record r;
  REQUIRE(record_of(model_of(SAMARA_FLOAT32, &fields), &r));
  CHECK(r.colour == SAMARA_COLOUR_BGR && r.filter == SAMARA_BILINEAR && r.antialias);
  CHECK(r.resize == SAMARA_RESIZE_SIDE && r.resize_width == 256);
  CHECK(r.crop_width == 224 && r.crop_height == 112);
  CHECK(r.normalize && r.mean[0] == 1.5f && r.mean[1] == -2 && r.mean[2] == 3);
  for (int c = 0; c < 3; c++) CHECK(r.scale[c] == -2);
  CHECK(r.matrix == SAMARA_BT709 && r.range == SAMARA_FULL_RANGE);
}

SMR_TEST(sizes) {
  struct smr_image_fields fields = fields_of();
  fields.resize = numbers + 1, fields.resize_count = 2;
  samara_image_record r;
  REQUIRE(record_of(model_of(SAMARA_FLOAT32, &fields), &r));
  CHECK(r.resize == SAMARA_RESIZE_SIZE && r.resize_width == 224 && r.resize_height == 112);
  fields = fields_of();
  fields.letterbox = numbers, fields.letterbox_count = 2;
  fields.fill = numbers + 1, fields.fill_count = 3;
  REQUIRE(record_of(model_of(SAMARA_FLOAT32, &fields), &r));
  CHECK(r.resize == SAMARA_RESIZE_LETTERBOX && r.resize_width == 256 && r.resize_height == 224);
  CHECK(r.fill[0] == 224 && r.fill[1] == 112 && r.fill[2] == 7);
  fields.fill_count = 1;
  REQUIRE(record_of(model_of(SAMARA_FLOAT32, &fields), &r));
  for (int c = 0; c < 3; c++) CHECK_EQ_INT(r.fill[c], 224);
}

// A mean alone leaves the scale 1, a scale alone the mean 0.
SMR_TEST(half_a_normalisation) {
  struct smr_image_fields fields = fields_of();
  fields.mean = reals, fields.mean_count = 1;
  samara_image_record r;
  REQUIRE(record_of(model_of(SAMARA_FLOAT32, &fields), &r));
  CHECK(r.normalize && r.mean[2] == 1.5f && r.scale[2] == 1);
  fields.mean_count = 0, fields.scale = reals, fields.scale_count = 3;
  REQUIRE(record_of(model_of(SAMARA_FLOAT32, &fields), &r));
  CHECK(r.normalize && r.mean[2] == 0 && r.scale[2] == 3);
}

// The record's own quantization, else that of the input.
SMR_TEST(quantization) {
  struct smr_image_fields fields = fields_of();
  fields.dtype = SAMARA_INT8;
  samara_image_record r;
  REQUIRE(record_of(model_of(SAMARA_QINT8, &fields), &r));
  CHECK(r.dtype == SAMARA_INT8 && r.quant_scale == 0.25f && r.quant_zero == -3);
  fields.quant_scale = 0.5f, fields.quant_zero = 9;
  REQUIRE(record_of(model_of(SAMARA_QINT8, &fields), &r));
  CHECK(r.quant_scale == 0.5f && r.quant_zero == 9);
  REQUIRE(record_of(model_of(SAMARA_INT8, &fields), &r));
  CHECK(r.quant_scale == 0.5f && r.quant_zero == 9);
  fields.dtype = SAMARA_UINT8, fields.quant_scale = 0, fields.quant_zero = 0;
  REQUIRE(record_of(model_of(SAMARA_UINT8, &fields), &r));
  CHECK(r.dtype == SAMARA_UINT8 && r.quant_scale == 0);
}

SMR_TEST(where_there_is_none) {
  const struct smr_image_fields fields = fields_of();
  struct mb_model *m = model_of(SAMARA_FLOAT32, &fields);
  m->functions[0]->records[m->functions[0]->record_count++] = (struct mb_record){.input = 1};
  const struct mb_file file = mb_accept(m);
  samara_model *model = file.model;
  samara_image_record r = {.struct_size = sizeof r, .quant_zero = 77};
  CHECK_EQ_INT(samara_model_image_record(model, "main", 0, &r), SAMARA_OK);
  CHECK_EQ_INT(r.quant_zero, 0);
  r.quant_zero = 77;
  // Its record is of a kind that this version does not know.
  CHECK_EQ_INT(samara_model_image_record(model, NULL, 1, &r), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_image_record(model, NULL, 2, &r), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_image_record(model, NULL, SIZE_MAX, &r), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_image_record(model, NULL, (size_t)UINT32_MAX + 1, &r),
               sizeof(size_t) > 4 ? SAMARA_NOT_FOUND : SAMARA_OK);
  CHECK_EQ_INT(samara_model_image_record(model, "other", 0, &r), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_image_record(NULL, NULL, 0, &r), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_model_image_record(model, NULL, 0, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(sizeof(size_t) > 4 ? r.quant_zero : 77, 77);
  mb_close(&file);
}

// Callers of another version: a smaller struct is refused, extra bytes are not written.
SMR_TEST(struct_sizes) {
  const struct smr_image_fields fields = fields_of();
  const struct mb_file file = mb_accept(model_of(SAMARA_FLOAT32, &fields));
  samara_model *model = file.model;
  struct {
    samara_image_record record;
    uint64_t more;
  } newer;
  memset(&newer, 0x5a, sizeof newer);
  newer.record.struct_size = sizeof newer;
  CHECK_EQ_INT(samara_model_image_record(model, NULL, 0, &newer.record), SAMARA_OK);
  CHECK(newer.record.struct_size == sizeof newer && newer.record.layout == SAMARA_NCHW);
  CHECK(newer.more == 0x5a5a5a5a5a5a5a5au);
  static const size_t small[] = {0, 8, sizeof(samara_image_record) - 1};
  for (int k = 0; k < 3; k++) {
    memset(&newer, 0x5a, sizeof newer);
    newer.record.struct_size = small[k];
    CHECK_EQ_INT(samara_model_image_record(model, NULL, 0, &newer.record), SAMARA_BAD_ARGUMENT);
    CHECK(newer.record.struct_size == small[k] && newer.record.quant_zero == 0x5a5a5a5a);
  }
  mb_close(&file);
}

// Inputs are counted without those that variables are bound to.
SMR_TEST(behind_a_variable) {
  struct smr_image_fields fields = fields_of();
  fields.dtype = SAMARA_INT8;
  struct mb_model *m = model_of(SAMARA_QINT8, &fields);
  struct mb_function *f = m->functions[0];
  const int32_t zero = mb_data(m, "z.initial", SAMARA_FLOAT32, 1, (int64_t[]){1}, NULL, 0);
  m->variables[m->variable_count++] = (struct mb_variable){
      .name = "z", .dtype = SAMARA_FLOAT32, .dims = {1}, .rank = 1, .initial = zero};
  f->inputs[0] = 1, f->inputs[1] = 0;  // z, then x
  for (uint32_t i = 0; i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_INPUT_DIM) f->exprs[i].a = 1;
  f->reads[f->read_count++] = (struct smr_binding){.position = 0, .variable = 0};
  samara_image_record r;
  CHECK(record_of(m, &r));
  CHECK(r.colour == SAMARA_COLOUR_RGB && r.quant_scale == 0.25f);
}

// ---- what is refused ----

static void check_refused(uint8_t dtype, struct smr_image_fields fields, const char *part) {
  CHECK_REFUSED(model_of(dtype, &fields), SAMARA_BAD_MODEL, part);
}

// float32 with one field set.
#define REFUSED(field, value, part)           \
  do {                                        \
    struct smr_image_fields f_ = fields_of(); \
    f_.field = (value);                       \
    check_refused(SAMARA_FLOAT32, f_, part);  \
  } while (0)
// The same with a list of `count` elements.
#define REFUSED_LIST(field, values, count, part) \
  do {                                           \
    struct smr_image_fields f_ = fields_of();    \
    f_.field = (values);                         \
    f_.field##_count = (count);                  \
    check_refused(SAMARA_FLOAT32, f_, part);     \
  } while (0)

SMR_TEST(refuses_codes) {
  REFUSED(colour, 0, "function 'main': image record: no colour has code 0");
  REFUSED(colour, 4, "no colour has code 4");
  REFUSED(colour, 255, "no colour has code 255");
  REFUSED(layout, 0, "no layout has code 0");
  REFUSED(layout, 7, "no layout has code 7");
  REFUSED(filter, 4, "no filter has code 4");
  REFUSED(matrix, 3, "no matrix has code 3");
  REFUSED(range, 3, "no range code 3");
  REFUSED(antialias, 2, "a bool is 0 or 1");
  REFUSED(dtype, 0, "dtype");
  REFUSED(dtype, 255, "dtype");
  REFUSED(dtype, SAMARA_INT32, "it makes float32, float16, uint8 and int8");
  REFUSED(layout, SAMARA_HW, "a layout without channels is for gray");
  struct smr_image_fields fields = fields_of();
  fields.antialias = 1, fields.filter = SAMARA_AREA;
  check_refused(SAMARA_FLOAT32, fields, "antialias belongs to the filter bilinear");
}

SMR_TEST(refuses_lists_of_wrong_lengths) {
  static const char *const part = "function 'main': image record: lists of a wrong length";
  REFUSED_LIST(resize, numbers, 3, part);
  REFUSED_LIST(crop, numbers, 1, part);
  REFUSED_LIST(crop, numbers, 3, part);
  REFUSED_LIST(letterbox, numbers, 1, part);
  REFUSED_LIST(letterbox, numbers, 3, part);
  REFUSED_LIST(fill, numbers + 1, 2, part);
  REFUSED_LIST(fill, numbers + 1, 4, part);
  REFUSED_LIST(mean, reals, 2, part);
  REFUSED_LIST(mean, reals, 4, part);
  REFUSED_LIST(scale, reals, 2, part);
  REFUSED_LIST(scale, reals, 4, part);
  struct smr_image_fields fields = fields_of();
  fields.resize = numbers, fields.resize_count = 1;
  fields.letterbox = numbers, fields.letterbox_count = 2;
  check_refused(SAMARA_FLOAT32, fields, part);
}

SMR_TEST(refuses_numbers) {
  static const uint32_t none = 0, large = 16385, sides[] = {5, UINT32_MAX};
  static const float zero = 0, nan = NAN, tiny = 0x1p-127f;
  REFUSED_LIST(resize, &none, 1, "resize is 0x0; sides are 1 to 16384");
  REFUSED_LIST(resize, &large, 1, "resize is 16385x16385");
  REFUSED_LIST(resize, sides, 2, "resize is 5x4294967295");
  REFUSED_LIST(letterbox, sides, 2, "resize is 5x4294967295");
  REFUSED_LIST(crop, sides, 2, "crop is 5x4294967295");
  REFUSED_LIST(fill, &numbers[0], 1, "fill 256 is not 0 to 255");
  REFUSED_LIST(mean, &nan, 1, "channel 0 has mean nan");
  REFUSED_LIST(mean, &tiny, 1, "or at least 2^-126 in magnitude");
  REFUSED_LIST(scale, &zero, 1, "channel 0 has mean 0 and scale 0");
  REFUSED_LIST(scale, &nan, 1, "scale nan");
  struct smr_image_fields fields = fields_of();
  fields.crop = fields.letterbox = numbers, fields.crop_count = fields.letterbox_count = 2;
  check_refused(SAMARA_FLOAT32, fields, "crop and letterbox exclude each other");
}

SMR_TEST(refuses_quantization) {
  struct smr_image_fields fields = fields_of();
  fields.dtype = SAMARA_INT8;
  check_refused(SAMARA_INT8, fields, "int8 needs a scale to quantize by");
  fields.quant_scale = 0.5f, fields.quant_zero = 128;
  check_refused(SAMARA_INT8, fields, "quant has zero point 128");
  fields.quant_scale = NAN, fields.quant_zero = 0;
  check_refused(SAMARA_QINT8, fields, "quant has scale nan");
  fields.quant_scale = -1;
  check_refused(SAMARA_QINT8, fields, "quant has scale -1");
  fields.dtype = SAMARA_UINT8, fields.quant_scale = 0, fields.mean = reals, fields.mean_count = 1;
  check_refused(SAMARA_UINT8, fields, "uint8 with mean or scale needs a scale to quantize by");
}

// Scales per channel: an element has no one scale to be quantized by.
SMR_TEST(refuses_scales_per_channel) {
  struct smr_image_fields fields = fields_of();
  fields.dtype = SAMARA_INT8, fields.quant_scale = 0.5f;
  struct mb_model *m = model_of(SAMARA_QINT8, &fields);
  m->functions[0]->values[0].quant = (struct mb_quant){
      .scales = {1, 1, 1}, .zero_points = {0}, .count = 3, .zero_count = 3, .axis = 1};
  CHECK_REFUSED(m, SAMARA_BAD_MODEL, "image record: it makes dtype");
}

SMR_TEST(refuses_other_inputs) {
  struct smr_image_fields fields = fields_of();
  check_refused(SAMARA_FLOAT16, fields, "it makes dtype");
  check_refused(SAMARA_UINT8, fields, "it makes dtype");
  fields.layout = SAMARA_CHW;
  check_refused(SAMARA_FLOAT32, fields, "of rank 3, the input is dtype");
  fields.layout = SAMARA_NCHW, fields.colour = SAMARA_COLOUR_GRAY;
  check_refused(SAMARA_FLOAT32, fields, "it makes 1 channels, the input has 3");
  fields.layout = SAMARA_NHW;
  check_refused(SAMARA_FLOAT32, fields, "of rank 3, the input is dtype");
  fields = fields_of();
  fields.layout = SAMARA_NHWC;  // the last axis is a symbol
  samara_image_record r;
  CHECK(record_of(model_of(SAMARA_FLOAT32, &fields), &r));
  struct mb_model *m = model_of(SAMARA_FLOAT32, &fields);
  m->functions[0]->exprs[m->functions[0]->values[0].dims[3]] =
      (struct smr_expr){.op = SMR_EXPR_CONST, .k = 4};
  CHECK_REFUSED(m, SAMARA_BAD_MODEL, "it makes 3 channels, the input has 4");
  static const uint32_t nowhere[] = {2, 0x7fffffff, UINT32_MAX};
  for (int k = 0; k < 3; k++) {
    m = model_of(SAMARA_FLOAT32, &fields);
    m->functions[0]->records[0].input = nowhere[k];
    if (k == 0) m->functions[0]->records[0].image = NULL;
    CHECK_REFUSED(m, SAMARA_BAD_MODEL, k == 0 ? "record of input 2 of 2" : "of 2");
  }
}

SMR_TEST_MAIN(RUN(a_record_without_choices); RUN(a_record_with_all_of_them); RUN(sizes);
              RUN(half_a_normalisation); RUN(quantization); RUN(where_there_is_none);
              RUN(struct_sizes); RUN(behind_a_variable); RUN(refuses_codes);
              RUN(refuses_lists_of_wrong_lengths); RUN(refuses_numbers); RUN(refuses_quantization);
              RUN(refuses_scales_per_channel); RUN(refuses_other_inputs))
