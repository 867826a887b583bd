// SPDX-License-Identifier: Apache-2.0
// Tests single frames against float64 formulas, at the loudest and the quietest.
#include "base/fp.h"

#include "media/audio_frame.h"

#include "media/audio_data.h"

enum { FFT = 512, HALF = FFT / 2 };

static const double pi = 3.14159265358979323846;

static struct smr_audio_record spectrum_of(uint8_t kind) {
  return (struct smr_audio_record){.kind = SMR_AUDIO_SPECTRUM,
                                   .spectrum = kind,
                                   .shape = SMR_AUDIO_FLAT,
                                   .rate = 16000,
                                   .window = FFT,
                                   .hop = FFT,
                                   .fft = FFT};
}

static void naive(const double *x, double re[HALF + 1], double im[HALF + 1]) {
  for (int k = 0; k <= HALF; k++) {
    re[k] = im[k] = 0;
    for (int n = 0; n < FFT; n++) {
      re[k] += x[n] * cos(2 * pi * (k * n % FFT) / (double)FFT);
      im[k] -= x[n] * sin(2 * pi * (k * n % FFT) / (double)FFT);
    }
  }
}

static void check_spectrum(double amplitude, double bin) {
  const struct smr_audio_format format = {16000, 1, true};
  double x[FFT], re[HALF + 1], im[HALF + 1], peak = 0;
  float in[FFT];
  for (int n = 0; n < FFT; n++) {
    in[n] = (float)(amplitude * cos(2 * pi * bin * n / (double)FFT));
    x[n] = (double)in[n];
  }
  naive(x, re, im);
  for (int k = 0; k <= HALF; k++) peak = fmax(peak, hypot(re[k], im[k]));
  for (uint8_t kind = 0; kind <= SMR_AUDIO_COMPLEX; kind++) {
    const struct smr_audio_record record = spectrum_of(kind);
    struct audio_case c;
    unsigned char *out;
    REQUIRE(audio_case_make(&c, &record, &format, smr_cpu_isa()));
    REQUIRE(audio_case_run(&c, in, FFT, 0, 2, &out) == 1);
    const float *y = (const float *)(void *)out;
    for (int k = 0; k <= HALF; k++) {
      const double size = hypot(re[k], im[k]);
      if (kind == SMR_AUDIO_COMPLEX) {
        CHECK_NEAR(y[2 * k], re[k], 1e-7 * peak + 5e-9);
        CHECK_NEAR(y[2 * k + 1], im[k], 1e-7 * peak + 5e-9);
      } else if (kind == SMR_AUDIO_MAGNITUDE) {
        CHECK_NEAR(y[k], size, 1e-7 * peak + 5e-9);
      } else {
        CHECK_NEAR(y[k], size * size, 2e-7 * peak * peak + 1e-8 * peak);
      }
    }
    free(out);
    audio_case_free(&c);
  }
}

SMR_TEST(spectra_are_those_of_the_formula) {
  check_spectrum(1.0, 0);       // all bits of a sum
  check_spectrum(2.0, 0);       // the loudest there is
  check_spectrum(1.0, 3.5);     // between two bins
  check_spectrum(1.0, HALF);    // the highest
  check_spectrum(1e-3, 100.2);  // -60 dBFS
  check_spectrum(1e-6, 17);
  check_spectrum(0, 0);
}

SMR_TEST(the_loudest_does_not_overflow) {
  // Square waves with the mean removed and pre-emphasis, the largest transform.
  const struct smr_audio_format format = {16000, 1, true};
  struct smr_audio_record record = spectrum_of(SMR_AUDIO_COMPLEX);
  record.fft = record.window = record.hop = 8192;
  record.dc = true, record.preemphasis = 1.0f;
  float *in = (float *)malloc(8192 * sizeof *in);
  for (int n = 0; n < 8192; n++) in[n] = n % 2 == 0 ? 2.0f : -2.0f;
  struct audio_case c;
  unsigned char *out;
  REQUIRE(audio_case_make(&c, &record, &format, smr_cpu_isa()));
  REQUIRE(audio_case_run(&c, in, 8192, 0, 2, &out) == 1);
  const float *y = (const float *)(void *)out;
  CHECK_NEAR(y[8192], 4.0 * 8191, 1e-3);  // the bin of the highest frequency
  free(out);
  free(in);
  audio_case_free(&c);
}

SMR_TEST(silence_is_the_floor) {
  const struct smr_audio_format format = {16000, 1, false};
  const struct smr_audio_record record = {.kind = SMR_AUDIO_LOGMEL,
                                          .rate = 16000,
                                          .window = 400,
                                          .hop = 400,
                                          .fft = 512,
                                          .bins = 40,
                                          .high = 8000,
                                          .floor = 0x1p-30f,
                                          .log = SMR_AUDIO_LN};
  const int16_t in[400] = {0};
  struct audio_case c;
  unsigned char *out;
  REQUIRE(audio_case_make(&c, &record, &format, 0));
  REQUIRE(audio_case_run(&c, in, 400, 0, 2, &out) == 1);
  for (int i = 0; i < 40; i++)
    CHECK_NEAR(((const float *)(void *)out)[i], -30 * 0.69314718055994531, 1e-6);
  free(out);
  audio_case_free(&c);
}

SMR_TEST(elements_round_half_to_even_and_clamp) {
  const struct smr_audio_format format = {16000, 1, true};
  struct smr_audio_record record = {.kind = SMR_AUDIO_SAMPLES,
                                    .shape = SMR_AUDIO_FLAT,
                                    .dtype = SMR_AUDIO_I8,
                                    .rate = 16000,
                                    .window = 8,
                                    .hop = 8,
                                    .quant_scale = 0x1p-6f,
                                    .quant_zero = 10};
  const float in[8] = {0.5f / 64, 1.5f / 64, -0.5f / 64, 2.0f, -2.0f, 1.0f / 64, 0, -1.5f / 64};
  const int8_t want[8] = {10, 12, 10, 127, -118, 11, 10, 8};
  struct audio_case c;
  unsigned char *out;
  REQUIRE(audio_case_make(&c, &record, &format, 0));
  REQUIRE(audio_case_run(&c, in, 8, 0, 2, &out) == 1);
  CHECK_MEM(out, want, 8);
  free(out);
  audio_case_free(&c);
  const uint16_t halves[8] = {0x2000, 0x2600, 0xa000, 0x4000, 0xc000, 0x2400, 0, 0xa600};
  record.dtype = SMR_AUDIO_F16;
  REQUIRE(audio_case_make(&c, &record, &format, 0));
  REQUIRE(audio_case_run(&c, in, 8, 0, 2, &out) == 1);
  CHECK_MEM(out, halves, 16);
  free(out);
  audio_case_free(&c);
}

SMR_TEST_MAIN(RUN(spectra_are_those_of_the_formula); RUN(the_loudest_does_not_overflow);
              RUN(silence_is_the_floor); RUN(elements_round_half_to_even_and_clamp))
