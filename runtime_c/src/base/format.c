// SPDX-License-Identifier: Apache-2.0
// Formatting of messages. The built-in formatter only uses integer arithmetic.
#if defined(__MINGW32__)
#define __USE_MINGW_ANSI_STDIO 1  // sizes as %zu
#endif
#include "base/fp.h"

#include "base/format.h"

#if !SMR_OS_USE_NONE

#include <stdio.h>

size_t smr_format_list(char *text, size_t size, const char *format, va_list arguments) {
  const int length = vsnprintf(text, size, format, arguments);
  if (length >= 0) return (size_t)length;
  if (size != 0) text[0] = '\0';
  return 0;
}

#else

#include <string.h>

enum { FORMAT_MAX_DIGITS = 9, FORMAT_DEFAULT_DIGITS = 6 };  // of %g

struct format_out {
  char *text;
  size_t size, length;  // length may exceed size
};

struct format_spec {
  bool zeros;  // fill the width with zeros
  size_t width;
  size_t precision;  // SIZE_MAX: not given
  char bytes;        // size: 'l', 'L' for ll, 'z' or 0
};

static void format_put(struct format_out *out, char c) {
  if (out->length + 1 < out->size) out->text[out->length] = c;
  out->length++;
}

static void format_fill(struct format_out *out, char c, size_t length, size_t width) {
  for (; length < width; length++) format_put(out, c);
}

