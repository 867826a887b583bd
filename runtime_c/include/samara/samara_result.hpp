/* SPDX-License-Identifier: Apache-2.0 */
/* How functions of samara.hpp report failures: by exceptions, or by return values in programs
 * compiled without exceptions (-fno-exceptions, or SAMARA_EXCEPTIONS defined as 0). */
#ifndef SAMARA_SAMARA_RESULT_HPP_
#define SAMARA_SAMARA_RESULT_HPP_

#include <samara/samara.h>

#include <cstdio>
#include <utility>

#if !defined(SAMARA_EXCEPTIONS)
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define SAMARA_EXCEPTIONS 1
#else
#define SAMARA_EXCEPTIONS 0
#endif
#endif
#if SAMARA_EXCEPTIONS
#include <exception>
#endif

/* Different namespaces, so that one program may contain files compiled both ways. */
#if SAMARA_EXCEPTIONS
#define SAMARA_HPP_BEGIN
#define SAMARA_HPP_END
#else
#define SAMARA_HPP_BEGIN inline namespace returning {
#define SAMARA_HPP_END }
#endif

namespace samara {
SAMARA_HPP_BEGIN

/* Why a call failed. Without exceptions, a status of SAMARA_OK means that it did not. */
class Error
#if SAMARA_EXCEPTIONS
    : public std::exception
#endif
{
 public:
  explicit Error(const samara_error &error) noexcept : error_(error) {}
  Error(samara_status status, const char *text) noexcept {
    error_.status = status;
    std::snprintf(error_.text, sizeof error_.text, "%s",
                  text[0] != '\0' ? text : samara_status_text(status));
  }
  samara_status status() const noexcept { return error_.status; }
#if SAMARA_EXCEPTIONS
  const char *what() const noexcept override { return error_.text; }
#else
  Error() noexcept {
    error_.status = SAMARA_OK;
    error_.text[0] = '\0';
  }
  const char *what() const noexcept { return error_.text; }
  operator samara_status() const noexcept { return error_.status; }
#endif

 private:
  samara_error error_;
};

/* SAMARA_HPP_TRY propagates a failure, SAMARA_HPP_FAIL raises one. */
#if SAMARA_EXCEPTIONS
using Status = void;
template <class T>
using Result = T;
#define SAMARA_HPP_FAIL(error) throw error
#define SAMARA_HPP_TRY(call) (call)
#define SAMARA_HPP_OK
#else
using Status = Error;
/* A T, or an error and an empty T. */
template <class T>
class Result {
 public:
  Result(const Error &error) noexcept : error_(error), value_() {}
  Result(T value) noexcept : value_(std::move(value)) {}
  bool ok() const noexcept { return error_.status() == SAMARA_OK; }
  const Error &error() const noexcept { return error_; }
  T &operator*() noexcept { return value_; }
  T *operator->() noexcept { return &value_; }

 private:
  Error error_;
  T value_;
};
#define SAMARA_HPP_FAIL(error) return error
#define SAMARA_HPP_TRY(call)                                     \
  do {                                                           \
    const Error samara_tried = (call);                           \
    if (samara_tried.status() != SAMARA_OK) return samara_tried; \
  } while (0)
#define SAMARA_HPP_OK Error()
#endif

SAMARA_HPP_END
}  // namespace samara

#endif /* SAMARA_SAMARA_RESULT_HPP_ */
