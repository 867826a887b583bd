// SPDX-License-Identifier: Apache-2.0
// The mirror (mirror.h): a device for tests that computes with samara's single operators.
#define _POSIX_C_SOURCE 200809L  // nanosleep
#include "base/fp.h"

#include "backends/mirror.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/mirror_node.h"
#include "base/error.h"

enum {
  MIRROR_ALIGNMENT = 64,
  MIRROR_HANDLES = 16384  // alive at once; below the first address that a process may map
};

// ---- faults and counts ----

#define MIRROR_FUNCTIONS(X) \
  X(probe)                  \
  X(supports)               \
  X(requirements)           \
  X(compile) X(load) X(allocate) X(release) X(copy) X(submit) X(wait) X(node) X(prepare)

enum mirror_function {
#define MIRROR_ENUM(name) MIRROR_##name,
  MIRROR_FUNCTIONS(MIRROR_ENUM)
#undef MIRROR_ENUM
      MIRROR_COUNT
};

static const char *const mirror_names[] = {
#define MIRROR_NAME(name) #name,
    MIRROR_FUNCTIONS(MIRROR_NAME)
#undef MIRROR_NAME
};

// Of the process, as the library is.
static struct {
  pthread_mutex_t lock;
  int calls[MIRROR_COUNT];
  int fail_in[MIRROR_COUNT];  // calls until one fails; -1: all fail; 0: none
  int lie_in;                 // nodes until one lies
  int live;
  uint64_t slow_ns;
  bool tickets, blames;
} mirror = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int find_function(const char *name) {
  for (int i = 0; i < MIRROR_COUNT; i++)
    if (name != NULL && strcmp(mirror_names[i], name) == 0) return i;
  return -1;
}

void mirror_fail(const char *function, int at_call) {
  const int index = find_function(function);
  pthread_mutex_lock(&mirror.lock);
  if (index >= 0) mirror.fail_in[index] = at_call;
  pthread_mutex_unlock(&mirror.lock);
}

void mirror_lie(int node_call) {
  pthread_mutex_lock(&mirror.lock);
  mirror.lie_in = node_call;
  pthread_mutex_unlock(&mirror.lock);
}

int mirror_live(void) {
  pthread_mutex_lock(&mirror.lock);
  const int live = mirror.live;
  pthread_mutex_unlock(&mirror.lock);
  return live;
}

int mirror_calls(const char *name) {
  const int index = find_function(name);
  pthread_mutex_lock(&mirror.lock);
  const int calls = index >= 0 ? mirror.calls[index] : -1;
  pthread_mutex_unlock(&mirror.lock);
  return calls;
}

void mirror_slow(uint64_t ns) {
  pthread_mutex_lock(&mirror.lock);
  mirror.slow_ns = ns;
  pthread_mutex_unlock(&mirror.lock);
}

// Sleeps as long as mirror_slow says, which may change meanwhile.
static void mirror_sleep(void) {
  enum { STEP = 1000000 };
  const struct timespec pause = {.tv_nsec = STEP};
  for (uint64_t slept = 0, ns = 1; slept < ns; slept += STEP) {
    pthread_mutex_lock(&mirror.lock);
    ns = mirror.slow_ns;
    pthread_mutex_unlock(&mirror.lock);
    if (slept < ns) nanosleep(&pause, NULL);
  }
}

void mirror_tickets(bool on) {
  pthread_mutex_lock(&mirror.lock);
  mirror.tickets = on;
  pthread_mutex_unlock(&mirror.lock);
}

void mirror_blame(void) {
  pthread_mutex_lock(&mirror.lock);
  mirror.blames = true;
  pthread_mutex_unlock(&mirror.lock);
}

void mirror_reset(void) {
  pthread_mutex_lock(&mirror.lock);
  memset(mirror.calls, 0, sizeof mirror.calls);
  memset(mirror.fail_in, 0, sizeof mirror.fail_in);
  mirror.lie_in = 0;
  mirror.slow_ns = 0;
  mirror.tickets = mirror.blames = false;
  pthread_mutex_unlock(&mirror.lock);
}

static void mirror_count_live(int change) {
  pthread_mutex_lock(&mirror.lock);
  mirror.live += change;
  pthread_mutex_unlock(&mirror.lock);
}

