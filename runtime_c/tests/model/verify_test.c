// SPDX-License-Identifier: Apache-2.0
// Files with any damaged bit are refused, except where checks are off. Copies do not need the file.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "model/verify.h"

#include <stdio.h>
#include <unistd.h>

#include "harness.h"
#include "model/sample.h"

enum { MEBI = 1 << 20 };

// A sealed sample with `more` bytes of data behind its own, the last of three tensors.
static uint8_t *sealed_bytes(size_t more, size_t *size) {
  struct mb_model *m = mb_sample();
  const int64_t small = 16, elements = (int64_t)more;
  if (more != 0) mb_data(m, "before", SAMARA_UINT8, 1, &small, NULL, 0);
  if (more != 0) mb_data(m, "long", SAMARA_UINT8, 1, &elements, NULL, 0);
  m->sealed = true;
  uint8_t *bytes = mb_write(m, size);
  mb_free(m);
  return bytes;
}

static samara_status try_open(const uint8_t *bytes, size_t size,
                              const samara_model_options *options, samara_model **model,
                              samara_error *error) {
  *error = (samara_error){SAMARA_OK, ""};
  const samara_status status = samara_model_open_memory(bytes, size, options, model, error);
  CHECK((status == SAMARA_OK) == (*model != NULL));
  return status;
}

SMR_TEST(whole_files_are_verified) {
  size_t size;
  uint8_t *bytes = sealed_bytes(3 * MEBI / 2, &size);
  samara_model *model;
  samara_error error;
  if (CHECK_EQ_INT(try_open(bytes, size, NULL, &model, &error), SAMARA_OK)) {
    CHECK_EQ_INT(samara_model_verified(model), SAMARA_VERIFIED);
    CHECK_EQ_INT(samara_model_verify(model, &error), SAMARA_OK);
  }
  samara_model_close(model);
  free(bytes);
}

// Every bit of the header, of the program part and of what lies behind it.
SMR_TEST(no_bit_may_change) {
  size_t size;
  uint8_t *bytes = sealed_bytes(0, &size);
  uint64_t program;
  memcpy(&program, bytes + 8, 8);
  size_t accepted = 0;
  for (size_t bit = 0; bit < size * 8; bit++) {
    // All bits of the header and of the seal, one of most other bytes.
    const size_t byte = bit / 8;
    if (byte >= 64 && byte - (program - 64) >= 64 && bit % 8 != byte % 8) continue;
    bytes[byte] ^= (uint8_t)(1 << bit % 8);
    samara_model *model = NULL;
    const samara_status status = samara_model_open_memory(bytes, size, NULL, &model, NULL);
    accepted += status != SAMARA_BAD_MODEL && status != SAMARA_BAD_CHECKSUM;
    samara_model_close(model);
    bytes[byte] ^= (uint8_t)(1 << bit % 8);
  }
  CHECK_EQ_INT(accepted, 0);
  free(bytes);
}

// Another table of the file could pass for the root. The seal identifies it.
SMR_TEST(the_root_is_sealed) {
  size_t size;
  uint8_t *bytes = sealed_bytes(0, &size);
  samara_model *model;
  samara_error error;
  bytes[0] ^= 4;
  CHECK_EQ_INT(try_open(bytes, size, NULL, &model, &error), SAMARA_BAD_CHECKSUM);
  CHECK_CONTAINS(error.text, "bytes 0 to 3 do not match");
  const samara_model_options options = {.struct_size = sizeof options, .trust_checksum = true};
  CHECK_EQ_INT(try_open(bytes, size, &options, &model, &error), SAMARA_BAD_CHECKSUM);
  free(bytes);
}

SMR_TEST(lengths_are_exact) {
  size_t size;
  uint8_t *bytes = sealed_bytes(0, &size), *longer = calloc(1, size + 8);
  REQUIRE(longer != NULL);
  memcpy(longer, bytes, size);
  samara_model *model;
  samara_error error;
  CHECK_EQ_INT(try_open(longer, size + 1, NULL, &model, &error), SAMARA_BAD_MODEL);
  CHECK_CONTAINS(error.text, "bytes are given of a file of");
  CHECK_EQ_INT(try_open(bytes, size - 1, NULL, &model, &error), SAMARA_BAD_MODEL);
  // A region of flash may be larger than the file in it.
  const samara_model_options options = {.struct_size = sizeof options, .constant = true};
  CHECK_EQ_INT(try_open(longer, size + 8, &options, &model, &error), SAMARA_OK);
  samara_model_close(model);
  free(longer);
  free(bytes);
}

