// SPDX-License-Identifier: Apache-2.0
// An OpenCL library without a device: memory is malloc's, a build accepts any source, a kernel
// calls a function of the test. It fails on request, and counts the objects that are alive.
#include "backends/fault_opencl.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/opencl/cl.h"
#include "backends/opencl/launch.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define CALL SMR_CL_CALL

enum {
  INVALID_VALUE = -30,
  INVALID_OBJECT = -38,
  INVALID_IMAGE_SIZE = -40,
  INVALID_BINARY = -42,
  INVALID_EXECUTABLE = -45,
  INVALID_ARGS = -52,
  INVALID_WORK_GROUP_SIZE = -54,
  BUILD_FAILURE = -11,
  DEVICE_NOT_FOUND = -1,
  ARGUMENTS = 12,
  ARGUMENT_BYTES = 64,
  SLOW_NS = 100000,
};

static struct fault_opencl controls = {.at = -1,
                                       .max_alloc = 1 << 20,
                                       .group = 64,
                                       .version = "OpenCL 1.2 fault",
                                       .extensions = "cl_khr_fp16 cl_khr_fp64x"};

EXPORT struct fault_opencl *fault_opencl(void);
struct fault_opencl *fault_opencl(void) { return &controls; }

// ---- objects ----

enum object_kind { CONTEXT = 0x51, QUEUE, MEM, IMAGE, PROGRAM, KERNEL, EVENT, DEAD };

struct object {
  int kind;
  int references;
  // MEM
  unsigned char *bytes;
  size_t size;
  // IMAGE
  struct object *buffer;
  // PROGRAM, and KERNEL: reads_image
  bool built, broken, reads_image;
  // KERNEL
  char name[64];
  unsigned char arguments[ARGUMENTS][ARGUMENT_BYTES];
  bool set[ARGUMENTS];
  // EVENT
  int polls;
  int32_t state;
};

static struct object platform_object, device_objects[2];

static struct object *object_new(int kind) {
  struct object *made = calloc(1, sizeof *made);
  made->kind = kind;
  made->references = 1;
  controls.live++;
  return made;
}

static bool object_is(const void *object, int kind) {
  if (object != NULL && ((const struct object *)object)->kind == kind) return true;
  controls.misuse++;
  return false;
}

static int32_t object_release(void *given, int kind) {
  struct object *object = given;
  if (!object_is(object, kind)) return INVALID_OBJECT;
  if (--object->references > 0) return 0;
  object->kind = DEAD;
  controls.live--;
  if (object->buffer != NULL) (void)object_release(object->buffer, MEM);
  free(object->bytes);
  free(object);
  return 0;
}

// ---- faults ----

// The behaviour of this call: 0 works, 1 lies, else an error.
static int32_t fault(void) {
  const long call = controls.calls++;
  if (controls.at < 0 || call < controls.at) return 0;
  if (controls.kind == FAULT_LOST) return controls.code;
  if (call != controls.at) return 0;
  return controls.kind == FAULT_LIE ? 1 : controls.code;
}

#define FAULT_OR_WORK()                           \
  do {                                            \
    const int32_t wrong = fault();                \
    if (wrong != 0) return wrong < 0 ? wrong : 0; \
  } while (0)
#define FAULT_OR_MAKE(code)                          \
  do {                                               \
    const int32_t wrong = fault();                   \
    if (code != NULL) *code = wrong < 0 ? wrong : 0; \
    if (wrong != 0) return NULL;                     \
  } while (0)
// Objects are released even if that "fails", because callers do not retry.
#define RELEASE(object, kind)                              \
  do {                                                     \
    const int32_t wrong = fault();                         \
    const int32_t released = object_release(object, kind); \
    return wrong < 0 ? wrong : released;                   \
  } while (0)

