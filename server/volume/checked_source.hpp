// Finds voxels that are NaN or infinite before anything is computed from them. A transform would spread one over a
// whole tile, and the output would depend on the plan.
#pragma once

#include <optional>

#include "server/volume/plane_source.hpp"

namespace znni {

// Returns true if voxels of that type can be NaN or infinite.
[[nodiscard]] bool can_be_nonfinite(ElementType type);
// Returns how many of `count` voxels at `data`, which need not be aligned, are NaN or infinite.
[[nodiscard]] std::int64_t count_nonfinite(ElementType type, const std::byte* data, std::int64_t count);

// Checks each plane of another source once, after it has arrived and before it is read.
class CheckedSource final : public PlaneSource {
 public:
  // Checks the voxels of `source`, which must outlive this. `instead` is the value that the reader takes for voxels
  // that are not finite (Normalisation::instead): they are counted. Without it they are refused.
  CheckedSource(PlaneSource& source, std::optional<float> instead) : source_(source), instead_(instead) {}

  // Returns the number of replaced voxels in the planes wanted so far.
  [[nodiscard]] std::int64_t replaced() const { return replaced_; }

  [[nodiscard]] const VolumeShape& shape() const override { return source_.shape(); }
  void want(const PlaneRange& planes) override;
  [[nodiscard]] bool here() const override { return source_.here(); }
  // Fails as the source does, or with invalid_argument, which names the first such voxel of the new planes and its
  // value.
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) override;
  [[nodiscard]] const std::byte* plane(std::int64_t channel, std::int64_t z) const override {
    return source_.plane(channel, z);
  }

 private:
  [[nodiscard]] Result<void> check_plane(std::int64_t channel, std::int64_t z);

  PlaneSource& source_;
  const std::optional<float> instead_;
  PlaneRange wanted_;
  std::int64_t checked_ = 0;  // planes before it have been checked, or are never read
  std::int64_t replaced_ = 0;
};

// Checks all planes of a volume in memory from `first_plane` on. Returns how many voxels are replaced; fails as
// CheckedSource::wait() does.
[[nodiscard]] Result<std::int64_t> check_volume(const VolumeView& volume, std::int64_t first_plane,
                                                std::optional<float> instead);

}  // namespace znni
