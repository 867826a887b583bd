// SPDX-License-Identifier: Apache-2.0
// An OpenCL library for tests: the system's, with CPUs that it reports as GPUs. Code that is chosen
// for GPUs then runs on machines without one. Variables of the environment:
//
// GPU_WITHOUT      an extension that the devices lack
// GPU_UNITS        the number of their compute units
// GPU_SUBGROUPS    0: they have no subgroups
// GPU_REFUSE       a program whose source has this text does not build
// GPU_GROUP        the most items of a work-group that kernels report
// GPU_LOG          a file that gets a line for the options of each build and each launched kernel
// GPU_SLOW         images: launches of kernels that read weights from images take ten times as
//                  long; buffers: launches of all other kernels
// GPU_TEXELS       the largest image
// GPU_MOST_TEXELS  images with more texels are refused
// GPU_IMAGES       a file that gets a line for each image: its number of texels
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TYPE = 0x1000, UNITS = 0x1002, EXTENSIONS = 0x1030, CPU = 1 << 1, GPU = 1 << 2 };
enum { IMAGE_MAX_BUFFER_SIZE = 0x1040, SUBGROUPS = 0x105c, PROGRAM_SOURCE = 0x1164 };
enum { FUNCTION_NAME = 0x1190, KERNEL_PROGRAM = 0x1194, WORK_GROUP_SIZE = 0x11b0 };

static void log_line(const char *file_name, const char *line) {
  const char *path = getenv(file_name);
  FILE *file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return;
  fprintf(file, "%s\n", line);
  fclose(file);
}

int32_t clGetDeviceIDs(void *platform, uint64_t type, uint32_t room, void **devices,
                       uint32_t *count) {
  int32_t (*next)(void *, uint64_t, uint32_t, void **, uint32_t *);
  *(void **)&next = dlsym(RTLD_NEXT, "clGetDeviceIDs");
  return next(platform, type == GPU ? CPU : GPU, room, devices, count);
}

int32_t clGetDeviceInfo(void *device, uint32_t what, size_t size, void *value, size_t *needed) {
  int32_t (*next)(void *, uint32_t, size_t, void *, size_t *);
  *(void **)&next = dlsym(RTLD_NEXT, "clGetDeviceInfo");
  const int32_t code = next(device, what, size, value, needed);
  const char *without = getenv("GPU_WITHOUT"), *units = getenv("GPU_UNITS");
  const char *subgroups = getenv("GPU_SUBGROUPS");
  if (code != 0 || value == NULL) return code;
  if (what == TYPE) *(uint64_t *)value = GPU;
  const char *texels = getenv("GPU_TEXELS");
  if (what == IMAGE_MAX_BUFFER_SIZE && texels != NULL) *(size_t *)value = (size_t)atol(texels);
  if (what == UNITS && units != NULL) *(uint32_t *)value = (uint32_t)atoi(units);
  if (what == SUBGROUPS && subgroups != NULL) *(uint32_t *)value = (uint32_t)atoi(subgroups);
  char *name = what == EXTENSIONS && without != NULL ? strstr(value, without) : NULL;
  if (name != NULL) *name = '-';
  return code;
}

void *clCreateProgramWithSource(void *context, uint32_t count, const char **texts,
                                const size_t *sizes, int32_t *code) {
  void *(*next)(void *, uint32_t, const char **, const size_t *, int32_t *);
  const char *refused = getenv("GPU_REFUSE"), *error = "#error refused\n";
  const size_t size = strlen(error);
  *(void **)&next = dlsym(RTLD_NEXT, "clCreateProgramWithSource");
  if (refused != NULL && memmem(texts[0], sizes[0], refused, strlen(refused)) != NULL)
    return next(context, 1, &error, &size, code);
  return next(context, count, texts, sizes, code);
}

int32_t clGetKernelWorkGroupInfo(void *kernel, void *device, uint32_t what, size_t size,
                                 void *value, size_t *needed) {
  int32_t (*next)(void *, void *, uint32_t, size_t, void *, size_t *);
  *(void **)&next = dlsym(RTLD_NEXT, "clGetKernelWorkGroupInfo");
  const int32_t code = next(kernel, device, what, size, value, needed);
  const char *group = getenv("GPU_GROUP");
  if (code == 0 && what == WORK_GROUP_SIZE && group != NULL) *(size_t *)value = (size_t)atoi(group);
  return code;
}

int32_t clBuildProgram(void *program, uint32_t count, void *const *devices, const char *options,
                       void (*notify)(void *, void *), void *user) {
  int32_t (*next)(void *, uint32_t, void *const *, const char *, void (*)(void *, void *), void *);
  *(void **)&next = dlsym(RTLD_NEXT, "clBuildProgram");
  log_line("GPU_LOG", options);
  return next(program, count, devices, options, notify, user);
}

void *clCreateImage(void *context, uint64_t flags, const void *format, const size_t *desc,
                    void *host, int32_t *code) {
  void *(*next)(void *, uint64_t, const void *, const size_t *, void *, int32_t *);
  *(void **)&next = dlsym(RTLD_NEXT, "clCreateImage");
  const size_t width = desc[1];  // behind the type
  const char *refuse = getenv("GPU_MOST_TEXELS");
  char line[32];
  if (refuse != NULL && width > (size_t)atol(refuse)) return *code = -40, NULL;
  (void)snprintf(line, sizeof line, "%zu", width);
  log_line("GPU_IMAGES", line);
  return next(context, flags, format, desc, host, code);
}

// Whether the kernel was compiled to read weights from an image.
static int reads_image(void *kernel) {
  int32_t (*of_kernel)(void *, uint32_t, size_t, void *, size_t *);
  int32_t (*of_program)(void *, uint32_t, size_t, void *, size_t *);
  void *program = NULL;
  size_t size = 0;
  *(void **)&of_kernel = dlsym(RTLD_NEXT, "clGetKernelInfo");
  *(void **)&of_program = dlsym(RTLD_NEXT, "clGetProgramInfo");
  (void)of_kernel(kernel, KERNEL_PROGRAM, sizeof program, &program, NULL);
  (void)of_program(program, PROGRAM_SOURCE, 0, NULL, &size);
  char *text = calloc(size + 1, 1);
  if (text == NULL) return 0;
  (void)of_program(program, PROGRAM_SOURCE, size, text, NULL);
  const int found = strstr(text, "#define TEXELS") != NULL;
  free(text);
  return found;
}

int32_t clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dims, const size_t *offset,
                               const size_t *global, const size_t *local, uint32_t waits,
                               void *const *wait_for, void **event) {
  int32_t (*next)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *,
                  uint32_t, void *const *, void **);
  int32_t (*info)(void *, uint32_t, size_t, void *, size_t *);
  char name[256] = "";
  *(void **)&next = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
  *(void **)&info = dlsym(RTLD_NEXT, "clGetKernelInfo");
  (void)info(kernel, FUNCTION_NAME, sizeof name, name, NULL);
  log_line("GPU_LOG", name);
  const char *slow = getenv("GPU_SLOW");
  const int32_t code = next(queue, kernel, dims, offset, global, local, waits, wait_for, event);
  if (slow != NULL && (strcmp(slow, "images") == 0) == reads_image(kernel)) {
    struct timespec begin, end;
    int32_t (*finish)(void *);
    *(void **)&finish = dlsym(RTLD_NEXT, "clFinish");
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    (void)finish(queue);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    const long us = (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000;
    usleep((useconds_t)(3000 + 9 * us));
  }
  return code;
}
