// SPDX-License-Identifier: Apache-2.0
// Opening a model in every way, its description, refused headers, and failing allocations.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "model/model.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"
#include "model/sample.h"

// The description of mb_sample.
static void check_sample(const samara_model *model) {
  CHECK_EQ_INT(samara_model_function_count(model), 1);
  CHECK_STR(samara_model_function_name(model, 0), "main");
  CHECK(samara_model_function_name(model, 1) == NULL);
  CHECK_EQ_INT(samara_model_input_count(model, NULL), 1);
  CHECK_EQ_INT(samara_model_output_count(model, "main"), 2);
  CHECK_EQ_INT(samara_model_output_count(model, "none"), 0);
  samara_tensor_info info;
  CHECK_EQ_INT(samara_model_input_info(model, NULL, 0, &info), SAMARA_OK);
  CHECK_STR(info.name, "x");
  CHECK(info.dtype == SAMARA_FLOAT32 && info.rank == 2 && info.shape[0] == -1 &&
        info.shape[1] == 4);
  CHECK_STR(info.dim_names[0], "n");
  CHECK(info.dim_names[1] == NULL && info.scale == 0);
  CHECK_EQ_INT(samara_model_output_info(model, NULL, 1, &info), SAMARA_OK);
  CHECK_STR(info.name, "indices");
  CHECK(info.dtype == SAMARA_INT64 && info.shape[0] == 1 && info.shape[1] == -1);
  CHECK_EQ_INT(samara_model_input_info(model, NULL, 1, &info), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_model_input_info(model, "none", 0, &info), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_output_info(model, NULL, 2, &info), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_model_output_info(model, "none", 0, &info), SAMARA_NOT_FOUND);
  const char *key, *value;
  CHECK_EQ_INT(samara_model_metadata_count(model), 2);
  CHECK_EQ_INT(samara_model_metadata(model, 1, &key, &value), SAMARA_OK);
  CHECK_STR(key, "labels");
  CHECK_STR(value, "cat\ndog");
  CHECK_EQ_INT(samara_model_metadata(model, 2, &key, &value), SAMARA_BAD_ARGUMENT);
  CHECK(!samara_model_is_growing(model, NULL));
  float w[16];
  memcpy(w, model->constants[0].data, sizeof w);
  CHECK(w[0] == 1 && w[1] == 0 && w[15] == 1);
}

static uint8_t *sample_bytes(size_t *size) {
  struct mb_model *m = mb_sample();
  uint8_t *bytes = mb_write(m, size);
  mb_free(m);
  return bytes;
}

SMR_TEST(opens_from_memory) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  samara_model *model = NULL;
  samara_error error = {SAMARA_OK, ""};
  CHECK_EQ_INT(samara_model_open_memory(bytes, size, NULL, &model, &error), SAMARA_OK);
  CHECK_STR(error.text, "");
  if (model != NULL) check_sample(model);
  samara_model_close(model);
  free(bytes);
}

// ---- alignment ----

// An image at an address that is `shift` above a multiple of 64, in a block of its own.
static uint8_t *image_at(const uint8_t *bytes, size_t size, size_t shift, void **block) {
  uint8_t *room = aligned_alloc(64, (size + shift + 63) / 64 * 64);
  *block = room;
  memcpy(room + shift, bytes, size);
  return room + shift;
}

// Data of 8 bytes an element, of every kind, beside that of 4, which needs nothing.
static uint8_t *wide_bytes(size_t *size, int32_t *first) {
  static const uint8_t dtypes[] = {SAMARA_INT64, SAMARA_FLOAT64, SAMARA_UINT64};
  static const int64_t three = 3, none = 0, values[3] = {5, INT64_MIN, 7};
  struct mb_model *m = mb_sample();
  for (int i = 0; i < 3; i++) {
    const int32_t c = mb_data(m, "wide", dtypes[i], 1, &three, values, 0);
    if (i == 0) *first = c;
  }
  mb_data(m, "nothing", SAMARA_INT64, 1, &none, NULL, 0);
  uint8_t *bytes = mb_write(m, size);
  mb_free(m);
  return bytes;
}

static void check_constants(const samara_model *model, const void *image, size_t size) {
  for (uint32_t i = 0; i < model->constant_count; i++) {
    const struct smr_constant *c = &model->constants[i];
    const size_t element = smr_dtype_bytes(c->dtype);
    CHECK_EQ_INT((uintptr_t)c->data % element, 0);
    // Only data that cannot be read in place is copied.
    const bool inside = (uintptr_t)c->data - (uintptr_t)image <= size;
    CHECK(inside == (element < 8 || (uintptr_t)image % 8 == 0));
  }
}

