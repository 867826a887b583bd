// SPDX-License-Identifier: Apache-2.0
// The driver of OpenCL over a library that fails on request: whatever call or allocation fails, the
// error is clean, nothing leaks, and answers that are given are right.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "base/fp.h"

#include "backends/driver_folder.h"
#include "backends/driver_harness.h"
#include "backends/fault_opencl.h"

enum { CPU = 1 };  // the library's device that is new enough; device 0 is not

static struct fault_opencl *faults;

// "scale_floats", as in the source of the harness.
static void run_scale(const char *name, unsigned char **buffers, const int32_t *ints,
                      const float *floats, uint32_t dims, const size_t *items) {
  CHECK_STR(name, "scale_floats");
  CHECK_EQ_INT(dims, 1);
  CHECK(buffers[2] == NULL && buffers[7] == NULL);
  const float *x = (const float *)(const void *)buffers[0];
  const float *w = (const float *)(const void *)buffers[1];
  float *y = (float *)(void *)buffers[5];
  for (size_t i = 0; i < items[0] && (int32_t)i < ints[0]; i++)
    y[i] = x[i] * w[0] + (float)ints[31] + floats[7];
}

static void reset(void) {
  fault_opencl_reset(faults, run_scale);
  faults->subgroups = scale_shares ? 4 : 0;
}

// One whole use; checks that nothing is left.
static samara_status use_once(long allocation, const char *folder, samara_error *error) {
  struct counting counting;
  const samara_probe request = scale_probe(&counting, allocation, CPU, folder);
  *error = (samara_error){.text = ""};
  const samara_status status = scale_whole(&request, error);
  CHECK_EQ_INT(counting.live, 0);
  CHECK_EQ_INT(faults->live, 0);
  CHECK_EQ_INT(faults->misuse, 0);
  if (status != SAMARA_OK) {
    CHECK_EQ_INT(error->status, status);
    CHECK(error->text[0] != '\0');
  }
  return status;
}

// Fails each call in turn, in the way `kind`, until all succeed.
static void fail_each(int kind, int32_t code, const char *folder, bool keep) {
  samara_error error;
  long failed = 0, k = 0;
  scale_honest = kind != FAULT_LIE;
  for (;; k++) {
    reset();
    if (folder != NULL && !keep) folder_remove(folder);
    faults->at = k;
    faults->kind = kind;
    faults->code = code;
    faults->lag = k % 2 == 0 ? 0 : 3;
    failed += use_once(-1, folder, &error) != SAMARA_OK;
    if (faults->calls <= k) break;
    REQUIRE(k < 1000);
  }
  scale_honest = true;
  CHECK(k > 40);
  CHECK(failed > 10);
}

SMR_TEST(whole_use_passes) {
  samara_error error;
  reset();
  CHECK_EQ_INT(use_once(-1, NULL, &error), SAMARA_OK);
  CHECK_EQ_INT(faults->builds, 1);
  CHECK_EQ_INT(faults->enqueued, 4);
}

SMR_TEST(every_call_may_fail) {
  fail_each(FAULT_ERROR, SMR_CL_OUT_OF_HOST_MEMORY, NULL, false);
  fail_each(FAULT_ERROR, -9999, NULL, false);
}

SMR_TEST(device_may_be_lost_at_any_call) { fail_each(FAULT_LOST, -36, NULL, false); }

SMR_TEST(every_call_may_lie) { fail_each(FAULT_LIE, 0, NULL, false); }

SMR_TEST(every_call_may_fail_with_a_cache) {
  static const char folder[] = "driver_fault_cache";
  for (int kind = FAULT_ERROR; kind <= FAULT_LIE; kind++) {
    fail_each(kind, -5, folder, false);  // the entry is written
    fail_each(kind, -5, folder, true);   // or read
  }
  folder_remove(folder);
}

// Kernels without subgroups replace those that a driver refuses.
SMR_TEST(subgroups_are_taken_back) {
  samara_error error;
  scale_shares = true;
  reset();
  CHECK_EQ_INT(use_once(-1, NULL, &error), SAMARA_OK);
  CHECK(faults->grouped);
  CHECK_EQ_INT(faults->builds, 2);
  CHECK_CONTAINS(faults->options, "-cl-std=CL2.0");
  reset();
  faults->numeric_version = 3u << 22;
  CHECK_EQ_INT(use_once(-1, NULL, &error), SAMARA_OK);
  CHECK_CONTAINS(faults->options, "-cl-std=CL3.0");
  for (int i = 0; i < 3; i++) {
    reset();
    if (i == 0) faults->refused = "#define SHARE 1";
    if (i == 1) faults->group = SMR_CL_GROUP - 1;
    if (i == 2) faults->subgroups = 0;
    last_log[0] = '\0';
    CHECK_EQ_INT(use_once(-1, NULL, &error), SAMARA_OK);
    CHECK(!faults->grouped);
    CHECK_EQ_INT(faults->enqueued, 4);
    CHECK(i == 2 || strstr(last_log, "no subgroups: scale_floats: ") != NULL);
  }
  fail_each(FAULT_ERROR, SMR_CL_OUT_OF_HOST_MEMORY, NULL, false);
  fail_each(FAULT_LOST, -36, NULL, false);
  fail_each(FAULT_LIE, 0, NULL, false);
  scale_shares = false;
}

