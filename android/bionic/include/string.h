/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <string.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_STRING_H_
#define SAMARA_BIONIC_STRING_H_

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *bytes, int value, size_t n);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *text, int value);
char *strrchr(const char *text, int value);
char *strstr(const char *text, const char *part);
char *strcpy(char *restrict to, const char *restrict from);
char *strncpy(char *restrict to, const char *restrict from, size_t n);
size_t strspn(const char *text, const char *accept);
size_t strcspn(const char *text, const char *reject);
char *strerror(int number);

#endif
