// SPDX-License-Identifier: Apache-2.0
// Texts of messages: by the C library's printf, and without an operating system by an own one, as
// far as messages use it. A C library's brings 20 KB, locales and sometimes malloc to machines that
// have 64 KB of flash.
#ifndef SMR_BASE_FORMAT_H
#define SMR_BASE_FORMAT_H

#include "base/os.h"

#include <stdarg.h>
#include <stddef.h>
#if SMR_OS_USE_POSIX
#include <stdio.h>
#endif

/// Write `format` with its arguments into `text` of `size` bytes, cut to fit and NUL-terminated
/// (size 0: nothing), and return the length it has uncut. Takes %% %c %s %d %i %u %x %g, the sizes
/// l, ll and z, the flag 0, a width and a precision (a number or *); %g at most 9 digits. What the
/// own one does not know ends the text, and the last digit of its %g may be one off.
size_t smr_format_list(char *text, size_t size, const char *format, va_list arguments)
    SMR_PRINTF(3, 0);
/// The same for arguments.
#if SMR_OS_USE_POSIX
#define smr_format(text, size, ...) ((size_t)snprintf((text), (size), __VA_ARGS__))
#else
size_t smr_format(char *text, size_t size, const char *format, ...) SMR_PRINTF(3, 4);
#endif

#endif
