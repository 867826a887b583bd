// SPDX-License-Identifier: Apache-2.0
// Loads the OpenCL library by name, and names its errors.
#include "base/fp.h"

#include "backends/opencl/cl.h"

#include <string.h>

// ---- the library ----

// Usual paths: first the loader that finds all drivers, then drivers of phones, which have no
// loader.
static const char *const cl_libraries[] = {
#if defined(_WIN32)
    "OpenCL.dll",
#elif defined(__APPLE__)
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
#else
    "libOpenCL.so.1",
    "libOpenCL.so",
#if defined(__ANDROID__)
#if UINTPTR_MAX > UINT32_MAX
    "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/system/lib64/libOpenCL.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/vendor/lib64/libPVROCL.so",
#else
    "/vendor/lib/libOpenCL.so", "/system/vendor/lib/libOpenCL.so",
    "/system/lib/libOpenCL.so", "/vendor/lib/egl/libGLES_mali.so",
    "/vendor/lib/libPVROCL.so",
#endif
#endif
#endif
};

// False if a function is missing; *missing is then its name.
static bool cl_read_functions(struct smr_cl_api *api, const char **missing) {
  smr_os_function function;
#define SMR_CL_FUNCTION(result, name, parameters)          \
  function = smr_os_library_function(api->library, #name); \
  if (function == NULL) return *missing = #name, false;    \
  api->name = (result(SMR_CL_CALL *) parameters)function;
  SMR_CL_FUNCTIONS(SMR_CL_FUNCTION)
#undef SMR_CL_FUNCTION
  function = smr_os_library_function(api->library, "clCreateImage");
  api->clCreateImage =
      (smr_cl_mem(SMR_CL_CALL *)(smr_cl_context, uint64_t, const struct smr_cl_image_format *,
                                 const struct smr_cl_image_desc *, void *, int32_t *))function;
  return true;
}

samara_status smr_cl_load(struct smr_cl_api *api, samara_error *error) {
  memset(api, 0, sizeof *api);
  const char *named = smr_os_environment("SAMARA_OPENCL"), *missing = NULL;
  const bool chosen = named != NULL && named[0] != '\0';
  const size_t count = chosen ? 1 : sizeof cl_libraries / sizeof cl_libraries[0];
  for (size_t i = 0; i < count; i++) {
    api->library = smr_os_library_open(chosen ? named : cl_libraries[i]);
    if (api->library == NULL) continue;
    if (cl_read_functions(api, &missing)) return SAMARA_OK;
    smr_cl_unload(api);
  }
  if (missing != NULL) {
    SMR_FAIL(error, UNSUPPORTED, "the library of OpenCL has no %s: version 1.2 is needed", missing);
  }
  SMR_FAIL(error, NOT_FOUND, "no library of OpenCL: %s cannot be loaded",
           chosen ? named : cl_libraries[0]);
}

void smr_cl_unload(struct smr_cl_api *api) {
  smr_os_library_close(api->library);
  memset(api, 0, sizeof *api);
}

// ---- errors ----

// Name `index` of a list of NUL-terminated names.
static const char *cl_name(const char *names, int32_t index) {
  for (; index > 0; index--) names += strlen(names) + 1;
  return names;
}

const char *smr_cl_error_name(int32_t code, const char **prefix) {
  // Names from -1 on, and from -30 on, which all begin with INVALID_. One string is smaller than an
  // array of pointers. "" marks codes that no function used here can return.
  static const char first[] =
      "DEVICE_NOT_FOUND\0"
      "DEVICE_NOT_AVAILABLE\0"
      "COMPILER_NOT_AVAILABLE\0"
      "MEM_OBJECT_ALLOCATION_FAILURE\0"
      "OUT_OF_RESOURCES\0"
      "OUT_OF_HOST_MEMORY\0"
      "\0"  // PROFILING_INFO_NOT_AVAILABLE
      "\0"  // MEM_COPY_OVERLAP
      "\0"  // IMAGE_FORMAT_MISMATCH
      "IMAGE_FORMAT_NOT_SUPPORTED\0"
      "BUILD_PROGRAM_FAILURE\0"
      "\0"  // MAP_FAILURE
      "\0"  // MISALIGNED_SUB_BUFFER_OFFSET
      "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
  static const char second[] =
      "VALUE\0"
      "DEVICE_TYPE\0"
      "PLATFORM\0"
      "DEVICE\0"
      "CONTEXT\0"
      "\0"  // QUEUE_PROPERTIES
      "COMMAND_QUEUE\0"
      "\0"  // HOST_PTR
      "MEM_OBJECT\0"
      "IMAGE_FORMAT_DESCRIPTOR\0"
      "IMAGE_SIZE\0"
      "\0"  // SAMPLER
      "BINARY\0"
      "BUILD_OPTIONS\0"
      "PROGRAM\0"
      "PROGRAM_EXECUTABLE\0"
      "KERNEL_NAME\0"
      "KERNEL_DEFINITION\0"
      "KERNEL\0"
      "ARG_INDEX\0"
      "ARG_VALUE\0"
      "ARG_SIZE\0"
      "KERNEL_ARGS\0"
      "WORK_DIMENSION\0"
      "WORK_GROUP_SIZE\0"
      "WORK_ITEM_SIZE\0"
      "\0"  // GLOBAL_OFFSET
      "\0"  // EVENT_WAIT_LIST
      "EVENT\0"
      "OPERATION\0"
      "\0"  // GL_OBJECT
      "BUFFER_SIZE\0"
      "\0"  // MIP_LEVEL
      "GLOBAL_WORK_SIZE\0"
      "PROPERTY\0"
      "IMAGE_DESCRIPTOR";
  *prefix = "CL_";
  if (code <= -1 && code >= -14) return cl_name(first, -1 - code);
  *prefix = "CL_INVALID_";
  if (code <= -30 && code >= -65) return cl_name(second, -30 - code);
  *prefix = "";
  return "an error that OpenCL 1.2 does not know";
}
