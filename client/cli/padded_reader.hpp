// The planes of a window of a padded volume as they are sent: voxels of the file, or normalised where --scale asks so.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "client/cli/files.hpp"
#include "client/cli/nonfinite_voxel.hpp"
#include "client/cli/padding.hpp"

namespace znni::client {

// What a job reads.
struct PaddedVolume {
  VolumeSource source;
  Box box;                             // of it: what the output is about
  PaddedExtent extent;                 // of the box, and what is read around it
  std::optional<float> scale, offset;  // both or neither
};

class PaddedReader {
 public:
  // Rows and columns of `window`, of the padded extent; its z range is not looked at. No more of the file is read than
  // they need. `volume` must outlive this.
  PaddedReader(const PaddedVolume& volume, const Box& window);

  // Plane `plane` of the padded extent, all images.
  [[nodiscard]] Result<void> read(std::int64_t plane, std::span<std::byte> out);
  // Returns the first voxel read so far that is NaN or infinite.
  [[nodiscard]] const std::optional<NonfiniteVoxel>& nonfinite() const { return nonfinite_; }

 private:
  // Columns that follow each other in the file and in the window.
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
  Vec3 n_;                          // images, rows and columns of the window
  Box read_;                        // of the file
  std::vector<std::int64_t> rows_;  // of what is read, for each of the window's; -1: zeros
  std::vector<Stretch> columns_;
  std::vector<std::byte> inner_;  // as read
  std::vector<std::byte> outer_;  // as padded
  std::vector<float> values_;
  std::optional<NonfiniteVoxel> nonfinite_;
};

}  // namespace znni::client
