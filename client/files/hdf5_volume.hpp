// HDF5 datasets, 3D [Z,Y,X] or 4D [C,Z,Y,X], and what is asked of those that exist.
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
// Returns the output_mark() of a dataset.
[[nodiscard]] std::string hdf5_dataset_mark(const FileName& name);

}  // namespace znni::client
