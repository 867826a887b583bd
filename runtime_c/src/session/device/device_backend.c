// SPDX-License-Identifier: Apache-2.0
// Open devices: the backend's table, its requirements, and loaded constants.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

#include "base/format.h"

// ---- opening ----

static void backend_silent(void *user, samara_log_level level, const char *text) {
  (void)user;
  (void)level;
  (void)text;
}

// Names of devices consist of letters, digits and _.
static bool backend_is_name(const char *name) {
  const size_t length = strspn(name,
                               "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return length != 0 && name[length] == '\0';
}

samara_status smr_backend_check(const samara_backend_table *table, samara_error *error) {
  if (table->struct_size < sizeof *table || table->version != SAMARA_BACKEND_VERSION)
    SMR_FAIL(error, UNSUPPORTED,
             "the backend's table has version %u and %zu bytes, this library expects version %d "
             "and %zu bytes",
             (unsigned)table->version, table->struct_size, SAMARA_BACKEND_VERSION, sizeof *table);
  if (table->name == NULL || table->probe == NULL || table->supports == NULL ||
      table->requirements == NULL || table->compile == NULL || table->load == NULL ||
      table->allocate == NULL || table->release == NULL || table->copy == NULL ||
      table->submit == NULL || table->wait == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "backend table: a function or the name is NULL");
  if (!backend_is_name(table->name))
    SMR_FAIL(error, BAD_ARGUMENT,
             "backend table: the name \"%.60s\" may only contain letters, digits and _",
             table->name);
  return SAMARA_OK;
}

static bool backend_is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

// Validate what the device reported about itself.
static samara_status backend_accept(samara_backend *backend, uint32_t index, samara_error *error) {
  const samara_backend_table *table = backend->table;
  (void)smr_format(backend->name, sizeof backend->name, "%.48s:%u", table->name, (unsigned)index);
  backend->info.backend = table->name;
  backend->info.table = table;
  if (backend->info.name == NULL) backend->info.name = "";
  if (backend->info.driver == NULL) backend->info.driver = "";
  backend->requirements.struct_size = sizeof backend->requirements;
  table->requirements(backend->device, &backend->requirements);
  if (backend_is_power_of_two(backend->requirements.alignment_bytes) &&
      backend->requirements.alignment_bytes >= 4)
    return SAMARA_OK;
  SMR_FAIL(error, UNSUPPORTED,
           "%s requires memory aligned to %zu bytes, which is not a power of two", backend->name,
           backend->requirements.alignment_bytes);
}

// Copy an option's string; NULL stays NULL.
static bool backend_keep(const samara_backend *backend, const char *text, char **out) {
  if (text == NULL) return true;
  const size_t size = strlen(text) + 1;
  *out = smr_allocate(&backend->allocator, size);
  if (*out != NULL) memcpy(*out, text, size);
  return *out != NULL;
}

// Free what exists even if the device was not opened.
static void backend_free(samara_backend *backend) {
  const samara_allocator allocator = backend->allocator;
  smr_trust_free(backend);
  smr_release(&allocator, backend->cache);
  smr_release(&allocator, backend->rates);
  smr_os_mutex_destroy(&backend->lock);
  smr_release(&allocator, backend);
}

static samara_status backend_probe(samara_backend *backend, uint32_t index,
                                   const samara_backend_options *options, samara_error *error) {
  const samara_backend_table *table = backend->table;
  const samara_probe probe = {.struct_size = sizeof probe,
                              .index = index,
                              .cache_folder = backend->cache,
                              .allocator = backend->allocator,
                              .log = options->log != NULL ? options->log : backend_silent,
                              .log_user = options->log_user};
  SMR_TRY(table->probe(&probe, &backend->device, &backend->info, error));
  const samara_status status = backend_accept(backend, index, error);
  if (status != SAMARA_OK) table->release(backend->device, SAMARA_HANDLE_DEVICE, backend->device);
  return status;
}

samara_status smr_backend_create(const samara_backend_table *table, uint32_t index,
                                 const samara_backend_options *options, samara_backend **out,
                                 samara_error *error) {
  const samara_allocator allocator = smr_allocator(options->allocator);
  samara_backend *backend = smr_allocate_zeroed(&allocator, 1, sizeof *backend);
  if (backend == NULL) return smr_no_memory(error, sizeof *backend);
  backend->table = table;
  backend->users = 1;
  backend->allocator = allocator;
  backend->info.struct_size = sizeof backend->info;
  if (!smr_os_mutex_init(&backend->lock)) {
    smr_release(&allocator, backend);
    SMR_FAIL(error, OUT_OF_MEMORY, "the system cannot create a lock");
  }
  samara_status status = SAMARA_OK;
  if (!backend_keep(backend, options->cache_folder, &backend->cache) ||
      !backend_keep(backend, options->rates, &backend->rates))
    status = smr_no_memory(error, 1);
  if (status == SAMARA_OK) status = backend_probe(backend, index, options, error);
  if (status == SAMARA_OK) {
    smr_trust_read(backend);
    *out = backend;
  } else {
    backend_free(backend);
  }
  return status;
}

void smr_backend_hold(samara_backend *backend) {
  smr_os_mutex_lock(&backend->lock);
  backend->users++;
  smr_os_mutex_unlock(&backend->lock);
}

void samara_backend_close(samara_backend *backend) {
  if (backend == NULL) return;
  smr_os_mutex_lock(&backend->lock);
  const bool last = --backend->users == 0;
  smr_os_mutex_unlock(&backend->lock);
  if (!last) return;
  void *library = backend->library;
  backend->table->release(backend->device, SAMARA_HANDLE_DEVICE, backend->device);
  backend_free(backend);
  if (library != NULL) smr_os_library_close(library);
}

samara_status samara_backend_device(const samara_backend *backend, samara_device_info *out) {
  if (backend == NULL || out == NULL || out->struct_size == 0) return SAMARA_BAD_ARGUMENT;
  const size_t size =
      out->struct_size < sizeof backend->info ? out->struct_size : sizeof backend->info;
  const size_t given = out->struct_size;
  memcpy(out, &backend->info, size);
  out->struct_size = given;
  return SAMARA_OK;
}

// ---- constants ----

// Load the constant, as float16 if `tensor` is narrowed.
static samara_status backend_bring(samara_backend *backend, const struct smr_constant *constant,
                                   const samara_region_tensor *tensor, uint32_t isa, void **handle,
                                   samara_error *error) {
  samara_region_tensor given = *tensor;
  if (!smr_is_narrowed(tensor)) return backend->table->load(backend->device, tensor, handle, error);
  void *data = smr_allocate(&backend->allocator, tensor->size_bytes);
  if (data == NULL) return smr_no_memory(error, tensor->size_bytes);
  smr_float16_constant(isa, constant, tensor, data);
  given.data = data;
  const samara_status status = backend->table->load(backend->device, &given, handle, error);
  smr_release(&backend->allocator, data);
  return status;
}

static samara_status backend_load(samara_backend *backend, const samara_model *model,
                                  int32_t constant, const samara_region_tensor *tensor,
                                  uint32_t isa, struct smr_loaded **out, samara_error *error) {
  for (struct smr_loaded *loaded = backend->loaded; loaded != NULL; loaded = loaded->next) {
    if (loaded->model != model || loaded->constant != constant ||
        loaded->float16 != tensor->narrowed)
      continue;
    loaded->users++;
    *out = loaded;
    return SAMARA_OK;
  }
  struct smr_loaded *loaded = smr_allocate_zeroed(&backend->allocator, 1, sizeof *loaded);
  if (loaded == NULL) return smr_no_memory(error, sizeof *loaded);
  const samara_status status =
      backend_bring(backend, &model->constants[constant], tensor, isa, &loaded->handle, error);
  if (status != SAMARA_OK) {
    smr_release(&backend->allocator, loaded);
    return status;
  }
  loaded->next = backend->loaded;
  loaded->model = model;
  loaded->constant = constant;
  loaded->float16 = tensor->narrowed;
  loaded->users = 1;
  backend->loaded = *out = loaded;
  return SAMARA_OK;
}

samara_status smr_backend_load(samara_backend *backend, const samara_model *model, int32_t constant,
                               const samara_region_tensor *tensor, uint32_t isa,
                               struct smr_loaded **out, samara_error *error) {
  smr_os_mutex_lock(&backend->lock);
  const samara_status status = backend_load(backend, model, constant, tensor, isa, out, error);
  smr_os_mutex_unlock(&backend->lock);
  return status;
}

void smr_backend_unload(samara_backend *backend, struct smr_loaded *loaded) {
  if (loaded == NULL) return;
  smr_os_mutex_lock(&backend->lock);
  if (--loaded->users == 0) {
    struct smr_loaded **at = &backend->loaded;
    while (*at != loaded) at = &(*at)->next;
    *at = loaded->next;
    backend->table->release(backend->device, SAMARA_HANDLE_CONSTANT, loaded->handle);
    smr_release(&backend->allocator, loaded);
  }
  smr_os_mutex_unlock(&backend->lock);
}
