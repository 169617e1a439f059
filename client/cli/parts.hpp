// An output that is computed in parts, each through a stream of its own: all planes of some rows and columns.
#pragma once

#include <cstdint>

#include "client/cli/bbox.hpp"

namespace znni::client {

struct Parts {
  Vec3 n;     // of the output
  Vec3 part;  // of one: the last along y and x have what is left; its z is that of the output

  // Row by row.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] Box box(std::int64_t index) const;  // of the output
  bool operator==(const Parts&) const = default;
};

}  // namespace znni::client
