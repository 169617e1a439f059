// A volume whose voxels are read as the types that are sent.
#pragma once

#include <string>

#include "client/files/files.hpp"

namespace znni::client {

// Returns `source` with voxels of sent_type(): as they are, or to the nearest float32. While a plane of 64-bit
// numbers is read there is a copy of it as it is in the file, and none between two reads; other types need none. A
// plane with a whole number beyond 2^24 is not read: the error begins with `label` and ends with `mend`, which says
// what to do.
[[nodiscard]] VolumeSource as_sent(VolumeSource source, const std::string& label, const std::string& mend);

}  // namespace znni::client