static int32_t give(const void *value, size_t size, size_t room, void *out, size_t *needed) {
  if (needed != NULL) *needed = size;
  if (out == NULL) return 0;
  if (room < size) return INVALID_VALUE;
  memcpy(out, value, size);
  return 0;
}
static int32_t give_text(const char *text, size_t room, void *out, size_t *needed) {
  return give(text, strlen(text) + 1, room, out, needed);
}

// ---- platforms and devices: a GPU that is older than 1.2, and a CPU ----

EXPORT int32_t CALL clGetPlatformIDs(uint32_t room, smr_cl_platform_id *out, uint32_t *count) {
  FAULT_OR_WORK();
  if (out != NULL && room > 0) out[0] = (smr_cl_platform_id)(void *)&platform_object;
  if (count != NULL) *count = 1;
  return 0;
}

EXPORT int32_t CALL clGetPlatformInfo(smr_cl_platform_id platform, uint32_t what, size_t room,
                                      void *out, size_t *needed) {
  FAULT_OR_WORK();
  (void)platform, (void)what;
  return give_text("OpenCL 1.2 platform", room, out, needed);
}

EXPORT int32_t CALL clGetDeviceIDs(smr_cl_platform_id platform, uint64_t type, uint32_t room,
                                   smr_cl_device_id *out, uint32_t *count) {
  FAULT_OR_WORK();
  (void)platform;
  const uint64_t kinds = SMR_CL_DEVICE_TYPE_GPU | SMR_CL_DEVICE_TYPE_CPU;
  const size_t which = type == SMR_CL_DEVICE_TYPE_GPU && controls.kinds == 0 ? 1 : 0;
  if ((type & (controls.kinds != 0 ? controls.kinds : kinds)) == 0) return DEVICE_NOT_FOUND;
  if (out != NULL && room > 0) out[0] = (smr_cl_device_id)(void *)&device_objects[which];
  if (count != NULL) *count = 1;
  return 0;
}

EXPORT int32_t CALL clGetDeviceInfo(smr_cl_device_id device, uint32_t what, size_t room, void *out,
                                    size_t *needed) {
  FAULT_OR_WORK();
  const bool old = (void *)device == (void *)&device_objects[1];
  const uint32_t yes = 1, no = 0, units = 2;
  const size_t texels = (size_t)controls.texels;
  const uint64_t type = controls.kinds != 0 ? controls.kinds : SMR_CL_DEVICE_TYPE_CPU;
  const uint64_t memory = 1 << 22, packed = 1;
  switch (what) {
    case SMR_CL_DEVICE_NAME:
      return give_text("faulty", room, out, needed);
    case SMR_CL_DRIVER_VERSION:
      return give_text("1", room, out, needed);
    case SMR_CL_DEVICE_VERSION:
      return give_text(old ? "OpenCL 1.1 old" : controls.version, room, out, needed);
    case SMR_CL_DEVICE_EXTENSIONS:
      return give_text(controls.extensions, room, out, needed);
    case SMR_CL_DEVICE_NUMERIC_VERSION:
      if (controls.numeric_version == 0) return INVALID_VALUE;
      return give(&controls.numeric_version, sizeof controls.numeric_version, room, out, needed);
    case SMR_CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR:
      return give(&packed, sizeof packed, room, out, needed);
    case SMR_CL_DEVICE_TYPE:
      return give(&type, sizeof type, room, out, needed);
    case SMR_CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return give(&controls.max_alloc, sizeof controls.max_alloc, room, out, needed);
    case SMR_CL_DEVICE_GLOBAL_MEM_SIZE:
      return give(&memory, sizeof memory, room, out, needed);
    case SMR_CL_DEVICE_IMAGE_SUPPORT:
      return give(controls.texels != 0 ? &yes : &no, sizeof yes, room, out, needed);
    case SMR_CL_DEVICE_IMAGE_MAX_BUFFER_SIZE:
      return give(&texels, sizeof texels, room, out, needed);
    case SMR_CL_DEVICE_MAX_NUM_SUB_GROUPS:
      return give(&controls.subgroups, sizeof controls.subgroups, room, out, needed);
    case SMR_CL_DEVICE_MAX_COMPUTE_UNITS:
      return give(&units, sizeof units, room, out, needed);
    case SMR_CL_DEVICE_AVAILABLE:
    case SMR_CL_DEVICE_COMPILER_AVAILABLE:
    case SMR_CL_DEVICE_HOST_UNIFIED_MEMORY:
    case SMR_CL_DEVICE_ENDIAN_LITTLE:
      return give(&yes, sizeof yes, room, out, needed);
    default:
      return INVALID_VALUE;
  }
}

