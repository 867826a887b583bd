// SPDX-License-Identifier: Apache-2.0
// The functions of the backend over the reference driver: scratch memory, and flags of launches.
#include "base/fp.h"

#include "backends/one_node.h"
#include "backends/reference_driver.h"
#include "harness.h"

// ---- a driver that works only while it is waited for ----

enum { LATE_READS = 16 };

static struct {
  uint64_t begun;
  uint64_t limit;  // the last ticket that waiting finds done
  samara_copy reads[LATE_READS];
  uint64_t tickets[LATE_READS];
  uint32_t read_count;
} late;

static samara_status late_run(void *device, void *const *prepared,
                              const struct smr_cl_launch *launches, size_t count, uint64_t *ticket,
                              samara_error *error) {
  const samara_status status =
      smr_reference_driver.run(device, prepared, launches, count, ticket, error);
  *ticket = ++late.begun;
  return status;
}

// Reads happen while the driver is waited for. Only the flag is written in between.
static samara_status late_copy(void *device, const samara_copy *copy, uint64_t *ticket,
                               samara_error *error) {
  if (copy->to_device) {
    const samara_status status = smr_reference_driver.copy(device, copy, ticket, error);
    *ticket = ++late.begun;
    return status;
  }
  if (!CHECK(late.read_count < LATE_READS)) return SAMARA_IO;
  late.reads[late.read_count] = *copy;
  late.tickets[late.read_count++] = *ticket = ++late.begun;
  return SAMARA_OK;
}

static samara_status late_wait(void *device, uint64_t ticket, uint64_t timeout_ns, bool *done,
                               samara_error *error) {
  (void)timeout_ns;
  *done = ticket <= late.limit;
  if (!*done) return SAMARA_OK;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < late.read_count; i++) {
    uint64_t unused;
    if (late.tickets[i] <= ticket) {
      (void)smr_reference_driver.copy(device, &late.reads[i], &unused, error);
    } else {
      late.reads[kept] = late.reads[i];
      late.tickets[kept++] = late.tickets[i];
    }
  }
  late.read_count = kept;
  return SAMARA_OK;
}

// ---- a device ----

static const samara_backend_table *const table = &smr_cl_functions;

static void *open_device(bool with_tickets, struct smr_cl_driver *driver) {
  samara_probe probe = {.struct_size = sizeof probe,
                        .allocator = {one_allocate, one_release, NULL}};
  samara_device_info info = {.struct_size = sizeof info};
  samara_error error;
  void *device = NULL;
  *driver = smr_reference_driver;
  memset(&late, 0, sizeof late);
  late.limit = UINT64_MAX;
  if (with_tickets) {
    driver->run = late_run;
    driver->copy = late_copy;
    driver->wait = late_wait;
  }
  CHECK_EQ_INT(smr_cl_probe(driver, &probe, &device, &info, &error), SAMARA_OK);
  return device;
}

static void close_device(void *device) { table->release(device, SAMARA_HANDLE_DEVICE, device); }

static samara_status submit(void *device, void *program, uint64_t *ticket, samara_error *error) {
  return table->submit(device, program, &built.region, 0, 1, ticket, error);
}

static samara_status wait_for(void *device, uint64_t ticket, samara_error *error) {
  bool done = false;
  const samara_status status = table->wait(device, ticket, UINT64_MAX, &done, error);
  CHECK(done);
  return status;
}

// gather of 5 elements, by 2 indices.
static void begin_gather(int64_t first, int64_t second) {
  const struct smr_cl_features features = {.cpu = true};
  struct smr_cl_node node;
  one_begin("gather");
  one_input(F32, DIMS(5));
  memcpy(one_input(SAMARA_INT64, DIMS(2))->data, ((int64_t[]){first, second}), 16);
  one_output(F32, DIMS(2));
  one_build(&node, &features);
  built.node.name = "pick";
}

static void put_indices(int64_t first, int64_t second) {
  memcpy(built.tensors[1].memory, ((int64_t[]){first, second}), 16);
}

static void check_gathered(int64_t first, int64_t second) {
  const float *x = (const float *)one.in[0].data, *y = (const float *)built.tensors[2].memory;
  CHECK(y[0] == x[first] && y[1] == x[second]);
}

static void end_gather(void) {
  one_unbuild();
  one_free();
}

SMR_TEST(at_once) {
  struct smr_cl_driver driver;
  samara_error error;
  uint64_t ticket;
  void *device = open_device(false, &driver), *program = NULL;
  begin_gather(3, 5);
  REQUIRE(table->compile(device, &built.region, &program, &error) == SAMARA_OK);
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_BAD_DATA);
  CHECK_CONTAINS(error.text, "out of range in node 'pick'");
  put_indices(4, -5);
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_OK);
  check_gathered(4, 0);
  CHECK_EQ_INT(wait_for(device, ticket, &error), SAMARA_OK);
  table->release(device, SAMARA_HANDLE_PROGRAM, program);
  end_gather();
  close_device(device);
}

