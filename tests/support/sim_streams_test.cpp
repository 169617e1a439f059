#include "tests/support/sim_streams.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace znni::test {
namespace {

// Runs two pieces of work on two streams with many seeds; returns the orders in which they ran.
std::set<std::string> orders(bool second_waits) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimStreams streams(seed);
    std::string order;
    streams.give(Stream::upload, 1, [&] { order += "u"; });
    if (second_waits) streams.wait(Stream::compute, streams.mark(Stream::upload));
    streams.give(Stream::compute, 1, [&] { order += "c"; });
    streams.finish();
    seen.insert(order);
  }
  return seen;
}

TEST(SimStreams, RunEveryLegalOrderAndNoOther) {
  EXPECT_EQ(orders(false), (std::set<std::string>{"uc", "cu"}));
  EXPECT_EQ(orders(true), std::set<std::string>{"uc"});
}

TEST(SimStreams, WorkOfOneStreamKeepsItsOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimStreams streams(seed);
    std::string order;
    for (const char* const name : {"1", "2", "3"}) streams.give(Stream::compute, 0, [&order, name] { order += name; });
    streams.finish();
    EXPECT_EQ(order, "123");
  }
}

TEST(SimStreams, FinishAMarkRunsWhatLiesBeforeItAndMayLeaveTheRest) {
  bool left = false;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    SimStreams streams(seed);
    int done = 0;
    streams.give(Stream::compute, 1, [&] { ++done; });
    const SimMark mark = streams.mark(Stream::compute);
    streams.give(Stream::compute, 1, [&] { ++done; });
    streams.finish(mark);
    EXPECT_GE(done, 1);
    left = left || done == 1;
    EXPECT_DOUBLE_EQ(streams.now(), 1.0);
    streams.finish();
    EXPECT_EQ(done, 2);
    EXPECT_DOUBLE_EQ(streams.now(), 2.0);
  }
  EXPECT_TRUE(left);
}

// upload 2 s; compute 3 s after it; another upload of 2 s meanwhile; compute 3 s after that.
TEST(SimStreams, TheClockOverlapsStreams) {
  SimStreams streams(0);
  for (int part = 0; part < 2; ++part) {
    streams.give(Stream::upload, 2, [] {});
    streams.wait(Stream::compute, streams.mark(Stream::upload));
    streams.give(Stream::compute, 3, [] {});
  }
  streams.finish();
  EXPECT_DOUBLE_EQ(streams.now(), 8.0);
  EXPECT_DOUBLE_EQ(streams.busy(Stream::upload), 4.0);
  EXPECT_DOUBLE_EQ(streams.busy(Stream::compute), 6.0);
  streams.spend(1);
  streams.give(Stream::download, 1, [] {});
  streams.finish();
  EXPECT_DOUBLE_EQ(streams.now(), 10.0);
}

}  // namespace
}  // namespace znni::test
