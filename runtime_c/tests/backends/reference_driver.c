// SPDX-License-Identifier: Apache-2.0
// A driver that runs launches as C11: every row of kernels/rows.inc is compiled here.
#include "base/fp.h"

#include "backends/opencl/kernels/dialect.h"

#include "backends/reference_driver.h"
#include "backends/reference_kernels.inc"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

// Bodies of steps' kernels as C11, and their texts.
#define FUSED(number, ...) KERNEL(fused_##number) __VA_ARGS__
#include "backends/reference_fused.inc"
#undef FUSED
static const struct {
  void (*kernel)(void);
  const char *text;
} reference_fused[] = {
#define FUSED(number, ...) {fused_##number, #__VA_ARGS__},
#include "backends/reference_fused.inc"
#undef FUSED
};
enum { REFERENCE_FUSED = sizeof reference_fused / sizeof *reference_fused };

int smr_reference_fused(const char *name) {
  static char known[REFERENCE_FUSED][SMR_CL_STEP_NAME];
  for (int i = 0; i < REFERENCE_FUSED; i++) {
    if (known[i][0] == '\0') smr_cl_step_name(reference_fused[i].text, known[i]);
    if (strcmp(known[i], name) == 0) return i;
  }
  return -1;
}

// Kernels may compute addresses in an absent buffer, but not access them.
#define REFERENCE_ABSENT ((unsigned char *)(uintptr_t)4096)

// ---- lanes that share an item ----

enum { REFERENCE_CALLS = 16 };

int smr_reference_lanes = 5;

// Lanes run one after the other, repeatedly: each time up to the first call of smr_cl_of_lanes that
// has no result yet, and all of them give their values there.
static struct {
  jmp_buf stop;
  int call, known;
  float results[REFERENCE_CALLS];
} reference_calls;

static float smr_cl_of_lanes(float v, int largest) {
  const int call = reference_calls.call++;
  if (call >= REFERENCE_CALLS) abort();
  float *result = &reference_calls.results[call];
  if (call < reference_calls.known) return *result;
  *result = smr_cl_now.lane == 0 ? v : largest ? fmaxf(*result, v) : *result + v;
  longjmp(reference_calls.stop, 1);
}

// Whether the kernel stops at a call without a result.
static bool reference_stops(void (*kernel)(void)) {
  reference_calls.call = 0;
  if (setjmp(reference_calls.stop) != 0) return true;
  kernel();
  return false;
}

static void reference_subgroup(void (*kernel)(void), int first, int lanes) {
  int stopped = 0;
  reference_calls.known = 0;
  do {
    if (stopped != 0) reference_calls.known++;
    stopped = 0;
    for (int lane = 0; lane < lanes; lane++) {
      smr_cl_now.item[0] = first + lane;
      smr_cl_now.lane = lane;
      stopped += reference_stops(kernel);
    }
    // A lane that takes another path would hang a device.
    if (stopped != 0 && stopped != lanes) abort();
  } while (stopped != 0);
}

static void reference_group(void (*kernel)(void)) {
  const int size = SMR_CL_GROUP, most = smr_reference_lanes;
  for (int i = 0; i * most < size; i++) {
    smr_cl_now.subgroup = i;
    smr_cl_now.lanes = size - i * most < most ? size - i * most : most;
    reference_subgroup(kernel, smr_cl_now.group[0] * size + i * most, smr_cl_now.lanes);
  }
}

static void reference_row(const struct smr_cl_launch *launch, void (*kernel)(void)) {
  struct smr_cl_item *now = &smr_cl_now;
  if (!launch->grouped) {
    for (now->item[0] = 0; now->item[0] < (int)launch->items[0]; now->item[0]++) kernel();
    return;
  }
  if (launch->items[0] % SMR_CL_GROUP != 0) abort();  // CL_INVALID_WORK_GROUP_SIZE
  now->groups[0] = (int)launch->items[0] / SMR_CL_GROUP;
  for (now->group[0] = 0; now->group[0] < now->groups[0]; now->group[0]++) reference_group(kernel);
}

