// A ModelServer with a simulated GPU: plans that name one, turns, metrics, and what happens when it fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "proto/convert/text/plan_text.hpp"
#include "server/models/model_files.hpp"
#include "tests/server/jobs/served_repository.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::wait_until;
using testing::HasSubstr;

class GpuModelServer : public test::ServedRepository {
 protected:
  // Adds a model whose plan lies beside it.
  void add_model(const std::string& name, bool fallback = true) {
    add_network(name);
    const std::vector<ModelEntry> entries = scan_repository(directory_.path()).value();
    const auto entry =
        std::find_if(entries.begin(), entries.end(), [&](const auto& each) { return each.name == name; });
    const Network read = read_model_files(*entry, {}).value().network;
    const GeometryChoice choice = test::choice_of(read, PoolMode::fragments, 1);
    const Plan plan = test::mixed_plan(read, choice, 1, test::host_device(1)->spec(), test::host_sim_spec(), fallback);
    directory_.write(name + "/1/plan.pbtxt", plan_text(plan));
  }

  std::unique_ptr<ModelServer> open(bool with_gpu = true) {
    ServerOptions given = server_options(std::int64_t{80} << 20, test::split_catalogue());
    if (with_gpu) {
      given.gpu = ServerGpu{{test::host_sim_spec(), device_bytes_, std::int64_t{1} << 40},
                            [this](const GpuOffer& offer) { return open_gpu(offer); },
                            [this] { return std::exchange(notes_, {}); }};
    }
    return settled(open_model_server(std::move(given)));
  }
  Result<std::unique_ptr<Device>> open_gpu(const GpuOffer& offer) {
    ++opened_;
    if (!opens_) return Error{ErrorCode::over_budget, "another program has its memory"};
    auto gpu =
        std::make_unique<test::HostSim>(test::HostSimOptions{offer.spec, 0, offer.pinned_bytes, offer.device_bytes, 0});
    gpu->fail_work(lost_at_, ErrorCode::device_lost);
    gpu_ = gpu.get();
    return std::unique_ptr<Device>(std::move(gpu));
  }
  JobStatistics run(ModelServer& server, const std::string& name) {
    JobOutcome outcome;
    const VolumeJob job =
        test::recorded_job(volume_.view(), output_, ElementType::f32, VolumeOrder::channel_major, outcome);
    const Result<JobStatistics> done = server.run(name, "", job, {});
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact_), 1e-5);
    return done ? *done : JobStatistics();
  }

  const test::RandomVolume volume_ = test::random_volume(1, {12, 13, 14}, ElementType::f32, random_);
  const Shape5 output_{1, 2, volume_.shape.n - Vec3::cube(7)};
  const oracle::Values exact_ =
      test::dense_oracle(network_, weights_, volume_.shape.n, test::volume_values(volume_.view(), {}));
  std::int64_t device_bytes_ = std::int64_t{1} << 27;
  bool opens_ = true;
  std::int64_t lost_at_ = 0;  // piece of work of a GPU that is opened; 0: none
  std::vector<std::string> notes_;
  int opened_ = 0;
  test::HostSim* gpu_ = nullptr;
};

TEST_F(GpuModelServer, APlanForTheGpuIsServedOnItAndOpensItOnce) {
  add_model("a");
  add_model("b");
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->ready()) << log();
  EXPECT_EQ(opened_, 1);
  EXPECT_THAT(log(), HasSubstr("GPU 'simulated GPU' is open with 128.00 MiB of its memory"));
  EXPECT_EQ(run(*server, "a").fallback, "");
  EXPECT_EQ(run(*server, "b").fallback, "");
  const ModelStatistics counted = server->statistics("a", "");
  EXPECT_GT(counted.cpu_idle + counted.gpu_idle, 0);
  EXPECT_EQ(counted.fell_back, 0);
  const MemoryFacts before = server->memory();
  EXPECT_EQ(before.device_limit, device_bytes_);
  EXPECT_EQ(before.pinned_limit, before.models_limit) << "pinned memory is the host's";
  EXPECT_EQ(before.device_used, gpu_->reserved(MemorySpace::device));
  EXPECT_EQ(before.pinned_used, gpu_->reserved(MemorySpace::pinned));
  EXPECT_GT(before.pinned_used, 0);
  ASSERT_TRUE(server->unload("a", {}));
  EXPECT_LT(server->memory().device_used, before.device_used);
  EXPECT_EQ(run(*server, "b").fallback, "");
}

TEST_F(GpuModelServer, JobsOfTwoModelsTakeTurnsOnBothDevices) {
  add_model("a");
  add_model("b");
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->ready()) << log();
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i] { EXPECT_EQ(run(*server, i % 2 == 0 ? "a" : "b").fallback, ""); });
  }
  callers.clear();
  EXPECT_EQ(server->statistics("a", "").succeeded + server->statistics("b", "").succeeded, 4);
}

