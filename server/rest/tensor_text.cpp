#include "server/rest/tensor_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <variant>

#include "primitives/core/shape.hpp"
#include "server/rest/json_walk.hpp"

namespace znni::rest {
namespace {

constexpr std::size_t piece_bytes = 64 << 10;
constexpr std::size_t max_number_bytes = 32;  // a float64 as text, and a comma
constexpr double max_float = std::numeric_limits<float>::max();
constexpr double float_bound = 0x1.ffffffp127;  // from here on the nearest float32 is infinite

template <class T>
void put(T element, std::int64_t index, std::string& to) {
  std::memcpy(to.data() + static_cast<std::size_t>(index) * sizeof(T), &element, sizeof(T));
}

template <class T>
T get(std::string_view elements, std::size_t index) {
  T element{};
  std::memcpy(&element, elements.data() + index * sizeof(T), sizeof(T));
  return element;
}

double as_double(const JsonValue& value) {
  if (const auto* negative = std::get_if<std::int64_t>(&value)) return static_cast<double>(*negative);
  if (const auto* whole = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*whole);
  const auto* const real = std::get_if<double>(&value);
  return real == nullptr ? std::numeric_limits<double>::quiet_NaN() : *real;
}

// Returns the largest value of an unsigned type.
std::uint64_t max_of(ElementType type) {
  return type == ElementType::u8 ? std::numeric_limits<std::uint8_t>::max() : std::numeric_limits<std::uint16_t>::max();
}

class Numbers final : public JsonEvents {
 public:
  Numbers(ElementType type, std::int64_t count) : type_(type), count_(count) {
    elements_.resize(static_cast<std::size_t>(mul(count, element_bytes(type))));
  }

  Result<void> open(JsonKind /*kind*/, std::size_t /*position*/) override { return {}; }
  Result<void> close(std::size_t /*position*/) override { return {}; }
  Result<void> key(std::string_view /*name*/) override { return refused(); }
  Result<void> value(const JsonValue& value) override {
    if (index_ >= count_) return refused();
    Result<void> taken = type_ == ElementType::f32 ? take_float(value) : take_whole(value);
    ++index_;
    return taken;
  }

  [[nodiscard]] std::string elements() && { return std::move(elements_); }

 private:
  [[nodiscard]] Error refused() const {
    const std::string expected = type_ == ElementType::f32
                                     ? "a number that float32 has"
                                     : "a whole number from 0 to " + std::to_string(max_of(type_));
    return {ErrorCode::invalid_argument,
            "data[" + std::to_string(index_) + "]: found something else, expected " + expected};
  }

  Result<void> take_float(const JsonValue& value) {
    const double found = as_double(value);
    if (!(std::abs(found) < float_bound)) return refused();
    put(static_cast<float>(std::clamp(found, -max_float, max_float)), index_, elements_);
    return {};
  }

  Result<void> take_whole(const JsonValue& value) {
    const auto* const whole = std::get_if<std::uint64_t>(&value);
    if (whole == nullptr || *whole > max_of(type_)) return refused();
    if (type_ == ElementType::u8) {
      put(static_cast<std::uint8_t>(*whole), index_, elements_);
    } else {
      put(static_cast<std::uint16_t>(*whole), index_, elements_);
    }
    return {};
  }

  const ElementType type_;
  const std::int64_t count_;
  std::int64_t index_ = 0;
  std::string elements_;
};

// Writes a float32 with the digits of its float64: a reader of either type gets the same value.
char* write_number(std::string_view elements, ElementType type, std::size_t index, char* to, char* end) {
  if (type == ElementType::u8) return std::to_chars(to, end, get<std::uint8_t>(elements, index)).ptr;
  if (type == ElementType::u16) return std::to_chars(to, end, get<std::uint16_t>(elements, index)).ptr;
  const auto value = static_cast<double>(get<float>(elements, index));
  char* const behind = std::to_chars(to, end, value).ptr;
  if (value != 0 || !std::signbit(value)) return behind;
  // Adds to "-0", which readers take for a whole number without a sign.
  return std::copy_n(".0", 2, behind);
}

std::size_t count_of(std::string_view elements, ElementType type) {
  return elements.size() / static_cast<std::size_t>(element_bytes(type));
}

}  // namespace

bool has_text(ElementType type) {
  return type == ElementType::f32 || type == ElementType::u8 || type == ElementType::u16;
}

Result<std::string> read_numbers(std::string_view json, ElementType type, std::int64_t count) {
  Numbers numbers(type, count);
  if (const Result<void> walked = walk_json(json, numbers); !walked) return walked.error();
  return std::move(numbers).elements();
}

bool write_numbers(std::string_view elements, ElementType type,
                   const std::function<bool(std::string_view piece)>& take) {
  std::string piece(piece_bytes, '\0');
  char* const end = piece.data() + piece.size();
  char* at = piece.data();
  const std::size_t count = count_of(elements, type);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) *at++ = ',';
    at = write_number(elements, type, i, at, end);
    if (at + max_number_bytes < end && i + 1 < count) continue;
    if (!take({piece.data(), static_cast<std::size_t>(at - piece.data())})) return false;
    at = piece.data();
  }
  return true;
}

std::int64_t number_bytes(std::string_view elements, ElementType type) {
  std::int64_t bytes = 0;
  static_cast<void>(write_numbers(elements, type, [&bytes](std::string_view piece) {
    bytes += static_cast<std::int64_t>(piece.size());
    return true;
  }));
  return bytes;
}

bool are_finite(std::string_view elements, ElementType type) {
  if (type != ElementType::f32) return true;
  for (std::size_t i = 0; i < count_of(elements, type); ++i) {
    if (!std::isfinite(get<float>(elements, i))) return false;
  }
  return true;
}

}  // namespace znni::rest
