#include "planner/train/step_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"
#include "planner/train/trainable.hpp"
#include "primitives/core/index.hpp"
#include "tests/planner/dense_net.hpp"

namespace znni {
namespace {

using testing::ElementsAre;

Convolution conv(std::int64_t f, std::int64_t k, Activation activation = {}) {
  return {f, Vec3::cube(k), Vec3::cube(1), activation};
}

StepGraph graph_of(const Network& network, Vec3 patch) {
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolingMode(PoolMode::fragments));
  return make_step_graph(network, make_geometry(network, {patch, 1, modes}).value());
}

// What each work computes, in order.
std::vector<std::string> texts(const StepGraph& graph) {
  std::vector<std::string> texts;
  for (const StepWork& work : graph.works) {
    std::string text = work.node < 0 ? "loss" : std::to_string(work.node);
    if (const auto* gradient = std::get_if<GradientProblem>(&work.problem)) {
      text += gradient->of == GradientOf::weights ? " weights" : " input " + std::to_string(gradient->input);
      if (std::holds_alternative<ActivationProblem>(gradient->layer)) text += " of activation";
    } else if (const auto* layer = std::get_if<LayerProblem>(&work.problem)) {
      if (std::holds_alternative<AddProblem>(*layer)) text += " add";
    } else if (std::holds_alternative<PadProblem>(work.problem)) {
      text += " pad";
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(StepGraph, RunsForwardTheLossAndBackwardWithoutAGradientOfTheInput) {
  Network net;
  net.nodes = {{"a", conv(2, 2, {ActivationKind::relu, 0.0F}), {0}}, {"b", Pooling{}, {1}}, {"c", conv(3, 2), {2}}};
  const StepGraph graph = graph_of(net, Vec3::cube(6));
  EXPECT_THAT(texts(graph), ElementsAre("0", "1", "2", "loss", "2 weights", "2 input 0", "1 input 0",
                                        "0 input 0 of activation", "0 weights"));
  // The pooling's gradient reads what it pooled; the activation's reads what it wrote: one and the same value.
  EXPECT_EQ(graph.works[6].reads[1], graph.works[0].writes);
  EXPECT_EQ(graph.works[7].reads[1], graph.works[0].writes);
  EXPECT_EQ(graph.works[8].reads[1], 0);
  EXPECT_EQ(graph.works[8].writes, -1);
  EXPECT_EQ(graph.works[3].reads.front(), graph.output);
}

TEST(StepGraph, GradientsOfAConvolutionsWeightsAndInputAreOneWork) {
  Network net;
  net.nodes = {{"a", conv(2, 2), {0}}, {"b", conv(3, 2), {1}}};
  const StepGraph graph = graph_of(net, Vec3::cube(6));
  ASSERT_THAT(texts(graph), ElementsAre("0", "1", "loss", "1 weights", "1 input 0", "0 weights"));
  const std::optional<StepWork> both = both_gradients(graph.works[3], graph.works[4]);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->node, 1);
  EXPECT_EQ(both->reads, graph.works[3].reads);
  EXPECT_EQ(both->writes, graph.works[4].writes);
  EXPECT_EQ(std::get<GradientProblem>(both->problem).of, GradientOf::both);
  for (std::size_t i = 0; i + 1 < graph.works.size(); ++i) {
    EXPECT_EQ(both_gradients(graph.works[i], graph.works[i + 1]).has_value(), i == 3) << i;
  }
  StepWork other = graph.works[4];
  other.node = 0;
  EXPECT_FALSE(both_gradients(graph.works[3], other));
  other = graph.works[4];
  other.reads = {graph.output};
  EXPECT_FALSE(both_gradients(graph.works[3], other));
}

TEST(StepGraph, GradientsOfSlopesAndTheirInputAreTwoWorks) {
  Network net;
  net.nodes = {{"a", conv(2, 2), {0}}, {"b", PRelu{}, {1}}};
  const StepGraph graph = graph_of(net, Vec3::cube(6));
  for (std::size_t i = 0; i + 1 < graph.works.size(); ++i) {
    EXPECT_FALSE(both_gradients(graph.works[i], graph.works[i + 1])) << i;
  }
}

TEST(StepGraph, KeepsWhatAnActivationReadsIfItsSlopeDoesNotFollowFromItsOutput) {
  Network net;
  net.nodes = {{"a", conv(2, 2, {ActivationKind::silu, 0.0F}), {0}}};
  const StepGraph graph = graph_of(net, Vec3::cube(3));
  EXPECT_THAT(texts(graph), ElementsAre("0", "0", "loss", "0 input 0 of activation", "0 weights"));
  EXPECT_EQ(std::get<ConvProblem>(std::get<LayerProblem>(graph.works[0].problem)).activation, Activation{});
  EXPECT_EQ(graph.works[3].reads[1], graph.works[0].writes);
}

Node activation_node(ActivationKind kind, int value) {
  return {"f" + std::to_string(value), Activate{{kind, 0.0F}}, {value}};
}

TEST(StepGraph, TheNodeBeforeAnActivationAppliesIt) {
  Network net;
  net.nodes = {{"a", conv(2, 2), {0}}, activation_node(ActivationKind::relu, 1), {"c", conv(3, 2), {2}}};
  const StepGraph graph = graph_of(net, Vec3::cube(3));
  EXPECT_THAT(texts(graph),
              ElementsAre("0", "2", "loss", "2 weights", "2 input 0", "1 input 0 of activation", "0 weights"));
  const auto& first = std::get<ConvProblem>(std::get<LayerProblem>(graph.works[0].problem));
  EXPECT_EQ(first.activation.kind, ActivationKind::relu);
  EXPECT_EQ(graph.works[1].reads.front(), graph.works[0].writes);
  EXPECT_EQ(graph.works[5].reads[1], graph.works[0].writes);
  EXPECT_EQ(std::get<ConvProblem>(std::get<GradientProblem>(graph.works[6].problem).layer).activation, Activation{});
}

TEST(StepGraph, AnActivationIsComputedByItselfIfWhatItReadsIsNeeded) {
  Network net;
  net.nodes = {{"a", conv(2, 2), {0}}, activation_node(ActivationKind::silu, 1), {"c", conv(3, 2), {2}}};
  EXPECT_THAT(texts(graph_of(net, Vec3::cube(3))),
              ElementsAre("0", "1", "2", "loss", "2 weights", "2 input 0", "1 input 0 of activation", "0 weights"));
  net.nodes = {{"a", conv(2, 2), {0}}, activation_node(ActivationKind::relu, 1), {"d", Add{}, {1, 2}}};
  EXPECT_THAT(texts(graph_of(net, Vec3::cube(3))),
              ElementsAre("0", "1", "2 add", "loss", "1 input 0 of activation", "1 add", "0 weights"));
  net.nodes = {{"a", conv(2, 2, {ActivationKind::relu, 0.0F}), {0}}, activation_node(ActivationKind::tanh, 1)};
  EXPECT_THAT(texts(graph_of(net, Vec3::cube(3))),
              ElementsAre("0", "1", "loss", "1 input 0 of activation", "0 input 0 of activation", "0 weights"));
}

TEST(StepGraph, AddsTheGradientsOfAValueThatSeveralNodesRead) {
  Network net;
  net.nodes = {{"a", conv(2, 1), {0}}, {"b", conv(2, 1), {1}}, {"c", conv(2, 1), {1}}, {"d", Add{}, {1, 2, 3}}};
  const StepGraph graph = graph_of(net, Vec3::cube(2));
  // The gradient of the sum is that of its inputs: nothing copies it. Values are 1 to 3.
  EXPECT_THAT(texts(graph), ElementsAre("0", "1", "2", "3 add", "loss", "2 weights", "2 input 0", "2 add", "1 weights",
                                        "1 input 0", "1 add", "0 weights"));
  EXPECT_THAT(graph.works[7].reads, ElementsAre(graph.output_gradient, graph.works[6].writes));
  EXPECT_EQ(graph.works[11].reads.front(), graph.works[10].writes);
}

TEST(StepGraph, PassesTheGradientOfASumOnToTheResidual) {
  Network net;
  net.nodes = {{"a", conv(2, 1), {0}}, {"b", conv(2, 1, {ActivationKind::relu, 0.0F}), {1, 1}}};
  const StepGraph graph = graph_of(net, Vec3::cube(2));
  EXPECT_THAT(texts(graph),
              ElementsAre("0", "1", "loss", "1 input 0 of activation", "1 weights", "1 input 0", "1 add", "0 weights"));
  const auto& weights = std::get<GradientProblem>(graph.works[4].problem);
  EXPECT_TRUE(check(weights)) << to_string(weights);
}

TEST(StepGraph, EveryProblemOfRandomNetworksIsSound) {
  int trained = 0;
  for (int i = 0; i < test::case_count(200); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    test::Random random(seed);
    const Network net = test::random_network(random);
    if (!check_trainable(net)) continue;
    ++trained;
    const std::vector<PoolingMode> modes(pooling_nodes(net).size(), PoolingMode(PoolMode::fragments));
    const StepGraph graph = graph_of(net, test::random_extent(net, modes, random, 2));
    std::vector<bool> written(graph.tensors.size(), false);
    written[0] = true;
    for (const StepWork& work : graph.works) {
      const auto* gradient = std::get_if<GradientProblem>(&work.problem);
      if (gradient != nullptr) {
        const Result<void> sound = check(*gradient);
        ASSERT_TRUE(sound) << sound.error().message;
        ASSERT_EQ(work.reads.size(), saved_value(*gradient) == SavedValue::none ? 1U : 2U);
        EXPECT_EQ(graph.tensors[index(work.reads[0])].shape, output_shape(gradient->layer));
        if (work.reads.size() > 1) {
          EXPECT_EQ(graph.tensors[index(work.reads[1])].shape, saved_shape(*gradient));
        }
      }
      for (const int tensor : work.reads) EXPECT_TRUE(written[index(tensor)]);
      if (work.writes < 0) continue;
      EXPECT_FALSE(written[index(work.writes)]);
      written[index(work.writes)] = true;
    }
  }
  EXPECT_GT(trained, 0);
}

TEST(StepGraph, SlopesAreTrainedAndAFactorReadsTheOther) {
  Network net;
  net.nodes = {{"a", conv(2, 1), {0}}, {"slopes", PRelu{}, {1}}, {"gate", conv(1, 1), {1}}, {"by", Multiply{}, {2, 3}}};
  const StepGraph graph = graph_of(net, Vec3::cube(2));
  EXPECT_THAT(texts(graph), ElementsAre("0", "1", "2", "3", "loss", "3 input 0", "3 input 1", "2 weights", "2 input 0",
                                        "1 weights", "1 input 0", "1 add", "0 weights"));
  EXPECT_EQ(graph.works[5].reads[1], graph.works[2].writes);
  EXPECT_EQ(graph.works[6].reads[1], graph.works[1].writes);
}

TEST(StepGraph, ADivisorsGradientReadsItAndTheQuotient) {
  Network net;
  net.nodes = {{"a", conv(2, 1), {0}}, {"b", conv(1, 1), {0}}, {"q", Divide{}, {1, 2}}};
  const StepGraph graph = graph_of(net, Vec3::cube(2));
  EXPECT_THAT(texts(graph), ElementsAre("0", "1", "2", "loss", "2 input 0", "2 input 1", "1 weights", "0 weights"));
  const int divisor = graph.works[1].writes;
  EXPECT_THAT(graph.works[4].reads, ElementsAre(graph.output_gradient, divisor));
  EXPECT_THAT(graph.works[5].reads, ElementsAre(graph.output_gradient, divisor, graph.works[2].writes));
}

// Returns two convolutions that pad, closed along all axes.
StepGraph padded_graph(OutsideKind kind) {
  Network net;
  net.nodes = {{"a", conv(2, 3), {0}}, {"b", conv(2, 3), {1}}};
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  Network valid = without_padding({net, {}}, {one, one}).value().network;
  valid.nodes[0].outside_kind = kind;
  GeometryChoice choice{framed(valid, Vec3::cube(4)), 1, {}};
  choice.closed = Vec3::cube(1);
  return make_step_graph(valid, make_geometry(valid, choice).value());
}

TEST(StepGraph, PadsWhatIsReadBeyondTheBorderAndTakesThatOffItsGradient) {
  const StepGraph graph = padded_graph(OutsideKind::edge);
  EXPECT_THAT(texts(graph), ElementsAre("0", "1 pad", "1", "loss", "1 weights", "1 input 0", "1 pad", "0 weights"));
  EXPECT_EQ(graph.tensors[0].shape.n, Vec3::cube(6)) << "zeros stand around the input";
  const auto& pad = std::get<PadProblem>(graph.works[1].problem);
  EXPECT_EQ(pad.kind, OutsideKind::edge);
  EXPECT_EQ(pad.in.n, Vec3::cube(4));
  EXPECT_EQ(padded_shape(pad).n, Vec3::cube(6));
  EXPECT_EQ(graph.works[4].reads[1], graph.works[1].writes) << "the weights' gradient sees the padding";
  EXPECT_TRUE(std::get<PadProblem>(graph.works[6].problem).is_gradient);
  EXPECT_EQ(graph.tensors[index(graph.works[6].writes)].shape, pad.in);
}

}  // namespace
}  // namespace znni
