// SPDX-License-Identifier: Apache-2.0
// Writes failures into the caller's error struct.
#include "base/fp.h"

#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "base/format.h"

samara_status smr_report(samara_error *error, unsigned status_and_keeps, const char *format, ...) {
  const bool keeps = (status_and_keeps & SMR_REPORT_KEEPS) != 0;
  const samara_status status = (samara_status)(status_and_keeps & ~(unsigned)SMR_REPORT_KEEPS);
  if (error == NULL) return status;
  char before[sizeof error->text];
  memcpy(before, error->text, sizeof before);
  before[keeps ? sizeof before - 1 : 0] = '\0';
  va_list arguments;
  va_start(arguments, format);
  const size_t length = smr_format_list(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  if (length < sizeof error->text) {
    smr_format(error->text + length, sizeof error->text - length, "%s", before);
  }
  return error->status = status;
}
