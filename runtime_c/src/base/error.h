/* SPDX-License-Identifier: Apache-2.0 */
/* Error reporting: every failure writes one text and returns one status. */
#ifndef SMR_BASE_ERROR_H_
#define SMR_BASE_ERROR_H_

#include "base/fp.h"

#include <samara/samara.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(SMR_TEXT_PAIRS)
#define SMR_PRINTF(fmt, first)  // formats are packed (error.c)
#elif defined(__MINGW32__)
#define SMR_PRINTF(fmt, first) __attribute__((format(gnu_printf, fmt, first)))
#elif defined(__GNUC__)
#define SMR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define SMR_PRINTF(fmt, first)
#endif

/// Write `status` and a printf-formatted text (cut to fit) into `error`, which may be NULL. Returns
/// `status`.
#define smr_fail(error, status, ...) smr_report((error), (unsigned)(status), __VA_ARGS__)

/// Prefix the text in `error` with a formatted text, for callers that know the place (function,
/// node).
#define smr_fail_prefix(error, status, ...) \
  smr_report((error), (unsigned)(status) | SMR_REPORT_KEEPS, __VA_ARGS__)

/// Added to a status: keep the present text after the new one. A flag instead of a parameter,
/// because a build has hundreds of calls.
enum { SMR_REPORT_KEEPS = 1 << 16 };

/// Both of the above. Returns the status without SMR_REPORT_KEEPS.
samara_status smr_report(samara_error *error, unsigned status_and_keeps, const char *format, ...)
    SMR_PRINTF(3, 4);

/// Converts a float for %g.
#if defined(SMR_BARE_METAL)
// Builds the double without floating-point arithmetic, which small cores do in software. Subnormals
// print as 0.
static inline double smr_g(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t exponent = bits >> 23 & 0xff;
  const uint64_t wide = exponent == 0xff ? 0x7ff : exponent == 0 ? 0 : exponent + 1023 - 127;
  const uint64_t fraction = exponent == 0 ? 0 : (uint64_t)(bits & 0x7fffff) << 29;
  const uint64_t whole = (uint64_t)(bits >> 31) << 63 | wide << 52 | fraction;
  double shown;
  memcpy(&shown, &whole, sizeof shown);
  return shown;
}
#else
static inline double smr_g(float value) { return (double)value; }
#endif

/// Return from the calling function with a failure.
#define SMR_FAIL(error, CODE, ...) return smr_fail((error), SAMARA_##CODE, __VA_ARGS__)

/// Forward a failure.
#define SMR_TRY(call)                                         \
  do {                                                        \
    const samara_status smr_try_status_ = (call);             \
    if (smr_try_status_ != SAMARA_OK) return smr_try_status_; \
  } while (0)

#endif /* SMR_BASE_ERROR_H_ */
