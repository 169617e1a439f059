// Text of any origin, fit for one line of a log.
#pragma once

#include <string>
#include <string_view>

namespace znni {

// A JSON string, quotes included: control characters, quotes and backslashes escaped; bytes that are no UTF-8
// become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace znni
