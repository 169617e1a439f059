#include "primitives/core/shape.hpp"

#include <charconv>
#include <cstdio>

namespace znni {
namespace {

// Appends a number without a temporary string, because a search writes millions of these texts.
void append(std::string& text, std::int64_t number) {
  std::array<char, 24> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void append(std::string& text, Vec3 n) {
  append(text, n.z);
  append(text += 'x', n.y);
  append(text += 'x', n.x);
}

}  // namespace

Result<void> check_shape(const Shape5& shape) {
  const bool positive = shape.S > 0 && shape.f > 0 && shape.n.z > 0 && shape.n.y > 0 && shape.n.x > 0;
  if (!positive) {
    return Error{ErrorCode::invalid_argument, "shape " + to_string(shape) + " has an extent below 1"};
  }
  if (elements(shape) >= (std::int64_t{1} << 60)) {
    return Error{ErrorCode::invalid_argument, "shape " + to_string(shape) + " has 2^60 elements or more"};
  }
  return {};
}

std::string to_string(Vec3 n) {
  std::string text;
  append(text, n);
  return text;
}

std::string to_string(const Shape5& shape) {
  std::string text;
  text.reserve(32);
  append(text, shape.S);
  append(text += 'x', shape.f);
  append(text += 'x', shape.n);
  return text;
}

std::string bytes_text(std::int64_t bytes) {
  static constexpr std::array<const char*, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024.0 && unit + 1 < units.size()) {
    amount /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", amount, units[unit]);
  return text.data();
}

}  // namespace znni
