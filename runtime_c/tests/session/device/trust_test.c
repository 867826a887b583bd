// SPDX-License-Identifier: Apache-2.0
// Verdicts about kinds of nodes: keys, and the file that keeps them, with any contents.
#include "base/fp.h"

#include "harness.h"

#include <dirent.h>

#include "session/device/device_rig.h"

static char path[512];

// The file that the device wrote.
static bool find_file(const char *folder) {
  DIR *listing = opendir(folder);
  bool found = false;
  for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;)
    if (strncmp(entry->d_name, "checked-", 8) == 0) {
      snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
      found = true;
    }
  if (listing != NULL) closedir(listing);
  return found;
}

static void write_file(const char *text, size_t length) {
  FILE *f = fopen(path, "wb");
  if (!CHECK(f != NULL)) return;
  CHECK_EQ_INT(fwrite(text, 1, length, f), length);
  fclose(f);
}

SMR_TEST(keys_say_operator_types_and_layout) {
  rig_reset();
  struct rig rig = rig_start(RIG_BORN, 0, (samara_session_options){0});
  samara_session *s = rig.cpu;
  char key[SMR_TRUST_KEY];
  smr_trust_key(&s->entry->nodes[3], key);
  CHECK_STR(key, "cast int64 float32");
  smr_trust_key(&s->entry->nodes[4], key);
  CHECK_STR(key, "mul float32 float32 float32");
  struct smr_tensor w = *s->entry->nodes[4].job.inputs[1];
  struct smr_frame_node node = s->entry->nodes[4];
  struct smr_tensor *inputs[] = {node.job.inputs[0], &w, NULL, &w};
  w.layout = SMR_LAYOUT_PANEL;
  node.job.inputs = inputs;
  node.job.input_count = 4;
  smr_trust_key(&node, key);
  CHECK_STR(key, "mul float32 float32:1 float32");
  CHECK(rig_end(&rig));
}

SMR_TEST(bad_verdicts_stay) {
  rig_reset();
  samara_backend *device = rig_open(0, NULL, NULL);
  REQUIRE(device != NULL);
  CHECK_EQ_INT(smr_trust_of(device, "add"), SMR_TRUST_UNKNOWN);
  smr_trust_note(device, "add", SMR_TRUST_GOOD);
  CHECK_EQ_INT(smr_trust_of(device, "add"), SMR_TRUST_GOOD);
  smr_trust_note(device, "add", SMR_TRUST_BAD);
  smr_trust_note(device, "add", SMR_TRUST_GOOD);
  CHECK_EQ_INT(smr_trust_of(device, "add"), SMR_TRUST_BAD);
  CHECK_EQ_INT(smr_trust_of(device, "ad"), SMR_TRUST_UNKNOWN);
  samara_backend_close(device);
}

SMR_TEST(verdicts_are_kept_for_the_next_process) {
  rig_reset();
  const char *folder = rig_folder();
  REQUIRE(folder != NULL);
  samara_backend *a = rig_open(0, folder, NULL), *b = rig_open(0, folder, NULL);
  REQUIRE(a != NULL && b != NULL);
  smr_trust_note(a, "add float32", SMR_TRUST_GOOD);
  smr_trust_note(a, "mul float32", SMR_TRUST_BAD);
  CHECK_EQ_INT(smr_trust_of(b, "mul float32"), SMR_TRUST_UNKNOWN);
  // Lines that another process wrote meanwhile are kept.
  smr_trust_note(b, "sub float32", SMR_TRUST_BAD);
  smr_trust_note(b, "mul float32", SMR_TRUST_GOOD);
  samara_backend_close(a);
  samara_backend_close(b);
  a = rig_open(0, folder, NULL);
  b = rig_open(1, folder, NULL);
  REQUIRE(a != NULL && b != NULL);
  CHECK_EQ_INT(smr_trust_of(a, "add float32"), SMR_TRUST_GOOD);
  CHECK_EQ_INT(smr_trust_of(a, "mul float32"), SMR_TRUST_BAD);
  CHECK_EQ_INT(smr_trust_of(a, "sub float32"), SMR_TRUST_BAD);
  // Verdicts hold for one device.
  CHECK_EQ_INT(smr_trust_of(b, "mul float32"), SMR_TRUST_UNKNOWN);
  samara_backend_close(a);
  samara_backend_close(b);
  rig_remove(folder);
}

