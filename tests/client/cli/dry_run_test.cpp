#include "client/cli/dry_run.hpp"

#include <nlohmann/json.hpp>

#include "client/cli/infer.hpp"
#include "tests/client/fake_daemon.hpp"
#include "tests/client/infer_job.hpp"

namespace znni::client {
namespace {

Options dry(const FakeDaemon& daemon, const Scratch& scratch) {
  Options options = options_for(daemon, scratch, "out.npy");
  options.dry_run = true;
  return options;
}

void expect_in(const std::string& text, const Result<InferOutcome>& outcome) {
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_NE(outcome->summary.find(text), std::string::npos) << outcome->summary;
}

TEST(DryRun, TellsPartsAndSecondsAndComputesNothing) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::sound, {{7, 3, 4}});
  const auto outcome = run_infer(dry(daemon, scratch), {});
  expect_in("write 1 x 7x4x6 float32", outcome);
  expect_in(
      ", in 4 parts of 7x3x4 voxels, the smallest of 7x1x2; predicted to take 2.50 s, 67 voxels/s "
      "(4280000 voxels/s in an endless volume), in one stream 9.0 s",
      outcome);
  const nlohmann::json json = nlohmann::json::parse(outcome->json);
  EXPECT_EQ(json["parts"], 4);
  EXPECT_EQ(json["channels"], 1);
  EXPECT_EQ(json["images"], 1);
  EXPECT_EQ(json["part"], (std::vector{7, 3, 4}));
  EXPECT_EQ(json["predicted_seconds"], 2.5);
  EXPECT_EQ(json["predicted_seconds_in_one_stream"], 9.0);
  EXPECT_EQ(daemon.streams(), 0);
  EXPECT_FALSE(std::filesystem::exists(scratch.file("out.npy.partial")));
  const FakeDaemon even(Behaviour::sound, {{7, 2, 3}});
  expect_in(", in 4 parts of 7x2x3 voxels; predicted", run_infer(dry(even, scratch), {}));
}

TEST(DryRun, AroundAPaddedBoxMoreIsRead) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::sound, {{7, 4, 6}});
  Options options = dry(daemon, scratch);
  options.padding = Padding::reflect;
  options.bbox = "3:6,0:2,:";
  const auto outcome = run_infer(options, {});
  expect_in("would read 5x3x8 voxels of ", outcome);
  expect_in(", send 5x4x10 (padding reflect) and write 1 x 3x2x8 float32", outcome);
}

TEST(DryRun, OneStreamHasOnePrediction) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::sound, {{7, 4, 6}});
  const auto outcome = run_infer(dry(daemon, scratch), {});
  expect_in(", in one stream; predicted to take 2.50 s", outcome);
  EXPECT_EQ(outcome->summary.find("9.0"), std::string::npos) << outcome->summary;
}

TEST(DryRun, WhereNobodyTellsThePartsThatIsSaid) {
  const Scratch scratch;
  const FakeDaemon older(Behaviour::refuses);
  const auto outcome = run_infer(dry(older, scratch), {});
  expect_in("in one stream; in which parts the volume is best computed is not known", outcome);
  expect_in("the daemon is too old to tell", outcome);
  EXPECT_FALSE(nlohmann::json::parse(outcome->json).contains("predicted_seconds"));
  const FakeDaemon broken(Behaviour::sound, {{7, 3, 4}, "model", 0, 0, grpc::StatusCode::INTERNAL});
  expect_in("it goes in one stream: not now", run_infer(dry(broken, scratch), {}));
}

// A dry run fails with the errors of a real run.
TEST(DryRun, WhatIsRefusedOrNotThereIsAnError) {
  const Scratch scratch;
  const FakeDaemon full(Behaviour::sound, {{7, 3, 4}, "model", 0, 0, grpc::StatusCode::RESOURCE_EXHAUSTED});
  Options options = dry(full, scratch);
  EXPECT_EQ(run_infer(options, {}).error().message, "not now");
  options.server = "127.0.0.1:1";
  const auto no_answer = run_infer(options, {});
  ASSERT_FALSE(no_answer);
  EXPECT_NE(no_answer.error().message.find("no answer from 127.0.0.1:1: "), std::string::npos)
      << no_answer.error().message;
  EXPECT_EQ(exit_code(no_answer.error()), 1);
}

TEST(DryRun, OfAnInterruptedRunWhatIsThere) {
  const Scratch scratch;
  const FakeDaemon dying(Behaviour::dies_in_the_middle, {{7, 3, 4}, "model", 2});
  ASSERT_FALSE(run_infer(options_for(dying, scratch, "out.npy"), {}));
  Options options = dry(dying, scratch);
  options.resume = true;
  const auto outcome = run_infer(options, {});
  expect_in("in 4 parts of 7x3x4 voxels, the smallest of 7x1x2; 2 of 4 parts and 3 of 7 planes are there", outcome);
  EXPECT_EQ(dying.streams(), 3);
}

}  // namespace
}  // namespace znni::client
