// SPDX-License-Identifier: Apache-2.0
// Opening devices: by name, table and library, and what is refused.
#include "base/fp.h"

#include "harness.h"

#include "backends/mirror.h"
#include "session/device/device.h"
#include "session/model_literal.h"

static samara_error error;

static samara_status open_with(samara_backend_options options) {
  samara_backend *out = (samara_backend *)&error;
  options.struct_size = sizeof options;
  error = (samara_error){.text = ""};
  const samara_status status = samara_backend_open(&options, &out, &error);
  CHECK((out != NULL) == (status == SAMARA_OK));
  CHECK((error.text[0] == '\0') == (status == SAMARA_OK));
  samara_backend_close(out);
  CHECK_EQ_INT(mirror_live(), 0);
  return status;
}

SMR_TEST(arguments_are_checked) {
  samara_backend *out = NULL;
  const samara_backend_options unsized = {.name = "mirror"};
  CHECK_EQ_INT(samara_backend_open(NULL, &out, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_backend_open(&unsized, NULL, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_backend_open(&unsized, &out, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(open_with((samara_backend_options){.log_user = &out}), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "neither a name, a library nor a table");
  samara_backend_close(NULL);
}

SMR_TEST(names_choose_the_device) {
  const samara_backend_table *table = samara_backend_entry();
  static const struct {
    const char *name;
    samara_status status;
    const char *opened;
  } names[] = {{NULL, SAMARA_OK, "mirror:0"},          {"mirror", SAMARA_OK, "mirror:0"},
               {"mirror:0", SAMARA_OK, "mirror:0"},    {"mirror:1", SAMARA_OK, "mirror:1"},
               {"mirror:01", SAMARA_OK, "mirror:1"},   {"mirror:2", SAMARA_NOT_FOUND, ""},
               {"mirror:9999", SAMARA_NOT_FOUND, ""},  {"mirror:100000", SAMARA_BAD_ARGUMENT, ""},
               {"mirror:", SAMARA_BAD_ARGUMENT, ""},   {"mirror:x", SAMARA_BAD_ARGUMENT, ""},
               {"mirror:-1", SAMARA_BAD_ARGUMENT, ""}, {"mirror:1:1", SAMARA_BAD_ARGUMENT, ""},
               {"mirro", SAMARA_BAD_ARGUMENT, ""},     {"mirrors", SAMARA_BAD_ARGUMENT, ""},
               {"", SAMARA_BAD_ARGUMENT, ""},          {":0", SAMARA_BAD_ARGUMENT, ""}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    CHECK_EQ_INT(open_with((samara_backend_options){.name = names[i].name, .table = table}),
                 names[i].status);
    samara_backend *out = NULL;
    const samara_backend_options options = {
        .struct_size = sizeof options, .name = names[i].name, .table = table};
    if (samara_backend_open(&options, &out, NULL) != SAMARA_OK) continue;
    CHECK_STR(out->name, names[i].opened);
    samara_device_info info = {.struct_size = sizeof info};
    CHECK_EQ_INT(samara_backend_device(out, &info), SAMARA_OK);
    CHECK_STR(info.backend, "mirror");
    CHECK_STR(info.name, names[i].opened[7] == '0' ? "Mirror" : "Second mirror");
    samara_backend_close(out);
  }
  CHECK_EQ_INT(open_with((samara_backend_options){.name = "abacus"}), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "\"abacus\"");
}

// ---- tables ----

static samara_status open_table(const samara_backend_table *table) {
  return open_with((samara_backend_options){.table = table});
}

SMR_TEST(tables_of_another_version_are_refused_unread) {
  // Memory that ends after the version: the name must not be read.
  size_t *head = malloc(sizeof *head + sizeof(uint32_t));
  REQUIRE(head != NULL);
  const uint32_t versions[] = {0, SAMARA_BACKEND_VERSION, SAMARA_BACKEND_VERSION + 1};
  for (size_t i = 0; i < 3; i++) {
    *head = sizeof *head + sizeof(uint32_t);
    memcpy(head + 1, &versions[i], sizeof versions[i]);
    CHECK_EQ_INT(open_table((const samara_backend_table *)(const void *)head), SAMARA_UNSUPPORTED);
    CHECK_CONTAINS(error.text, "this library expects version 1");
  }
  free(head);
  samara_backend_table table = *samara_backend_entry();
  table.version = 2;
  CHECK_EQ_INT(open_table(&table), SAMARA_UNSUPPORTED);
  table.version = SAMARA_BACKEND_VERSION;
  table.struct_size = sizeof table + 8;  // of a later header: the functions are the same
  CHECK_EQ_INT(open_table(&table), SAMARA_OK);
}

SMR_TEST(tables_must_be_whole) {
  // All members behind `version` are pointers.
  const size_t first = offsetof(samara_backend_table, name);
  CHECK_EQ_INT((sizeof(samara_backend_table) - first) / sizeof(void *), 11);
  for (size_t at = first; at < sizeof(samara_backend_table); at += sizeof(void *)) {
    samara_backend_table table = *samara_backend_entry();
    memset((uint8_t *)&table + at, 0, sizeof(void *));
    CHECK_EQ_INT(open_table(&table), SAMARA_BAD_ARGUMENT);
    CHECK_CONTAINS(error.text, "is NULL");
  }
  static const char *const bad[] = {"", "a b", "a:0", "a/b", "\xc3\xa9"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    samara_backend_table table = *samara_backend_entry();
    table.name = bad[i];
    CHECK_EQ_INT(open_table(&table), SAMARA_BAD_ARGUMENT);
    CHECK_CONTAINS(error.text, "letters, digits and _");
  }
  samara_backend_table table = *samara_backend_entry();
  table.name = "Other_2";
  CHECK_EQ_INT(open_table(&table), SAMARA_OK);
}

// ---- libraries ----

SMR_TEST(libraries_bring_backends) {
  CHECK_EQ_INT(open_with((samara_backend_options){.library = SMR_NPU_LIBRARY}), SAMARA_OK);
  CHECK_EQ_INT(open_with((samara_backend_options){.library = SMR_NPU_LIBRARY, .name = "npu:0"}),
               SAMARA_OK);
  CHECK_EQ_INT(open_with((samara_backend_options){.library = SMR_NPU_LIBRARY, .name = "mirror"}),
               SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "\"npu\"");
  CHECK_EQ_INT(open_with((samara_backend_options){.library = "./no_such_library.so"}),
               SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "./no_such_library.so");
  CHECK_EQ_INT(open_with((samara_backend_options){.library = "libm.so.6"}), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "has no function " SAMARA_BACKEND_ENTRY);
  // A table takes precedence.
  CHECK_EQ_INT(open_with((samara_backend_options){.library = "./no_such_library.so",
                                                  .table = samara_backend_entry()}),
               SAMARA_OK);
}

// ---- failures ----

SMR_TEST(a_device_that_does_not_start_says_why) {
  mirror_reset();
  mirror_fail("probe", 1);
  CHECK_EQ_INT(open_table(samara_backend_entry()), SAMARA_BACKEND);
  CHECK_CONTAINS(error.text, "call 1 of probe fails");
  mirror_reset();
}

static size_t odd_alignment;
static void odd_requirements(void *device, samara_requirements *out) {
  samara_backend_entry()->requirements(device, out);
  out->alignment_bytes = odd_alignment;
}

SMR_TEST(alignments_are_powers_of_two_from_4) {
  samara_backend_table table = *samara_backend_entry();
  table.requirements = odd_requirements;
  for (odd_alignment = 0; odd_alignment <= 130; odd_alignment++) {
    const bool fits = odd_alignment >= 4 && (odd_alignment & (odd_alignment - 1)) == 0;
    CHECK_EQ_INT(open_table(&table), fits ? SAMARA_OK : SAMARA_UNSUPPORTED);
  }
}

SMR_TEST(memory_may_be_out_at_any_allocation) {
  samara_status status = SAMARA_OUT_OF_MEMORY;
  size_t k = 1;
  for (; status != SAMARA_OK; k++) {
    struct literal_memory memory;
    literal_memory_init(&memory);
    memory.fail_at = k;
    status = open_with((samara_backend_options){.table = samara_backend_entry(),
                                                .cache_folder = "no such folder",
                                                .rates = "no such file",
                                                .allocator = &memory.allocator});
    CHECK(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
    CHECK_EQ_INT(memory.live, 0);
  }
  CHECK(k > 3);
}

SMR_TEST_MAIN(RUN(arguments_are_checked); RUN(names_choose_the_device);
              RUN(tables_of_another_version_are_refused_unread); RUN(tables_must_be_whole);
              RUN(libraries_bring_backends); RUN(a_device_that_does_not_start_says_why);
              RUN(alignments_are_powers_of_two_from_4); RUN(memory_may_be_out_at_any_allocation))
