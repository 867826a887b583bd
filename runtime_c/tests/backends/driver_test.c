// SPDX-License-Identifier: Apache-2.0
// The driver of OpenCL on the first device of this machine: programs and their cache, launches,
// copies, tickets, threads.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "base/fp.h"

#include "backends/driver_folder.h"
#include "backends/driver_harness.h"

static struct scale_use use;
static struct counting counting;

static bool open_use(struct scale_use *in, const char *folder, samara_error *error) {
  const samara_probe request = scale_probe(&counting, -1, 0, folder);
  samara_device_info info = {.struct_size = sizeof info};
  scale_begin(in);
  *error = (samara_error){.text = ""};
  if (smr_cl_probe(scale_driver(), &request, &in->device, &info, error) != SAMARA_OK) return false;
  CHECK(info.name[0] != '\0' && info.driver[0] != '\0');
  CHECK(info.memory_bytes > 0 && info.compute_units > 0);
  if (scale_prepare(in, error) == SAMARA_OK) return true;
  scale_release(in);
  return false;
}

static void close_use(void) {
  scale_release(&use);
  CHECK_EQ_INT(counting.live, 0);
}

SMR_TEST(computes) {
  samara_error error;
  REQUIRE(open_use(&use, NULL, &error));
  for (int i = 0; i < 20; i++) {
    // The tensor in the middle moves, and x changes.
    use.region.tensors[1].offset_bytes = (uint64_t)(i / 3 % 5) * 64;
    use.region.region.generation = 1 + (uint64_t)i / 3;
    use.x[7] = (float)i;
    CHECK_EQ_INT(scale_run(&use, i % 2 == 0 ? UINT64_MAX : 10000000000, &error), SAMARA_OK);
    CHECK_EQ_INT(scale_wrong(&use), 0);
  }
  close_use();
}

SMR_TEST(memory_may_be_replaced) {
  samara_error error;
  REQUIRE(open_use(&use, NULL, &error));
  CHECK_EQ_INT(scale_run(&use, UINT64_MAX, &error), SAMARA_OK);
  for (int i = 0; i < 10; i++) {
    for (size_t k = 0; k < 2; k++)
      use.table->release(use.device, SAMARA_HANDLE_MEMORY, use.memory[k]);
    for (size_t k = 0; k < 2; k++) {
      use.memory[k] = NULL;
      CHECK_EQ_INT(
          use.table->allocate(use.device, SCALE_OFFSET + SCALE_BYTES, &use.memory[k], &error),
          SAMARA_OK);
    }
    use.region.tensors[0].memory = use.region.tensors[2].memory = use.memory[0];
    use.region.tensors[1].memory = use.memory[1];
    use.region.region.generation++;
    CHECK_EQ_INT(scale_run(&use, UINT64_MAX, &error), SAMARA_OK);
    CHECK_EQ_INT(scale_wrong(&use), 0);
  }
  close_use();
}

SMR_TEST(tickets_come_in_order) {
  samara_error error;
  REQUIRE(open_use(&use, NULL, &error));
  uint64_t last = 0, ticket = 0;
  bool done = false;
  CHECK_EQ_INT(scale_copy(&use, 0, use.x, true, &ticket, &error), SAMARA_OK);
  for (int i = 0; i < 3 * SMR_CL_EVENTS; i++) {
    CHECK_EQ_INT(
        use.table->submit(use.device, use.program, &use.region.region, 0, 2, &ticket, &error),
        SAMARA_OK);
    CHECK(ticket > last);
    last = ticket;
  }
  CHECK_EQ_INT(scale_copy(&use, 2, use.y, false, &ticket, &error), SAMARA_OK);
  long asked = 0;
  while (!done && asked++ < 1000000000)
    REQUIRE(use.table->wait(use.device, ticket, 0, &done, &error) == SAMARA_OK);
  CHECK(done);
  CHECK_EQ_INT(scale_wrong(&use), 0);
  CHECK_EQ_INT(use.table->wait(use.device, last, 0, &done, &error), SAMARA_OK);
  CHECK(done);
  // Released while work is under way.
  CHECK_EQ_INT(
      use.table->submit(use.device, use.program, &use.region.region, 0, 2, &ticket, &error),
      SAMARA_OK);
  close_use();
}

SMR_TEST(wrong_source_says_where) {
  samara_error error;
  scale_text_now = "KERNEL(NAME) { this is no kernel; }\n";
  CHECK(!open_use(&use, NULL, &error));
  scale_text_now = scale_text;
  CHECK_CONTAINS(error.text, "clBuildProgram: CL_BUILD_PROGRAM_FAILURE");
  CHECK_EQ_INT(counting.live, 0);
}

// ---- the cache ----

static bool compute_once(const char *folder) {
  samara_error error;
  if (!open_use(&use, folder, &error)) return false;
  CHECK_EQ_INT(scale_run(&use, UINT64_MAX, &error), SAMARA_OK);
  CHECK_EQ_INT(scale_wrong(&use), 0);
  close_use();
  return true;
}

