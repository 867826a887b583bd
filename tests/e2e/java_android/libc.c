// SPDX-License-Identifier: Apache-2.0
/// What Android's C library and log have that a desktop's has not, under its own names: so that a
/// library for x86-64 Android runs on a desktop of that CPU.
#include <errno.h>
#include <stdio.h>

int *__errno(void);
int *__errno(void) { return &errno; }

int __android_log_write(int priority, const char *tag, const char *text);
int __android_log_write(int priority, const char *tag, const char *text) {
  return printf("log %d %s: %s\n", priority, tag, text);
}
