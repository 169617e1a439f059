#include "server/jobs/model_server_impl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "planner/problem_text.hpp"
#include "tests/server/jobs/served_repository.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using test::wait_until;
using testing::HasSubstr;

constexpr std::int64_t mib = std::int64_t{1} << 20;

class ModelServerTest : public test::ServedRepository {
 protected:
  Result<std::unique_ptr<ModelServer>> try_open(std::int64_t memory, std::int64_t max_queue = 8) {
    const Backend* const rows[] = {&test::oracle_backend()};
    ServerOptions given = server_options(memory, Catalogue::make(rows).value());
    given.load_at_start = load_at_start_;
    given.limits.max_queue = max_queue;
    given.timings = timings_;
    return open_model_server(std::move(given));
  }
  std::unique_ptr<ModelServer> open(std::int64_t memory = 75 * mib, std::int64_t max_queue = 8) {
    return settled(try_open(memory, max_queue));
  }

  // A job that stays where it asks for its first slab until it is released: it has its turn and has computed
  // nothing yet.
  VolumeJob held_job(JobOutcome& outcome) {
    VolumeJob job = test::recorded_job(volume_.view(), {1, 2, volume_.shape.n - Vec3::cube(7)}, ElementType::f32,
                                       VolumeOrder::image_major, outcome);
    job.slab = [this, slab = job.slab](std::int64_t first_plane, std::int64_t planes) {
      ++held_;
      EXPECT_TRUE(wait_until([&] { return released_.load(); }));
      return slab(first_plane, planes);
    };
    return job;
  }

  const RandomVolume volume_ = test::random_volume(1, {12, 13, 14}, ElementType::f32, random_);
  std::optional<std::vector<std::string>> load_at_start_;
  Timings timings_;
  std::atomic<int> held_ = 0;
  std::atomic<bool> released_ = false;
};

TEST_F(ModelServerTest, RecordsCorrectTheFormulasThatThereAre) {
  add_network("net");
  const std::string by_formulas = open()->models().at(0).plan_summary;
  const LayerProblem conv = ConvProblem{{1, 1, Vec3::cube(9)}, 2, Vec3::cube(2), Vec3::cube(1), {}};
  const DeviceSpec spec = test::host_device(mib)->spec();
  const Primitive& oracle = *test::oracle_backend().primitives.front();
  const Estimate way = oracle.describe(conv, spec).value().front();
  const auto with_record = [&](Seconds modelled) {
    timings_ = {};
    timings_.insert({std::string(oracle.name),
                     oracle.version,
                     way.variant,
                     way.in,
                     way.out,
                     to_string(conv),
                     spec.name,
                     spec.threads,
                     {3 * way.time},
                     0,
                     modelled,
                     0,
                     {}});
    return open()->models().at(0).plan_summary;
  };
  const std::string corrected = with_record(way.time);
  EXPECT_NE(corrected, by_formulas);
  EXPECT_EQ(with_record(100 * way.time), corrected);  // by another formula than this build's
}

TEST_F(ModelServerTest, ServesAModelExactlyWithItsOwnNormalisation) {
  add_network("net");
  directory_.write("net/config.pbtxt",
                   "parameters { key: 'input_scale' value { string_value: '0.5' } }"
                   "parameters { key: 'input_offset' value { string_value: '2' } }");
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->ready()) << log();
  const Result<JobOutlook> outlook = server->outlook("net", "", volume_.shape);
  ASSERT_TRUE(outlook) << outlook.error().message;
  EXPECT_EQ(server->cut("net", "", volume_.shape, ElementType::f32, {})->part, outlook->output.n);
  JobOutcome outcome;
  VolumeJob job =
      test::recorded_job(volume_.view(), outlook->output, ElementType::f32, VolumeOrder::image_major, outcome);
  job.normalisation = {100.0F, 100.0F};  // not the caller's business
  outcome.statistics = server->run("net", "1", job, {});
  ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
  const oracle::Values exact =
      test::dense_oracle(network_, weights_, volume_.shape.n, test::volume_values(volume_.view(), {0.5F, 2.0F}));
  EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
  JobOutcome plain;
  VolumeJob own =
      test::recorded_job(volume_.view(), outlook->output, ElementType::f32, VolumeOrder::image_major, plain);
  own.normalised = true;
  plain.statistics = server->run("net", "1", own, {});
  ASSERT_TRUE(plain.statistics);
  EXPECT_LE(
      test::relative_error(test::output_values(plain), test::dense_oracle(network_, weights_, volume_.shape.n,
                                                                          test::volume_values(volume_.view(), {}))),
      1e-5);
  const ModelStatistics counters = server->statistics("net", "");
  EXPECT_EQ(counters.succeeded, 2);
  EXPECT_EQ(counters.voxels, 2 * voxels(outlook->output.n));
}

