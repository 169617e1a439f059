// The planes of a volume in a file, for the engine: read as it wants them, one after the other.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "server/train/samples/patch_reader.hpp"
#include "server/volume/plane_source.hpp"

namespace znni {

class VolumePlanes final : public PlaneSource {
 public:
  // Reads the file with `reading` locked, because another thread may read labels of it. Both must outlive the planes.
  VolumePlanes(const PatchReader& reader, std::mutex& reading);

  [[nodiscard]] const VolumeShape& shape() const override { return shape_; }
  void want(const PlaneRange& planes) override;
  [[nodiscard]] bool here() const override;
  // Reads what is not here yet. Fails if the file cannot be read.
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) override;
  [[nodiscard]] const std::byte* plane(std::int64_t channel, std::int64_t z) const override;

 private:
  const PatchReader& reader_;
  std::mutex& reading_;
  VolumeShape shape_;  // plane_major
  PlaneRange wanted_;
  std::map<std::int64_t, std::vector<std::byte>> planes_;  // those of the wanted that are here
};

}  // namespace znni
