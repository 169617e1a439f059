// Volume files: what every format offers, and which format a name means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "client/cli/bbox.hpp"
#include "client/cli/voxel_type.hpp"

namespace znni::client {

// "vol.h5:/raw": `dataset` only for HDF5, "" where none was named.
struct FileName {
  std::string path;
  std::string dataset;
};
[[nodiscard]] FileName parse_file_name(const std::string& text);
[[nodiscard]] std::string to_string(const FileName& name);

// [channels][n.z][n.y][n.x] voxels.
struct VolumeFacts {
  std::int64_t channels = 1;
  Vec3 n;
  VoxelType type = VoxelType::u8;
};

// An open input file.
struct VolumeSource {
  VolumeFacts facts;
  // Plane z, rows and columns of `box` (its z range is not looked at), [channels][y][x] into `out`.
  std::function<Result<void>(std::int64_t z, const Box& box, std::span<std::byte> out)> read_plane;
};

// An open, unfinished output. Until finish() has returned, the file cannot be mistaken for a complete one.
struct VolumeTarget {
  // Rows and columns of `box` (its z range is not looked at) in plane z, [channels][y][x]: of a target in parts in any
  // order, else all of them, planes in order.
  std::function<Result<void>(std::int64_t z, const Box& box, std::span<const std::byte> plane)> write_plane;
  // Everything written so far is on disk and can be resumed, also after a power cut.
  std::function<Result<void>()> flush;
  // Turns the partial output into the complete one.
  std::function<Result<void>()> finish;
  // Removes the partial output, with a file that was made for it. The last call.
  std::function<void()> discard;
};

// The error names the file and what is wrong with it.
[[nodiscard]] Result<VolumeSource> open_source(const FileName& name);

// Refuses an output in a file that another program has open, or that is not what its ending says.
[[nodiscard]] Result<void> check_file_of(const FileName& name);
// Whether a complete output of that name is there; not in a file that check_file_of() refuses.
[[nodiscard]] bool output_exists(const FileName& name);
// Of the file or dataset that has that name: what takes its place has another mark. "" where there is none.
[[nodiscard]] std::string output_mark(const FileName& name);
// Whether a volume like this can be written under that name at all; opens nothing.
[[nodiscard]] Result<void> check_target(const FileName& name, const VolumeFacts& facts);
// `planes_done` > 0 goes on with a partial output that has so many planes: corrupt_file if it has fewer, or
// other extents; surplus planes are written again.
[[nodiscard]] Result<VolumeTarget> open_target(const FileName& name, const VolumeFacts& facts,
                                               std::int64_t planes_done);
// One that is written in parts. `goes_on`: with a partial output that was begun so. `stop` ends a finish() that takes
// long: cancelled, and it can be finished later.
[[nodiscard]] Result<VolumeTarget> open_target_in_parts(const FileName& name, const VolumeFacts& facts, bool goes_on,
                                                        std::stop_token stop = {});
// What an output takes on disk: by and by, and at its end for a second copy.
struct OutputBytes {
  std::int64_t kept = 0;
  std::int64_t at_the_end = 0;
};
[[nodiscard]] OutputBytes output_bytes(const FileName& name, const VolumeFacts& facts, bool in_parts);
// What the partial output that is there takes on disk.
[[nodiscard]] std::int64_t bytes_of_partial(const FileName& name);
// "`path`: cannot `what`: No space left on device", with what errno says of the call that has just failed.
[[nodiscard]] Error write_failure(const std::string& path, const std::string& what);
// Where the unfinished output lies: "out.h5:/prob.partial", "out.npy.partial".
[[nodiscard]] FileName partial_name(const FileName& name);

}  // namespace znni::client
