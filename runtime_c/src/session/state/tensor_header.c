// SPDX-License-Identifier: Apache-2.0
// Reads the JSON header of a file of named tensors: a fixed grammar, no recursion, no allocation.
#include "base/fp.h"

#include "session/state/tensor_header.h"

#include <string.h>

#include "base/checked.h"
#include "ops/op.h"

static const struct {
  char name[5];
  uint8_t dtype;
} header_dtypes[] = {
    {"F32", SAMARA_FLOAT32}, {"F16", SAMARA_FLOAT16}, {"I8", SAMARA_INT8},
    {"U8", SAMARA_UINT8},    {"I32", SAMARA_INT32},   {"I64", SAMARA_INT64},
    {"BOOL", SAMARA_BOOL},   {"F64", SAMARA_FLOAT64}, {"BF16", SAMARA_BFLOAT16},
    {"I16", SAMARA_INT16},   {"U16", SAMARA_UINT16},  {"U32", SAMARA_UINT32},
    {"U64", SAMARA_UINT64},  {"I8", SAMARA_QINT8},  // read as the first dtype of that name
};

const char *smr_header_dtype_name(uint8_t dtype) {
  for (size_t i = 0; i < sizeof header_dtypes / sizeof *header_dtypes; i++)
    if (header_dtypes[i].dtype == dtype) return header_dtypes[i].name;
  return "?";
}

static samara_status header_fail(const struct smr_header *h, const char *what) {
  SMR_FAIL(h->error, BAD_MODEL, "state header, byte %zu: %s", (size_t)(h->at - h->text), what);
}

// ---- JSON tokens ----

static void header_space(struct smr_header *h) {
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t' || *h->at == '\r'))
    h->at++;
}

static bool header_take(struct smr_header *h, char c) {
  header_space(h);
  if (h->at == h->end || *h->at != c) return false;
  h->at++;
  return true;
}

static samara_status header_expect(struct smr_header *h, char c) {
  const char what[] = {'e', 'x', 'p', 'e', 'c', 't', 'e', 'd', ' ', c, '\0'};
  return header_take(h, c) ? SAMARA_OK : header_fail(h, what);
}

// A number without sign, fraction or exponent.
static samara_status header_number(struct smr_header *h, uint64_t *out) {
  header_space(h);
  const char *start = h->at;
  uint64_t value = 0;
  for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
    if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*h->at - '0'), &value))
      return header_fail(h, "a number that is too large");
  if (h->at == start) return header_fail(h, "expected a whole number");
  if (*start == '0' && h->at > start + 1) return header_fail(h, "a number that begins with 0");
  *out = value;
  return SAMARA_OK;
}

// Bytes of the UTF-8 character at `at`; 0 if it is invalid (RFC 3629).
static size_t header_character(const uint8_t *at, const uint8_t *end) {
  const size_t left = (size_t)(end - at);
  const size_t bytes = at[0] < 0x80   ? 1
                       : at[0] < 0xc2 ? 0
                       : at[0] < 0xe0 ? 2
                       : at[0] < 0xf0 ? 3
                       : at[0] < 0xf5 ? 4
                                      : 0;
  if (bytes > left) return 0;
  for (size_t i = 1; i < bytes; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  if (at[0] == 0xe0 && at[1] < 0xa0) return 0;  // overlong
  if (at[0] == 0xed && at[1] > 0x9f) return 0;  // a surrogate
  if (at[0] == 0xf0 && at[1] < 0x90) return 0;
  if (at[0] == 0xf4 && at[1] > 0x8f) return 0;  // above U+10FFFF
  return bytes;
}

static char *header_encode(char *to, uint32_t c) {
  if (c < 0x80) {
    *to++ = (char)c;
  } else if (c < 0x800) {
    *to++ = (char)(0xc0 | c >> 6);
    *to++ = (char)(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *to++ = (char)(0xe0 | c >> 12);
    *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    *to++ = (char)(0x80 | (c & 0x3f));
  } else {
    *to++ = (char)(0xf0 | c >> 18);
    *to++ = (char)(0x80 | (c >> 12 & 0x3f));
    *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    *to++ = (char)(0x80 | (c & 0x3f));
  }
  return to;
}

// The four hexadecimal digits after \u.
static samara_status header_hex(struct smr_header *h, uint32_t *out) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++, h->at++) {
    const char c = h->at < h->end ? *h->at : '\0';
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return header_fail(h, "expected four hexadecimal digits");
    value = value * 16 + (uint32_t)digit;
  }
  *out = value;
  return SAMARA_OK;
}