static void reference_launch(const struct smr_cl_launch *launch, void (*kernel)(void)) {
  struct smr_cl_item *now = &smr_cl_now;
  for (int i = 0; i < SMR_CL_BUFFERS; i++) {
    const struct smr_cl_place *place = &launch->buffers[i];
    now->buffers[i] = place->memory == NULL ? REFERENCE_ABSENT
                                            : (unsigned char *)place->memory + place->offset_bytes;
  }
  // A separate copy, so that sanitizers see reads past its end.
  void *table = NULL;
  if (launch->table != NULL) {
    table = malloc(launch->table_bytes);
    if (table == NULL) return;
    memcpy(table, launch->table, launch->table_bytes);
    now->buffers[launch->table_buffer] = (unsigned char *)table;
  }
  memcpy(&now->p, launch->ints, sizeof now->p);
  memcpy(&now->q, launch->ints + 16, sizeof now->q);
  memcpy(&now->f, launch->floats, sizeof now->f);
  for (size_t c = 0; c < (launch->dims > 2 ? launch->items[2] : 1); c++) {
    for (size_t b = 0; b < (launch->dims > 1 ? launch->items[1] : 1); b++) {
      now->item[1] = now->group[1] = (int)b;
      now->item[2] = now->group[2] = (int)c;
      reference_row(launch, kernel);
    }
  }
  free(table);
}

void smr_reference_launch(const struct smr_cl_launch *launch) {
  reference_launch(launch, reference_kernels[launch->kernel]);
}

bool smr_reference_launch_texels(const struct smr_cl_launch *launch) {
  if (launch->panel_bytes == 0 || reference_texels[launch->kernel] == NULL) return false;
  reference_launch(launch, reference_texels[launch->kernel]);
  return true;
}

void smr_reference_launch_fused(const struct smr_cl_launch *launch, int fused) {
  reference_launch(launch, reference_fused[fused].kernel);
}

void smr_reference_expect(const char *source, size_t size) {
  static const char begin[] = "#define NAME ", kernel[] = "KERNEL(NAME)";
  const char *end = source + size, *found = source;
  while ((found = memchr(found, begin[0], (size_t)(end - found))) != NULL) {
    if ((size_t)(end - found) <= sizeof begin + SMR_CL_STEP_NAME) break;
    const char *line = found++;
    if (memcmp(line, begin, sizeof begin - 1) != 0) continue;
    char name[SMR_CL_STEP_NAME];
    const char *at = line + strlen(begin);
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
    const char *body = strstr(at, kernel);
    if (strncmp(name, "fused_", 6) == 0 && body != NULL && smr_reference_fused(name) < 0)
      fprintf(stderr, "reference_fused.inc: FUSED(%d, %.*s)\n", REFERENCE_FUSED,
              (int)(end - (body + strlen(kernel))), body + strlen(kernel));
  }
}

bool smr_reference_launch_named(struct smr_cl_launch *launch, const char *name) {
  const int fused = smr_reference_fused(name);
  while (launch->kernel < SMR_CL_KERNELS && strcmp(smr_cl_texts[launch->kernel].name, name) != 0)
    launch->kernel++;
  if (launch->kernel < SMR_CL_KERNELS)
    smr_reference_launch(launch);
  else if (fused >= 0)
    smr_reference_launch_fused(launch, fused);
  return launch->kernel < SMR_CL_KERNELS || fused >= 0;
}

static samara_status reference_fail(samara_error *error) {
  if (error != NULL) {
    error->status = SAMARA_OUT_OF_MEMORY;
    snprintf(error->text, sizeof error->text, "out of memory");
  }
  return SAMARA_OUT_OF_MEMORY;
}

static samara_status reference_open(const samara_probe *request, void **device,
                                    samara_device_info *info, struct smr_cl_features *features,
                                    samara_error *error) {
  *device = NULL;
  if (request->index != 0) return SAMARA_NOT_FOUND;
  struct smr_cl_features *own = (struct smr_cl_features *)calloc(1, sizeof *own);
  if (own == NULL) return reference_fail(error);
  own->cpu = true;
  *features = *own;
  info->backend = "reference";
  info->name = "C11";
  info->driver = "1";
  info->compute_units = 1;
  info->shares_memory = true;
  *device = own;
  return SAMARA_OK;
}

static void reference_close(void *device) { free(device); }

static size_t reference_alignment(void *device) {
  (void)device;
  return 64;
}

static uint64_t reference_max_memory(void *device) {
  (void)device;
  return 0;
}

static samara_status reference_allocate(void *device, size_t size_bytes, const void *initial,
                                        void **memory, samara_error *error) {
  (void)device;
  *memory = malloc(size_bytes);
  if (*memory == NULL) return reference_fail(error);
  if (initial != NULL) memcpy(*memory, initial, size_bytes);
  return SAMARA_OK;
}

static void reference_release(void *device, void *memory) {
  (void)device;
  free(memory);
}

// Which kernels a program has: those of rows, then reference_fused of each step.
struct reference_program {
  bool kernels[SMR_CL_KERNELS];
  uint32_t step_count;
  int steps[];
};

