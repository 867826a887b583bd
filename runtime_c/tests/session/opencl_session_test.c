// SPDX-License-Identifier: Apache-2.0
// Sessions on OpenCL over a library that fails on request, whose kernels are computed as C11:
// whichever call fails, once or for good, answers are right and nothing is left.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "base/fp.h"

#include "backends/fault_opencl.h"
#include "backends/opencl/cl.h"
#include "backends/opencl/driver.h"
#include "backends/reference_driver.h"
#include "harness.h"
#include "session/device/device_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 4, MOST_CALLS = 20000 };

// Under an emulator or ThreadSanitizer, where a session takes 10 times as long, one call in STRIDE
// fails.
#if defined(SMR_SLOW_MACHINE)
enum { STRIDE = 7 };
#else
enum { STRIDE = 1 };
#endif

static const enum rig_model models[] = {RIG_CHAIN, RIG_SYMBOLIC, RIG_IF,  RIG_LOOP,
                                        RIG_READ,  RIG_STATE,    RIG_STAY};
enum { MODELS = sizeof models / sizeof *models };

static struct fault_opencl *faults;
static char last_failure[256];
static bool lies;     // kernels change the first element of their result
static bool float16;  // sessions store floats so

static void run_kernel(const char *name, unsigned char **buffers, const int32_t *ints,
                       const float *floats, uint32_t dims, const size_t *items) {
  struct smr_cl_launch launch = {.dims = (uint8_t)dims};
  for (size_t i = 0; i < SMR_CL_BUFFERS; i++) launch.buffers[i].memory = buffers[i];
  memcpy(launch.ints, ints, sizeof launch.ints);
  memcpy(launch.floats, floats, sizeof launch.floats);
  memcpy(launch.items, items, dims * sizeof *items);
  REQUIRE(smr_reference_launch_named(&launch, name));
  if (!lies || buffers[5] == NULL) return;
  buffers[5][0] ^= 1;  // of an element of one byte
  buffers[5][3] ^= 64;
}

static void reset(void) {
  fault_opencl_reset(faults, run_kernel);
  faults->source = smr_reference_expect;
  lies = false;
}

static samara_backend *open_device(samara_error *error) {
  const samara_backend_options options = {.struct_size = sizeof options,
                                          .name = "opencl:1"};  // device 0 is too old
  samara_backend *device = NULL;
  CHECK((samara_backend_open(&options, &device, error) == SAMARA_OK) == (device != NULL));
  return device;
}

// The tolerance of a float: its last digits, or float16 rounding.
static float tolerance(const float *want, size_t count, size_t e) {
  if (!float16) return 4e-7f + 4e-7f * fabsf(want[e]);
  float least = want[0], most = want[0];
  for (size_t i = 1; i < count; i++) {
    least = fminf(least, want[i]);
    most = fmaxf(most, want[i]);
  }
  return 1e-3f + 1e-3f * fabsf(want[e]) + 2e-2f * (most - least);
}

// Whether all outputs equal the CPU's: floats within that, others to the bit.
static bool is_right(const samara_session *cpu, const samara_session *other) {
  for (uint32_t i = 0; i < cpu->function->user_output_count; i++) {
    samara_tensor a, b;
    if (samara_session_output(cpu, i, &a) != SAMARA_OK ||
        samara_session_output(other, i, &b) != SAMARA_OK || a.size_bytes != b.size_bytes ||
        memcmp(a.shape, b.shape, sizeof a.shape) != 0)
      return false;
    if (a.dtype != SAMARA_FLOAT32) {
      if (a.size_bytes != 0 && memcmp(a.data, b.data, a.size_bytes) != 0) return false;
      continue;
    }
    const float *want = a.data, *got = b.data;
    for (size_t e = 0, n = a.size_bytes / sizeof *want; e < n; e++)
      if (!(fabsf(got[e] - want[e]) <= tolerance(want, n, e))) return false;
  }
  return true;
}

static bool run_both(samara_session *cpu, samara_session *other, uint32_t seed) {
  return rig_feed(cpu, seed) && rig_feed(other, seed) && literal_run(cpu) == SAMARA_OK &&
         literal_run(other) == SAMARA_OK && is_right(cpu, other);
}

