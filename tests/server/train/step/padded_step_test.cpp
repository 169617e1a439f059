// Steps of networks that pad and stride, held to the network's definition in float64: the loss, and its differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/train/trainable.hpp"
#include "primitives/core/index.hpp"
#include "server/train/step/training_step.hpp"
#include "server/train/step/transposed.hpp"
#include "tests/planner/train/cpu_parts.hpp"
#include "tests/server/pipeline/strided_network.hpp"
#include "tests/server/train/exact_step.hpp"
#include "tests/support/cpu.hpp"

namespace znni {
namespace {

using oracle::Values;
using test::PaddedNetwork;
using test::Random;
using testing::HasSubstr;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

// Returns the network with activations whose slopes do not jump in place of those whose do, so that differences of the
// loss are its slopes.
PaddedNetwork smooth(PaddedNetwork padded) {
  const auto soften = [](Activation& activation) {
    if (activation.kind != ActivationKind::none) activation = {ActivationKind::tanh, 0.0F};
  };
  for (Node& node : padded.network.nodes) {
    if (auto* conv = std::get_if<Convolution>(&node.operation)) soften(conv->activation);
    if (auto* sum = std::get_if<Add>(&node.operation)) soften(sum->activation);
    if (auto* own = std::get_if<Activate>(&node.operation)) soften(own->activation);
  }
  return padded;
}

// A step of a network that pads, with its data.
struct Case {
  PaddedNetwork padded;
  LoadedNetwork valid;
  Vec3 patch;
  StepPlan plan;
  std::vector<float> input;
  std::vector<float> target;

  Case(PaddedNetwork net, Vec3 n, int threads, Random& random)
      : padded(std::move(net)), valid(test::valid_form(padded, false)), patch(n) {
    Result<StepPlan> made = plan_step(valid.network, patch, {gibibyte}, test::cpu_parts(threads));
    ensure(made.has_value(), made ? "" : made.error().message);
    plan = std::move(*made);
    input = random.normals(elements(plan.input));
    target = random.normals(elements(plan.output));
  }

  [[nodiscard]] double exact_loss() const {
    const Values output = test::padded_oracle(padded, patch, oracle::widened(input));
    ensure(output.size() == target.size(), "the step writes what the network does");
    double sum = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      const double error = output[i] - static_cast<double>(target[i]);
      sum += 0.5 * error * error;
    }
    return sum;
  }

  [[nodiscard]] LossOfOutput loss() const {
    return [this](std::span<const float> output, std::span<float> gradient) {
      return test::squared_error(output, target, gradient);
    };
  }
};

// Returns the node of the padded network that a node of the valid one was; nothing if padding added it.
std::optional<std::size_t> padded_node(const Case& of, std::size_t node) {
  const auto& nodes = of.padded.network.nodes;
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const Node& own) { return own.name == of.valid.network.nodes[node].name; });
  return found == nodes.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - nodes.begin()));
}

// Expects that elements of a gradient, chosen at random, are differences of the exact loss.
void expect_slopes(Case& of, std::vector<float>& weights, const std::vector<float>& gradient, double scale,
                   Random& random, const std::string& name) {
  ASSERT_EQ(weights.size(), gradient.size()) << name;
  for (int i = 0; i < 2 && !weights.empty(); ++i) {
    const auto at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(weights.size()) - 1));
    const float kept = weights[at];
    weights[at] = kept + 1e-5F;
    const auto above = static_cast<double>(weights[at]);
    const double more = of.exact_loss();
    weights[at] = kept - 1e-5F;
    const double slope = (more - of.exact_loss()) / (above - static_cast<double>(weights[at]));
    weights[at] = kept;
    EXPECT_NEAR(static_cast<double>(gradient[at]), slope, 2e-3 * std::abs(slope) + 1e-4 * scale) << name << " " << at;
  }
}

double largest(const NodeWeights& gradients) {
  double most = 0;
  for (const auto part : {&NodeWeights::kernels, &NodeWeights::bias, &NodeWeights::scale, &NodeWeights::shift}) {
    for (const float value : gradients.*part) most = std::max(most, std::abs(static_cast<double>(value)));
  }
  return most;
}

void expect_slopes(Case& of, const NetworkWeights& gradients, Random& random) {
  const std::vector<TransposedTies> ties = transposed_ties(of.valid.network, of.valid.weights);
  for (std::size_t node = 0; node < gradients.size(); ++node) {
    const std::optional<std::size_t> own = padded_node(of, node);
    if (!own) continue;
    NodeWeights& weights = of.padded.weights[*own];
    const std::string& name = of.valid.network.nodes[node].name;
    const double scale = largest(gradients[node]);
    expect_slopes(of, weights.kernels, gradients[node].kernels, scale, random, name + " kernels");
    if (ties[node].phases == 1) expect_slopes(of, weights.bias, gradients[node].bias, scale, random, name + " bias");
    expect_slopes(of, weights.scale, gradients[node].scale, scale, random, name + " scale");
    expect_slopes(of, weights.shift, gradients[node].shift, scale, random, name + " shift");
  }
}

