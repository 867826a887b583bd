// SPDX-License-Identifier: Apache-2.0
// Records and samples of callers: their internal forms, and refusals.
#include "base/fp.h"

#include "media/audio.h"

#include "harness.h"

static samara_audio_record plain(void) {
  return (samara_audio_record){.struct_size = sizeof(samara_audio_record),
                               .kind = SAMARA_AUDIO_SPECTRUM,
                               .dtype = SAMARA_FLOAT16,
                               .layout = "tfc",
                               .rate = 8000,
                               .window = 200,
                               .hop = 80,
                               .fft = 256,
                               .shape = SAMARA_WINDOW_SINE,
                               .spectrum = SAMARA_SPECTRUM_COMPLEX,
                               .frames = 3,
                               .step = 1};
}

static int record_refused(samara_audio_record r, const char *part) {
  struct smr_audio_record record = {.rate = 77};
  struct smr_audio_tensor tensor = {.frames = 77};
  samara_error error = {SAMARA_OK, ""};
  return CHECK_EQ_INT(smr_audio_record_of(&r, &record, &tensor, NULL, &error),
                      SAMARA_BAD_ARGUMENT) &
         CHECK_EQ_INT(error.status, SAMARA_BAD_ARGUMENT) & CHECK_CONTAINS(error.text, part) &
         CHECK(record.rate == 77 && tensor.frames == 77);
}

SMR_TEST(codes) {
  static const struct {
    samara_audio_kind kind;
    uint8_t want;
  } kinds[] = {{SAMARA_AUDIO_MEL, SMR_AUDIO_MEL}, {SAMARA_AUDIO_LOGMEL, SMR_AUDIO_LOGMEL}};
  static const struct {
    samara_audio_window shape;
    uint8_t want;
  } shapes[] = {{SAMARA_WINDOW_NONE, SMR_AUDIO_FLAT},
                {SAMARA_WINDOW_HANN, SMR_AUDIO_HANN},
                {SAMARA_WINDOW_HAMMING, SMR_AUDIO_HAMMING},
                {SAMARA_WINDOW_POVEY, SMR_AUDIO_POVEY},
                {SAMARA_WINDOW_SINE, SMR_AUDIO_SINE}};
  static const struct {
    samara_dtype dtype;
    uint8_t want;
  } dtypes[] = {{SAMARA_FLOAT32, SMR_AUDIO_F32},
                {SAMARA_FLOAT16, SMR_AUDIO_F16},
                {SAMARA_UINT8, SMR_AUDIO_U8},
                {SAMARA_INT8, SMR_AUDIO_I8}};
  struct smr_audio_record made;
  struct smr_audio_tensor tensor;
  samara_audio_record r = plain();
  REQUIRE(smr_audio_record_of(&r, &made, &tensor, NULL, NULL) == SAMARA_OK);
  CHECK(made.kind == SMR_AUDIO_SPECTRUM && made.spectrum == SMR_AUDIO_COMPLEX);
  CHECK(tensor.frames == 3 && tensor.step == 1 && !memcmp(tensor.layout, "tfc", 4));
  for (int k = 0; k < 5; k++) {
    r.shape = shapes[k].shape;
    REQUIRE(smr_audio_record_of(&r, &made, &tensor, NULL, NULL) == SAMARA_OK);
    CHECK_EQ_INT(made.shape, shapes[k].want);
  }
  r.quant_scale = 1;
  for (int k = 0; k < 4; k++) {
    r.dtype = dtypes[k].dtype;
    REQUIRE(smr_audio_record_of(&r, &made, &tensor, NULL, NULL) == SAMARA_OK);
    CHECK_EQ_INT(made.dtype, dtypes[k].want);
  }
  r = plain();
  r.spectrum = SAMARA_SPECTRUM_POWER, r.bins = 4, r.high = 4000, r.floor = 1;
  memcpy(r.layout, "tf", 3);
  for (int k = 0; k < 2; k++) {
    r.kind = kinds[k].kind;
    REQUIRE(smr_audio_record_of(&r, &made, &tensor, NULL, NULL) == SAMARA_OK);
    CHECK_EQ_INT(made.kind, kinds[k].want);
  }
}