// Immutable memory is read in place, names included, if its elements are aligned.
SMR_TEST(opens_from_constant_memory_in_place) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  for (size_t shift = 0; shift <= 8; shift += 4) {
    void *block;
    const uint8_t *at = image_at(bytes, size, shift, &block);
    for (int constant = 0; constant < 2; constant++) {
      const samara_model_options options = {.struct_size = sizeof options,
                                            .constant = constant != 0};
      samara_model *model = NULL;
      if (!CHECK_EQ_INT(samara_model_open_memory(at, size, &options, &model, NULL), SAMARA_OK))
        continue;
      check_sample(model);
      const uint8_t *name = (const uint8_t *)model->functions[0].name;
      CHECK_EQ_INT(name >= at && name < at + size, constant && shift % 8 == 0);
      samara_model_close(model);
    }
    free(block);
  }
  free(bytes);
}

// Every 4-byte alignment is accepted. Wide data is readable nevertheless.
SMR_TEST(opens_from_memory_aligned_to_4) {
  static const int64_t values[3] = {5, INT64_MIN, 7};
  size_t size;
  int32_t first;
  uint8_t *bytes = wide_bytes(&size, &first);
  for (size_t shift = 0; shift < 64; shift += 4) {
    void *block;
    const uint8_t *at = image_at(bytes, size, shift, &block);
    samara_model *model = NULL;
    if (CHECK_EQ_INT(samara_model_open_memory(at, size, NULL, &model, NULL), SAMARA_OK)) {
      check_sample(model);
      check_constants(model, at, size);
      for (int i = 0; i < 3; i++)
        CHECK_MEM(model->constants[first + i].data, values, sizeof values);
    }
    samara_model_close(model);
    free(block);
  }
  samara_model *model = NULL;
  uint8_t *block = malloc(size + 1);
  CHECK_EQ_INT(samara_model_open_memory(block + 1, size, NULL, &model, NULL), SAMARA_BAD_ARGUMENT);
  free(block);
  free(bytes);
}

