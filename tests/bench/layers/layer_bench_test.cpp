#include "tests/bench/layers/layer_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "tests/support/cpu.hpp"

namespace znni::bench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const ConvProblem problem{{2, 17, {6, 7, 8}}, 20, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};

const Primitive& named(std::string_view name) {
  const auto rows = cpu::registry();
  return **std::find_if(rows.begin(), rows.end(), [name](const Primitive* row) { return row->name == name; });
}

// A direct convolution whose first output is wrong.
class WrongLayer final : public PreparedLayer {
 public:
  explicit WrongLayer(std::unique_ptr<PreparedLayer> layer) : layer_(std::move(layer)) {}
  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    Result<void> done = layer_->run(inputs, out, arena);
    out.at(0, 0, {0, 0, 0}) += 1.0F;
    return done;
  }

 private:
  std::unique_ptr<PreparedLayer> layer_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_wrong(const LayerProblem& of, const Estimate& chosen,
                                                     const LayerWeights& weights, Arena& persistent, Device& device) {
  Result<std::unique_ptr<PreparedLayer>> layer =
      named("cpu.conv.direct").prepare(of, chosen, weights, persistent, device);
  if (!layer) return layer.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<WrongLayer>(std::move(*layer)));
}

class LayerBenchTest : public testing::Test {
 protected:
  Result<std::vector<PrimitiveTimes>> run(const std::vector<const Primitive*>& primitives, int repetitions = 2) {
    return run_layer(
        problem, primitives,
        {device_.get(), repetitions, stop_.get_token(), [this](const std::string& line) { said_.push_back(line); }});
  }

  std::unique_ptr<Device> device_ = test::open_cpu(2);
  std::stop_source stop_;
  std::vector<std::string> said_;
};

TEST_F(LayerBenchTest, EveryConvolutionIsTimedAndRight) {
  std::vector<const Primitive*> convolutions;
  for (const Primitive* row : cpu::registry()) {
    if (row->name.starts_with("cpu.conv.")) convolutions.push_back(row);
  }
  const auto all = run(convolutions, 3);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_THAT(*all, SizeIs(convolutions.size()));
  std::set<std::string> for_others = {"cpu.conv.fft_planes", "cpu.conv.first_pool", "cpu.conv.grouped",
                                      "cpu.conv.pointwise"};
  if (device_->spec().accelerator.bf16_flops_per_second <= 0) for_others.insert("cpu.conv.onednn_bf16");
  for (const PrimitiveTimes& times : *all) {
    EXPECT_NE(times.ran(), for_others.contains(times.primitive)) << times.primitive << ": " << times.refusal;
    if (!times.ran()) continue;
    EXPECT_THAT(times.runs, SizeIs(3));
    EXPECT_GT(times.median_wall(), 0);
    EXPECT_GT(times.median_processor(), 0);
    EXPECT_LT(times.error, times.primitive == "cpu.conv.onednn_bf16" ? 2e-2 : 1e-5);
    EXPECT_GE(times.tried, 1);
    EXPECT_GE(times.transient_bytes, 4 * (elements(problem.in) + elements(output_shape(problem))));
  }
  EXPECT_EQ(device_->reserved(MemorySpace::host), 0);
}

TEST_F(LayerBenchTest, BlockedFormatsAreTaken) {
  const auto all = run({&named("cpu.conv.onednn")});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_GT(block_width(all->front().in.layout), 1);
  EXPECT_GT(block_width(all->front().out.layout), 1);
}

TEST_F(LayerBenchTest, SpeedIsToldOfTheLast) {
  const auto all = run({&named("cpu.conv.direct"), &named("cpu.conv.onednn")});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(speed_over_last(all->back(), *all), 1);
  EXPECT_DOUBLE_EQ(speed_over_last(all->front(), *all), all->back().median_wall() / all->front().median_wall());
}

TEST_F(LayerBenchTest, SaysWhatItDoes) {
  ASSERT_TRUE(run({&named("cpu.conv.direct")}, 2));
  EXPECT_THAT(said_.front(), HasSubstr("cpu.conv.direct"));
  EXPECT_EQ(said_.back(), "repetition 2 of 2");
}

TEST_F(LayerBenchTest, ARefusalIsKeptAndTheOthersRun) {
  const auto all = run({&named("cpu.conv.direct"), &named("cpu.pool.max")});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_TRUE(all->front().ran());
  EXPECT_THAT(all->back().refusal, HasSubstr("poolings"));
  EXPECT_EQ(speed_over_last(all->front(), *all), 0);
  const auto none = run({&named("cpu.pool.max")});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no primitive ran: cpu.pool.max: "));
}

TEST_F(LayerBenchTest, WhatNeedsMoreThanTheBudgetIsARefusal) {
  device_ = test::open_cpu(2, 0, 1 << 10);
  const auto all = run({&named("cpu.conv.direct")});
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message, HasSubstr("the limit is 1.00 KiB"));
}

TEST_F(LayerBenchTest, AWrongResultIsAnError) {
  Primitive wrong = named("cpu.conv.direct");
  wrong.name = "test.wrong";
  wrong.prepare = prepare_wrong;
  const auto all = run({&wrong});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::internal);
  EXPECT_THAT(all.error().message, HasSubstr("test.wrong"));
  EXPECT_THAT(all.error().message, HasSubstr("wrong by"));
}

TEST_F(LayerBenchTest, AStopEndsIt) {
  stop_.request_stop();
  const auto all = run({&named("cpu.conv.direct")});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace znni::bench
