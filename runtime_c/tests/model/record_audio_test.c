// SPDX-License-Identifier: Apache-2.0
// Audio records of a file: the public form, and one fault after the other that opening refuses.
#include "base/fp.h"

#include "model/record.h"

#include "harness.h"
#include "model/audio_fields.h"
#include "model/sample.h"

enum { FRAMES = 7, BINS = 5, NUMBERS = FRAMES * BINS };

static const float reals[] = {1.5f, -2, 3, 4, 5, 6};

static struct smr_audio_fields fields_of(void) { return audio_fields(FRAMES, BINS); }

// main(x: dtype of these sides, 0 for a symbol; z: float32 [1]) -> z + z.
static struct mb_model *model_of(uint8_t dtype, uint32_t rank, const uint32_t *sides,
                                 const struct smr_audio_fields *audio) {
  struct mb_model *m = mb_new();
  struct mb_function *f = mb_function(m, "main");
  uint32_t dims[4];
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = sides[i] != 0 ? mb_const(f, sides[i]) : mb_input_dim(f, 0, (int32_t)i);
  const uint32_t one = mb_const(f, 1);
  mb_input(f, mb_value(f, "x", dtype, rank, dims));
  if (dtype == SAMARA_QINT8) mb_quantize(&f->values[0].quant, 0.25f, -3);
  const uint32_t z = mb_value(f, "z", SAMARA_FLOAT32, 1, &one);
  const uint32_t y = mb_value(f, "y", SAMARA_FLOAT32, 1, &one);
  mb_input(f, z);
  mb_output(f, y);
  mb_node(f, "add", MB_OP_ADD, 2, (int32_t[]){(int32_t)z, (int32_t)z}, 1, &y);
  f->records[f->record_count++] = (struct mb_record){.input = 0, .audio = audio};
  return m;
}

static const uint32_t whole[] = {1, FRAMES, BINS};

static struct mb_model *model_with(uint8_t dtype, const struct smr_audio_fields *audio) {
  return model_of(dtype, 3, whole, audio);
}

struct opened {
  struct mb_file file;
  samara_audio_record record;
};

static struct opened open_record(struct mb_model *m) {
  struct opened o = {.file = mb_accept(m), .record.struct_size = sizeof o.record};
  CHECK_EQ_INT(samara_model_audio_record(o.file.model, NULL, 0, &o.record), SAMARA_OK);
  return o;
}

SMR_TEST(every_field_is_read) {
  const struct smr_audio_fields fields = {.kind = SAMARA_AUDIO_MFCC,
                                          .dtype = SAMARA_FLOAT32,
                                          .layout = "nft",
                                          .rate = 16000,
                                          .window = 401,
                                          .hop = 161,
                                          .fft = 512,
                                          .lead = 3,
                                          .shape = SAMARA_WINDOW_POVEY,
                                          .symmetric = 1,
                                          .dc = 1,
                                          .wide_unit = 1,
                                          .spectrum = SAMARA_SPECTRUM_MAGNITUDE,
                                          .slaney = 1,
                                          .slaney_norm = 1,
                                          .mel_triangles = 1,
                                          .log = SAMARA_LOG_DECIBEL,
                                          .plain_dct = 1,
                                          .preemphasis = 0.5f,
                                          .bins = 20,
                                          .low = 20,
                                          .high = 7600,
                                          .first = 1,
                                          .floor = 0.25f,
                                          .offset = 0.125f,
                                          .coefficients = BINS,
                                          .lifter = 22,
                                          .frames = FRAMES,
                                          .step = 3,
                                          .mean = reals,
                                          .mean_count = BINS,
                                          .scale = reals + 1,
                                          .scale_count = 1};
  static const uint32_t sides[] = {1, BINS, FRAMES};
  struct opened o = open_record(model_of(SAMARA_FLOAT32, 3, sides, &fields));
  const samara_audio_record *r = &o.record;
  CHECK(r->kind == SAMARA_AUDIO_MFCC && r->dtype == SAMARA_FLOAT32 && !strcmp(r->layout, "nft"));
  CHECK(r->rate == 16000 && r->window == 401 && r->hop == 161 && r->fft == 512 && r->lead == 3);
  CHECK(r->shape == SAMARA_WINDOW_POVEY && r->symmetric && !r->center && r->dc && r->wide_unit);
  CHECK(r->slaney && r->slaney_norm && r->mel_triangles && r->plain_dct);
  CHECK(r->spectrum == SAMARA_SPECTRUM_MAGNITUDE && r->log == SAMARA_LOG_DECIBEL);
  CHECK(r->preemphasis == 0.5f && r->bins == 20 && r->low == 20 && r->high == 7600);
  CHECK(r->first == 1 && r->floor == 0.25f && r->offset == 0.125f && r->coefficients == BINS);
  CHECK(r->lifter == 22 && r->frames == FRAMES && r->step == 3);
  CHECK(r->mean_count == BINS && r->scale_count == 1 && r->scale[0] == -2);
  CHECK_MEM(r->mean, reals, BINS * sizeof *reals);
  CHECK(r->quant_scale == 0 && r->quant_zero == 0);
  mb_close(&o.file);
  struct smr_audio_fields centred = fields_of();
  centred.center = 1;
  o = open_record(model_with(SAMARA_FLOAT32, &centred));
  CHECK(o.record.center && !o.record.symmetric && !o.record.dc && !o.record.wide_unit);
  CHECK(!o.record.slaney && !o.record.slaney_norm && !o.record.mel_triangles);
  CHECK(!o.record.plain_dct && o.record.spectrum == SAMARA_SPECTRUM_POWER);
  mb_close(&o.file);
}

