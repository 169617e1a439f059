#include "client/cli/plane_cut.hpp"

namespace znni::client {

std::span<const std::byte> cut_plane(std::span<const std::byte> plane, std::int64_t channels, Vec3 n, const Box& box,
                                     std::int64_t bytes, std::vector<std::byte>& out) {
  out.clear();
  const auto row_bytes = static_cast<std::size_t>(box.extent().x * bytes);
  for (std::int64_t j = 0; j < channels; ++j) {
    for (std::int64_t y = box.start.y; y < box.stop.y; ++y) {
      const std::int64_t first = ((j * n.y + y) * n.x + box.start.x) * bytes;
      const std::span<const std::byte> row = plane.subspan(static_cast<std::size_t>(first), row_bytes);
      out.insert(out.end(), row.begin(), row.end());
    }
  }
  return out;
}

}  // namespace znni::client