// ---- contexts, queues, memory ----

EXPORT smr_cl_context CALL clCreateContext(const intptr_t *properties, uint32_t count,
                                           const smr_cl_device_id *devices,
                                           smr_cl_context_notify notify, void *user,
                                           int32_t *code) {
  FAULT_OR_MAKE(code);
  (void)properties, (void)count, (void)devices, (void)notify, (void)user;
  return (smr_cl_context)(void *)object_new(CONTEXT);
}
EXPORT int32_t CALL clReleaseContext(smr_cl_context context) { RELEASE(context, CONTEXT); }

EXPORT smr_cl_queue CALL clCreateCommandQueue(smr_cl_context context, smr_cl_device_id device,
                                              uint64_t properties, int32_t *code) {
  FAULT_OR_MAKE(code);
  (void)device, (void)properties;
  if (!object_is(context, CONTEXT)) return NULL;
  return (smr_cl_queue)(void *)object_new(QUEUE);
}
EXPORT int32_t CALL clReleaseCommandQueue(smr_cl_queue queue) { RELEASE(queue, QUEUE); }

EXPORT int32_t CALL clFlush(smr_cl_queue queue) {
  FAULT_OR_WORK();
  return object_is(queue, QUEUE) ? 0 : INVALID_OBJECT;
}
EXPORT int32_t CALL clFinish(smr_cl_queue queue) {
  FAULT_OR_WORK();
  return object_is(queue, QUEUE) ? 0 : INVALID_OBJECT;
}

EXPORT smr_cl_mem CALL clCreateBuffer(smr_cl_context context, uint64_t flags, size_t size,
                                      void *host, int32_t *code) {
  FAULT_OR_MAKE(code);
  (void)flags, (void)host;
  if (!object_is(context, CONTEXT) || size > controls.max_alloc) {
    *code = SMR_CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
  }
  struct object *made = object_new(MEM);
  made->bytes = malloc(size);
  made->size = size;
  return (smr_cl_mem)(void *)made;
}
EXPORT int32_t CALL clReleaseMemObject(smr_cl_mem memory) {
  const bool image = memory != NULL && ((const struct object *)(const void *)memory)->kind == IMAGE;
  RELEASE(memory, image ? IMAGE : MEM);
}

#if !defined(FAULT_WITHOUT_IMAGES)
EXPORT smr_cl_mem CALL clCreateImage(smr_cl_context context, uint64_t flags,
                                     const struct smr_cl_image_format *format,
                                     const struct smr_cl_image_desc *desc, void *host,
                                     int32_t *code) {
  FAULT_OR_MAKE(code);
  (void)host;
  struct object *buffer = (struct object *)(void *)desc->buffer;
  const size_t texel = format->type == SMR_CL_FLOAT ? 16 : 8;
  if (!object_is(context, CONTEXT) || !object_is(buffer, MEM) || controls.no_images) {
    *code = INVALID_IMAGE_SIZE;
    return NULL;
  }
  if (flags != SMR_CL_MEM_READ_ONLY || desc->width > controls.texels ||
      format->order != SMR_CL_RGBA || desc->width == 0 ||
      (format->type != SMR_CL_FLOAT && format->type != SMR_CL_HALF_FLOAT) ||
      desc->type != SMR_CL_MEM_OBJECT_IMAGE1D_BUFFER || desc->width > buffer->size / texel) {
    controls.misuse++;
    *code = INVALID_VALUE;
    return NULL;
  }
  struct object *made = object_new(IMAGE);
  made->buffer = buffer;
  buffer->references++;
  controls.images++;
  return (smr_cl_mem)(void *)made;
}
#endif

