// SPDX-License-Identifier: Apache-2.0
// Memory and string functions of bare_libc.h for toolchains without a C library. Include it once.
#ifndef SMR_BARE_STRINGS_H
#define SMR_BARE_STRINGS_H

#include "bare_libc.h"

// Without this the compiler turns memset's loop into a call of memset.
#if defined(__clang__)
#define BARE_PLAIN __attribute__((noinline, no_builtin))
#else
#define BARE_PLAIN __attribute__((noinline, optimize("no-tree-loop-distribute-patterns")))
#endif

BARE_PLAIN void *memmove(void *to, const void *from, size_t n) {
  unsigned char *t = to;
  const unsigned char *f = from;
  if (t < f)
    for (size_t i = 0; i < n; i++) t[i] = f[i];
  else
    for (size_t i = n; i > 0; i--) t[i - 1] = f[i - 1];
  return to;
}
// Does not call memmove: compilers may turn that call back into memcpy.
BARE_PLAIN void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  unsigned char *t = to;
  const unsigned char *f = from;
  for (size_t i = 0; i < n; i++) t[i] = f[i];
  return to;
}
BARE_PLAIN void *memset(void *to, int value, size_t n) {
  unsigned char *t = to;
  for (size_t i = 0; i < n; i++) t[i] = (unsigned char)value;
  return to;
}
BARE_PLAIN int memcmp(const void *a, const void *b, size_t n) {
  const unsigned char *p = a, *q = b;
  for (size_t i = 0; i < n; i++)
    if (p[i] != q[i]) return p[i] - q[i];
  return 0;
}
BARE_PLAIN size_t strlen(const char *s) {
  size_t n = 0;
  while (s[n] != '\0') n++;
  return n;
}
BARE_PLAIN int strcmp(const char *a, const char *b) {
  for (; *a != '\0' && *a == *b; a++, b++) {
  }
  return (unsigned char)*a - (unsigned char)*b;
}
BARE_PLAIN int strncmp(const char *a, const char *b, size_t n) {
  for (; n > 0 && *a != '\0' && *a == *b; a++, b++, n--) {
  }
  return n > 0 ? (unsigned char)*a - (unsigned char)*b : 0;
}
char *strchr(const char *s, int c) {
  while (*s != (char)c && *s != '\0') s++;
  return *s == (char)c ? (char *)(uintptr_t)s : NULL;
}
size_t strspn(const char *s, const char *accept) {
  size_t n = 0;
  while (s[n] != '\0' && strchr(accept, s[n]) != NULL) n++;
  return n;
}
size_t strcspn(const char *s, const char *reject) {
  size_t n = 0;
  while (s[n] != '\0' && strchr(reject, s[n]) == NULL) n++;
  return n;
}

#endif