// One flag after the other, and numbers that are all different.
SMR_TEST(fields) {
  static const float mean[] = {1, 2, 3}, scale = 2;
  const samara_audio_record given = {.struct_size = sizeof given,
                                     .kind = SAMARA_AUDIO_MFCC,
                                     .dtype = SAMARA_INT8,
                                     .layout = "tf",
                                     .rate = 16000,
                                     .window = 401,
                                     .hop = 161,
                                     .fft = 512,
                                     .lead = 7,
                                     .shape = SAMARA_WINDOW_HAMMING,
                                     .spectrum = SAMARA_SPECTRUM_MAGNITUDE,
                                     .log = SAMARA_LOG_DECIMAL,
                                     .preemphasis = 0.5f,
                                     .low = 20,
                                     .high = 7600,
                                     .floor = 0.25f,
                                     .offset = 0.125f,
                                     .bins = 19,
                                     .first = 2,
                                     .coefficients = 3,
                                     .lifter = 22,
                                     .frames = 5,
                                     .step = 4,
                                     .mean_count = 3,
                                     .scale_count = 1,
                                     .mean = mean,
                                     .scale = &scale,
                                     .quant_scale = 0.5f,
                                     .quant_zero = -3};
  enum { FLAGS = 8 };
  for (int flag = 0; flag < FLAGS; flag++) {
    struct smr_audio_record m;
    struct smr_audio_tensor t;
    samara_audio_record r = given;
    bool *const set[FLAGS] = {&r.symmetric,     &r.center,   &r.dc,
                              &r.wide_unit,     &r.slaney,   &r.slaney_norm,
                              &r.mel_triangles, &r.plain_dct};
    *set[flag] = true;
    if (r.center) r.lead = 0;
    REQUIRE(smr_audio_record_of(&r, &m, &t, NULL, NULL) == SAMARA_OK);
    const bool got[FLAGS] = {m.symmetric,   m.center,        m.dc,       m.wide_unit, m.slaney,
                             m.slaney_norm, m.mel_triangles, m.plain_dct};
    for (int i = 0; i < FLAGS; i++) CHECK_EQ_INT(got[i], i == flag);
    CHECK(m.kind == SMR_AUDIO_MFCC && m.spectrum == SMR_AUDIO_MAGNITUDE);
    CHECK(m.log == SMR_AUDIO_LOG10 && m.rate == 16000 && m.window == 401 && m.hop == 161);
    CHECK(m.fft == 512 && m.lead == r.lead && m.preemphasis == 0.5f && m.low == 20);
    CHECK(m.high == 7600 && m.floor == 0.25f && m.offset == 0.125f && m.bins == 19);
    CHECK(m.first == 2 && m.coefficients == 3 && m.lifter == 22);
    CHECK(m.n_mean == 3 && m.mean == mean && m.n_scale == 1 && m.scale == &scale);
    CHECK(m.quant_scale == 0.5f && m.quant_zero == -3 && t.frames == 5 && t.step == 4);
  }
}

SMR_TEST(refusals) {
  samara_audio_record r = plain();
  r.kind = (samara_audio_kind)-1;
  CHECK(record_refused(r, "kind -1,"));
  r = plain(), r.shape = (samara_audio_window)-1;
  CHECK(record_refused(r, "shape -1,"));
  r = plain(), r.spectrum = (samara_audio_spectrum)0x7fffffff;
  CHECK(record_refused(r, "spectrum 2147483647,"));
  r = plain(), r.log = (samara_audio_log)-1;
  CHECK(record_refused(r, "log -1 "));
  r = plain(), r.dtype = SAMARA_INT16;
  CHECK(record_refused(r, "has no meaning"));
  r = plain(), memset(r.layout, 't', sizeof r.layout);  // without an end
  CHECK(record_refused(r, "layout 'tttttttt', expected up to 4 letters"));
  r = plain(), memcpy(r.layout, "tf", 3);
  CHECK(record_refused(r, "c for complex numbers"));
  r = plain(), r.mean_count = 1;
  CHECK(record_refused(r, "mean is NULL, expected 1 values"));
}

