// The names, hashes and costs of all operations and problems: golden/layers.txt has their texts, hashes, reaches and
// errors. Plans, timings and network files depend on these.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "planner/costs/problem_hash.hpp"
#include "planner/costs/problem_text.hpp"
#include "planner/network/reading.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/network/tile_bound.hpp"
#include "proto/convert/text/network_text.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

constexpr Vec3 ones = Vec3::cube(1);
constexpr Activation none = {};
constexpr Activation elu = {ActivationKind::elu, 0.5F};
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

Convolution conv(std::int64_t f_out, Vec3 k, Vec3 dilation = ones, Activation activation = none, Vec3 stride = ones,
                 std::int64_t groups = 1) {
  return {f_out, k, dilation, activation, stride, groups};
}

const StackStage scale_stage{StackOperation::scale_shift};
const StackStage relu_stage{StackOperation::activation, PoolKind::max, ones, {}, {}, {ActivationKind::relu}};

StackStage pool_stage(Vec3 window, Vec3 before) { return {StackOperation::pool, PoolKind::max, window, before, {}}; }

std::vector<Operation> sound_operations() {
  return {conv(6, {2, 3, 4}, {1, 2, 1}, elu),
          conv(6, {1, 3, 3}, ones, none, {1, 2, 2}, 2),
          Pooling{},
          Pooling{PoolKind::average, {3, 2, 2}, {1, 2, 2}},
          Pooling{PoolKind::max, {1, 3, 3}, {1, 2, 2}, true},
          Activate{elu},
          Activate{{ActivationKind::relu}},
          AcrossChannels{},
          AcrossChannels{AcrossKind::log_softmax},
          AcrossChannels{AcrossKind::arg_max},
          AcrossChannels{AcrossKind::arg_max_last},
          AcrossChannels{AcrossKind::norm, 0.25F},
          AcrossChannels{AcrossKind::unit, 0.25F},
          ScaleShift{},
          Add{none},
          Add{elu},
          Concat{},
          Crop{{1, 0, 2}, {0, 3, 1}},
          Upsample{{1, 2, 2}},
          Upsample{Vec3::cube(2), UpsampleKind::shuffle},
          Upsample{Vec3::cube(2), UpsampleKind::linear},
          Upsample{{2, 2, 1}, UpsampleKind::aligned},
          Norm{2, 0.5F, elu},
          Norm{1, 0.5F, none, NormKind::response},
          Multiply{},
          GlobalPool{},
          GlobalPool{PoolKind::max},
          PRelu{},
          Attention{2, 0.5F},
          AddVolume{{2, 3, 4}},
          Divide{},
          Stack{{pool_stage({1, 2, 3}, {}), scale_stage, relu_stage}},
          Stack{{pool_stage({1, 2, 3}, {0, 1, 1})}},
          Pooling{PoolKind::average_inside, {1, 2, 3}, {1, 2, 2}},
          Pooling{PoolKind::max, {1, 2, 3}, {1, 2, 2}, false, {1, 3, 2}}};
}

std::vector<Operation> unsound_operations() {
  return {conv(0, ones),
          conv(1, {0, 1, 1}),
          conv(1, ones, {1, 0, 1}),
          conv(1, ones, ones, {ActivationKind::elu, no_number}),
          conv(1, ones, ones, none, {1, 1, 0}),
          conv(1, ones, ones, none, ones, 0),
          conv(9, ones, ones, none, ones, 3),
          Pooling{PoolKind::max, {2, 2, 0}},
          Pooling{PoolKind::max, ones, {0, 1, 1}},
          Pooling{PoolKind::max, ones, ones, false, {1, 0, 1}},
          Activate{{ActivationKind::elu, no_number}},
          AcrossChannels{AcrossKind::norm, 0.0F},
          AcrossChannels{AcrossKind::unit, 0.0F},
          Add{{ActivationKind::elu, no_number}},
          Crop{{0, -1, 0}, {}},
          Crop{{}, {0, 0, -2}},
          Upsample{{0, 1, 1}},
          Upsample{Vec3::cube(3)},
          Upsample{{2, 2, 4}, UpsampleKind::shuffle},
          Norm{0},
          Norm{3},
          Norm{1, 0.0F},
          Norm{1, 0.5F, {ActivationKind::elu, no_number}},
          Attention{0},
          Attention{3},
          Attention{1, no_number},
          AddVolume{{0, 1, 1}},
          Stack{},
          Stack{{pool_stage({0, 1, 1}, {})}},
          Stack{{pool_stage({1, 2, 3}, {0, 2, 0})}}};
}

