// Models of a ModelServer that are loaded and unloaded while it serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/server/jobs/model_server_fixture.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::mib;
using test::wait_until;
using testing::HasSubstr;

using LoadingByHand = test::ModelServerTest;

TEST_F(LoadingByHand, ModelsAreLoadedAndUnloadedByHand) {
  add_network("a");
  add_network("b");
  load_at_start_ = {{"a"}};
  const std::unique_ptr<ModelServer> server = open();
  EXPECT_TRUE(server->ready()) << "b is not expected";
  EXPECT_EQ(server->find("b", "").error().code, ErrorCode::not_found);
  EXPECT_THAT(server->find("b", "").error().message, HasSubstr("RepositoryModelLoad loads it"));
  const std::int64_t before = server->memory().models_used;
  const Result<void> loaded = server->load("b", {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(server->find("b", ""));
  EXPECT_TRUE(server->estimate("b", "", volume_.shape));
  EXPECT_EQ(server->memory().models_used, before + server->find("b", "")->memory.total());
  ASSERT_TRUE(server->unload("b", {}));
  EXPECT_EQ(server->memory().models_used, before);
  EXPECT_EQ(server->find("b", "").error().code, ErrorCode::not_found);
  EXPECT_EQ(server->estimate("b", "", volume_.shape).error().code, ErrorCode::not_found);
  EXPECT_EQ(server->models().at(1).state, ModelState::unloaded);
  EXPECT_TRUE(server->ready());
  EXPECT_TRUE(server->unload("b", {})) << "once more does no harm";
  EXPECT_EQ(server->load("none", {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(server->load("../a", {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(server->unload("none", {}).error().code, ErrorCode::not_found);
}

TEST_F(LoadingByHand, AModelToBeLoadedAtTheStartMustBeThere) {
  add_network("a");
  load_at_start_ = {{"a", "b"}};
  const auto none = try_open(75 * mib);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("no model 'b'"));
}

TEST_F(LoadingByHand, LoadingAgainTakesWhatIsOnDiskNow) {
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

TEST_F(LoadingByHand, AModelThatServedAndCannotBeLoadedAnewIsMissed) {
  add_network("net");
  load_at_start_.emplace();
  const std::unique_ptr<ModelServer> server = open();
  directory_.write("net/1/model.onnx", "no model");
  ASSERT_FALSE(server->load("net", {}));
  EXPECT_TRUE(server->ready()) << "it never served";
  EXPECT_EQ(server->find("net", "").error().code, ErrorCode::unavailable);
  add_network("net");
  ASSERT_TRUE(server->load("net", {}));
  directory_.write("net/1/model.onnx", "no model");
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_FALSE(server->load("net", {}));
    EXPECT_FALSE(server->ready());
    EXPECT_EQ(server->find("net", "").error().code, ErrorCode::unavailable);
    EXPECT_THAT(server->find("net", "").error().message, HasSubstr("model.onnx"));
  }
  ASSERT_TRUE(server->unload("net", {}));
  EXPECT_TRUE(server->ready()) << "it is no longer expected";
  EXPECT_EQ(server->find("net", "").error().code, ErrorCode::not_found);
}

TEST_F(LoadingByHand, OneModelTooManyIsRefusedWithNumbers) {
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
    EXPECT_THAT(loaded.error().message, HasSubstr("the smallest budget that would do is "));
    EXPECT_TRUE(server->ready());
    EXPECT_TRUE(server->find("a", ""));
    return;
  }
  FAIL() << "memory without end";
}

// However many other models the repository has.
TEST_F(LoadingByHand, AModelIsPlannedForTheMemoryThatIsFree) {
  for (int model = 0; model < 48; ++model) add_network("net" + std::to_string(model));
  load_at_start_.emplace();
  const std::unique_ptr<ModelServer> server = open(73 * mib + 200 * 1024);
  const std::int64_t all = server->memory().models_limit;
  const Result<void> loaded = server->load("net7", {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(log(), HasSubstr("planning network 'random' within " + bytes_text(all)));
  EXPECT_LE(server->memory().models_used, all);
}

TEST_F(LoadingByHand, AModelTakesTheMemoryOfItsConfiguration) {
  for (const char* name : {"a", "b"}) add_network(name);
  write_parameter("a", "memory", "300K");
  load_at_start_.emplace();
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->load("a", {}));
  EXPECT_THAT(log(), HasSubstr("within 300.00 KiB"));
  ASSERT_TRUE(server->load("b", {})) << "the rest is free";
  write_parameter("a", "memory", "4G");
  const Result<void> loaded = server->load("a", {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::over_budget);
  EXPECT_THAT(loaded.error().message, HasSubstr("model 'a': its parameter memory is 4.00 GiB, and "));
}

// Three models take what the fourth leaves, 4 : 1 : 1.
TEST_F(LoadingByHand, AtTheStartModelsShareTheRestByTheirWeights) {
  for (const char* name : {"a", "b", "c", "d"}) add_network(name);
  write_parameter("b", "memory_share", "4");
  write_parameter("d", "memory", "200K");
  const std::unique_ptr<ModelServer> server = open();
  const std::int64_t shared = server->memory().models_limit - 200 * 1024;
  ASSERT_TRUE(server->ready()) << log();
  EXPECT_THAT(log(), HasSubstr("within " + bytes_text(shared / 6) + "\n"));
  const std::int64_t left = shared - server->find("a", "")->memory.total();
  EXPECT_THAT(log(), HasSubstr("within " + bytes_text(left * 4 / 5) + "\n"));
  EXPECT_THAT(log(), HasSubstr("within 200.00 KiB\n"));
}

// The model serves on, so it is missed when it no longer does.
TEST_F(LoadingByHand, AModelWhoseUnloadingWasCancelledCountsAgain) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  ASSERT_TRUE(server->models().at(0).expected);
  JobOutcome outcome;
  std::jthread running([&] { EXPECT_TRUE(server->run("net", "", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  for (const bool reload : {false, true}) {
    std::stop_source impatient;
    std::jthread cancelled([&] {
      const Result<void> done =
          reload ? server->load("net", impatient.get_token()) : server->unload("net", impatient.get_token());
      EXPECT_EQ(done.error().code, ErrorCode::cancelled);
    });
    ASSERT_TRUE(wait_until([&] { return !server->find("net", ""); }));
    EXPECT_FALSE(server->models().at(0).expected) << "it shall go";
    impatient.request_stop();
    cancelled.join();
    EXPECT_TRUE(server->find("net", ""));
    EXPECT_TRUE(server->models().at(0).expected) << reload;
    EXPECT_TRUE(server->ready());
  }
  released_ = true;
  running.join();
  directory_.write("net/1/model.onnx", "no model");
  ASSERT_FALSE(server->load("net", {}));
  EXPECT_FALSE(server->ready()) << "it is missed";
}

TEST_F(LoadingByHand, UnloadingWaitsForTheJobsInside) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  std::jthread running([&] { EXPECT_TRUE(server->run("net", "", held_job(outcome), {})); });
  ASSERT_TRUE(wait_until([&] { return held_ == 1; }));
  std::stop_source impatient;
  std::jthread cancelled(
      [&] { EXPECT_EQ(server->unload("net", impatient.get_token()).error().code, ErrorCode::cancelled); });
  ASSERT_TRUE(wait_until([&] { return !server->find("net", ""); }));
  EXPECT_EQ(server->find("net", "").error().code, ErrorCode::not_found);
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

// A job made for the model before would not fit: its rungs may have the same numbers, but other needs.
TEST_F(LoadingByHand, AJobForAModelThatWasLoadedAnewIsRefused) {
  add_network("net");
  const std::unique_ptr<ModelServer> server = open();
  JobOutcome outcome;
  VolumeJob job = held_job(outcome);
  released_ = true;
  job.schedule.model = server->find("net", "")->number;
  EXPECT_TRUE(server->run("net", "", job, {}));
  ASSERT_TRUE(server->load("net", {}));
  const Result<JobStatistics> late = server->run("net", "", job, {});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::unavailable);
  EXPECT_EQ(late.error().message, "model 'net' was loaded again since the request came; try again");
  job.schedule.model = server->find("net", "")->number;
  EXPECT_TRUE(server->run("net", "", job, {}));
}

}  // namespace
}  // namespace znni
