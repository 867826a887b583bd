// SPDX-License-Identifier: Apache-2.0
// OpenCL kernels: compiled or read from the cache one by one, and shared by all programs of a
// device.
//
// Each kernel is compiled separately, so that regions, sessions and models share it and its entry
// in the cache, and because one compiler miscompiled a kernel if another one was in the same
// source.
#include "base/fp.h"

#include "backends/opencl/cl_unit.h"

#include <string.h>

#include "base/alloc.h"
#include "base/parts.h"

enum { PROGRAM_MAX_BINARY = 256 << 20 };  // limit of a driver's binary

// ---- the source ----

// A growing text; without memory only its length is counted.
struct cl_source {
  char *text;
  size_t used;
};

static void source_add(struct cl_source *source, const char *text, size_t length) {
  if (source->text != NULL) memcpy(source->text + source->used, text, length);
  source->used += length;
}

// Append a packed text and a newline.
static void source_line(struct cl_source *source, const char *text) {
  source->used += smr_cl_unpack(text, source->text != NULL ? source->text + source->used : NULL);
  source_add(source, "\n", 1);
}

// Write "A=1 B=2" as #define lines for A and B.
static void source_defines(struct cl_source *source, const char *defines) {
  for (const char *at = defines; at != NULL && *at != '\0';) {
    const size_t length = strcspn(at, " "), name = strcspn(at, "= ");
    if (length > 0) {
      source_add(source, "#define ", 8);
      source_add(source, at, name);
      source_add(source, " ", 1);
      if (name < length) source_add(source, at + name + 1, length - name - 1);
      source_add(source, "\n", 1);
    }
    at += length + (at[length] == ' ');
  }
}

static void source_write(struct cl_source *source, const struct smr_cl_unit *unit) {
  const struct smr_cl_text *text = unit->text;
  if (unit->texel_bytes != 0) source_defines(source, "TEXELS=1");
  source_line(source, unit->dialect);
  if (unit->dialect == smr_cl_dialect && smr_cl_integers != NULL)
    source_line(source, smr_cl_integers);
  source_defines(source, text->defines);
  if (smr_cl_shares(text)) source_defines(source, text[-1].defines);
  source_add(source, "#define NAME ", 13);
  source_line(source, text->name);
  if (SMR_HAS(cl_fused) && unit->body != NULL) {
    // The dialect's packed text uses short names for these.
    source_line(source, "#define GLOBAL __global\n#define ITEM(d) ((int)get_global_id(d))");
    source_add(source, "KERNEL(NAME)", 12);
  }
  source_line(source, text->text);
}

// ---- compiling ----

static const char *unit_options(const struct smr_cl_device *device,
                                const struct smr_cl_unit *unit) {
  return device->options[smr_cl_shares(unit->text)];
}

