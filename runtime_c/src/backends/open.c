// SPDX-License-Identifier: Apache-2.0
// Opening devices by name: the backends that the library has.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

// The number at the end of "opencl:1"; 0 where there is none. False for anything else behind ':'.
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

samara_status samara_backend_open(const samara_backend_options *options, samara_backend **out,
                                  samara_error *error) {
  if (out != NULL) *out = NULL;
  if (options == NULL || out == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "samara_backend_open: options or out is NULL");
  samara_backend_options own;
  SMR_TRY(smr_options_read(options, &own, sizeof own, "backend options", error));
  SMR_NEED_IN(NULL, error, backends);
  const samara_backend_table *table = own.table;
  if (table == NULL && own.name == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "samara_backend_open: neither name nor table");
  const char *name = own.name != NULL ? own.name : table->name;
  const size_t length = strcspn(name, ":");
  uint32_t index;
  if (!open_index(name + length, &index))
    SMR_FAIL(error, BAD_ARGUMENT, "\"%.60s\" names no device: expected \"opencl\" or \"opencl:1\"",
             name);
  if (table == NULL)
    SMR_FAIL(error, NOT_FOUND, "this library has no backend \"%.60s\"", name);
  if (table->name == NULL || strlen(table->name) != length ||
      memcmp(table->name, name, length) != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "\"%.60s\" is not the name of the backend given, \"%.40s\"", name,
             table->name != NULL ? table->name : "");
  return smr_backend_create(table, index, &own, out, error);
}
