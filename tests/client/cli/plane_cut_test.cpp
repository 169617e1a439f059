#include "client/cli/plane_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace znni::client {
namespace {

// Each voxel says where it is.
TEST(PlaneCut, HasTheRowsAndColumnsOfEachChannel) {
  const Vec3 n = {1, 5, 7};
  const Box box{{0, 1, 2}, {9, 4, 7}};
  std::vector<float> plane(static_cast<std::size_t>(3 * n.y * n.x));
  for (std::size_t i = 0; i < plane.size(); ++i) plane[i] = static_cast<float>(i);
  std::vector<float> expected;
  for (const int j : {0, 1, 2}) {
    for (const int y : {1, 2, 3}) {
      for (const int x : {2, 3, 4, 5, 6}) expected.push_back(static_cast<float>((j * 5 + y) * 7 + x));
    }
  }
  std::vector<std::byte> kept(99);
  const auto found = cut_plane(std::as_bytes(std::span(plane)), 3, n, box, sizeof(float), kept);
  ASSERT_EQ(found.size(), expected.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0);
}

}  // namespace
}  // namespace znni::client
