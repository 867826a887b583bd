// SPDX-License-Identifier: Apache-2.0
// The file of rates, with any contents.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"
#include "session/device/rates.h"

static samara_allocator allocator;
static samara_error error;
static char path[128];

static void write_file(const char *text, size_t length) {
  FILE *f = fopen(path, "wb");
  if (!CHECK(f != NULL)) return;
  CHECK_EQ_INT(fwrite(text, 1, length, f), length);
  fclose(f);
}

static struct smr_rates sample(void) {
  struct smr_rates rates = {.host = {.launch_ns = 1}};
  uint64_t *numbers = (uint64_t *)&rates;
  // All that a file holds: the host's lack wait_ns, copy_ns, to_device and from_device.
  for (uint32_t i = 0; i < sizeof rates / sizeof *numbers; i++) numbers[i] = 1000000007u * (i + 1);
  rates.host.wait_ns = rates.host.copy_ns = rates.host.to_device = rates.host.from_device = 0;
  return rates;
}

SMR_TEST(files_hold_all_rates) {
  const struct smr_rates rates = sample();
  struct smr_rates got;
  CHECK_EQ_INT(smr_rates_write(path, &allocator, &rates, &error), SAMARA_OK);
  CHECK_EQ_INT(smr_rates_read(path, &allocator, &got, &error), SAMARA_OK);
  CHECK_MEM(&got, &rates, sizeof rates);
  CHECK_EQ_INT(smr_rates_write("/dev/null/x/y", &allocator, &rates, &error), SAMARA_IO);
}

SMR_TEST(anything_may_stand_in_a_file) {
  const struct smr_rates rates = sample();
  struct smr_rates got;
  char text[4096] = "";
  CHECK_EQ_INT(smr_rates_write(path, &allocator, &rates, &error), SAMARA_OK);
  FILE *f = fopen(path, "rb");
  REQUIRE(f != NULL);
  const size_t length = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  for (size_t cut = 0; cut < length; cut++) {
    write_file(text, cut);
    const samara_status status = smr_rates_read(path, &allocator, &got, &error);
    // The last line may lack its end, or digits.
    const bool last = memchr(text + cut, '\n', length - cut - 1) == NULL;
    if (!last) CHECK(status == SAMARA_BAD_DATA || (cut == 0 && status != SAMARA_OK));
    if (status != SAMARA_OK) CHECK_CONTAINS(error.text, path);
    // A changed byte may change a number, and nothing else.
    for (int flip = 1; flip < 256; flip *= 2) {
      text[cut] = (char)(text[cut] ^ flip);
      write_file(text, length);
      (void)smr_rates_read(path, &allocator, &got, &error);
      if (cut < 15) CHECK_CONTAINS(error.text, "is not a file of rates");
      text[cut] = (char)(text[cut] ^ flip);
    }
  }
}

// A file with one more line at its start or end.
static samara_status read_with(const char *line, struct smr_rates *out) {
  static const char magic[] = "samara-rates 2\n";
  const struct smr_rates rates = sample();
  char text[4096] = "", own[5000];
  CHECK_EQ_INT(smr_rates_write(path, &allocator, &rates, &error), SAMARA_OK);
  FILE *f = fopen(path, "rb");
  if (f == NULL) return SAMARA_IO;
  (void)fread(text, 1, sizeof text - 1, f);
  fclose(f);
  snprintf(own, sizeof own, "%s%s%s", magic, line, text + sizeof magic - 1);
  write_file(own, strlen(own));
  return smr_rates_read(path, &allocator, out, &error);
}

// Files of older and newer libraries are refused.
SMR_TEST(other_versions_are_no_files_of_rates) {
  const struct smr_rates rates = sample();
  struct smr_rates got;
  CHECK_EQ_INT(smr_rates_write(path, &allocator, &rates, &error), SAMARA_OK);
  for (char version = '0'; version <= '9'; version++) {
    FILE *f = fopen(path, "r+b");
    if (!CHECK(f != NULL)) return;
    fseek(f, 13, SEEK_SET);
    fputc(version, f);
    fclose(f);
    CHECK_EQ_INT(smr_rates_read(path, &allocator, &got, &error),
                 version == '2' ? SAMARA_OK : SAMARA_BAD_DATA);
  }
}

SMR_TEST(numbers_are_numbers) {
  static const char *const bad[] = {
      "device.memory \n",     "device.memory -1\n", "device.memory 1e3\n",
      "device.memory 0x10\n", "device.memory 1 \n", "device.memory 99999999999999999999999\n"};
  struct smr_rates got;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK_EQ_INT(read_with(bad[i], &got), SAMARA_BAD_DATA);
    CHECK_CONTAINS(error.text, "device.memory NUMBER");
  }
  CHECK_EQ_INT(read_with("device.memory 7\n", &got), SAMARA_OK);
  CHECK_EQ_INT(got.device.memory, 7);
  CHECK_EQ_INT(read_with("# a comment\ndevice.memory2 x\nxdevice.memory 5\n", &got), SAMARA_OK);
  CHECK_EQ_INT(got.device.memory, sample().device.memory);
  char large[4200];
  memset(large, '#', sizeof large);
  large[sizeof large - 2] = '\n', large[sizeof large - 1] = '\0';
  CHECK(read_with(large, &got) != SAMARA_OK);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  allocator = smr_allocator(NULL);
  const char *folder = rig_folder();
  if (folder == NULL) return 1;
  snprintf(path, sizeof path, "%s/rates.txt", folder);
  RUN(files_hold_all_rates);
  RUN(anything_may_stand_in_a_file);
  RUN(other_versions_are_no_files_of_rates);
  RUN(numbers_are_numbers);
  rig_remove(folder);
  return SMR_TEST_END();
}
