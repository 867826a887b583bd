// SPDX-License-Identifier: Apache-2.0
// Finds OpenCL devices and their features.
#include "base/fp.h"

#include "backends/opencl/cl_device.h"

#include <string.h>

#include "base/alloc.h"

enum {
  OPENCL_PLATFORMS = 16,  // most platforms that are searched
  OPENCL_DEVICES = 64     // most devices of one kind per platform
};

// ---- finding a device ----

// A device of several kinds counts once, as the first of them.
static bool opencl_is_of(const struct smr_cl_device *device, smr_cl_device_id id,
                         const uint64_t *kinds, size_t kind) {
  uint64_t type = 0;
  if (device->api.clGetDeviceInfo(id, SMR_CL_DEVICE_TYPE, sizeof type, &type, NULL) !=
      SMR_CL_SUCCESS)
    return true;
  for (size_t i = 0; i < kind; i++)
    if ((type & kinds[i]) != 0) return false;
  return true;
}

// Find device `index` in the order GPUs, accelerators, CPUs, each in the order of platforms.
static samara_status opencl_find(struct smr_cl_device *device, uint32_t index,
                                 samara_error *error) {
  static const uint64_t kinds[] = {SMR_CL_DEVICE_TYPE_GPU, SMR_CL_DEVICE_TYPE_ACCELERATOR,
                                   SMR_CL_DEVICE_TYPE_CPU};
  smr_cl_platform_id platforms[OPENCL_PLATFORMS] = {NULL};
  smr_cl_device_id devices[OPENCL_DEVICES];
  uint32_t platform_count = 0, seen = 0;
  const int32_t code = device->api.clGetPlatformIDs(OPENCL_PLATFORMS, platforms, &platform_count);
  if (code == SMR_CL_PLATFORM_NOT_FOUND_KHR) platform_count = 0;
  if (code != SMR_CL_PLATFORM_NOT_FOUND_KHR && code != SMR_CL_SUCCESS)
    return smr_cl_failed(error, "clGetPlatformIDs", code);
  if (platform_count > OPENCL_PLATFORMS) platform_count = OPENCL_PLATFORMS;
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
    for (uint32_t p = 0; p < platform_count; p++) {
      uint32_t count = 0;
      memset(devices, 0, sizeof devices);
      if (platforms[p] == NULL ||
          device->api.clGetDeviceIDs(platforms[p], kinds[kind], OPENCL_DEVICES, devices, &count) !=
              SMR_CL_SUCCESS)
        continue;  // the platform has none of this kind, or does not work
      if (count > OPENCL_DEVICES) count = OPENCL_DEVICES;
      for (uint32_t d = 0; d < count; d++) {
        if (devices[d] == NULL || !opencl_is_of(device, devices[d], kinds, kind)) continue;
        if (seen++ != index) continue;
        device->platform = platforms[p];
        device->id = devices[d];
        return SAMARA_OK;
      }
    }
  }
  SMR_FAIL(error, NOT_FOUND, "OpenCL has no device %u: there are %u", (unsigned)index,
           (unsigned)seen);
}

// ---- what a device is ----

static int32_t opencl_info(const struct smr_cl_device *device, uint32_t what, size_t size,
                           void *value, size_t *needed) {
  return what == SMR_CL_PLATFORM_VERSION
             ? device->api.clGetPlatformInfo(device->platform, what, size, value, needed)
             : device->api.clGetDeviceInfo(device->id, what, size, value, needed);
}

// Read a string; the caller releases it.
static samara_status opencl_text(const struct smr_cl_device *device, uint32_t what, char **out,
                                 samara_error *error) {
  size_t size = 0;
  int32_t code = opencl_info(device, what, 0, NULL, &size);
  if (code == SMR_CL_SUCCESS && size > SMR_CL_MAX_TEXT) {
    SMR_FAIL(error, UNSUPPORTED, "clGetDeviceInfo: a text of %zu bytes", size);
  }
  char *text = (char *)smr_allocate_zeroed(&device->allocator, size + 1, 1);
  if (text == NULL) return smr_no_memory(error, size + 1);
  if (code == SMR_CL_SUCCESS && size > 0) code = opencl_info(device, what, size, text, NULL);
  if (code != SMR_CL_SUCCESS) {
    smr_release(&device->allocator, text);
    return smr_cl_failed(error, "clGetDeviceInfo", code);
  }
  *out = text;
  return SAMARA_OK;
}

// Read a number of 4 or 8 bytes; 0 if the device does not report it.
static uint32_t opencl_u32(const struct smr_cl_device *device, uint32_t what) {
  uint32_t value = 0;
  return opencl_info(device, what, sizeof value, &value, NULL) == SMR_CL_SUCCESS ? value : 0;
}
static uint64_t opencl_u64(const struct smr_cl_device *device, uint32_t what) {
  uint64_t value = 0;
  return opencl_info(device, what, sizeof value, &value, NULL) == SMR_CL_SUCCESS ? value : 0;
}

// Whether a list of words contains a word.
static bool opencl_has(const char *list, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = list; *at != '\0';) {
    const size_t part = strcspn(at, " ");
    if (part == length && strncmp(at, word, part) == 0) return true;
    at += part + (at[part] == ' ');
  }
  return false;
}

