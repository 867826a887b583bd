// SPDX-License-Identifier: Apache-2.0
// Turns chunks of samples into audio frames of features: docs/guides/preprocessing-audio.md, steps
// 1 to 3.
#include "base/fp.h"

#include "media/audio_stream.h"

#include <string.h>

#include "base/error.h"
#include "simd/common.h"

// ---- memory ----

static void *audio_stream_place(unsigned char *base, size_t *end, size_t count, size_t bytes) {
  void *at = base == NULL ? NULL : base + *end;
  *end += (count * bytes + 63) / 64 * 64;
  return at;
}

size_t smr_audio_layout(const struct smr_audio_plan *plan, struct smr_audio_state *state) {
  const struct smr_audio_record *r = &plan->record;
  const bool spectral = smr_audio_spectral(r);
  const size_t bins = spectral ? r->fft / 2 + 1 : 0;
  struct smr_audio_state made = {0};
  unsigned char *base = (unsigned char *)state;
  size_t end = 0;
  (void)audio_stream_place(NULL, &end, 1, sizeof made);
  made.input = audio_stream_place(base, &end, 2 * plan->resampler.half + SMR_AUDIO_BLOCK, 8);
  made.frame = audio_stream_place(base, &end, r->window, 8);
  made.work.x = audio_stream_place(base, &end, spectral ? r->fft : 0, 8);
  made.work.zr = audio_stream_place(base, &end, bins, 8);
  made.work.zi = audio_stream_place(base, &end, bins, 8);
  made.work.yr = audio_stream_place(base, &end, bins, 8);
  made.work.yi = audio_stream_place(base, &end, bins, 8);
  made.work.m = audio_stream_place(base, &end, bins, 8);
  made.work.e = audio_stream_place(base, &end, bins, 4);
  made.work.logs = audio_stream_place(base, &end, r->kind >= SMR_AUDIO_LOGMEL ? r->bins : 0, 4);
  made.work.values = audio_stream_place(base, &end, plan->features, 4);
  if (state != NULL) *state = made;
  return end;
}

// The signal before its first sample is zero, for half of the resampler's window less one.
static void audio_stream_begin(const struct smr_audio_plan *plan, struct smr_audio_state *state) {
  const size_t before = plan->resampler.half == 0 ? 0 : plan->resampler.half - 1;
  state->taken = state->resampled = state->frames = 0;
  state->at = state->skipped = 0;
  state->phase = 0;
  state->ending = false;
  state->held = before;
  state->filled = plan->lead;
  memset(state->input, 0, before * sizeof *state->input);
  memset(state->frame, 0, plan->lead * sizeof *state->frame);
}

struct smr_audio_state *smr_audio_reset(const struct smr_audio_plan *plan, void *memory) {
  struct smr_audio_state *state = (struct smr_audio_state *)memory;
  (void)smr_audio_layout(plan, state);
  audio_stream_begin(plan, state);
  return state;
}

// ---- samples ----

// Rounds halves away from zero, independent of the rounding mode.
static int64_t audio_stream_of_float(const unsigned char *from) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
  const uint32_t bare = word & 0x7fffffff;
  if (bare > 0x7f800000) return 0;  // NaN
  int64_t value = SMR_AUDIO_LIMIT;
  if (bare < 0x40000000) {  // below 2.0
    float magnitude;
    memcpy(&magnitude, &bare, sizeof magnitude);
    value = smr_audio_fixed(magnitude, SMR_AUDIO_SAMPLE_BITS);
  }
  return word >> 31 != 0 ? -value : value;
}

static int64_t audio_stream_of_int(const unsigned char *from) {
  int16_t value;
  memcpy(&value, from, sizeof value);
  return (int64_t)value * (INT64_C(1) << (SMR_AUDIO_SAMPLE_BITS - 15));
}

// The mean of each sample's channels.
static void audio_stream_mono(const struct smr_audio_format *format, const unsigned char *from,
                              size_t n, int64_t *to) {
  const int64_t channels = format->channels;
  const size_t step = format->is_float ? 4 : 2;
  for (size_t i = 0; i < n; i++) {
    int64_t sum = 0;
    for (int64_t c = 0; c < channels; c++, from += step)
      sum += format->is_float ? audio_stream_of_float(from) : audio_stream_of_int(from);
    if (channels > 1) {
      sum += channels / 2;
      sum = sum / channels - (sum % channels < 0 ? 1 : 0);
    }
    to[i] = sum;
  }
}

// ---- resampling ----

static int64_t audio_stream_clamped(int64_t x) {
  return x > SMR_AUDIO_LIMIT ? SMR_AUDIO_LIMIT : x < -SMR_AUDIO_LIMIT ? -SMR_AUDIO_LIMIT : x;
}

// Resample the input to at most `most` samples at the record's rate, written to `to` unless it is
// NULL. Returns their number.
static size_t audio_stream_resample(const struct smr_audio_plan *plan,
                                    struct smr_audio_state *state, size_t most, int64_t *to) {
  const struct smr_audio_resampler *r = &plan->resampler;
  const size_t taps = r->half == 0 ? 1 : 2 * (size_t)r->half;
  size_t n = 0;
  for (; n < most && state->at + taps <= state->held; n++) {
    const int64_t *x = state->input + state->at;
    if (to != NULL && r->half == 0) to[n] = *x;
    if (to != NULL && r->half != 0)
      to[n] = audio_stream_clamped(
          plan->kernels->dot(taps, x, plan->resample + (size_t)state->phase * taps));
    state->phase += r->down;
    state->at += state->phase / r->up;
    state->phase %= r->up;
  }
  state->resampled += n;
  return n;
}

