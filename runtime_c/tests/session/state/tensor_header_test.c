// SPDX-License-Identifier: Apache-2.0
// Headers of files of named tensors: accepted ones, and refusals with their byte and reason.
#include "base/fp.h"

#include "session/state/tensor_header.h"

#include <stdlib.h>

#include "harness.h"

enum { DATA_BYTES = 24 };

// Reads a whole header from a block of exactly its size; the first row goes to *row, its name to
// `name`. The number of rows, or -1 with the status in error->status.
static int read_all(const char *text, samara_error *error, struct smr_header_row *first,
                    char *name) {
  const size_t size = strlen(text);
  char *exact = malloc(size != 0 ? size : 1);
  memcpy(exact, text, size);
  struct smr_header header;
  struct smr_header_row row;
  bool found = true;
  int rows = 0;
  *error = (samara_error){SAMARA_OK, ""};
  samara_status status = smr_header_open(&header, exact, size, DATA_BYTES, error);
  while (status == SAMARA_OK && found) {
    status = smr_header_next(&header, &row, &found);
    if (status != SAMARA_OK || !found) continue;
    if (rows++ == 0) {
      *first = row;
      snprintf(name, 100, "%s", row.name);
    }
  }
  free(exact);
  CHECK_EQ_INT(error->status, status);
  return status == SAMARA_OK ? rows : -1;
}

#define ROW "\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]"

SMR_TEST(headers_are_read) {
  static const struct {
    const char *text, *name;
    int rows;
  } table[] = {
      {"{}", "", 0},
      {" { } ", "", 0},
      {"{\"w\":{" ROW "}}", "w", 1},
      {"{\"w\" :\n{\t\"shape\" : [ 2 , 3 ] ,\r\"data_offsets\":[ 0 ,24], \"dtype\":\"F32\" } }   ",
       "w", 1},
      {"{\"__metadata__\":{},\"w\":{" ROW "}}", "w", 1},
      {"{\"w\":{" ROW "},\"__metadata__\":{\"a\":\"b\\u0041\",\"\":\"\"}}", "w", 1},
      {"{\"__metadata__\":{\"a\":\"b\"}}", "", 0},
      {"{\"\":{" ROW "}}", "", 1},
      {"{\"a.b\\\"\\\\\\/\\b\\f\\n\\r\\t\":{" ROW "}}", "a.b\"\\/\b\f\n\r\t", 1},
      {"{\"\\u00e9\\u20AC\\ud83d\\ude00\":{" ROW "}}", "\u00e9\u20ac\U0001f600", 1},
      {"{\"\u00e9\u20ac\U0001f600\":{" ROW "}}", "\u00e9\u20ac\U0001f600", 1},
      {"{\"a\":{" ROW "},\"a\":{" ROW "}}", "a", 2},  // for the caller to see
      {"{\"0\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[16,24]}}", "0", 1},
      {"{\"e\":{\"dtype\":\"F16\",\"shape\":[0,9223372036854775807,99],\"data_offsets\":[5,5]}}",
       "e", 1},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct smr_header_row row = {0};
    char name[100] = "";
    samara_error error;
    if (!CHECK_EQ_INT(read_all(table[i].text, &error, &row, name), table[i].rows) ||
        !CHECK_STR(name, table[i].name))
      fprintf(stderr, "  %s\n  %s\n", table[i].text, error.text);
  }
}

SMR_TEST(rows_say_dtype_dims_and_place) {
  static const struct {
    const char *name;
    int dtype;
    int bytes;
  } table[] = {{"F32", SAMARA_FLOAT32, 4}, {"F16", SAMARA_FLOAT16, 2}, {"I8", SAMARA_INT8, 1},
               {"U8", SAMARA_UINT8, 1},    {"I32", SAMARA_INT32, 4},   {"I64", SAMARA_INT64, 8},
               {"BOOL", SAMARA_BOOL, 1},   {"F64", SAMARA_FLOAT64, 8}, {"BF16", SAMARA_BFLOAT16, 2},
               {"I16", SAMARA_INT16, 2},   {"U16", SAMARA_UINT16, 2},  {"U32", SAMARA_UINT32, 4},
               {"U64", SAMARA_UINT64, 8}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char text[200], name[100];
    snprintf(text, sizeof text,
             "{\"x\":{\"dtype\":\"%s\",\"shape\":[1,3],\"data_offsets\":[0,%d]}}", table[i].name,
             3 * table[i].bytes);
    struct smr_header_row row = {0};
    samara_error error;
    CHECK_EQ_INT(read_all(text, &error, &row, name), 1);
    CHECK_EQ_INT(row.dtype, table[i].dtype);
    CHECK_EQ_INT(row.rank, 2);
    CHECK(row.dims[0] == 1 && row.dims[1] == 3);
    CHECK_EQ_INT(row.end, 3 * table[i].bytes);
    CHECK_STR(smr_header_dtype_name((uint8_t)table[i].dtype), table[i].name);
  }
  CHECK_STR(smr_header_dtype_name(SAMARA_QINT8), "I8");
  CHECK_STR(smr_header_dtype_name(99), "?");
}

