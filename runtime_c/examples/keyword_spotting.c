// SPDX-License-Identifier: Apache-2.0
// Words in a recording: the runtime makes the features of each second, as the file says, and the
// net names the word in it. examples/keyword_spotting.py makes the model file and hears the same.
//
//   keyword_spotting MODEL.samara SOUND.wav
#include "sounds.h"

enum { OTHER = 0 };  // the class for everything except keywords

static int listen(struct net *net, const char *path, struct sound *sound) {
  samara_audio_record record;
  samara_answer answer = {.struct_size = sizeof answer};
  uint32_t last = OTHER;
  double seconds;
  if (hearing_of(path, net, &record, &seconds) != 0) return 1;
  for (size_t i = 0;; i++) {
    bool ready;
    samara_status status = hear(net->session, sound, &ready);
    if (status == SAMARA_OK && !ready) return 0;
    if (status == SAMARA_OK) status = samara_session_run(net->session);
    if (status == SAMARA_OK) status = samara_session_answer(net->session, &answer);
    if (status != SAMARA_OK) return fail("sound", samara_session_error(net->session));
    if (answer.kind != SAMARA_CLASSES || answer.count == 0) return fail(path, "names no words");
    const samara_class *best = &answer.classes[0];
    printf("%.2f s: %s %.9g%s\n", (double)i * seconds, best->label != NULL ? best->label : "?",
           (double)best->score, best->index != OTHER && best->index != last ? " heard" : "");
    last = best->index;
  }
}

int main(int argc, char **argv) {
  return on_sound(argc, argv, "keyword_spotting MODEL.samara SOUND.wav", listen);
}
