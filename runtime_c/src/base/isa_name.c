// SPDX-License-Identifier: Apache-2.0
// The CPU's name.
#include "base/fp.h"

#include "base/isa_name.h"

#include <stdint.h>
#include <string.h>

#include "base/isa.h"
#include "base/os_hwcap.h"

// Removes spaces at the ends and repeated spaces between words.
static void cpu_name_trim(char *text) {
  char *out = text;
  for (const char *in = text; *in != '\0'; in++)
    if (*in != ' ' || (out != text && in[1] != ' ' && in[1] != '\0')) *out++ = *in;
  *out = '\0';
}

#if SMR_ARCH_X86_64 && defined(__GNUC__)
#include <cpuid.h>

static void cpu_name_read(char *text, size_t size) {
  uint32_t words[12] = {0};
  for (uint32_t i = 0; i < 3; i++)
    if (!__get_cpuid(UINT32_C(0x80000002) + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                     &words[4 * i + 3]))
      return;
  const size_t bytes = size - 1 < sizeof words ? size - 1 : sizeof words;
  memcpy(text, words, bytes);
  text[bytes] = '\0';
}

#else

static void cpu_name_read(char *text, size_t size) { smr_os_cpu_name(text, size); }

#endif

void smr_cpu_name(char *text, size_t size) {
  text[0] = '\0';
  cpu_name_read(text, size);
  for (char *at = text; *at != '\0'; at++)
    if ((unsigned char)*at < 0x20) *at = ' ';
  cpu_name_trim(text);
  if (text[0] == '\0') memcpy(text, "unknown", sizeof "unknown");
}
