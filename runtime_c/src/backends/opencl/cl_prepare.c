// SPDX-License-Identifier: Apache-2.0
// Prepares launches of compiled kernels: sets their arguments.
#include "base/fp.h"

#include "backends/opencl/cl_unit.h"

#include <string.h>

#include "base/alloc.h"
#include "base/parts.h"

struct cl_prepared {
  smr_cl_kernel_id id;
  struct smr_cl_unit *unit;
  smr_cl_mem image;  // over the weights, if the unit reads an image
  bool set;          // the fields below are set
  uint64_t releases;
  void *memory[SMR_CL_BUFFERS];
  uint32_t offsets[SMR_CL_BUFFERS];
  int32_t ints[SMR_CL_INTS];
  float floats[SMR_CL_FLOATS];
};

// The unit of a launch's kernel; NULL if the program has none.
static struct smr_cl_unit *prepared_unit(const struct smr_cl_units *program, uint16_t kernel) {
  if (program == NULL) return NULL;
  if (!SMR_HAS(cl_fused) || kernel < SMR_CL_STEP_KERNEL) return program->units[kernel];
  const uint32_t step = (uint32_t)(kernel - SMR_CL_STEP_KERNEL);
  return step < program->step_count ? program->steps[step] : NULL;
}

static samara_status prepared_check(const struct smr_cl_units *program,
                                    const struct smr_cl_launch *launch, samara_error *error) {
  const struct smr_cl_unit *unit = prepared_unit(program, launch->kernel);
  if (unit == NULL)
    SMR_FAIL(error, BAD_STATE, "kernel %u is not in the program", (unsigned)launch->kernel);
  bool good = launch->dims >= 1 && launch->dims <= 3;
  for (size_t d = 0; good && d < launch->dims; d++) good = launch->items[d] != 0;
  for (size_t i = 0; good && i < SMR_CL_BUFFERS; i++) {
    const uint64_t offset = launch->buffers[i].offset_bytes;
    good = launch->buffers[i].memory == NULL || (offset % 4 == 0 && offset / 4 <= UINT32_MAX);
  }
  if (good) return SAMARA_OK;
  SMR_FAIL(error, BAD_STATE, "a launch of %s that has no work-items, or offsets out of range",
           unit->text->name);
}

static samara_status prepared_set(const struct smr_cl_device *device, struct cl_prepared *prepared,
                                  uint32_t index, size_t size, const void *value,
                                  samara_error *error) {
  const int32_t code = device->api.clSetKernelArg(prepared->id, index, size, value);
  return code == SMR_CL_SUCCESS ? SAMARA_OK : smr_cl_failed(error, "clSetKernelArg", code);
}

// Set the arguments in the order of the kernels' signature (kernels/dialect.h), except those
// already set. `releases`: current count of released memory.
static samara_status prepared_arguments(const struct smr_cl_device *device, uint64_t releases,
                                        const struct smr_cl_launch *launch,
                                        struct cl_prepared *prepared, samara_error *error) {
  enum { HALF = SMR_CL_INTS / 2 };
  const bool set = prepared->set, places = set && prepared->releases == releases;
  prepared->set = false;  // until all arguments are set
  uint32_t index = 0, offsets[SMR_CL_BUFFERS] = {0};
  for (size_t i = 0; i < SMR_CL_BUFFERS; i++, index++) {
    const struct smr_cl_place *place = &launch->buffers[i];
    smr_cl_mem memory = (smr_cl_mem)place->memory;
    if (memory != NULL) offsets[i] = (uint32_t)(place->offset_bytes / 4);
    if (places && prepared->memory[i] == place->memory) continue;
    if (i == 1 && prepared->image != NULL) memory = prepared->image;
    SMR_TRY(prepared_set(device, prepared, index, sizeof memory, &memory, error));
    prepared->memory[i] = place->memory;
  }
  const struct {
    void *old;
    const void *now;
    size_t size;
  } rest[] = {
      {prepared->offsets, offsets, sizeof offsets},
      {prepared->ints, launch->ints, HALF * sizeof(int32_t)},
      {prepared->ints + HALF, launch->ints + HALF, HALF * sizeof(int32_t)},
      {prepared->floats, launch->floats, sizeof launch->floats},
  };
  for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++, index++) {
    if (set && memcmp(rest[i].old, rest[i].now, rest[i].size) == 0) continue;
    SMR_TRY(prepared_set(device, prepared, index, rest[i].size, rest[i].now, error));
    memcpy(rest[i].old, rest[i].now, rest[i].size);
  }
  prepared->set = true;
  prepared->releases = releases;
  return SAMARA_OK;
}

