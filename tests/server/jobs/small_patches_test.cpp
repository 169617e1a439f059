// A model whose plan streams, with small patches beside: who may run while a stream stands between two steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "planner/search.hpp"
#include "proto/convert/plan_text.hpp"
#include "server/models/model_files.hpp"
#include "tests/server/jobs/served_repository.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::RandomVolume;
using test::wait_until;

constexpr std::int64_t mib = std::int64_t{1} << 20;

class SmallPatchesTest : public test::ServedRepository {
 protected:
  SmallPatchesTest() {
    const Backend* const rows[] = {&test::oracle_backend()};
    catalogue_ = Catalogue::make(rows).value();
    add_network("net");
    directory_.write("net/1/plan.pbtxt", plan_text(streaming_plan()));
  }

  // Steps of eight planes, and the smallest patch.
  Plan streaming_plan() {
    const Network network = read_model_files(scan_repository(directory_.path())->at(0), {})->network;
    const DeviceSpec spec = test::host_device(mib)->spec();
    SearchOptions options;
    options.memory_limit = 64 * mib;
    const std::unique_ptr<CostSource> costs = modelled_costs();
    const Plan searched = search(network, spec, catalogue_, *costs, options).value();
    GeometryChoice stream = test::choice_of(network, PoolMode::fragments, 6);
    stream.pass_input.z = 8;
    stream.streamed = true;
    Plan plan =
        test::hand_plan(network, {stream, test::choice_of(network, PoolMode::fragments, 0)}, catalogue_, spec, random_)
            .value();
    plan.key = searched.key;
    return plan;
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
                                       VolumeOrder::image_major, outcome);
    job.rung = rung;
    return job;
  }
  void expect_exact(const RandomVolume& volume, const JobOutcome& outcome) {
    const oracle::Values exact =
        test::dense_oracle(network_, weights_, volume.shape.n, test::volume_values(volume.view(), {}));
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
  }

  Catalogue catalogue_;
  std::function<void(const std::string& line)> told_;  // may be empty; by the thread that loads
};

TEST_F(SmallPatchesTest, AShortJobRunsBetweenTheStepsOfAStream) {
  const std::unique_ptr<ModelServer> server = open(saturated);
  const RandomVolume volume = test::random_volume(1, {60, 9, 9}, ElementType::f32, random_);
  const RandomVolume small = test::random_volume(1, {9, 9, 9}, ElementType::f32, random_);
  std::atomic<std::int64_t> steps_done = 0;
  std::int64_t steps_when_short_ran = -1;
  JobOutcome long_outcome;
  JobOutcome short_outcome;
  VolumeJob quick = job_for(small, 1, short_outcome);
  quick.deliver = [&, deliver = quick.deliver](const OutputSlab& slab) {
    steps_when_short_ran = steps_done;  // it is the short job's turn: the stream stands
    return deliver(slab);
  };
  std::jthread short_job;
  VolumeJob stream = job_for(volume, 0, long_outcome);
  stream.progress = [&](const JobProgress& at) {
    steps_done = at.patches_done;
    if (at.patches_done != 2 || short_job.joinable()) return;
    EXPECT_EQ(server->outlook("net", "", small.shape)->rung, 1U);
    short_job = std::jthread([&] { EXPECT_TRUE(server->run("net", "", quick, {})); });
    EXPECT_TRUE(wait_until([&] { return server->statistics("net", "").queued_now == 1; }));
  };
  const Result<JobStatistics> done = server->run("net", "", stream, {});
  ASSERT_TRUE(done) << done.error().message << log();
  short_job.join();
  EXPECT_LT(steps_when_short_ran, done->patches) << "it waited for the whole column";
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
  stream.progress = [&](const JobProgress& at) { streams = at.patches_done >= 2; };
  stream.has_room = [&] { return !streams || touched; };
  ASSERT_TRUE(server->run("net", "", stream, {}));
  EXPECT_TRUE(touched);
  expect_exact(volume, outcome);
}

}  // namespace
}  // namespace znni
