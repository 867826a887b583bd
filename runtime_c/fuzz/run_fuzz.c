// SPDX-License-Identifier: Apache-2.0
// Fuzz target: open any bytes as a model, and run every function of it within small limits.
//
// If the bytes are refused, the header's sizes and checksum are corrected, and checksums of data
// are ignored. Inputs hold bytes of the file, or small numbers that are valid indices and sizes.
// Symbolic dims differ from run to run.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "prepare.h"

#include <samara/samara_media.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  RUN_MAX_ARENA = 64 << 20,
  RUN_MAX_STEPS = 300,
  RUN_MAX_INPUTS = 16,
  RUN_MAX_OUTPUTS = 16,
  RUN_MAX_PICTURE = 1
      << 18,  // bytes of an input that a picture is made: their pass has no deadline
  RUN_ROUNDS = 6
};

static samara_status fuzz_custom(const samara_custom_call *call) {
  for (size_t i = 0; i < call->output_count; i++)
    if (call->outputs[i].size_bytes != 0)
      memset(call->outputs[i].data, (int)i, call->outputs[i].size_bytes);
  return SAMARA_OK;
}

static samara_status fuzz_measure(samara_custom_call *call) {
  for (size_t i = 0; i < call->output_count; i++)
    for (int32_t axis = 0; axis < call->outputs[i].rank; axis++)
      call->outputs[i].shape[axis] = 2 + axis;
  return SAMARA_OK;
}

// Element `k` of an input: small numbers, valid as indices, sizes and conditions.
static void fuzz_small(const samara_tensor *t, size_t k, size_t seed) {
  const int64_t number = (int64_t)((k * 5 + seed) % 7) - 2;
  const float real = (float)number * 0.75f;
  uint8_t *data = (uint8_t *)t->data;
  switch (t->dtype) {
    case SAMARA_FLOAT32:
      memcpy(data + k * 4, &real, 4);
      return;
    case SAMARA_INT32:
      memcpy(data + k * 4, &(int32_t){(int32_t)number}, 4);
      return;
    case SAMARA_INT64:
      memcpy(data + k * 8, &number, 8);
      return;
    case SAMARA_FLOAT16:
      memcpy(data + k * 2, &(uint16_t){(uint16_t)(0x3800 + number * 0x100)}, 2);
      return;
    case SAMARA_BOOL:
      data[k] = (uint8_t)(number & 1);
      return;
    case SAMARA_FLOAT64:
      memcpy(data + k * 8, &(double){(double)real}, 8);
      return;
    case SAMARA_BFLOAT16:
      memcpy(data + k * 2, &(uint16_t){(uint16_t)(0x3f00 + number * 0x40)}, 2);
      return;
    case SAMARA_INT16:
    case SAMARA_UINT16:
      memcpy(data + k * 2, &(uint16_t){(uint16_t)number}, 2);
      return;
    case SAMARA_UINT32:
      memcpy(data + k * 4, &(uint32_t){(uint32_t)number}, 4);
      return;
    case SAMARA_UINT64:
      memcpy(data + k * 8, &number, 8);
      return;
    case SAMARA_INT4:
    case SAMARA_UINT4:
      data[k / 2] = (uint8_t)(number * 0x11);
      return;
    default:
      data[k] = (uint8_t)number;
  }
}

static size_t fuzz_elements(const samara_tensor *t) {
  size_t n = 1;
  for (int32_t axis = 0; axis < t->rank; axis++) n *= (size_t)t->shape[axis];
  return n;
}

static void fuzz_feed(samara_session *session, size_t count, const uint8_t *data, size_t size,
                      bool small) {
  for (size_t i = 0; i < count; i++) {
    samara_tensor t;
    if (samara_session_input(session, i, &t) != SAMARA_OK || t.size_bytes == 0) continue;
    if (small || size == 0) {
      const size_t n = fuzz_elements(&t);
      for (size_t k = 0; k < n; k++) fuzz_small(&t, k, i);
      continue;
    }
    uint8_t *out = (uint8_t *)t.data;
    for (size_t k = 0; k < t.size_bytes; k++)
      out[k] = t.dtype == SAMARA_BOOL ? data[k % size] & 1u : data[(k * 7 + i) % size];
  }
}

