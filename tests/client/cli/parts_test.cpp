#include "client/cli/parts.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace znni::client {
namespace {

TEST(Parts, EveryVoxelIsInOne) {
  const Parts parts{{3, 10, 7}, {3, 4, 3}};
  EXPECT_EQ(parts.count(), 3 * 3);
  std::vector<int> seen(10 * 7);
  for (std::int64_t i = 0; i < parts.count(); ++i) {
    const Box box = parts.box(i);
    EXPECT_EQ(box.start.z, 0);
    EXPECT_EQ(box.stop.z, 3);
    EXPECT_TRUE(covers(parts.part, box.extent()));
    for (std::int64_t y = box.start.y; y < box.stop.y; ++y) {
      for (std::int64_t x = box.start.x; x < box.stop.x; ++x) ++seen[static_cast<std::size_t>(y * 7 + x)];
    }
  }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(Parts, OneIsAllOfIt) {
  const Parts parts{{3, 10, 7}, {3, 10, 7}};
  EXPECT_EQ(parts.count(), 1);
  EXPECT_EQ(parts.box(0), (Box{{0, 0, 0}, {3, 10, 7}}));
}

TEST(Parts, RowByRow) {
  const Parts parts{{2, 4, 6}, {2, 2, 3}};
  EXPECT_EQ(parts.box(1), (Box{{0, 0, 3}, {2, 2, 6}}));
  EXPECT_EQ(parts.box(2), (Box{{0, 2, 0}, {2, 4, 3}}));
}

}  // namespace
}  // namespace znni::client
