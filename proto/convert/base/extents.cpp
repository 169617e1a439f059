#include "proto/convert/base/extents.hpp"

#include <string>

#include "proto/convert/base/errors.hpp"

namespace znni {

Result<Vec3> extent_of(std::string_view field, std::span<const std::int64_t> values, int rank) {
  const std::size_t count = static_cast<std::size_t>(rank);
  if (values.size() != 1 && values.size() != count) {
    return corrupt(std::string(field) + " has " + std::to_string(values.size()) + " values; 1 or " +
                   std::to_string(rank) + " are right");
  }
  Vec3 extent = Vec3::cube(1);
  for (std::size_t i = 0; i < count; ++i) {
    extent[3 - rank + static_cast<int>(i)] = values.size() == 1 ? values[0] : values[i];
  }
  return extent;
}

std::vector<std::int64_t> values_of(Vec3 extent) { return {extent.z, extent.y, extent.x}; }

}  // namespace znni
