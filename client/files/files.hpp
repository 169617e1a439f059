// Volume files: an interface for all formats. The name of a file chooses the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "client/files/bbox.hpp"
#include "client/files/voxel_type.hpp"

namespace znni::client {

// A name such as "vol.h5:/raw". `dataset` is used for HDF5 only, "" if none was named.
struct FileName {
  std::string path;
  std::string dataset;
  bool is_compressed = false;  // an output that is to be compressed; HDF5 only
};
[[nodiscard]] FileName parse_file_name(const std::string& text);
[[nodiscard]] std::string to_string(const FileName& name);
// Returns whether a file of that name is one of HDF5.
[[nodiscard]] bool is_hdf5(const FileName& name);

// Extents and type of [channels][n.z][n.y][n.x] voxels.
struct VolumeFacts {
  std::int64_t channels = 1;
  Vec3 n;
  VoxelType type = VoxelType::u8;
  Vec3 offset = {};  // place of the first voxel of an output in its input
};

// An open input file.
struct VolumeSource {
  VolumeFacts facts;
  // Reads rows and columns of `box` in plane z into `out`, [channels][y][x], in the byte order of this machine. Ignores
  // the z range of `box`.
  std::function<Result<void>(std::int64_t z, const Box& box, std::span<std::byte> out)> read_plane;
  std::int64_t cache_bytes = 0;  // of unpacked chunks, that it may hold from one plane to the next
};

// An open, unfinished output. Until finish() has returned, the file cannot be mistaken for a complete one.
struct VolumeTarget {
  // Writes rows and columns of `box` in plane z, [channels][y][x]. Ignores the z range of `box`. A target in parts
  // takes them in any order, if it is not to be compressed; any other target takes whole planes, in order.
  std::function<Result<void>(std::int64_t z, const Box& box, std::span<const std::byte> plane)> write_plane;
  // Brings everything written so far to disk: it can be resumed even after a power cut.
  std::function<Result<void>()> flush;
  // Turns the partial output into the complete one.
  std::function<Result<void>()> finish;
  // Removes the partial output, and its file if that was made for it. No call may follow.
  std::function<void()> discard;
  // flush() is cheapest after a multiple of so many planes.
  std::int64_t planes_at_once = 1;
};

inline constexpr std::int64_t max_cache_bytes = std::int64_t{512} << 20;

// Opens an input: voxels of any type, which the file may have in either byte order. Chunks of a plane that take more
// than `max_cache` are unpacked for each plane again. The error names the file and what is wrong with it.
[[nodiscard]] Result<VolumeSource> open_source(const FileName& name, std::int64_t max_cache = max_cache_bytes);
// Opens labels: whole numbers without a sign.
[[nodiscard]] Result<VolumeSource> open_labels(const FileName& name, std::int64_t max_cache = max_cache_bytes);

// Fails if another program has the file open, or if the file's content does not match its ending.
[[nodiscard]] Result<void> check_file_of(const FileName& name);
// Returns true if a complete output of that name exists, in a file that check_file_of() accepts.
[[nodiscard]] bool output_exists(const FileName& name);
// Returns a mark of the file or dataset of that name, "" if there is none. A file that replaces it has another mark.
[[nodiscard]] std::string output_mark(const FileName& name);
// Fails if such a volume cannot be written under that name at all; opens nothing.
[[nodiscard]] Result<void> check_target(const FileName& name, const VolumeFacts& facts);
// Opens an output for planes in order. With `planes_done` > 0 it continues the partial output and overwrites the planes
// after those. Fails with corrupt_file if the partial output has fewer planes or other extents.
[[nodiscard]] Result<VolumeTarget> open_target(const FileName& name, const VolumeFacts& facts,
                                               std::int64_t planes_done);
// Opens an output that is written in parts, in any order. With `goes_on` it continues the partial output. `stop` ends a
// long finish() with `cancelled`; a later run can finish it.
[[nodiscard]] Result<VolumeTarget> open_target_in_parts(const FileName& name, const VolumeFacts& facts, bool goes_on,
                                                        std::stop_token stop = {});
// Bytes that an output needs on disk.
struct OutputBytes {
  std::int64_t kept = 0;        // while it is written, and afterwards
  std::int64_t at_the_end = 0;  // for a second copy, while finish() runs
};
// Returns what an output needs at least: one that is to be compressed may need up to a thousand times as much.
[[nodiscard]] OutputBytes output_bytes(const FileName& name, const VolumeFacts& facts, bool in_parts);
// Returns about what an output needs if nothing is gained by compressing it.
[[nodiscard]] OutputBytes max_output_bytes(const FileName& name, const VolumeFacts& facts, bool in_parts);
// Returns the bytes on disk of the partial output of that name.
[[nodiscard]] std::int64_t bytes_of_partial(const FileName& name);
// Returns "`path`: cannot `what`: No space left on device", with the text of errno.
[[nodiscard]] Error write_failure(const std::string& path, const std::string& what);
// Returns the name of the unfinished output: "out.h5:/prob.partial", "out.npy.partial", and of one that is to be
// compressed "out.h5.prob.partial.pieces".
[[nodiscard]] FileName partial_name(const FileName& name);

}  // namespace znni::client