// Drop samples that no later sum needs. If the next sum begins after all held samples, `at` stays
// above `held`: the difference is dropped from the next samples.
static void audio_stream_compact(struct smr_audio_state *state) {
  const size_t gone = state->at < state->held ? state->at : state->held;
  memmove(state->input, state->input + gone, (state->held - gone) * sizeof *state->input);
  state->held -= gone;
  state->at -= gone;
}

// ---- frames ----

struct audio_stream_output {
  unsigned char *at;
  size_t room, made, frame_bytes;
};

static struct audio_stream_output audio_stream_output_of(const struct smr_audio_plan *plan,
                                                         void *out, size_t room) {
  const size_t bytes = smr_audio_element_bytes(plan->record.dtype) * plan->features;
  return (struct audio_stream_output){(unsigned char *)out, room, 0, bytes};
}

// Emit a frame if it is full. False if the output has no room.
static bool audio_stream_emit(const struct smr_audio_plan *plan, struct smr_audio_state *state,
                              struct audio_stream_output *out) {
  if (out->made == out->room) return false;
  const size_t window = plan->record.window, hop = plan->record.hop;
  smr_audio_frame(plan, &state->work, state->frame, out->at);
  out->at += out->frame_bytes;
  out->made++;
  state->frames++;
  const size_t kept = hop < window ? window - hop : 0;
  memmove(state->frame, state->frame + (window - kept), kept * sizeof *state->frame);
  state->filled = kept;
  state->skipped = hop > window ? hop - window : 0;
  return true;
}

// Move at most `most` samples from the input to frames, and emit full ones. False if the output is
// full.
static bool audio_stream_drain(const struct smr_audio_plan *plan, struct smr_audio_state *state,
                               uint64_t most, struct audio_stream_output *out) {
  const size_t window = plan->record.window;
  if (state->taken == 0) return true;  // leading zeros alone must not fill a window of 1
  for (;;) {
    if (state->filled == window && !audio_stream_emit(plan, state, out)) return false;
    const bool skips = state->skipped > 0;
    const size_t room = skips ? state->skipped : window - state->filled;
    const size_t asked = most < room ? (size_t)most : room;
    const size_t n =
        audio_stream_resample(plan, state, asked, skips ? NULL : state->frame + state->filled);
    if (n == 0) break;
    most -= n;
    if (skips)
      state->skipped -= n;
    else
      state->filled += n;
  }
  audio_stream_compact(state);
  return true;
}

samara_status smr_audio_push(const struct smr_audio_plan *plan, struct smr_audio_state *state,
                             const void *samples, size_t count, size_t *taken, void *out,
                             size_t room, size_t *made, samara_error *error) {
  struct audio_stream_output output = audio_stream_output_of(plan, out, room);
  const size_t group = (size_t)plan->format.channels * (plan->format.is_float ? 4 : 2);
  const unsigned char *from = (const unsigned char *)samples;
  size_t done = 0;
  *taken = *made = 0;
  if (state->ending)
    SMR_FAIL(error, BAD_STATE,
             "audio: samples came while the stream ends; flush until it makes fewer frames than"
             " there is room for");
  while (audio_stream_drain(plan, state, UINT64_MAX, &output) && done < count) {
    const size_t n = count - done < SMR_AUDIO_BLOCK ? count - done : SMR_AUDIO_BLOCK;
    audio_stream_mono(&plan->format, from + done * group, n, state->input + state->held);
    state->held += n;
    state->taken += n;
    done += n;
  }
  *taken = done;
  *made = output.made;
  return SAMARA_OK;
}

// ---- the end ----

// ceil(taken * up / down), without the product.
static uint64_t audio_stream_total(const struct smr_audio_plan *plan,
                                   const struct smr_audio_state *state) {
  const uint64_t up = plan->resampler.up, down = plan->resampler.down;
  return state->taken / down * up + (state->taken % down * up + down - 1) / down;
}

// Resample the rest of the signal, padded with zeros. False if the output is full.
static bool audio_stream_finish(const struct smr_audio_plan *plan, struct smr_audio_state *state,
                                struct audio_stream_output *out) {
  const uint64_t total = audio_stream_total(plan, state);
  while (audio_stream_drain(plan, state, total - state->resampled, out)) {
    if (state->resampled == total) return true;
    memset(state->input + state->held, 0, SMR_AUDIO_BLOCK * sizeof *state->input);
    state->held += SMR_AUDIO_BLOCK;
  }
  return false;
}

// Emit the remaining frames whose centre is in the signal. False if the output is full.
static bool audio_stream_centred(const struct smr_audio_plan *plan, struct smr_audio_state *state,
                                 struct audio_stream_output *out) {
  if (!plan->record.center || state->taken == 0) return true;
  const size_t window = plan->record.window;
  const uint64_t frames = 1 + state->resampled / plan->record.hop;
  while (state->frames < frames) {
    memset(state->frame + state->filled, 0, (window - state->filled) * sizeof *state->frame);
    if (!audio_stream_emit(plan, state, out)) return false;
  }
  return true;
}

void smr_audio_flush(const struct smr_audio_plan *plan, struct smr_audio_state *state, void *out,
                     size_t room, size_t *made) {
  struct audio_stream_output output = audio_stream_output_of(plan, out, room);
  state->ending = true;
  if (audio_stream_finish(plan, state, &output) && audio_stream_centred(plan, state, &output))
    audio_stream_begin(plan, state);
  *made = output.made;
}