bool joins(const Operation& operation) {
  return std::holds_alternative<Add>(operation) || std::holds_alternative<Concat>(operation) ||
         std::holds_alternative<Multiply>(operation) || std::holds_alternative<Divide>(operation);
}

// Returns the inputs that the operation has at least.
std::size_t inputs_of(const Operation& operation) {
  return std::holds_alternative<Attention>(operation) ? 3 : joins(operation) ? 2 : 1;
}

// Returns a network that has the operation behind a node of 8 channels and, where it upsamples, of a stride.
Network around(const Operation& operation, std::size_t inputs) {
  const bool coarse = std::get_if<Upsample>(&operation) != nullptr;
  Network network;
  network.f_in = 8;
  network.nodes = {{"before", conv(8, ones, ones, none, Vec3::cube(coarse ? 2 : 1)), {0}},
                   {"node", operation, std::vector<int>(inputs, 1)}};
  return network;
}

std::string verdict(const Result<void>& checked) { return checked ? "sound" : checked.error().message; }

// Returns the text of the last node alone.
std::string node_text(const Network& network) {
  const std::string text = network_text(network);
  return text.substr(text.rfind("\nnode") + 1);
}

void write_facts(std::ostream& to, const Network& network) {
  to << describe(network).back() << "\n" << node_text(network);
  const Reach reach = reaches(network).back();
  to << "  field of view " << to_string(reach.fov) << ", stride " << to_string(reach.stride) << ", channels "
     << channels_of(network).back() << ", period " << to_string(period(network)) << ", weights "
     << weight_bytes(network) << " bytes, kernels " << kernel_bytes(network) << "\n";
  to << "  " << (is_dense(network) ? "dense" : "not dense") << (is_strided(network) ? ", strided" : "")
     << (is_tile_bound(network) ? ", bound to its window" : "") << (can_swap_axes(network) ? "" : ", axes stay")
     << "\n";
  const NodeWeights weights = random_weights(network, 1).back();
  to << "  weights " << weights.kernels.size() << ", " << weights.bias.size() << ", " << weights.scale.size() << ", "
     << weights.shift.size() << "\n";
  for (const int axis : {1, 2}) to << "  swapped: " << describe(swap_axes(network, axis)).back() << "\n";
}

std::string operations_text() {
  std::ostringstream text;
  for (const Operation& operation : sound_operations()) {
    write_facts(text, around(operation, inputs_of(operation)));
    for (std::size_t inputs = 0; inputs < 4; ++inputs) {
      text << "  of " << inputs << ": " << verdict(check(around(operation, inputs))) << "\n";
    }
  }
  for (const Operation& operation : unsound_operations()) {
    text << verdict(check(around(operation, inputs_of(operation)))) << "\n";
  }
  return text.str();
}

constexpr Shape5 shape = {2, 4, {8, 9, 10}};

ConvProblem conv_problem(const Shape5& in, const Convolution& c) {
  return {in, c.f_out, c.k, c.dilation, c.stride, c.activation, false, {}, c.groups};
}

