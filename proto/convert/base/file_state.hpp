// Detects if a file was replaced or written to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace znni {

// Holds properties that change when a file is replaced or written to.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t seconds = 0;  // when it was last written
  std::int64_t nanoseconds = 0;
  bool operator==(const FileState&) const = default;
};

// Returns the state of the file at `path`, following links; nullopt if there is none.
[[nodiscard]] std::optional<FileState> file_state(const std::string& path);

}  // namespace znni
