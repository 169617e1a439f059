#include "server/rpc/calls/call_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

#include "tests/server/jobs/wait_until.hpp"

namespace znni::rpc {
namespace {

const Error stopped{ErrorCode::cancelled, "the job was stopped"};

// Waits for a stop. A token that is never asked to stop fails the test, instead of blocking it.
void wait_for_stop(const std::stop_token& token) {
  EXPECT_TRUE(test::wait_until([&token] { return token.stop_requested(); })) << "the caller was not asked";
}

TEST(CallWatch, StopsTheCallWhoseCallerGaveUp) {
  CallWatch watch;
  std::atomic<bool> gone = false;
  const WatchedCall stays = watch.watch([]() -> std::optional<Error> { return std::nullopt; });
  const WatchedCall call = watch.watch([&gone]() -> std::optional<Error> {
    if (!gone) return std::nullopt;
    return Error{ErrorCode::deadline_exceeded, "too late"};
  });
  EXPECT_FALSE(call.token().stop_requested());
  gone = true;
  wait_for_stop(call.token());
  EXPECT_EQ(call.reason(stopped).code, ErrorCode::deadline_exceeded);
  EXPECT_EQ(call.reason(stopped).message, "too late");
  EXPECT_FALSE(stays.token().stop_requested());
}

// At first, after a pause without calls, and beside one that has been asked for a while.
TEST(CallWatch, ACallThatComesLateIsAskedForToo) {
  CallWatch watch;
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(test::wait_until([&watch] { return watch.rests(); }));
    const WatchedCall late = watch.watch([] { return std::optional<Error>(stopped); });
    wait_for_stop(late.token());
    EXPECT_EQ(late.reason({}).message, stopped.message);
  }
  std::atomic<int> asked = 0;
  const WatchedCall stays = watch.watch([&asked]() -> std::optional<Error> {
    ++asked;
    return std::nullopt;
  });
  ASSERT_TRUE(test::wait_until([&asked] { return asked >= 2; }));
  EXPECT_FALSE(watch.rests());
  const WatchedCall beside = watch.watch([] { return std::optional<Error>(stopped); });
  wait_for_stop(beside.token());
  EXPECT_FALSE(stays.token().stop_requested());
}

TEST(CallWatch, AsksLongCallsLessOften) {
  using std::chrono::milliseconds;
  EXPECT_EQ(pause_between_probes(milliseconds(0)), milliseconds(10));
  EXPECT_EQ(pause_between_probes(milliseconds(600)), milliseconds(30));
  EXPECT_EQ(pause_between_probes(milliseconds(1'000'000)), milliseconds(50));
}

TEST(CallWatch, WithoutAReasonTheErrorStands) {
  CallWatch watch;
  const WatchedCall call = watch.watch([]() -> std::optional<Error> { return std::nullopt; });
  EXPECT_EQ(call.reason(stopped).message, stopped.message);
}

TEST(CallWatch, WhomAProbeWakesHearsItsReason) {
  CallWatch watch;
  std::latch woken(1);
  const WatchedCall call = watch.watch([&woken] {
    woken.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return std::optional<Error>(Error{ErrorCode::deadline_exceeded, "too late"});
  });
  woken.wait();
  EXPECT_EQ(call.reason(stopped).message, "too late");
}

TEST(CallWatch, TheFirstReasonCounts) {
  CallWatch watch;
  std::atomic<int> asked = 0;
  const WatchedCall call = watch.watch([&asked] {
    return std::optional<Error>(Error{ErrorCode::cancelled, std::to_string(asked++)});
  });
  wait_for_stop(call.token());
  EXPECT_EQ(call.reason(stopped).message, "0");
}

TEST(CallWatch, NothingIsAskedOfACallThatEnded) {
  CallWatch watch;
  for (int round = 0; round < 100; ++round) {
    // The probe's target dies with the call; the sanitizers would see a late question.
    auto alive = std::make_unique<std::atomic<bool>>(true);
    const WatchedCall call = watch.watch([&alive]() -> std::optional<Error> {
      if (*alive) return std::nullopt;
      return stopped;
    });
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace znni::rpc