SMR_TEST(damage_is_refused) {
  static const struct {
    const char *text, *why;
  } table[] = {
      {"", "byte 0: expected {"},
      {"[]", "byte 0: expected {"},
      {"{", "byte 1: expected \""},
      {"{,}", "expected \""},
      {"{}x", "byte 2: extra characters after the last }"},
      {"{} {}", "byte 3: extra characters"},
      {"{\"w\"}", "byte 4: expected :"},
      {"{\"w\":1}", "expected {"},
      {"{\"w\":{}}", "expected \""},
      {"{\"w\":{" ROW "}", "expected }"},
      {"{\"w\":{" ROW "},}", "expected \""},
      {"{\"w\":{" ROW "}\"v\":{" ROW "}}", "expected }"},
      {"{\"w\":{" ROW ",}}", "expected \""},
      {"{\"w\":{" ROW "", "expected }"},
      {"{\"w\":{" ROW ",\"dtype\":\"F32\"}}", "each once"},
      {"{\"w\":{" ROW ",\"more\":1}}", "each once"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3]}}", "each once"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0]}}", "expected ,"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24,24]}}", "expected ]"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,],\"data_offsets\":[0,24]}}", "whole number"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[-6],\"data_offsets\":[0,24]}}", "whole number"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[6.0],\"data_offsets\":[0,24]}}", "expected ]"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[6e0],\"data_offsets\":[0,24]}}", "expected ]"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[06],\"data_offsets\":[0,24]}}", "begins with 0"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,18446744073709551640]}}",
       "too large"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808],\"data_offsets\":[0,24]}}",
       "too large"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967297],\"data_offsets\":[0,24]}}",
       "tensor 'w' is too large"},
      {"{\"w\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}",
       "more than 8 dims"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[7],\"data_offsets\":[0,28]}}",
       "tensor 'w' is bytes 0 to 28 of 24"},
      {"{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,2]}}", "is bytes 3 to 2"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,23]}}",
       "has 23 bytes, its shape needs 24"},
      {"{\"w\":{\"dtype\":1,\"shape\":[2,3],\"data_offsets\":[0,24]}}", "expected \""},
      {"{\"w", "a text without end"},
      {"{\"w\\", "an escape"},
      {"{\"\\x\":{" ROW "}}", "an escape"},
      {"{\"\\u12\":{" ROW "}}", "four hexadecimal"},
      {"{\"\\u0000\":{" ROW "}}", "a NUL"},
      {"{\"\\ud800\":{" ROW "}}", "half a surrogate"},
      {"{\"\\ud800\\u0041\":{" ROW "}}", "half a surrogate"},
      {"{\"\\udc00\":{" ROW "}}", "half a surrogate"},
      {"{\"a\nb\":{" ROW "}}", "a control character"},
      {"{\"\xff\":{" ROW "}}", "not UTF-8"},
      {"{\"\xc0\xaf\":{" ROW "}}", "not UTF-8"},
      {"{\"\xe0\x80\xaf\":{" ROW "}}", "not UTF-8"},
      {"{\"\xed\xa0\x80\":{" ROW "}}", "not UTF-8"},
      {"{\"\xf0\x80\x80\xaf\":{" ROW "}}", "not UTF-8"},
      {"{\"\xf4\x90\x80\x80\":{" ROW "}}", "not UTF-8"},
      {"{\"\xe2\x82", "not UTF-8"},
      {"{\"\xe2\x82\":{" ROW "}}", "not UTF-8"},
      {"{\"__metadata__\":{\"a\":1}}", "expected \""},
      {"{\"__metadata__\":{\"a\":\"b\"},\"__metadata__\":{}}", "a second __metadata__"},
      {"{\"__metadata__\":\"text\"}", "expected {"},
      {"{\"__metadata__\":{\"a\":\"b\"", "expected }"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct smr_header_row row = {0};
    char name[100] = "";
    samara_error error;
    if (!CHECK_EQ_INT(read_all(table[i].text, &error, &row, name), -1) ||
        !CHECK_EQ_INT(error.status, SAMARA_BAD_MODEL) || !CHECK_CONTAINS(error.text, table[i].why))
      fprintf(stderr, "  %s\n", table[i].text);
  }
}

SMR_TEST(dtypes_that_samara_lacks) {
  static const char *names[] = {"C64", "F4", "I4", "F8_E4M3", "", "f32"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[200], name[100] = "";
    snprintf(text, sizeof text, "{\"x\":{\"dtype\":\"%s\",\"shape\":[1],\"data_offsets\":[0,1]}}",
             names[i]);
    struct smr_header_row row = {0};
    samara_error error;
    CHECK_EQ_INT(read_all(text, &error, &row, name), -1);
    CHECK_EQ_INT(error.status, SAMARA_UNSUPPORTED);
    CHECK_CONTAINS(error.text, "tensor 'x' is ");
  }
}

SMR_TEST_MAIN(RUN(headers_are_read); RUN(rows_say_dtype_dims_and_place); RUN(damage_is_refused);
              RUN(dtypes_that_samara_lacks))
