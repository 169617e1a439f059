#include "server/jobs/job_turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/jobs/wait_until.hpp"

namespace znni {
namespace {

using test::wait_until;

class JobTurnsTest : public testing::Test {
 protected:
  // Runs `patches` patches in a thread of its own, each noted with `name`; waits until it stands in line.
  void start(const std::string& name, TurnQueue& model, int patches, int rank = 2) {
    const std::int64_t before = model.waiting() + device_.waiting();
    jobs_.emplace_back([this, name, &model, patches, rank] {
      JobTurns turns(model, device_, rank);
      ASSERT_TRUE(turns.take({}));
      for (int patch = 0; patch < patches; ++patch) {
        if (patch > 0) {
          ASSERT_TRUE(turns.give_way({}, {}));
        }
        order_ += name;
      }
    });
    ASSERT_TRUE(wait_until([&] { return model.waiting() + device_.waiting() == before + 1; }));
  }
  std::string order() {
    jobs_.clear();
    return order_;
  }

  TurnQueue device_{"the device", 100};
  TurnQueue a_{"model 'a'", 100};
  TurnQueue b_{"model 'b'", 100};
  TurnQueue c_{"model 'c'", 100};
  std::string order_;  // written by the job that has the device
  std::vector<std::jthread> jobs_;
};

TEST_F(JobTurnsTest, JobsOfOneModelTakeTurnsPatchByPatch) {
  {
    JobTurns first(a_, device_, 2);
    ASSERT_TRUE(first.take({}));
    start("x", a_, 3);
    start("y", a_, 2);
  }
  EXPECT_EQ(order(), "xyxyx");
}

TEST_F(JobTurnsTest, AreWantedWhereSomebodyWaitsOrThereIsNoRoom) {
  JobTurns first(a_, device_, 2);
  ASSERT_TRUE(first.take({}));
  EXPECT_FALSE(first.wanted({}));
  EXPECT_FALSE(first.wanted([] { return true; }));
  EXPECT_TRUE(first.wanted([] { return false; }));
  start("later", b_, 1, 3);
  EXPECT_FALSE(first.wanted({}));
  start("y", a_, 1);
  EXPECT_TRUE(first.wanted({}));
  EXPECT_FALSE(first.wanted({}, true)) << "a job of the same model, whose turn is kept";
  start("x", c_, 1);
  EXPECT_TRUE(first.wanted({}, true));
}

TEST_F(JobTurnsTest, AModelWithManyJobsHasOnePlaceOnTheDevice) {
  {
    JobTurns first(c_, device_, 2);
    ASSERT_TRUE(first.take({}));
    start("x", a_, 2);
    start("y", a_, 2);
    start("z", b_, 2);  // already stands in the device's line, behind x
  }
  // Half of the first patches are those of b, although a has twice as many jobs.
  EXPECT_LT(order().find_last_of('z'), 4U) << order_;
}

TEST_F(JobTurnsTest, UrgentOnesGoFirstAndAreNotInterrupted) {
  {
    JobTurns first(a_, device_, 2);
    ASSERT_TRUE(first.take({}));
    start("x", a_, 2, rank_of_priority(0));
    start("u", a_, 3, rank_of_priority(1));
    start("l", a_, 2, rank_of_priority(9));
  }
  EXPECT_EQ(order(), "uuuxxll");
}

TEST_F(JobTurnsTest, AloneItKeepsItsTurns) {
  JobTurns turns(a_, device_, 2);
  ASSERT_TRUE(turns.take({}));
  EXPECT_TRUE(turns.give_way({}, [] { return true; }));
  EXPECT_TRUE(turns.give_way({}, {}));
}

TEST_F(JobTurnsTest, WhileItHasNoRoomAnybodyRuns) {
  std::atomic<bool> room = false;
  std::atomic<bool> back = false;
  std::jthread slow([&] {
    JobTurns turns(a_, device_, 1);
    ASSERT_TRUE(turns.take({}));
    ASSERT_TRUE(turns.give_way({}, [&] { return room.load(); }));
    back = true;
  });
  {
    JobTurns other(a_, device_, 9);
    ASSERT_TRUE(other.take({}));
    EXPECT_FALSE(back);
  }
  room = true;
  slow.join();
  EXPECT_TRUE(back);
}

TEST_F(JobTurnsTest, WithinAStreamOtherModelsRunAndItsOwnSmallJobs) {
  TurnQueue between("between steps of model 'a'", 100);
  {
    JobTurns stream(a_, device_, 2);
    ASSERT_TRUE(stream.take({}));
    start("l", between, 2);
    start("b", b_, 2);
    start("x", a_, 1);
    for (int step = 0; step < 3; ++step) {
      ASSERT_TRUE(stream.lend_device({}, {}));
      order_ += 's';
    }
  }
  EXPECT_EQ(order(), "lbslbssx");
}

TEST_F(JobTurnsTest, WithinAStreamThatHasNoRoomOthersRun) {
  std::atomic<bool> room = false;
  std::jthread slow([&] {
    JobTurns turns(a_, device_, 1);
    ASSERT_TRUE(turns.take({}));
    ASSERT_TRUE(turns.lend_device({}, [&] { return room.load(); }));
    EXPECT_FALSE(a_.wanted(1000));
  });
  {
    JobTurns other(b_, device_, 9);
    ASSERT_TRUE(other.take({}));
  }
  room = true;
  slow.join();
}

TEST_F(JobTurnsTest, AJobThatIsStoppedWhileItStandsAsideIsCancelledAndBlocksNobody) {
  std::stop_source stop;
  JobTurns stopped(a_, device_, 2);
  ASSERT_TRUE(stopped.take({}));
  stop.request_stop();
  EXPECT_EQ(stopped.give_way(stop.get_token(), [] { return false; }).has_value(), true);  // no job waits: on it goes

  JobTurns other(a_, device_, 2);
  std::jthread waits([&] { EXPECT_TRUE(other.take({})); });
  ASSERT_TRUE(wait_until([&] { return a_.waiting() == 1; }));
  const Result<void> gone = stopped.give_way(stop.get_token(), {});
  waits.join();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::cancelled);
}

TEST(RankOfPriority, ZeroIsTheUsual) {
  EXPECT_EQ(rank_of_priority(0), rank_of_priority(2));
  EXPECT_LT(rank_of_priority(1), rank_of_priority(0));
  EXPECT_GT(rank_of_priority(3), rank_of_priority(0));
}

}  // namespace
}  // namespace znni
