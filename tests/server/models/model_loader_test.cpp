#include "server/models/model_loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/models/onnx_file.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t plenty = std::int64_t{1} << 20;

class ModelLoaderTest : public testing::Test {
 protected:
  explicit ModelLoaderTest(const Backend& backend = test::oracle_backend()) {
    const Backend* const rows[] = {&backend};
    catalogue_ = Catalogue::make(rows).value();
    test::write_model(directory_.path(), "net", "1", test::onnx_text(network_, random_weights(network_, 3)));
    entry_ = scan_repository(directory_.path())->at(0);
  }

  Result<PlannedModel> plan(std::int64_t memory = plenty, const std::string& plan_directory = "") {
    return plan_model(entry_, memory, {catalogue_, device_->spec(), costs_, plan_directory, {}}, {});
  }

  const test::TemporaryDirectory directory_;
  const Network network_ = test::simple_network(1);
  const CostsOf costs_ = [](const DeviceSpec&) { return modelled_costs(); };
  const std::unique_ptr<Device> device_ = test::host_device(plenty);
  Catalogue catalogue_;
  ModelEntry entry_;
};

TEST_F(ModelLoaderTest, AModelIsPlannedOpenedAndGivesItsMemoryBack) {
  Result<PlannedModel> planned = plan();
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(device_->reserved(MemorySpace::host), 0);
  const MemoryUse memory = planned->plan.memory;
  {
    const auto model = open_model(std::move(*planned), catalogue_, *device_, {}, {});
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ((*model)->engine->field_of_view(), Vec3::cube(8));
    EXPECT_EQ(device_->reserved(MemorySpace::host), memory.persistent + memory.transient);
    const std::string summary = plan_summary((*model)->planned.plan, (*model)->engine->patch());
    EXPECT_THAT(summary, HasSubstr("patch " + to_string((*model)->engine->patch())));
    EXPECT_THAT(summary, HasSubstr("test.oracle"));
    EXPECT_THAT(summary, HasSubstr(" voxels/s in an endless volume (model)"));
    EXPECT_THAT(summary, Not(HasSubstr("up to")));
    Plan coarse = (*model)->planned.plan;
    coarse.key.precision = Precision::tf32;
    EXPECT_THAT(plan_summary(coarse, {}), HasSubstr(" rungs, up to tf32"));
    coarse.predicted.endless_voxels_per_second = 1.25e9;  // of a plan that was made for a volume
    EXPECT_THAT(plan_summary(coarse, {}), HasSubstr(": 1.25e+09 voxels/s in an endless volume"));
    Plan old = coarse;
    old.key.of_unknown_volume = true;
    EXPECT_THAT(plan_summary(old, {}), HasSubstr(": 1.25e+09 voxels/s ("));
  }
  EXPECT_EQ(device_->reserved(MemorySpace::host), 0);
}

// The identity is what a stream that goes on after a restart must share with the one before it, and what daemons that
// compute parts of one output must share.
TEST_F(ModelLoaderTest, IdentityIsOfWeightsRuleAndPlan) {
  const std::string plans = (directory_.path() / "plans").string();
  const Result<PlannedModel> made = plan(plenty, plans);
  ASSERT_TRUE(made);
  const Result<PlannedModel> kept = plan(plenty, plans);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->identity, made->identity) << "the next start finds the plan of this one";
  EXPECT_EQ(plan()->identity, made->identity) << "or makes the same again";
  const Result<PlannedModel> smaller = plan(made->plan.memory.total() - 1, plans);
  ASSERT_TRUE(smaller) << smaller.error().message;
  EXPECT_NE(smaller->identity, made->identity);
  EXPECT_EQ(smaller->fingerprint, made->fingerprint) << "machines have plans of their own";
  directory_.write("net/config.pbtxt", "parameters { key: 'input_scale' value { string_value: '0.5' } }");
  const Result<PlannedModel> scaled = plan();
  ASSERT_TRUE(scaled) << scaled.error().message;
  EXPECT_NE(scaled->identity, made->identity);
  EXPECT_NE(scaled->fingerprint, made->fingerprint);
  directory_.write("net/config.pbtxt",
                   "parameters { key: 'input_scale' value { string_value: '0.5' } }"
                   "parameters { key: 'input_nonfinite' value { string_value: '0' } }");
  EXPECT_NE(plan()->identity, scaled->identity);
  const std::string before = plan()->fingerprint;
  test::write_model(directory_.path(), "net", "1", test::onnx_text(network_, random_weights(network_, 4)));
  EXPECT_NE(plan()->identity, scaled->identity);
  EXPECT_NE(plan()->fingerprint, before);
}