std::vector<LayerProblem> sound_problems() {
  const ConvProblem fused{shape, 6, {2, 3, 4}, {1, 2, 1}, ones, elu};
  const ConvProblem grouped{shape, 6, {1, 3, 3}, ones, {1, 2, 2}, none, true, {}, 2};
  return {
      fused,
      grouped,
      PoolProblem{shape, Vec3::cube(2), Vec3::cube(2)},
      PoolProblem{shape, {1, 2, 3}, {1, 2, 2}, PoolKind::average},
      PoolProblem{shape, {2, 2, 1}, {1, 2, 1}, PoolKind::max, PoolMode::fragments},
      PoolProblem{{2, 4, {9, 9, 9}}, {2, 2, 2}, {2, 2, 2}, PoolKind::max, PoolMode::fragments, {1, 2, 1}, {2, 1, 1}},
      ActivationProblem{shape, elu},
      ActivationProblem{shape, {ActivationKind::relu}},
      AcrossChannelsProblem{shape},
      AcrossChannelsProblem{shape, AcrossKind::log_softmax},
      AcrossChannelsProblem{shape, AcrossKind::arg_max},
      AcrossChannelsProblem{shape, AcrossKind::arg_max_last},
      AcrossChannelsProblem{shape, AcrossKind::norm},
      AcrossChannelsProblem{shape, AcrossKind::unit},
      ScaleShiftProblem{shape},
      AddProblem{shape, 3, elu},
      ConcatProblem{{shape, {2, 1, {8, 9, 10}}}},
      ReorderProblem{shape, Format{}, {ElementType::f16, Layout::blocked16}},
      CropProblem{shape, {1, 0, 2}, {0, 3, 1}},
      ConvPoolProblem{conv_problem(shape, conv(6, ones)), {{2, 6, {8, 9, 10}}, {2, 2, 2}, {2, 2, 2}}},
      UpsampleProblem{shape, {1, 2, 2}},
      UpsampleProblem{{1, 8, {2, 3, 4}}, Vec3::cube(2), UpsampleKind::shuffle},
      UpsampleProblem{shape, Vec3::cube(2), UpsampleKind::linear},
      UpsampleProblem{shape, {2, 2, 1}, UpsampleKind::aligned},
      NormProblem{shape, 2, 1e-5F, elu},
      NormProblem{shape, 2, 1e-5F, elu, NormKind::response},
      MultiplyProblem{shape, 1},
      MultiplyProblem{shape, 4},
      GlobalPoolProblem{shape},
      GlobalPoolProblem{shape, PoolKind::max},
      PReluProblem{shape},
      AttentionProblem{shape, 6, 2, 0.5F},
      AddVolumeProblem{shape, shape.n},
      DivideProblem{shape, 1},
      DivideProblem{shape, 4},
      StackProblem{shape,
                   {{StackOperation::pool, PoolKind::max, {3, 1, 2}, {1, 0, 1}, {2, 0, 0}},
                    {StackOperation::scale_shift},
                    {StackOperation::activation, PoolKind::max, ones, {}, {}, elu}},
                   {1, 0, 0}},
      PoolProblem{shape, {1, 2, 3}, {1, 2, 2}, PoolKind::average_inside},
      PoolProblem{shape, {1, 2, 3}, {1, 2, 2}, PoolKind::max, PoolMode::plain, ones, ones, {1, 3, 2}},
      ConvProblem{shape, 6, {2, 3, 4}, ones, ones, elu, true, {}, 2, true}};
}

