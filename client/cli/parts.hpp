// An output that is computed in parts, each through its own stream. A part has all planes of some rows and columns.
#pragma once

#include <cstdint>

#include "client/files/bbox.hpp"

namespace znni::client {

struct Parts {
  Vec3 n;     // of the output
  Vec3 part;  // extent of one part, with the output's z; the last along y and x have the remainder

  [[nodiscard]] std::int64_t count() const;
  // Returns the box of the output that part `index` covers. Parts are numbered row by row.
  [[nodiscard]] Box box(std::int64_t index) const;
  bool operator==(const Parts&) const = default;
};

}  // namespace znni::client
