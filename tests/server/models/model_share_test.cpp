#include "server/models/model_share.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::int64_t gib = std::int64_t{1} << 30;

std::int64_t share(std::int64_t left, const MemoryWish& own, const std::vector<MemoryWish>& others) {
  return share_of_model(left, own, others).value();
}

TEST(ModelShare, ModelsWithoutWishesShareEvenly) {
  EXPECT_EQ(share(900, {}, {{}, {}}), 300);
  EXPECT_EQ(share(900, {}, {}), 900);
  EXPECT_EQ(share(-5, {}, {{}}), 0);
}

TEST(ModelShare, WeightsDivideWhatBytesLeave) {
  const std::vector<MemoryWish> others = {{200, 1}, {{}, 1}, {100, 1}};
  EXPECT_EQ(share(900, {{}, 3}, others), 450);
  EXPECT_EQ(share(900, {}, {{200, 1}, {{}, 3}, {100, 1}}), 150);
  EXPECT_EQ(share(900, {500, 1}, others), 500) << "whatever the others wish";
  EXPECT_EQ(share(900, {900, 1}, {}), 900);
}

// However many are loaded already, in whatever order.
TEST(ModelShare, TheOrderOfLoadingDoesNotMatter) {
  const std::vector<MemoryWish> all = {{{}, 2}, {300, 1}, {{}, 5}, {{}, 1}};
  const std::vector<std::int64_t> expected = {200, 300, 500, 100};
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    std::int64_t left = 1100;
    for (std::size_t at = 0; at < order.size(); ++at) {
      std::vector<MemoryWish> others;
      for (std::size_t i = at + 1; i < order.size(); ++i) others.push_back(all[order[i]]);
      const std::int64_t taken = share(left, all[order[at]], others);
      ASSERT_EQ(taken, expected[order[at]]);
      left -= taken;
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ModelShare, MoreThanThereIsIsRefusedWithBothNumbers) {
  const auto own = share_of_model(3 * gib, {4 * gib, 1}, {});
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, ErrorCode::over_budget);
  EXPECT_EQ(own.error().message,
            "its parameter memory is 4.00 GiB, and 3.00 GiB are left for models: lower it, or raise --mem");
  const std::vector<MemoryWish> others = {{2 * gib, 1}, {gib, 1}};
  const auto rest = share_of_model(3 * gib, {}, others);
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().code, ErrorCode::over_budget);
  EXPECT_THAT(rest.error().message, HasSubstr("are 3.00 GiB in all, and 3.00 GiB are left"));
}

TEST(ModelShare, WishesAreReadFromTheConfiguration) {
  const test::TemporaryDirectory directory;
  ModelEntry entry;
  entry.config_file = directory.path() / "net/config.pbtxt";
  EXPECT_EQ(read_memory_wish(entry).weight, 1) << "there is no file";
  directory.write("net/config.pbtxt", "parameters { key: \"memory\" value { string_value: \"4G\" } }");
  EXPECT_EQ(read_memory_wish(entry).bytes, 4 * gib);
  directory.write("net/config.pbtxt", "parameters { key: \"memory_share\" value { string_value: \"3\" } }");
  EXPECT_EQ(read_memory_wish(entry).bytes, std::nullopt);
  EXPECT_EQ(read_memory_wish(entry).weight, 3);
  directory.write("net/config.pbtxt", "no configuration");
  EXPECT_EQ(read_memory_wish(entry).weight, 1);
}

}  // namespace
}  // namespace znni