SMR_TEST(damage_is_named) {
  size_t size;
  uint8_t *bytes = sealed_bytes(3 * MEBI / 2, &size);
  samara_model *model;
  samara_error error;
  bytes[size - 1] ^= 0x80;
  CHECK_EQ_INT(try_open(bytes, size, NULL, &model, &error), SAMARA_BAD_CHECKSUM);
  CHECK_EQ_INT(error.status, SAMARA_BAD_CHECKSUM);
  CHECK_CONTAINS(error.text, "tensor 'long': segment 'weights', MiB 1: bytes ");
  bytes[size - 1] ^= 0x80;
  bytes[size - MEBI] ^= 1;
  CHECK_EQ_INT(try_open(bytes, size, NULL, &model, &error), SAMARA_BAD_CHECKSUM);
  CHECK_CONTAINS(error.text, "tensor 'w' or a neighbour: segment 'weights', MiB 0: bytes ");
  bytes[size - MEBI] ^= 1;
  uint64_t program;
  memcpy(&program, bytes + 8, 8);
  bytes[program] = 3;
  CHECK_EQ_INT(try_open(bytes, size, NULL, &model, &error), SAMARA_BAD_CHECKSUM);
  CHECK_CONTAINS(error.text, "do not match");
  bytes[program] = 0;
  bytes[program - 1] ^= 1;
  CHECK_EQ_INT(try_open(bytes, size, NULL, &model, &error), SAMARA_BAD_CHECKSUM);
  CHECK_CONTAINS(error.text, "bytes 0 to ");
  free(bytes);
}

static samara_model *open_as(const uint8_t *bytes, size_t size, size_t verify, bool constant,
                             bool trust) {
  const samara_model_options options = {.struct_size = sizeof options,
                                        .constant = constant,
                                        .trust_checksum = trust,
                                        .verify = verify};
  samara_model *model = NULL;
  samara_error error;
  try_open(bytes, size, &options, &model, &error);
  return model;
}

