#include "server/rpc/base/find_room.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

// Looks that fail so often, with that error: how many were made.
int looks(int failures, ErrorCode code, bool found) {
  int made = 0;
  const Result<void> room = find_room([&]() -> Result<void> {
    if (++made <= failures) return Error{code, "others were here first"};
    return {};
  });
  EXPECT_EQ(room.has_value(), found);
  return made;
}

TEST(FindRoom, LooksAgainWhileMemoryIsShortButNotForever) {
  EXPECT_EQ(looks(0, ErrorCode::over_budget, true), 1);
  EXPECT_EQ(looks(2, ErrorCode::over_budget, true), 3);
  EXPECT_LE(looks(1000, ErrorCode::over_budget, false), 10);
  EXPECT_EQ(looks(1, ErrorCode::invalid_argument, false), 1);
}

}  // namespace
}  // namespace znni::rpc
