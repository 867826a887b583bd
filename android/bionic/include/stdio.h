/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <stdio.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_STDIO_H_
#define SAMARA_BIONIC_STDIO_H_

#include <stdarg.h>
#include <stddef.h>

typedef struct __sFILE FILE;

int snprintf(char *restrict to, size_t n, const char *restrict format, ...)
    __attribute__((__format__(printf, 3, 4)));
int vsnprintf(char *restrict to, size_t n, const char *restrict format, va_list arguments)
    __attribute__((__format__(printf, 3, 0)));
int sscanf(const char *restrict text, const char *restrict format, ...)
    __attribute__((__format__(scanf, 2, 3)));
char *fgets(char *restrict to, int n, FILE *restrict file);
FILE *fopen(const char *restrict path, const char *restrict mode);
int fclose(FILE *file);
size_t fread(void *restrict to, size_t n, size_t count, FILE *restrict file);
size_t fwrite(const void *restrict from, size_t n, size_t count, FILE *restrict file);
int fflush(FILE *file);
int rename(const char *from, const char *to);
int remove(const char *path);

#endif
