// SPDX-License-Identifier: Apache-2.0
// Weights as images, over a library that fails on request: which way is chosen, what is cached, and
// that weights are read from buffers if there is no image.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "base/fp.h"

#include "backends/driver_folder.h"
#include "backends/driver_harness.h"
#include "backends/fault_opencl.h"

// Numbers of kernels: of a measurement, of a failed attempt at images, and of one use.
enum { MEASURED = 20, TRIED = 1, LAUNCHES = 4 };
static const char product[] = "T=float WIDE=1 X=f32 W=f32 COLS=4";

static struct fault_opencl *faults;
static const char folder[] = "driver_texels_cache";

// "scale_floats", as in the source of the harness. Measured kernels compute nothing.
static void run_scale(const char *name, unsigned char **buffers, const int32_t *ints,
                      const float *floats, uint32_t dims, const size_t *items) {
  CHECK_STR(name, "scale_floats");
  const float *x = (const float *)(const void *)buffers[0];
  const float *w = (const float *)(const void *)buffers[1];
  float *y = (float *)(void *)buffers[5];
  for (size_t i = 0; dims == 1 && i < items[0] && (int32_t)i < ints[0]; i++)
    y[i] = x[i] * w[0] + (float)ints[31] + floats[7];
}

// A GPU with images, on which one way is slow.
static void reset(int slow) {
  fault_opencl_reset(faults, run_scale);
  faults->kinds = SMR_CL_DEVICE_TYPE_GPU;
  faults->texels = 1 << 16;
  faults->slow = slow;
  scale_defines_now = product;
  scale_layout = SAMARA_LAYOUT_PANEL;
  last_log[0] = '\0';
}

static samara_status use_once(long allocation, const char *in) {
  struct counting counting;
  const samara_probe request = scale_probe(&counting, allocation, 0, in);
  samara_error error = {.text = ""};
  const samara_status status = scale_whole(&request, &error);
  CHECK_EQ_INT(counting.live, 0);
  CHECK_EQ_INT(faults->live, 0);
  CHECK_EQ_INT(faults->misuse, 0);
  CHECK(status == SAMARA_OK || error.text[0] != '\0');
  return status;
}

// How many kernels it takes to measure before a use.
static long measured(const char *in) {
  CHECK_EQ_INT(use_once(-1, in), SAMARA_OK);
  return faults->enqueued - LAUNCHES;
}

SMR_TEST(small_tiles_of_floats_read_texels) {
  long found = 0;
  for (size_t k = 0; k < SMR_CL_KERNELS; k++) {
    const char *name = smr_cl_texts[k].name, *tile = strstr(name, "x4");
    const bool floats = name[0] != 'q' && strncmp(name, "spread", 6) != 0;
    const uint32_t expected = tile == NULL || !floats ? 0 : strstr(name, "f16") != NULL ? 8 : 16;
    CHECK_EQ_INT(smr_cl_texel_bytes(&smr_cl_texts[k]), expected);
    found += expected != 0;
  }
  CHECK_EQ_INT(found, 18);
}

SMR_TEST(the_faster_way_is_taken) {
  reset(FAULT_SLOW_BUFFERS);
  CHECK_EQ_INT(measured(NULL), MEASURED);
  CHECK_EQ_INT(faults->images, 1 + 2);  // measured, and one for each launch
  CHECK_EQ_INT(faults->builds, 2);
  CHECK_CONTAINS(last_log, "opencl: weights in images: images take ");
  reset(FAULT_SLOW_IMAGES);
  CHECK_EQ_INT(measured(NULL), MEASURED);
  CHECK_EQ_INT(faults->images, 1);
  CHECK_EQ_INT(faults->builds, 2);
  CHECK_CONTAINS(last_log, "opencl: weights in buffers: images take ");
}

SMR_TEST(nothing_else_is_measured) {
  reset(FAULT_SLOW_BUFFERS);
  faults->kinds = SMR_CL_DEVICE_TYPE_CPU;
  CHECK_EQ_INT(measured(NULL), 0);
  reset(FAULT_SLOW_BUFFERS);
  faults->texels = 0;
  CHECK_EQ_INT(measured(NULL), 0);
  static const char *const others[] = {"T=float WIDE=1 X=f32 W=f32 COLS=16", "T=float UNUSED",
                                       "T=float PLAIN=0 X=f32 W=f32 COLS=4"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    reset(FAULT_SLOW_BUFFERS);
    scale_defines_now = others[i];
    CHECK_EQ_INT(measured(NULL), 0);
    CHECK_EQ_INT(faults->images, 0);
    CHECK_STR(last_log, "");
  }
}