NetworkWeights gradients_of(const Case& of, int threads) {
  const std::unique_ptr<Device> device = test::open_cpu(threads);
  const auto step = TrainingStep::prepare(of.valid.network, of.plan, of.valid.weights, *device, true).value();
  NetworkWeights gradients;
  const Result<double> loss = step->run(of.input, of.loss(), gradients);
  EXPECT_TRUE(loss) << loss.error().message;
  EXPECT_NEAR(*loss, of.exact_loss(), 1e-4 * of.exact_loss());
  for (const TrainingStep::CallMemory& call : step->call_memory()) EXPECT_EQ(call.high_water, call.declared_peak);
  EXPECT_EQ(device->reserved(MemorySpace::host), of.plan.bytes.step);
  return gradients;
}

void expect_equal(const NetworkWeights& a, const NetworkWeights& b) {
  for (std::size_t node = 0; node < a.size(); ++node) {
    EXPECT_EQ(a[node].kernels, b[node].kernels) << node;
    EXPECT_EQ(a[node].bias, b[node].bias) << node;
    EXPECT_EQ(a[node].scale, b[node].scale) << node;
    EXPECT_EQ(a[node].shift, b[node].shift) << node;
  }
}

// Returns how many networks were trained: some have nodes that no gradient is known of.
template <class Draw>
int check_networks(int count, const Draw& draw) {
  int trained = 0;
  for (int i = 0; i < test::case_count(count); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    PaddedNetwork padded = smooth(draw(random));
    const Network valid = test::valid_form(padded, false).network;
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + test::in_words(valid));
    if (!check_trainable(valid)) continue;
    const Vec3 n = test::random_extent(valid, random);
    if (voxels(n) > 6000 || !plan_step(valid, n, {gibibyte}, test::cpu_parts(2))) continue;
    ++trained;
    Case of(std::move(padded), n, 3, random);
    const NetworkWeights gradients = gradients_of(of, 2);
    expect_slopes(of, gradients, random);
    if (i % 4 != 0) continue;
    expect_equal(gradients, gradients_of(of, 1));
    expect_equal(gradients, gradients_of(of, 3));
  }
  return trained;
}

TEST(PaddedStep, OfPaddedNetworksIsExact) {
  EXPECT_GT(check_networks(24, test::random_padded_network), test::case_count(24) / 4);
}

TEST(PaddedStep, OfNetworksWithStridesIsExact) {
  const auto draw = [](Random& random) { return test::random_strided_network(random, false, random.chance(0.5)); };
  EXPECT_GT(check_networks(24, draw), test::case_count(24) / 4);
}

TEST(PaddedStep, OfValidNetworksWithStridesIsExact) {
  const auto draw = [](Random& random) { return test::random_strided_network(random, true); };
  EXPECT_GT(check_networks(16, draw), test::case_count(16) / 8);
}

// Means of windows of which up to seven eighths lie beside the volume, dilated, or with a stride.
PaddedNetwork averaging_network(Random& random) {
  PaddedNetwork padded;
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  const std::int64_t f = random.chance(0.5) ? 17 : 3;
  Pooling mean{PoolKind::average_inside, Vec3::cube(3), Vec3::cube(1)};
  Pooling halved{PoolKind::average_inside, Vec3::cube(3), Vec3::cube(2)};
  mean.dilation = random.vec3(1, 2);
  padded.network.nodes = {{"first", Convolution{f, Vec3::cube(2), Vec3::cube(1), {ActivationKind::tanh, 0}}, {0}},
                          {"mean", mean, {1}},
                          {"halved", halved, {2}},
                          {"middle", Convolution{f, Vec3::cube(3), Vec3::cube(1), {}}, {3}},
                          {"up", Upsample{}, {4}},
                          {"both", Concat{}, {2, 5}},
                          {"last", Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}, {6}}};
  padded.pads = {{{}, Vec3::cube(1)}, {mean.dilation, mean.dilation}, {Vec3::cube(1), {}}, one, {}, {}, {}};
  padded.weights = random_weights(padded.network, static_cast<std::uint64_t>(random.integer(1, 1000)));
  return padded;
}

TEST(PaddedStep, OfNetworksThatAverageWhatLiesInsideIsExact) {
  EXPECT_EQ(check_networks(4, averaging_network), test::case_count(4));
}

TEST(PaddedStep, OfNetworksThatRepeatTheBorderIsExact) {
  EXPECT_GT(check_networks(16, test::random_edged_network), test::case_count(16) / 8);
}

TEST(PaddedStep, OfNetworksThatReflectIsExact) {
  EXPECT_GT(check_networks(16, test::random_reflecting_network), test::case_count(16) / 8);
}

}  // namespace
}  // namespace znni