std::vector<LayerProblem> unsound_problems() {
  const Shape5 empty{0, 1, ones};
  const ConvProblem pointwise = conv_problem(shape, conv(6, ones));
  return {conv_problem(empty, conv(1, ones)),
          conv_problem(shape, conv(0, ones)),
          conv_problem(shape, conv(6, {9, 1, 1})),
          conv_problem(shape, conv(6, ones, {1, 1, 0})),
          conv_problem(shape, conv(6, ones, ones, none, {0, 1, 1})),
          ConvProblem{shape, 6, ones, ones, ones, none, false, {}, 3},
          ConvProblem{shape, 6, ones, ones, ones, none, false, {-1, 0}},
          PoolProblem{shape, {1, 1, 11}},
          PoolProblem{shape, Vec3::cube(2), Vec3::cube(2), PoolKind::max, PoolMode::fragments},
          PoolProblem{shape, {1, 2, 1}, {1, 2, 1}, PoolKind::max, PoolMode::fragments, {1, 3, 1}},
          PoolProblem{shape, {2, 2, 1}, {2, 2, 1}, PoolKind::max, PoolMode::fragments, ones, {3, 1, 1}},
          ActivationProblem{empty, none},
          AcrossChannelsProblem{shape, AcrossKind::norm, 0.0F},
          AddProblem{shape, 1, none},
          ConcatProblem{},
          ConcatProblem{{shape, {2, 4, {8, 9, 9}}}},
          CropProblem{shape, {0, -1, 0}, {}},
          CropProblem{shape, {0, 5, 0}, {0, 4, 0}},
          ConvPoolProblem{{shape, 6, ones, ones, ones, none, true}, {shape, ones, ones}},
          ConvPoolProblem{pointwise, {shape, ones, ones}},
          UpsampleProblem{shape, {0, 1, 1}},
          UpsampleProblem{shape, Vec3::cube(2), UpsampleKind::shuffle},
          UpsampleProblem{{1, 1, {2, 2, 2}}, Vec3::cube(2), UpsampleKind::linear},
          NormProblem{shape, 3},
          NormProblem{shape, 2, -1.0F},
          MultiplyProblem{shape, 3},
          AttentionProblem{shape, 6, 4},
          AttentionProblem{shape, 6, 2, no_number},
          AddVolumeProblem{shape, {8, 9, 9}},
          DivideProblem{shape, 3},
          StackProblem{shape},
          StackProblem{shape, {{StackOperation::pool, PoolKind::max, ones, ones}}},
          StackProblem{shape, {{StackOperation::pool, PoolKind::max, {9, 1, 1}, {1, 0, 0}}}},
          StackProblem{shape, {{StackOperation::activation}}},
          PoolProblem{shape, {1, 1, 4}, ones, PoolKind::max, PoolMode::plain, ones, ones, {1, 1, 4}},
          PoolProblem{shape, ones, ones, PoolKind::max, PoolMode::plain, ones, ones, {1, 0, 1}}};
}

std::string problems_text() {
  std::ostringstream text;
  for (const LayerProblem& problem : sound_problems()) {
    text << to_string(problem) << "\n  " << verdict(check(problem)) << ", hash " << ProblemHash()(problem) << ", reads";
    for (int i = 0; i < input_count(problem); ++i) text << " " << to_string(input_shape(problem, i));
    text << ", writes " << to_string(output_shape(problem)) << ", flops " << std::llround(direct_flops(problem))
         << "\n";
  }
  for (const LayerProblem& problem : unsound_problems()) text << verdict(check(problem)) << "\n";
  return text.str();
}

template <class Variant>
std::size_t count_kinds(const std::vector<Variant>& values) {
  std::set<std::size_t> kinds;
  for (const Variant& value : values) kinds.insert(value.index());
  return kinds.size();
}

TEST(GoldenLayers, AllOperationsAndProblemsAreInThem) {
  EXPECT_EQ(count_kinds(sound_operations()), std::variant_size_v<Operation>);
  EXPECT_EQ(count_kinds(sound_problems()), std::variant_size_v<LayerProblem>);
}

Reading swapped_reading(const Reading& in, int axis) {
  return {swap_axes(in.window, axis),
          swap_axes(in.stride, axis),
          swap_axes(in.factor, axis),
          {swap_axes(in.idle.begin, axis), swap_axes(in.idle.end, axis)},
          in.resizing,
          {swap_axes(in.padding.begin, axis), swap_axes(in.padding.end, axis)}};
}

TEST(GoldenLayers, SwappedOperationsReadAlongSwappedAxes) {
  for (const Operation& operation : sound_operations()) {
    const Network network = around(operation, joins(operation) ? 2 : 1);
    for (const int axis : {1, 2}) {
      EXPECT_EQ(reading_of(swap_axes(network, axis).nodes.back().operation),
                swapped_reading(reading_of(network.nodes.back().operation), axis))
          << describe(network).back() << ", axis " << axis;
    }
  }
}

TEST(GoldenLayers, StayWhatTheyWere) {
  const std::string text = operations_text() + problems_text();
  const std::filesystem::path golden = test::case_folder().parent_path() / "golden" / "layers.txt";
  EXPECT_EQ(text, test::read_text(golden)) << "if this is meant to change, write to " << golden << ":\n" << text;
}

TEST(GoldenLayers, TextsOfProblemsAreReadAgain) {
  for (const LayerProblem& problem : sound_problems()) {
    const Result<LayerProblem> again = parse_problem(to_string(problem));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(to_string(*again), to_string(problem));
    EXPECT_EQ(again->index(), problem.index());
  }
}

}  // namespace
}  // namespace znni