SMR_TEST(every_allocation_may_fail) {
  static const char folder[] = "driver_fault_memory";
  for (int warm = 0; warm < 3; warm++) {
    long k = 0;
    for (;; k++) {
      reset();
      if (warm < 2) folder_remove(folder);
      struct counting counting;
      const samara_probe request = scale_probe(&counting, k, CPU, warm > 0 ? folder : NULL);
      samara_error error = {.text = ""};
      const samara_status status = scale_whole(&request, &error);
      CHECK(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
      CHECK_EQ_INT(counting.live, 0);
      CHECK_EQ_INT(faults->live, 0);
      if (counting.calls <= k) break;
      REQUIRE(k < 1000);
    }
    CHECK(k > 8);
  }
  folder_remove(folder);
}

// The device of the tests below.
static struct scale_use use;
static struct counting counting;
static samara_error error;

// Opens the device and prepares the region; false when that fails.
static bool open_use(void) {
  reset();
  const samara_probe request = scale_probe(&counting, -1, CPU, NULL);
  samara_device_info info = {.struct_size = sizeof info};
  scale_begin(&use);
  if (smr_cl_probe(scale_driver(), &request, &use.device, &info, &error) != SAMARA_OK) return false;
  CHECK_STR(info.backend, "opencl");
  CHECK_STR(info.name, "faulty");
  CHECK_STR(info.driver, "1");
  CHECK_EQ_INT(info.compute_units, 2);
  CHECK(info.shares_memory);
  return scale_prepare(&use, &error) == SAMARA_OK;
}

static void close_use(void) {
  scale_release(&use);
  CHECK_EQ_INT(counting.live, 0);
  CHECK_EQ_INT(faults->live, 0);
  CHECK_EQ_INT(faults->misuse, 0);
}

static samara_status submit(uint32_t first, uint32_t count, uint64_t *ticket) {
  return use.table->submit(use.device, use.program, &use.region.region, first, count, ticket,
                           &error);
}

static samara_status wait_for(uint64_t ticket, uint64_t timeout_ns, bool *done) {
  return use.table->wait(use.device, ticket, timeout_ns, done, &error);
}

SMR_TEST(unchanged_generation_costs_nothing) {
  REQUIRE(open_use());
  scale_lowered = 0;
  CHECK_EQ_INT(scale_run(&use, UINT64_MAX, &error), SAMARA_OK);
  CHECK_EQ_INT(scale_lowered, 2);
  const long allocations = counting.calls, calls = faults->calls;
  uint64_t ticket = 0;
  CHECK_EQ_INT(submit(0, 2, &ticket), SAMARA_OK);
  CHECK_EQ_INT(scale_lowered, 2);
  CHECK_EQ_INT(counting.calls, allocations);
  CHECK_EQ_INT(faults->calls - calls, 3);  // two kernels and a flush
  // One tensor moves: its arguments are set, and no kernel object is created.
  const long live = faults->live;
  use.region.tensors[1].offset_bytes = 64;
  use.region.region.generation++;
  CHECK_EQ_INT(submit(0, 2, &ticket), SAMARA_OK);
  CHECK_EQ_INT(faults->live - live, 1);  // the event
  CHECK_EQ_INT(counting.calls, allocations);
  close_use();
}

// A new handle may equal that of released memory, so the kernel object must not keep arguments.
SMR_TEST(released_memory_is_set_again) {
  uint64_t ticket = 0;
  REQUIRE(open_use());
  CHECK_EQ_INT(submit(0, 2, &ticket), SAMARA_OK);
  for (long released = 0; released < 2; released++) {
    void *other = NULL;
    CHECK_EQ_INT(use.table->allocate(use.device, 64, &other, &error), SAMARA_OK);
    if (released != 0) use.table->release(use.device, SAMARA_HANDLE_MEMORY, other);
    use.region.region.generation++;
    const long calls = faults->calls;
    CHECK_EQ_INT(submit(0, 2, &ticket), SAMARA_OK);
    CHECK_EQ_INT(faults->calls - calls, 3 + released * 2 * SMR_CL_BUFFERS);
    if (released == 0) use.table->release(use.device, SAMARA_HANDLE_MEMORY, other);
    use.region.region.generation++;
    CHECK_EQ_INT(submit(0, 2, &ticket), SAMARA_OK);
  }
  close_use();
}

SMR_TEST(submit_may_be_tried_again) {
  REQUIRE(open_use());
  long k = 0;
  for (samara_status status = SAMARA_IO; status != SAMARA_OK; k++) {
    REQUIRE(k < 1000);
    uint64_t ticket;
    use.region.region.generation++;
    faults->at = faults->calls + k;
    status = submit(0, 2, &ticket);
    // The last call is the flush. If it fails, the work was begun, and the device is not trusted
    // again.
    if (status == SAMARA_OK) break;
    faults->at = -1;
    CHECK_EQ_INT(scale_run(&use, UINT64_MAX, &error), SAMARA_OK);
    CHECK_EQ_INT(scale_wrong(&use), 0);
  }
  CHECK(k > 1);
  close_use();
}

SMR_TEST(nodes_run_apart) {
  REQUIRE(open_use());
  uint64_t ticket = 0;
  CHECK_EQ_INT(scale_copy(&use, 0, use.x, true, &ticket, &error), SAMARA_OK);
  CHECK_EQ_INT(submit(0, 1, &ticket), SAMARA_OK);
  CHECK_EQ_INT(faults->enqueued, 1);
  CHECK_EQ_INT(submit(1, 1, &ticket), SAMARA_OK);
  CHECK_EQ_INT(faults->enqueued, 2);
  CHECK_EQ_INT(submit(2, 0, &ticket), SAMARA_OK);
  CHECK_EQ_INT(ticket, 0);
  CHECK_EQ_INT(submit(1, 2, &ticket), SAMARA_BAD_STATE);
  CHECK_EQ_INT(scale_copy(&use, 2, use.y, false, &ticket, &error), SAMARA_OK);
  bool done = false;
  CHECK_EQ_INT(wait_for(ticket, UINT64_MAX, &done), SAMARA_OK);
  CHECK_EQ_INT(scale_wrong(&use), 0);
  close_use();
}

SMR_TEST(tickets_can_be_asked) {
  REQUIRE(open_use());
  uint64_t first = 0, second = 0;
  bool done = true;
  CHECK_EQ_INT(wait_for(0, 0, &done), SAMARA_OK);
  CHECK(done);
  faults->lag = 2;
  CHECK_EQ_INT(scale_copy(&use, 0, use.x, true, &first, &error), SAMARA_OK);
  CHECK_EQ_INT(scale_copy(&use, 0, use.x, true, &second, &error), SAMARA_OK);
  CHECK(second > first && first > 0);
  CHECK_EQ_INT(wait_for(first, 0, &done), SAMARA_OK);
  CHECK(!done);
  CHECK_EQ_INT(wait_for(second, UINT64_MAX, &done), SAMARA_OK);
  CHECK(done);
  CHECK_EQ_INT(wait_for(first, 0, &done), SAMARA_OK);
  CHECK(done);
  CHECK_EQ_INT(wait_for(second + 1, 0, &done), SAMARA_BAD_ARGUMENT);
  // A device that hangs: the wait ends by itself.
  faults->deaf = 1;
  CHECK_EQ_INT(scale_copy(&use, 0, use.x, true, &first, &error), SAMARA_OK);
  CHECK_EQ_INT(wait_for(first, 3000000, &done), SAMARA_OK);
  CHECK(!done);
  faults->deaf = 0;
  // More tickets than events are kept.
  faults->lag = 1 << 20;
  const long live = faults->live;
  for (int i = 0; i < 3 * SMR_CL_EVENTS; i++)
    CHECK_EQ_INT(scale_copy(&use, 0, use.x, true, &first, &error), SAMARA_OK);
  CHECK(faults->live - live <= SMR_CL_EVENTS);
  CHECK_EQ_INT(wait_for(first, UINT64_MAX, &done), SAMARA_OK);
  CHECK(done);
  close_use();
}

SMR_TEST(failed_command_fails_all_waits) {
  REQUIRE(open_use());
  uint64_t first = 0, second = 0;
  bool done = true;
  faults->event_error = -5;
  CHECK_EQ_INT(scale_copy(&use, 0, use.x, true, &first, &error), SAMARA_OK);
  CHECK_EQ_INT(scale_copy(&use, 0, use.x, true, &second, &error), SAMARA_OK);
  CHECK_EQ_INT(wait_for(second, UINT64_MAX, &done), SAMARA_IO);
  CHECK(!done);
  CHECK_CONTAINS(error.text, "CL_OUT_OF_RESOURCES");
  CHECK_EQ_INT(wait_for(first, 0, &done), SAMARA_IO);
  CHECK_EQ_INT(scale_run(&use, UINT64_MAX, &error), SAMARA_IO);
  close_use();
}

SMR_TEST(errors_name_call_and_error) {
  reset();
  scale_text_now = "#error\n";
  CHECK_EQ_INT(use_once(-1, NULL, &error), SAMARA_IO);
  scale_text_now = NULL;
  CHECK_CONTAINS(error.text, "clBuildProgram: CL_BUILD_PROGRAM_FAILURE: line 1: #error");
  CHECK_EQ_INT(use_once(-1, NULL, &error), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "no kernel scale_floats");
  scale_text_now = scale_text;
  REQUIRE(open_use());
  void *memory = &counting;
  CHECK_EQ_INT(use.table->allocate(use.device, (1 << 20) + 1, &memory, &error),
               SAMARA_OUT_OF_MEMORY);
  CHECK(memory == NULL);
  CHECK_CONTAINS(error.text, "1048576");
  samara_requirements needs = {.struct_size = sizeof needs};
  use.table->requirements(use.device, &needs);
  CHECK_EQ_INT(needs.alignment_bytes, 64);
  CHECK_EQ_INT(needs.max_memory_bytes, 1 << 20);
  CHECK_EQ_INT(needs.constant_layouts, 7);
  char reason[64] = "";
  const samara_region *region = &use.region.region;
  CHECK(use.table->supports(use.device, region, 0, reason, sizeof reason));
  use.region.tensors[0].dtype = SAMARA_FLOAT64;
  CHECK(!use.table->supports(use.device, region, 0, reason, sizeof reason));
  CHECK_STR(reason, "only float32 is supported");
  use.region.nodes[0].op = "other";
  CHECK(!use.table->supports(use.device, region, 0, reason, 9));
  CHECK_STR(reason, "the oper");
  use.region.region.generation = 0;
  uint64_t ticket;
  CHECK_EQ_INT(submit(0, 2, &ticket), SAMARA_BAD_STATE);
  use.region.nodes[0].op = "scale";
  close_use();
}

SMR_TEST(devices_that_cannot_be_used) {
  reset();
  samara_probe request = scale_probe(&counting, -1, 0, NULL);  // the older one
  CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "older than OpenCL 1.2");
  request.index = 2;
  CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "there are 2");
  static char longest[70000];
  memset(longest, 'x', sizeof longest - 1);
  request.index = CPU;
  faults->version = longest;
  CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_UNSUPPORTED);
  faults->version = "";
  CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_UNSUPPORTED);
  faults->version = "OpenCL 3.0 new";
  CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_OK);
  CHECK_EQ_INT(counting.live, 0);
  CHECK_EQ_INT(faults->live, 0);
}

