// Checks before the work begins that the output fits on its disk.
#pragma once

#include <functional>
#include <optional>

#include "client/cli/parts.hpp"
#include "client/files/files.hpp"

namespace znni::client {

// Bytes of a file system; `free` counts those that an ordinary user may take.
struct DiskSpace {
  std::int64_t total = 0;
  std::int64_t free = 0;
};
using SpaceOf = std::function<std::optional<DiskSpace>(const std::string& path)>;
// Returns the space of the file system that holds `path`, or its folder if `path` is missing; nullopt if the system
// does not tell.
[[nodiscard]] std::optional<DiskSpace> disk_space(const std::string& path);

// An output, and how much of it has been written.
struct OutputShare {
  VolumeFacts facts;
  Parts parts;
  std::int64_t parts_done = 0;
  std::int64_t planes_done = 0;  // planes of the next part
};
// Returns the bytes that the output of that name will still take, at least.
[[nodiscard]] std::int64_t bytes_missing(const FileName& name, const OutputShare& share);

// Fails with invalid_argument, which names the bytes needed and free, if the rest of the output does not fit. The room
// of a partial output that will be replaced counts as free. A file system without blocks is not checked.
[[nodiscard]] Result<void> check_room(const FileName& name, const OutputShare& share,
                                      const SpaceOf& space_of = disk_space);

// Returns a line for an output that is to be compressed, and may not fit if its voxels hardly compress; else "".
[[nodiscard]] std::string room_warning(const FileName& name, const OutputShare& share,
                                       const SpaceOf& space_of = disk_space);

}  // namespace znni::client
