// Replaces files atomically: after a crash or power cut a file has its old or its new content, never a mixture.
#pragma once

#include <string>
#include <string_view>

#include "primitives/core/result.hpp"

namespace znni {

// Writes `text` to a new file beside `path`, syncs it and renames it over `path`. On error `path` is unchanged and no
// new file remains; a kill leaves it. A device or a pipe is written as it stands. Every error begins with the path.
[[nodiscard]] Result<void> write_atomically(const std::string& path, std::string_view text);

// Removes the new files that kills of write_atomically() have left beside `path`. No process may be writing it.
void remove_unfinished(const std::string& path);

// Syncs a file or folder, so that earlier writes to it through any handle survive a power cut.
[[nodiscard]] Result<void> sync_file(const std::string& path);

// Writes all of `text` to an open file.
[[nodiscard]] Result<void> write_all(int file, std::string_view text);

}  // namespace znni