SMR_TEST(a_device_of_many_kinds_counts_once) {
  reset();
  faults->kinds = SMR_CL_DEVICE_TYPE_GPU | SMR_CL_DEVICE_TYPE_CPU;
  samara_probe request = scale_probe(&counting, -1, 0, NULL);
  CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_OK);
  request.index = 1;
  CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "there are 1");
  reset();
}

SMR_TEST(dot_products_are_for_gpus_of_opencl_3) {
  enum { VERSION_2 = 2 << 22, VERSION_3 = 3 << 22 };
  static const struct {
    uint64_t kinds;
    uint32_t version;
    const char *extensions, *language;
  } cases[] = {
      {SMR_CL_DEVICE_TYPE_GPU, VERSION_3, "cl_khr_integer_dot_product", "-cl-std=CL3.0"},
      {SMR_CL_DEVICE_TYPE_GPU, VERSION_2, "cl_khr_integer_dot_product", "-cl-std=CL1.2"},
      {SMR_CL_DEVICE_TYPE_GPU, 0, "cl_khr_integer_dot_product", "-cl-std=CL1.2"},
      {SMR_CL_DEVICE_TYPE_GPU, VERSION_3, "cl_khr_integer_dot_products", "-cl-std=CL1.2"},
      {SMR_CL_DEVICE_TYPE_CPU, VERSION_3, "cl_khr_integer_dot_product", "-cl-std=CL1.2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    reset();
    faults->kinds = cases[i].kinds;
    faults->numeric_version = cases[i].version;
    faults->extensions = cases[i].extensions;
    const samara_probe request = scale_probe(&counting, -1, 0, NULL);
    CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_OK);
    CHECK(strcmp(faults->options, cases[i].language) == 0);
  }
  reset();
}

