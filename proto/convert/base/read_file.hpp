// Reads whole files into memory.
#pragma once

#include <cstdint>
#include <string>

#include "primitives/core/result.hpp"

namespace znni {

// Upper bound of text files; those that people write are far smaller.
inline constexpr std::int64_t max_text_bytes = std::int64_t{256} << 20;

// Returns the size of a regular file of at most `max_bytes`. Fails like read_file().
[[nodiscard]] Result<std::int64_t> bytes_of_regular_file(const std::string& path, std::int64_t max_bytes);

// Returns the bytes of a regular file of at most `max_bytes`. Every error begins with the path. Fails with not_found
// if there is no such file.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::int64_t max_bytes);

}  // namespace znni
