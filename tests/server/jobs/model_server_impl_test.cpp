#include "server/jobs/model_server_impl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planner/costs/problem_text.hpp"
#include "tests/server/jobs/model_server_fixture.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::mib;
using test::ModelServerTest;
using testing::HasSubstr;

TEST_F(ModelServerTest, RecordsCorrectTheFormulasThatThereAre) {
  add_network("net");
  const std::string by_formulas = open()->models().at(0).plan_summary;
  const LayerProblem conv = ConvProblem{{1, 1, Vec3::cube(9)}, 2, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
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
  const Result<JobEstimate> estimate = server->estimate("net", "", volume_.shape);
  ASSERT_TRUE(estimate) << estimate.error().message;
  EXPECT_EQ(server->cut("net", "", volume_.shape, ElementType::f32, {})->part, estimate->output.n);
  JobOutcome outcome;
  VolumeJob job =
      test::recorded_job(volume_.view(), estimate->output, ElementType::f32, VolumeOrder::channel_major, outcome);
  job.input.normalisation = {100.0F, 100.0F};  // not the caller's business
  outcome.statistics = server->run("net", "1", job, {});
  ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
  const oracle::Values exact =
      test::dense_oracle(network_, weights_, volume_.shape.n, test::volume_values(volume_.view(), {0.5F, 2.0F}));
  EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
  JobOutcome plain;
  VolumeJob own =
      test::recorded_job(volume_.view(), estimate->output, ElementType::f32, VolumeOrder::channel_major, plain);
  own.input.normalised = true;
  plain.statistics = server->run("net", "1", own, {});
  ASSERT_TRUE(plain.statistics);
  EXPECT_LE(
      test::relative_error(test::output_values(plain), test::dense_oracle(network_, weights_, volume_.shape.n,
                                                                          test::volume_values(volume_.view(), {}))),
      1e-5);
  const ModelStatistics counters = server->statistics("net", "");
  EXPECT_EQ(counters.succeeded, 2);
  EXPECT_EQ(counters.voxels, 2 * voxels(estimate->output.n));
}

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
  EXPECT_EQ(server->estimate("other", "", volume_.shape).error().code, ErrorCode::not_found);
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

TEST_F(ModelServerTest, AVolumesOwnFoldersDoNotKeepItFromBeingReady) {
  add_network("net");
  std::filesystem::create_directories(directory_.path() / "lost+found");
  std::filesystem::create_directories(directory_.path() / "scripts/old");
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_TRUE(server->ready());
  EXPECT_EQ(server->models().size(), 1U);
  EXPECT_THAT(log(), HasSubstr("passed over, with neither a model's file nor a version's folder in it: scripts"));
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
  const Result<JobEstimate> small = server->estimate("net", "", {1, {8, 8, 7}});
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

}  // namespace
}  // namespace znni