// ---- programs ----

static const unsigned char binary[2][23] = {"a program without code", "a program with images!"};

EXPORT smr_cl_program_id CALL clCreateProgramWithSource(smr_cl_context context, uint32_t count,
                                                        const char **texts, const size_t *sizes,
                                                        int32_t *code) {
  FAULT_OR_MAKE(code);
  if (!object_is(context, CONTEXT) || count != 1) return NULL;
  static const char images[] = "#define TEXELS 1\n";
  struct object *made = object_new(PROGRAM);
  made->reads_image = strncmp(texts[0], images, strlen(images)) == 0;
  if (controls.source != NULL) controls.source(texts[0], sizes[0]);
  const char *refused = controls.refused != NULL ? controls.refused : "#error";
  const size_t length = strlen(refused);
  const char *at = texts[0], *end = at + sizes[0];
  while (!made->broken && (at = memchr(at, refused[0], (size_t)(end - at))) != NULL) {
    made->broken = (size_t)(end - at) >= length && memcmp(at, refused, length) == 0;
    at++;
  }
  return (smr_cl_program_id)(void *)made;
}

EXPORT smr_cl_program_id CALL clCreateProgramWithBinary(smr_cl_context context, uint32_t count,
                                                        const smr_cl_device_id *devices,
                                                        const size_t *sizes,
                                                        const unsigned char **binaries,
                                                        int32_t *states, int32_t *code) {
  FAULT_OR_MAKE(code);
  (void)devices, (void)count;
  if (!object_is(context, CONTEXT)) return NULL;
  size_t which = 0;
  while (which < 2 && (sizes[0] != sizeof binary[which] ||
                       memcmp(binaries[0], binary[which], sizeof binary[which]) != 0))
    which++;
  if (which == 2) {
    *states = *code = INVALID_BINARY;
    return NULL;
  }
  *states = 0;
  controls.binaries++;
  struct object *made = object_new(PROGRAM);
  made->reads_image = which == 1;
  return (smr_cl_program_id)(void *)made;
}

EXPORT int32_t CALL clBuildProgram(smr_cl_program_id program, uint32_t count,
                                   const smr_cl_device_id *devices, const char *options,
                                   smr_cl_build_notify notify, void *user) {
  FAULT_OR_WORK();
  (void)count, (void)devices, (void)notify, (void)user;
  if (!object_is(program, PROGRAM)) return INVALID_OBJECT;
  snprintf(controls.options, sizeof controls.options, "%s", options);
  struct object *object = (struct object *)(void *)program;
  if (object->broken || (controls.refuse_texels && object->reads_image)) return BUILD_FAILURE;
  controls.builds++;
  object->built = true;
  return 0;
}

EXPORT int32_t CALL clGetProgramBuildInfo(smr_cl_program_id program, smr_cl_device_id device,
                                          uint32_t what, size_t room, void *out, size_t *needed) {
  FAULT_OR_WORK();
  (void)device, (void)what;
  if (!object_is(program, PROGRAM)) return INVALID_OBJECT;
  return give_text("line 1: #error\nline 2", room, out, needed);
}

EXPORT int32_t CALL clGetProgramInfo(smr_cl_program_id program, uint32_t what, size_t room,
                                     void *out, size_t *needed) {
  FAULT_OR_WORK();
  (void)needed, (void)room;
  if (!object_is(program, PROGRAM)) return INVALID_OBJECT;
  if (what == SMR_CL_PROGRAM_BINARY_SIZES) {
    *(size_t *)out = sizeof binary[0];
  } else {
    const struct object *object = (const struct object *)(const void *)program;
    memcpy(*(unsigned char **)out, binary[object->reads_image], sizeof binary[0]);
  }
  return 0;
}
EXPORT int32_t CALL clReleaseProgram(smr_cl_program_id program) { RELEASE(program, PROGRAM); }

