// SPDX-License-Identifier: Apache-2.0
// Opens devices of built-in backends by name.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

#include "backends/opencl/driver.h"

// The number at the end of "opencl:1", 0 by default. False if anything else follows ':'.
static bool open_index(const char *text, uint32_t *index) {
  *index = 0;
  if (*text == '\0') return true;
  if (*text++ != ':' || *text == '\0') return false;
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9' || *index > 9999) return false;
    *index = *index * 10 + (uint32_t)(*text - '0');
  }
  return true;
}

// The table of a shared library with a backend.
static samara_status open_library(const char *path, void **library,
                                  const samara_backend_table **table, samara_error *error) {
  *library = smr_os_library_open(path);
  if (*library == NULL) SMR_FAIL(error, NOT_FOUND, "the library %.200s cannot be loaded", path);
  samara_backend_entry_fn entry =
      (samara_backend_entry_fn)smr_os_library_function(*library, SAMARA_BACKEND_ENTRY);
  *table = entry != NULL ? entry() : NULL;
  if (*table != NULL) return SAMARA_OK;
  smr_os_library_close(*library);
  SMR_FAIL(error, UNSUPPORTED, "%.200s brings no backend: it %s " SAMARA_BACKEND_ENTRY, path,
           entry == NULL ? "has no function" : "returns NULL from");
}

// Open the device named by the options, of `table`, or of a built-in backend if that is NULL.
static samara_status open_device(const samara_backend_table *table,
                                 const samara_backend_options *options, samara_backend **out,
                                 samara_error *error) {
  if (table == NULL && options->name == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "samara_backend_open: neither a name, a library nor a table");
  if (table != NULL) SMR_TRY(smr_backend_check(table, error));
  const char *name = options->name != NULL ? options->name : table->name;
  const size_t length = strcspn(name, ":");
  uint32_t index;
  if (!open_index(name + length, &index))
    SMR_FAIL(error, BAD_ARGUMENT, "\"%.60s\" names no device: expected \"opencl\" or \"opencl:1\"",
             name);
  if (table == NULL && SMR_HAS(backend_opencl)) {
    const samara_backend_table *opencl = smr_opencl_backend();
    if (opencl != NULL && strlen(opencl->name) == length && memcmp(opencl->name, name, length) == 0)
      table = opencl;
  }
  if (table == NULL) SMR_FAIL(error, NOT_FOUND, "this library has no backend \"%.60s\"", name);
  if (strlen(table->name) != length || memcmp(table->name, name, length) != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "\"%.60s\" is not the name of the backend given, \"%.40s\"", name,
             table->name);
  return smr_backend_create(table, index, options, out, error);
}

samara_status samara_backend_open(const samara_backend_options *options, samara_backend **out,
                                  samara_error *error) {
  if (out != NULL) *out = NULL;
  if (options == NULL || out == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "samara_backend_open: options or out is NULL");
  samara_backend_options own;
  SMR_TRY(smr_options_read(options, &own, sizeof own, "backend options", error));
  SMR_NEED_IN(NULL, error, backends);
  void *library = NULL;
  const samara_backend_table *table = own.table;
  if (table == NULL && own.library != NULL)
    SMR_TRY(open_library(own.library, &library, &table, error));
  const samara_status status = open_device(table, &own, out, error);
  if (status == SAMARA_OK)
    (*out)->library = library;
  else if (library != NULL)
    smr_os_library_close(library);
  return status;
}
