#include "server/jobs/guest_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "tests/server/jobs/wait_until.hpp"

namespace znni {
namespace {

using test::wait_until;
using testing::ElementsAre;
using Outcome = Result<std::optional<JobStatistics>>;

VolumeJob job_on(std::size_t rung) {
  VolumeJob job;
  job.schedule.rung = rung;
  return job;
}

JobStatistics patches(std::int64_t count) {
  JobStatistics statistics;
  statistics.patches = count;
  return statistics;
}

TEST(GuestList, ThoseOfTheRungThatFitAreTakenInTheOrderTheyCame) {
  GuestList list;
  const std::vector<VolumeJob> jobs = {job_on(0), job_on(1), job_on(0), job_on(0), job_on(0), job_on(0)};
  GuestList::Waiting one(list, jobs[0], {1, 1});
  GuestList::Waiting elsewhere(list, jobs[1], {1, 1});
  GuestList::Waiting three(list, jobs[2], {3, 3});
  GuestList::Waiting alone(list, jobs[3], {0, 2});
  GuestList::Waiting large(list, jobs[3], {0, 0});
  GuestList::Waiting two(list, jobs[4], {2, 2});
  GuestList::Waiting late(list, jobs[5], {1, 1});
  EXPECT_EQ(list.possible_entries(), 1 + 1 + 3 + 2 + 2 + 1);
  std::vector<const VolumeJob*> found;
  for (const Guest& guest : list.take(0, 3)) {
    found.push_back(guest.job);
    const Result<JobStatistics> ended = patches(guest.job == jobs.data() ? 1 : 2);
    guest.ended(&ended);
  }
  EXPECT_THAT(found, ElementsAre(&jobs[0], &jobs[4]));
  EXPECT_TRUE(one.has_run());
  EXPECT_FALSE(late.has_run());
  EXPECT_EQ(list.possible_entries(), 1 + 3 + 2 + 1);
  EXPECT_TRUE(one.taken().stop_requested());
  EXPECT_FALSE(late.taken().stop_requested());
  EXPECT_EQ((*one.leave())->patches, 1);
  EXPECT_EQ((*two.leave())->patches, 2);
  for (GuestList::Waiting* other : {&elsewhere, &three, &alone, &large, &late}) EXPECT_FALSE(other->leave());
  EXPECT_TRUE(list.take(0, 100).empty()) << "all have left";
  EXPECT_EQ(list.possible_entries(), 0);
}

// A job in a thread of its own, while another job has the turn.
class TurnOrGuestTest : public testing::Test {
 protected:
  TurnOrGuestTest() { EXPECT_TRUE(other_.take({})); }

  std::future<Outcome> start(std::int64_t entries, bool again = false) {
    return std::async(std::launch::async, [this, entries, again]() -> Outcome {
      JobTurns turns(model_, device_, 2);
      GuestList::Waiting waiting(list_, job_, {entries, entries});
      const WaitEvents events = {[this] { ++in_line_; }, [this] { ++begun_; }};
      return take_turn_or_run_as_guest(waiting, turns, again, events, stop_.get_token());
    });
  }
  Guest take_it() {
    std::vector<Guest> guests;
    EXPECT_TRUE(wait_until([&] {
      if (model_.waiting() == 1) guests = list_.take(0, 1);
      return !guests.empty();
    }));
    return guests.empty() ? Guest{} : guests.front();
  }
  void end_other() { const JobTurns given_back = std::move(other_); }

  TurnQueue model_{"model 'a'", 1};
  TurnQueue device_{"the device", 1};
  JobTurns other_{model_, device_, 2};
  GuestList list_;
  const VolumeJob job_ = job_on(0);
  std::stop_source stop_;
  std::atomic<int> in_line_ = 0;
  std::atomic<int> begun_ = 0;
};

TEST_F(TurnOrGuestTest, RunsAsAGuest) {
  std::future<Outcome> job = start(1);
  const Guest guest = take_it();
  EXPECT_TRUE(wait_until([&] { return begun_ == 1; }));
  const Result<JobStatistics> ended = patches(7);
  guest.ended(&ended);
  const Outcome outcome = job.get();
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_EQ((*outcome)->patches, 7);
  EXPECT_EQ(begun_, 1);
}

TEST_F(TurnOrGuestTest, ItsErrorIsItsOwn) {
  std::future<Outcome> job = start(1);
  const Result<JobStatistics> ended = Error{ErrorCode::over_budget, "no room"};
  take_it().ended(&ended);
  EXPECT_EQ(job.get().error().message, "no room");
}

TEST_F(TurnOrGuestTest, WhatDidNotRunHasATurnOfItsOwnHoweverManyWait) {
  std::future<Outcome> job = start(1);
  const Guest guest = take_it();
  ASSERT_TRUE(wait_until([&] { return model_.waiting() == 0; }));
  std::jthread next([&] { EXPECT_TRUE(model_.wait({})); });
  ASSERT_TRUE(wait_until([&] { return model_.waiting() == 1; }));
  EXPECT_TRUE(wait_until([&] { return begun_ == 1; }));
  EXPECT_EQ(in_line_, 1);
  guest.ended(nullptr);
  ASSERT_TRUE(wait_until([&] { return model_.waiting() == 2; }));
  EXPECT_EQ(in_line_, 2) << "it waits again, and each that asks is told";
  EXPECT_EQ(begun_, 1);
  end_other();
  const Outcome outcome = job.get();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(*outcome);
  EXPECT_EQ(begun_, 2);
}

TEST_F(TurnOrGuestTest, WhoWasInLineBeforeIsHoweverManyWait) {
  std::jthread next([&] { EXPECT_TRUE(model_.wait({})); });
  ASSERT_TRUE(wait_until([&] { return model_.waiting() == 1; }));
  EXPECT_EQ(start(0).get().error().code, ErrorCode::unavailable);
  std::future<Outcome> job = start(0, true);
  ASSERT_TRUE(wait_until([&] { return model_.waiting() == 2; }));
  end_other();
  EXPECT_TRUE(job.get());
}

TEST_F(TurnOrGuestTest, WhoTakesAWholeBatchWaitsForItsTurn) {
  std::future<Outcome> job = start(0);
  ASSERT_TRUE(wait_until([&] { return model_.waiting() == 1; }));
  EXPECT_TRUE(list_.take(0, 100).empty());
  EXPECT_EQ(begun_, 0);
  end_other();
  const Outcome outcome = job.get();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(*outcome);
  EXPECT_EQ(begun_, 1);
}

TEST_F(TurnOrGuestTest, IsCancelledWhileItWaits) {
  std::future<Outcome> job = start(1);
  ASSERT_TRUE(wait_until([&] { return model_.waiting() == 1; }));
  stop_.request_stop();
  EXPECT_EQ(job.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(begun_, 0);
  EXPECT_TRUE(list_.take(0, 100).empty());
}

TEST_F(TurnOrGuestTest, WhoGivesUpWhileItIsAGuestWaitsForTheBatch) {
  std::future<Outcome> job = start(1);
  const Guest guest = take_it();
  stop_.request_stop();
  EXPECT_TRUE(wait_until([&] { return begun_ == 1; }));
  const Result<JobStatistics> ended = patches(7);
  guest.ended(&ended);
  EXPECT_TRUE(job.get());
}

}  // namespace
}  // namespace znni