// Digits, last one first. Returns their number.
static size_t format_digits(char *digits, uint64_t value, uint32_t base) {
  size_t count = 0;
  do {
    digits[count++] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  return count;
}

static void format_integer(struct format_out *out, const struct format_spec *spec, uint64_t value,
                           bool negative, uint32_t base) {
  char digits[20];  // enough for 2^64
  size_t count = format_digits(digits, value, base);
  const size_t length = count + negative;
  if (!spec->zeros) format_fill(out, ' ', length, spec->width);
  if (negative) format_put(out, '-');
  if (spec->zeros) format_fill(out, '0', length, spec->width);
  while (count > 0) format_put(out, digits[--count]);
}

static void format_string(struct format_out *out, const struct format_spec *spec, const char *s) {
  if (s == NULL) s = "(null)";
  size_t length = 0;
  while (length < spec->precision && s[length] != '\0') length++;
  format_fill(out, ' ', length, spec->width);
  for (size_t i = 0; i < length; i++) format_put(out, s[i]);
}

// ---- floats ----

// Number of digits of %g.
static size_t format_precision(const struct format_spec *spec) {
  if (spec->precision == SIZE_MAX) return FORMAT_DEFAULT_DIGITS;
  if (spec->precision == 0) return 1;
  return spec->precision < FORMAT_MAX_DIGITS ? spec->precision : FORMAT_MAX_DIGITS;
}

#if SMR_OS_USE_WEB

static void format_double(struct format_out *out, const struct format_spec *spec, double value) {
  char text[SMR_OS_NUMBER_BYTES];
  const struct format_spec plain = {.precision = SIZE_MAX};
  smr_os_format_number(text, value, format_precision(spec));
  format_string(out, &plain, text);
}

#else

static void format_normalize(uint64_t *m, int *e) {
  while (*m >> 63 == 0) {
    *m <<= 1;
    --*e;
  }
}

// m * 2^e as an integer of exactly `digits` decimal digits times 10^*decimal; m is not 0. Each step
// loses less than 2^-60 of the value, and there are at most 330 steps.
static uint32_t format_scale(uint64_t m, int e, size_t digits, int *decimal) {
  uint32_t end = 1;
  for (size_t i = 0; i < digits; i++) end *= 10;
  *decimal = 0;
  format_normalize(&m, &e);
  while (e > 0 || (e > -64 && m >> -e >= end)) {
    m /= 10;
    format_normalize(&m, &e);
    ++*decimal;
  }
  while (e < -63 || m >> -e < end / 10) {
    m = (m >> 4) * 10;
    e += 4;
    format_normalize(&m, &e);
    --*decimal;
  }
  const uint32_t whole = (uint32_t)(m >> -e);
  const uint64_t rest = e < 0 ? m << (64 + e) : 0, half = UINT64_C(1) << 63;
  const uint32_t rounded = whole + (rest > half || (rest == half && whole % 2 != 0));
  if (rounded < end) return rounded;
  ++*decimal;
  return rounded / 10;
}

// `whole` has `count` digits; the first one stands for 10^power.
static void format_decimal(struct format_out *out, uint32_t whole, size_t count, int power) {
  char digits[20];
  size_t skip = 0;
  format_digits(digits, whole, 10);
  while (skip + 1 < count && digits[skip] == '0') skip++;  // %g drops trailing zeros
  const bool plain = power >= -4 && power < (int)count;
  if (plain && power < 0) {
    format_put(out, '0');
    format_put(out, '.');
    for (int i = -1; i > power; i--) format_put(out, '0');
  }
  const size_t point = plain ? (size_t)(power < 0 ? -1 : power) : 0;  // last digit before it
  for (size_t i = 0; i < count; i++) {
    const bool needed = i < count - skip || (plain && power >= 0 && i <= point);
    if (needed) format_put(out, digits[count - 1 - i]);
    if (i == point && i + 1 < count - skip) format_put(out, '.');
  }
  if (plain) return;
  format_put(out, 'e');
  format_put(out, power < 0 ? '-' : '+');
  const struct format_spec two = {.zeros = true, .width = 2};
  format_integer(out, &two, (uint64_t)(power < 0 ? -power : power), false, 10);
}

static void format_double(struct format_out *out, const struct format_spec *spec, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int exponent = (int)(bits >> 52 & 0x7ff);
  uint64_t m = bits & ((UINT64_C(1) << 52) - 1);
  if (bits >> 63) format_put(out, '-');
  const struct format_spec plain = {.precision = SIZE_MAX};
  if (exponent == 0x7ff) {
    format_string(out, &plain, m != 0 ? "nan" : "inf");
  } else if (exponent == 0 && m == 0) {
    format_put(out, '0');
  } else {
    const size_t count = format_precision(spec);
    if (exponent != 0) m |= UINT64_C(1) << 52;
    int decimal;
    const uint32_t whole = format_scale(m, (exponent != 0 ? exponent : 1) - 1075, count, &decimal);
    format_decimal(out, whole, count, decimal + (int)count - 1);
  }
}

#endif

// ---- the format ----

// Reads digits or '*' at *at.
static size_t format_number(const char **at, va_list *arguments) {
  size_t number = 0;
  if (**at == '*') {
    ++*at;
    const int given = va_arg(*arguments, int);
    return given > 0 ? (size_t)given : 0;
  }
  for (; **at >= '0' && **at <= '9'; ++*at) number = number * 10 + (size_t)(**at - '0');
  return number;
}

static const char *format_read(const char *at, struct format_spec *spec, va_list *arguments) {
  *spec = (struct format_spec){.precision = SIZE_MAX};
  for (; *at == '0'; at++) spec->zeros = true;
  spec->width = format_number(&at, arguments);
  if (*at == '.') {
    at++;
    spec->precision = format_number(&at, arguments);
  }
  if (*at == 'z' || *at == 'l') spec->bytes = *at++;
  if (*at == 'l') {
    spec->bytes = 'L';
    at++;
  }
  return at;
}

static uint64_t format_unsigned(const struct format_spec *spec, va_list *arguments) {
  if (spec->bytes == 'z') return va_arg(*arguments, size_t);
  if (spec->bytes == 'l') return va_arg(*arguments, unsigned long);
  if (spec->bytes == 'L') return va_arg(*arguments, unsigned long long);
  return va_arg(*arguments, unsigned);
}

static int64_t format_signed(const struct format_spec *spec, va_list *arguments) {
  if (spec->bytes == 'z') return va_arg(*arguments, ptrdiff_t);
  if (spec->bytes == 'l') return va_arg(*arguments, long);
  if (spec->bytes == 'L') return va_arg(*arguments, long long);
  return va_arg(*arguments, int);
}

// Formats one conversion; false if it is none.
static bool format_one(struct format_out *out, char conversion, const struct format_spec *spec,
                       va_list *arguments) {
  switch (conversion) {
    case '%':
      format_put(out, '%');
      return true;
    case 'c':
      format_put(out, (char)va_arg(*arguments, int));
      return true;
    case 's':
      format_string(out, spec, va_arg(*arguments, const char *));
      return true;
    case 'd':
    case 'i': {
      const int64_t value = format_signed(spec, arguments);
      format_integer(out, spec, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, 10);
      return true;
    }
    case 'u':
    case 'x':
      format_integer(out, spec, format_unsigned(spec, arguments), false,
                     conversion == 'u' ? 10 : 16);
      return true;
    case 'g':
      format_double(out, spec, va_arg(*arguments, double));
      return true;
    default:
      return false;
  }
}

size_t smr_format_list(char *text, size_t size, const char *format, va_list given) {
  struct format_out out = {.text = text, .size = size};
  va_list arguments;  // a copy, because va_list may be an array type
  va_copy(arguments, given);
  for (const char *at = format; *at != '\0'; at++) {
    if (*at != '%') {
      format_put(&out, *at);
      continue;
    }
    struct format_spec spec;
    at = format_read(at + 1, &spec, &arguments);
    if (!format_one(&out, *at, &spec, &arguments)) break;
  }
  va_end(arguments);
  if (size != 0) text[out.length < size ? out.length : size - 1] = '\0';
  return out.length;
}

#endif

#if !SMR_OS_USE_POSIX
size_t smr_format(char *text, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t length = smr_format_list(text, size, format, arguments);
  va_end(arguments);
  return length;
}
#endif