TEST_F(ModelLoaderTest, TheErrorOfAPlanThatDoesNotFitNamesTheShare) {
  const Result<PlannedModel> planned = plan(4000);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, ErrorCode::over_budget);
  EXPECT_THAT(planned.error().message, HasSubstr("planning within"));
}

TEST_F(ModelLoaderTest, AStopBetweenPlanAndFirstRunEndsTheLoading) {
  Result<PlannedModel> planned = plan();
  ASSERT_TRUE(planned);
  std::stop_source stop;
  stop.request_stop();
  const auto model = open_model(std::move(*planned), catalogue_, *device_, {}, stop.get_token());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::cancelled);
  EXPECT_EQ(device_->reserved(MemorySpace::host), 0);
}

TEST_F(ModelLoaderTest, OpensWithItsSmallestPatchAndTouchesTheRestLater) {
  Result<PlannedModel> planned = plan();
  ASSERT_TRUE(planned);
  const std::size_t rungs = planned->plan.ladder.size();
  ASSERT_GT(rungs, 1U);
  const std::int64_t transient = planned->plan.memory.transient;
  std::vector<std::string> lines;
  const LogSink log = [&lines](std::string_view level, const std::string& line) {
    lines.push_back(std::string(level) + ": " + line);
  };
  const auto model = open_model(std::move(*planned), catalogue_, *device_, {}, {});
  ASSERT_TRUE(model);
  const Engine& engine = *(*model)->engine;
  EXPECT_EQ(engine.first_touched(), rungs - 1);
  EXPECT_EQ(untouched_bytes(**model), transient - engine.memory_of(rungs - 1).bytes);
  int turns = 0;
  const InTurn in_turn = [&turns](const std::function<Result<void>()>& work) {
    ++turns;
    return work();
  };
  int runs = 0;
  const InTurn if_idle = [&runs](const std::function<Result<void>()>& work) {
    ++runs;
    return work();
  };
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(finish_model(**model, in_turn, if_idle, log, stop.get_token()).error().code, ErrorCode::cancelled);
  EXPECT_EQ(engine.first_touched(), rungs - 1);
  turns = 0;
  ASSERT_TRUE(finish_model(**model, in_turn, if_idle, log, {}));
  EXPECT_GE(turns, 1) << "a part of memory";
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(engine.first_touched(), 0U);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_THAT(lines[0], HasSubstr("info: network"));
  EXPECT_THAT(lines[0], HasSubstr("touched " + bytes_text(untouched_bytes(**model)) + " in "));
}

TEST_F(ModelLoaderTest, AModelWhoseJobHasRunAsPlannedMakesNoFirstRun) {
  Result<PlannedModel> planned = plan();
  ASSERT_TRUE(planned);
  const auto model = open_model(std::move(*planned), catalogue_, *device_, {}, {});
  ASSERT_TRUE(model);
  Engine& engine = *(*model)->engine;
  test::Random random(2);
  const test::RandomVolume volume = test::random_volume(1, engine.patch(), ElementType::f32, random);
  test::JobOutcome outcome;
  const Shape5 output = engine.estimate(volume.shape)->output;
  VolumeJob job = test::recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::channel_major, outcome);
  job.schedule.rung = 0;
  EXPECT_FALSE(engine.has_run(0));
  ASSERT_TRUE(engine.run(job, {}));
  EXPECT_TRUE(engine.has_run(0));
  const InTurn in_turn = [](const std::function<Result<void>()>& work) { return work(); };
  int runs = 0;
  const InTurn if_idle = [&runs](const std::function<Result<void>()>& work) {
    ++runs;
    return work();
  };
  ASSERT_TRUE(finish_model(**model, in_turn, if_idle, {}, {}));
  EXPECT_EQ(runs, 0);
}

class FailingModelLoaderTest : public ModelLoaderTest {
 protected:
  FailingModelLoaderTest() : ModelLoaderTest(test::failing_backend()) {}
};

TEST_F(FailingModelLoaderTest, AModelThatCannotRunIsFoundBeforeItServes) {
  Result<PlannedModel> planned = plan();
  ASSERT_TRUE(planned) << planned.error().message;
  const auto model = open_model(std::move(*planned), catalogue_, *device_, {}, {});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::device_failure);
  EXPECT_THAT(model.error().message, HasSubstr("first run: "));
}

}  // namespace
}  // namespace znni