SMR_TEST(opens_files) {
  char path[] = "/tmp/samara_model_test_XXXXXX";
  const int fd = mkstemp(path);
  REQUIRE(fd >= 0);
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  // As an asset inside an archive: at a multiple of 4, followed by something else.
  const char before[20] = "archive", after[100] = "more";
  CHECK(write(fd, before, 20) == 20 && write(fd, bytes, size) == (ssize_t)size &&
        write(fd, after, 100) == 100);
  samara_model *model = NULL;
  CHECK_EQ_INT(samara_model_open_fd(fd, 20, size, NULL, &model, NULL), SAMARA_OK);
  if (model != NULL) check_sample(model);
  samara_model_close(model);
  CHECK_EQ_INT(samara_model_open_fd(fd, 20, 0, NULL, &model, NULL), SAMARA_OK);
  close(fd);
  if (model != NULL) check_sample(model);  // the descriptor may be closed
  samara_model_close(model);
  samara_error error;
  CHECK_EQ_INT(samara_model_open_path(path, NULL, &model, &error), SAMARA_BAD_MODEL);
  CHECK_CONTAINS(error.text, path);
  CHECK_CONTAINS(error.text, "not a samara file");
  CHECK(model == NULL);
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(bytes, 1, size, file) == size);
  fclose(file);
  CHECK_EQ_INT(samara_model_open_path(path, NULL, &model, &error), SAMARA_OK);
  unlink(path);
  if (model != NULL) check_sample(model);
  samara_model_close(model);
  CHECK_EQ_INT(samara_model_open_path(path, NULL, &model, &error), SAMARA_IO);
  CHECK_EQ_INT(samara_model_open_fd(-1, 0, 0, NULL, &model, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_model_open_fd(0, 2, 0, NULL, &model, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_model_open_path(NULL, NULL, &model, &error), SAMARA_BAD_ARGUMENT);
  free(bytes);
}

static long faults(void) {
  struct rusage used;
  return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_minflt : 0;
}

// A system that maps page by page would count each page.
SMR_TEST(all_of_a_small_file_is_read_before_it_is_used) {
  enum { BIG_BYTES = 1 << 20, PAGE_BYTES = 4096, FEW_FAULTS = 4 };
  char path[] = "/tmp/samara_model_test_XXXXXX";
  const int fd = mkstemp(path);
  REQUIRE(fd >= 0);
  static const int64_t elements = BIG_BYTES / 4;
  struct mb_model *m = mb_sample();
  const int32_t big = mb_data(m, "big", SAMARA_FLOAT32, 1, &elements, NULL, 0);
  size_t size;
  uint8_t *bytes = mb_write(m, &size);
  mb_free(m);
  CHECK(write(fd, bytes, size) == (ssize_t)size);
  free(bytes);
  samara_model *model = NULL;
  CHECK_EQ_INT(samara_model_open_fd(fd, 0, 0, NULL, &model, NULL), SAMARA_OK);
  close(fd);
  unlink(path);
  REQUIRE(model != NULL);
  smr_model_prefetch(model);
  const volatile uint8_t *data = model->constants[big].data;
  const long before = faults();
  for (size_t i = 0; i < BIG_BYTES; i += PAGE_BYTES) (void)data[i];
  CHECK(faults() - before <= FEW_FAULTS);
  samara_model_close(model);
}

struct source {
  const uint8_t *bytes;
  size_t size, reads;
  bool fail;
};

static int source_read(void *user, uint64_t offset, void *buffer, size_t size) {
  struct source *source = user;
  source->reads++;
  if (source->fail || offset + size > source->size) return 1;
  memcpy(buffer, source->bytes + offset, size);
  return 0;
}

SMR_TEST(opens_through_callbacks) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  struct source source = {.bytes = bytes, .size = size};
  samara_reader reader = {.read = source_read, .size_bytes = size, .user = &source};
  samara_model *model = NULL;
  CHECK_EQ_INT(samara_model_open_callbacks(&reader, NULL, &model, NULL), SAMARA_OK);
  memset(bytes, 0xee, size);  // nothing is read later
  if (model != NULL) check_sample(model);
  samara_model_close(model);
  source.fail = true;
  CHECK_EQ_INT(samara_model_open_callbacks(&reader, NULL, &model, NULL), SAMARA_IO);
  CHECK(model == NULL);
  reader.size_bytes = UINT64_MAX;
  CHECK_EQ_INT(samara_model_open_callbacks(&reader, NULL, &model, NULL), SAMARA_OUT_OF_MEMORY);
  reader.read = NULL;
  CHECK_EQ_INT(samara_model_open_callbacks(&reader, NULL, &model, NULL), SAMARA_BAD_ARGUMENT);
  free(bytes);
}

static void put64(uint8_t *bytes, size_t at, uint64_t value) { memcpy(bytes + at, &value, 8); }

static void check_header(size_t at, uint64_t value, bool seal, samara_status expected,
                         const char *part) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  put64(bytes, at, value);
  if (seal) mb_seal(bytes);
  samara_model *model = (samara_model *)1;
  samara_error error = {SAMARA_OK, ""};
  CHECK_EQ_INT(samara_model_open_memory(bytes, size, NULL, &model, &error), expected);
  CHECK(model == NULL);
  CHECK_CONTAINS(error.text, part);
  free(bytes);
}

SMR_TEST(refuses_headers) {
  check_header(0, 0, false, SAMARA_BAD_MODEL, "not a samara file");
  check_header(8, 0, false, SAMARA_BAD_MODEL, "of program");
  check_header(8, UINT64_MAX, false, SAMARA_BAD_MODEL, "of program");
  check_header(8, UINT64_C(1) << 40, false, SAMARA_BAD_MODEL, "of program");
  check_header(8, 68, false, SAMARA_BAD_MODEL, "of program");
  check_header(8, 64, true, SAMARA_BAD_MODEL, "of program");
  check_header(16, 1, false, SAMARA_BAD_CHECKSUM, "checksum");
  check_header(24, UINT64_MAX, true, SAMARA_BAD_MODEL, "of program");
  check_header(24, 64, true, SAMARA_BAD_MODEL, "of program");
  check_header(32, 1, true, SAMARA_BAD_MODEL, "not zero");
  check_header(56, UINT64_C(1) << 56, true, SAMARA_BAD_MODEL, "not zero");
  check_header(100, UINT64_MAX, false, SAMARA_BAD_CHECKSUM, "checksum");
}

SMR_TEST(refuses_cut_files) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  for (size_t cut = 0; cut < size; cut = cut < 100 ? cut + 1 : cut + 997) {
    uint8_t *exact = malloc(cut != 0 ? cut : 1);
    memcpy(exact, bytes, cut);
    samara_model *model = NULL;
    CHECK_EQ_INT(samara_model_open_memory(exact, cut, NULL, &model, NULL), SAMARA_BAD_MODEL);
    CHECK(model == NULL);
    free(exact);
  }
  free(bytes);
}

