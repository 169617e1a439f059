// Jobs of a ModelServer that wait: in line, for their client, beside others, and at its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/server/jobs/model_server_fixture.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::mib;
using test::RandomVolume;
using test::wait_until;
using testing::HasSubstr;

class WaitingJobs : public test::ModelServerTest {
 protected:
  // Returns a volume of several batches, after each of which others may run.
  RandomVolume tall_volume(const ModelServer& server) {
    const auto batches = [&server](Vec3 n) {
      const JobEstimate estimate = *server.estimate("net", "", {1, n});
      return div_up(estimate.patches, estimate.batch);
    };
    Vec3 n = {16, 9, 9};
    while (batches(n) < 3) n.z *= 2;
    return test::random_volume(1, n, ElementType::f32, random_);
  }
};

TEST_F(WaitingJobs, TheQueueIsBoundedAndKeepsItsOrder) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open(80 * mib, 2);
  ASSERT_TRUE(server->ready()) << log();
  std::vector<std::jthread> callers;
  std::vector<JobOutcome> outcomes(4);
  std::vector<int> order;  // written by the job that has the turn
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&, i] {
      VolumeJob job = held_job(outcomes[static_cast<std::size_t>(i)]);
      job.account.held_bytes = 100 + i;
      job.account.progress = [&, i](const JobProgress& progress) {
        if (progress.patches_done == progress.patches) order.push_back(i);
      };
      EXPECT_TRUE(server->run("net", "", job, {}));
    });
    const bool waiting =
        wait_until([&] { return i == 0 ? held_ == 1 : server->statistics("net", "").queued_now == i; });
    ASSERT_TRUE(waiting);
  }
  EXPECT_EQ(server->statistics("net", "").running_now, 1);
  EXPECT_EQ(server->statistics("net", "").running_bytes, 100);
  EXPECT_EQ(server->statistics("net", "").queued_bytes, 101 + 102);
  const Result<JobStatistics> full = server->run("net", "", held_job(outcomes[3]), {});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::unavailable);
  EXPECT_THAT(full.error().message, HasSubstr("2 jobs wait, at most 2 may"));
  released_ = true;
  callers.clear();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  const ModelStatistics counters = server->statistics("net", "");
  EXPECT_EQ(counters.succeeded, 3);
  EXPECT_EQ(counters.failed, 1);
  EXPECT_EQ(counters.queued_now + counters.running_now, 0);
}

