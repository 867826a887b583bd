// SPDX-License-Identifier: Apache-2.0
// Tests tensors of frames: which frames they hold, their layouts, what is refused.
#include "base/fp.h"

#include "media/audio_tensor.h"

#include "media/audio_data.h"

// Frames of two samples, so that elements say where they come from.
static const struct smr_audio_record pairs = {.kind = SMR_AUDIO_SAMPLES,
                                              .dtype = SMR_AUDIO_I8,
                                              .shape = SMR_AUDIO_FLAT,
                                              .rate = 16000,
                                              .window = 2,
                                              .hop = 2,
                                              .quant_scale = 0x1p-15f};
static const struct smr_audio_format sound = {16000, 1, false};

static struct smr_audio_tensor tensor_of(uint32_t frames, uint32_t step, const char *layout) {
  struct smr_audio_tensor tensor = {frames, step, {0}};
  for (size_t i = 0; i < 4 && layout[i] != 0; i++) tensor.layout[i] = layout[i];
  return tensor;
}

static struct smr_audio_batch *begun(const struct smr_audio_plan *plan,
                                     const struct smr_audio_tensor *tensor) {
  CHECK_EQ_INT(smr_audio_tensor_check(&plan->record, tensor, NULL), SAMARA_OK);
  return smr_audio_batch_reset(plan, tensor, audio_alloc(smr_audio_batch_bytes(plan, tensor)));
}

SMR_TEST(tensors_overlap_by_the_step) {
  static const int8_t want[][6] = {{1, 2, 3, 4, 5, 6}, {3, 4, 5, 6, 7, 8}, {5, 6, 7, 8, 9, 10}};
  const struct smr_audio_tensor tensor = tensor_of(3, 1, "ntf");
  int16_t in[11];
  int8_t out[6];
  struct audio_case c;
  size_t done = 0, tensors = 0, taken;
  bool full = false;
  for (int16_t i = 0; i < 11; i++) in[i] = (int16_t)(i + 1);
  REQUIRE(audio_case_make(&c, &pairs, &sound, 0));
  struct smr_audio_batch *batch = begun(c.plan, &tensor);
  for (;;) {
    REQUIRE(smr_audio_batch_push(batch, in + done, 11 - done, &taken, &full, NULL) == SAMARA_OK);
    done += taken;
    if (!full) break;
    REQUIRE(tensors < 3);
    smr_audio_batch_write(batch, out);
    CHECK_MEM(out, want[tensors], 6);
    tensors++;
  }
  CHECK_EQ_INT(done, 11);
  CHECK_EQ_INT(tensors, 3);
  smr_audio_batch_flush(batch, &full);
  CHECK(!full && batch->held == 0);
  free(batch);
  audio_case_free(&c);
}

static void check_layout(const char *layout, const int8_t want[6]) {
  const struct smr_audio_tensor tensor = tensor_of(3, 3, layout);
  const int16_t in[6] = {1, 2, 3, 4, 5, 6};
  int8_t out[6];
  struct audio_case c;
  size_t taken;
  bool full = false;
  REQUIRE(audio_case_make(&c, &pairs, &sound, 0));
  struct smr_audio_batch *batch = begun(c.plan, &tensor);
  CHECK_EQ_INT(smr_audio_batch_push(batch, in, 6, &taken, &full, NULL), SAMARA_OK);
  CHECK(full);
  smr_audio_batch_write(batch, out);
  if (!CHECK_MEM(out, want, 6)) fprintf(stderr, "  layout %s\n", layout);
  free(batch);
  audio_case_free(&c);
}

SMR_TEST(layouts_are_permutations) {
  static const int8_t rows[6] = {1, 2, 3, 4, 5, 6}, columns[6] = {1, 3, 5, 2, 4, 6};
  check_layout("tf", rows);
  check_layout("ntfc", rows);
  check_layout("nctf", rows);
  check_layout("ft", columns);
  check_layout("nfct", columns);
}

