// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any audio record and any samples. A stream in chunks must give the same result as
// all samples at once.
//
// The first bytes are the record, field by field, and the format; the rest are the samples.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "media/audio_tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Larger plans and audio frames take too long for fuzzing to find anything.
enum { FUZZ_MOST = 1 << 22, FUZZ_FRAMES = 64 };

struct fuzz_reader {
  const uint8_t *data;
  size_t size;
};

// Read bytes; zeros follow the last one.
static void fuzz_read(struct fuzz_reader *reader, void *to, size_t bytes) {
  memset(to, 0, bytes);
  const size_t n = bytes < reader->size ? bytes : reader->size;
  if (n != 0) memcpy(to, reader->data, n);
  reader->data += n;
  reader->size -= n;
}

static uint8_t fuzz_byte(struct fuzz_reader *reader) {
  uint8_t value;
  fuzz_read(reader, &value, 1);
  return value;
}

static uint16_t fuzz_short(struct fuzz_reader *reader) {
  const uint16_t low = fuzz_byte(reader);
  return (uint16_t)(low | fuzz_byte(reader) << 8);
}

static float fuzz_float(struct fuzz_reader *reader) {
  float value;
  fuzz_read(reader, &value, sizeof value);
  return value;
}

// mean and scale point into `factors`.
static struct smr_audio_record fuzz_record(struct fuzz_reader *r, float factors[2]) {
  const uint8_t kinds = fuzz_byte(r), choices = fuzz_byte(r), flags = fuzz_byte(r);
  struct smr_audio_record record = {.kind = kinds & 7,
                                    .dtype = kinds >> 3 & 3,
                                    .shape = kinds >> 5,
                                    .spectrum = choices & 3,
                                    .log = choices >> 2 & 3,
                                    .symmetric = (choices >> 4 & 1) != 0,
                                    .center = (choices >> 5 & 1) != 0,
                                    .dc = (choices >> 6 & 1) != 0,
                                    .slaney = (flags & 1) != 0,
                                    .slaney_norm = (flags >> 1 & 1) != 0,
                                    .mel_triangles = (flags >> 2 & 1) != 0,
                                    .plain_dct = (flags >> 3 & 1) != 0,
                                    .wide_unit = (flags >> 4 & 1) != 0};
  record.rate = fuzz_short(r) * 3u;
  record.window = fuzz_short(r);
  record.hop = fuzz_short(r);
  const uint8_t power = fuzz_byte(r);
  record.fft = power < 32 ? 1u << power : power;
  record.lead = fuzz_short(r);
  record.bins = fuzz_short(r);
  record.first = fuzz_byte(r);
  record.coefficients = fuzz_byte(r);
  record.lifter = fuzz_byte(r);
  record.low = fuzz_float(r);
  record.high = fuzz_float(r);
  record.preemphasis = fuzz_float(r);
  record.floor = fuzz_float(r);
  record.offset = fuzz_float(r);
  record.n_mean = flags >> 5 & 1;
  record.n_scale = flags >> 6 & 1;
  factors[0] = fuzz_float(r);
  factors[1] = fuzz_float(r);
  record.mean = &factors[0];
  record.scale = &factors[1];
  record.quant_scale = fuzz_float(r);
  record.quant_zero = (int16_t)fuzz_short(r);
  return record;
}

static void *fuzz_alloc(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (p == NULL) abort();
  memset(p, 0xa5, bytes);
  return p;
}

// Up to FUZZ_FRAMES frames of a stream whose portions and rooms are at most `portion` and `room`.
static size_t fuzz_stream(const struct smr_audio_plan *plan, const uint8_t *samples, size_t count,
                          size_t portion, size_t room, uint8_t *out, size_t frame_bytes) {
  const size_t group = plan->format.channels * (plan->format.is_float ? 4u : 2u);
  void *memory = fuzz_alloc(plan->state_bytes);
  struct smr_audio_state *state = smr_audio_reset(plan, memory);
  size_t frames = 0, done = 0, taken, made = 1;
  while (frames < FUZZ_FRAMES && (done < count || made != 0)) {
    const size_t some = room < FUZZ_FRAMES - frames ? room : FUZZ_FRAMES - frames;
    const size_t n = portion < count - done ? portion : count - done;
    if (smr_audio_push(plan, state, samples + done * group, n, &taken, out + frames * frame_bytes,
                       some, &made, NULL) != SAMARA_OK)
      abort();
    done += taken;
    frames += made;
  }
  for (made = 1; made != 0 && frames < FUZZ_FRAMES; frames += made)
    smr_audio_flush(plan, state, out + frames * frame_bytes, 1, &made);
  free(memory);
  return frames;
}

static void fuzz_compare(const struct smr_audio_plan *plan, const struct fuzz_reader *rest,
                         size_t portion, size_t room) {
  const size_t bytes = plan->features * smr_audio_element_bytes(plan->record.dtype);
  const size_t group = plan->format.channels * (plan->format.is_float ? 4u : 2u);
  const size_t count = rest->size / group;
  uint8_t *whole = (uint8_t *)fuzz_alloc(FUZZ_FRAMES * bytes);
  uint8_t *parts = (uint8_t *)fuzz_alloc(FUZZ_FRAMES * bytes);
  uint8_t *samples = (uint8_t *)malloc(count * group + 1);  // + 1: never malloc(0)
  if (samples == NULL) abort();
  memcpy(samples, rest->data, count * group);
  const size_t a = fuzz_stream(plan, samples, count, count, FUZZ_FRAMES, whole, bytes);
  const size_t b = fuzz_stream(plan, samples, count, portion, room, parts, bytes);
  if (a != b || memcmp(whole, parts, a * bytes) != 0) abort();
  free(whole);
  free(parts);
  free(samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_reader reader = {data, size};
  float factors[2];
  const struct smr_audio_record record = fuzz_record(&reader, factors);
  const uint8_t channels = fuzz_byte(&reader);
  const struct smr_audio_format format = {fuzz_short(&reader) * 3u, channels >> 1,
                                          (channels & 1) != 0};
  const size_t portion = fuzz_byte(&reader) + 1u, room = fuzz_byte(&reader) % 4 + 1u;
  samara_error error;
  size_t bytes;
  if (smr_audio_plan_bytes(&record, &format, &bytes, &error) != SAMARA_OK || bytes > FUZZ_MOST)
    return 0;
  void *memory = fuzz_alloc(bytes);
  const struct smr_audio_plan *plan;
  if (smr_audio_plan_make(&record, &format, smr_cpu_isa(), memory, &plan, &error) != SAMARA_OK)
    abort();
  fuzz_compare(plan, &reader, portion, room);
  free(memory);
  return 0;
}
