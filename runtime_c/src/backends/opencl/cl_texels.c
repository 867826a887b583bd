// SPDX-License-Identifier: Apache-2.0
// Weights as images: which kernels support them, creating the images, and measuring whether they
// are faster.
//
// GPUs of phones read images through a separate cache, which is faster on some of them and slower
// on others. The first product of a device is therefore measured both ways.
#include "base/fp.h"

#include "backends/opencl/cl_device.h"

#include <string.h>

uint32_t smr_cl_texel_bytes(const struct smr_cl_text *text) {
  if (smr_cl_shares(text)) text--;  // its other defines are those of the previous text
  const char *type = strstr(text->defines, " W=f");
  if (type == NULL || strstr(text->defines, "COLS=4") == NULL) return 0;
  return type[4] == '1' ? 8 : 16;
}

smr_cl_mem smr_cl_weights_image(const struct smr_cl_device *device,
                                const struct smr_cl_launch *launch, uint32_t texel_bytes) {
  smr_cl_mem buffer = (smr_cl_mem)launch->buffers[1].memory;
  const uint64_t width = (launch->panel_bytes + texel_bytes - 1) / texel_bytes;
  if (buffer == NULL || launch->buffers[1].offset_bytes != 0 || width == 0 ||
      width > device->max_texels)
    return NULL;
  const struct smr_cl_image_format format = {SMR_CL_RGBA,
                                             texel_bytes == 16 ? SMR_CL_FLOAT : SMR_CL_HALF_FLOAT};
  const struct smr_cl_image_desc desc = {
      .type = SMR_CL_MEM_OBJECT_IMAGE1D_BUFFER, .width = (size_t)width, .buffer = buffer};
  int32_t code = SMR_CL_SUCCESS;
  smr_cl_mem image =
      device->api.clCreateImage(device->context, SMR_CL_MEM_READ_ONLY, &format, &desc, NULL, &code);
  return code == SMR_CL_SUCCESS ? image : NULL;
}

// ---- measuring ----

// A product like that of a 1 x 1 convolution. Its weights have fewer than the 65536 texels that
// every device must support.
enum {
  RACE_ROWS = 400,
  RACE_DEPTH = 320,
  RACE_COLUMNS = 160,
  RACE_TURNS = 10,
  RACE_X = RACE_ROWS * RACE_DEPTH * 4,  // bytes
  RACE_Y = RACE_ROWS * RACE_COLUMNS * 4,
  RACE_W = RACE_DEPTH * RACE_COLUMNS * 4,
};

// The product with weights [0] in buffers, [1] in images.
struct cl_race {
  struct smr_cl_device *device;
  void *weights, *others;  // device memory
  struct smr_cl_launch launch;
  void *prepared[2];
  uint64_t best_ns[2];
};

static samara_status race_prepare(struct cl_race *race, const char *dialect,
                                  const struct smr_cl_text *texts, bool image) {
  const struct smr_cl_steps none = {0};
  bool kernels[SMR_CL_KERNELS + 1] = {false};
  void *program;
  kernels[race->launch.kernel] = true;
  SMR_TRY(smr_cl_build_with(race->device, dialect, texts, kernels, &none, image, &program, NULL));
  const samara_status status =
      smr_cl_prepare(race->device, program, &race->launch, &race->prepared[image], NULL);
  smr_cl_release_program(race->device, program);
  if (status == SAMARA_OK && image && !smr_cl_prepared_has_image(race->prepared[image]))
    return SAMARA_UNSUPPORTED;
  return status;
}