SMR_TEST(parts_of_complex_numbers_are_an_axis) {
  const struct smr_audio_record record = {.kind = SMR_AUDIO_SPECTRUM,
                                          .spectrum = SMR_AUDIO_COMPLEX,
                                          .rate = 16000,
                                          .window = 16,
                                          .hop = 16,
                                          .fft = 16};
  const struct smr_audio_tensor last = tensor_of(2, 2, "nftc"), first = tensor_of(2, 2, "cft");
  float a[36], b[36];
  void *in = audio_signal(3, 32, false);
  struct audio_case c;
  size_t taken;
  bool full = false;
  REQUIRE(audio_case_make(&c, &record, &sound, 0));
  struct smr_audio_batch *batch = begun(c.plan, &last);
  CHECK_EQ_INT(smr_audio_batch_push(batch, in, 32, &taken, &full, NULL), SAMARA_OK);
  CHECK(full);
  smr_audio_batch_write(batch, a);
  batch->tensor = first;
  smr_audio_batch_write(batch, b);
  const float *frames = (const float *)(void *)batch->frames;
  for (size_t t = 0; t < 2; t++)
    for (size_t f = 0; f < 9; f++)
      for (size_t p = 0; p < 2; p++) {
        const float want = frames[(t * 9 + f) * 2 + p];
        CHECK(a[(f * 2 + t) * 2 + p] == want && b[(p * 9 + f) * 2 + t] == want);
      }
  free(batch);
  free(in);
  audio_case_free(&c);
}

SMR_TEST(a_flush_fills_tensors) {
  // 44 samples at 8 kHz become 88 at 16 kHz; the last come with the flush.
  const struct smr_audio_format half = {8000, 1, false};
  const struct smr_audio_tensor tensor = tensor_of(4, 4, "tf");
  const int16_t in[44] = {0};
  struct audio_case c;
  size_t done = 0, taken, tensors = 0;
  bool full = true;
  REQUIRE(audio_case_make(&c, &pairs, &half, 0));
  struct smr_audio_batch *batch = begun(c.plan, &tensor);
  while (full) {
    REQUIRE(smr_audio_batch_push(batch, in + done, 44 - done, &taken, &full, NULL) == SAMARA_OK);
    done += taken;
    tensors += full;
  }
  CHECK_EQ_INT(done, 44);
  CHECK(tensors < 11);
  do {
    smr_audio_batch_flush(batch, &full);
    tensors += full;
  } while (full);
  CHECK_EQ_INT(tensors, 11);
  free(batch);
  audio_case_free(&c);
}

static void refused(const struct smr_audio_record *record, struct smr_audio_tensor tensor,
                    const char *words) {
  samara_error error = {0};
  CHECK_EQ_INT(smr_audio_tensor_check(record, &tensor, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, words);
}

SMR_TEST(tensors_that_lie_are_refused) {
  struct smr_audio_record complex = pairs;
  complex.kind = SMR_AUDIO_SPECTRUM, complex.spectrum = SMR_AUDIO_COMPLEX;
  refused(&pairs, tensor_of(0, 0, "tf"), "has 0 frames");
  refused(&pairs, tensor_of(4097, 1, "tf"), "has 4097 frames");
  refused(&pairs, tensor_of(4, 0, "tf"), "0 of them new");
  refused(&pairs, tensor_of(4, 5, "tf"), "5 of them new");
  refused(&pairs, tensor_of(4, 4, "nf"), "'nf' of 4 frames");
  refused(&pairs, tensor_of(4, 4, "nt"), "'nt'");
  refused(&pairs, tensor_of(4, 4, "tft"), "'tft'");
  refused(&pairs, tensor_of(4, 4, "tfx"), "'tfx'");
  refused(&pairs, tensor_of(1, 1, ""), "''");
  refused(&pairs, (struct smr_audio_tensor){1, 1, {'f', 0, 't', 0}}, "'f'");
  refused(&complex, tensor_of(1, 1, "ntf"), "c for complex");
  const struct smr_audio_tensor one = tensor_of(1, 1, "nf");
  CHECK_EQ_INT(smr_audio_tensor_check(&pairs, &one, NULL), SAMARA_OK);
}

SMR_TEST_MAIN(RUN(tensors_overlap_by_the_step); RUN(layouts_are_permutations);
              RUN(parts_of_complex_numbers_are_an_axis); RUN(a_flush_fills_tensors);
              RUN(tensors_that_lie_are_refused))
