#include "client/cli/parts.hpp"

namespace znni::client {

std::int64_t Parts::count() const { return mul(div_up(n.y, part.y), div_up(n.x, part.x)); }

Box Parts::box(std::int64_t index) const {
  const std::int64_t in_a_row = div_up(n.x, part.x);
  const Vec3 start{0, index / in_a_row * part.y, index % in_a_row * part.x};
  return {start, min(n, start + Vec3{n.z, part.y, part.x})};
}

}  // namespace znni::client
