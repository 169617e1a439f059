// HDF5 outputs that are written plane by plane. Unfinished, the dataset is called "<dataset>.partial".
#pragma once

#include "client/files/files.hpp"

namespace znni::client {

// Opens a dataset for writing in a new or existing file; once finished it replaces a dataset of that name. Any part of
// any plane may be written at any time. With `goes_on` it continues the partial dataset. A new dataset has its full
// length at once, so that its index never changes and flushed planes survive a program that is killed.
[[nodiscard]] Result<VolumeTarget> open_hdf5_target(const FileName& name, const VolumeFacts& facts, bool goes_on);

}  // namespace znni::client