// The record's own quantization, else that of the input.
SMR_TEST(quantization) {
  struct smr_audio_fields fields = fields_of();
  fields.dtype = SAMARA_INT8;
  struct opened o = open_record(model_with(SAMARA_QINT8, &fields));
  CHECK(o.record.dtype == SAMARA_INT8 && o.record.quant_scale == 0.25f);
  CHECK_EQ_INT(o.record.quant_zero, -3);
  mb_close(&o.file);
  fields.quant_scale = 0.5f, fields.quant_zero = 9;
  o = open_record(model_with(SAMARA_QINT8, &fields));
  CHECK(o.record.quant_scale == 0.5f && o.record.quant_zero == 9);
  mb_close(&o.file);
  o = open_record(model_with(SAMARA_INT8, &fields));
  CHECK(o.record.quant_scale == 0.5f && o.record.quant_zero == 9);
  mb_close(&o.file);
}

// The input may have the tensor's shape, that of a row of all its elements, or symbols for either.
SMR_TEST(shapes_of_inputs) {
  static const uint32_t sides[][3] = {{1, FRAMES, BINS}, {0, 0, 0},       {0, FRAMES, 0},
                                      {1, NUMBERS, 0},   {0, NUMBERS, 0}, {0, 0, 0}};
  const struct smr_audio_fields fields = fields_of();
  struct opened o;
  for (int k = 0; k < 6; k++) {
    o = open_record(model_of(SAMARA_FLOAT32, k < 3 ? 3 : 2, sides[k], &fields));
    mb_close(&o.file);
  }
}

