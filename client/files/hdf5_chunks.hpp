// Extents of the chunks of HDF5 outputs.
#pragma once

#include "client/files/files.hpp"

namespace znni::client {

// Both divide an output into chunks that are nearly equal along every axis: fewer voxels than chunks are added.
// Returns the chunk of an output that is written plane by plane: one plane thick, at most 256 voxels along y and x.
[[nodiscard]] Vec3 chunk_of_planes(Vec3 n);
// Returns the chunk of a compressed output: at most 64 voxels along every axis. All chunks of one z take 256 MiB at
// most, unless they are one plane thick.
[[nodiscard]] Vec3 chunk_of_compressed(const VolumeFacts& facts);
// Returns the bytes of an output that is written plane by plane, in whole chunks.
[[nodiscard]] std::int64_t hdf5_bytes(const VolumeFacts& facts);

}  // namespace znni::client
