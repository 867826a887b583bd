// SPDX-License-Identifier: Apache-2.0
// Loads OpenCL's library by name, and names its errors.
#include "base/fp.h"

#include "backends/opencl/cl.h"

#include <string.h>

// ---- the library ----

// Where systems keep it: the loader that finds all drivers first, then drivers themselves, of
// phones, which have none.
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

// False when a function is missing, whose name is then in *missing.
static bool cl_read_functions(struct smr_cl_api *api, const char **missing) {
  smr_os_function function;
#define SMR_CL_FUNCTION(result, name, parameters)          \
  function = smr_os_library_function(api->library, #name); \
  if (function == NULL) return *missing = #name, false;    \
  api->name = (result(SMR_CL_CALL *) parameters)function;
  SMR_CL_FUNCTIONS(SMR_CL_FUNCTION)
#undef SMR_CL_FUNCTION
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

const char *smr_cl_error_name(int32_t code) {
  static const struct {
    int32_t code;
    const char *name;
  } names[] = {
      {-1, "CL_DEVICE_NOT_FOUND"},
      {-2, "CL_DEVICE_NOT_AVAILABLE"},
      {-3, "CL_COMPILER_NOT_AVAILABLE"},
      {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {-5, "CL_OUT_OF_RESOURCES"},
      {-6, "CL_OUT_OF_HOST_MEMORY"},
      {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
      {-8, "CL_MEM_COPY_OVERLAP"},
      {-9, "CL_IMAGE_FORMAT_MISMATCH"},
      {-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
      {-11, "CL_BUILD_PROGRAM_FAILURE"},
      {-12, "CL_MAP_FAILURE"},
      {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
      {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {-15, "CL_COMPILE_PROGRAM_FAILURE"},
      {-16, "CL_LINKER_NOT_AVAILABLE"},
      {-17, "CL_LINK_PROGRAM_FAILURE"},
      {-18, "CL_DEVICE_PARTITION_FAILED"},
      {-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
      {-30, "CL_INVALID_VALUE"},
      {-31, "CL_INVALID_DEVICE_TYPE"},
      {-32, "CL_INVALID_PLATFORM"},
      {-33, "CL_INVALID_DEVICE"},
      {-34, "CL_INVALID_CONTEXT"},
      {-35, "CL_INVALID_QUEUE_PROPERTIES"},
      {-36, "CL_INVALID_COMMAND_QUEUE"},
      {-37, "CL_INVALID_HOST_PTR"},
      {-38, "CL_INVALID_MEM_OBJECT"},
      {-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"},
      {-40, "CL_INVALID_IMAGE_SIZE"},
      {-41, "CL_INVALID_SAMPLER"},
      {-42, "CL_INVALID_BINARY"},
      {-43, "CL_INVALID_BUILD_OPTIONS"},
      {-44, "CL_INVALID_PROGRAM"},
      {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
      {-46, "CL_INVALID_KERNEL_NAME"},
      {-47, "CL_INVALID_KERNEL_DEFINITION"},
      {-48, "CL_INVALID_KERNEL"},
      {-49, "CL_INVALID_ARG_INDEX"},
      {-50, "CL_INVALID_ARG_VALUE"},
      {-51, "CL_INVALID_ARG_SIZE"},
      {-52, "CL_INVALID_KERNEL_ARGS"},
      {-53, "CL_INVALID_WORK_DIMENSION"},
      {-54, "CL_INVALID_WORK_GROUP_SIZE"},
      {-55, "CL_INVALID_WORK_ITEM_SIZE"},
      {-56, "CL_INVALID_GLOBAL_OFFSET"},
      {-57, "CL_INVALID_EVENT_WAIT_LIST"},
      {-58, "CL_INVALID_EVENT"},
      {-59, "CL_INVALID_OPERATION"},
      {-60, "CL_INVALID_GL_OBJECT"},
      {-61, "CL_INVALID_BUFFER_SIZE"},
      {-62, "CL_INVALID_MIP_LEVEL"},
      {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
      {-64, "CL_INVALID_PROPERTY"},
      {-65, "CL_INVALID_IMAGE_DESCRIPTOR"},
      {-66, "CL_INVALID_COMPILER_OPTIONS"},
      {-67, "CL_INVALID_LINKER_OPTIONS"},
      {-68, "CL_INVALID_DEVICE_PARTITION_COUNT"},
      {-69, "CL_INVALID_PIPE_SIZE"},
      {-70, "CL_INVALID_DEVICE_QUEUE"},
      {-71, "CL_INVALID_SPEC_ID"},
      {-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED"},
      {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (names[i].code == code) return names[i].name;
  }
  return "an error that OpenCL 1.2 does not know";
}
