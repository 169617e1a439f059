#include "server/rpc/connections/stream_account.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const StreamAccount::Clock::time_point start = StreamAccount::Clock::now();
constexpr auto most = static_cast<std::int64_t>(StreamAccount::most);

TEST(StreamAccount, UsualClientsAreNotShutOut) {
  StreamAccount account;
  EXPECT_FALSE(account.is_shut_out("a", start));
  EXPECT_FALSE(account.add("a", most, start));
  EXPECT_FALSE(account.add("a", -most, start)) << "all were served in the end";
  EXPECT_FALSE(account.add("a", most, start));
  for (int second = 1; second < 100; ++second) {
    EXPECT_FALSE(account.add("a", 200, start + seconds(second))) << "some of each second are forgiven";
  }
}

TEST(StreamAccount, TooManyShutTheClientOutAloneUntilHalfAreForgiven) {
  StreamAccount account;
  EXPECT_TRUE(account.add("a", most + 1, start));
  EXPECT_FALSE(account.add("b", 1, start));
  EXPECT_TRUE(account.is_shut_out("a", start));
  EXPECT_FALSE(account.is_shut_out("b", start));
  EXPECT_TRUE(account.is_shut_out("a", start + seconds(2)));
  EXPECT_TRUE(account.add("a", 0, start + seconds(2)));
  EXPECT_FALSE(account.is_shut_out("a", start + milliseconds(2600)));
}

TEST(StreamAccount, ForgetsClientsOfWhomNothingIsLeftToForgive) {
  StreamAccount account;
  account.add("a", 100, start);
  account.add("b", most, start);
  account.sweep(start + seconds(1));
  EXPECT_EQ(account.size(), 1U);
  EXPECT_TRUE(account.add("b", 201, start + seconds(1))) << "what is left of b is kept";
  account.sweep(start + seconds(60));
  EXPECT_EQ(account.size(), 0U);
}

TEST(StreamAccount, NoClientIsShutOutForLong) {
  StreamAccount account;
  EXPECT_TRUE(account.add("a", 1'000'000'000, start));
  EXPECT_FALSE(account.is_shut_out("a", start + seconds(8)));
}

}  // namespace
}  // namespace znni::rpc
