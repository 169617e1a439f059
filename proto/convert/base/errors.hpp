// Short names for the errors of code that reads files.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "primitives/core/result.hpp"

namespace znni {

// Returns the error of a file that is not what it claims to be.
[[nodiscard]] inline Error corrupt(std::string message) { return {ErrorCode::corrupt_file, std::move(message)}; }
// Returns the error of a valid file that asks for something this program does not do.
[[nodiscard]] inline Error unsupported(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }

// Returns a name from a file as it may appear in a text: on one line, at most 80 characters of it.
[[nodiscard]] inline std::string on_one_line(std::string_view name) {
  constexpr std::size_t longest = 80;
  std::string text;
  for (const char c : name.substr(0, longest)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text + (name.size() > longest ? "..." : "");
}

// Returns a name from a file as it may appear in an error: in quotes, on one line.
[[nodiscard]] inline std::string in_quotes(std::string_view name) { return "'" + on_one_line(name) + "'"; }

}  // namespace znni
