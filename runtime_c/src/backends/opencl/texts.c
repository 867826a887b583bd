// SPDX-License-Identifier: Apache-2.0
// Unpacks the texts of kernels, for drivers that compile them.
#include "base/fp.h"

#include "backends/opencl/driver.h"
#include "base/parts.h"

enum {
  // A byte b is a pair where (unsigned char)(b - TEXTS_FIRST_PAIR) is less than TEXTS_PAIRS: 0x7f
  // to 0xff, then up to 0x1f, but for the end of a line and that of a text.
  TEXTS_FIRST_PAIR = 0x7f,
  TEXTS_PAIRS = 0x120 - TEXTS_FIRST_PAIR
};

// ISO C only guarantees strings of 4095 characters; known compilers have no limit.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif
#include "backends/opencl/kernels/texts.inc"
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

// Up to `count` bytes, or to the end of the text.
static size_t texts_unpack(const char *text, size_t count, char *out) {
  size_t length = 0;
  for (; count > 0 && *text != '\0'; text++, count--) {
    const unsigned char pair = (unsigned char)(*text - TEXTS_FIRST_PAIR);
    char *to = out != NULL ? out + length : NULL;
    if (pair < TEXTS_PAIRS && *text != '\n') {
      length += texts_unpack(cl_text_pairs + 2 * pair, 2, to);
    } else {
      if (to != NULL) *to = *text;
      length++;
    }
  }
  return length;
}

size_t smr_cl_unpack(const char *text, char *out) { return texts_unpack(text, SIZE_MAX, out); }

const char *const smr_cl_dialect = cl_text_dialect;

// Elements of 8 bytes are also moved as integers.
const char *const smr_cl_integers =
    SMR_HAS(type_int8) || SMR_HAS(type_qint8) || SMR_HAS(type_uint8) || SMR_HAS(type_int16) ||
            SMR_HAS(type_uint16) || SMR_HAS(type_int32) || SMR_HAS(type_uint32) ||
            SMR_HAS(type_int64) || SMR_HAS(type_uint64) || SMR_HAS(type_bool) ||
            SMR_HAS(type_float64)
        ? cl_text_integers
        : NULL;

const struct smr_cl_text smr_cl_texts[SMR_CL_KERNELS + 1] = {
#define SMR_CL_KERNEL(name, file, defines) \
  {#name, SMR_HAS(cl_##file) ? cl_text_##file : NULL, SMR_HAS(cl_##file) ? defines : ""},
#include "backends/opencl/kernels/rows.inc"
#undef SMR_CL_KERNEL
    {"", NULL, ""},
};