SMR_TEST(tickets) {
  struct smr_cl_driver driver;
  samara_error error;
  uint64_t before, ticket;
  void *device = open_device(true, &driver), *program = NULL;
  begin_gather(0, 1);
  REQUIRE(table->compile(device, &built.region, &program, &error) == SAMARA_OK);
  CHECK_EQ_INT(submit(device, program, &before, &error), SAMARA_OK);
  CHECK_EQ_INT(wait_for(device, before, &error), SAMARA_OK);
  check_gathered(0, 1);
  put_indices(0, 7);
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_OK);
  CHECK(ticket > before);
  // Finished work has not failed. Unfinished work reports nothing.
  CHECK_EQ_INT(wait_for(device, before, &error), SAMARA_OK);
  bool done = true;
  late.limit = before;
  CHECK_EQ_INT(table->wait(device, ticket, 0, &done, &error), SAMARA_OK);
  CHECK(!done);
  late.limit = UINT64_MAX;
  CHECK_EQ_INT(wait_for(device, ticket, &error), SAMARA_BAD_DATA);
  CHECK_CONTAINS(error.text, "out of range in node 'pick'");
  CHECK_EQ_INT(wait_for(device, ticket, &error), SAMARA_BAD_DATA);
  // The next failure clears the flag.
  put_indices(2, 1);
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_BAD_DATA);
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_OK);
  CHECK_EQ_INT(wait_for(device, ticket, &error), SAMARA_OK);
  check_gathered(2, 1);
  // The launch with a wrong index was not waited for.
  put_indices(-6, 1);
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_OK);
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_BAD_DATA);
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_OK);
  table->release(device, SAMARA_HANDLE_PROGRAM, program);
  CHECK_EQ_INT(wait_for(device, late.begun, &error), SAMARA_OK);
  CHECK_EQ_INT(late.read_count, 0);
  end_gather();
  close_device(device);
}

SMR_TEST(two_programs) {
  struct smr_cl_driver driver;
  samara_error error;
  uint64_t tickets[3];
  void *device = open_device(true, &driver), *programs[3] = {NULL};
  begin_gather(0, 1);
  for (int i = 0; i < 3; i++) {
    REQUIRE(table->compile(device, &built.region, &programs[i], &error) == SAMARA_OK);
    put_indices(0, i == 1 ? 9 : 2);
    CHECK_EQ_INT(submit(device, programs[i], &tickets[i], &error), SAMARA_OK);
  }
  CHECK_EQ_INT(wait_for(device, tickets[0], &error), SAMARA_OK);
  // A ticket does not identify its program.
  CHECK_EQ_INT(wait_for(device, tickets[2], &error), SAMARA_BAD_DATA);
  CHECK_EQ_INT(wait_for(device, tickets[1], &error), SAMARA_BAD_DATA);
  table->release(device, SAMARA_HANDLE_PROGRAM, programs[1]);
  CHECK_EQ_INT(wait_for(device, tickets[2], &error), SAMARA_OK);
  table->release(device, SAMARA_HANDLE_PROGRAM, programs[2]);
  table->release(device, SAMARA_HANDLE_PROGRAM, programs[0]);
  end_gather();
  close_device(device);
}

// ---- scratch ----

static void run_gru(void *device, void *program) {
  samara_error error;
  uint64_t ticket;
  CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_OK);
  for (uint32_t i = 0; i < one.outputs; i++)
    one_compare(&one.out[i], built.tensors[built.outputs[i]].memory, 1e-5);
}

SMR_TEST(scratch) {
  struct smr_cl_driver driver;
  samara_error error;
  void *device = open_device(false, &driver), *program = NULL;
  // Sequences of other lengths: memory grows and is kept.
  static const int64_t steps[] = {3, 9, 2};
  for (int i = 0; i < 3; i++) {
    const struct smr_cl_features features = {.cpu = true};
    struct smr_cl_node node;
    one_begin("gru");
    one_input(F32, DIMS(steps[i], 2, 3));
    one_input(F32, DIMS(1, 15, 3));
    one_input(F32, DIMS(1, 15, 5));
    one_output(F32, DIMS(steps[i], 1, 2, 5));
    one_output(F32, DIMS(1, 2, 5));
    one_int("hidden", 5);
    REQUIRE(one_on_cpu());
    one_build(&node, &features);
    built.region.generation = (uint64_t)i + 1;
    if (program == NULL)
      REQUIRE(table->compile(device, &built.region, &program, &error) == SAMARA_OK);
    run_gru(device, program);
    run_gru(device, program);
    one_unbuild();
    one_free();
  }
  table->release(device, SAMARA_HANDLE_PROGRAM, program);
  close_device(device);
}

// ---- failing allocations ----

static int allowed;  // allocations of the device that succeed

static samara_status scarce_allocate(void *device, size_t size_bytes, const void *initial,
                                     void **memory, samara_error *error) {
  if (allowed-- > 0)
    return smr_reference_driver.allocate(device, size_bytes, initial, memory, error);
  error->status = SAMARA_OUT_OF_MEMORY;
  snprintf(error->text, sizeof error->text, "no memory of the device");
  return SAMARA_OUT_OF_MEMORY;
}

// The scratch of positions and the flag: without one of them the launches are prepared again.
SMR_TEST(memory_is_out) {
  struct smr_cl_driver driver;
  samara_error error;
  uint64_t ticket;
  void *device = open_device(true, &driver), *program = NULL;
  driver.allocate = scarce_allocate;
  begin_gather(3, 1);
  for (int i = 0; i < 3; i++) {
    REQUIRE(table->compile(device, &built.region, &program, &error) == SAMARA_OK);
    allowed = i;
    CHECK_EQ_INT(submit(device, program, &ticket, &error),
                 i < 2 ? SAMARA_OUT_OF_MEMORY : SAMARA_OK);
    allowed = 2;
    CHECK_EQ_INT(submit(device, program, &ticket, &error), SAMARA_OK);
    CHECK_EQ_INT(wait_for(device, ticket, &error), SAMARA_OK);
    check_gathered(3, 1);
    table->release(device, SAMARA_HANDLE_PROGRAM, program);
  }
  end_gather();
  close_device(device);
}

SMR_TEST_MAIN(RUN(at_once); RUN(tickets); RUN(two_programs); RUN(memory_is_out); RUN(scratch))