// Take the least time of several turns, because others may use the machine.
static samara_status race_run(struct cl_race *race, const char *dialect,
                              const struct smr_cl_text *texts) {
  static const int32_t ints[12] = {
      RACE_ROWS, RACE_COLUMNS, RACE_DEPTH, RACE_DEPTH, 1, 16 * RACE_DEPTH, 0, 0, 1, 1, 1, 1};
  const struct smr_cl_driver *driver = &smr_opencl_driver;
  SMR_TRY(driver->allocate(race->device, RACE_W, NULL, &race->weights, NULL));
  SMR_TRY(driver->allocate(race->device, RACE_X + RACE_Y, NULL, &race->others, NULL));
  memcpy(race->launch.ints, ints, sizeof ints);
  race->launch.buffers[1].memory = race->weights;
  race->launch.buffers[0].memory = race->launch.buffers[5].memory = race->others;
  race->launch.buffers[5].offset_bytes = RACE_X;
  for (size_t turn = 0; turn < 2 * RACE_TURNS; turn++) {
    const size_t way = turn % 2;
    uint64_t ticket = 0;
    bool done = false;
    if (turn < 2) SMR_TRY(race_prepare(race, dialect, texts, way == 1));
    const uint64_t start = smr_os_now_ns();
    SMR_TRY(driver->run(race->device, &race->prepared[way], &race->launch, 1, &ticket, NULL));
    SMR_TRY(driver->wait(race->device, ticket, UINT64_MAX, &done, NULL));
    const uint64_t took = smr_os_now_ns() - start;
    if (turn < 2 || took < race->best_ns[way]) race->best_ns[way] = took;
  }
  return SAMARA_OK;
}

// Time with images as a percentage of the time with buffers.
static int texels_measure(struct smr_cl_device *device, const char *dialect,
                          const struct smr_cl_text *texts, uint16_t kernel) {
  // One item per row; some are idle if items compute four rows.
  struct cl_race race = {.device = device,
                         .launch = {.kernel = kernel,
                                    .dims = 2,
                                    .items = {RACE_COLUMNS / 4, RACE_ROWS},
                                    .panel_bytes = RACE_W}};
  const samara_status status = race_run(&race, dialect, texts);
  for (size_t way = 0; way < 2; way++) smr_cl_release_prepared(device, race.prepared[way]);
  smr_opencl_driver.release(device, race.others);
  smr_opencl_driver.release(device, race.weights);
  const uint64_t percent = race.best_ns[1] * 100 / (race.best_ns[0] + 1) + 1;
  if (status != SAMARA_OK) return SMR_CL_NO_IMAGES;
  return percent < SMR_CL_NO_IMAGES ? (int)percent : SMR_CL_NO_IMAGES - 1;
}

// ---- the choice ----

bool smr_cl_prefers_images(struct smr_cl_device *device, const char *dialect,
                           const struct smr_cl_text *texts, const bool *kernels) {
  int percent = SMR_ATOMIC_LOAD(&device->image_time);
  if (percent != 0 || device->max_texels == 0) return percent != 0 && percent <= SMR_CL_FAST_IMAGES;
  uint16_t product = 0;
  while (product < SMR_CL_KERNELS &&
         !(kernels[product] && smr_cl_texel_bytes(&texts[product]) != 0 &&
           strstr(texts[product].defines, "WIDE") != NULL))
    product++;
  static const char what[] = "weights";
  const struct smr_cl_cache_key key = smr_cl_key(device, device->options[0], what, sizeof what);
  struct smr_cl_cache_entry entry;
  if (key.folder != NULL && smr_cl_cache_read(&key, &device->allocator, &entry)) {
    percent = entry.binary[0];
    smr_os_close(&entry.file, &device->allocator);
  }
  if (percent == 0) {
    if (product == SMR_CL_KERNELS) return false;
    percent = texels_measure(device, dialect, texts, product);
    const unsigned char byte = (unsigned char)percent;
    if (percent != SMR_CL_NO_IMAGES && key.folder != NULL)
      (void)smr_cl_cache_write(&key, &byte, 1, &device->allocator, NULL);
  }
  SMR_ATOMIC_STORE(&device->image_time, percent);
  const bool images = percent <= SMR_CL_FAST_IMAGES;
  smr_cl_log(device, SAMARA_LOG_INFO, "opencl: weights in %s: images take %d %% of the time",
             images ? "images" : "buffers", percent);
  return images;
}
