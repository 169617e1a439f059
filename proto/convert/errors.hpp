// Short names for the errors that readers of files make.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "primitives/core/result.hpp"

namespace znni {

// The file is not what it claims to be.
[[nodiscard]] inline Error corrupt(std::string message) { return {ErrorCode::corrupt_file, std::move(message)}; }
// The file is fine, but asks for what this program does not do.
[[nodiscard]] inline Error unsupported(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }

// A name out of a file as it may stand in an error: in quotes, on one line, not longer than a line.
[[nodiscard]] inline std::string in_quotes(std::string_view name) {
  constexpr std::size_t longest = 80;
  std::string text = "'";
  for (const char c : name.substr(0, longest)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text + (name.size() > longest ? "...'" : "'");
}

}  // namespace znni
