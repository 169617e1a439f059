// Reads JSON as a sequence of events. Memory does not grow with the text: the value at hand alone is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "primitives/core/result.hpp"

namespace znni::rest {

// Holds null, a truth value, a whole number (as unsigned unless it is negative), another number, or a string.
using JsonValue = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string_view>;

enum class JsonKind { object, array };

// Receives events in the order of the text. The first error ends the walk. A position is the byte behind the bracket,
// counted from the begin of the text. Strings are UTF-8, and valid until the function returns.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  [[nodiscard]] virtual Result<void> open(JsonKind kind, std::size_t position) = 0;
  [[nodiscard]] virtual Result<void> close(std::size_t position) = 0;
  [[nodiscard]] virtual Result<void> key(std::string_view name) = 0;
  [[nodiscard]] virtual Result<void> value(const JsonValue& value) = 0;
};

inline constexpr std::size_t max_value_bytes = std::size_t{64} << 10;  // of a value and what stands before it
inline constexpr int max_json_depth = 32;                              // arrays and objects within each other

// Walks over `text`, one JSON value. Fails with invalid_argument, with the position, if it is not JSON, nests deeper
// than max_json_depth, or has a value of more than max_value_bytes; else the error of an event.
[[nodiscard]] Result<void> walk_json(std::string_view text, JsonEvents& events);

}  // namespace znni::rest
