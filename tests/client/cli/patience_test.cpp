#include "client/cli/patience.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "primitives/core/clock_time.hpp"

namespace znni::client {
namespace {

const Error no_room{ErrorCode::over_budget, "needs 9 GiB, has 1 GiB"};

double seconds_of_wait(Patience& patience) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(patience.wait(no_room));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Patience, OnlyWithWhatMayPass) {
  const Patience patience(60, {});
  EXPECT_TRUE(patience.lasts(no_room));
  EXPECT_TRUE(patience.lasts({ErrorCode::unavailable, "the queue is full"}));
  EXPECT_FALSE(patience.lasts({ErrorCode::corrupt_file, "another model"}));
  EXPECT_FALSE(patience.lasts({ErrorCode::cancelled, "interrupted"}));
  EXPECT_FALSE(patience.lasts({ErrorCode::internal, ""}));
  EXPECT_FALSE(Patience(0, {}).lasts(no_room));
}

TEST(Patience, KnowsWhatLoads) {
  EXPECT_TRUE(is_loading({ErrorCode::unavailable, "model 'net' is still loading: planning within 4.00 GiB for 12 s"}));
  EXPECT_FALSE(is_loading({ErrorCode::unavailable, "the queue is full"}));
  EXPECT_FALSE(is_loading({ErrorCode::not_found, "model 'is still loading' is not found"}));
  EXPECT_FALSE(is_loading(no_room));
}

TEST(Patience, TellsHowFarLoadingIs) {
  const Patience patience(7200, {});
  const Error loading{ErrorCode::unavailable, "model 'net' is still loading: planning within 4.00 GiB for 12 s"};
  EXPECT_EQ(patience.text(loading), "loading: planning within 4.00 GiB for 12 s");
  EXPECT_EQ(patience.text(no_room).find("trying again for "), 0U);
}

TEST(Patience, WaitsLongerEachTimeAndNotBeyondItsEnd) {
  Patience patience(3600, {});
  EXPECT_GE(seconds_of_wait(patience), 0.2);
  EXPECT_GE(seconds_of_wait(patience), 0.4);
  Patience short_one(0.1, {});
  ASSERT_TRUE(short_one.wait(no_room));  // for the time that is left
  EXPECT_FALSE(short_one.lasts(no_room));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(short_one.wait(no_room));  // not for more than a quarter of an hour, as else
  EXPECT_GT(short_one.seconds_left(), -600);
}

TEST(Patience, MayHaveNoEnd) {
  for (const double seconds : {1e10, 1e300, std::numeric_limits<double>::infinity()}) {
    const Patience patience(seconds, {});
    EXPECT_TRUE(patience.lasts(no_room)) << seconds;
    EXPECT_NEAR(patience.seconds_left(), longest_clock_time, 60);
  }
}

TEST(Patience, EndsWhenStopped) {
  std::stop_source stop;
  Patience patience(3600, stop.get_token());
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  while (patience.wait(no_room)) ASSERT_GT(patience.seconds_left(), 3000);
  EXPECT_FALSE(patience.wait(no_room)) << "nor later";
}

}  // namespace
}  // namespace znni::client
