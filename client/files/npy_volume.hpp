// NumPy .npy files: format 1.0 to 3.0, C order, numbers of all types, read in either byte order.
#pragma once

#include <string>

#include "client/files/files.hpp"

namespace znni::client {

[[nodiscard]] Result<VolumeSource> open_npy(const std::string& path);
// Opens an output. Any part of any plane may be written at any time. With `goes_on` it continues the partial output.
[[nodiscard]] Result<VolumeTarget> open_npy_target(const FileName& name, const VolumeFacts& facts, bool goes_on);

}  // namespace znni::client
