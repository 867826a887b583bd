/* SPDX-License-Identifier: Apache-2.0 */
/* Error reporting: every failure writes one text and returns one status. */
#ifndef SMR_BASE_ERROR_H_
#define SMR_BASE_ERROR_H_

#include "base/fp.h"

#include <samara/samara.h>

#include <stdbool.h>

#if defined(__MINGW32__)
#define SMR_PRINTF(fmt, first) __attribute__((format(gnu_printf, fmt, first)))
#elif defined(__GNUC__)
#define SMR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define SMR_PRINTF(fmt, first)
#endif

/// Write `status` and a printf-formatted text (cut to fit) into `error`, which may be NULL. Returns
/// `status`.
#define smr_fail(error, status, ...) smr_report((error), (status), false, __VA_ARGS__)

/// Prefix the text in `error` with a formatted text; used by callers that know where (function,
/// node).
#define smr_fail_prefix(error, status, ...) smr_report((error), (status), true, __VA_ARGS__)

/// Both: `keeps` the text that is there, after the new one.
samara_status smr_report(samara_error *error, samara_status status, bool keeps, const char *format,
                         ...) SMR_PRINTF(4, 5);

/// Return from the calling function with a failure.
#define SMR_FAIL(error, CODE, ...) return smr_fail((error), SAMARA_##CODE, __VA_ARGS__)

/// Forward a failure.
#define SMR_TRY(call)                                         \
  do {                                                        \
    const samara_status smr_try_status_ = (call);             \
    if (smr_try_status_ != SAMARA_OK) return smr_try_status_; \
  } while (0)

#endif /* SMR_BASE_ERROR_H_ */
