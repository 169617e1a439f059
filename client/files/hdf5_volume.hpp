// HDF5 datasets, 3D [Z,Y,X] or 4D [C,Z,Y,X]. Output is chunked; unfinished, it is called "<dataset>.partial".
#pragma once

#include "client/files/files.hpp"

namespace znni::client {

// Opens the named dataset, or the only 3D or 4D one if none is named. The error lists them if there are several.
[[nodiscard]] Result<VolumeSource> open_hdf5(const FileName& name, std::int64_t max_cache);
// Fails with `unavailable` if another program has the file open for writing, with corrupt_file if it is not HDF5. A
// missing file is not a failure.
[[nodiscard]] Result<void> check_hdf5_file(const std::string& path);
// Returns true if the file passes check_hdf5_file() and holds the dataset.
[[nodiscard]] bool hdf5_dataset_exists(const FileName& name);
// Returns the bytes of the dataset in its file; 0 if there is none.
[[nodiscard]] std::int64_t hdf5_dataset_bytes(const FileName& name);
// Returns the bytes of such an output, in whole chunks.
[[nodiscard]] std::int64_t hdf5_bytes(const VolumeFacts& facts);
// Returns the output_mark() of a dataset.
[[nodiscard]] std::string hdf5_dataset_mark(const FileName& name);
// Opens a dataset for writing in a new or existing file; once finished it replaces a dataset of that name. Any part of
// any plane may be written at any time. With `goes_on` it continues the partial dataset. A new dataset has its full
// length at once, so that its index never changes and flushed planes survive a program that is killed.
[[nodiscard]] Result<VolumeTarget> open_hdf5_target(const FileName& name, const VolumeFacts& facts, bool goes_on);

}  // namespace znni::client