// ---- kernels ----

EXPORT smr_cl_kernel_id CALL clCreateKernel(smr_cl_program_id program, const char *name,
                                            int32_t *code) {
  FAULT_OR_MAKE(code);
  if (!object_is(program, PROGRAM) || !((struct object *)(void *)program)->built) {
    *code = INVALID_EXECUTABLE;
    return NULL;
  }
  struct object *made = object_new(KERNEL);
  made->reads_image = ((struct object *)(void *)program)->reads_image;
  memcpy(made->name, name, strlen(name) < sizeof made->name ? strlen(name) : sizeof made->name - 1);
  return (smr_cl_kernel_id)(void *)made;
}
EXPORT int32_t CALL clGetKernelWorkGroupInfo(smr_cl_kernel_id kernel, smr_cl_device_id device,
                                             uint32_t what, size_t room, void *out,
                                             size_t *needed) {
  FAULT_OR_WORK();
  (void)device;
  if (!object_is(kernel, KERNEL)) return INVALID_OBJECT;
  if (what != SMR_CL_KERNEL_WORK_GROUP_SIZE) return INVALID_VALUE;
  return give(&controls.group, sizeof controls.group, room, out, needed);
}
EXPORT int32_t CALL clReleaseKernel(smr_cl_kernel_id kernel) { RELEASE(kernel, KERNEL); }

EXPORT int32_t CALL clSetKernelArg(smr_cl_kernel_id kernel, uint32_t index, size_t size,
                                   const void *value) {
  static const size_t sizes[ARGUMENTS] = {8, 8, 8, 8, 8, 8, 8, 8, 32, 64, 64, 32};
  FAULT_OR_WORK();
  if (!object_is(kernel, KERNEL)) return INVALID_OBJECT;
  struct object *object = (struct object *)(void *)kernel;
  if (index >= ARGUMENTS || size != (index < 8 ? sizeof(void *) : sizes[index])) {
    controls.misuse++;
    return INVALID_ARGS;
  }
  memcpy(object->arguments[index], value, size);
  object->set[index] = true;
  return 0;
}

// ---- commands ----

static void begin_event(smr_cl_event *out) {
  if (out == NULL) return;
  struct object *made = object_new(EVENT);
  made->polls = controls.lag;
  made->state = controls.event_error;
  controls.event_error = 0;
  *out = (smr_cl_event)(void *)made;
}

static void take_long(void) {
  struct timespec begin, now;
  (void)timespec_get(&begin, TIME_UTC);
  do {
    (void)timespec_get(&now, TIME_UTC);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < SLOW_NS);
}