SMR_TEST(a_library_may_lack_the_function) {
  void *library;
  struct fault_opencl *with = faults;
  faults = fault_opencl_load(SMR_FAULT_OPENCL_IMAGELESS, &library);
  REQUIRE(faults != NULL);
  reset(FAULT_SLOW_BUFFERS);
  CHECK_EQ_INT(measured(NULL), 0);
  faults = with;
  smr_os_library_close(library);
  setenv("SAMARA_OPENCL", SMR_FAULT_OPENCL, 1);
}

SMR_TEST(the_choice_is_kept) {
  for (int slow = FAULT_SLOW_IMAGES; slow <= FAULT_SLOW_BUFFERS; slow++) {
    const long images = slow == FAULT_SLOW_BUFFERS ? 2 : 0;
    folder_remove(folder);
    reset(slow);
    CHECK_EQ_INT(measured(folder), MEASURED);
    // Both kernels, and the choice.
    char path[512];
    CHECK_EQ_INT(folder_files(folder, path, sizeof path), 3);
    reset(3 - slow);
    CHECK_EQ_INT(measured(folder), 0);
    CHECK_EQ_INT(faults->images, images);
    CHECK_EQ_INT(faults->binaries, 1);
    CHECK_CONTAINS(last_log, images != 0 ? "weights in images" : "weights in buffers");
    // Weights that cannot be measured use it, too.
    reset(3 - slow);
    scale_defines_now = "T=float PLAIN=0 X=f32 W=f32 COLS=4";
    CHECK_EQ_INT(measured(folder), 0);
    CHECK_EQ_INT(faults->images, images);
  }
  folder_remove(folder);
}

static struct smr_cl_cache_key key_of(const char *name) {
  return (struct smr_cl_cache_key){.folder = folder,
                                   .texts = {name, "1", "OpenCL 1.2 platform", "-cl-std=CL1.2"},
                                   .source = "weights",
                                   .source_bytes = sizeof "weights"};
}

SMR_TEST(entries_are_not_trusted) {
  const samara_allocator allocator = smr_allocator(NULL);
  // Every number but 0 is a valid choice. One of another device is not.
  for (int percent = 0; percent < 256; percent++) {
    const struct smr_cl_cache_key key = key_of("faulty");
    const unsigned char byte = (unsigned char)percent;
    folder_remove(folder);
    REQUIRE(smr_cl_cache_write(&key, &byte, 1, &allocator, NULL) == SAMARA_OK);
    reset(FAULT_SLOW_BUFFERS);
    CHECK_EQ_INT(measured(folder), percent == 0 ? MEASURED : 0);
    CHECK_EQ_INT(faults->images, percent == 0 ? 3 : percent <= 95 ? 2 : 0);
  }
  const struct smr_cl_cache_key other = key_of("other");
  const unsigned char slow = 200;
  folder_remove(folder);
  REQUIRE(smr_cl_cache_write(&other, &slow, 1, &allocator, NULL) == SAMARA_OK);
  reset(FAULT_SLOW_BUFFERS);
  CHECK_EQ_INT(measured(folder), MEASURED);
  // One byte changed, or cut: measured again.
  unsigned char whole[512], broken[512];
  char path[512];
  folder_remove(folder);
  const struct smr_cl_cache_key key = key_of("faulty");
  REQUIRE(smr_cl_cache_write(&key, &slow, 1, &allocator, NULL) == SAMARA_OK);
  REQUIRE(folder_files(folder, path, sizeof path) == 1);
  const size_t size = folder_read(path, whole, sizeof whole);
  REQUIRE(size > 64 && size < sizeof whole);
  for (size_t i = 0; i < size; i++) {
    memcpy(broken, whole, size);
    broken[i] ^= (unsigned char)(1 + i % 255);
    CHECK(folder_write(path, broken, i % 2 == 0 ? size : i));
    reset(FAULT_SLOW_BUFFERS);
    CHECK_EQ_INT(measured(folder), MEASURED);
  }
  folder_remove(folder);
}

