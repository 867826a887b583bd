// SPDX-License-Identifier: Apache-2.0
// An OpenCL device, shared by the files of the driver: cl_find.c finds it, driver_opencl.c opens it
// and runs work, cl_program.c builds programs, cl_prepare.c prepares launches.
#ifndef SMR_BACKENDS_OPENCL_CL_DEVICE_H
#define SMR_BACKENDS_OPENCL_CL_DEVICE_H

#include "backends/opencl/cl.h"
#include "backends/opencl/cl_cache.h"
#include "backends/opencl/driver.h"
#include "base/atomic.h"

enum {
  SMR_CL_EVENTS = 256,         // most pending tickets; one more waits for the oldest
  SMR_CL_MAX_TEXT = 64 * 1024  // limit of strings returned by a driver
};

/// Pending work and its event.
struct smr_cl_pending {
  uint64_t ticket;
  smr_cl_event event;
};

struct smr_cl_unit;

enum {
  SMR_CL_FAST_IMAGES = 95,  // use images if they take at most this percentage of the time of
                            // buffers
  SMR_CL_NO_IMAGES = 255,   // images were not measured, or do not work
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
  uint64_t max_texels;               // limit of an image; 0: weights are never read from images
  const char *options[2];            // options of the compiler: for kernels without and with
                                     // subgroups
  struct smr_cl_features *features;  // owned by the opener
  char *name, *version, *platform_version, *cache_folder;  // cache_folder: NULL for none

  // Time of products with weights in images, as a percentage of the time with buffers
  // (cl_texels.c): 1 to 255. 0: not measured yet.
  SMR_ATOMIC(int) image_time;

  struct smr_os_mutex units_mutex;  // guards `units`
  struct smr_cl_unit *units;        // compiled kernels
  struct smr_os_mutex mutex;        // guards the fields below and the order of work in the queue
  uint64_t last_ticket, done_ticket;
  struct smr_cl_pending pending[SMR_CL_EVENTS];  // oldest first
  size_t pending_count;
  uint64_t releases;  // count of released memory: a later handle may equal a released one
  bool unflushed;     // the driver may hold back begun work until a flush
  bool untracked;     // work was begun that has no ticket
  bool failed;        // work failed: the content of memory is undefined
  samara_error failure;
};

/// Fail because an OpenCL function returned `code`.
samara_status smr_cl_failed(samara_error *error, const char *function, int32_t code);
/// The same for functions that create an object: OK if there is one and `code` is not an error.
samara_status smr_cl_created(samara_error *error, const char *function, const void *object,
                             int32_t code);
void smr_cl_log(const struct smr_cl_device *device, samara_log_level level, const char *format, ...)
    SMR_PRINTF(3, 4);

/// Set platform and id of `device`, whose functions are loaded, to device `index` in the order
/// GPUs, accelerators, CPUs. Fills its strings, `info` and `features`.
samara_status smr_cl_find(struct smr_cl_device *device, uint32_t index, samara_device_info *info,
                          struct smr_cl_features *features, samara_error *error);

/// Functions of the driver: see driver.h.
samara_status smr_cl_build(void *device, const bool *kernels, const struct smr_cl_steps *steps,
                           void **program, samara_error *error);
void smr_cl_release_program(void *device, void *program);
samara_status smr_cl_prepare(void *device, void *program, const struct smr_cl_launch *launch,
                             void **prepared, samara_error *error);
void smr_cl_release_prepared(void *device, void *prepared);
/// Release the compiled kernels when the device closes.
void smr_cl_release_units(struct smr_cl_device *device);
/// The cache key for a device of a source compiled with these options, or of a measurement.
struct smr_cl_cache_key smr_cl_key(const struct smr_cl_device *device, const char *options,
                                   const char *source, size_t source_bytes);
/// The kernel of a prepared launch.
smr_cl_kernel_id smr_cl_prepared_kernel(const void *prepared);

/// Whether the kernel of a prepared launch reads its weights from an image.
bool smr_cl_prepared_has_image(const void *prepared);

/// Bytes of four weights, if kernels of this text can read them as a texel; else 0.
uint32_t smr_cl_texel_bytes(const struct smr_cl_text *text);
/// Whether kernels built now read weights from images. The first call for a product measures both
/// ways, or reads an earlier measurement from the cache.
bool smr_cl_prefers_images(struct smr_cl_device *device, const char *dialect,
                           const struct smr_cl_text *texts, const bool *kernels);
/// An image over the weights of a launch, for clReleaseMemObject. NULL if they do not fit or the
/// driver refuses: they are then read from the buffer.
smr_cl_mem smr_cl_weights_image(const struct smr_cl_device *device,
                                const struct smr_cl_launch *launch, uint32_t texel_bytes);
/// smr_cl_build_texts with a known choice of images or buffers for weights.
samara_status smr_cl_build_with(void *device, const char *dialect, const struct smr_cl_text *texts,
                                const bool *kernels, const struct smr_cl_steps *steps, bool images,
                                void **program, samara_error *error);

/// smr_cl_build with other texts, for tests. They must live as long as the device.
samara_status smr_cl_build_texts(void *device, const char *dialect, const struct smr_cl_text *texts,
                                 const bool *kernels, const struct smr_cl_steps *steps,
                                 void **program, samara_error *error);

/// The driver of OpenCL.
extern const struct smr_cl_driver smr_opencl_driver;

#endif
