// SPDX-License-Identifier: Apache-2.0
// Writes failures to the caller's error struct.
#include "base/fp.h"

#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "base/format.h"

// Builds for size pack the formats: bytes from 128 on stand for pairs of other bytes (the
// exporter's package/texts.py). Pairs are nested no deeper than `todo`, and formats that are too
// long are cut.
#if defined(SMR_TEXT_PAIRS)
static const char *error_unpack(const char *packed, char *text, size_t room) {
  static const unsigned char pairs[][2] = {SMR_TEXT_PAIRS};
  size_t length = 0;
  for (; *packed != '\0'; packed++) {
    unsigned char todo[32];
    size_t count = 1;
    todo[0] = (unsigned char)*packed;
    while (count > 0) {
      const unsigned byte = todo[--count];
      if (byte >= 128) {
        todo[count++] = pairs[byte - 128][1];
        todo[count++] = pairs[byte - 128][0];
      } else if (length + 1 < room) {
        text[length++] = (char)byte;
      }
    }
  }
  text[length] = '\0';
  return text;
}
#endif

samara_status smr_report(samara_error *error, unsigned status_and_keeps, const char *format, ...) {
  const bool keeps = (status_and_keeps & SMR_REPORT_KEEPS) != 0;
  const samara_status status = (samara_status)(status_and_keeps & ~(unsigned)SMR_REPORT_KEEPS);
  if (error == NULL) return status;
#if defined(SMR_TEXT_PAIRS)
  char plain[sizeof error->text];
  format = error_unpack(format, plain, sizeof plain);
#endif
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
