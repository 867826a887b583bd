// SPDX-License-Identifier: Apache-2.0
// Tests that wrong records are refused, with the field and its value.
#include "base/fp.h"

#include "media/audio_plan.h"

#include "media/audio_data.h"

static const struct smr_audio_format sound = {16000, 1, false};

static void refused(const struct smr_audio_record *record, const struct smr_audio_format *format,
                    const char *words) {
  samara_error error = {0};
  size_t bytes = 1;
  if (!CHECK(smr_audio_check(record, format, &error) != SAMARA_OK))
    fprintf(stderr, "  %s\n", words);
  CHECK_CONTAINS(error.text, words);
  CHECK(smr_audio_plan_bytes(record, format, &bytes, NULL) != SAMARA_OK && bytes == 0);
}

// audio_mfcc with one field changed.
#define REFUSED(field, value, words)             \
  do {                                           \
    struct smr_audio_record record = audio_mfcc; \
    record.field = (value);                      \
    refused(&record, &sound, words);             \
  } while (0)

SMR_TEST(right_records_pass) {
  struct smr_audio_record record = audio_mfcc;
  for (uint8_t kind = 0; kind <= SMR_AUDIO_MFCC; kind++) {
    record.kind = kind;
    CHECK_EQ_INT(smr_audio_check(&record, &sound, NULL), SAMARA_OK);
  }
}

SMR_TEST(numbers_outside_are_refused) {
  REFUSED(kind, 5, "kind is 5, expected 0..4");
  REFUSED(dtype, 4, "dtype is 4");
  REFUSED(shape, 5, "shape is 5");
  REFUSED(spectrum, 3, "spectrum is 3");
  REFUSED(spectrum, SMR_AUDIO_COMPLEX, "complex");
  REFUSED(log, 3, "log is 3");
  REFUSED(window, 0, "window is 0, expected 1..16384");
  REFUSED(window, UINT32_MAX, "window is 4294967295");
  REFUSED(hop, 0, "hop is 0");
  REFUSED(lead, 400, "lead is 400, expected 0..399");
  REFUSED(rate, 0, "rate of the record is 0");
  REFUSED(fft, 0, "fft is 0");
  REFUSED(fft, 500, "power of two");
  REFUSED(fft, 256, "fft is 256 for a window of 400");
  REFUSED(fft, 16384, "fft is 16384");
  REFUSED(bins, 0, "bins is 0");
  REFUSED(bins, 257, "bins is 257");
  REFUSED(first, 257, "first is 257, expected 0..256");
  REFUSED(coefficients, 41, "coefficients is 41, expected 1..40");
  REFUSED(lifter, 101, "lifter is 101");
  REFUSED(n_mean, 2, "mean has 2 values, expected 1, or one per feature, 13");
  REFUSED(n_scale, 1, "scale is NULL");
}

SMR_TEST(floats_that_lie_are_refused) {
  REFUSED(low, -1.0f, "range is -1..8000");
  REFUSED(low, NAN, "range is nan");
  REFUSED(low, 8000.0f, "range is 8000..8000");
  REFUSED(high, 8001.0f, "half the rate of 16000");
  REFUSED(high, INFINITY, "range");
  REFUSED(floor, 0.0f, "floor is 0");
  REFUSED(floor, 1e-40f, "floor");
  REFUSED(floor, NAN, "floor is nan");
  REFUSED(offset, -1.0f, "offset -1");
  REFUSED(preemphasis, 1.5f, "preemphasis is 1.5");
  REFUSED(preemphasis, NAN, "preemphasis is nan");
  struct smr_audio_record record = audio_mfcc;
  const float bad[] = {INFINITY};
  record.n_mean = 1, record.mean = bad;
  refused(&record, &sound, "value 0 of mean is inf");
  const float zero[] = {0};
  record.mean = zero;
  CHECK_EQ_INT(smr_audio_check(&record, &sound, NULL), SAMARA_OK);
  record.n_scale = 1, record.scale = zero;
  refused(&record, &sound, "value 0 of scale is 0");
}

SMR_TEST(integers_need_a_scale) {
  struct smr_audio_record record = audio_mfcc;
  record.dtype = SMR_AUDIO_I8;
  refused(&record, &sound, "quantization is 0, 0");
  record.quant_scale = 0.5f, record.quant_zero = 128;
  refused(&record, &sound, "zero point of -128..127");
  record.dtype = SMR_AUDIO_U8;
  CHECK_EQ_INT(smr_audio_check(&record, &sound, NULL), SAMARA_OK);
  record.quant_zero = -1;
  refused(&record, &sound, "zero point of 0..255");
}

SMR_TEST(formats_that_lie_are_refused) {
  refused(&audio_mfcc, &(struct smr_audio_format){0, 1, false}, "rate of the samples is 0");
  refused(&audio_mfcc, &(struct smr_audio_format){192001, 1, false},
          "rate of the samples is 192001");
  refused(&audio_mfcc, &(struct smr_audio_format){16000, 0, false}, "channels is 0");
  refused(&audio_mfcc, &(struct smr_audio_format){16000, 33, true}, "channels is 33");
  refused(&audio_mfcc, &(struct smr_audio_format){191999, 1, false}, "shares a large factor");
}

SMR_TEST(center_sets_lead) {
  struct smr_audio_record record = audio_mfcc;
  record.center = true;
  CHECK_EQ_INT(smr_audio_check(&record, &sound, NULL), SAMARA_OK);
  record.lead = 3;
  refused(&record, &sound, "lead is 3 with center");
  record.kind = SMR_AUDIO_SAMPLES, record.lead = 0;
  refused(&record, &sound, "center for samples");
}

SMR_TEST_MAIN(RUN(right_records_pass); RUN(numbers_outside_are_refused);
              RUN(floats_that_lie_are_refused); RUN(integers_need_a_scale);
              RUN(formats_that_lie_are_refused); RUN(center_sets_lead))
