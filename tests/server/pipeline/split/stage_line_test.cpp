#include "server/pipeline/split/stage_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <latch>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace znni {
namespace {

const Error broken{ErrorCode::device_failure, "it broke"};

// Delivers items [0, count), of which none is anything.
Result<void> deliver(std::int64_t count, Handoff& to, const std::stop_token& stop) {
  for (std::int64_t item = 0; item < count; ++item) {
    if (Result<void> room = to.wait_for_room(stop); !room) return room;
    to.deliver(item);
  }
  return {};
}

// Waits for nothing but a stop.
Result<void> wait_for(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, stop, [] { return false; });
  return Error{ErrorCode::cancelled, "stopped"};
}

// Returns a line of `count` items that does nothing but remember, in `finished`, what is finished.
StageLine line_of(std::int64_t count, std::vector<std::int64_t>& finished) {
  StageLine line;
  line.head = [count](Handoff& to, const std::stop_token& stop) { return deliver(count, to, stop); };
  line.tail = [](std::int64_t, const std::stop_token&) { return Result<void>(); };
  line.finish = [&finished](std::int64_t item) {
    finished.push_back(item);
    return Result<void>();
  };
  return line;
}

std::vector<std::int64_t> up_to(std::int64_t count) {
  std::vector<std::int64_t> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  return items;
}

TEST(StageLine, ItemsPassAllThreeInOrder) {
  std::vector<std::int64_t> finished;
  std::vector<std::int64_t> computed;
  StageLine line = line_of(100, finished);
  line.tail = [&](std::int64_t item, const std::stop_token&) {
    computed.push_back(item);
    return Result<void>();
  };
  const Result<HandoffIdle> idle = run_stage_line(line, {});
  ASSERT_TRUE(idle);
  EXPECT_GE(idle->producer, 0.0);
  EXPECT_GE(idle->consumer, 0.0);
  EXPECT_EQ(computed, up_to(100));
  EXPECT_EQ(finished, up_to(100));
}

// For every item but the last, each of the two waits until the other is under way: one after the other, the line would
// not end.
TEST(StageLine, AnItemIsFinishedWhileTheTailOfTheNextRuns) {
  constexpr std::int64_t count = 5;
  std::vector<std::int64_t> finished;
  std::deque<std::latch> meetings;
  while (std::ssize(meetings) + 1 < count) meetings.emplace_back(2);
  StageLine line = line_of(count, finished);
  line.tail = [&](std::int64_t item, const std::stop_token&) {
    if (item > 0) meetings[static_cast<std::size_t>(item - 1)].arrive_and_wait();
    return Result<void>();
  };
  line.finish = [&](std::int64_t item) {
    if (item + 1 < count) meetings[static_cast<std::size_t>(item)].arrive_and_wait();
    finished.push_back(item);
    return Result<void>();
  };
  ASSERT_TRUE(run_stage_line(line, {}));
  EXPECT_EQ(finished, up_to(count));
}

// The head, too, is at work meanwhile: all three meet.
TEST(StageLine, ThreeItemsAreUnderWayAtOnce) {
  std::vector<std::int64_t> finished;
  std::latch meeting(3);
  StageLine line = line_of(3, finished);
  line.head = [&](Handoff& to, const std::stop_token& stop) {
    for (std::int64_t item = 0; item < 3; ++item) {
      if (Result<void> room = to.wait_for_room(stop); !room) return room;
      if (item == 2) meeting.arrive_and_wait();
      to.deliver(item);
    }
    return Result<void>();
  };
  line.tail = [&](std::int64_t item, const std::stop_token&) {
    if (item == 1) meeting.arrive_and_wait();
    return Result<void>();
  };
  line.finish = [&](std::int64_t item) {
    if (item == 0) meeting.arrive_and_wait();
    finished.push_back(item);
    return Result<void>();
  };
  ASSERT_TRUE(run_stage_line(line, {}));
  EXPECT_EQ(finished, up_to(3));
}

// Two outputs suffice, and what is read for three items: no more are under way, wherever each worker stands.
TEST(StageLine, NoFourthItemIsStartedAndNoThirdOutputWritten) {
  std::vector<std::int64_t> finished;
  std::atomic<std::int64_t> done = 0;
  std::atomic<std::int64_t> max_under_way = 0;
  std::atomic<std::int64_t> max_outputs = 0;
  StageLine line = line_of(0, finished);
  line.head = [&](Handoff& to, const std::stop_token& stop) {
    for (std::int64_t item = 0; item < 50; ++item) {
      if (Result<void> room = to.wait_for_room(stop); !room) return room;
      max_under_way = std::max(max_under_way.load(), item + 1 - done);
      to.deliver(item);
    }
    return Result<void>();
  };
  line.tail = [&](std::int64_t item, const std::stop_token&) {
    max_outputs = std::max(max_outputs.load(), item + 1 - done);
    return Result<void>();
  };
  line.finish = [&](std::int64_t) {
    std::this_thread::yield();
    ++done;
    return Result<void>();
  };
  ASSERT_TRUE(run_stage_line(line, {}));
  EXPECT_EQ(done, 50);
  EXPECT_LE(max_under_way, 3);
  EXPECT_LE(max_outputs, 2);
}

