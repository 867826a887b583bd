// SPDX-License-Identifier: Apache-2.0
// The file of rates: a line per number.
#include "base/fp.h"

#include "session/device/rates.h"

#include <stddef.h>
#include <string.h>

#include "base/format.h"

static const struct rates_line {
  const char *name;
  size_t at;
} rates_lines[] = {
#define RATES_LINE(side, name) {#side "." #name, offsetof(struct smr_rates, side.name)}
    RATES_LINE(host, launch_ns),
    RATES_LINE(host, product_ns),
    RATES_LINE(host, product_float32),
    RATES_LINE(host, product_float16),
    RATES_LINE(host, product_int8),
    RATES_LINE(host, depthwise),
    RATES_LINE(host, memory),
    RATES_LINE(device, launch_ns),
    RATES_LINE(device, wait_ns),
    RATES_LINE(device, copy_ns),
    RATES_LINE(device, product_ns),
    RATES_LINE(device, product_float32),
    RATES_LINE(device, product_float16),
    RATES_LINE(device, product_int8),
    RATES_LINE(device, depthwise),
    RATES_LINE(device, memory),
    RATES_LINE(device, to_device),
    RATES_LINE(device, from_device),
#undef RATES_LINE
};
enum { RATES_LINES = sizeof rates_lines / sizeof *rates_lines, RATES_FILE_BYTES = 4096 };
static const char rates_magic[] = "samara-rates 2\n";

// Find the line that begins with "`name` " and read its number.
static bool rates_find(const char *text, const char *name, uint64_t *out) {
  const size_t length = strlen(name);
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
    const char *digit = line + length + 1;
    uint64_t value = 0;
    if (*digit == '\n' || *digit == '\0') return false;
    for (; *digit != '\n' && *digit != '\0'; digit++) {
      if (*digit < '0' || *digit > '9' || value > UINT64_MAX / 100) return false;
      value = value * 10 + (uint64_t)(*digit - '0');
    }
    *out = value;
    return true;
  }
  return false;
}

static samara_status rates_parse(const char *path, const char *text, struct smr_rates *out,
                                 samara_error *error) {
  if (strncmp(text, rates_magic, sizeof rates_magic - 1) != 0)
    SMR_FAIL(error, BAD_DATA, "%.200s is not a file of rates: its first line must be \"%.14s\"",
             path, rates_magic);
  for (int i = 0; i < RATES_LINES; i++)
    if (!rates_find(text, rates_lines[i].name,
                    (uint64_t *)(void *)((uint8_t *)out + rates_lines[i].at)))
      SMR_FAIL(error, BAD_DATA, "%.200s: no line \"%s NUMBER\"", path, rates_lines[i].name);
  return SAMARA_OK;
}

samara_status smr_rates_read(const char *path, const samara_allocator *allocator,
                             struct smr_rates *out, samara_error *error) {
  struct smr_os_file file;
  char text[RATES_FILE_BYTES];
  samara_error why = {.text = ""};
  *out = (struct smr_rates){.host = {0}};
  const samara_status status = smr_os_read_path(path, sizeof text - 1, allocator, &file, &why);
  if (status != SAMARA_OK) return smr_fail(error, status, "%.200s: %s", path, why.text);
  memcpy(text, file.data, file.size_bytes);
  text[file.size_bytes] = '\0';
  smr_os_close(&file, allocator);
  return rates_parse(path, text, out, error);
}

samara_status smr_rates_write(const char *path, const samara_allocator *allocator,
                              const struct smr_rates *rates, samara_error *error) {
  char text[RATES_FILE_BYTES];
  size_t used = smr_format(text, sizeof text, "%s", rates_magic);
  for (int i = 0; i < RATES_LINES; i++) {
    uint64_t value;
    memcpy(&value, (const uint8_t *)rates + rates_lines[i].at, sizeof value);
    used += smr_format(text + used, sizeof text - used, "%s %llu\n", rates_lines[i].name,
                       (unsigned long long)value);
  }
  return smr_os_write_path(path, text, used, allocator, error);
}
