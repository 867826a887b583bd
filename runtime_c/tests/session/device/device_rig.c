// SPDX-License-Identifier: Apache-2.0
// For tests of sessions with devices: the mirror with settings, and pairs of sessions.
#define _POSIX_C_SOURCE 200809L  // mkdtemp
#include "base/fp.h"

#include "session/device/device_rig.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- the device ----

struct rig_settings rig_settings;
static samara_backend_table rig_own;
static SMR_ATOMIC(void *) rig_second;  // device 1

void rig_reset(void) {
  mirror_reset();
  rig_settings = (struct rig_settings){.wrong_op = NULL};
}

static samara_status rig_probe(const samara_probe *request, void **device, samara_device_info *info,
                               samara_error *error) {
  const samara_status status = samara_backend_entry()->probe(request, device, info, error);
  if (status != SAMARA_OK) return status;
  if (request->index == 1) SMR_ATOMIC_STORE(&rig_second, *device);
  if (rig_settings.rates != NULL) info->rates = *rig_settings.rates;
  return status;
}

static bool rig_supports(void *device, const samara_region *region, uint32_t node, char *reason,
                         size_t reason_size) {
  const bool second = device == SMR_ATOMIC_LOAD(&rig_second);
  const char *name = region->nodes[node].name;
  if (strncmp(name, "host", 4) == 0 || strncmp(name, second ? "one" : "two", 3) == 0) {
    (void)snprintf(reason, reason_size, "the test wants it elsewhere");
    return false;
  }
  return samara_backend_entry()->supports(device, region, node, reason, reason_size);
}

static void rig_requirements(void *device, samara_requirements *out) {
  samara_backend_entry()->requirements(device, out);
  out->any_range = rig_settings.any_range;
  out->max_memory_bytes = rig_settings.most_bytes;
}

// Flip the largest bit of the exponent, or the last bit of an integer, of the first output.
static void rig_flip(samara_dtype dtype, uint8_t *bytes) {
  if (dtype == SAMARA_FLOAT32)
    bytes[3] ^= 0x40;
  else if (dtype == SAMARA_FLOAT16)
    bytes[1] ^= 0x40;
  else
    bytes[0] ^= 1;
}

static void rig_spoil(void *device, const samara_region *region, const samara_region_node *node) {
  const samara_region_tensor *y = &region->tensors[node->outputs[0]];
  uint8_t bytes[4];
  uint64_t ticket;
  samara_copy copy = {
      .memory = y->memory, .offset_bytes = y->offset_bytes, .host = bytes, .size_bytes = 4};
  if (y->size_bytes < 4) return;
  (void)samara_backend_entry()->copy(device, &copy, &ticket, NULL);
  rig_flip(y->dtype, bytes);
  copy.to_device = true;
  (void)samara_backend_entry()->copy(device, &copy, &ticket, NULL);
}

// ---- steps ----

// Whether a node outside of the step that ends with `last` reads `tensor`; with `before`, only
// nodes before `last` count.
static bool rig_is_read(const samara_region *region, uint32_t last, int32_t tensor, bool before) {
  for (uint32_t n = 0; n < (before ? last : region->node_count); n++)
    for (uint32_t i = 0; i < region->nodes[n].input_count; i++)
      if (region->nodes[n].inputs[i] == tensor && region->joins[n].last != last) return true;
  return false;
}

static bool rig_is_view(const samara_region_node *node) {
  return strcmp(node->op, "reshape") == 0 || strcmp(node->op, "identity") == 0;
}

// Join the step of node m to that of node n, unless a node between them reads from it.
static void rig_join(const samara_region *region, uint32_t m, uint32_t n) {
  const uint32_t with = region->joins[m].last;
  bool taken[LITERAL_NODES] = {false}, good = true;
  for (uint32_t k = 0; k <= with; k++) taken[k] = region->joins[k].last == with;
  for (uint32_t k = 0; k <= with; k++)
    if (taken[k]) region->joins[k].last = n;
  for (uint32_t k = 0; k < n && good; k++)
    for (uint32_t i = 0; i < region->nodes[k].output_count; i++)
      good = good && (region->joins[k].last != n ||
                      !rig_is_read(region, n, region->nodes[k].outputs[i], true));
  for (uint32_t k = 0; k <= with && !good; k++)
    if (taken[k]) region->joins[k].last = with;
}

