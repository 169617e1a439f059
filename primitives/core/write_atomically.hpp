// Files that are either the old one or the new one, never half of either, also after a power cut.
#pragma once

#include <string>
#include <string_view>

#include "primitives/core/result.hpp"

namespace znni {

// Writes `text` to a new file beside `path`, makes it durable and renames it over `path`. On error `path` is as
// it was and nothing is left beside it. Every error begins with the path.
[[nodiscard]] Result<void> write_atomically(const std::string& path, std::string_view text);

// Makes durable what was written to `path`, a file or a folder, through whatever handle.
[[nodiscard]] Result<void> sync_file(const std::string& path);

// Writes all of `text` to an open file.
[[nodiscard]] Result<void> write_all(int file, std::string_view text);

}  // namespace znni