// The whole life of a session beside one on the CPU. Returns its last report.
static samara_backend_report live_once(const samara_model *model, const char *what, long k) {
  samara_error error = {.text = ""};
  samara_backend_report report = {.failure = ""};
  samara_backend *device = open_device(&error);
  if (device == NULL) {
    CHECK(error.text[0] != '\0');
  } else {
    samara_session *cpu = rig_session(model, NULL, 0, (samara_session_options){0});
    samara_session *s =
        rig_session(model, &device, 1,
                    (samara_session_options){.backend_check_every = 1, .backend_float16 = float16});
    for (uint32_t run = 0; run < RUNS; run++)
      if (!CHECK(run_both(cpu, s, run)))
        fprintf(stderr, "%s, call %ld, run %u: %s\n", what, k, (unsigned)run,
                rig_report(s).failure);
    if (s != NULL) report = rig_report(s);
    (void)snprintf(last_failure, sizeof last_failure, "%s", report.failure);
    report.failure = last_failure;
    samara_session_destroy(s);
    samara_session_destroy(cpu);
    samara_backend_close(device);
  }
  CHECK_EQ_INT(faults->live, 0);
  CHECK_EQ_INT(faults->misuse, 0);
  return report;
}

static void for_each_model(void (*use)(const samara_model *model)) {
  for (size_t m = 0; m < MODELS; m++) {
    rig_reset();
    struct literal *l = rig_model(models[m]);
    use(&l->model);
    literal_free(l);
  }
}

static void use_whole(const samara_model *model) {
  reset();
  const samara_backend_report report = live_once(model, "no fault", 0);
  CHECK_STR(report.failure, "");
  CHECK_EQ_INT((int)report.device_runs, RUNS);
  CHECK(faults->enqueued >= RUNS);
}

SMR_TEST(all_runs_are_on_the_device) { for_each_model(use_whole); }

static void fail_each(const samara_model *model, int kind, const char *what) {
  static long sweeps;  // each sweep starts at another call
  long failed = 0;
  for (long k = sweeps++ % STRIDE;; k += STRIDE) {
    reset();
    faults->at = k;
    faults->kind = kind;
    faults->code = kind == FAULT_LOST ? -36 : SMR_CL_OUT_OF_HOST_MEMORY;
    faults->lag = k % 3 == 0 ? 2 : 0;
    failed += live_once(model, what, k).failure[0] != '\0';
    if (faults->calls <= k) break;
    REQUIRE(k < MOST_CALLS);
  }
  CHECK(failed > 20 / STRIDE);
}

static void fail_once(const samara_model *model) { fail_each(model, FAULT_ERROR, "an error"); }
static void fail_for_good(const samara_model *model) { fail_each(model, FAULT_LOST, "a loss"); }

SMR_TEST(any_call_may_fail) { for_each_model(fail_once); }

SMR_TEST(the_device_may_be_lost_at_any_call) { for_each_model(fail_for_good); }

static void have_little(const samara_model *model) {
  for (uint64_t most = 4; most < 1 << 16; most *= 4) {
    reset();
    faults->max_alloc = most;
    (void)live_once(model, "little memory", (long)most);
  }
}

SMR_TEST(allocations_may_be_small) { for_each_model(have_little); }

static void compute_wrongly(const samara_model *model) {
  reset();
  lies = true;
  const samara_backend_report report = live_once(model, "wrong bits", 0);
  CHECK_CONTAINS(report.failure, "is not what the CPU computes");
}

SMR_TEST(wrong_kernels_are_caught) { for_each_model(compute_wrongly); }

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  void *library;
  faults = fault_opencl_load(SMR_FAULT_OPENCL, &library);
  if (faults == NULL) return 1;
  RUN(all_runs_are_on_the_device);
  RUN(any_call_may_fail);
  RUN(the_device_may_be_lost_at_any_call);
  RUN(allocations_may_be_small);
  RUN(wrong_kernels_are_caught);
  float16 = true;
  RUN(all_runs_are_on_the_device);
  RUN(any_call_may_fail);
  RUN(the_device_may_be_lost_at_any_call);
  RUN(allocations_may_be_small);
  RUN(wrong_kernels_are_caught);
  smr_os_library_close(library);
  return SMR_TEST_END();
}