// The first lines of the compiler's log.
static void program_log(const struct smr_cl_device *device, smr_cl_program_id id, char *out,
                        size_t out_size) {
  size_t size = 0;
  out[0] = '\0';
  if (device->api.clGetProgramBuildInfo(id, device->id, SMR_CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
          SMR_CL_SUCCESS ||
      size == 0 || size > SMR_CL_MAX_TEXT)
    return;
  char *text = (char *)smr_allocate_zeroed(&device->allocator, size + 1, 1);
  if (text != NULL && device->api.clGetProgramBuildInfo(id, device->id, SMR_CL_PROGRAM_BUILD_LOG,
                                                        size, text, NULL) == SMR_CL_SUCCESS) {
    const size_t length = strlen(text), shown = length < out_size ? length : out_size - 1;
    memcpy(out, text, shown);
    out[shown] = '\0';
  }
  smr_release(&device->allocator, text);
}

static samara_status program_compile(const struct smr_cl_device *device,
                                     const struct smr_cl_unit *unit, samara_error *error) {
  smr_cl_program_id id = unit->id;
  const int32_t code =
      device->api.clBuildProgram(id, 1, &device->id, unit_options(device, unit), NULL, NULL);
  if (code == SMR_CL_SUCCESS) return SAMARA_OK;
  char said[400];
  program_log(device, id, said, sizeof said);
  const samara_status status = smr_cl_failed(error, "clBuildProgram", code);
  if (said[0] == '\0') return status;
  const char *prefix, *name = smr_cl_error_name(code, &prefix);
  return smr_fail(error, status, "clBuildProgram: %s%s: %s", prefix, name, said);
}

samara_status smr_cl_unit_kernel(const struct smr_cl_device *device, struct smr_cl_unit *unit,
                                 samara_error *error) {
  int32_t code = SMR_CL_SUCCESS;
  unit->spare = device->api.clCreateKernel(unit->id, unit->text->name, &code);
  if (code != SMR_CL_SUCCESS) unit->spare = NULL;
  const samara_status status = smr_cl_created(error, "clCreateKernel", unit->spare, code);
  return status == SAMARA_OK ? status : smr_fail_prefix(error, status, "%s: ", unit->text->name);
}

static void unit_clear(const struct smr_cl_device *device, struct smr_cl_unit *unit) {
  if (unit->spare != NULL) (void)device->api.clReleaseKernel(unit->spare);
  if (unit->id != NULL) (void)device->api.clReleaseProgram(unit->id);
  unit->spare = NULL;
  unit->id = NULL;
}

// Whether the device supports the kernel's work-group size.
static samara_status unit_check(const struct smr_cl_device *device, const struct smr_cl_unit *unit,
                                samara_error *error) {
  size_t most = 0;
  if (!smr_cl_shares(unit->text)) return SAMARA_OK;
  (void)device->api.clGetKernelWorkGroupInfo(unit->spare, device->id, SMR_CL_KERNEL_WORK_GROUP_SIZE,
                                             sizeof most, &most, NULL);
  if (most >= SMR_CL_GROUP) return SAMARA_OK;
  SMR_FAIL(error, UNSUPPORTED, "its work-groups have at most %zu items", most);
}

static samara_status unit_from_source(const struct smr_cl_device *device, const char *text,
                                      size_t text_bytes, struct smr_cl_unit *unit,
                                      samara_error *error) {
  int32_t code = SMR_CL_SUCCESS;
  smr_cl_program_id id =
      device->api.clCreateProgramWithSource(device->context, 1, &text, &text_bytes, &code);
  SMR_TRY(smr_cl_created(error, "clCreateProgramWithSource", id, code));
  unit->id = id;
  SMR_TRY(program_compile(device, unit, error));
  return smr_cl_unit_kernel(device, unit, error);
}

// ---- the cache ----

// False if there is no valid entry; the unit is then empty.
static bool unit_from_cache(const struct smr_cl_device *device, const struct smr_cl_cache_key *key,
                            struct smr_cl_unit *unit) {
  struct smr_cl_cache_entry entry;
  if (!smr_cl_cache_read(key, &device->allocator, &entry)) return false;
  int32_t code = SMR_CL_SUCCESS, binary_code = SMR_CL_SUCCESS;
  smr_cl_program_id id = device->api.clCreateProgramWithBinary(
      device->context, 1, &device->id, &entry.binary_bytes, &entry.binary, &binary_code, &code);
  unit->id = code == SMR_CL_SUCCESS ? id : NULL;
  const bool good = unit->id != NULL && binary_code == SMR_CL_SUCCESS &&
                    program_compile(device, unit, NULL) == SAMARA_OK &&
                    smr_cl_unit_kernel(device, unit, NULL) == SAMARA_OK;
  smr_os_close(&entry.file, &device->allocator);
  if (!good) unit_clear(device, unit);
  return good;
}

static samara_status unit_keep(const struct smr_cl_device *device,
                               const struct smr_cl_cache_key *key, const struct smr_cl_unit *unit,
                               samara_error *error) {
  size_t size = 0;
  int32_t code =
      device->api.clGetProgramInfo(unit->id, SMR_CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  if (code != SMR_CL_SUCCESS) return smr_cl_failed(error, "clGetProgramInfo", code);
  if (size == 0 || size > PROGRAM_MAX_BINARY) {
    SMR_FAIL(error, UNSUPPORTED, "the driver's binary of a program has %zu bytes", size);
  }
  unsigned char *binary = (unsigned char *)smr_allocate_zeroed(&device->allocator, size, 1);
  if (binary == NULL) return smr_no_memory(error, size);
  code =
      device->api.clGetProgramInfo(unit->id, SMR_CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
  const samara_status status =
      code != SMR_CL_SUCCESS ? smr_cl_failed(error, "clGetProgramInfo", code)
                             : smr_cl_cache_write(key, binary, size, &device->allocator, error);
  smr_release(&device->allocator, binary);
  return status;
}

struct smr_cl_cache_key smr_cl_key(const struct smr_cl_device *device, const char *options,
                                   const char *source, size_t source_bytes) {
  return (struct smr_cl_cache_key){
      .folder = device->cache_folder,
      .texts = {device->name, device->version, device->platform_version, options},
      .source = source,
      .source_bytes = source_bytes};
}

static samara_status unit_make(const struct smr_cl_device *device, const struct cl_source *source,
                               struct smr_cl_unit *unit, samara_error *error) {
  const struct smr_cl_cache_key key =
      smr_cl_key(device, unit_options(device, unit), source->text, source->used);
  if (key.folder != NULL && unit_from_cache(device, &key, unit)) return SAMARA_OK;
  SMR_TRY(unit_from_source(device, source->text, source->used, unit, error));
  samara_error why = {.text = ""};
  if (key.folder != NULL && unit_keep(device, &key, unit, &why) != SAMARA_OK) {
    smr_cl_log(device, SAMARA_LOG_WARNING, "opencl: a compiled kernel is not kept in %s: %s",
               key.folder, why.text);
  }
  return SAMARA_OK;
}

// ---- functions of the driver: programs ----

static samara_status unit_compile(const struct smr_cl_device *device, struct smr_cl_unit *unit,
                                  samara_error *error) {
  struct cl_source source = {NULL, 0};
  source_write(&source, unit);
  const size_t size = source.used;
  source = (struct cl_source){(char *)smr_allocate(&device->allocator, size), 0};
  if (source.text == NULL) return smr_no_memory(error, size);
  source_write(&source, unit);
  samara_status status = unit_make(device, &source, unit, error);
  if (status == SAMARA_OK) status = unit_check(device, unit, error);
  if (status != SAMARA_OK) unit_clear(device, unit);
  smr_release(&device->allocator, source.text);
  return status;
}

// A new unit for a text, or if that is NULL for the body of a step.
static struct smr_cl_unit *unit_new(const struct smr_cl_device *device,
                                    const struct smr_cl_text *text, const char *body) {
  const size_t size = body != NULL ? strlen(body) + 1 : 0;
  struct smr_cl_unit *unit =
      (struct smr_cl_unit *)smr_allocate_zeroed(&device->allocator, 1, sizeof *unit + size);
  if (unit == NULL) return NULL;
  unit->text = text;
  if (body == NULL) return unit;
  unit->body = memcpy(unit + 1, body, size);
  smr_cl_step_name(body, unit->name);
  unit->own = (struct smr_cl_text){.name = unit->name, .text = unit->body, .defines = ""};
  unit->text = &unit->own;
  return unit;
}

samara_status smr_cl_unit_of(struct smr_cl_device *device, const char *dialect,
                             const struct smr_cl_text *text, const char *body, uint32_t texel_bytes,
                             struct smr_cl_unit **out, samara_error *error) {
  for (struct smr_cl_unit *unit = device->units; unit != NULL; unit = unit->next) {
    if (unit->texel_bytes != texel_bytes) continue;
    if (body == NULL ? unit->text != text : unit->body == NULL || strcmp(unit->body, body) != 0)
      continue;
    *out = unit;
    return SAMARA_OK;
  }
  if (body == NULL && text->text == NULL)
    SMR_FAIL(error, UNSUPPORTED, "this build has no kernel %s", text->name);
  struct smr_cl_unit *unit = unit_new(device, text, body);
  if (unit == NULL) return smr_no_memory(error, sizeof *unit);
  unit->dialect = dialect;
  unit->texel_bytes = texel_bytes;
  const samara_status status = unit_compile(device, unit, error);
  if (status != SAMARA_OK) {
    smr_release(&device->allocator, unit);
    return status;
  }
  unit->next = device->units;
  device->units = *out = unit;
  return SAMARA_OK;
}

// Kernels with subgroups may fail to build: nodes then use others.
static bool program_misses(const struct smr_cl_device *device, const struct smr_cl_text *text,
                           const samara_error *error) {
  if (!smr_cl_shares(text)) return false;
  SMR_ATOMIC_STORE(&device->features->subgroups, false);
  smr_cl_log(device, SAMARA_LOG_WARNING, "opencl: no subgroups: %s: %s", text->name,
             error != NULL ? error->text : "");
  return true;
}

// The unit of a text. It reads weights from images if `images` is set and the compiler accepts it;
// after one failure all later units read buffers.
static samara_status unit_of_text(struct smr_cl_device *device, const char *dialect,
                                  const struct smr_cl_text *text, bool images,
                                  struct smr_cl_unit **out, samara_error *error) {
  const uint32_t texel_bytes = SMR_HAS(cl_matmul) && images ? smr_cl_texel_bytes(text) : 0;
  const samara_status status = smr_cl_unit_of(device, dialect, text, NULL, texel_bytes, out, error);
  if (status == SAMARA_OK || texel_bytes == 0) return status;
  SMR_ATOMIC_STORE(&device->image_time, SMR_CL_NO_IMAGES);
  return smr_cl_unit_of(device, dialect, text, NULL, 0, out, error);
}

samara_status smr_cl_build_with(void *device, const char *dialect, const struct smr_cl_text *texts,
                                const bool *kernels, const struct smr_cl_steps *steps, bool images,
                                void **program, samara_error *error) {
  struct smr_cl_device *own = (struct smr_cl_device *)device;
  const size_t size = sizeof(struct smr_cl_units) + steps->count * sizeof(struct smr_cl_unit *);
  struct smr_cl_units *made = (struct smr_cl_units *)smr_allocate_zeroed(&own->allocator, 1, size);
  if (made == NULL) return smr_no_memory(error, size);
  samara_status status = SAMARA_OK;
  smr_os_mutex_lock(&own->units_mutex);
  for (size_t k = 0; k < SMR_CL_KERNELS && status == SAMARA_OK; k++) {
    if (kernels[k]) status = unit_of_text(own, dialect, &texts[k], images, &made->units[k], error);
    if (status != SAMARA_OK && program_misses(own, &texts[k], error)) status = SAMARA_OK;
  }
  for (; SMR_HAS(cl_fused) && made->step_count < steps->count && status == SAMARA_OK;
       made->step_count++)
    status = smr_cl_unit_of(own, dialect, NULL, steps->steps[made->step_count].text, 0,
                            &made->steps[made->step_count], error);
  smr_os_mutex_unlock(&own->units_mutex);
  if (status != SAMARA_OK) {
    smr_release(&own->allocator, made);
    return status;
  }
  *program = made;
  return SAMARA_OK;
}

samara_status smr_cl_build_texts(void *device, const char *dialect, const struct smr_cl_text *texts,
                                 const bool *kernels, const struct smr_cl_steps *steps,
                                 void **program, samara_error *error) {
  struct smr_cl_device *own = (struct smr_cl_device *)device;
  const bool images = SMR_HAS(cl_matmul) && smr_cl_prefers_images(own, dialect, texts, kernels);
  return smr_cl_build_with(device, dialect, texts, kernels, steps, images, program, error);
}

samara_status smr_cl_build(void *device, const bool *kernels, const struct smr_cl_steps *steps,
                           void **program, samara_error *error) {
  return smr_cl_build_texts(device, smr_cl_dialect, smr_cl_texts, kernels, steps, program, error);
}

void smr_cl_release_program(void *device, void *program) {
  const struct smr_cl_device *own = (const struct smr_cl_device *)device;
  smr_release(&own->allocator, program);
}

void smr_cl_release_units(struct smr_cl_device *device) {
  for (struct smr_cl_unit *next; device->units != NULL; device->units = next) {
    next = device->units->next;
    unit_clear(device, device->units);
    smr_release(&device->allocator, device->units);
  }
}