enum { ENTRY_BYTES = 8 << 20 };
static unsigned char entry[ENTRY_BYTES], now[ENTRY_BYTES];

SMR_TEST(cache_is_used_and_mended) {
  static const char folder[] = "driver_test_cache";
  char path[512];
  folder_remove(folder);
  REQUIRE(compute_once(folder));
  REQUIRE(folder_files(folder, path, sizeof path) == 1);
  size_t size = folder_read(path, entry, sizeof entry);
  REQUIRE(size > 64 && size < sizeof entry);
  REQUIRE(compute_once(folder));
  CHECK_EQ_INT(folder_read(path, now, sizeof now), size);
  CHECK_MEM(now, entry, size);
  // Damaged, cut and foreign entries are rebuilt and stored again. Compilers need not write the
  // same bytes twice, but a stored entry is used.
  for (int fault = 0; fault < 4; fault++) {
    memcpy(now, entry, size);
    size_t left = size;
    if (fault == 0) now[size - 9] ^= 1;
    if (fault == 1) left = size / 2;
    if (fault == 2) memset(now, 0, size);
    if (fault == 3) now[64] ^= 1;  // the name of another device
    CHECK(folder_write(path, now, left));
    REQUIRE(compute_once(folder));
    const size_t after = folder_read(path, entry, sizeof entry);
    CHECK(after > 64);
    CHECK(after != left || memcmp(entry, now, after) != 0);
    REQUIRE(compute_once(folder));
    CHECK_EQ_INT(folder_read(path, now, sizeof now), after);
    CHECK_MEM(now, entry, after);
    CHECK_EQ_INT(folder_files(folder, path, sizeof path), 1);
    size = after;
  }
  folder_remove(folder);
}

// ---- threads ----

enum { THREADS = 3 };
static struct scale_use uses[THREADS];
static samara_status thread_status[THREADS];

static void compute_in_thread(void *argument) {
  struct scale_use *own = (struct scale_use *)argument;
  samara_error error;
  samara_status status = SAMARA_OK;
  for (int i = 0; status == SAMARA_OK && i < 100; i++) {
    own->region.region.generation = 1 + (uint64_t)i / 4;
    status = scale_run(own, i % 2 == 0 ? UINT64_MAX : 60000000000, &error);
    if (status == SAMARA_OK && scale_wrong(own) != 0) status = SAMARA_BAD_DATA;
  }
  thread_status[own - uses] = status;
}

SMR_TEST(threads_share_a_device) {
  samara_error error;
  REQUIRE(open_use(&uses[0], NULL, &error));
  struct smr_os_thread threads[THREADS];
  for (size_t i = 0; i < THREADS; i++) {
    if (i > 0) {
      scale_begin(&uses[i]);
      uses[i].device = uses[0].device;
      REQUIRE(scale_prepare(&uses[i], &error) == SAMARA_OK);
    }
    uses[i].x[3] = (float)i;
  }
  for (size_t i = 0; i < THREADS; i++)
    REQUIRE(smr_os_thread_start(&threads[i], compute_in_thread, &uses[i]));
  for (size_t i = 0; i < THREADS; i++) smr_os_thread_join(&threads[i]);
  for (size_t i = THREADS; i-- > 0;) {
    CHECK_EQ_INT(thread_status[i], SAMARA_OK);
    if (i > 0) {
      void *device = uses[i].device;
      uses[i].table->release(device, SAMARA_HANDLE_PROGRAM, uses[i].program);
      uses[i].table->release(device, SAMARA_HANDLE_CONSTANT, uses[i].constant);
      for (size_t k = 0; k < 2; k++)
        uses[i].table->release(device, SAMARA_HANDLE_MEMORY, uses[i].memory[k]);
    } else {
      scale_release(&uses[0]);
    }
  }
  CHECK_EQ_INT(counting.live, 0);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
#if defined(SMR_SANITIZED)
  return NOT_RUN("sanitized drivers", "those of others stop there") ? SMR_TEST_SKIPPED : 1;
#endif
  const samara_backend_table *table = smr_opencl_backend();
  const samara_probe request = scale_probe(&counting, -1, 0, NULL);
  void *device = NULL;
  samara_device_info info = {.struct_size = sizeof info};
  samara_error error = {.text = "this build has no OpenCL"};
  if (table == NULL || table->probe(&request, &device, &info, &error) != SAMARA_OK) {
    return NOT_RUN("opencl", error.text) ? SMR_TEST_SKIPPED : 1;
  }
  fprintf(stderr, "on %s, %s\n", info.name, info.driver);
  table->release(device, SAMARA_HANDLE_DEVICE, device);
  RUN(computes);
  RUN(memory_may_be_replaced);
  RUN(tickets_come_in_order);
  RUN(wrong_source_says_where);
  RUN(cache_is_used_and_mended);
  RUN(threads_share_a_device);
  return SMR_TEST_END();
}
