// Boxes of a volume in a file, read as they are asked for, or from a copy in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/files/files.hpp"
#include "primitives/core/result.hpp"

namespace znni {

// How much memory the volumes of a run may take, and took so far.
struct VolumeMemory {
  bool keeps_volumes = false;          // in memory; else patches are read from the files
  std::int64_t max_bytes = saturated;  // of all volumes together
  std::int64_t bytes = 0;
};

class PatchReader {
 public:
  // Opens a file as `znni infer` names it: FILE.h5:/dataset, FILE.npy, FILE.tif. Reads all of it, and counts its bytes
  // in `memory`, if that keeps volumes; else those of the chunks that the file's reader may hold. Fails with
  // over_budget, before anything is read, if there is no room for it. Every error begins with the name.
  [[nodiscard]] static Result<PatchReader> open(const std::string& name, VolumeMemory& memory);
  // Does the same with labels: whole numbers of one channel.
  [[nodiscard]] static Result<PatchReader> open_labels(const std::string& name, VolumeMemory& memory);

  [[nodiscard]] const client::VolumeFacts& facts() const { return source_.facts; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Returns the voxels of a box, [channels][z][y][x]: of the file's type, or, if the daemon does not take that, as
  // float32. Requires that the box lies in the volume.
  [[nodiscard]] Result<std::vector<std::byte>> read(const client::Box& box) const;
  // Returns the bytes that read() takes for a box of that extent beside the voxels that it returns: a plane of them
  // and, if the file has another type, the same plane as it is there. None if the volume is kept.
  [[nodiscard]] std::int64_t bytes_beside(Vec3 extent) const;

 private:
  PatchReader(std::string name, client::VolumeSource source, client::VoxelType stored)
      : name_(std::move(name)), source_(std::move(source)), stored_(stored) {}
  [[nodiscard]] static Result<PatchReader> keep(PatchReader reader, VolumeMemory& memory);
  [[nodiscard]] Result<std::vector<std::byte>> read_file(const client::Box& box) const;

  std::string name_;
  client::VolumeSource source_;
  client::VoxelType stored_;     // type of the file
  std::vector<std::byte> kept_;  // the whole volume; empty if it is not kept
};

// Returns a box of a volume as float32: voxel * scale + offset. Fails if a voxel is NaN or infinite.
[[nodiscard]] Result<std::vector<float>> read_input(const PatchReader& reader, const client::Box& box, float scale,
                                                    float offset);
// Returns a box of labels. Requires a reader that open_labels() opened.
[[nodiscard]] Result<std::vector<std::uint64_t>> read_labels(const PatchReader& reader, const client::Box& box);

}  // namespace znni
