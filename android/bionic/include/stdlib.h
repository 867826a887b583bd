/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <stdlib.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_STDLIB_H_
#define SAMARA_BIONIC_STDLIB_H_

#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

void *malloc(size_t n);
void *calloc(size_t count, size_t n);
void *realloc(void *block, size_t n);
void free(void *block);
int posix_memalign(void **block, size_t alignment, size_t n);
void abort(void) __attribute__((__noreturn__));
char *getenv(const char *name);
int abs(int value);
long labs(long value);
long strtol(const char *restrict text, char **restrict end, int base);
unsigned long strtoul(const char *restrict text, char **restrict end, int base);
long long strtoll(const char *restrict text, char **restrict end, int base);
unsigned long long strtoull(const char *restrict text, char **restrict end, int base);
double strtod(const char *restrict text, char **restrict end);
float strtof(const char *restrict text, char **restrict end);
int atoi(const char *text);
void qsort(void *base, size_t count, size_t n, int (*order)(const void *, const void *));

#endif