SMR_TEST(where_there_is_none) {
  const struct smr_audio_fields fields = fields_of();
  struct mb_model *m = model_with(SAMARA_FLOAT32, &fields);
  m->functions[0]->records[m->functions[0]->record_count++] = (struct mb_record){.input = 1};
  struct opened o = open_record(m);
  samara_audio_record r = {.struct_size = sizeof r, .quant_zero = 77};
  samara_image_record image = {.struct_size = sizeof image};
  // Its record is of a kind that this version does not know.
  CHECK_EQ_INT(samara_model_audio_record(o.file.model, "main", 1, &r), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_audio_record(o.file.model, NULL, 2, &r), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_audio_record(o.file.model, NULL, SIZE_MAX, &r), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_audio_record(o.file.model, "other", 0, &r), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_audio_record(NULL, NULL, 0, &r), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_model_audio_record(o.file.model, NULL, 0, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_model_image_record(o.file.model, NULL, 0, &image), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(r.quant_zero, 77);
  mb_close(&o.file);
}

// Callers of another version: a smaller struct is refused, extra bytes are not written.
SMR_TEST(struct_sizes) {
  const struct smr_audio_fields fields = fields_of();
  struct opened o = open_record(model_with(SAMARA_FLOAT32, &fields));
  struct {
    samara_audio_record record;
    uint64_t more;
  } newer;
  memset(&newer, 0x5a, sizeof newer);
  newer.record.struct_size = sizeof newer;
  CHECK_EQ_INT(samara_model_audio_record(o.file.model, NULL, 0, &newer.record), SAMARA_OK);
  CHECK(newer.record.struct_size == sizeof newer && newer.record.rate == 8000);
  CHECK(newer.more == 0x5a5a5a5a5a5a5a5au);
  static const size_t small[] = {0, 8, sizeof(samara_audio_record) - 1};
  for (int k = 0; k < 3; k++) {
    memset(&newer, 0x5a, sizeof newer);
    newer.record.struct_size = small[k];
    CHECK_EQ_INT(samara_model_audio_record(o.file.model, NULL, 0, &newer.record),
                 SAMARA_BAD_ARGUMENT);
    CHECK(newer.record.struct_size == small[k] && newer.record.quant_zero == 0x5a5a5a5a);
  }
  mb_close(&o.file);
}

// ---- what is refused ----

static void check_refused(uint8_t dtype, struct smr_audio_fields fields, const char *part) {
  CHECK_REFUSED(model_with(dtype, &fields), SAMARA_BAD_MODEL, part);
}

// float32 with one field set.
#define REFUSED(field, value, part)           \
  do {                                        \
    struct smr_audio_fields f_ = fields_of(); \
    f_.field = (value);                       \
    check_refused(SAMARA_FLOAT32, f_, part);  \
  } while (0)

SMR_TEST(refuses_codes) {
  REFUSED(kind, 0, "function 'main': audio: kind 0,");
  REFUSED(kind, 6, "audio: kind 6,");
  REFUSED(shape, 5, "shape 5,");
  REFUSED(spectrum, 3, "spectrum 3,");
  REFUSED(log, 3, "log 3 or");
  REFUSED(dtype, 255, "dtype");
  REFUSED(dtype, SAMARA_INT32, "has no meaning");
  REFUSED(center, 2, "a bool is 0 or 1");
  REFUSED(layout, "ntfcnt", "layout 'ntfcnt'");
  REFUSED(layout, "ntfcntfcntfc", "layout 'ntfcntfc'");
  REFUSED(layout, "", "is not understood");
  REFUSED(layout, "ntx", "the layout 'ntx' of 7 frames is not understood");
}

SMR_TEST(refuses_numbers) {
  REFUSED(rate, 0, "rate of the record is 0, expected 1000..192000");
  REFUSED(rate, 192001, "rate of the record is 192001");
  REFUSED(window, 0, "window");
  REFUSED(window, UINT32_MAX, "window");
  REFUSED(hop, 0, "hop");
  REFUSED(fft, 100, "a power of two no less than the window");
  REFUSED(fft, UINT32_MAX, "fft");
  REFUSED(high, 5000, "half the rate of 8000");
  REFUSED(low, NAN, "two frequencies that rise");
  REFUSED(floor, 0, "audio: floor is 0");
  REFUSED(bins, UINT32_MAX, "bins");
  REFUSED(frames, UINT32_MAX, "a tensor has 4294967295 frames");
  REFUSED(step, 0, "7 frames, 0 of them new");
  REFUSED(step, FRAMES + 1, "8 of them new");
  REFUSED(preemphasis, NAN, "preemphasis");
}

SMR_TEST(refuses_lists) {
  struct smr_audio_fields fields = fields_of();
  fields.mean = reals, fields.mean_count = BINS + 1;
  check_refused(SAMARA_FLOAT32, fields, "mean has 6 values, expected 1, or one per feature, 5");
  static const float nan = NAN, zero = 0;
  fields.mean = &nan, fields.mean_count = 1;
  check_refused(SAMARA_FLOAT32, fields, "value 0 of mean is nan");
  fields.mean_count = 0, fields.scale = &zero, fields.scale_count = 1;
  check_refused(SAMARA_FLOAT32, fields, "a finite number other than 0");
}

SMR_TEST(refuses_quantization) {
  struct smr_audio_fields fields = fields_of();
  fields.dtype = SAMARA_INT8;
  check_refused(SAMARA_INT8, fields, "integer elements need them");
  fields.quant_scale = 0.5f, fields.quant_zero = 128;
  check_refused(SAMARA_INT8, fields, "quantization is 0.5, 128");
  fields.quant_scale = NAN, fields.quant_zero = 0;
  check_refused(SAMARA_QINT8, fields, "quantization is nan");
}

SMR_TEST(refuses_other_inputs) {
  static const uint32_t sides[][3] = {{2, FRAMES, BINS},   {1, FRAMES + 1, BINS}, {1, BINS, FRAMES},
                                      {1, NUMBERS + 1, 0}, {NUMBERS, 1, 0},       {2, NUMBERS, 0}};
  const struct smr_audio_fields fields = fields_of();
  check_refused(SAMARA_FLOAT16, fields, "audio: the record makes dtype");
  check_refused(SAMARA_QINT8, fields, "audio: the record makes dtype");
  for (int k = 0; k < 6; k++)
    CHECK_REFUSED(model_of(SAMARA_FLOAT32, k < 3 ? 3 : 2, sides[k], &fields), SAMARA_BAD_MODEL,
                  "the record makes 35 elements in the layout ntf");
  struct mb_model *m = model_with(SAMARA_FLOAT32, &fields);
  m->functions[0]->records[0].input = 2;
  CHECK_REFUSED(m, SAMARA_BAD_MODEL, "record of input 2 of 2");
}

SMR_TEST_MAIN(RUN(every_field_is_read); RUN(quantization); RUN(shapes_of_inputs);
              RUN(where_there_is_none); RUN(struct_sizes); RUN(refuses_codes); RUN(refuses_numbers);
              RUN(refuses_lists); RUN(refuses_quantization); RUN(refuses_other_inputs))