static samara_status rig_compile(void *device, const samara_region *region, void **program,
                                 samara_error *error) {
  uint32_t random = rig_settings.joins * 2654435761u;
  const samara_status status = samara_backend_entry()->compile(device, region, program, error);
  if (status != SAMARA_OK || region->joins == NULL) return status;
  for (uint32_t n = 0; n < region->node_count && rig_settings.joins != 0; n++)
    for (uint32_t m = 0; m < n && !region->apart[n]; m++) {
      random = random * 1664525u + 1013904223u;
      if ((random >> 16) % 3 == 0 && !region->apart[m] && region->joins[m].last < n &&
          !rig_is_view(&region->nodes[m]) && !rig_is_view(&region->nodes[n]))
        rig_join(region, m, n);
    }
  for (uint32_t n = 0; n < region->node_count; n++)
    if (region->joins[n].last != n)
      region->joins[n].kind = region->joins[region->joins[n].last].kind =
          region->joins[n].last + 1u;
  if (rig_settings.bad_joins) region->joins[0].last = region->node_count;
  return status;
}

static samara_status rig_each(void *device, void *program, const samara_region *region, uint32_t n,
                              uint64_t *ticket, samara_error *error) {
  samara_region each = *region;
  each.separate = true;
  const samara_status status =
      samara_backend_entry()->submit(device, program, &each, n, 1, ticket, error);
  if (status == SAMARA_OK && rig_settings.wrong_op != NULL &&
      strcmp(region->nodes[n].op, rig_settings.wrong_op) == 0)
    rig_spoil(device, region, &region->nodes[n]);
  return status;
}

// The step that ends with node `last`. Tensors that no other node reads are overwritten afterwards.
static samara_status rig_step(void *device, void *program, const samara_region *region,
                              uint32_t last, uint64_t *ticket, samara_error *error) {
  bool several = false;
  for (uint32_t n = 0; n <= last; n++) {
    if (region->joins[n].last != last) continue;
    several = several || n < last;
    const samara_status status = rig_each(device, program, region, n, ticket, error);
    if (status != SAMARA_OK) return status;
  }
  for (uint32_t n = 0; n < last; n++)
    for (uint32_t i = 0; i < region->nodes[n].output_count; i++)
      if (region->joins[n].last == last &&
          !region->tensors[region->nodes[n].outputs[i]].used_outside &&
          !rig_is_read(region, last, region->nodes[n].outputs[i], false))
        rig_spoil(device, region, &region->nodes[n]);
  if (several && rig_settings.wrong_steps) rig_spoil(device, region, &region->nodes[last]);
  return SAMARA_OK;
}

static samara_status rig_compute(void *device, void *program, const samara_region *region,
                                 uint32_t first, uint32_t count, uint64_t *ticket,
                                 samara_error *error) {
  if (rig_settings.wrong_op == NULL && !rig_settings.any_range)
    return samara_backend_entry()->submit(device, program, region, first, count, ticket, error);
  for (uint32_t i = first; i < first + count; i++) {
    samara_status status = SAMARA_OK;
    if (region->separate || region->joins == NULL)
      status = rig_each(device, program, region, i, ticket, error);
    else if (region->joins[i].last == i)
      status = rig_step(device, program, region, i, ticket, error);
    if (status != SAMARA_OK) return status;
  }
  return SAMARA_OK;
}

// ---- work that waits ----

// A copy or, if `program` is set, nodes of a region.
struct rig_work {
  void *device, *program;
  samara_copy copy;
  samara_region region;
  samara_region_tensor tensors[LITERAL_VALUES];
  uint32_t first, count;
};
enum { RIG_WORK = 64 };
static struct rig_work rig_work[RIG_WORK];
static uint64_t rig_given, rig_done;  // numbers of the last ones

static samara_status rig_work_until(uint64_t ticket, samara_error *error) {
  samara_status status = SAMARA_OK;
  while (rig_done < ticket && rig_done < rig_given) {
    struct rig_work *work = &rig_work[rig_done++ % RIG_WORK];
    uint64_t ignored = 0;
    const samara_status done =
        work->program == NULL
            ? samara_backend_entry()->copy(work->device, &work->copy, &ignored, error)
            : rig_compute(work->device, work->program, &work->region, work->first, work->count,
                          &ignored, error);
    if (status == SAMARA_OK) status = done;
  }
  return status;
}

static struct rig_work *rig_give(void *device, uint64_t *ticket) {
  if (rig_given - rig_done == RIG_WORK) (void)rig_work_until(rig_done + 1, NULL);
  struct rig_work *work = &rig_work[rig_given++ % RIG_WORK];
  *work = (struct rig_work){.device = device};
  *ticket = rig_given;
  return work;
}