TEST(StageLine, AHeadThatFailsEndsTheLineBehindItsItems) {
  std::vector<std::int64_t> finished;
  StageLine line = line_of(0, finished);
  line.head = [&](Handoff& to, const std::stop_token& stop) {
    EXPECT_TRUE(deliver(3, to, stop));
    return Result<void>(broken);
  };
  const Result<HandoffIdle> ran = run_stage_line(line, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, broken.message);
  EXPECT_EQ(finished, up_to(3));
}

// The tail of item 3 fails while item 2 is finished, which is completed, and the head waits for the stop alone.
TEST(StageLine, ATailThatFailsStopsTheHeadAndWhatItComputedIsFinished) {
  std::vector<std::int64_t> finished;
  std::latch meeting(2);
  StageLine line = line_of(0, finished);
  line.head = [&](Handoff& to, const std::stop_token& stop) {
    EXPECT_TRUE(deliver(4, to, stop));
    return wait_for(stop);
  };
  line.tail = [&](std::int64_t item, const std::stop_token&) {
    if (item < 3) return Result<void>();
    meeting.arrive_and_wait();
    return Result<void>(broken);
  };
  line.finish = [&](std::int64_t item) {
    if (item == 2) meeting.arrive_and_wait();
    finished.push_back(item);
    return Result<void>();
  };
  const Result<HandoffIdle> ran = run_stage_line(line, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, broken.message);
  EXPECT_EQ(finished, up_to(3));
}

// Finishing item 1 fails while the tail of item 2 runs, which only a stop ends, and so it is with the head.
TEST(StageLine, AFailureOfTheCallerStopsBothOthers) {
  std::vector<std::int64_t> finished;
  std::latch meeting(2);
  StageLine line = line_of(0, finished);
  line.head = [&](Handoff& to, const std::stop_token& stop) {
    EXPECT_TRUE(deliver(3, to, stop));
    return wait_for(stop);
  };
  line.tail = [&](std::int64_t item, const std::stop_token& stop) {
    if (item < 2) return Result<void>();
    meeting.arrive_and_wait();
    return wait_for(stop);
  };
  line.finish = [&](std::int64_t item) {
    if (item == 0) return Result<void>();
    meeting.arrive_and_wait();
    return Result<void>(broken);
  };
  const Result<HandoffIdle> ran = run_stage_line(line, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, broken.message);
}

// The first of them in the order of the items, whichever comes first in time: the tail of item 2 fails before finishing
// item 1 does.
TEST(StageLine, OfSeveralErrorsTheOneOfTheEarliestItemIsReturned) {
  std::vector<std::int64_t> finished;
  std::latch failed(1);
  StageLine line = line_of(0, finished);
  line.head = [&](Handoff& to, const std::stop_token& stop) {
    EXPECT_TRUE(deliver(3, to, stop));
    const Result<void> stopped = wait_for(stop);  // by the tail, which has failed
    failed.count_down();
    return stopped;
  };
  line.tail = [](std::int64_t item, const std::stop_token&) {
    return item < 2 ? Result<void>() : Result<void>(Error{ErrorCode::device_lost, "so did the tail"});
  };
  line.finish = [&](std::int64_t item) {
    if (item == 0) return Result<void>();
    failed.wait();
    return Result<void>(broken);
  };
  const Result<HandoffIdle> ran = run_stage_line(line, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, broken.message);
}

// Asked for by one of the three, while the other two are where only a stop wakes them.
TEST(StageLine, AStopEndsAllThree) {
  for (const int asking : {0, 1, 2}) {
    SCOPED_TRACE(asking);
    std::stop_source stop;
    std::vector<std::int64_t> finished;
    StageLine line = line_of(0, finished);
    line.head = [&](Handoff& to, const std::stop_token& ending) {
      if (Result<void> delivered = deliver(asking == 0 ? 0 : 2, to, ending); !delivered) return delivered;
      if (asking == 0) stop.request_stop();
      return wait_for(ending);
    };
    line.tail = [&](std::int64_t item, const std::stop_token& ending) {
      if (item == 0) return Result<void>();
      if (asking == 1) stop.request_stop();
      return wait_for(ending);
    };
    line.finish = [&](std::int64_t) {
      if (asking == 2) stop.request_stop();
      return Result<void>();
    };
    const Result<HandoffIdle> ran = run_stage_line(line, stop.get_token());
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, ErrorCode::cancelled);
  }
}

}  // namespace
}  // namespace znni