static void check_verified(const uint8_t *bytes, size_t size, size_t verify, bool constant,
                           bool trust, samara_verified expected) {
  samara_model *model = open_as(bytes, size, verify, constant, trust);
  if (!CHECK(model != NULL)) return;
  CHECK_EQ_INT(samara_model_verified(model), expected);
  CHECK_EQ_INT(samara_model_verify(model, NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_model_verified(model), SAMARA_VERIFIED);
  samara_model_close(model);
}

SMR_TEST(exemptions_say_so) {
  size_t size;
  uint8_t *bytes = sealed_bytes(100, &size);
  check_verified(bytes, size, SAMARA_VERIFY_SMALL, false, false, SAMARA_VERIFIED);
  check_verified(bytes, size, SAMARA_VERIFY_NEVER, false, false, SAMARA_NOT_VERIFIED_TRUSTED);
  check_verified(bytes, size, SAMARA_VERIFY_SMALL, false, true, SAMARA_NOT_VERIFIED_TRUSTED);
  check_verified(bytes, size, SAMARA_VERIFY_SMALL, true, false, SAMARA_NOT_VERIFIED_CONSTANT);
  check_verified(bytes, size, SAMARA_VERIFY_ALWAYS, true, false, SAMARA_VERIFIED);
  bytes[size - 1] ^= 1;
  CHECK(open_as(bytes, size, SAMARA_VERIFY_SMALL, false, false) == NULL);
  CHECK(open_as(bytes, size, SAMARA_VERIFY_SMALL, false, true) == NULL);
  CHECK(open_as(bytes, size, SAMARA_VERIFY_ALWAYS, true, false) == NULL);
  CHECK(open_as(bytes, size, 3, false, false) == NULL);
  samara_model *models[] = {open_as(bytes, size, SAMARA_VERIFY_NEVER, false, false),
                            open_as(bytes, size, SAMARA_VERIFY_SMALL, true, false)};
  for (int i = 0; i < 2; i++) {
    samara_error error = {SAMARA_OK, ""};
    if (!CHECK(models[i] != NULL)) continue;
    CHECK_EQ_INT(samara_model_verify(models[i], &error), SAMARA_BAD_CHECKSUM);
    CHECK_CONTAINS(error.text, "tensor ");
    CHECK_EQ_INT(samara_model_verified(models[i]), SAMARA_NOT_VERIFIED_DAMAGED);
    samara_model_close(models[i]);
  }
  free(bytes);
}

SMR_TEST(large_files_are_verified_when_asked) {
  size_t size;
  uint8_t *bytes = sealed_bytes(SAMARA_VERIFY_BYTES, &size);
  check_verified(bytes, size, SAMARA_VERIFY_SMALL, false, false, SAMARA_NOT_VERIFIED_LARGE);
  bytes[size - 1] ^= 1;
  samara_model *model = open_as(bytes, size, SAMARA_VERIFY_SMALL, false, false);
  CHECK(model != NULL);
  samara_model_close(model);
  CHECK(open_as(bytes, size, SAMARA_VERIFY_ALWAYS, false, false) == NULL);
  free(bytes);
}

SMR_TEST(older_files_have_no_checksums) {
  struct mb_model *m = mb_sample();
  size_t size;
  uint8_t *bytes = mb_write(m, &size);
  mb_free(m);
  bytes[size - 1] ^= 1;
  samara_model *model = open_as(bytes, size, SAMARA_VERIFY_ALWAYS, false, false);
  samara_error error = {SAMARA_OK, ""};
  REQUIRE(model != NULL);
  CHECK_EQ_INT(samara_model_verified(model), SAMARA_NOT_VERIFIED_OLD);
  CHECK_EQ_INT(samara_model_verify(model, &error), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "older than 0.6");
  samara_model_close(model);
  CHECK_EQ_INT(samara_model_verify(NULL, &error), SAMARA_BAD_ARGUMENT);
  CHECK(samara_model_verified(NULL) != SAMARA_VERIFIED);
  free(bytes);
}

static void check_sums_refused(bool sealed, int32_t more_sums) {
  struct mb_model *m = mb_sample();
  m->sealed = true;
  m->segments[0].more_sums = more_sums;
  size_t size;
  uint8_t *bytes = mb_write(m, &size);
  mb_free(m);
  uint64_t program;
  memcpy(&program, bytes + 8, 8);
  if (!sealed) memset(bytes + program - MB_SEAL_BYTES, 0, MB_SEAL_BYTES);
  mb_seal(bytes);
  samara_model *model;
  samara_error error;
  CHECK_EQ_INT(try_open(bytes, size, NULL, &model, &error), SAMARA_BAD_MODEL);
  CHECK_CONTAINS(error.text, "checksums of");
  free(bytes);
}

SMR_TEST(wrong_numbers_of_checksums_are_refused) {
  check_sums_refused(true, 1);
  check_sums_refused(true, 1000);
  check_sums_refused(true, -1);
  check_sums_refused(false, 0);
}

// ---- copies ----

static int open_temporary(const uint8_t *bytes, size_t size, char *path) {
  const int fd = mkstemp(path);
  if (CHECK(fd >= 0)) CHECK(write(fd, bytes, size) == (ssize_t)size);
  return fd;
}

static void check_weights(const samara_model *model) {
  float w[16];
  memcpy(w, model->constants[0].data, sizeof w);
  CHECK(w[0] == 1 && w[1] == 0 && w[15] == 1);
}

// A read past the end of a mapped file is a fatal signal. A copy stays readable.
SMR_TEST(copies_outlive_the_file) {
  size_t size;
  uint8_t *bytes = sealed_bytes(3 * MEBI, &size);
  const samara_model_options options = {.struct_size = sizeof options, .copy = true};
  char path[] = "/tmp/samara-verify-XXXXXX";
  const int fd = open_temporary(bytes, size, path);
  samara_model *models[3] = {NULL, NULL, NULL};
  CHECK_EQ_INT(samara_model_open_path(path, &options, &models[0], NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_model_open_fd(fd, 0, 0, &options, &models[1], NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_model_open_memory(bytes, size, &options, &models[2], NULL), SAMARA_OK);
  CHECK_EQ_INT(ftruncate(fd, 0), 0);
  close(fd);
  unlink(path);
  memset(bytes, 0xee, size);
  free(bytes);
  for (int i = 0; i < 3; i++) {
    if (models[i] == NULL) continue;
    check_weights(models[i]);
    CHECK_EQ_INT(samara_model_verify(models[i], NULL), SAMARA_OK);
    samara_model_close(models[i]);
  }
}

// Fail the k-th allocation for every k while a file or memory is copied.
SMR_TEST(a_copy_may_find_no_memory) {
  size_t size;
  uint8_t *bytes = sealed_bytes(0, &size);
  char path[] = "/tmp/samara-verify-XXXXXX";
  close(open_temporary(bytes, size, path));
  for (int way = 0; way < 2; way++) {
    samara_status status = SAMARA_OUT_OF_MEMORY;
    size_t failures = 0;
    for (size_t k = 1; status != SAMARA_OK && k < 100; k++) {
      struct mb_memory memory = {.fail_at = k};
      const samara_allocator allocator = mb_allocator(&memory);
      const samara_model_options options = {
          .struct_size = sizeof options, .allocator = &allocator, .copy = true};
      samara_model *model = (samara_model *)1;
      status = way == 0 ? samara_model_open_path(path, &options, &model, NULL)
                        : samara_model_open_memory(bytes, size, &options, &model, NULL);
      failures += status == SAMARA_OUT_OF_MEMORY;
      CHECK((status == SAMARA_OK) == (model != NULL));
      samara_model_close(model);
      CHECK_EQ_INT(memory.live, 0);
    }
    CHECK_EQ_INT(status, SAMARA_OK);
    CHECK(failures >= 3);
  }
  unlink(path);
  free(bytes);
}

SMR_TEST_MAIN(RUN(whole_files_are_verified); RUN(no_bit_may_change); RUN(the_root_is_sealed);
              RUN(lengths_are_exact); RUN(damage_is_named); RUN(exemptions_say_so);
              RUN(large_files_are_verified_when_asked); RUN(older_files_have_no_checksums);
              RUN(wrong_numbers_of_checksums_are_refused); RUN(copies_outlive_the_file);
              RUN(a_copy_may_find_no_memory))
