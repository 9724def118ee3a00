// SPDX-License-Identifier: Apache-2.0
//
// Result<T>: a value or the Error that kept it from being made. Status: success or an Error.
//
//   Result<Profile> profile = read_profile("profile.json");
//   if (!profile) return profile.error();
//   OMNIBAL_ASSIGN(const ModelSpec model, load_model("internvl-chat-1.5-26b"));  // both in one
//   line
//
// Not for flow control between collaborating functions: it carries a message for a person.
#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include "omnibal/base/error.h"

namespace omnibal {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  T& value() {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace omnibal

#define OMNIBAL_CONCAT_INNER(a, b) a##b
#define OMNIBAL_CONCAT(a, b) OMNIBAL_CONCAT_INNER(a, b)

/// Assigns the value of a Result to `target` (a declaration or a variable), or returns its Error
/// from the enclosing function.
#define OMNIBAL_ASSIGN(target, ...) \
  OMNIBAL_ASSIGN_INNER(OMNIBAL_CONCAT(omnibal_result_, __LINE__), target, __VA_ARGS__)
#define OMNIBAL_ASSIGN_INNER(result, target, ...)     \
  auto result = (__VA_ARGS__);                        \
  if (!result.ok()) return std::move(result).error(); \
  target = *std::move(result)

/// Returns the Error of a Status from the enclosing function, if it has one.
#define OMNIBAL_RETURN_IF_ERROR(...)                               \
  do {                                                             \
    if (auto omnibal_status = (__VA_ARGS__); !omnibal_status.ok()) \
      return std::move(omnibal_status).error();                    \
  } while (false)
