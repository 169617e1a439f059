#include "server/pipeline/schedule/prefault.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace znni {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

// Fresh pages of the system, none of them present.
class PrefaultTest : public testing::TestWithParam<std::size_t> {
 protected:
  PrefaultTest() : block_{static_cast<std::byte*>(map(GetParam())), GetParam()} {}
  ~PrefaultTest() override { munmap(block_.data(), block_.size()); }

  static void* map(std::size_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  std::int64_t pages() const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return static_cast<std::int64_t>((block_.size() + page - 1) / page);
  }
  std::int64_t present() const {
    std::vector<unsigned char> marks(static_cast<std::size_t>(pages()));
    EXPECT_EQ(mincore(block_.data(), block_.size(), marks.data()), 0);
    return std::count_if(marks.begin(), marks.end(), [](unsigned char mark) { return (mark & 1) != 0; });
  }

  std::span<std::byte> block_;
  Executor executor_{2};
};

TEST_P(PrefaultTest, EveryPageIsPresentAfterwards) {
  ASSERT_EQ(present(), 0);
  const Result<Seconds> seconds = prefault(block_, executor_, {});
  ASSERT_TRUE(seconds) << seconds.error().message;
  EXPECT_GT(*seconds, 0);
  EXPECT_EQ(present(), pages());
}

TEST_P(PrefaultTest, WritingDoesTheSame) {
  prefault_by_writing(block_);
  EXPECT_EQ(present(), pages());
}

TEST_P(PrefaultTest, WhatABlockHoldsIsKept) {
  block_.front() = block_.back() = std::byte{7};
  ASSERT_TRUE(prefault(block_, executor_, {}));
  prefault_by_writing(block_);
  EXPECT_EQ(block_.front(), std::byte{7});
  EXPECT_EQ(block_.back(), std::byte{7});
  EXPECT_EQ(block_[block_.size() / 2], std::byte{0});
}

TEST_P(PrefaultTest, ABlockMayBeginAndEndWithinPages) {
  ASSERT_TRUE(prefault(block_.subspan(100, block_.size() - 200), executor_, {}));
  EXPECT_EQ(present(), pages());
}

TEST_P(PrefaultTest, AStopEndsIt) {
  std::stop_source stop;
  stop.request_stop();
  const Result<Seconds> seconds = prefault(block_, executor_, stop.get_token());
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().code, ErrorCode::cancelled);
  EXPECT_EQ(present(), 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PrefaultTest, testing::Values(3 * 4096, 3 * 4096 + 1000, 32 * mib, 70 * mib + 5000));

TEST(Prefault, NothingIsALegalBlock) {
  Executor executor(2);
  EXPECT_TRUE(prefault({}, executor, {}));
  prefault_by_writing({});
}

}  // namespace
}  // namespace znni