static samara_status reference_refuse(samara_error *error, int kernel) {
  if (error != NULL) {
    error->status = SAMARA_BAD_STATE;
    snprintf(error->text, sizeof error->text, "kernel %d was not built", kernel);
  }
  return SAMARA_BAD_STATE;
}

static samara_status reference_build(void *device, const bool *kernels,
                                     const struct smr_cl_steps *steps, void **program,
                                     samara_error *error) {
  (void)device;
  const uint32_t count = steps == NULL ? 0 : steps->count;
  struct reference_program *own = calloc(1, sizeof *own + count * sizeof own->steps[0]);
  if (own == NULL) return reference_fail(error);
  memcpy(own->kernels, kernels, sizeof own->kernels);
  own->step_count = count;
  for (uint32_t k = 0; k < count; k++) {
    char name[SMR_CL_STEP_NAME];
    smr_cl_step_name(steps->steps[k].text, name);
    own->steps[k] = smr_reference_fused(name);
    if (own->steps[k] >= 0) continue;
    fprintf(stderr, "reference_fused.inc: FUSED(%d, %s)\n", REFERENCE_FUSED, steps->steps[k].text);
    free(own);
    return reference_refuse(error, (int)(SMR_CL_STEP_KERNEL + k));
  }
  *program = own;
  return SAMARA_OK;
}

static void reference_release_program(void *device, void *program) {
  (void)device;
  free(program);
}

static bool reference_has(const struct reference_program *program, uint16_t kernel) {
  return kernel < SMR_CL_KERNELS ? program->kernels[kernel]
                                 : (uint32_t)(kernel - SMR_CL_STEP_KERNEL) < program->step_count;
}

// A launch, where its kernel is, and its table behind it: both are the caller's.
struct reference_prepared {
  struct smr_cl_launch launch;
  int fused;  // -1: of a row
};

static samara_status reference_prepare(void *device, void *program,
                                       const struct smr_cl_launch *launch, void **prepared,
                                       samara_error *error) {
  (void)device;
  const struct reference_program *of = program;
  if (!reference_has(of, launch->kernel)) return reference_refuse(error, launch->kernel);
  struct reference_prepared *own = malloc(sizeof *own + launch->table_bytes);
  if (own == NULL) return reference_fail(error);
  own->launch = *launch;
  own->fused =
      launch->kernel < SMR_CL_KERNELS ? -1 : of->steps[launch->kernel - SMR_CL_STEP_KERNEL];
  if (launch->table != NULL)
    own->launch.table = memcpy(own + 1, launch->table, launch->table_bytes);
  free(*prepared);
  *prepared = own;
  return SAMARA_OK;
}

static void reference_release_prepared(void *device, void *prepared) {
  (void)device;
  free(prepared);
}

static samara_status reference_run(void *device, void *const *prepared,
                                   const struct smr_cl_launch *launches, size_t count,
                                   uint64_t *ticket, samara_error *error) {
  (void)device;
  (void)launches;
  (void)error;
  for (size_t i = 0; i < count; i++) {
    const struct reference_prepared *own = prepared[i];
    if (own->fused < 0)
      smr_reference_launch(&own->launch);
    else
      smr_reference_launch_fused(&own->launch, own->fused);
  }
  *ticket = 0;
  return SAMARA_OK;
}

static samara_status reference_copy(void *device, const samara_copy *copy, uint64_t *ticket,
                                    samara_error *error) {
  (void)device;
  (void)error;
  unsigned char *own = (unsigned char *)copy->memory + copy->offset_bytes;
  if (copy->to_device)
    memcpy(own, copy->host, copy->size_bytes);
  else
    memcpy(copy->host, own, copy->size_bytes);
  *ticket = 0;
  return SAMARA_OK;
}

static samara_status reference_wait(void *device, uint64_t ticket, uint64_t timeout_ns, bool *done,
                                    samara_error *error) {
  (void)device;
  (void)ticket;
  (void)timeout_ns;
  (void)error;
  *done = true;
  return SAMARA_OK;
}

const struct smr_cl_driver smr_reference_driver = {
    .backend = "reference",
    .open = reference_open,
    .close = reference_close,
    .alignment = reference_alignment,
    .max_memory = reference_max_memory,
    .allocate = reference_allocate,
    .release = reference_release,
    .build = reference_build,
    .release_program = reference_release_program,
    .prepare = reference_prepare,
    .release_prepared = reference_release_prepared,
    .run = reference_run,
    .copy = reference_copy,
    .wait = reference_wait,
};