// Set a picture for inputs with an image record, if the shape fits.
static void fuzz_picture(const samara_model *model, const char *function, samara_session *session,
                         size_t input, size_t round) {
  enum { LONGEST = 64 };
  static uint8_t pixels[4 * LONGEST * LONGEST];
  static const samara_image_format formats[RUN_ROUNDS] = {SAMARA_RGBA, SAMARA_NV21, SAMARA_GRAY,
                                                          SAMARA_I420, SAMARA_BGR,  SAMARA_NV12};
  samara_image_record record = {.struct_size = sizeof record};
  samara_tensor t;
  if (samara_model_image_record(model, function, input, &record) != SAMARA_OK) return;
  if (samara_session_input(session, input, &t) != SAMARA_OK) return;
  if (t.size_bytes == 0 || t.size_bytes > RUN_MAX_PICTURE) return;
  const bool last = record.layout == SAMARA_NHWC || record.layout == SAMARA_HWC;
  const int64_t height = t.shape[t.rank - (last ? 3 : 2)], width = t.shape[t.rank - (last ? 2 : 1)];
  // The input's size for records that keep it, else another.
  const bool same = round % 2 == 0 && height <= LONGEST && width <= LONGEST;
  samara_image image = {.struct_size = sizeof image,
                        .format = formats[round],
                        .width = same ? (uint32_t)width : (uint32_t)(1 + 7 * round),
                        .height = same ? (uint32_t)height : (uint32_t)(40 - round),
                        .rotation = same ? 180 : 90 * (uint32_t)(round % 4)};
  for (int p = 0; p < 3; p++)
    image.planes[p] = (samara_plane){.data = pixels + p, .size_bytes = sizeof pixels - 3};
  for (size_t k = 0; k < sizeof pixels; k++) pixels[k] = (uint8_t)(k * 37 + round);
  (void)samara_session_set_image(session, input, &image);
}

// Push sound to inputs with an audio record, at another rate or the record's, and end it.
static void fuzz_sound(const samara_model *model, const char *function, samara_session *session,
                       size_t input, size_t round) {
  enum { SAMPLES = 600 };
  static float samples[SAMPLES];
  samara_audio_record record = {.struct_size = sizeof record};
  samara_tensor t;
  if (samara_model_audio_record(model, function, input, &record) != SAMARA_OK) return;
  if (samara_session_input(session, input, &t) != SAMARA_OK) return;
  if (t.size_bytes == 0 || t.size_bytes > RUN_MAX_PICTURE) return;
  for (size_t k = 0; k < SAMPLES; k++) samples[k] = (float)((k * 37 + round) % 101) / 50 - 1;
  const samara_audio audio = {.struct_size = sizeof audio,
                              .samples = samples,
                              .count = round < 2 ? SAMPLES : SAMPLES / 2 - round,
                              .rate = round % 3 == 1 ? 11025 : 0,
                              .channels = round < 2 ? 1 : 2,
                              .dtype = SAMARA_FLOAT32};
  size_t taken;
  bool ready = false;
  if (samara_session_push_audio(session, input, &audio, &taken, &ready) != SAMARA_OK) return;
  if (!ready) (void)samara_session_end_audio(session, input, &ready);
}

// Results must be in readable memory.
static uint64_t fuzz_read(const samara_session *session, size_t count) {
  uint64_t sum = SMR_FNV_START;
  for (size_t i = 0; i < count; i++) {
    samara_tensor t;
    if (samara_session_output(session, i, &t) == SAMARA_OK && t.size_bytes != 0)
      sum = smr_fnv(sum, t.data, t.size_bytes);
  }
  return sum;
}

static uint64_t fuzz_text(uint64_t sum, const char *text) {
  return text != NULL ? smr_fnv(sum, text, strlen(text)) : sum;
}

// So must everything that an answer points to.
static uint64_t fuzz_answer(samara_session *session) {
  samara_answer a = {.struct_size = sizeof a};
  uint64_t sum = SMR_FNV_START;
  if (samara_session_answer(session, &a) != SAMARA_OK) return sum;
  if (a.mask != NULL) sum = smr_fnv(sum, a.mask, a.count * a.mask_element_bytes);
  for (size_t i = 0; a.classes != NULL && i < a.count; i++)
    sum = fuzz_text(sum, a.classes[i].label);
  for (size_t i = 0; a.boxes != NULL && i < a.count; i++) {
    sum = fuzz_text(sum, a.boxes[i].label);
    sum = smr_fnv(sum, &a.boxes[i].x0, 5 * sizeof(float));
    if (a.points_per_box != 0)
      sum = smr_fnv(sum, a.boxes[i].points, a.points_per_box * 2 * sizeof(float));
  }
  for (size_t i = 0; a.points != NULL && i < a.count; i++) sum = fuzz_text(sum, a.points[i].label);
  return sum;
}

// The symbolic dims of a round; the last round mixes them.
static int64_t fuzz_dim(size_t round, size_t input, int32_t axis) {
  static const int64_t sizes[RUN_ROUNDS] = {3, 2, 17, 0, 32, 5};
  return sizes[round + 1 < RUN_ROUNDS ? round : (input + (size_t)axis) % RUN_ROUNDS];
}

