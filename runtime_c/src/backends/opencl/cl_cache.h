// SPDX-License-Identifier: Apache-2.0
// A cache of compiled programs on disk: one file per source, device and driver.
//
// Only its user should be able to write to the folder, because the driver executes these files.
// Files that are damaged, truncated, stale or of another device are ignored.
#ifndef SMR_BACKENDS_OPENCL_CL_CACHE_H
#define SMR_BACKENDS_OPENCL_CL_CACHE_H

#include "base/os.h"

#include <stddef.h>
#include <stdint.h>

enum { SMR_CL_CACHE_TEXTS = 4 };

/// What a compiled program, or a measurement, depends on.
struct smr_cl_cache_key {
  const char *folder;
  const char *texts[SMR_CL_CACHE_TEXTS];  // device, driver, platform, build options
  const char *source;
  size_t source_bytes;
};

/// The program's binary.
struct smr_cl_cache_entry {
  struct smr_os_file file;
  const unsigned char *binary;  // in it
  size_t binary_bytes;
};

/// False if there is no valid entry; else release it with smr_os_close(&out->file).
bool smr_cl_cache_read(const struct smr_cl_cache_key *key, const samara_allocator *allocator,
                       struct smr_cl_cache_entry *out);
samara_status smr_cl_cache_write(const struct smr_cl_cache_key *key, const unsigned char *binary,
                                 size_t binary_bytes, const samara_allocator *allocator,
                                 samara_error *error);

#endif
