// SPDX-License-Identifier: Apache-2.0
// Reads CPU features from the operating system (Linux auxiliary vector and /proc, Apple sysctl).
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE  // syscall() under -std=c11
#endif
#include "base/fp.h"

#include "base/os_hwcap.h"

#if defined(__aarch64__) && defined(__linux__) && !defined(SMR_BARE_METAL)
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

// Bits of AT_HWCAP and AT_HWCAP2 in the Linux arm64 ABI; defined here because old headers lack
// some.
enum {
  HWCAP_ARM64_ASIMDHP = 1 << 10,
  HWCAP_ARM64_ASIMDDP = 1 << 20,
  HWCAP2_ARM64_I8MM = 1 << 13,
  HWCAP2_ARM64_BF16 = 1 << 14,
};

uint64_t smr_os_hwcap(void) {
  const unsigned long hwcap = getauxval(AT_HWCAP);
  const unsigned long hwcap2 = getauxval(26);  // AT_HWCAP2
  uint64_t have = 0;
  if (hwcap & HWCAP_ARM64_ASIMDHP) have |= SMR_HWCAP_FP16;
  if (hwcap & HWCAP_ARM64_ASIMDDP) have |= SMR_HWCAP_DOT;
  if (hwcap2 & HWCAP2_ARM64_I8MM) have |= SMR_HWCAP_I8MM;
  if (hwcap2 & HWCAP2_ARM64_BF16) have |= SMR_HWCAP_BF16;
  return have;
}

// The value of a line "name   : value" of /proc/cpuinfo.
static const char *os_hwcap_field(const char *line, const char *name) {
  const size_t length = strlen(name);
  const char *colon = strncmp(line, name, length) == 0 ? strchr(line + length, ':') : NULL;
  return colon != NULL ? colon + 1 + strspn(colon + 1, " \t") : NULL;
}

void smr_os_cpu_name(char *text, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256], core[40], implementer[16] = "";
  size_t used = 0;
  text[0] = '\0';
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    const char *value = os_hwcap_field(line, "CPU implementer");
    if (value != NULL) (void)snprintf(implementer, sizeof implementer, "%.4s", value);
    value = os_hwcap_field(line, "CPU part");
    if (value == NULL) continue;
    (void)snprintf(core, sizeof core, "%s%s:%.5s", used != 0 ? " " : "arm ", implementer, value);
    if (strstr(text, used != 0 ? core + 1 : core) != NULL || used + strlen(core) >= size) continue;
    used += (size_t)snprintf(text + used, size - used, "%s", core);
  }
  if (file != NULL) (void)fclose(file);
}

#elif defined(__aarch64__) && defined(__APPLE__) && !defined(SMR_BARE_METAL)
#include <stddef.h>
#include <sys/sysctl.h>

static int os_hwcap_feature(const char *name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value != 0;
}

uint64_t smr_os_hwcap(void) {
  uint64_t have = 0;
  if (os_hwcap_feature("hw.optional.arm.FEAT_FP16")) have |= SMR_HWCAP_FP16;
  if (os_hwcap_feature("hw.optional.arm.FEAT_DotProd")) have |= SMR_HWCAP_DOT;
  if (os_hwcap_feature("hw.optional.arm.FEAT_I8MM")) have |= SMR_HWCAP_I8MM;
  if (os_hwcap_feature("hw.optional.arm.FEAT_BF16")) have |= SMR_HWCAP_BF16;
  return have;
}

void smr_os_cpu_name(char *text, size_t size) {
  if (sysctlbyname("machdep.cpu.brand_string", text, &size, NULL, 0) != 0) text[0] = '\0';
}

#else

uint64_t smr_os_hwcap(void) { return 0; }

void smr_os_cpu_name(char *text, size_t size) {
  if (size != 0) text[0] = '\0';
}

#endif

#if defined(__x86_64__) && defined(__linux__) && !defined(__ANDROID__) && !defined(SMR_BARE_METAL)
#include <sys/syscall.h>
#include <unistd.h>

bool smr_os_use_tiles(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };  // asm/prctl.h since Linux 5.16
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

#else

bool smr_os_use_tiles(void) { return false; }

#endif