// Count a call. Fails, with a text, if the test asked for it.
static samara_status mirror_enter(enum mirror_function function, samara_error *error) {
  pthread_mutex_lock(&mirror.lock);
  const int call = ++mirror.calls[function];
  int *fail_in = &mirror.fail_in[function];
  const bool fails = *fail_in == 1 || *fail_in == -1;
  if (*fail_in > 0) --*fail_in;
  const samara_status status = mirror.blames ? SAMARA_BAD_DATA : SAMARA_BACKEND;
  pthread_mutex_unlock(&mirror.lock);
  if (!fails) return SAMARA_OK;
  return smr_fail(error, status, "mirror: call %d of %s fails, as it was told to", call,
                  mirror_names[function]);
}

// ---- memory ----

// Its handle is a number that cannot be used as an address.
struct mirror_block {
  unsigned char *bytes;
  size_t size;
};

struct mirror_device {
  pthread_mutex_t lock;  // protects what follows
  struct mirror_block blocks[MIRROR_HANDLES];
  uint64_t tickets;
};

// The device of the current call of this thread, because lookups of addresses get tensors only.
static _Thread_local struct mirror_device *mirror_here;

static unsigned char *mirror_find(struct mirror_device *device, void *handle, uint64_t offset,
                                  size_t size_bytes, samara_error *error) {
  const uintptr_t number = (uintptr_t)handle;
  pthread_mutex_lock(&device->lock);
  struct mirror_block block = {.bytes = NULL};
  if (number >= 1 && number <= MIRROR_HANDLES) block = device->blocks[number - 1];
  pthread_mutex_unlock(&device->lock);
  if (block.bytes != NULL && offset % MIRROR_ALIGNMENT == 0 && offset <= block.size &&
      size_bytes <= block.size - offset)
    return block.bytes + offset;
  smr_fail(error, SAMARA_BAD_ARGUMENT,
           "mirror: %zu bytes at offset %" PRIu64 " of handle %" PRIuPTR ", which has %zu",
           size_bytes, offset, number, block.size);
  return NULL;
}

static unsigned char *mirror_address(const samara_region_tensor *tensor, samara_error *error) {
  return mirror_find(mirror_here, tensor->memory, tensor->offset_bytes, tensor->size_bytes, error);
}

static samara_status mirror_get_block(struct mirror_device *device, size_t size_bytes,
                                      void **handle, samara_error *error) {
  const size_t units = size_bytes / MIRROR_ALIGNMENT + 1;  // never none
  void *bytes = NULL;
  if (units > SIZE_MAX / MIRROR_ALIGNMENT ||
      posix_memalign(&bytes, MIRROR_ALIGNMENT, units * MIRROR_ALIGNMENT) != 0)
    SMR_FAIL(error, OUT_OF_MEMORY, "mirror: no memory for %zu bytes", size_bytes);
  memset(bytes, 0xa5, units * MIRROR_ALIGNMENT);
  size_t i = 0;
  pthread_mutex_lock(&device->lock);
  while (i < MIRROR_HANDLES && device->blocks[i].bytes != NULL) i++;
  if (i < MIRROR_HANDLES) device->blocks[i] = (struct mirror_block){bytes, size_bytes};
  pthread_mutex_unlock(&device->lock);
  if (i == MIRROR_HANDLES) {
    free(bytes);
    SMR_FAIL(error, LIMIT, "mirror: %d handles are alive", (int)MIRROR_HANDLES);
  }
  *handle = (void *)(uintptr_t)(i + 1);
  mirror_count_live(1);
  return SAMARA_OK;
}

static samara_status mirror_allocate(void *device, size_t size_bytes, void **handle,
                                     samara_error *error) {
  SMR_TRY(mirror_enter(MIRROR_allocate, error));
  return mirror_get_block(device, size_bytes, handle, error);
}

static samara_status mirror_load(void *device, const samara_region_tensor *constant, void **handle,
                                 samara_error *error) {
  SMR_TRY(mirror_enter(MIRROR_load, error));
  void *block = NULL;
  SMR_TRY(mirror_get_block(device, constant->size_bytes, &block, error));
  unsigned char *at = mirror_find(device, block, 0, constant->size_bytes, error);
  if (constant->size_bytes != 0) memcpy(at, constant->data, constant->size_bytes);
  *handle = block;
  return SAMARA_OK;
}

