// SPDX-License-Identifier: Apache-2.0
// Voice activity: sound streams through a net with state. examples/voice_activity.py makes the
// model file and gives the same probabilities.
//
//   voice_activity MODEL.samara SOUND.wav
#include "sounds.h"

static int listen(struct net *net, const char *path, struct sound *sound) {
  samara_audio_record record;
  samara_tensor output;
  double seconds, start = -1;
  if (hearing_of(path, net, &record, &seconds) != 0) return 1;
  for (size_t i = 0;; i++) {
    bool ready;
    samara_status status = hear(net->session, sound, &ready);
    if (status == SAMARA_OK && ready) status = samara_session_run(net->session);
    if (status == SAMARA_OK && ready) status = samara_session_output(net->session, 0, &output);
    if (status != SAMARA_OK) return fail("sound", samara_session_error(net->session));
    if (ready && (output.dtype != SAMARA_FLOAT32 || output.size_bytes < sizeof(float)))
      return fail(path, "gives no probability");
    const double now = (double)i * seconds;
    const float p = ready ? *(const float *)output.data : 0.0f;
    if (ready) printf("%.3f s: %.9g\n", now, (double)p);
    if (p >= 0.5f && start < 0) start = now;
    if (p < 0.5f && start >= 0) {
      printf("speech from %.3f s to %.3f s\n", start, now);
      start = -1;
    }
    if (!ready) return 0;
  }
}

int main(int argc, char **argv) {
  return on_sound(argc, argv, "voice_activity MODEL.samara SOUND.wav", listen);
}
