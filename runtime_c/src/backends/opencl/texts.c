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

size_t smr_cl_unpack(const char *text, char *out) {
  char seconds[TEXTS_PAIRS];  // of open pairs; a pair consists of pairs that were made before it
  size_t length = 0, open = 0;
  for (char byte = *text; byte != '\0';) {
    const unsigned char pair = (unsigned char)(byte - TEXTS_FIRST_PAIR);
    if (pair < TEXTS_PAIRS && byte != '\n') {
      byte = cl_text_pairs[2 * pair];
      seconds[open++] = cl_text_pairs[2 * pair + 1];
      continue;
    }
    if (out != NULL) out[length] = byte;
    length++;
    byte = open > 0 ? seconds[--open] : *++text;
  }
  return length;
}

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
