// Who may run with small patches while another job of the model has its turn: between the steps of a stream, and in the
// entries that a batch of several patches leaves free.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "planner/search/search.hpp"
#include "proto/convert/text/plan_text.hpp"
#include "server/models/model_files.hpp"
#include "tests/server/jobs/model_server_fixture.hpp"
#include "tests/server/jobs/served_repository.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::RandomVolume;
using test::wait_until;

using test::mib;

class SmallPatchesTest : public test::ServedRepository {
 protected:
  SmallPatchesTest() {
    const Backend* const rows[] = {&test::oracle_backend()};
    catalogue_ = Catalogue::make(rows).value();
    add_network("net");
    GeometryChoice stream = test::choice_of(network_, PoolMode::fragments, 6);
    stream.pass_input.z = 8;
    stream.streamed = true;
    plan({stream, test::choice_of(network_, PoolMode::fragments, 0)});
  }

  // Plans steps of eight planes and the smallest patch, unless a test wants others. `share`: the share of its predicted
  // time that a patch of the first rung takes.
  void plan(const std::vector<GeometryChoice>& ladder, double share = 1) {
    const Network network = read_model_files(scan_repository(directory_.path())->at(0), {})->network;
    const DeviceSpec spec = test::host_device(mib)->spec();
    SearchOptions options;
    options.memory_limit = 64 * mib;
    const std::unique_ptr<CostSource> costs = modelled_costs();
    const Plan searched = search(network, spec, catalogue_, *costs, options).value();
    Plan plan = test::hand_plan(network, ladder, catalogue_, spec, random_).value();
    plan.key = searched.key;
    plan.ladder.front().seconds *= share;
    directory_.write("net/1/plan.pbtxt", plan_text(plan));
  }

  std::unique_ptr<ModelServer> open(std::int64_t touched_before_serving) {
    ServerOptions given = server_options(75 * mib, catalogue_);
    given.touched_before_serving = touched_before_serving;
    given.log = [this, note = given.log](std::string_view level, const std::string& line) {
      note(level, line);
      if (told_) told_(line);
    };
    return settled(open_model_server(std::move(given)));
  }

  VolumeJob job_for(const RandomVolume& volume, std::size_t rung, JobOutcome& outcome) {
    VolumeJob job = test::recorded_job(volume.view(), {1, 2, volume.shape.n - Vec3::cube(7)}, ElementType::f32,
                                       VolumeOrder::channel_major, outcome);
    job.schedule.rung = rung;
    return job;
  }
  void expect_exact(const RandomVolume& volume, const JobOutcome& outcome) {
    const oracle::Values exact =
        test::dense_oracle(network_, weights_, volume.shape.n, test::volume_values(volume.view(), {}));
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
  }

  Catalogue catalogue_;
  std::function<void(const std::string& line)> told_;  // may be empty; by the thread that loads
  std::function<void(std::size_t)> run_;
};

// job_line_test.cpp tests between which steps it runs.
TEST_F(SmallPatchesTest, AShortJobRunsBesideAStreamInSmallPatches) {
  const std::unique_ptr<ModelServer> server = open(saturated);
  const RandomVolume volume = test::random_volume(1, {60, 9, 9}, ElementType::f32, random_);
  const RandomVolume small = test::random_volume(1, {9, 9, 9}, ElementType::f32, random_);
  std::atomic<bool> short_ran = false;
  JobOutcome long_outcome;
  JobOutcome short_outcome;
  VolumeJob quick = job_for(small, 1, short_outcome);
  quick.sink.deliver = [&, deliver = quick.sink.deliver](const OutputSlab& slab) {
    short_ran = true;
    return deliver(slab);
  };
  std::jthread short_job;
  VolumeJob stream = job_for(volume, 0, long_outcome);
  stream.sink.has_room = [&] { return !short_job.joinable() || short_ran; };
  stream.account.progress = [&](const JobProgress& at) {
    if (at.patches_done != 2 || short_job.joinable()) return;
    EXPECT_EQ(server->estimate("net", "", small.shape)->rung, 1U);
    short_job = std::jthread([&] { EXPECT_TRUE(server->run("net", "", quick, {})); });
    EXPECT_TRUE(wait_until([&] { return server->statistics("net", "").queued_now == 1; }));
  };
  const Result<JobStatistics> done = server->run("net", "", stream, {});
  ASSERT_TRUE(done) << done.error().message << log();
  short_job.join();
  EXPECT_GT(done->patches, 3);
  EXPECT_GT(done->yielded, 0);
  expect_exact(volume, long_outcome);
  expect_exact(small, short_outcome);
}

