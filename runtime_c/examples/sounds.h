// SPDX-License-Identifier: Apache-2.0
// WAV files of 16-bit PCM for tasks, and passing their samples to a session.
#ifndef SAMARA_EXAMPLES_SOUNDS_H_
#define SAMARA_EXAMPLES_SOUNDS_H_

#include "tasks.h"

// A recording, passed on in chunks of 10 ms like those of a microphone. Release `samples` with
// free().
struct sound {
  int16_t *samples;
  samara_audio audio;  // all of it
  size_t at;           // samples per channel read so far
};

static inline uint32_t wav_number(const unsigned char *from, int count) {
  uint32_t number = 0;
  for (int i = count; i-- > 0;) number = number << 8 | from[i];
  return number;
}

static inline int read_samples(const char *path, const struct bytes *file, struct sound *out) {
  if (file->count < 12 || memcmp(file->data, "RIFF", 4) != 0 ||
      memcmp(file->data + 8, "WAVE", 4) != 0)
    return fail(path, "is not a WAV file");
  samara_audio *audio = &out->audio;
  for (size_t at = 12; at + 8 <= file->count;) {
    const unsigned char *chunk = file->data + at;
    const size_t count = wav_number(chunk + 4, 4), left = file->count - at - 8;
    if (count > left) return fail(path, "is cut off");
    if (memcmp(chunk, "fmt ", 4) == 0 && count >= 16) {
      audio->channels = wav_number(chunk + 10, 2);
      audio->rate = wav_number(chunk + 12, 4);
      if (wav_number(chunk + 8, 2) != 1 || wav_number(chunk + 22, 2) != 16)
        return fail(path, "is not of 16-bit PCM; convert it: ffmpeg -i in -c:a pcm_s16le out.wav");
      if (audio->channels < 1 || audio->channels > 32 || audio->rate < 1)
        return fail(path, "has no rate, or not 1 to 32 channels");
    } else if (memcmp(chunk, "data", 4) == 0 && audio->channels != 0) {
      audio->count = count / 2 / audio->channels;
      out->samples = malloc(count + 2);
      if (out->samples == NULL) return fail(path, "out of memory");
      for (size_t i = 0; i < count / 2; i++) {
        const uint16_t bits = (uint16_t)wav_number(chunk + 8 + 2 * i, 2);
        memcpy(out->samples + i, &bits, sizeof bits);
      }
      audio->samples = out->samples;
      return 0;
    }
    at += 8 + count + (count & 1 && count < left);  // chunks begin at even bytes
  }
  return fail(path, "has no sound");
}

static inline int read_sound(const char *path, struct sound *out) {
  struct bytes file;
  *out = (struct sound){.audio = {.struct_size = sizeof out->audio, .dtype = SAMARA_INT16}};
  if (read_bytes(path, &file) != 0) return 1;
  const int result = read_samples(path, &file, out);
  free(file.data);
  return result;
}

// Push samples until input 0 has its next tensor, then run the session. *ready is false at the end.
static inline samara_status hear(samara_session *session, struct sound *sound, bool *ready) {
  const samara_audio *all = &sound->audio;
  *ready = false;
  while (!*ready && sound->at < all->count) {
    samara_audio part = *all;
    size_t taken = 0;
    part.samples = sound->samples + sound->at * all->channels;
    part.count = all->count - sound->at;
    if (part.count > (all->rate + 99) / 100) part.count = (all->rate + 99) / 100;
    const samara_status status = samara_session_push_audio(session, 0, &part, &taken, ready);
    if (status != SAMARA_OK) return status;
    sound->at += taken;
  }
  return *ready ? SAMARA_OK : samara_session_end_audio(session, 0, ready);
}

// The record of input 0, and the seconds between the starts of consecutive tensors.
static inline int hearing_of(const char *path, const struct net *net, samara_audio_record *record,
                             double *seconds) {
  *record = (samara_audio_record){.struct_size = sizeof *record};
  if (samara_model_audio_record(net->model, NULL, 0, record) != SAMARA_OK)
    return fail(path, "does not say how sound becomes its input");
  *seconds = (double)record->step * record->hop / record->rate;
  return 0;
}

// The body of a task, called with open model and recording. Returns 0, or 1 after printing an
// error.
typedef int (*listen_fn)(struct net *net, const char *path, struct sound *sound);

// The body of main: opens MODEL.samara and SOUND.wav, runs the task, closes them.
static inline int on_sound(int argc, char **argv, const char *usage, listen_fn listen) {
  struct net net;
  struct sound sound;
  if (argc != 3) return fail("usage", usage);
  if (open_net(argv[1], &net) != 0) return 1;
  int result = read_sound(argv[2], &sound);
  if (result == 0) result = listen(&net, argv[1], &sound);
  free(sound.samples);
  close_net(&net);
  return result;
}

#endif  // SAMARA_EXAMPLES_SOUNDS_H_
