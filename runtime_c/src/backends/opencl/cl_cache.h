// SPDX-License-Identifier: Apache-2.0
// Compiled programs on disk: one file for each source, device and driver.
//
// The folder should be one that only its user can write: a file that somebody made with care is run
// as code by the driver. What is broken, cut, stale or of another device is ignored.
#ifndef SMR_BACKENDS_OPENCL_CL_CACHE_H
#define SMR_BACKENDS_OPENCL_CL_CACHE_H

#include "base/os.h"

#include <stddef.h>
#include <stdint.h>

enum { SMR_CL_CACHE_TEXTS = 4 };

/// What a compiled program depends on, or what was measured.
struct smr_cl_cache_key {
  const char *folder;
  const char *texts[SMR_CL_CACHE_TEXTS];  // device, driver, platform, build options
  const char *source;
  size_t source_bytes;
};

/// The program's binary in memory of the allocator.
struct smr_cl_cache_entry {
  struct smr_os_file file;
  const unsigned char *binary;  // in it
  size_t binary_bytes;
};

/// False when there is none that can be used; else give it back by smr_os_close(&out->file).
bool smr_cl_cache_read(const struct smr_cl_cache_key *key, const samara_allocator *allocator,
                       struct smr_cl_cache_entry *out);
samara_status smr_cl_cache_write(const struct smr_cl_cache_key *key, const unsigned char *binary,
                                 size_t binary_bytes, const samara_allocator *allocator,
                                 samara_error *error);

#endif