static samara_status rig_copy(void *device, const samara_copy *copy, uint64_t *ticket,
                              samara_error *error) {
  if (copy->size_bytes == 0) return smr_fail(error, SAMARA_BAD_ARGUMENT, "rig: an empty copy");
  if (!rig_settings.lazy) return samara_backend_entry()->copy(device, copy, ticket, error);
  rig_give(device, ticket)->copy = *copy;
  return SAMARA_OK;
}

static samara_status rig_submit(void *device, void *program, const samara_region *region,
                                uint32_t first, uint32_t count, uint64_t *ticket,
                                samara_error *error) {
  if (!region->separate && !rig_settings.any_range && (first != 0 || count != region->node_count))
    return smr_fail(error, SAMARA_BAD_STATE, "rig: a part of a region");
  if (!rig_settings.lazy) return rig_compute(device, program, region, first, count, ticket, error);
  struct rig_work *work = rig_give(device, ticket);
  work->program = program;
  work->first = first;
  work->count = count;
  work->region = *region;
  memcpy(work->tensors, region->tensors, region->tensor_count * sizeof *work->tensors);
  work->region.tensors = work->tensors;
  return SAMARA_OK;
}

static samara_status rig_wait(void *device, uint64_t ticket, uint64_t timeout_ns, bool *done,
                              samara_error *error) {
  const samara_status status = rig_settings.lazy ? rig_work_until(ticket, error) : SAMARA_OK;
  const samara_status waited =
      samara_backend_entry()->wait(device, ticket, timeout_ns, done, error);
  return status != SAMARA_OK ? status : waited;
}

// Waits for work that uses the handle.
static void rig_release(void *device, samara_handle_kind kind, void *handle) {
  if (rig_settings.lazy) (void)rig_work_until(UINT64_MAX, NULL);
  samara_backend_entry()->release(device, kind, handle);
}

const samara_backend_table *rig_table(void) {
  // Written once: sessions of other threads call through it.
  if (rig_own.struct_size == 0) {
    rig_own = *samara_backend_entry();
    rig_own.probe = rig_probe;
    rig_own.supports = rig_supports;
    rig_own.requirements = rig_requirements;
    rig_own.compile = rig_compile;
    rig_own.copy = rig_copy;
    rig_own.submit = rig_submit;
    rig_own.wait = rig_wait;
    rig_own.release = rig_release;
  }
  return &rig_own;
}

samara_backend *rig_open(uint32_t index, const char *cache, const char *rates) {
  samara_backend *out = NULL;
  samara_error error = {.text = ""};
  const samara_backend_options options = {.struct_size = sizeof options,
                                          .name = index == 0 ? "mirror" : "mirror:1",
                                          .table = rig_table(),
                                          .cache_folder = cache,
                                          .rates = rates};
  if (samara_backend_open(&options, &out, &error) != SAMARA_OK)
    fprintf(stderr, "no device: %s\n", error.text);
  return out;
}

// ---- sessions ----

samara_status rig_try(const samara_model *model, samara_backend **devices, size_t count,
                      samara_session_options options, samara_session **out) {
  options.struct_size = sizeof options;
  options.strict_accuracy = !options.backend_float16;
  options.backends = devices;
  options.backend_count = count;
  *out = NULL;
  return samara_session_create(model, &options, out, NULL);
}

samara_session *rig_session(const samara_model *model, samara_backend **devices, size_t count,
                            samara_session_options options) {
  options.strict_accuracy = !options.backend_float16;
  options.backends = devices;
  options.backend_count = count;
  return literal_session(model, options);
}

static uint32_t rig_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

void rig_destroy(struct rig *rig) {
  samara_session_destroy(rig->s);
  rig->s = NULL;
}

samara_session *rig_again(struct rig *rig, samara_session_options options) {
  rig_destroy(rig);
  return rig->s = rig_session(rig->model, rig->devices, rig->count, options);
}

static struct rig rig_beside(struct literal *l, size_t count, bool keep_all) {
  struct rig rig = {.l = l, .model = &l->model, .count = count};
  for (uint32_t i = 0; i < count; i++)
    rig.devices[i] = rig_open(i, rig_settings.cache_folder, rig_settings.rates_file);
  rig.cpu = rig_session(rig.model, NULL, 0, (samara_session_options){.keep_all = keep_all});
  return rig;
}

struct rig rig_bare(struct literal *l, size_t count) { return rig_beside(l, count, false); }

struct rig rig_with(struct literal *l, size_t count, samara_session_options options) {
  struct rig rig = rig_beside(l, count, options.keep_all);
  if (count != 0) (void)rig_again(&rig, options);
  return rig;
}

struct rig rig_start(enum rig_model which, size_t count, samara_session_options options) {
  return rig_with(rig_model(which), count, options);
}

