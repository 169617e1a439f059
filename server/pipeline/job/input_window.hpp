// The planes of its input that a job holds: those that the patches under way read, and later ones will read again.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "server/volume/plane_source.hpp"

namespace znni {

class InputWindow {
 public:
  // Holds planes of `source`, which must outlive it; the patches of `grid` count the source's planes. `all`: holds
  // whatever a patch depends on, because another rung that goes on with this patch needs it; else what is read for it,
  // of a step the new planes alone. `frame`: planes of zeros before the source's, which the patches count as well.
  InputWindow(PlaneSource& source, const PatchGrid& grid, const Geometry& geometry, bool all = false,
              std::int64_t frame = 0);

  // Forgets what neither the patches [first, last), which run next, nor later ones read. Does not block.
  void move_to(std::int64_t first, std::int64_t last);
  // Waits until what they read has arrived. Fails as PlaneSource::wait() does.
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) { return source_.wait(stop); }
  [[nodiscard]] const PlaneSource& source() const { return source_; }

 private:
  PlaneSource& source_;
  std::vector<std::int64_t> first_;  // per patch: no later one, and not it, reads a plane before it
  std::vector<std::int64_t> last_;   // per patch: nor has one before it read a plane from here on
};

}  // namespace znni
