#include "server/models/repository_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using Names = std::vector<std::string>;

class RepositoryWatchTest : public testing::Test {
 protected:
  RepositoryState state() { return repository_state(scan_repository(directory_.path()).value()); }

  const test::TemporaryDirectory directory_;
};

TEST_F(RepositoryWatchTest, TheStateTellsVersionsAndFiles) {
  directory_.write("net/1/model.onnx", "a");
  const RepositoryState first = state();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(state(), first);
  RepositoryState last = first;
  const auto changed = [&] {
    const RepositoryState before = std::exchange(last, state());
    return before != last;
  };
  directory_.write("net/1/weights.bin", "beside the network");
  EXPECT_TRUE(changed());
  directory_.write("net/1/weights/w.bin", "below it");
  EXPECT_TRUE(changed());
  directory_.write("net/1/weights/w.bin", "below it, and longer");
  EXPECT_TRUE(changed());
  directory_.write("net/config.pbtxt", "");
  EXPECT_TRUE(changed());
  directory_.write("net/2/model.onnx", "a");
  EXPECT_TRUE(changed());
  directory_.write("net/1/model.onnx", "an older version");
  EXPECT_FALSE(changed());
}

TEST_F(RepositoryWatchTest, AFileOfTheSameSizeButAnotherTimeIsAnother) {
  directory_.write("net/1/model.onnx", "a");
  const RepositoryState first = state();
  const auto file = directory_.path() / "net/1/model.onnx";
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  EXPECT_NE(state(), first);
}

TEST(RepositoryWatch, WhatIsEqualTwiceIsToldOnce) {
  RepositoryWatch watch(RepositoryState{{"a", "1"}});
  EXPECT_EQ(watch.look({{"a", "1"}}), RepositoryChanges{});
  EXPECT_EQ(watch.look({{"a", "2"}, {"b", "1"}}), RepositoryChanges{}) << "seen once";
  EXPECT_EQ(watch.look({{"a", "2"}, {"b", "1"}}), (RepositoryChanges{{"a", "b"}, {}}));
  EXPECT_EQ(watch.look({{"a", "2"}, {"b", "1"}}), RepositoryChanges{});
}

TEST(RepositoryWatch, WhatStillChangesWaits) {
  RepositoryWatch watch(RepositoryState{{"a", "1"}});
  for (const char* size : {"10", "20", "30"}) {
    EXPECT_EQ(watch.look({{"a", "1"}, {"copied", size}}), RepositoryChanges{}) << size;
  }
  EXPECT_EQ(watch.look({{"a", "1"}, {"copied", "30"}}), (RepositoryChanges{{"copied"}, {}}));
}

TEST(RepositoryWatch, WhatIsMissingTwiceIsRemoved) {
  RepositoryWatch watch(RepositoryState{{"a", "1"}, {"b", "1"}});
  EXPECT_EQ(watch.look({{"b", "1"}}), RepositoryChanges{});
  EXPECT_EQ(watch.look({{"a", "1"}, {"b", "1"}}), RepositoryChanges{}) << "it came back";
  EXPECT_EQ(watch.look({{"b", "1"}}), RepositoryChanges{});
  EXPECT_EQ(watch.look({{"b", "1"}}), (RepositoryChanges{{}, {"a"}}));
  EXPECT_EQ(watch.look({{"b", "1"}}), RepositoryChanges{});
  EXPECT_EQ(watch.look({{"a", "1"}, {"b", "1"}}), RepositoryChanges{});
  EXPECT_EQ(watch.look({{"a", "1"}, {"b", "1"}}), (RepositoryChanges{{"a"}, {}})) << "as it was, and still new";
}

TEST(RepositoryWatch, WhatBecomesAsItWasIsNoChange) {
  RepositoryWatch watch(RepositoryState{{"a", "1"}});
  EXPECT_EQ(watch.look({{"a", "2"}}), RepositoryChanges{});
  EXPECT_EQ(watch.look({{"a", "1"}}), RepositoryChanges{});
  EXPECT_EQ(watch.look({{"a", "1"}}), RepositoryChanges{});
}

}  // namespace
}  // namespace znni