struct rig rig_start_random(uint32_t seed, size_t count, samara_session_options options) {
  return rig_with(rig_random_model(seed), count, options);
}

bool rig_end(struct rig *rig) {
  samara_session_destroy(rig->s);
  samara_session_destroy(rig->cpu);
  const int with_devices = mirror_live();
  for (size_t i = 0; i < rig->count; i++) samara_backend_close(rig->devices[i]);
  literal_free(rig->l);
  if (with_devices == (int)rig->count && mirror_live() == 0) return true;
  fprintf(stderr, "the mirror has %d handles with %zu devices open, %d without\n", with_devices,
          rig->count, mirror_live());
  return false;
}

static void rig_fill(const samara_tensor *t, uint32_t seed) {
  uint32_t state = seed * 2654435761u + 12345u;
  if (t->dtype == SAMARA_FLOAT32)
    for (size_t i = 0; i < t->size_bytes / 4; i++)
      ((float *)t->data)[i] = (float)(rig_random(&state) % 4096) / 1024.0f - 2.0f;
  if (t->dtype == SAMARA_INT64)
    for (size_t i = 0; i < t->size_bytes / 8; i++)
      ((int64_t *)t->data)[i] = 1 + (int64_t)(rig_random(&state) % 3);
  if (t->dtype == SAMARA_BOOL) memset(t->data, (int)(seed % 2), t->size_bytes);
}

bool rig_feed(samara_session *session, uint32_t seed) {
  for (uint32_t i = 0; i < session->function->user_input_count; i++) {
    samara_tensor t;
    if (samara_session_input(session, i, &t) != SAMARA_OK) {
      fprintf(stderr, "input %u: %s\n", (unsigned)i, samara_session_error(session));
      return false;
    }
    rig_fill(&t, seed + i * 101);
  }
  return true;
}

bool rig_compare(const samara_session *cpu, const samara_session *other) {
  for (uint32_t i = 0; i < cpu->function->user_output_count; i++) {
    samara_tensor a, b;
    if (samara_session_output(cpu, i, &a) != SAMARA_OK ||
        samara_session_output(other, i, &b) != SAMARA_OK ||
        memcmp(a.shape, b.shape, sizeof a.shape) != 0 || a.size_bytes != b.size_bytes ||
        (a.size_bytes != 0 && memcmp(a.data, b.data, a.size_bytes) != 0)) {
      fprintf(stderr, "output %u differs\n", (unsigned)i);
      return false;
    }
  }
  return true;
}

bool rig_same(samara_session *cpu, samara_session *other, uint32_t seed) {
  return rig_feed(cpu, seed) && rig_feed(other, seed) && literal_run(cpu) == SAMARA_OK &&
         literal_run(other) == SAMARA_OK && rig_compare(cpu, other);
}

bool rig_hungry(samara_session *cpu, samara_session *other, uint32_t seed,
                struct literal_memory *memory) {
  samara_status status = rig_feed(other, seed) ? samara_session_run(other) : SAMARA_BAD_STATE;
  memory->stays_out = false;
  if (status == SAMARA_OUT_OF_MEMORY && memory->calls >= memory->fail_at &&
      samara_session_resize(other, NULL, 0) == SAMARA_OK && rig_feed(other, seed))
    status = samara_session_run(other);
  if (status != SAMARA_OK) fprintf(stderr, "a run fails: %s\n", samara_session_error(other));
  return status == SAMARA_OK && rig_feed(cpu, seed) && literal_run(cpu) == SAMARA_OK &&
         rig_compare(cpu, other);
}

const struct smr_frame_node *rig_node(const samara_session *session, const char *name) {
  for (uint32_t i = 0; i < session->frames.count; i++) {
    const struct smr_frame *frame = session->frames.order[i];
    for (uint32_t n = 0; n < frame->function->node_count; n++)
      if (strcmp(frame->nodes[n].node->name, name) == 0) return &frame->nodes[n];
  }
  fprintf(stderr, "there is no node %s\n", name);
  abort();
}

samara_backend_report rig_report(const samara_session *session) {
  samara_backend_report report = {.struct_size = sizeof report};
  (void)samara_session_backend_report(session, &report);
  return report;
}

// ---- folders ----

const char *rig_folder(void) {
  static char folder[64];
  (void)snprintf(folder, sizeof folder, "device_rig.XXXXXX");
  return mkdtemp(folder);
}

void rig_remove(const char *folder) {
  DIR *listing = opendir(folder);
  char path[512];
  for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    (void)unlink(path);
  }
  if (listing != NULL) (void)closedir(listing);
  (void)rmdir(folder);
}