TEST_F(SmallPatchesTest, TheFirstRunOfALargeRungKeepsOutOfAStreamUnderWay) {
  std::atomic<bool> streams = false;
  std::atomic<bool> touched = false;
  told_ = [&](const std::string& line) {
    if (line.find("is ready") != std::string::npos) {
      EXPECT_TRUE(wait_until([&] { return streams.load(); }));
    }
    if (line.find("touched") != std::string::npos) touched = true;
  };
  const std::unique_ptr<ModelServer> server = open(0);
  const RandomVolume volume = test::random_volume(1, {60, 9, 9}, ElementType::f32, random_);
  JobOutcome outcome;
  VolumeJob stream = job_for(volume, 0, outcome);
  stream.account.progress = [&](const JobProgress& at) { streams = at.patches_done >= 2; };
  stream.sink.has_room = [&] { return !streams || touched; };
  ASSERT_TRUE(server->run("net", "", stream, {}));
  EXPECT_TRUE(touched);
  expect_exact(volume, outcome);
}

TEST_F(SmallPatchesTest, SmallRequestsShareABatchOfAPlanThatLikesSeveralPatchesTogether) {
  plan({test::choice_of(network_, PoolMode::fragments, 0, 4), test::choice_of(network_, PoolMode::fragments, 0)}, 0.4);
  const std::unique_ptr<ModelServer> server = open(saturated);
  constexpr std::int64_t guests = 3;
  std::vector<RandomVolume> volumes;
  for (std::int64_t i = 0; i <= guests; ++i) {
    volumes.push_back(test::random_volume(1, Vec3::cube(9), ElementType::f32, random_));
  }
  std::vector<JobOutcome> outcomes(volumes.size());
  std::vector<std::thread::id> computed_by(volumes.size());
  std::vector<std::jthread> others;
  const auto run = [&](std::size_t i) {
    VolumeJob job = job_for(volumes[i], 0, outcomes[i]);
    job.sink.deliver = [&, i, deliver = job.sink.deliver](const OutputSlab& slab) {
      computed_by[i] = std::this_thread::get_id();
      return deliver(slab);
    };
    job.sink.slab = [&, i, slab = job.sink.slab](std::int64_t first_plane, std::int64_t planes) {
      if (i == 0 && others.empty()) {  // it has the turn, and its batch is about to run
        for (std::size_t other = 1; other < volumes.size(); ++other) others.emplace_back(run_, other);
        // They stand in line when it seems best to share a batch with them.
        EXPECT_TRUE(wait_until([&] { return server->estimate("net", "", volumes[i].shape)->rung == 0; }));
      }
      return slab(first_plane, planes);
    };
    const Result<JobStatistics> done = server->run("net", "", job, {});
    ASSERT_TRUE(done) << done.error().message << log();
    EXPECT_EQ(done->is_guest, i > 0);
  };
  run_ = run;
  run(0);
  others.clear();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    EXPECT_EQ(computed_by[i], std::this_thread::get_id());
    expect_exact(volumes[i], outcomes[i]);
  }
  const ModelStatistics counted = server->statistics("net", "");
  EXPECT_EQ(counted.succeeded, guests + 1);
  EXPECT_EQ(counted.guests, guests);
  EXPECT_EQ(counted.queued_now + counted.running_now, 0);
  EXPECT_EQ(counted.success_ns, counted.queue_ns + counted.compute_ns);
  EXPECT_GT(counted.stages.gather, 0);
  EXPECT_GT(counted.stages.head, 0);
  EXPECT_GT(counted.stages.stitch, 0);
  EXPECT_EQ(counted.stages.tail, 0);
}

}  // namespace
}  // namespace znni