TEST_F(WaitingJobs, AJobMayBeCancelledWhileItWaits) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  std::vector<JobOutcome> outcomes(2);
  std::jthread first([&] { EXPECT_TRUE(server->run("net", "", held_job(outcomes[0]), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::stop_source stop;
  std::jthread second([&] {
    const Result<JobStatistics> done = server->run("net", "", held_job(outcomes[1]), stop.get_token());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  });
  ASSERT_TRUE(wait_until([&] { return server->statistics("net", "").queued_now == 1; }));
  stop.request_stop();
  second.join();
  EXPECT_EQ(server->statistics("net", "").cancelled, 1);
  EXPECT_TRUE(outcomes[1].calls.empty());
  released_ = true;
}

TEST_F(WaitingJobs, ModelsTakeTurnsOnTheDevice) {
  add_network("a");
  add_network("b");
  const std::unique_ptr<ModelServer> server = open();
  std::vector<JobOutcome> outcomes(2);
  std::jthread a([&] { EXPECT_TRUE(server->run("a", "", held_job(outcomes[0]), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::jthread b([&] { EXPECT_TRUE(server->run("b", "", held_job(outcomes[1]), {})); });
  ASSERT_TRUE(wait_until([&] { return server->statistics("b", "").queued_now == 1; }));
  EXPECT_EQ(server->statistics("b", "").running_now, 0);
  released_ = true;
  a.join();
  b.join();
  EXPECT_EQ(server->statistics("b", "").succeeded, 1);
}

TEST_F(WaitingJobs, AJobThatStandsAsideLetsOthersRunAndIsNoneTheWorse) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const RandomVolume large = tall_volume(*server);
  const Shape5 output = server->estimate("net", "", large.shape)->output;
  JobOutcome slow;
  JobOutcome quick;
  VolumeJob job = test::recorded_job(large.view(), output, ElementType::f32, VolumeOrder::channel_major, slow);
  std::jthread other;
  std::atomic<bool> other_ended = false;
  job.sink.has_room = [&] {
    if (!other.joinable()) {
      other = std::jthread([&] {
        VolumeJob second = test::recorded_job(volume_.view(), {1, 2, volume_.shape.n - Vec3::cube(7)}, ElementType::f32,
                                              VolumeOrder::channel_major, quick);
        EXPECT_TRUE(server->run("net", "", second, {}));
        other_ended = true;
      });
    }
    return other_ended.load();
  };
  slow.statistics = server->run("net", "", job, {});
  ASSERT_TRUE(slow.statistics) << slow.statistics.error().message;
  EXPECT_TRUE(other_ended);
  EXPECT_GT(slow.statistics->yielded, 0);
  const oracle::Values exact =
      test::dense_oracle(network_, weights_, large.shape.n, test::volume_values(large.view(), {}));
  EXPECT_LE(test::relative_error(test::output_values(slow), exact), 1e-5);
}

TEST_F(WaitingJobs, AJobThatWaitsForItsClientIsNotStuck) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::jthread running([&] { EXPECT_TRUE(server->run("net", "", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  EXPECT_EQ(server->still(), 0);
  released_ = true;
  running.join();
  EXPECT_EQ(server->still(), 0);
}

TEST_F(WaitingJobs, OfJobsThatComeTogetherNoneIsRefusedOnceTheFirstRuns) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open(75 * mib, 1);
  std::vector<JobOutcome> outcomes(3);
  std::vector<VolumeJob> jobs = {held_job(outcomes[0]), held_job(outcomes[1])};
  std::jthread both([&] { EXPECT_TRUE(server->run_all("net", "", jobs, 1, {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::jthread other([&] { EXPECT_TRUE(server->run("net", "", held_job(outcomes[2]), {})); });
  ASSERT_TRUE(wait_until([&] { return server->statistics("net", "").queued_now == 1; }));  // no other job may wait
  std::jthread drain([&] { server->drain(1000); });
  ASSERT_TRUE(wait_until([&] { return !server->ready(); }));
  released_ = true;
  for (std::jthread* thread : {&both, &other, &drain}) thread->join();
  EXPECT_EQ(server->statistics("net", "").succeeded, 2);
  EXPECT_EQ(server->statistics("net", "").inferences, 3);
}

TEST_F(WaitingJobs, WhoRetiresIsNotReadyAndTakesJobsButNoModels) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  server->retire();
  EXPECT_FALSE(server->ready());
  JobOutcome outcome;
  released_ = true;
  EXPECT_TRUE(server->run("net", "", held_job(outcome), {}));
  EXPECT_EQ(server->load("net", {}).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(server->find("net", ""));
}

TEST_F(WaitingJobs, DrainLetsJobsEndAndRefusesNewOnes) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::jthread running([&] { EXPECT_TRUE(server->run("net", "", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::jthread drain([&] { server->drain(1000); });
  std::stop_source gave_up;  // jobs that came before the door was closed
  gave_up.request_stop();
  EXPECT_TRUE(wait_until([&] {
    JobOutcome late;
    return server->run("net", "", held_job(late), gave_up.get_token()).error().code == ErrorCode::unavailable;
  }));
  released_ = true;
  running.join();
  drain.join();
  EXPECT_EQ(server->statistics("net", "").succeeded, 1);
}

// The jobs are told to stop one after the other: the running one, which may be the last, has no room for a second batch
// and so does not end before.
TEST_F(WaitingJobs, DrainStopsWhatIsLeftWhenTheTimeIsUp) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const RandomVolume tall = tall_volume(*server);
  std::vector<JobOutcome> outcomes(2);
  std::vector<std::jthread> callers;
  for (JobOutcome& outcome : outcomes) {
    callers.emplace_back([&] {
      VolumeJob job = held_job(tall, outcome);
      job.sink.has_room = [] { return false; };
      const Result<JobStatistics> done = server->run("net", "", job, {});
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, ErrorCode::unavailable) << "it is not its caller who gave up";
      EXPECT_THAT(done.error().message, HasSubstr("shutting down"));
    });
    const auto inside = static_cast<std::int64_t>(callers.size());
    ASSERT_TRUE(wait_until([&] { return held_ + server->statistics("net", "").queued_now == inside && held_ == 1; }));
  }
  ASSERT_TRUE(wait_until([&] { return server->statistics("net", "").queued_now == 1; }));
  std::jthread drain([&] { server->drain(0.01); });
  // The waiting job ends at once, the running one before its next layer or while it has no room.
  ASSERT_TRUE(wait_until([&] { return server->statistics("net", "").cancelled == 1; }));
  released_ = true;
  drain.join();
  EXPECT_EQ(server->statistics("net", "").cancelled, 2);
}

TEST_F(WaitingJobs, WhoGivesUpBeforeTheDrainIsCancelled) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::stop_source stop;
  std::jthread running([&] {
    const Result<JobStatistics> done = server->run("net", "", held_job(outcome), stop.get_token());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  stop.request_stop();
  std::jthread drain([&] { server->drain(0); });
  ASSERT_TRUE(wait_until([&] { return !server->ready(); }));
  released_ = true;
}

TEST_F(WaitingJobs, DrainStopsLoadingWhenTheTimeIsUp) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::jthread running([&] { static_cast<void>(server->run("net", "", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::jthread load([&] { EXPECT_EQ(server->load("net", {}).error().code, ErrorCode::unavailable); });
  ASSERT_TRUE(wait_until([&] { return !server->find("net", ""); })) << "it waits for the job inside";
  EXPECT_THAT(server->find("net", "").error().message,
              testing::StartsWith("model 'net' is still loading: waiting for its jobs to end for "));
  std::jthread drain([&] { server->drain(0); });
  load.join();
  released_ = true;
}

}  // namespace
}  // namespace znni