SMR_TEST(checksum_may_be_trusted_but_nothing_else) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  bytes[16] ^= 1;
  const samara_model_options options = {.struct_size = sizeof options, .trust_checksum = true};
  samara_model *model = NULL;
  CHECK_EQ_INT(samara_model_open_memory(bytes, size, &options, &model, NULL), SAMARA_OK);
  samara_model_close(model);
  bytes[0] = 1;  // the root offset
  CHECK_EQ_INT(samara_model_open_memory(bytes, size, &options, &model, NULL), SAMARA_BAD_MODEL);
  free(bytes);
}

SMR_TEST(refuses_newer_files) {
  struct mb_model *m = mb_sample();
  m->min_runtime = 0xffu << 16 | 2u << 8 | 3;
  CHECK_REFUSED(m, SAMARA_BAD_VERSION, "min_runtime 255.2.3 is newer");
  m = mb_sample();
  m->schema_version = 2;
  CHECK_REFUSED(m, SAMARA_BAD_VERSION, "schema_version 0.0.2 is newer");
  m = mb_sample();
  m->schema_version = 0;
  CHECK_REFUSED(m, SAMARA_BAD_MODEL, "schema version");
  m = mb_sample();
  m->min_runtime = 1;
  const struct mb_file file = mb_accept(m);
  mb_close(&file);
}

SMR_TEST(entries_by_name) {
  struct mb_model *m = mb_sample();
  struct mb_function *f = mb_function(m, "second");
  mb_output(f, mb_constant_value(m, f, 0));
  m->entries[m->entry_count++] = 1;
  const struct mb_file file = mb_accept(m);
  samara_model *model = file.model;
  CHECK(smr_model_entry(model, NULL) == &model->functions[0]);
  CHECK(smr_model_entry(model, "second") == &model->functions[1]);
  CHECK(smr_model_entry(model, "third") == NULL);
  CHECK_EQ_INT(samara_model_function_count(model), 2);
  CHECK_STR(samara_model_function_name(model, 1), "second");
  mb_close(&file);
}

SMR_TEST(null_arguments) {
  samara_error error;
  CHECK_EQ_INT(samara_model_open_memory(NULL, 0, NULL, NULL, &error), SAMARA_BAD_ARGUMENT);
  samara_model *model = (samara_model *)1;
  CHECK_EQ_INT(samara_model_open_memory(NULL, 0, NULL, &model, &error), SAMARA_BAD_ARGUMENT);
  CHECK(model == NULL);
  samara_model_close(NULL);
  CHECK_EQ_INT(samara_model_function_count(NULL), 0);
  CHECK_EQ_INT(samara_model_input_count(NULL, NULL), 0);
  CHECK(!samara_model_is_growing(NULL, NULL));
}

// ---- memory ----

// Fail the k-th allocation for every k, through memory, aligned or not, and callbacks.
SMR_TEST(every_allocation_may_fail) {
  size_t size;
  int32_t first;
  uint8_t *bytes = wide_bytes(&size, &first);
  void *block;
  const uint8_t *odd = image_at(bytes, size, 4, &block);
  struct source source = {.bytes = bytes, .size = size};
  const samara_reader reader = {.read = source_read, .size_bytes = size, .user = &source};
  for (int through = 0; through < 3; through++) {
    samara_status status = SAMARA_OUT_OF_MEMORY;
    size_t failures = 0;
    for (size_t k = 1; status != SAMARA_OK && k < 100; k++) {
      struct mb_memory memory = {.fail_at = k};
      const samara_allocator allocator = mb_allocator(&memory);
      const samara_model_options options = {.struct_size = sizeof options, .allocator = &allocator};
      samara_model *model = (samara_model *)1;
      samara_error error = {SAMARA_OK, ""};
      status = through == 2 ? samara_model_open_callbacks(&reader, &options, &model, &error)
                            : samara_model_open_memory(through == 0 ? bytes : odd, size, &options,
                                                       &model, &error);
      if (status != SAMARA_OK) {
        failures++;
        CHECK_EQ_INT(status, SAMARA_OUT_OF_MEMORY);
        CHECK_EQ_INT(error.status, SAMARA_OUT_OF_MEMORY);
        CHECK(model == NULL);
      }
      samara_model_close(model);
      CHECK_EQ_INT(memory.live, 0);
    }
    CHECK_EQ_INT(status, SAMARA_OK);
    CHECK(failures >= 4);
  }
  free(block);
  free(bytes);
}