SMR_TEST(library_may_be_missing) {
  setenv("SAMARA_OPENCL", "/nowhere/libOpenCL.so", 1);
  const samara_probe request = scale_probe(&counting, -1, 0, NULL);
  CHECK_EQ_INT(scale_whole(&request, &error), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "/nowhere/libOpenCL.so");
  CHECK_EQ_INT(counting.live, 0);
  setenv("SAMARA_OPENCL", SMR_FAULT_OPENCL, 1);
  const samara_backend_table *table = smr_opencl_backend();
  REQUIRE(table != NULL);
  void *device = &counting;
  samara_device_info info = {.struct_size = sizeof info};
  CHECK_EQ_INT(table->probe(&request, &device, &info, &error), SAMARA_UNSUPPORTED);
  CHECK(device == NULL);
}

// ---- the cache ----

// How one use got its program: 1 built it, 0 read it from the cache.
static long builds_of_use(const char *folder) {
  reset();
  CHECK_EQ_INT(use_once(-1, folder, &error), SAMARA_OK);
  CHECK_EQ_INT(faults->builds, 1);
  return faults->builds - faults->binaries;
}

SMR_TEST(broken_entries_are_made_again) {
  static const char folder[] = "driver_fault_entries/below";
  char path[512];
  unsigned char whole[4096], broken[4097];
  folder_remove(folder);
  CHECK_EQ_INT(builds_of_use(folder), 1);
  CHECK_EQ_INT(builds_of_use(folder), 0);
  CHECK_EQ_INT(folder_files(folder, path, sizeof path), 1);
  const size_t size = folder_read(path, whole, sizeof whole);
  REQUIRE(size > 64 && size < sizeof whole);
  for (size_t i = 0; i < size; i++) {
    memcpy(broken, whole, size);
    broken[i] ^= (unsigned char)(1 + i % 255);
    CHECK(folder_write(path, broken, size));
    CHECK_EQ_INT(builds_of_use(folder), 1);
  }
  for (size_t i = 0; i <= size; i++) {
    memcpy(broken, whole, size);
    broken[size] = 0;
    if (i < size) CHECK(folder_write(path, broken, i));
    if (i == size) CHECK(folder_write(path, broken, size + 1));
    CHECK_EQ_INT(builds_of_use(folder), 1);
  }
  CHECK_EQ_INT(folder_files(folder, path, sizeof path), 1);
  CHECK_EQ_INT(builds_of_use(folder), 0);
  unsigned char again[4096];
  CHECK_EQ_INT(folder_read(path, again, sizeof again), size);
  CHECK_MEM(again, whole, size);
  // Each source has its own entry.
  static char other[sizeof scale_text + 16];
  (void)snprintf(other, sizeof other, "%s\n", scale_text);
  scale_text_now = other;
  CHECK_EQ_INT(builds_of_use(folder), 1);
  scale_text_now = scale_text;
  CHECK_EQ_INT(folder_files(folder, path, sizeof path), 2);
  folder_remove(folder);
  folder_remove("driver_fault_entries");
}

