// SPDX-License-Identifier: Apache-2.0
// Reads CPU features from the operating system (Linux auxiliary vector, Apple sysctl).
#include "base/fp.h"

#include "base/os_hwcap.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

// Bits of AT_HWCAP and AT_HWCAP2 in the Linux arm64 ABI; spelled here because old headers lack
// some.
enum { HWCAP_ARM64_ASIMDHP = 1 << 10, HWCAP_ARM64_ASIMDDP = 1 << 20, HWCAP2_ARM64_I8MM = 1 << 13 };

uint64_t smr_os_hwcap(void) {
  const unsigned long hwcap = getauxval(AT_HWCAP);
  const unsigned long hwcap2 = getauxval(26);  // AT_HWCAP2
  uint64_t have = 0;
  if (hwcap & HWCAP_ARM64_ASIMDHP) have |= SMR_HWCAP_FP16;
  if (hwcap & HWCAP_ARM64_ASIMDDP) have |= SMR_HWCAP_DOT;
  if (hwcap2 & HWCAP2_ARM64_I8MM) have |= SMR_HWCAP_I8MM;
  return have;
}

#elif defined(__aarch64__) && defined(__APPLE__)
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
  return have;
}

#else

uint64_t smr_os_hwcap(void) { return 0; }

#endif
