// SPDX-License-Identifier: Apache-2.0
// The texts of kernels, for drivers that compile them.
#include "base/fp.h"

#include "backends/opencl/driver.h"
#include "base/parts.h"

enum { TEXTS_FIRST_PAIR = 0x80 };

// ISO C promises strings of 4095 characters; the compilers we know take any.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif
#include "backends/opencl/kernels/texts.inc"
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

size_t smr_cl_unpack(const char *text, char *out) {
  size_t length = 0;
  for (; *text != '\0'; text++) {
    const unsigned char byte = (unsigned char)*text;
    if (byte >= TEXTS_FIRST_PAIR) {
      const char *pair = cl_text_pairs[byte - TEXTS_FIRST_PAIR];
      length += smr_cl_unpack(pair, out != NULL ? out + length : NULL);
    } else {
      if (out != NULL) out[length] = *text;
      length++;
    }
  }
  return length;
}

const char *const smr_cl_dialect = cl_text_dialect;

const struct smr_cl_text smr_cl_texts[SMR_CL_KERNELS + 1] = {
#define SMR_CL_KERNEL(name, file, defines) \
  {#name, SMR_HAS(cl_##file) ? cl_text_##file : NULL, SMR_HAS(cl_##file) ? defines : ""},
#include "backends/opencl/kernels/rows.inc"
#undef SMR_CL_KERNEL
    {"", NULL, ""},
};
