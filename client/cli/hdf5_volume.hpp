// HDF5 datasets, 3D [Z,Y,X] or 4D [C,Z,Y,X]. Output is chunked; unfinished, it is called "<dataset>.partial".
#pragma once

#include "client/cli/files.hpp"

namespace znni::client {

// With no dataset named: the only 3D or 4D one; several are listed in the error.
[[nodiscard]] Result<VolumeSource> open_hdf5(const FileName& name);
// A file that is there: `unavailable` where another program has it open for writing, corrupt_file where it is not HDF5.
[[nodiscard]] Result<void> check_hdf5_file(const std::string& path);
// Whether check_hdf5_file() finds nothing, and the file holds the dataset.
[[nodiscard]] bool hdf5_dataset_exists(const FileName& name);
// What it takes in the file; 0 where there is none.
[[nodiscard]] std::int64_t hdf5_dataset_bytes(const FileName& name);
// What such an output takes: whole chunks.
[[nodiscard]] std::int64_t hdf5_bytes(const VolumeFacts& facts);
// As output_mark().
[[nodiscard]] std::string hdf5_dataset_mark(const FileName& name);
// Adds to an existing file, replaces a dataset of that name when finished. Any part of any plane may be written at any
// time. `goes_on`: with the partial output that is there. A new one has its full length at once: its index never
// changes then, and what was flushed outlives the end of the program whenever it comes.
[[nodiscard]] Result<VolumeTarget> open_hdf5_target(const FileName& name, const VolumeFacts& facts, bool goes_on);

}  // namespace znni::client
