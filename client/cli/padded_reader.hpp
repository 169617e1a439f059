// Reads the planes of a window of a padded volume as they are sent: the source's voxels, normalised if --scale is
// given.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "client/cli/nonfinite_voxel.hpp"
#include "client/cli/padding.hpp"
#include "client/files/files.hpp"

namespace znni::client {

// The input of a job.
struct PaddedVolume {
  VolumeSource source;                 // of a type that is sent, if there is no scale
  Box box;                             // of the source; the output covers it
  PaddedExtent extent;                 // of the box with the voxels read around it
  std::optional<float> scale, offset;  // both or neither
};

class PaddedReader {
 public:
  // Reads rows and columns of `window`, a box of the padded extent whose z range is ignored. Reads no more of the file
  // than these need. `volume` must outlive this.
  PaddedReader(const PaddedVolume& volume, const Box& window);

  // Reads plane `plane` of the padded extent, all channels.
  [[nodiscard]] Result<void> read(std::int64_t plane, std::span<std::byte> out);
  // Returns the first voxel read so far that is NaN or infinite.
  [[nodiscard]] const std::optional<NonfiniteVoxel>& nonfinite() const { return nonfinite_; }

 private:
  // Columns that are consecutive in the file and in the window.
  struct Stretch {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t count = 0;
  };
  [[nodiscard]] static std::vector<Stretch> stretches(const std::vector<std::int64_t>& columns);
  [[nodiscard]] std::span<const std::byte> normalised();
  void fill_with_zero(std::span<std::byte> out) const;
  void spread(std::span<const std::byte> sent, std::span<std::byte> out) const;

  const PaddedVolume& volume_;
  VoxelType type_;                  // of the voxels that are sent
  Vec3 n_;                          // channels, rows and columns of the window
  Box read_;                        // box of the file that is read
  std::vector<std::int64_t> rows_;  // row of `read_` for each row of the window; -1: zeros
  std::vector<Stretch> columns_;
  std::vector<std::byte> voxels_;  // as read
  std::vector<float> values_;      // normalised, if they are
  std::optional<NonfiniteVoxel> nonfinite_;
};

}  // namespace znni::client