// ---- derived copies ----

static int pack_calls;

static samara_status test_pack(const struct smr_job *job, const struct smr_derived *what,
                               void *out) {
  if (what->layout == 99) return smr_fail(job->error, SAMARA_BAD_DATA, "cannot");
  pack_calls++;
  memset(out, (int)what->layout, what->size_bytes);
  return SAMARA_OK;
}

SMR_TEST(derived_copies_are_made_once) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  samara_model *model = NULL;
  REQUIRE(samara_model_open_memory(bytes, size, NULL, &model, NULL) == SAMARA_OK);
  const struct smr_op_funcs funcs = {.pack = test_pack};
  const struct smr_op op = {.name = "packer", .funcs = &funcs}, other = op;
  samara_error error;
  struct smr_job job = {.op = &op, .error = &error};
  struct smr_derived what = {.layout = 3, .size_bytes = 100};
  const void *first, *again, *second;
  pack_calls = 0;
  CHECK_EQ_INT(smr_model_derived(model, 0, &job, &what, &first, &error), SAMARA_OK);
  CHECK_EQ_INT(((const uint8_t *)first)[99], 3);
  CHECK_EQ_INT(smr_model_derived(model, 0, &job, &what, &again, &error), SAMARA_OK);
  CHECK(first == again);
  CHECK_EQ_INT(pack_calls, 1);
  CHECK_EQ_INT(smr_model_derived(model, 1, &job, &what, &second, &error), SAMARA_OK);
  CHECK(second != first);
  job.op = &other;  // another operator's code means another layout
  CHECK_EQ_INT(smr_model_derived(model, 0, &job, &what, &again, &error), SAMARA_OK);
  CHECK(again != first);
  what.layout = 99;
  CHECK_EQ_INT(smr_model_derived(model, 0, &job, &what, &again, &error), SAMARA_BAD_DATA);
  const struct smr_op unpacked = {.name = "plain"};
  job.op = &unpacked;
  CHECK_EQ_INT(smr_model_derived(model, 0, &job, &what, &again, &error), SAMARA_BAD_STATE);
  CHECK_EQ_INT(smr_model_derived(model, 99, &job, &what, &again, &error), SAMARA_BAD_STATE);
  CHECK_EQ_INT(pack_calls, 3);
  samara_model_close(model);
  free(bytes);
}

SMR_TEST(derived_copies_may_find_no_memory) {
  size_t size;
  uint8_t *bytes = sample_bytes(&size);
  struct mb_memory memory = {.fail_at = 0};
  const samara_allocator allocator = mb_allocator(&memory);
  const samara_model_options options = {.struct_size = sizeof options, .allocator = &allocator};
  samara_model *model = NULL;
  REQUIRE(samara_model_open_memory(bytes, size, &options, &model, NULL) == SAMARA_OK);
  const struct smr_op_funcs funcs = {.pack = test_pack};
  const struct smr_op op = {.name = "packer", .funcs = &funcs};
  samara_error error;
  const struct smr_job job = {.op = &op, .error = &error};
  const struct smr_derived what = {.layout = 3, .size_bytes = 100};
  const void *data = NULL;
  const size_t live = memory.live;
  for (size_t k = 1; k <= 2; k++) {
    memory.fail_at = memory.calls + k;
    CHECK_EQ_INT(smr_model_derived(model, 0, &job, &what, &data, &error), SAMARA_OUT_OF_MEMORY);
    CHECK_CONTAINS(error.text, "packed 'w'");
    CHECK_EQ_INT(memory.live, live);
  }
  CHECK_EQ_INT(smr_model_derived(model, 0, &job, &what, &data, &error), SAMARA_OK);
  samara_model_close(model);
  CHECK_EQ_INT(memory.live, 0);
  free(bytes);
}

SMR_TEST_MAIN(RUN(derived_copies_may_find_no_memory); RUN(opens_from_memory);
              RUN(opens_from_constant_memory_in_place); RUN(opens_from_memory_aligned_to_4);
              RUN(opens_files); RUN(all_of_a_small_file_is_read_before_it_is_used);
              RUN(opens_through_callbacks); RUN(refuses_headers); RUN(refuses_cut_files);
              RUN(checksum_may_be_trusted_but_nothing_else); RUN(refuses_newer_files);
              RUN(entries_by_name); RUN(null_arguments); RUN(every_allocation_may_fail);
              RUN(derived_copies_are_made_once))