// Decode an escape in place: its UTF-8 is never longer than the escape.
static samara_status header_escape(struct smr_header *h, char **to) {
  static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  const char c = h->at < h->end ? *h->at : '\0';
  const char *letter = c != '\0' ? strchr(letters, c) : NULL;
  if (letter != NULL) {
    h->at++;
    *(*to)++ = meanings[letter - letters];
    return SAMARA_OK;
  }
  if (c != 'u') return header_fail(h, "an escape that JSON does not have");
  h->at++;
  uint32_t code, low;
  SMR_TRY(header_hex(h, &code));
  if (code >= 0xd800 && code < 0xdc00 && h->end - h->at >= 2 && h->at[0] == '\\' &&
      h->at[1] == 'u') {
    h->at += 2;
    SMR_TRY(header_hex(h, &low));
    if (low < 0xdc00 || low > 0xdfff) return header_fail(h, "half a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (code >= 0xd800 && code <= 0xdfff) return header_fail(h, "half a surrogate pair");
  if (code == 0) return header_fail(h, "a NUL in a text");
  *to = header_encode(*to, code);
  return SAMARA_OK;
}

// Decode a string in place.
static samara_status header_string(struct smr_header *h, const char **out) {
  SMR_TRY(header_expect(h, '"'));
  char *to = h->at;
  *out = to;
  for (;;) {
    if (h->at == h->end) return header_fail(h, "a text without end");
    if (*h->at == '"') break;
    if ((uint8_t)*h->at < 0x20) return header_fail(h, "a control character in a text");
    if (*h->at == '\\') {
      h->at++;
      SMR_TRY(header_escape(h, &to));
      continue;
    }
    size_t bytes = header_character((const uint8_t *)h->at, (const uint8_t *)h->end);
    if (bytes == 0) return header_fail(h, "a text that is not UTF-8");
    for (; bytes > 0; bytes--) *to++ = *h->at++;
  }
  h->at++;
  *to = '\0';
  return SAMARA_OK;
}

// ---- rows ----

static samara_status header_metadata(struct smr_header *h) {
  if (h->metadata) return header_fail(h, "a second " SMR_HEADER_METADATA);
  h->metadata = true;
  SMR_TRY(header_expect(h, '{'));
  if (header_take(h, '}')) return SAMARA_OK;
  do {
    const char *ignored;
    SMR_TRY(header_string(h, &ignored));
    SMR_TRY(header_expect(h, ':'));
    SMR_TRY(header_string(h, &ignored));
  } while (header_take(h, ','));
  return header_expect(h, '}');
}

static samara_status header_dtype(struct smr_header *h, struct smr_header_row *row) {
  const char *name;
  SMR_TRY(header_string(h, &name));
  for (size_t i = 0; i < sizeof header_dtypes / sizeof *header_dtypes; i++) {
    if (strcmp(header_dtypes[i].name, name) != 0) continue;
    row->dtype = header_dtypes[i].dtype;
    return SAMARA_OK;
  }
  SMR_FAIL(h->error, UNSUPPORTED,
           "state header: tensor '%s' is %s; variables are F32, F16, I8, U8, I32, I64 or BOOL",
           row->name, name);
}

static samara_status header_shape(struct smr_header *h, struct smr_header_row *row) {
  row->rank = 0;
  SMR_TRY(header_expect(h, '['));
  if (header_take(h, ']')) return SAMARA_OK;
  do {
    uint64_t dim;
    SMR_TRY(header_number(h, &dim));
    if (row->rank == SAMARA_MAX_RANK) return header_fail(h, "a tensor of more than 8 dims");
    if (dim > INT64_MAX) return header_fail(h, "a number that is too large");
    row->dims[row->rank++] = (int64_t)dim;
  } while (header_take(h, ','));
  return header_expect(h, ']');
}

static samara_status header_offsets(struct smr_header *h, struct smr_header_row *row) {
  SMR_TRY(header_expect(h, '['));
  SMR_TRY(header_number(h, &row->begin));
  SMR_TRY(header_expect(h, ','));
  SMR_TRY(header_number(h, &row->end));
  return header_expect(h, ']');
}

// Check that the bytes are inside the data and match the dims.
static samara_status header_check(const struct smr_header *h, const struct smr_header_row *row) {
  uint64_t bytes = smr_dtype_bytes(row->dtype);
  bool empty = false;
  for (uint32_t i = 0; i < row->rank; i++) empty = empty || row->dims[i] == 0;
  for (uint32_t i = 0; !empty && i < row->rank; i++)
    if (__builtin_mul_overflow(bytes, (uint64_t)row->dims[i], &bytes))
      SMR_FAIL(h->error, BAD_MODEL, "state header: tensor '%s' is too large", row->name);
  if (empty) bytes = 0;
  if (row->begin > row->end || row->end > h->data_bytes)
    SMR_FAIL(h->error, BAD_MODEL,
             "state header: tensor '%s' is bytes %llu to %llu of %llu bytes of data", row->name,
             (unsigned long long)row->begin, (unsigned long long)row->end,
             (unsigned long long)h->data_bytes);
  if (row->end - row->begin != bytes)
    SMR_FAIL(h->error, BAD_MODEL, "state header: tensor '%s' has %llu bytes, its shape needs %llu",
             row->name, (unsigned long long)(row->end - row->begin), (unsigned long long)bytes);
  return SAMARA_OK;
}

static samara_status header_row(struct smr_header *h, struct smr_header_row *row) {
  enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
  unsigned seen = 0;
  SMR_TRY(header_expect(h, '{'));
  do {
    const char *key;
    SMR_TRY(header_string(h, &key));
    const unsigned which = strcmp(key, "dtype") == 0          ? DTYPE
                           : strcmp(key, "shape") == 0        ? SHAPE
                           : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                              : 0;
    if (which == 0 || (seen & which) != 0)
      return header_fail(h, "expected dtype, shape and data_offsets, each once");
    seen |= which;
    SMR_TRY(header_expect(h, ':'));
    if (which == DTYPE)
      SMR_TRY(header_dtype(h, row));
    else if (which == SHAPE)
      SMR_TRY(header_shape(h, row));
    else
      SMR_TRY(header_offsets(h, row));
  } while (header_take(h, ','));
  SMR_TRY(header_expect(h, '}'));
  if (seen != ALL) return header_fail(h, "expected dtype, shape and data_offsets, each once");
  return header_check(h, row);
}

samara_status smr_header_open(struct smr_header *header, char *text, size_t size_bytes,
                              uint64_t data_bytes, samara_error *error) {
  *header = (struct smr_header){
      .text = text, .at = text, .end = text + size_bytes, .data_bytes = data_bytes, .error = error};
  return header_expect(header, '{');
}

samara_status smr_header_next(struct smr_header *header, struct smr_header_row *row, bool *found) {
  for (;;) {
    const bool first = !header->started;
    header->started = true;
    if (first ? header_take(header, '}') : !header_take(header, ',')) {
      if (!first) SMR_TRY(header_expect(header, '}'));
      header_space(header);
      if (header->at != header->end)
        return header_fail(header, "extra characters after the last }");
      *found = false;
      return SAMARA_OK;
    }
    *row = (struct smr_header_row){0};
    SMR_TRY(header_string(header, &row->name));
    SMR_TRY(header_expect(header, ':'));
    if (strcmp(row->name, SMR_HEADER_METADATA) != 0) {
      *found = true;
      return header_row(header, row);
    }
    SMR_TRY(header_metadata(header));
  }
}
