// HDF5 datasets, 3D [Z,Y,X] or 4D [C,Z,Y,X]. Output is chunked; unfinished, it is called "<dataset>.partial".
#pragma once

#include "client/cli/files.hpp"

namespace znni::client {

// With no dataset named: the only 3D or 4D one; several are listed in the error.
[[nodiscard]] Result<VolumeSource> open_hdf5(const FileName& name);
[[nodiscard]] bool hdf5_dataset_exists(const FileName& name);
// Adds to an existing file, replaces a dataset of that name when finished. Any part of any plane may be written at any
// time. `goes_on`: with the partial output that is there. Room of a new one is taken chunk by chunk as planes come, or
// at once: then its index never changes, and what was flushed outlives the end of the program whenever it comes.
enum class Hdf5Room { as_planes_come, at_once };
[[nodiscard]] Result<VolumeTarget> open_hdf5_target(const FileName& name, const VolumeFacts& facts, bool goes_on,
                                                    Hdf5Room room = Hdf5Room::as_planes_come);

}  // namespace znni::client
