// SPDX-License-Identifier: Apache-2.0
// The part of OpenCL 1.2 that samara uses: types, constants and functions of its binary interface.
// Functions are loaded by name (cl_load.c), so no OpenCL headers or libraries are needed to build.
//
// Names are prefixed with smr_, because a program that includes this library as one source may also
// include OpenCL's headers.
#ifndef SMR_BACKENDS_OPENCL_CL_H
#define SMR_BACKENDS_OPENCL_CL_H

#include "base/error.h"
#include "base/os.h"

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define SMR_CL_CALL __stdcall
#else
#define SMR_CL_CALL
#endif

/// Handles of OpenCL: pointers to opaque structs.
typedef struct smr_cl_platform_object *smr_cl_platform_id;
typedef struct smr_cl_device_object *smr_cl_device_id;
typedef struct smr_cl_context_object *smr_cl_context;
typedef struct smr_cl_queue_object *smr_cl_queue;
typedef struct smr_cl_mem_object *smr_cl_mem;
typedef struct smr_cl_program_object *smr_cl_program_id;
typedef struct smr_cl_kernel_object *smr_cl_kernel_id;
typedef struct smr_cl_event_object *smr_cl_event;

/// Callback types: not used, but part of signatures.
typedef void(SMR_CL_CALL *smr_cl_context_notify)(const char *, const void *, size_t, void *);
typedef void(SMR_CL_CALL *smr_cl_build_notify)(smr_cl_program_id, void *);

enum {
  SMR_CL_SUCCESS = 0,
  SMR_CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  SMR_CL_OUT_OF_HOST_MEMORY = -6,
  SMR_CL_INVALID_BUFFER_SIZE = -61,
  SMR_CL_PLATFORM_NOT_FOUND_KHR = -1001,

  SMR_CL_PLATFORM_VERSION = 0x0901,

  SMR_CL_DEVICE_TYPE = 0x1000,
  SMR_CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  SMR_CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  SMR_CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
  SMR_CL_DEVICE_ENDIAN_LITTLE = 0x1026,
  SMR_CL_DEVICE_IMAGE_SUPPORT = 0x1016,
  SMR_CL_DEVICE_AVAILABLE = 0x1027,
  SMR_CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
  SMR_CL_DEVICE_NAME = 0x102b,
  SMR_CL_DRIVER_VERSION = 0x102d,
  SMR_CL_DEVICE_VERSION = 0x102f,
  SMR_CL_DEVICE_EXTENSIONS = 0x1030,
  SMR_CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
  SMR_CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
  SMR_CL_DEVICE_IMAGE_MAX_BUFFER_SIZE = 0x1040,  // in texels
  SMR_CL_DEVICE_MAX_NUM_SUB_GROUPS = 0x105c,
  SMR_CL_DEVICE_NUMERIC_VERSION = 0x105e,  // of OpenCL 3.0: major, minor, patch in 10, 10, 12 bits
  SMR_CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR = 0x1073,

  SMR_CL_DEVICE_TYPE_CPU = 1 << 1,
  SMR_CL_DEVICE_TYPE_GPU = 1 << 2,
  SMR_CL_DEVICE_TYPE_ACCELERATOR = 1 << 3,

  SMR_CL_CONTEXT_PLATFORM = 0x1084,
  SMR_CL_MEM_READ_WRITE = 1 << 0,
  SMR_CL_MEM_READ_ONLY = 1 << 2,
  SMR_CL_RGBA = 0x10b5,
  SMR_CL_HALF_FLOAT = 0x10dd,
  SMR_CL_FLOAT = 0x10de,
  SMR_CL_MEM_OBJECT_IMAGE1D_BUFFER = 0x10f6,
  SMR_CL_PROGRAM_BINARY_SIZES = 0x1165,
  SMR_CL_PROGRAM_BINARIES = 0x1166,
  SMR_CL_PROGRAM_BUILD_LOG = 0x1183,
  SMR_CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
  SMR_CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3,
};

/// The format of a texel: components and their type.
struct smr_cl_image_format {
  uint32_t order, type;
};
/// Description of an image. An image over a buffer has a type, a width in texels and the buffer;
/// everything else is 0.
struct smr_cl_image_desc {
  uint32_t type;
  size_t width, height, depth, array_size, row_pitch, slice_pitch;
  uint32_t mip_levels, samples;
  smr_cl_mem buffer;
};

