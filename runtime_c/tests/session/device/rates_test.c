// SPDX-License-Identifier: Apache-2.0
// Rates: their file, whatever stands in it, and what is measured.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>

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
    // Another byte: a number may be another one, nothing else may happen.
    for (int flip = 1; flip < 256; flip *= 2) {
      text[cut] = (char)(text[cut] ^ flip);
      write_file(text, length);
      (void)smr_rates_read(path, &allocator, &got, &error);
      if (cut < 15) CHECK_CONTAINS(error.text, "is no file of rates");
      text[cut] = (char)(text[cut] ^ flip);
    }
  }
}

// A file with one line more, at its end or begin.
static samara_status read_with(const char *line, struct smr_rates *out) {
  static const char magic[] = "samara-rates 1\n";
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

// ---- measuring ----

SMR_TEST(only_what_is_not_stated_is_measured) {
  rig_reset();
  samara_backend *device = rig_open(0, NULL, NULL);
  REQUIRE(device != NULL);
  uint64_t *numbers;
  samara_rates all = {.launch_ns = 0}, rates;
  CHECK_EQ_INT(smr_rates_measure_device(device, &all, &error), SAMARA_OK);
  numbers = (uint64_t *)&all;
  for (size_t i = 0; i < sizeof all / sizeof *numbers; i++) CHECK(numbers[i] != 0);
  // One number is missing, and one that is there stays, for each.
  for (size_t missing = 0; missing < sizeof all / sizeof *numbers; missing++) {
    numbers = (uint64_t *)&rates;
    for (size_t i = 0; i < sizeof rates / sizeof *numbers; i++)
      numbers[i] = i == missing ? 0 : 12345;
    CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
    for (size_t i = 0; i < sizeof rates / sizeof *numbers; i++)
      CHECK(i == missing ? numbers[i] != 0 : numbers[i] == 12345);
  }
  mirror_reset();
  numbers = (uint64_t *)&rates;
  for (size_t i = 0; i < sizeof rates / sizeof *numbers; i++) numbers[i] = 12345;
  CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
  CHECK_EQ_INT(mirror_calls("supports") + mirror_calls("copy") + mirror_calls("allocate"), 0);
  samara_backend_close(device);
  CHECK_EQ_INT(mirror_live(), 0);
}

SMR_TEST(kinds_that_a_device_does_not_take_stay_unknown) {
  rig_reset();
  samara_backend *device = rig_open(0, NULL, NULL);
  REQUIRE(device != NULL);
  samara_rates rates = {.launch_ns = 0};
  mirror_fail("supports", -1);
  CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
  CHECK(rates.product_float32 == 0 && rates.memory == 0 && rates.launch_ns == 0);
  CHECK(rates.to_device != 0 && rates.from_device != 0 && rates.copy_ns != 0);
  mirror_reset();
  device->requirements.constant_layouts = 1u << SAMARA_LAYOUT_PLAIN;
  rates = (samara_rates){.launch_ns = 0};
  CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
  CHECK(rates.product_float32 == 0 && rates.depthwise == 0 && rates.memory != 0);
  samara_backend_close(device);
  CHECK_EQ_INT(mirror_live(), 0);
}

SMR_TEST(the_host_has_rates_with_any_threads) {
  samara_pool *pool = NULL;
  const samara_pool_options options = {.struct_size = sizeof options, .threads = 2};
  CHECK_EQ_INT(samara_pool_create(&options, &pool, &error), SAMARA_OK);
  uint32_t isa;
  CHECK_EQ_INT(smr_isa_resolve(NULL, &isa, &error), SAMARA_OK);
  for (int i = 0; i < 2; i++) {
    samara_rates rates = {.launch_ns = 0};
    CHECK_EQ_INT(smr_rates_measure_host(i == 0 ? NULL : pool, isa, &allocator, &rates, &error),
                 SAMARA_OK);
    CHECK(rates.product_float32 > 100000 && rates.product_int8 > 100000 && rates.memory > 100000);
    CHECK(rates.depthwise != 0 && rates.product_float16 != 0 && rates.launch_ns != 0);
    CHECK(rates.wait_ns == 0 && rates.copy_ns == 0 && rates.to_device == 0);
  }
  samara_pool_destroy(pool);
}

SMR_TEST(memory_may_be_out_at_any_allocation) {
  uint32_t isa;
  CHECK_EQ_INT(smr_isa_resolve("scalar", &isa, &error), SAMARA_OK);
  samara_status status = SAMARA_OUT_OF_MEMORY;
  for (size_t k = 1; status != SAMARA_OK && k < 12; k++) {
    struct literal_memory memory;
    samara_rates rates = {.launch_ns = 0};
    literal_memory_init(&memory);
    memory.fail_at = k;
    status = smr_rates_measure_host(NULL, isa, &memory.allocator, &rates, &error);
    // Without memory for weights a kind of work stays unknown.
    CHECK(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
    CHECK_EQ_INT(memory.live, 0);
  }
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  allocator = smr_allocator(NULL);
  const char *folder = rig_folder();
  if (folder == NULL) return 1;
  snprintf(path, sizeof path, "%s/rates.txt", folder);
  RUN(files_hold_all_rates);
  RUN(anything_may_stand_in_a_file);
  RUN(numbers_are_numbers);
  RUN(only_what_is_not_stated_is_measured);
  RUN(kinds_that_a_device_does_not_take_stay_unknown);
  RUN(the_host_has_rates_with_any_threads);
  RUN(memory_may_be_out_at_any_allocation);
  rig_remove(folder);
  return SMR_TEST_END();
}