// It stays for all of a run, of which the memory of others at its first moment says nothing.
TEST_F(ModelServerTest, AVolumeIsCutForAServerWithoutOthers) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const VolumeShape wide{1, {40, 3000, 3000}};
  const Result<VolumeCut> alone = server->cut("net", "", wide, ElementType::f32, {});
  ASSERT_TRUE(alone) << alone.error().message;
  const Result<TransportLease> others = server->lease(server->memory().transport_limit - 9999);
  ASSERT_TRUE(others);
  const Result<VolumeCut> beside = server->cut("net", "", wide, ElementType::f32, {});
  ASSERT_TRUE(beside) << beside.error().message;
  EXPECT_EQ(*beside, *alone);
}

TEST_F(ModelServerTest, AVolumeThatFitsInNoPartsIsRefusedWithNumbers) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const VolumeShape tall{1, {std::int64_t{1} << 31, 20, 20}};  // the list of its patches alone is too long
  const Result<VolumeCut> cut = server->cut("net", "", tall, ElementType::f32, {});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::over_budget);
  EXPECT_THAT(cut.error().message, HasSubstr(bytes_text(server->memory().transport_limit)));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(server->cut("net", "", tall, ElementType::f32, stop.get_token()).error().code, ErrorCode::cancelled);
}

TEST_F(ModelServerTest, AVolumeIsStandardisedWhereTheModelSaysSo) {
  add_network("net");
  directory_.write("net/config.pbtxt", "parameters { key: 'input_zscore' value { string_value: 'volume' } }");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  released_ = true;
  ASSERT_TRUE(server->run("net", "", held_job(outcome), {})) << log();
  oracle::Values values = test::volume_values(volume_.view(), {});
  double mean = 0;
  double square = 0;
  for (const double x : values) mean += x / static_cast<double>(values.size());
  for (const double x : values) square += (x - mean) * (x - mean) / static_cast<double>(values.size());
  for (double& x : values) x = (x - mean) / std::sqrt(square);
  const oracle::Values exact = test::dense_oracle(network_, weights_, volume_.shape.n, values);
  EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
}

TEST_F(ModelServerTest, WhatCannotBeLoadedIsUnavailableWithItsReasonAndTheRestServes) {
  add_network("good");
  add_network("truncated");
  const std::filesystem::path file = directory_.path() / "truncated/1/model.onnx";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  directory_.write("missing/1/notes.txt", "");
  directory_.write("versionless/model.onnx", "");
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_FALSE(server->ready());
  for (const ModelInfo& model : server->models()) {
    EXPECT_EQ(model.state == ModelState::ready, model.name == "good") << model.name << ": " << model.reason;
    EXPECT_EQ(model.reason.empty(), model.name == "good") << model.name;
  }
  EXPECT_TRUE(server->find("good", ""));
  const Result<ModelInfo> missing = server->find("missing", "");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::unavailable);
  EXPECT_THAT(missing.error().message, HasSubstr("model.onnx"));
  EXPECT_THAT(log(), HasSubstr("error: model 'truncated' is unavailable: "));
  EXPECT_THAT(log(), HasSubstr("info: model 'good' version 1 is ready: patch "));
}

