// A box of voxels: --bbox z0:z1,y0:y1,x0:x1, start inclusive, stop exclusive.
#pragma once

#include <string>

#include "primitives/core/shape.hpp"

namespace znni::client {

struct Box {
  Vec3 start;
  Vec3 stop;

  [[nodiscard]] Vec3 extent() const { return stop - start; }
  bool operator==(const Box&) const = default;
};

// Returns the box that `text` names, such as "10:,:,:64"; an empty bound means the volume's own. Fails with
// invalid_argument if the box leaves `volume` or is empty.
[[nodiscard]] Result<Box> parse_bbox(const std::string& text, Vec3 volume);
[[nodiscard]] std::string to_string(const Box& box);

}  // namespace znni::client
