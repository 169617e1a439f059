// Text of any origin, fit for one line of a log.
#pragma once

#include <string>
#include <string_view>

namespace znni {

// Returns a JSON string with its quotes: control characters, quotes and backslashes escaped. Bytes that are not UTF-8
// become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace znni
