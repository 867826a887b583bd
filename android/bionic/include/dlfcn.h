/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <dlfcn.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_DLFCN_H_
#define SAMARA_BIONIC_DLFCN_H_

#define RTLD_LOCAL 0
#if defined(__LP64__)
#define RTLD_NOW 2
#define RTLD_GLOBAL 0x100
#else
#define RTLD_NOW 0
#define RTLD_GLOBAL 2
#endif
#define RTLD_LAZY 1
#define RTLD_NODELETE 0x1000
#define RTLD_DEFAULT ((void *)0)

typedef struct {
  const char *dli_fname;
  void *dli_fbase;
  const char *dli_sname;
  void *dli_saddr;
} Dl_info;

void *dlopen(const char *path, int flags);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
char *dlerror(void);
int dladdr(const void *address, Dl_info *info);

#endif
