// A TIFF stack that is written in parts: a page comes in one piece, so the voxels are gathered in a plain file, and the
// stack is made of them at the end.
#pragma once

#include "client/cli/files.hpp"

namespace znni::client {

// As open_target_in_parts(). Takes as much room on disk as the stack, beside it, until it is finished. Requires
// check_tiff_target().
[[nodiscard]] Result<VolumeTarget> open_tiff_target_in_parts(const FileName& name, const VolumeFacts& facts,
                                                             bool goes_on, std::stop_token stop);

}  // namespace znni::client