TEST_F(ModelServerTest, UnknownModelsAndVersionsAreNotFound) {
  add_network("net", "2");
  add_network("net", "1");
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_EQ(server->find("net", "")->version, "2");
  EXPECT_EQ(server->find("net", "2")->version, "2");
  EXPECT_EQ(server->find("net", "1").error().code, ErrorCode::not_found);
  EXPECT_EQ(server->find("other", "").error().message, "Request for unknown model: 'other' is not found");
  EXPECT_EQ(server->outlook("other", "", volume_.shape).error().code, ErrorCode::not_found);
  EXPECT_EQ(server->cut("other", "", volume_.shape, ElementType::f32, {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(server->run("other", "", {}, {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(server->statistics("other", "").succeeded, 0);
}

TEST_F(ModelServerTest, AnEmptyRepositoryIsReadyAndTold) {
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_TRUE(server->ready());
  EXPECT_TRUE(server->models().empty());
  EXPECT_THAT(log(), HasSubstr("warning: " + directory_.path().string() + ": no model there"));
}

TEST_F(ModelServerTest, LimitsThatNoModelSurvivesAreErrors) {
  const auto tight = try_open(mib);
  ASSERT_FALSE(tight);
  EXPECT_EQ(tight.error().code, ErrorCode::over_budget);
  std::filesystem::remove_all(directory_.path());
  EXPECT_EQ(try_open(80 * mib).error().code, ErrorCode::not_found);
}

TEST_F(ModelServerTest, ModelsShareTheMemoryAndAModelThatDoesNotFitSaysHowMuch) {
  for (const char* name : {"a", "b", "c"}) add_network(name);
  const std::int64_t memory = 76 * mib;
  const std::unique_ptr<ModelServer> server = open(memory);
  std::int64_t sum = 0;
  for (const ModelInfo& model : server->models()) {
    EXPECT_EQ(model.state, ModelState::ready) << model.reason;
    sum += model.memory.total();
  }
  EXPECT_LE(sum, memory - 64 * mib - memory / 8);
  const std::unique_ptr<ModelServer> tight = open(73 * mib + 150 * 1024);
  for (const ModelInfo& model : tight->models()) {
    if (model.state == ModelState::ready) continue;
    EXPECT_THAT(model.reason, HasSubstr("planning within"));
  }
}

TEST_F(ModelServerTest, RefusesWrongShapesNamingTheModel) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const Result<JobOutlook> small = server->outlook("net", "", {1, {8, 8, 7}});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(small.error().message, HasSubstr("model 'net': input extent is 8x8x7"));
}

TEST_F(ModelServerTest, LeasesComeFromTheTransportShare) {
  const std::unique_ptr<ModelServer> server = open(80 * mib);
  const Result<TransportLease> lease = server->lease(9 * mib);
  ASSERT_TRUE(lease);
  EXPECT_EQ(server->lease(2 * mib).error().code, ErrorCode::over_budget);
  EXPECT_TRUE(server->lease(mib));
}

TEST_F(ModelServerTest, TheQueueIsBoundedAndKeepsItsOrder) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open(80 * mib, 2);
  ASSERT_TRUE(server->ready()) << log();
  std::vector<std::jthread> callers;
  std::vector<JobOutcome> outcomes(4);
  std::vector<int> order;  // written by whoever has the turn
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&, i] {
      VolumeJob job = held_job(outcomes[static_cast<std::size_t>(i)]);
      job.progress = [&, i](const JobProgress& progress) {
        if (progress.patches_done == progress.patches) order.push_back(i);
      };
      EXPECT_TRUE(server->run("net", "", job, {}));
    });
    const bool waiting =
        wait_until([&] { return i == 0 ? held_ == 1 : server->statistics("net", "").queued_now == i; });
    ASSERT_TRUE(waiting);
  }
  EXPECT_EQ(server->statistics("net", "").running_now, 1);
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

TEST_F(ModelServerTest, AJobMayBeCancelledWhileItWaits) {
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

TEST_F(ModelServerTest, ModelsTakeTurnsOnTheDevice) {
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

TEST_F(ModelServerTest, AJobThatStandsAsideLetsOthersRunAndIsNoneTheWorse) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  Vec3 n = {16, 9, 9};
  while (server->outlook("net", "", {1, n})->patches < 3) n.z *= 2;
  const RandomVolume large = test::random_volume(1, n, ElementType::f32, random_);
  const Shape5 output = server->outlook("net", "", large.shape)->output;
  JobOutcome slow;
  JobOutcome quick;
  VolumeJob job = test::recorded_job(large.view(), output, ElementType::f32, VolumeOrder::image_major, slow);
  std::jthread other;
  std::atomic<bool> other_ended = false;
  job.has_room = [&] {
    if (!other.joinable()) {
      other = std::jthread([&] {
        VolumeJob second = test::recorded_job(volume_.view(), {1, 2, volume_.shape.n - Vec3::cube(7)}, ElementType::f32,
                                              VolumeOrder::image_major, quick);
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

TEST_F(ModelServerTest, MemoryIsTold) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const MemoryFacts before = server->memory();
  EXPECT_EQ(before.models_used, server->models().front().memory.total());
  EXPECT_GE(before.models_limit, before.models_used);
  {
    const Result<TransportLease> lease = server->lease(mib);
    EXPECT_EQ(server->memory().transport_used, mib);
  }
  EXPECT_EQ(server->memory().transport_used, 0);
  EXPECT_EQ(server->memory().transport_peak, mib);
  EXPECT_GT(server->memory().transport_limit, mib);
}

TEST_F(ModelServerTest, AJobThatWaitsForItsClientIsNotStuck) {
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

TEST_F(ModelServerTest, ModelsAreLoadedAndUnloadedByHand) {
  add_network("a");
  add_network("b");
  load_at_start_ = {{"a"}};
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_TRUE(server->ready()) << "nobody expects b";
  EXPECT_THAT(server->find("b", "").error().message, HasSubstr("not loaded"));
  const std::int64_t before = server->memory().models_used;
  const Result<void> loaded = server->load("b", {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(server->find("b", ""));
  EXPECT_TRUE(server->outlook("b", "", volume_.shape));
  EXPECT_EQ(server->memory().models_used, before + server->find("b", "")->memory.total());
  ASSERT_TRUE(server->unload("b", {}));
  EXPECT_EQ(server->memory().models_used, before);
  EXPECT_EQ(server->find("b", "").error().code, ErrorCode::unavailable);
  EXPECT_TRUE(server->ready());
  EXPECT_TRUE(server->unload("b", {})) << "once more does no harm";
  EXPECT_EQ(server->load("none", {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(server->load("../a", {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(server->unload("none", {}).error().code, ErrorCode::not_found);
}

TEST_F(ModelServerTest, AModelToBeLoadedAtTheStartMustBeThere) {
  add_network("a");
  load_at_start_ = {{"a", "b"}};
  const auto none = try_open(75 * mib);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("no model 'b'"));
}

TEST_F(ModelServerTest, LoadingAgainTakesWhatIsOnDiskNow) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  const std::int64_t before = server->memory().models_used;
  add_network("net", "2");
  ASSERT_TRUE(server->load("net", {}));
  EXPECT_EQ(server->find("net", "")->version, "2");
  EXPECT_EQ(server->find("net", "1").error().code, ErrorCode::not_found);
  EXPECT_EQ(server->memory().models_used, server->find("net", "")->memory.total());
  EXPECT_EQ(server->models().size(), 1U);
  directory_.write("net/2/model.onnx", "no model");
  const Result<void> broken = server->load("net", {});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("model.onnx"));
  EXPECT_EQ(server->memory().models_used, 0);
  EXPECT_GT(before, 0);
}

TEST_F(ModelServerTest, OneModelTooManyIsRefusedWithNumbers) {
  for (const char* name : {"a", "b"}) add_network(name);
  load_at_start_.emplace();
  const std::unique_ptr<ModelServer> server = open(73 * mib + 200 * 1024);
  const Result<void> first = server->load("a", {});
  ASSERT_TRUE(first) << first.error().message << log();
  for (int model = 0; model < 20; ++model) {
    const std::string name = "more" + std::to_string(model);
    add_network(name);
    const Result<void> loaded = server->load(name, {});
    if (loaded) continue;
    EXPECT_EQ(loaded.error().code, ErrorCode::over_budget) << loaded.error().message;
    EXPECT_THAT(loaded.error().message, HasSubstr("planning within"));
    EXPECT_TRUE(server->ready());
    EXPECT_TRUE(server->find("a", ""));
    return;
  }
  FAIL() << "memory without end";
}

TEST_F(ModelServerTest, UnloadingWaitsForTheJobsInside) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::jthread running([&] { EXPECT_TRUE(server->run("net", "", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::stop_source impatient;
  std::jthread cancelled(
      [&] { EXPECT_EQ(server->unload("net", impatient.get_token()).error().code, ErrorCode::cancelled); });
  ASSERT_TRUE(wait_until([&] { return !server->find("net", ""); }));
  impatient.request_stop();
  cancelled.join();
  EXPECT_TRUE(server->find("net", "")) << "it serves on";
  std::jthread unload([&] { EXPECT_TRUE(server->unload("net", {})); });
  ASSERT_TRUE(wait_until([&] { return !server->find("net", ""); }));
  EXPECT_GT(server->memory().models_used, 0);
  released_ = true;
  unload.join();
  running.join();
  EXPECT_EQ(server->memory().models_used, 0);
}

TEST_F(ModelServerTest, DrainLetsJobsEndAndRefusesNewOnes) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::jthread running([&] { EXPECT_TRUE(server->run("net", "", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::jthread drain([&] { server->drain(1000); });
  ASSERT_TRUE(wait_until([&] { return !server->ready(); }));
  JobOutcome late;
  EXPECT_EQ(server->run("net", "", held_job(late), {}).error().code, ErrorCode::unavailable);
  released_ = true;
  running.join();
  drain.join();
  EXPECT_EQ(server->statistics("net", "").succeeded, 1);
}

TEST_F(ModelServerTest, OfJobsThatComeTogetherNoneIsRefusedOnceTheFirstRuns) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open(75 * mib, 1);
  std::vector<JobOutcome> outcomes(3);
  std::vector<VolumeJob> jobs = {held_job(outcomes[0]), held_job(outcomes[1])};
  std::jthread both([&] { EXPECT_TRUE(server->run_all("net", "", jobs, 1, {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::jthread other([&] { EXPECT_TRUE(server->run("net", "", held_job(outcomes[2]), {})); });
  ASSERT_TRUE(wait_until([&] { return server->statistics("net", "").queued_now == 1; }));  // nobody else may wait
  std::jthread drain([&] { server->drain(1000); });
  ASSERT_TRUE(wait_until([&] { return !server->ready(); }));
  released_ = true;
  for (std::jthread* thread : {&both, &other, &drain}) thread->join();
  EXPECT_EQ(server->statistics("net", "").succeeded, 3);
}

TEST_F(ModelServerTest, DrainCancelsWhatIsLeftWhenTheTimeIsUp) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  std::vector<JobOutcome> outcomes(2);
  std::vector<std::jthread> callers;
  for (JobOutcome& outcome : outcomes) {
    callers.emplace_back([&] {
      const Result<JobStatistics> done = server->run("net", "", held_job(outcome), {});
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, ErrorCode::cancelled);
    });
    const auto inside = static_cast<std::int64_t>(callers.size());
    ASSERT_TRUE(wait_until([&] { return held_ + server->statistics("net", "").queued_now == inside && held_ == 1; }));
  }
  ASSERT_TRUE(wait_until([&] { return server->statistics("net", "").queued_now == 1; }));
  std::jthread drain([&] { server->drain(0.01); });
  // The waiting job ends at once, the running one before its next layer.
  ASSERT_TRUE(wait_until([&] { return server->statistics("net", "").cancelled == 1; }));
  released_ = true;
  drain.join();
  EXPECT_EQ(server->statistics("net", "").cancelled, 2);
}

}  // namespace
}  // namespace znni
