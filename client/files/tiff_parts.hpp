// A TIFF stack that is written in parts. A page must be written in one piece, so the voxels are gathered in a plain
// file, and finish() makes the stack of them.
#pragma once

#include "client/files/files.hpp"

namespace znni::client {

// Opens an output like open_target_in_parts(). Until it is finished it needs as much disk space as the stack, beside
// it. Requires check_tiff_target().
[[nodiscard]] Result<VolumeTarget> open_tiff_target_in_parts(const FileName& name, const VolumeFacts& facts,
                                                             bool goes_on, std::stop_token stop);

}  // namespace znni::client