EXPORT int32_t CALL clEnqueueNDRangeKernel(smr_cl_queue queue, smr_cl_kernel_id kernel,
                                           uint32_t dims, const size_t *from, const size_t *items,
                                           const size_t *group, uint32_t count,
                                           const smr_cl_event *after, smr_cl_event *out) {
  FAULT_OR_WORK();
  (void)from, (void)count, (void)after;
  if (!object_is(queue, QUEUE) || !object_is(kernel, KERNEL)) return INVALID_OBJECT;
  const struct object *object = (const struct object *)(const void *)kernel;
  unsigned char *buffers[8] = {NULL};
  int32_t ints[32];
  float floats[8];
  uint32_t offsets[8];
  for (size_t i = 0; i < ARGUMENTS; i++) {
    if (!object->set[i]) return INVALID_ARGS;
  }
  memcpy(offsets, object->arguments[8], sizeof offsets);
  memcpy(ints, object->arguments[9], 64);
  memcpy(ints + 16, object->arguments[10], 64);
  memcpy(floats, object->arguments[11], sizeof floats);
  for (size_t i = 0; i < 8; i++) {
    struct object *memory;
    memcpy(&memory, object->arguments[i], sizeof memory);
    if (memory == NULL) continue;
    const bool image = i == 1 && object->reads_image;
    if (!object_is(memory, image ? IMAGE : MEM)) return INVALID_OBJECT;
    if (image) memory = memory->buffer;
    buffers[i] = memory->bytes + 4 * (size_t)offsets[i];
  }
  controls.enqueued++;
  controls.grouped = group != NULL && group[0] == SMR_CL_GROUP;
  if (group != NULL && (group[0] > controls.group || items[0] % group[0] != 0))
    return INVALID_WORK_GROUP_SIZE;
  if (controls.slow == (object->reads_image ? FAULT_SLOW_IMAGES : FAULT_SLOW_BUFFERS)) take_long();
  if (controls.kernel != NULL) controls.kernel(object->name, buffers, ints, floats, dims, items);
  begin_event(out);
  return 0;
}

static bool range_is(smr_cl_mem memory, size_t offset, size_t size) {
  if (!object_is(memory, MEM)) return false;
  const struct object *object = (const struct object *)(const void *)memory;
  return offset <= object->size && size <= object->size - offset;
}

EXPORT int32_t CALL clEnqueueReadBuffer(smr_cl_queue queue, smr_cl_mem memory, uint32_t blocking,
                                        size_t offset, size_t size, void *to, uint32_t count,
                                        const smr_cl_event *after, smr_cl_event *out) {
  FAULT_OR_WORK();
  (void)blocking, (void)count, (void)after;
  if (!object_is(queue, QUEUE) || !range_is(memory, offset, size)) return INVALID_VALUE;
  memcpy(to, ((struct object *)(void *)memory)->bytes + offset, size);
  begin_event(out);
  return 0;
}

EXPORT int32_t CALL clEnqueueWriteBuffer(smr_cl_queue queue, smr_cl_mem memory, uint32_t blocking,
                                         size_t offset, size_t size, const void *from,
                                         uint32_t count, const smr_cl_event *after,
                                         smr_cl_event *out) {
  FAULT_OR_WORK();
  (void)blocking, (void)count, (void)after;
  if (!object_is(queue, QUEUE) || !range_is(memory, offset, size)) return INVALID_VALUE;
  memcpy(((struct object *)(void *)memory)->bytes + offset, from, size);
  begin_event(out);
  return 0;
}

// ---- events ----

EXPORT int32_t CALL clWaitForEvents(uint32_t count, const smr_cl_event *events) {
  FAULT_OR_WORK();
  int32_t code = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!object_is(events[i], EVENT)) return INVALID_OBJECT;
    struct object *object = (struct object *)(void *)events[i];
    object->polls = 0;
    if (object->state < 0) code = -14;  // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
  }
  return code;
}

EXPORT int32_t CALL clGetEventInfo(smr_cl_event event, uint32_t what, size_t room, void *out,
                                   size_t *needed) {
  FAULT_OR_WORK();
  (void)what;
  if (!object_is(event, EVENT)) return INVALID_OBJECT;
  struct object *object = (struct object *)(void *)event;
  const int32_t submitted = 2;
  const bool pending = controls.deaf || object->polls > 0;
  if (object->polls > 0) object->polls--;
  return give(pending ? &submitted : &object->state, sizeof submitted, room, out, needed);
}

EXPORT int32_t CALL clRetainEvent(smr_cl_event event) {
  const int32_t wrong = fault();
  if (wrong < 0) return wrong;  // a lie would be an event that is given back twice
  if (!object_is(event, EVENT)) return INVALID_OBJECT;
  ((struct object *)(void *)event)->references++;
  return 0;
}
EXPORT int32_t CALL clReleaseEvent(smr_cl_event event) { RELEASE(event, EVENT); }