SMR_TEST(folder_that_cannot_be_written) {
  reset();
  last_log[0] = '\0';
  CHECK_EQ_INT(use_once(-1, "/proc/nowhere/cache", &error), SAMARA_OK);
  CHECK_CONTAINS(last_log, "/proc/nowhere/cache");
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  void *library;
  faults = fault_opencl_load(SMR_FAULT_OPENCL, &library);
  if (faults == NULL) return 1;
  RUN(whole_use_passes);
  RUN(every_call_may_fail);
  RUN(device_may_be_lost_at_any_call);
  RUN(every_call_may_lie);
  RUN(every_call_may_fail_with_a_cache);
  RUN(subgroups_are_taken_back);
  RUN(every_allocation_may_fail);
  RUN(unchanged_generation_costs_nothing);
  RUN(released_memory_is_set_again);
  RUN(submit_may_be_tried_again);
  RUN(nodes_run_apart);
  RUN(tickets_can_be_asked);
  RUN(failed_command_fails_all_waits);
  RUN(errors_name_call_and_error);
  RUN(devices_that_cannot_be_used);
  RUN(a_device_of_many_kinds_counts_once);
  RUN(dot_products_are_for_gpus_of_opencl_3);
  RUN(library_may_be_missing);
  RUN(broken_entries_are_made_again);
  RUN(folder_that_cannot_be_written);
  smr_os_library_close(library);
  return SMR_TEST_END();
}