static void opencl_features(const struct smr_cl_device *device, bool cpu, const char *extensions,
                            struct smr_cl_features *features) {
  *features = (struct smr_cl_features){
      .dot_int8 = opencl_has(extensions, "cl_khr_integer_dot_product") &&
                  opencl_u32(device, SMR_CL_DEVICE_NUMERIC_VERSION) >> 22 >= 3 &&
                  opencl_u64(device, SMR_CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR) != 0,
      .cpu = cpu,
      .subgroups = opencl_has(extensions, "cl_khr_subgroups") ||
                   opencl_u32(device, SMR_CL_DEVICE_MAX_NUM_SUB_GROUPS) != 0,
      .units = opencl_u32(device, SMR_CL_DEVICE_MAX_COMPUTE_UNITS)};
}

// Whether "OpenCL 1.2 …" is a sufficient version.
static bool opencl_is_new(const char *version) {
  if (strncmp(version, "OpenCL ", 7) != 0) return false;
  const char *at = version + 7;
  return (at[0] >= '2' && at[0] <= '9') || (at[0] == '1' && at[1] == '.' && at[2] >= '2');
}

static samara_status opencl_usable(const struct smr_cl_device *device, samara_error *error) {
  char *version = NULL;
  SMR_TRY(opencl_text(device, SMR_CL_DEVICE_VERSION, &version, error));
  const char *why = NULL;
  if (opencl_u32(device, SMR_CL_DEVICE_AVAILABLE) == 0) {
    why = "is not available";
  } else if (opencl_u32(device, SMR_CL_DEVICE_COMPILER_AVAILABLE) == 0) {
    why = "has no compiler";
  } else if (opencl_u32(device, SMR_CL_DEVICE_ENDIAN_LITTLE) == 0) {
    why = "is big-endian";
  } else if (!opencl_is_new(version)) {
    why = "is older than OpenCL 1.2";
  }
  smr_release(&device->allocator, version);
  if (why == NULL) return SAMARA_OK;
  SMR_FAIL(error, UNSUPPORTED, "the device %s %s", device->name, why);
}

// No option allows the compiler to change results, and denormals are kept. Division and square root
// are correctly rounded if the device can. Dot products need OpenCL C 3.0; on CPUs they are slower
// than float products (docs/internals/decisions.md) and not used. Subgroups need OpenCL C 2.0
// or 3.0; a 3.0 compiler need not support 2.0.
static void opencl_options(struct smr_cl_device *device, const struct smr_cl_features *features) {
  enum { ROUNDED_DIVIDE_SQRT = 1 << 7 };
  static const char *const options[3][2] = {
      {"-cl-std=CL1.2", "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"},
      {"-cl-std=CL2.0", "-cl-std=CL2.0 -cl-fp32-correctly-rounded-divide-sqrt"},
      {"-cl-std=CL3.0", "-cl-std=CL3.0 -cl-fp32-correctly-rounded-divide-sqrt"},
  };
  const bool rounds =
      (opencl_u64(device, SMR_CL_DEVICE_SINGLE_FP_CONFIG) & ROUNDED_DIVIDE_SQRT) != 0;
  const bool third = opencl_u32(device, SMR_CL_DEVICE_NUMERIC_VERSION) >> 22 >= 3;
  device->options[0] = options[features->dot_int8 && !features->cpu ? 2 : 0][rounds];
  device->options[1] = options[third ? 2 : 1][rounds];
}

static samara_status opencl_describe(struct smr_cl_device *device, samara_device_info *info,
                                     struct smr_cl_features *features, samara_error *error) {
  SMR_TRY(opencl_text(device, SMR_CL_DEVICE_NAME, &device->name, error));
  SMR_TRY(opencl_text(device, SMR_CL_DRIVER_VERSION, &device->version, error));
  SMR_TRY(opencl_text(device, SMR_CL_PLATFORM_VERSION, &device->platform_version, error));
  SMR_TRY(opencl_usable(device, error));
  char *extensions = NULL;
  SMR_TRY(opencl_text(device, SMR_CL_DEVICE_EXTENSIONS, &extensions, error));
  const bool cpu = (opencl_u64(device, SMR_CL_DEVICE_TYPE) & SMR_CL_DEVICE_TYPE_CPU) != 0;
  opencl_features(device, cpu, extensions, features);
  opencl_options(device, features);
  device->features = features;
  smr_release(&device->allocator, extensions);
  device->max_memory = opencl_u64(device, SMR_CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  if (!cpu && device->api.clCreateImage != NULL && opencl_u32(device, SMR_CL_DEVICE_IMAGE_SUPPORT))
    device->max_texels = opencl_u64(device, SMR_CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
  info->name = device->name;
  info->driver = device->version;
  info->memory_bytes = opencl_u64(device, SMR_CL_DEVICE_GLOBAL_MEM_SIZE);
  info->compute_units = opencl_u32(device, SMR_CL_DEVICE_MAX_COMPUTE_UNITS);
  info->shares_memory = opencl_u32(device, SMR_CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  return SAMARA_OK;
}

samara_status smr_cl_find(struct smr_cl_device *device, uint32_t index, samara_device_info *info,
                          struct smr_cl_features *features, samara_error *error) {
  SMR_TRY(opencl_find(device, index, error));
  return opencl_describe(device, info, features, error);
}