SMR_TEST(anything_may_stand_in_the_file) {
  static const char whole[] = "samara-checked 1\ngood add\nbad mul\ngood mul\n";
  rig_reset();
  const char *folder = rig_folder();
  REQUIRE(folder != NULL);
  samara_backend *device = rig_open(0, folder, NULL);
  REQUIRE(device != NULL);
  smr_trust_note(device, "div", SMR_TRUST_GOOD);
  samara_backend_close(device);
  REQUIRE(find_file(folder));
  // Every prefix of the file, and every byte changed.
  for (size_t length = 0; length < sizeof whole; length++)
    for (int flips = 0; flips < 2; flips++) {
      char text[sizeof whole];
      memcpy(text, whole, sizeof whole);
      if (flips) text[length] = (char)(text[length] ^ 0x55);
      write_file(text, flips ? sizeof whole - 1 : length);
      device = rig_open(0, folder, NULL);
      REQUIRE(device != NULL);
      const enum smr_trust add = smr_trust_of(device, "add"), mul = smr_trust_of(device, "mul");
      // A verdict counts if its line is complete. A later line does not undo a bad one.
      if (!flips) {
        CHECK_EQ_INT(add, length >= 26 ? SMR_TRUST_GOOD : SMR_TRUST_UNKNOWN);
        CHECK_EQ_INT(mul, length >= 34 ? SMR_TRUST_BAD : SMR_TRUST_UNKNOWN);
      } else if (length < 17) {
        CHECK(add == SMR_TRUST_UNKNOWN && mul == SMR_TRUST_UNKNOWN);
      }
      samara_backend_close(device);
    }
  // Keys that are too long or empty, an unknown verdict, and a last line without an end.
  static const char odd[] =
      "samara-checked 1\ngood \nbad\nugly add\n\n"
      "bad 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
      "8901234567890123456789\nbad add";
  write_file(odd, sizeof odd - 1);
  device = rig_open(0, folder, NULL);
  REQUIRE(device != NULL);
  CHECK(device->verdicts == NULL);
  samara_backend_close(device);
  static const char other[] = "samara-checked 2\nbad add\n";
  write_file(other, sizeof other - 1);
  device = rig_open(0, folder, NULL);
  REQUIRE(device != NULL);
  CHECK(device->verdicts == NULL);
  samara_backend_close(device);
  rig_remove(folder);
}

SMR_TEST(without_memory_or_a_folder_verdicts_are_forgotten) {
  rig_reset();
  struct literal_memory memory;
  literal_memory_init(&memory);
  samara_backend *device = NULL;
  const samara_backend_options options = {.struct_size = sizeof options,
                                          .table = rig_table(),
                                          .cache_folder = "/dev/null/no folder",
                                          .allocator = &memory.allocator};
  REQUIRE(samara_backend_open(&options, &device, NULL) == SAMARA_OK);
  smr_trust_note(device, "add", SMR_TRUST_BAD);
  CHECK_EQ_INT(smr_trust_of(device, "add"), SMR_TRUST_BAD);
  memory.fail_at = memory.calls + 1;
  smr_trust_note(device, "mul", SMR_TRUST_BAD);
  CHECK_EQ_INT(smr_trust_of(device, "mul"), SMR_TRUST_UNKNOWN);
  samara_backend_close(device);
  CHECK_EQ_INT(memory.live, 0);
}

SMR_TEST_MAIN(RUN(keys_say_operator_types_and_layout); RUN(bad_verdicts_stay);
              RUN(verdicts_are_kept_for_the_next_process); RUN(anything_may_stand_in_the_file);
              RUN(without_memory_or_a_folder_verdicts_are_forgotten))
