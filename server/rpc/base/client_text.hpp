// Text that a client chose, made fit for messages: no control characters, never long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace znni::rpc {

// Returns `text` in one line: control characters become spaces. It has at most `max_bytes` bytes, cut between
// characters of UTF-8, and ends in "..." if something was cut.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t max_bytes);

// Returns 'name', cut after 80 bytes.
[[nodiscard]] std::string in_quotes(std::string_view name);

}  // namespace znni::rpc