// A kernel object for the launch, without arguments.
static samara_status prepared_make(struct smr_cl_device *device, struct smr_cl_unit *unit,
                                   void **prepared, samara_error *error) {
  struct cl_prepared *made =
      (struct cl_prepared *)smr_allocate_zeroed(&device->allocator, 1, sizeof *made);
  if (made == NULL) return smr_no_memory(error, sizeof *made);
  samara_status status = SAMARA_OK;
  smr_os_mutex_lock(&device->units_mutex);
  if (unit->spare == NULL) status = smr_cl_unit_kernel(device, unit, error);
  made->unit = unit;
  made->id = unit->spare;
  unit->spare = NULL;
  smr_os_mutex_unlock(&device->units_mutex);
  if (status == SAMARA_OK)
    *prepared = made;
  else
    smr_release(&device->allocator, made);
  return status;
}

// Whether the launch's image is still that of its weights.
static bool prepared_keeps_image(const struct cl_prepared *prepared, const struct smr_cl_unit *unit,
                                 uint64_t releases, const struct smr_cl_launch *launch) {
  return prepared != NULL && prepared->unit == unit && prepared->set &&
         prepared->releases == releases && prepared->memory[1] == launch->buffers[1].memory;
}

// Build the same kernel for weights in a buffer, because they cannot be an image.
static samara_status unit_without_image(struct smr_cl_device *device, struct smr_cl_unit **unit,
                                        samara_error *error) {
  smr_os_mutex_lock(&device->units_mutex);
  const samara_status status =
      smr_cl_unit_of(device, (*unit)->dialect, (*unit)->text, NULL, 0, unit, error);
  smr_os_mutex_unlock(&device->units_mutex);
  return status;
}

samara_status smr_cl_prepare(void *device, void *program, const struct smr_cl_launch *launch,
                             void **prepared, samara_error *error) {
  struct smr_cl_device *own = (struct smr_cl_device *)device;
  struct smr_cl_units *of = (struct smr_cl_units *)program;
  SMR_TRY(prepared_check(of, launch, error));
  smr_os_mutex_lock(&own->mutex);
  const uint64_t releases = own->releases;
  smr_os_mutex_unlock(&own->mutex);
  struct smr_cl_unit *unit = prepared_unit(of, launch->kernel);
  smr_cl_mem image = NULL;
  if (SMR_HAS(cl_matmul) && unit->texel_bytes != 0 &&
      !prepared_keeps_image((const struct cl_prepared *)*prepared, unit, releases, launch)) {
    image = smr_cl_weights_image(own, launch, unit->texel_bytes);
    if (image == NULL) SMR_TRY(unit_without_image(own, &unit, error));
  }
  if (*prepared != NULL && ((const struct cl_prepared *)*prepared)->unit != unit) {
    smr_cl_release_prepared(device, *prepared);
    *prepared = NULL;
  }
  const samara_status status =
      *prepared != NULL ? SAMARA_OK : prepared_make(own, unit, prepared, error);
  struct cl_prepared *now = (struct cl_prepared *)*prepared;
  if (image != NULL) {
    smr_cl_mem unused = image;
    if (status == SAMARA_OK) {
      unused = now->image;
      now->image = image;
    }
    if (unused != NULL) (void)own->api.clReleaseMemObject(unused);
  }
  return status != SAMARA_OK ? status : prepared_arguments(own, releases, launch, now, error);
}

void smr_cl_release_prepared(void *device, void *prepared) {
  const struct smr_cl_device *own = (const struct smr_cl_device *)device;
  if (prepared == NULL) return;
  const struct cl_prepared *old = (const struct cl_prepared *)prepared;
  (void)own->api.clReleaseKernel(old->id);
  if (old->image != NULL) (void)own->api.clReleaseMemObject(old->image);
  smr_release(&own->allocator, prepared);
}

bool smr_cl_prepared_has_image(const void *prepared) {
  return ((const struct cl_prepared *)prepared)->image != NULL;
}

smr_cl_kernel_id smr_cl_prepared_kernel(const void *prepared) {
  return ((const struct cl_prepared *)prepared)->id;
}
