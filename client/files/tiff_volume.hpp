// TIFF stacks: one grey page per plane, of numbers of any type. A stack has no channel axis, so it holds one channel.
#pragma once

#include <string>

#include "client/files/files.hpp"

namespace znni::client {

[[nodiscard]] Result<VolumeSource> open_tiff(const std::string& path);
// Fails with `unsupported` for float16 and for several channels.
[[nodiscard]] Result<void> check_tiff_target(const FileName& name, const VolumeFacts& facts);
// Opens an output, as BigTIFF if the voxels would not fit the classic format. Requires check_tiff_target().
[[nodiscard]] Result<VolumeTarget> open_tiff_target(const FileName& name, const VolumeFacts& facts,
                                                    std::int64_t planes_done);

}  // namespace znni::client