SMR_TEST(weights_that_fit_no_image_are_in_buffers) {
  const samara_allocator allocator = smr_allocator(NULL);
  const struct smr_cl_cache_key key = key_of("faulty");
  const unsigned char fast = 50;
  for (int fault = 0; fault < 5; fault++) {
    folder_remove(folder);
    REQUIRE(smr_cl_cache_write(&key, &fast, 1, &allocator, NULL) == SAMARA_OK);
    reset(0);
    if (fault == 1) scale_panel_bytes = 17;  // two texels
    if (fault == 1) faults->texels = 1;
    if (fault == 2) faults->no_images = true;
    if (fault == 3) scale_layout = SAMARA_LAYOUT_PLAIN;
    if (fault == 4) scale_panel_stride = 8;
    CHECK_EQ_INT(measured(folder), 0);
    CHECK_EQ_INT(faults->images, fault == 0 ? 2 : 0);
    CHECK_EQ_INT(faults->builds, fault == 0 ? 1 : 2);
    scale_panel_bytes = sizeof(float);
    scale_panel_stride = 0;
  }
  // Without a measurement nothing is cached.
  char path[512];
  for (int fault = 0; fault < 2; fault++) {
    folder_remove(folder);
    reset(FAULT_SLOW_BUFFERS);
    faults->no_images = fault == 0;
    if (fault == 1) faults->texels = 5;
    CHECK_EQ_INT(measured(folder), TRIED);
    CHECK_EQ_INT(folder_files(folder, path, sizeof path), 2);
    CHECK_CONTAINS(last_log, "weights in buffers");
  }
  folder_remove(folder);
}

// A compiler may lack images: after one attempt all kernels use buffers.
SMR_TEST(a_compiler_may_refuse_images) {
  reset(FAULT_SLOW_BUFFERS);
  faults->refuse_texels = true;
  CHECK_EQ_INT(measured(NULL), TRIED);
  CHECK_EQ_INT(faults->images, 0);
  CHECK_EQ_INT(faults->builds, 1);
}

// Fails each call in turn, in the way `kind`, until all succeed.
static void fail_each(int kind, const char *in, bool keep) {
  long failed = 0, k = 0;
  scale_honest = kind != FAULT_LIE;
  for (;; k++) {
    if (in != NULL && !keep) folder_remove(in);
    reset(k % 2 == 0 ? FAULT_SLOW_BUFFERS : 0);
    faults->at = k;
    faults->kind = kind;
    faults->code = SMR_CL_OUT_OF_HOST_MEMORY;
    faults->lag = (int)(k % 3);
    failed += use_once(-1, in) != SAMARA_OK;
    if (faults->calls <= k) break;
    REQUIRE(k < 2000);
  }
  scale_honest = true;
  CHECK(k > 60);
  CHECK(failed > 10);
}

SMR_TEST(every_call_may_fail) {
  for (int kind = FAULT_ERROR; kind <= FAULT_LIE; kind++) {
    fail_each(kind, NULL, false);
    fail_each(kind, folder, false);
    // With the cached choice: images.
    folder_remove(folder);
    reset(FAULT_SLOW_BUFFERS);
    CHECK_EQ_INT(measured(folder), MEASURED);
    fail_each(kind, folder, true);
  }
  folder_remove(folder);
}

SMR_TEST(every_allocation_may_fail) {
  for (int warm = 0; warm < 2; warm++) {
    long k = 0;
    folder_remove(folder);
    for (;; k++) {
      struct counting counting;
      reset(FAULT_SLOW_BUFFERS);
      if (warm == 0) folder_remove(folder);
      const samara_probe request = scale_probe(&counting, k, 0, folder);
      samara_error error = {.text = ""};
      const samara_status status = scale_whole(&request, &error);
      CHECK(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
      CHECK_EQ_INT(counting.live, 0);
      CHECK_EQ_INT(faults->live, 0);
      CHECK_EQ_INT(faults->misuse, 0);
      if (counting.calls <= k) break;
      REQUIRE(k < 1000);
    }
    CHECK(k > 12);
  }
  folder_remove(folder);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  void *library;
  faults = fault_opencl_load(SMR_FAULT_OPENCL, &library);
  if (faults == NULL) return 1;
  RUN(small_tiles_of_floats_read_texels);
  RUN(the_faster_way_is_taken);
  RUN(nothing_else_is_measured);
  RUN(a_library_may_lack_the_function);
  RUN(the_choice_is_kept);
  RUN(entries_are_not_trusted);
  RUN(weights_that_fit_no_image_are_in_buffers);
  RUN(a_compiler_may_refuse_images);
  RUN(every_call_may_fail);
  RUN(every_allocation_may_fail);
  smr_os_library_close(library);
  return SMR_TEST_END();
}
