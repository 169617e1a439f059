// Whether an output has room where it shall lie: asked before the work, so that a full disk does not end it.
#pragma once

#include <functional>
#include <optional>

#include "client/cli/files.hpp"
#include "client/cli/parts.hpp"

namespace znni::client {

// Bytes of a file system; `free` to those without privileges.
struct DiskSpace {
  std::int64_t total = 0;
  std::int64_t free = 0;
};
using SpaceOf = std::function<std::optional<DiskSpace>(const std::string& path)>;
// Of the file system that `path`, or the folder that shall hold it, lies on; nullopt where the system does not tell.
[[nodiscard]] std::optional<DiskSpace> disk_space(const std::string& path);

// What is written of an output, and what is there of it.
struct OutputShare {
  VolumeFacts facts;
  Parts parts;
  std::int64_t parts_done = 0;
  std::int64_t planes_done = 0;  // of the part behind those
};
// Bytes that the output of that name will still take.
[[nodiscard]] std::int64_t bytes_missing(const FileName& name, const OutputShare& share);

// invalid_argument, with the bytes needed and free, where they do not fit. A partial output that begins anew gives its
// room back first. A file system of no blocks at all is not judged.
[[nodiscard]] Result<void> check_room(const FileName& name, const OutputShare& share,
                                      const SpaceOf& space_of = disk_space);

}  // namespace znni::client
