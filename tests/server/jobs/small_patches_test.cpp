// A model whose plan streams, with small patches beside: who may run while a stream stands between two steps, and what
// serves while memory is still touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "planner/search.hpp"
#include "proto/convert/plan_text.hpp"
#include "server/jobs/model_server_impl.hpp"
#include "server/models/model_files.hpp"
#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/models/onnx_file.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using test::wait_until;

constexpr std::int64_t mib = std::int64_t{1} << 20;

class SmallPatchesTest : public testing::Test {
 protected:
  SmallPatchesTest() {
    const Backend* const rows[] = {&test::oracle_backend()};
    catalogue_ = Catalogue::make(rows).value();
    test::write_model(directory_.path(), "net", "1", test::onnx_text(network_, weights_));
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
    ServerOptions options;
    options.repository = directory_.path();
    options.limits = {75 * mib, 1, 8};
    options.catalogue = catalogue_;
    options.touched_before_serving = touched_before_serving;
    options.open_device = [](std::int64_t budget) -> Result<std::unique_ptr<Device>> {
      return test::host_device(budget);
    };
    options.log = [this](std::string_view, const std::string& line) {
      log_ += line + "\n";
      if (told_) told_(line);
    };
    Result<std::unique_ptr<ModelServer>> server = open_model_server(std::move(options));
    ensure(server.has_value(), server ? "" : server.error().message);
    EXPECT_TRUE(wait_until([&] { return (*server)->ready(); }));
    return std::move(*server);
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

  const test::TemporaryDirectory directory_;
  const Network network_ = test::simple_network(1);
  const NetworkWeights weights_ = random_weights(network_, 3);
  Random random_{5};
  Catalogue catalogue_;
  std::function<void(const std::string& line)> told_;  // may be empty; by the thread that loads
  std::string log_;  // by the thread that loads, before the server is ready or when it has gone
};

TEST_F(SmallPatchesTest, AShortJobRunsBetweenTheStepsOfAStream) {
  const std::unique_ptr<ModelServer> server = open(saturated);
  const RandomVolume volume = test::random_volume(1, {60, 9, 9}, ElementType::f32, random_);
  const RandomVolume small = test::random_volume(1, {9, 9, 9}, ElementType::f32, random_);
  std::atomic<std::int64_t> steps_done = 0;
  std::int64_t steps_when_short_ended = -1;
  JobOutcome long_outcome;
  JobOutcome short_outcome;
  std::jthread short_job;
  VolumeJob stream = job_for(volume, 0, long_outcome);
  stream.progress = [&](const JobProgress& at) {
    steps_done = at.patches_done;
    if (at.patches_done != 2 || short_job.joinable()) return;
    EXPECT_EQ(server->outlook("net", "", small.shape)->rung, 1U);
    short_job = std::jthread([&] {
      EXPECT_TRUE(server->run("net", "", job_for(small, 1, short_outcome), {}));
      steps_when_short_ended = steps_done;
    });
    EXPECT_TRUE(wait_until([&] { return server->statistics("net", "").queued_now == 1; }));
  };
  const Result<JobStatistics> done = server->run("net", "", stream, {});
  ASSERT_TRUE(done) << done.error().message << log_;
  short_job.join();
  EXPECT_LT(steps_when_short_ended, done->patches) << "it waited for the whole column";
  EXPECT_GT(done->yielded, 0);
  expect_exact(volume, long_outcome);
  expect_exact(small, short_outcome);
}

TEST_F(SmallPatchesTest, TheFirstRunOfALargeRungKeepsOutOfAStreamUnderWay) {
  std::atomic<bool> streams = false;
  std::atomic<bool> touched = false;
  told_ = [&](const std::string& line) {
    if (line.find("is ready") != std::string::npos) EXPECT_TRUE(wait_until([&] { return streams.load(); }));
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
