// Voxels that are NaN or infinite, found before anything is computed from them: transforms would spread one over whole
// tiles, and what comes of it would depend on the plan.
#pragma once

#include <optional>

#include "server/volume/plane_source.hpp"

namespace znni {

// Voxels of that type can be NaN or infinite.
[[nodiscard]] bool can_be_nonfinite(ElementType type);
// How many of `count` voxels at `data`, not necessarily aligned, are.
[[nodiscard]] std::int64_t count_nonfinite(ElementType type, const std::byte* data, std::int64_t count);

// A source whose planes are looked at once, when they have come and before they are read.
class CheckedSource final : public PlaneSource {
 public:
  // `source` must outlive this. `instead`: what the reader takes for such voxels (Normalisation::instead); they are
  // then counted. Without it they are refused.
  CheckedSource(PlaneSource& source, std::optional<float> instead) : source_(source), instead_(instead) {}

  // Of the planes that have been wanted so far.
  [[nodiscard]] std::int64_t replaced() const { return replaced_; }

  [[nodiscard]] const VolumeShape& shape() const override { return source_.shape(); }
  void want(const PlaneRange& planes) override;
  [[nodiscard]] bool here() const override { return source_.here(); }
  // invalid_argument as well: names the first such voxel of the planes that are new, and its value.
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) override;
  [[nodiscard]] const std::byte* plane(std::int64_t image, std::int64_t z) const override {
    return source_.plane(image, z);
  }

 private:
  [[nodiscard]] Result<void> check_plane(std::int64_t image, std::int64_t z);

  PlaneSource& source_;
  const std::optional<float> instead_;
  PlaneRange wanted_;
  std::int64_t checked_ = 0;  // planes before it were looked at, or are never read
  std::int64_t replaced_ = 0;
};

// All planes of a volume in memory from `first_plane` on: how many voxels are replaced; errors as
// CheckedSource::wait().
[[nodiscard]] Result<std::int64_t> check_volume(const VolumeView& volume, std::int64_t first_plane,
                                                std::optional<float> instead);

}  // namespace znni
