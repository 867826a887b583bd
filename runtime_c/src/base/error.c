// SPDX-License-Identifier: Apache-2.0
// Writes failures into the caller's error struct.
#if defined(__MINGW32__)
#define __USE_MINGW_ANSI_STDIO 1  // sizes as %zu
#endif
#include "base/fp.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

samara_status smr_fail(samara_error *error, samara_status status, const char *format, ...) {
  if (error == NULL) return status;
  error->status = status;
  va_list arguments;
  va_start(arguments, format);
  if (vsnprintf(error->text, sizeof error->text, format, arguments) < 0) error->text[0] = '\0';
  va_end(arguments);
  return status;
}

samara_status smr_fail_prefix(samara_error *error, samara_status status, const char *format, ...) {
  if (error == NULL) return status;
  char prefix[sizeof error->text];
  va_list arguments;
  va_start(arguments, format);
  if (vsnprintf(prefix, sizeof prefix, format, arguments) < 0) prefix[0] = '\0';
  va_end(arguments);
  const size_t length = strlen(prefix);
  error->text[sizeof error->text - 1] = '\0';
  size_t kept = strlen(error->text);
  if (kept > sizeof error->text - 1 - length) kept = sizeof error->text - 1 - length;
  memmove(error->text + length, error->text, kept);
  memcpy(error->text, prefix, length);
  error->text[length + kept] = '\0';
  error->status = status;
  return status;
}