// ---- the device ----

static samara_status mirror_probe(const samara_probe *request, void **out, samara_device_info *info,
                                  samara_error *error) {
  SMR_TRY(mirror_enter(MIRROR_probe, error));
  if (request->index > 1)
    SMR_FAIL(error, NOT_FOUND, "mirror: there are two devices, number %u was asked for",
             (unsigned)request->index);
  struct mirror_device *device = calloc(1, sizeof *device);
  if (device == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "mirror: no memory for the device");
  pthread_mutex_init(&device->lock, NULL);
  info->name = request->index == 0 ? "Mirror" : "Second mirror";
  info->driver = SAMARA_VERSION;
  info->memory_bytes = UINT64_C(1) << 40;
  info->compute_units = 1;
  // Faster than any CPU, so that placement gives it all nodes that it supports.
  info->rates =
      (samara_rates){1, 1, 1, 1, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 30};
  *out = device;
  mirror_count_live(1);
  return SAMARA_OK;
}

static bool mirror_supports(void *device, const samara_region *region, uint32_t node, char *reason,
                            size_t reason_size) {
  samara_error error = {.text = ""};
  (void)device;
  if (mirror_enter(MIRROR_supports, &error) != SAMARA_OK) {
    const size_t length = strlen(error.text) < reason_size ? strlen(error.text) : reason_size - 1;
    memcpy(reason, error.text, length);
    reason[length] = '\0';
    return false;
  }
  return mirror_node_supported(region, &region->nodes[node], reason, reason_size);
}

static void mirror_requirements(void *device, samara_requirements *out) {
  (void)device;
  (void)mirror_enter(MIRROR_requirements, NULL);
  out->alignment_bytes = MIRROR_ALIGNMENT;
  out->max_memory_bytes = 0;
  out->constant_layouts =
      1u << SAMARA_LAYOUT_PLAIN | 1u << SAMARA_LAYOUT_PANEL | 1u << SAMARA_LAYOUT_DWPANEL;
}

// ---- programs ----

struct mirror_program {
  samara_op_context *context;
  uint64_t generation;  // that all nodes are prepared for
  uint32_t count;
  struct mirror_node nodes[];
};

static samara_status mirror_compile(void *device, const samara_region *region, void **out,
                                    samara_error *error) {
  (void)device;
  SMR_TRY(mirror_enter(MIRROR_compile, error));
  mirror_sleep();
  struct mirror_program *program =
      calloc(1, sizeof *program + region->node_count * sizeof program->nodes[0]);
  if (program == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "mirror: no memory for a program");
  const samara_status status = samara_op_context_create(NULL, &program->context, error);
  if (status != SAMARA_OK) {
    free(program);
    return status;
  }
  program->count = region->node_count;
  *out = program;
  mirror_count_live(1);
  return SAMARA_OK;
}

static void mirror_release(void *opaque, samara_handle_kind kind, void *handle) {
  struct mirror_device *device = opaque;
  (void)mirror_enter(MIRROR_release, NULL);
  mirror_count_live(-1);
  if (kind == SAMARA_HANDLE_PROGRAM) {
    struct mirror_program *program = handle;
    for (uint32_t i = 0; i < program->count; i++) mirror_node_clear(&program->nodes[i]);
    samara_op_context_destroy(program->context);
    free(program);
  } else if (kind == SAMARA_HANDLE_DEVICE) {
    for (size_t i = 0; i < MIRROR_HANDLES; i++) free(device->blocks[i].bytes);
    pthread_mutex_destroy(&device->lock);
    free(device);
  } else {
    const uintptr_t number = (uintptr_t)handle;
    pthread_mutex_lock(&device->lock);
    free(device->blocks[number - 1].bytes);
    device->blocks[number - 1] = (struct mirror_block){.bytes = NULL};
    pthread_mutex_unlock(&device->lock);
  }
}

// ---- work, which is complete when the call returns ----

static uint64_t mirror_ticket(struct mirror_device *device) {
  pthread_mutex_lock(&mirror.lock);
  const bool tickets = mirror.tickets;
  pthread_mutex_unlock(&mirror.lock);
  pthread_mutex_lock(&device->lock);
  const uint64_t ticket = tickets ? ++device->tickets : 0;
  pthread_mutex_unlock(&device->lock);
  return ticket;
}

