// SPDX-License-Identifier: Apache-2.0
// Formatting of messages: by the C library's printf, or without an operating system by a built-in
// formatter for what messages use. The C library's brings 20 KB, locales and sometimes malloc to
// machines with 64 KB of flash.
#ifndef SMR_BASE_FORMAT_H
#define SMR_BASE_FORMAT_H

#include "base/os.h"

#include <stdarg.h>
#include <stddef.h>
#if SMR_OS_USE_POSIX
#include <stdio.h>
#endif

/// Write `format` with its arguments to `text` of `size` bytes, cut to fit and NUL-terminated (size
/// 0: nothing). Returns the length without the cut. Supports %% %c %s %d %i %u %x %g, the sizes l,
/// ll and z, the flag 0, a width and a precision (a number or *); %g prints at most 9 digits. In
/// the built-in formatter an unknown conversion ends the text, and the last digit of %g may be off
/// by one.
size_t smr_format_list(char *text, size_t size, const char *format, va_list arguments)
    SMR_PRINTF(3, 0);
/// The same with variable arguments.
#if SMR_OS_USE_POSIX
#define smr_format(text, size, ...) ((size_t)snprintf((text), (size), __VA_ARGS__))
#else
size_t smr_format(char *text, size_t size, const char *format, ...) SMR_PRINTF(3, 4);
#endif

#endif
