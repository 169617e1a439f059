// Errors as values. A function that can fail for a reason outside the program (input, files, budgets, devices) returns
// a Result. ensure() is for conditions that only a bug can break. Nothing here throws.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace znni {

// Only server/rpc/base/status_map.cpp turns these into gRPC codes.
enum class ErrorCode {
  invalid_argument,   // the caller's value is wrong
  not_found,          // a missing file, model or dataset
  unsupported,        // legal, but this build or primitive does not support it
  over_budget,        // needs more memory than was granted; the message carries both numbers
  device_failure,     // a device or library refused to work
  device_lost,        // a device that only another process can use again
  corrupt_file,       // a file whose content is invalid
  unavailable,        // temporary: queue full, shutting down, still loading
  deadline_exceeded,  // the caller's time is up
  cancelled,          // the caller gave up
  internal,           // a bug of ours
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

// `message` is one line: the faulty item (file, field, number), its value and a correct value.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;

  // Returns the same error with a prefix: "model.onnx: node conv1: ...".
  [[nodiscard]] Error within(std::string_view context) const { return {code, std::string(context) + ": " + message}; }
};

[[noreturn]] void ensure_failed(std::string_view what, std::source_location where);

// Stops the program if an invariant of this program is broken. Never for input.
inline void ensure(bool condition, std::string_view what,
                   std::source_location where = std::source_location::current()) {
  if (!condition) [[unlikely]]
    ensure_failed(what, where);
}

// A value or an Error. Member names are those of std::expected, so that a `using` can replace it later.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Stops the program, with the error's message, if there is no value.
  [[nodiscard]] T& value() & { return checked(); }
  [[nodiscard]] const T& value() const& { return const_cast<Result*>(this)->checked(); }
  [[nodiscard]] T&& value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const {
    ensure(!has_value(), "error() of a Result that holds a value");
    return *std::get_if<1>(&state_);
  }

 private:
  T& checked() {
    if (!has_value()) [[unlikely]]
      ensure_failed(error().message, std::source_location::current());
    return *std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Error& error() const {
    ensure(error_.has_value(), "error() of a Result that holds a value");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace znni
