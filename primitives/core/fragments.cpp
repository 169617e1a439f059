#include "primitives/core/fragments.hpp"

namespace znni {

AxisFragments AxisFragments::pooled(std::int64_t q, std::int64_t count) const {
  AxisFragments result{stride * q, {}};
  for (std::int64_t step = 0; step < count; ++step) {
    for (const std::int64_t offset : offsets) result.offsets.push_back(offset + stride * step);
  }
  return result;
}

std::int64_t fragment_index(Vec3 index, Vec3 fragments) {
  return (index.z * fragments.y + index.y) * fragments.x + index.x;
}

Vec3 fragment_at(std::int64_t index, Vec3 fragments) {
  return {index / (fragments.x * fragments.y), index / fragments.x % fragments.y, index % fragments.x};
}

}  // namespace znni
