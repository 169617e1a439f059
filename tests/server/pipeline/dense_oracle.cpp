#include "tests/server/pipeline/dense_oracle.hpp"

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "primitives/core/fragments.hpp"
#include "primitives/core/overloaded.hpp"
#include "tests/server/volume/random_volume.hpp"

namespace znni::test {

using oracle::Values;

LayerProblem dense_problem(const Operation& operation, Vec3 stride, const std::vector<Shape5>& in) {
  const int count = static_cast<int>(in.size());
  return std::visit(Overloaded{[&](const Convolution& c) -> LayerProblem {
                                 return ConvProblem{in[0],    c.f_out,      c.k,        c.dilation * stride,
                                                    c.stride, c.activation, count == 2, {},
                                                    c.groups};
                               },
                               [&](const Activate& a) -> LayerProblem {
                                 return ActivationProblem{in[0], a.activation};
                               },
                               [&](const AcrossChannels& a) -> LayerProblem {
                                 return AcrossChannelsProblem{in[0], a.kind, a.epsilon};
                               },
                               [&](const ScaleShift&) -> LayerProblem { return ScaleShiftProblem{in[0]}; },
                               [&](const PRelu&) -> LayerProblem { return PReluProblem{in[0]}; },
                               [&](const Norm& n) -> LayerProblem {
                                 return NormProblem{in[0], n.groups, n.epsilon, n.activation, n.kind};
                               },
                               [&](const Add& a) -> LayerProblem {
                                 return AddProblem{in[0], count, a.activation};
                               },
                               [&](const GlobalPool& p) -> LayerProblem {
                                 return GlobalPoolProblem{in[0], p.kind};
                               },
                               [&](const Attention& a) -> LayerProblem {
                                 return AttentionProblem{in[0], in.back().f, a.heads, a.scale};
                               },
                               [&](const AddVolume& a) -> LayerProblem {
                                 return AddVolumeProblem{in[0], a.extent};
                               },
                               [&](const Multiply&) -> LayerProblem {
                                 return MultiplyProblem{in[0], in.back().f};
                               },
                               [&](const Divide&) -> LayerProblem {
                                 return DivideProblem{in[0], in.back().f};
                               },
                               [&](const Concat&) -> LayerProblem { return ConcatProblem{in}; },
                               [&](const Upsample& u) -> LayerProblem {
                                 return UpsampleProblem{in[0], u.factor, u.kind};
                               },
                               [&](const Crop& c) -> LayerProblem {
                                 return CropProblem{in[0], stride * c.begin, stride * c.end};
                               },
                               [&](const Stack& s) -> LayerProblem {
                                 return StackProblem{in[0], s.stages, {}};
                               },
                               [&](const Pooling& p) -> LayerProblem {
                                 return PoolProblem{.in = in[0],
                                                    .window = p.window,
                                                    .stride = Vec3::cube(1),
                                                    .kind = p.kind,
                                                    .dilation = p.dilation * stride};
                               }},
                    operation);
}

namespace {

Operation operation_of(const StackStage& stage) {
  if (stage.operation == StackOperation::scale_shift) return ScaleShift{};
  if (stage.operation == StackOperation::activation) return Activate{stage.activation};
  return Pooling{stage.kind, stage.window, Vec3::cube(1)};
}

// Returns what a stack makes of a value behind poolings of that stride, stage by stage.
Values stacked(const Stack& stack, Vec3 stride, Shape5 shape, Values values, const NodeWeights& weights) {
  const auto f = static_cast<std::size_t>(shape.f);
  std::size_t scales = 0;
  for (const StackStage& stage : stack.stages) {
    LayerWeights own;
    if (stage.operation == StackOperation::scale_shift) {
      own.scale = std::span(weights.scale).subspan(scales, f);
      own.shift = std::span(weights.shift).subspan(scales, f);
      scales += f;
    }
    const LayerProblem problem = dense_problem(operation_of(stage), stride, {shape});
    values = oracle::oracle_run(problem, std::span(&values, 1), own);
    shape = output_shape(problem);
  }
  return values;
}

}  // namespace

DenseValues dense_values(const Network& network, const NetworkWeights& weights, Vec3 n, const Values& volume) {
  const std::vector<Reach> reach = reaches(network);
  DenseValues all{{{1, network.f_in, n}}, {volume}};
  auto& [shapes, values] = all;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    std::vector<Shape5> in;
    std::vector<Values> inputs;
    for (const int input : node.inputs) {
      in.push_back(shapes[static_cast<std::size_t>(input)]);
      inputs.push_back(values[static_cast<std::size_t>(input)]);
    }
    const Vec3 stride = reach[static_cast<std::size_t>(node.inputs.front())].stride;
    const auto* const stack = std::get_if<Stack>(&node.operation);
    values.push_back(stack != nullptr
                         ? stacked(*stack, stride, in[0], inputs[0], weights[i])
                         : oracle::oracle_run(dense_problem(node.operation, stride, in), inputs, weights[i].view()));
    const Vec3 n_out = n - reach[i + 1].fov + Vec3::cube(1);
    shapes.push_back({1, static_cast<std::int64_t>(values.back().size()) / voxels(n_out), n_out});
  }
  return all;
}

Values dense_oracle(const Network& network, const NetworkWeights& weights, Vec3 n, const Values& volume) {
  return std::move(dense_values(network, weights, n, volume).values.back());
}

Values volume_values(const VolumeView& volume, const Normalisation& normalisation) {
  Values values;
  for (std::int64_t j = 0; j < volume.shape.f; ++j) {
    for (std::int64_t i = 0; i < voxels(volume.shape.n); ++i) {
      const float x = voxel(volume.data, volume.shape, j, fragment_at(i, volume.shape.n));
      values.push_back(static_cast<double>(x) * static_cast<double>(normalisation.scale) +
                       static_cast<double>(normalisation.offset));
    }
  }
  return values;
}

}  // namespace znni::test
