// TIFF stacks: one grey page per plane; uint8, uint16 or float32. One image only: a stack has no channel axis.
#pragma once

#include <string>

#include "client/cli/files.hpp"

namespace znni::client {

[[nodiscard]] Result<VolumeSource> open_tiff(const std::string& path);
// float16 and several images are refused.
[[nodiscard]] Result<void> check_tiff_target(const FileName& name, const VolumeFacts& facts);
// BigTIFF when the voxels would not fit the classic format. Requires check_tiff_target().
[[nodiscard]] Result<VolumeTarget> open_tiff_target(const FileName& name, const VolumeFacts& facts,
                                                    std::int64_t planes_done);

}  // namespace znni::client