TEST_F(GpuModelServer, WithoutAGpuTheModelIsUnavailableInOneLine) {
  add_model("net");
  const std::unique_ptr<ModelServer> server = open(false);
  EXPECT_FALSE(server->ready());
  EXPECT_THAT(server->models().front().reason, HasSubstr("it places segments on a GPU, and none is in use"));
  EXPECT_EQ(opened_, 0);
}

TEST_F(GpuModelServer, APlanThatWantsMoreOfTheGpuThanIsGivenIsRefusedWithBothNumbers) {
  device_bytes_ = 1000;
  add_model("net");
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_FALSE(server->ready());
  EXPECT_THAT(server->models().front().reason, HasSubstr("of the GPU's memory"));
  EXPECT_THAT(server->models().front().reason, HasSubstr("there are 1000 B"));
}

TEST_F(GpuModelServer, AGpuThatIsLostIsSaidInStatisticsAndLog) {
  add_model("net");
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->ready()) << log();
  EXPECT_EQ(server->models().front().gpu_lost, "");
  gpu_->fail_work(20);
  EXPECT_THAT(run(*server, "net").fallback, HasSubstr("work failed, as the test asked"));
  EXPECT_TRUE(server->ready());
  EXPECT_THAT(server->models().front().gpu_lost, HasSubstr("work failed"));
  EXPECT_THAT(log(), HasSubstr("error: model 'net': the CPU takes over until the GPU works again, for it failed: "));
  run(*server, "net");
  EXPECT_EQ(server->statistics("net", "").fell_back, 2);
  EXPECT_EQ(log().find("takes over"), log().rfind("takes over"));
}

TEST_F(GpuModelServer, AJobThatLosesTheGpuForGoodEndsOnTheCpuAndTheLossIsToldOnce) {
  add_model("net");
  add_model("other");
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->ready()) << log();
  EXPECT_FALSE(server->gpu_loss());
  gpu_->fail_work(20, ErrorCode::device_lost);
  EXPECT_THAT(run(*server, "net").fallback, HasSubstr("work failed, as the test asked"));
  ASSERT_TRUE(server->gpu_loss());
  EXPECT_FALSE(server->gpu_loss()->while_loading);
  EXPECT_THAT(server->gpu_loss()->reason, HasSubstr("work failed, as the test asked"));
  EXPECT_THAT(log(), HasSubstr("error: the GPU is lost to this process, and no retry mends that: "));
  EXPECT_THAT(log(), HasSubstr("error: model 'net': the CPU takes over for good, for it failed: "));
  EXPECT_NE(run(*server, "other").fallback, "");
  EXPECT_EQ(log().find("is lost to this process"), log().rfind("is lost to this process"));
}

TEST_F(GpuModelServer, WithoutARungOfTheCpuTheLossIsToldAllTheSame) {
  add_model("net", false);
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->ready()) << log();
  gpu_->fail_work(20, ErrorCode::device_lost);
  JobOutcome outcome;
  const VolumeJob job =
      test::recorded_job(volume_.view(), output_, ElementType::f32, VolumeOrder::channel_major, outcome);
  const Result<JobStatistics> done = server->run("net", "", job, {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::device_lost);
  ASSERT_TRUE(server->gpu_loss());
  EXPECT_FALSE(server->gpu_loss()->while_loading);
}

// Another process would lose it again: jobs that come later do not make a reason to end of it.
TEST_F(GpuModelServer, AGpuThatIsLostWhileAModelIsLoadedIsToldApart) {
  lost_at_ = 3;
  add_model("net");
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->ready()) << log();
  ASSERT_TRUE(server->gpu_loss()) << log();
  EXPECT_TRUE(server->gpu_loss()->while_loading);
  EXPECT_NE(run(*server, "net").fallback, "");
  EXPECT_TRUE(server->gpu_loss()->while_loading);
  EXPECT_THAT(log(), HasSubstr("this one goes on without it"));
}

TEST_F(GpuModelServer, AModelThatCannotBeLoadedForALostGpuTellsOfIt) {
  lost_at_ = 3;
  add_model("net", false);
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_FALSE(server->ready());
  ASSERT_TRUE(server->gpu_loss()) << log();
  EXPECT_TRUE(server->gpu_loss()->while_loading);
}

TEST_F(GpuModelServer, WhatTheBackEndHadToAssumeIsInTheLog) {
  notes_ = {"engines are those for a description"};
  add_model("a");
  add_model("b");
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->ready()) << log();
  EXPECT_THAT(log(), HasSubstr("warning: engines are those for a description"));
  EXPECT_EQ(log().find("engines are"), log().rfind("engines are"));
}

TEST_F(GpuModelServer, WhereTheGpuDoesNotOpenTheRungsOfTheCpuServe) {
  opens_ = false;
  add_model("both");
  add_model("gpu", false);
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_EQ(run(*server, "both").fallback, "another program has its memory");
  EXPECT_THAT(log(), HasSubstr("the CPU takes over, for the GPU failed: another program has its memory"));
  const Result<ModelInfo> alone = server->find("gpu", "");
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().message, HasSubstr("another program has its memory"));
}

}  // namespace
}  // namespace znni
