// Whole files into memory.
#pragma once

#include <cstdint>
#include <string>

#include "primitives/core/result.hpp"

namespace znni {

// Text files that people write are far below this.
inline constexpr std::int64_t most_text_bytes = std::int64_t{256} << 20;

// How many bytes a regular file of at most `most_bytes` has; errors as below.
[[nodiscard]] Result<std::int64_t> bytes_of_regular_file(const std::string& path, std::int64_t most_bytes);

// The bytes of a regular file of at most `most_bytes`. Every error begins with the path; not_found when there
// is no such file.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::int64_t most_bytes);

}  // namespace znni