// Run into buffers of exactly the size reported before the run.
static samara_status fuzz_run_with(samara_session *session, size_t count) {
  void *buffers[RUN_MAX_OUTPUTS] = {NULL};
  if (count > RUN_MAX_OUTPUTS) return samara_session_run(session);
  for (size_t i = 0; i < count; i++) {
    samara_tensor t;
    if (samara_session_output_shape(session, i, &t) != SAMARA_OK) continue;
    bool known = true;
    for (int32_t axis = 0; axis < t.rank; axis++) known = known && t.shape[axis] >= 0;
    if (known) buffers[i] = malloc(t.size_bytes);
  }
  const samara_status status = samara_session_run_with(session, NULL, buffers);
  for (size_t i = 0; i < count; i++) free(buffers[i]);
  return status;
}

static void fuzz_run(const samara_model *model, const char *function, const uint8_t *data,
                     size_t size) {
  const samara_custom_op custom = {.struct_size = sizeof custom,
                                   .name = "fuzz::any",
                                   .measure = fuzz_measure,
                                   .run = fuzz_custom};
  static const char *const isas[3] = {NULL, "scalar", "avx2,neon"};
  const samara_session_options options = {.struct_size = sizeof options,
                                          .function = function,
                                          .max_arena_bytes = RUN_MAX_ARENA,
                                          .max_steps = RUN_MAX_STEPS,
                                          .deadline_us = 200 * 1000,
                                          .isa = isas[(size >> 1) % 3],
                                          .keep_all = size % 2 == 1,
                                          .profile = true,
                                          .custom_ops = &custom,
                                          .custom_op_count = 1};
  samara_session *session = NULL;
  samara_error error;
  const samara_status status = samara_session_create(model, &options, &session, &error);
  if ((status == SAMARA_OK) != (session != NULL)) abort();
  if (session == NULL) return;
  const size_t inputs = samara_model_input_count(model, function);
  const size_t outputs = samara_model_output_count(model, function);
  for (size_t round = 0; round < RUN_ROUNDS; round++) {
    int64_t dims[RUN_MAX_INPUTS][SAMARA_MAX_RANK];
    const int64_t *shapes[RUN_MAX_INPUTS];
    for (size_t i = 0; i < inputs && i < RUN_MAX_INPUTS; i++) {
      samara_tensor_info info;
      if (samara_model_input_info(model, function, i, &info) != SAMARA_OK) abort();
      for (int32_t axis = 0; axis < info.rank; axis++)
        dims[i][axis] = info.shape[axis] >= 0 ? info.shape[axis] : fuzz_dim(round, i, axis);
      shapes[i] = dims[i];
    }
    // Round 0 runs with the first shapes, if any.
    if (round > 0)
      (void)samara_session_resize(session, shapes,
                                  inputs < RUN_MAX_INPUTS ? inputs : RUN_MAX_INPUTS);
    fuzz_feed(session, inputs, data, size < 256 ? size : 256, round % 2 == 0);
    for (size_t i = 0; i < inputs && i < RUN_MAX_INPUTS; i++) {
      fuzz_picture(model, function, session, i, round);
      fuzz_sound(model, function, session, i, round);
    }
    const samara_status ran =
        round % 2 == 0 ? fuzz_run_with(session, outputs) : samara_session_run(session);
    if (ran == SAMARA_OK && fuzz_read(session, outputs) == 0) abort();
    if (ran == SAMARA_OK && fuzz_answer(session) == 0) abort();
    if (samara_session_arena_bytes(session) > RUN_MAX_ARENA) abort();
  }
  samara_session_destroy(session);
}

static samara_status fuzz_open(const uint8_t *image, size_t size, samara_verify verify,
                               const uint8_t *data) {
  samara_model *model = NULL;
  samara_error error;
  const samara_model_options options = {.struct_size = sizeof options, .verify = verify};
  const samara_status status = samara_model_open_memory(image, size, &options, &model, &error);
  if ((status == SAMARA_OK) != (model != NULL)) abort();
  if (model != NULL) {
    for (size_t f = 0; f < samara_model_function_count(model); f++)
      fuzz_run(model, samara_model_function_name(model, f), data, size);
  }
  samara_model_close(model);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  samara_status status = fuzz_open(data, size, SAMARA_VERIFY_SMALL, data);
  for (int sealed = 0; status != SAMARA_OK && sealed < 2; sealed++) {
    uint8_t *bytes = fuzz_prepare(data, size, sealed == 1);
    if (bytes != NULL) status = fuzz_open(bytes, size, SAMARA_VERIFY_NEVER, data);
    free(bytes);
  }
  return 0;
}
