// The source of an input volume's planes while a job reads them. It is memory that holds them all, or planes that come
// one after the other. Then the volume is never in memory as a whole.
//
// The reader says which planes it wants next, waits for them and reads them. It goes along z and never back: the source
// may forget planes before those that it wants. JobEstimate::input_planes is the number that it wants at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>

#include "primitives/core/result.hpp"
#include "server/volume/volume_view.hpp"

namespace znni {

// Planes [first, last) along z.
struct PlaneRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool operator==(const PlaneRange&) const = default;
};

class PlaneSource {
 public:
  virtual ~PlaneSource() = default;

  // Returns the shape of the whole volume, whether or not its planes are here.
  [[nodiscard]] virtual const VolumeShape& shape() const = 0;
  // Names the planes of the volume that are read next; neither bound ever falls. Planes before them are forgotten. Does
  // not block.
  virtual void want(const PlaneRange& planes) = 0;
  // Returns whether the wanted planes are here, so that wait() would return at once.
  [[nodiscard]] virtual bool here() const = 0;
  // Blocks until they are; they then stay where they are until others are wanted. Fails with `cancelled` if `stop` asks
  // for it; another error when they will never come.
  [[nodiscard]] virtual Result<void> wait(const std::stop_token& stop) = 0;
  // Returns the first row of channel `channel` in plane `z`, one of those waited for. Rows follow each other, not
  // necessarily aligned. Several threads may call it at a time.
  [[nodiscard]] virtual const std::byte* plane(std::int64_t channel, std::int64_t z) const = 0;
};

// A volume that lies in memory, the caller's.
class WholeVolume final : public PlaneSource {
 public:
  explicit WholeVolume(const VolumeView& volume) : volume_(volume) {}

  [[nodiscard]] const VolumeShape& shape() const override { return volume_.shape; }
  void want(const PlaneRange& /*planes*/) override {}
  [[nodiscard]] bool here() const override { return true; }
  [[nodiscard]] Result<void> wait(const std::stop_token& /*stop*/) override { return {}; }
  [[nodiscard]] const std::byte* plane(std::int64_t channel, std::int64_t z) const override;

 private:
  VolumeView volume_;
};

}  // namespace znni