SMR_TEST(shapes) {
  static const struct {
    const char *layout;
    int32_t rank;
    int64_t sides[4];
  } cases[] = {{"tfc", 3, {3, 129, 2}}, {"ntfc", 4, {1, 3, 129, 2}}, {"nftc", 4, {1, 129, 3, 2}}};
  for (int k = 0; k < 3; k++) {
    samara_audio_record r = plain();
    struct smr_audio_record made;
    struct smr_audio_tensor tensor;
    int64_t shape[SAMARA_MAX_RANK];
    memset(r.layout, 0, sizeof r.layout);
    memcpy(r.layout, cases[k].layout, strlen(cases[k].layout));
    REQUIRE(smr_audio_record_of(&r, &made, &tensor, NULL, NULL) == SAMARA_OK);
    REQUIRE(smr_audio_shape(&made, &tensor, shape) == cases[k].rank);
    for (int32_t i = 0; i < cases[k].rank; i++) CHECK_EQ_INT(shape[i], cases[k].sides[i]);
  }
}

static int samples_refused(samara_audio audio, const char *part) {
  samara_audio given;
  struct smr_audio_format format;
  samara_error error = {SAMARA_OK, ""};
  return CHECK_EQ_INT(smr_audio_samples_of(&audio, 8000, &given, &format, &error),
                      SAMARA_BAD_ARGUMENT) &
         CHECK_CONTAINS(error.text, part);
}

SMR_TEST(samples) {
  static const int16_t few[6];
  samara_audio audio = {
      .struct_size = sizeof audio, .samples = few, .count = 3, .dtype = SAMARA_INT16};
  samara_audio given;
  struct smr_audio_format format;
  REQUIRE(smr_audio_samples_of(&audio, 8000, &given, &format, NULL) == SAMARA_OK);
  CHECK(format.rate == 8000 && format.channels == 1 && !format.is_float && given.count == 3);
  CHECK(smr_audio_behind(&given, &format, 2) == few + 2);
  audio.rate = 44100, audio.channels = 2, audio.dtype = SAMARA_FLOAT32;
  REQUIRE(smr_audio_samples_of(&audio, 8000, &given, &format, NULL) == SAMARA_OK);
  CHECK(format.rate == 44100 && format.channels == 2 && format.is_float);
  CHECK((const char *)smr_audio_behind(&given, &format, 1) == (const char *)few + 8);
  audio.samples = NULL;
  CHECK(samples_refused(audio, "3 samples are NULL"));
  audio.count = 0;
  REQUIRE(smr_audio_samples_of(&audio, 8000, &given, &format, NULL) == SAMARA_OK);
  CHECK(smr_audio_behind(&given, &format, 0) == NULL);
  audio.samples = few, audio.count = SIZE_MAX / 8 + 1;
  CHECK(samples_refused(audio, "of 2 channels are more than memory holds"));
  audio.count = 1, audio.dtype = SAMARA_FLOAT16;
  CHECK(samples_refused(audio, "expected int16 or float32"));
  audio.dtype = SAMARA_INT16, audio.struct_size = 3;
  CHECK(samples_refused(audio, "samara_audio: struct_size is 3"));
  samara_error error = {SAMARA_OK, ""};
  CHECK_EQ_INT(smr_audio_samples_of(NULL, 8000, &given, &format, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "the samara_audio is NULL");
}

SMR_TEST_MAIN(RUN(codes); RUN(fields); RUN(refusals); RUN(shapes); RUN(samples))