static samara_status mirror_copy(void *opaque, const samara_copy *copy, uint64_t *ticket,
                                 samara_error *error) {
  struct mirror_device *device = opaque;
  SMR_TRY(mirror_enter(MIRROR_copy, error));
  unsigned char *at =
      mirror_find(device, copy->memory, copy->offset_bytes, copy->size_bytes, error);
  if (at == NULL) return SAMARA_BAD_ARGUMENT;
  if (copy->to_device)
    memcpy(at, copy->host, copy->size_bytes);
  else
    memcpy(copy->host, at, copy->size_bytes);
  *ticket = mirror_ticket(device);
  return SAMARA_OK;
}

// Flip a bit of the output's first element if the test asked for it.
static void mirror_maybe_lie(const samara_region *region, const samara_region_node *node) {
  pthread_mutex_lock(&mirror.lock);
  const bool lies = mirror.lie_in == 1;
  if (mirror.lie_in > 0) mirror.lie_in--;
  pthread_mutex_unlock(&mirror.lock);
  const samara_region_tensor *y = &region->tensors[node->outputs[0]];
  if (!lies || y->size_bytes == 0) return;
  unsigned char *at = mirror_address(y, NULL);
  switch (y->dtype) {
    case SAMARA_FLOAT64:
      at[7] ^= 0x40;
      break;
    case SAMARA_FLOAT32:
      at[3] ^= 0x40;
      break;
    case SAMARA_FLOAT16:
    case SAMARA_BFLOAT16:
      at[1] ^= 0x40;
      break;
    default:
      at[0] ^= 1;
  }
}

static samara_status mirror_prepare(struct mirror_program *program, const samara_region *region,
                                    samara_error *error) {
  program->generation = 0;
  for (uint32_t i = 0; i < region->node_count; i++) {
    SMR_TRY(mirror_enter(MIRROR_prepare, error));
    SMR_TRY(
        mirror_node_prepare(region, &region->nodes[i], mirror_address, &program->nodes[i], error));
  }
  program->generation = region->generation;
  return SAMARA_OK;
}

static samara_status mirror_submit(void *opaque, void *handle, const samara_region *region,
                                   uint32_t first, uint32_t count, uint64_t *ticket,
                                   samara_error *error) {
  struct mirror_program *program = handle;
  SMR_TRY(mirror_enter(MIRROR_submit, error));
  mirror_here = opaque;
  if (region->generation == 0 || first > region->node_count || count > region->node_count - first)
    SMR_FAIL(error, BAD_STATE, "mirror: nodes %u to %u of %u, generation %" PRIu64, (unsigned)first,
             (unsigned)(first + count), (unsigned)region->node_count, region->generation);
  if (!region->separate && (first != 0 || count != region->node_count))
    SMR_FAIL(error, BAD_STATE, "mirror: a part of a region that is not separate");
  if (program->generation != region->generation) SMR_TRY(mirror_prepare(program, region, error));
  for (uint32_t i = first; i < first + count; i++) {
    SMR_TRY(mirror_enter(MIRROR_node, error));
    SMR_TRY(mirror_node_run(region, &region->nodes[i], program->context, &program->nodes[i],
                            mirror_address, error));
    mirror_maybe_lie(region, &region->nodes[i]);
    if (region->launches != NULL) ++*region->launches;
  }
  *ticket = mirror_ticket(opaque);
  return SAMARA_OK;
}

static samara_status mirror_wait(void *device, uint64_t ticket, uint64_t timeout_ns, bool *done,
                                 samara_error *error) {
  (void)device, (void)ticket, (void)timeout_ns;
  *done = true;
  return mirror_enter(MIRROR_wait, error);
}

// ---- the table ----

static const samara_backend_table mirror_table = {
    .struct_size = sizeof(samara_backend_table),
    .version = SAMARA_BACKEND_VERSION,
    .name = "mirror",
    .probe = mirror_probe,
    .supports = mirror_supports,
    .requirements = mirror_requirements,
    .compile = mirror_compile,
    .load = mirror_load,
    .allocate = mirror_allocate,
    .release = mirror_release,
    .copy = mirror_copy,
    .submit = mirror_submit,
    .wait = mirror_wait,
};

const samara_backend_table *samara_backend_entry(void) { return &mirror_table; }