/// X(result, name, parameters): the functions, by the names that libraries export.
#define SMR_CL_FUNCTIONS(X)                                                                      \
  X(int32_t, clGetPlatformIDs, (uint32_t, smr_cl_platform_id *, uint32_t *))                     \
  X(int32_t, clGetPlatformInfo, (smr_cl_platform_id, uint32_t, size_t, void *, size_t *))        \
  X(int32_t, clGetDeviceIDs,                                                                     \
    (smr_cl_platform_id, uint64_t, uint32_t, smr_cl_device_id *, uint32_t *))                    \
  X(int32_t, clGetDeviceInfo, (smr_cl_device_id, uint32_t, size_t, void *, size_t *))            \
  X(smr_cl_context, clCreateContext,                                                             \
    (const intptr_t *, uint32_t, const smr_cl_device_id *, smr_cl_context_notify, void *,        \
     int32_t *))                                                                                 \
  X(int32_t, clReleaseContext, (smr_cl_context))                                                 \
  X(smr_cl_queue, clCreateCommandQueue, (smr_cl_context, smr_cl_device_id, uint64_t, int32_t *)) \
  X(int32_t, clReleaseCommandQueue, (smr_cl_queue))                                              \
  X(int32_t, clFlush, (smr_cl_queue))                                                            \
  X(int32_t, clFinish, (smr_cl_queue))                                                           \
  X(smr_cl_mem, clCreateBuffer, (smr_cl_context, uint64_t, size_t, void *, int32_t *))           \
  X(int32_t, clReleaseMemObject, (smr_cl_mem))                                                   \
  X(smr_cl_program_id, clCreateProgramWithSource,                                                \
    (smr_cl_context, uint32_t, const char **, const size_t *, int32_t *))                        \
  X(smr_cl_program_id, clCreateProgramWithBinary,                                                \
    (smr_cl_context, uint32_t, const smr_cl_device_id *, const size_t *, const unsigned char **, \
     int32_t *, int32_t *))                                                                      \
  X(int32_t, clBuildProgram,                                                                     \
    (smr_cl_program_id, uint32_t, const smr_cl_device_id *, const char *, smr_cl_build_notify,   \
     void *))                                                                                    \
  X(int32_t, clGetProgramBuildInfo,                                                              \
    (smr_cl_program_id, smr_cl_device_id, uint32_t, size_t, void *, size_t *))                   \
  X(int32_t, clGetProgramInfo, (smr_cl_program_id, uint32_t, size_t, void *, size_t *))          \
  X(int32_t, clReleaseProgram, (smr_cl_program_id))                                              \
  X(smr_cl_kernel_id, clCreateKernel, (smr_cl_program_id, const char *, int32_t *))              \
  X(int32_t, clReleaseKernel, (smr_cl_kernel_id))                                                \
  X(int32_t, clGetKernelWorkGroupInfo,                                                           \
    (smr_cl_kernel_id, smr_cl_device_id, uint32_t, size_t, void *, size_t *))                    \
  X(int32_t, clSetKernelArg, (smr_cl_kernel_id, uint32_t, size_t, const void *))                 \
  X(int32_t, clEnqueueNDRangeKernel,                                                             \
    (smr_cl_queue, smr_cl_kernel_id, uint32_t, const size_t *, const size_t *, const size_t *,   \
     uint32_t, const smr_cl_event *, smr_cl_event *))                                            \
  X(int32_t, clEnqueueReadBuffer,                                                                \
    (smr_cl_queue, smr_cl_mem, uint32_t, size_t, size_t, void *, uint32_t, const smr_cl_event *, \
     smr_cl_event *))                                                                            \
  X(int32_t, clEnqueueWriteBuffer,                                                               \
    (smr_cl_queue, smr_cl_mem, uint32_t, size_t, size_t, const void *, uint32_t,                 \
     const smr_cl_event *, smr_cl_event *))                                                      \
  X(int32_t, clWaitForEvents, (uint32_t, const smr_cl_event *))                                  \
  X(int32_t, clGetEventInfo, (smr_cl_event, uint32_t, size_t, void *, size_t *))                 \
  X(int32_t, clRetainEvent, (smr_cl_event))                                                      \
  X(int32_t, clReleaseEvent, (smr_cl_event))

/// The functions of a loaded library.
struct smr_cl_api {
  void *library;
#define SMR_CL_FUNCTION(result, name, parameters) result(SMR_CL_CALL *name) parameters;
  SMR_CL_FUNCTIONS(SMR_CL_FUNCTION)
#undef SMR_CL_FUNCTION
  // NULL if the library has none: images are then not used.
  smr_cl_mem(SMR_CL_CALL *clCreateImage)(smr_cl_context, uint64_t,
                                         const struct smr_cl_image_format *,
                                         const struct smr_cl_image_desc *, void *, int32_t *);
};

/// Load OpenCL: the library named by the environment variable SAMARA_OPENCL, else the system's.
/// NOT_FOUND if there is none, UNSUPPORTED if it lacks a function. Release with smr_cl_unload.
samara_status smr_cl_load(struct smr_cl_api *api, samara_error *error);
void smr_cl_unload(struct smr_cl_api *api);

/// The name of an error code, such as "CL_OUT_OF_RESOURCES", in two static parts.
const char *smr_cl_error_name(int32_t code, const char **prefix);

#endif
