// SPDX-License-Identifier: Apache-2.0
// A device of OpenCL as the files of the driver share it: cl_find.c finds it, driver_opencl.c
// opens it and runs work, cl_program.c makes programs, cl_prepare.c makes launches ready.
#ifndef SMR_BACKENDS_OPENCL_CL_DEVICE_H
#define SMR_BACKENDS_OPENCL_CL_DEVICE_H

#include "backends/opencl/cl.h"
#include "backends/opencl/cl_cache.h"
#include "backends/opencl/driver.h"
#include "base/atomic.h"

enum {
  SMR_CL_EVENTS = 256,         // tickets that may be under way; one more waits for the oldest
  SMR_CL_MAX_TEXT = 64 * 1024  // bytes believed of a text that a driver gives
};

/// Work that was begun, and the event that says when it is done.
struct smr_cl_pending {
  uint64_t ticket;
  smr_cl_event event;
};

struct smr_cl_unit;

enum {
  SMR_CL_FAST_IMAGES = 95,  // percent of the time of buffers from which images are used
  SMR_CL_NO_IMAGES = 255,   // they were not measured, or do not work
};

struct smr_cl_device {
  struct smr_cl_api api;
  samara_allocator allocator;
  samara_log_fn log;
  void *log_user;
  smr_cl_platform_id platform;
  smr_cl_device_id id;
  smr_cl_context context;
  smr_cl_queue queue;
  uint64_t max_memory;
  uint64_t max_texels;               // of an image; 0: weights are never read from images
  const char *options[2];            // for its compiler: of most kernels, of those with subgroups
  struct smr_cl_features *features;  // of whoever opened it
  char *name, *version, *platform_version, *cache_folder;  // cache_folder: NULL where none is kept

  // Percent of the time of buffers that products take whose weights are images (cl_texels.c):
  // 1 to 255. 0: not known yet.
  SMR_ATOMIC(int) image_time;

  struct smr_os_mutex units_mutex;  // of units
  struct smr_cl_unit *units;        // kernels that are compiled
  struct smr_os_mutex mutex;        // of all below, and of what is begun in the queue
  uint64_t last_ticket, done_ticket;
  struct smr_cl_pending pending[SMR_CL_EVENTS];  // in order; the oldest first
  size_t pending_count;
  uint64_t releases;  // of memory: a later handle may be equal to one that was released
  bool unflushed;     // begun, but the driver may sit on it
  bool untracked;     // work was begun that no ticket stands for
  bool failed;        // work failed: what memory holds is not known any more
  samara_error failure;
};

/// Fails in the name of a function of OpenCL that returned `code`.
samara_status smr_cl_failed(samara_error *error, const char *function, int32_t code);
/// The same for functions that make an object: OK where there is one and `code` is no error.
samara_status smr_cl_created(samara_error *error, const char *function, const void *object,
                             int32_t code);
void smr_cl_log(const struct smr_cl_device *device, samara_log_level level, const char *format, ...)
    SMR_PRINTF(3, 4);

/// Set platform and id of `device`, whose functions are loaded, to device `index` of all: GPUs
/// first, then accelerators, then CPUs. Fills its texts, `info` and `features`.
samara_status smr_cl_find(struct smr_cl_device *device, uint32_t index, samara_device_info *info,
                          struct smr_cl_features *features, samara_error *error);

/// Functions of the driver: see driver.h.
samara_status smr_cl_build(void *device, const bool *kernels, const struct smr_cl_steps *steps,
                           void **program, samara_error *error);
void smr_cl_release_program(void *device, void *program);
samara_status smr_cl_prepare(void *device, void *program, const struct smr_cl_launch *launch,
                             void **prepared, samara_error *error);
void smr_cl_release_prepared(void *device, void *prepared);
/// Give back the compiled kernels, when the device closes.
void smr_cl_release_units(struct smr_cl_device *device);
/// The key of a source that is compiled with these options, or of what was measured, of a device.
struct smr_cl_cache_key smr_cl_key(const struct smr_cl_device *device, const char *options,
                                   const char *source, size_t source_bytes);
/// The kernel of a prepared launch.
smr_cl_kernel_id smr_cl_prepared_kernel(const void *prepared);

/// Whether the kernel of a prepared launch reads its weights from an image.
bool smr_cl_prepared_has_image(const void *prepared);

/// Bytes of four weights, which may be a texel for kernels of this text; 0: they are in a buffer.
uint32_t smr_cl_texel_bytes(const struct smr_cl_text *text);
/// Whether kernels that are built now read weights from images. Measures both ways when it is first
/// asked for a product, or reads what was measured before from the cache.
bool smr_cl_prefers_images(struct smr_cl_device *device, const char *dialect,
                           const struct smr_cl_text *texts, const bool *kernels);
/// An image over the weights of a launch, for clReleaseMemObject; NULL where they do not fit one or
/// the driver refuses: then they are read from the buffer.
smr_cl_mem smr_cl_weights_image(const struct smr_cl_device *device,
                                const struct smr_cl_launch *launch, uint32_t texel_bytes);
/// smr_cl_build_texts where it is known whether kernels that can read weights from images do so.
samara_status smr_cl_build_with(void *device, const char *dialect, const struct smr_cl_text *texts,
                                const bool *kernels, const struct smr_cl_steps *steps, bool images,
                                void **program, samara_error *error);

/// smr_cl_build of other texts, for tests. They must live as long as the device.
samara_status smr_cl_build_texts(void *device, const char *dialect, const struct smr_cl_text *texts,
                                 const bool *kernels, const struct smr_cl_steps *steps,
                                 void **program, samara_error *error);

/// The driver of OpenCL.
extern const struct smr_cl_driver smr_opencl_driver;

#endif
