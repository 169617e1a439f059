// Reads the planes of a window of a padded volume as they are sent: the file's voxels, normalised if --scale is given.
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
  VolumeSource source;
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
  void spread();
  void deliver(std::span<std::byte> out);

  const PaddedVolume& volume_;
  std::int64_t bytes_;              // of a voxel
  Vec3 n_;                          // channels, rows and columns of the window
  Box read_;                        // box of the file that is read
  std::vector<std::int64_t> rows_;  // row of `read_` for each row of the window; -1: zeros
  std::vector<Stretch> columns_;
  std::vector<std::byte> inner_;  // as read
  std::vector<std::byte> outer_;  // as padded
  std::vector<float> values_;
  std::optional<NonfiniteVoxel> nonfinite_;
};

}  // namespace znni::client
