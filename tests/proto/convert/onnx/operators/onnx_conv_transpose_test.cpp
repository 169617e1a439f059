#include "proto/convert/onnx/operators/onnx_conv_transpose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primitives/core/fragments.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using oracle::Values;
using test::Integers;
using test::OnnxModel;
using test::Random;
using testing::HasSubstr;

// A convolution of a stride, which a transposed one gives back.
struct Bottle {
  std::int64_t f = 2;
  std::int64_t f_out = 3;
  Vec3 k = {2, 3, 4};
  Vec3 stride = {2, 2, 3};
  Border pads = {{0, 1, 0}, {0, 0, 1}};
  Vec3 output_padding;
  std::int64_t groups = 1;
  Vec3 dilation = Vec3::cube(1);
};

Integers list(Vec3 v) { return {v.z, v.y, v.x}; }
Integers list(const Border& b) { return {b.begin.z, b.begin.y, b.begin.x, b.end.z, b.end.y, b.end.x}; }

onnx::NodeProto& add_transposed(OnnxModel& model, const Bottle& bottle, const std::vector<float>& kernels) {
  const Integers extents = {bottle.f, bottle.f_out / bottle.groups, bottle.k.z, bottle.k.y, bottle.k.x};
  model.tensor("w", extents, kernels);
  model.tensor("b", {bottle.f_out});
  onnx::NodeProto& node = model.node("ConvTranspose", {"low", "w", "b"}, {"out"});
  test::set_integers(node, "strides", list(bottle.stride));
  test::set_integers(node, "pads", list(bottle.pads));
  test::set_integers(node, "output_padding", list(bottle.output_padding));
  test::set_integer(node, "group", bottle.groups);
  test::set_integers(node, "dilations", list(bottle.dilation));
  return node;
}

// Returns a strided convolution, then the transposed one.
OnnxModel model_of(const Bottle& bottle, const std::vector<float>& kernels = {}) {
  OnnxModel model(bottle.f);
  test::set_integers(model.conv("in", "low", bottle.f, bottle.f, list(bottle.stride)), "strides", list(bottle.stride));
  add_transposed(model, bottle, kernels);
  model.output("out");
  return model;
}

// Computes as the operator is defined: each voxel of the input adds the kernel to the output.
Values by_definition(const Bottle& bottle, Vec3 n, const Values& low, const std::vector<float>& kernels, Vec3 n_out) {
  Values out(static_cast<std::size_t>(bottle.f_out * voxels(n_out)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<double>(static_cast<std::int64_t>(i) / voxels(n_out));  // bias of channel j is j
  }
  const std::int64_t outputs = bottle.f_out / bottle.groups;
  for (std::int64_t i = 0; i < bottle.f * voxels(n); ++i) {
    for (std::int64_t j = 0; j < outputs * voxels(bottle.k); ++j) {
      const Vec3 tap = fragment_at(j % voxels(bottle.k), bottle.k);
      const Vec3 at = fragment_at(i % voxels(n), n) * bottle.stride + tap * bottle.dilation - bottle.pads.begin;
      if (!covers(at, {}) || !covers(n_out - Vec3::cube(1), at)) continue;
      const std::int64_t group = i / voxels(n) / (bottle.f / bottle.groups);
      const std::int64_t channel = group * outputs + j / voxels(bottle.k);
      const std::int64_t weight = i / voxels(n) * outputs * voxels(bottle.k) + j;
      out[static_cast<std::size_t>(channel * voxels(n_out) + fragment_index(at, n_out))] +=
          low[static_cast<std::size_t>(i)] * static_cast<double>(kernels[static_cast<std::size_t>(weight)]);
    }
  }
  return out;
}

LayerProblem problem_of(const Operation& operation, const Shape5& in) {
  if (const auto* conv = std::get_if<Convolution>(&operation)) {
    return ConvProblem{in, conv->f_out, conv->k, conv->dilation, conv->stride, conv->activation, false};
  }
  if (const auto* up = std::get_if<Upsample>(&operation)) return UpsampleProblem{in, up->factor, up->kind};
  const Crop& crop = std::get<Crop>(operation);
  return CropProblem{in, crop.begin, crop.end};
}

// Runs a chain of nodes from its second on.
Values run_rest(const LoadedNetwork& loaded, Shape5 in, Values values) {
  for (std::size_t i = 1; i < loaded.network.nodes.size(); ++i) {
    const LayerProblem problem = problem_of(loaded.network.nodes[i].operation, in);
    values = oracle::oracle_run(problem, std::vector<Values>{values}, loaded.weights[i].view());
    in = output_shape(problem);
  }
  return values;
}

TEST(OnnxConvTranspose, IsAConvolutionAShuffleAndACrop) {
  const LoadedNetwork loaded = model_of({}).read();
  ASSERT_EQ(loaded.network.nodes.size(), 4U);
  EXPECT_EQ(std::get<Convolution>(loaded.network.nodes[1].operation).k, (Vec3{1, 2, 2}));
  EXPECT_EQ(std::get<Convolution>(loaded.network.nodes[1].operation).f_out, 36);
  EXPECT_EQ(loaded.network.nodes[2].operation, Operation(Upsample{{2, 2, 3}, UpsampleKind::shuffle}));
  EXPECT_EQ(loaded.network.nodes[3].operation, Operation(Crop{{0, 1, 0}, {0, 1, 0}}));
}

TEST(OnnxConvTranspose, GivesWhatTheOperatorIsDefinedToGive) {
  for (int i = 0; i < test::case_count(40); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    Bottle bottle{random.integer(1, 3), random.integer(1, 3), random.vec3(1, 4), Vec3::cube(1), {}, {}};
    if (random.chance(0.5)) bottle.dilation = random.vec3(1, 3);
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t k = (bottle.k[axis] - 1) * bottle.dilation[axis] + 1;
      bottle.stride[axis] = random.integer(1, k + 1);
      // Pads so that the output is as large as what the first convolution read.
      const std::int64_t both = std::max<std::int64_t>(0, k - bottle.stride[axis]);
      bottle.output_padding[axis] = std::max<std::int64_t>(0, bottle.stride[axis] - k);
      bottle.pads.begin[axis] = random.integer(0, both);
      bottle.pads.end[axis] = both - bottle.pads.begin[axis];
    }
    if (random.chance(0.5)) bottle.groups = random.integer(2, 4);
    bottle.f *= bottle.groups;
    bottle.f_out *= bottle.groups;
    const std::vector<float> kernels = random.normals(bottle.f * bottle.f_out / bottle.groups * voxels(bottle.k));
    const LoadedNetwork loaded = model_of(bottle, kernels).read();
    ASSERT_FALSE(testing::Test::HasFailure());
    const Network& network = loaded.network;
    const Vec3 volume =
        min_extent(network) + period(network) * random.vec3(1, 2) - network.frame.begin - network.frame.end;
    // The frame of zeros in voxels of the convolution's output.
    const Vec3 n = framed(network, volume) / bottle.stride;
    const Vec3 before = network.frame.begin / bottle.stride;
    const Vec3 own = volume / bottle.stride;
    Values low(static_cast<std::size_t>(bottle.f * voxels(own)));
    for (double& value : low) value = static_cast<double>(random.normal());
    Values in(static_cast<std::size_t>(bottle.f * voxels(n)), 0.0);
    for (std::int64_t v = 0; v < bottle.f * voxels(own); ++v) {
      const Vec3 at = fragment_at(v % voxels(own), own) + before;
      in[static_cast<std::size_t>(v / voxels(own) * voxels(n) + fragment_index(at, n))] =
          low[static_cast<std::size_t>(v)];
    }
    const Values found = run_rest(loaded, {1, bottle.f, n}, in);
    const Values exact = by_definition(bottle, own, low, kernels, volume);
    ASSERT_EQ(found.size(), exact.size()) << to_string(bottle.k) << " " << to_string(bottle.stride);
    for (std::size_t v = 0; v < exact.size(); ++v) ASSERT_NEAR(found[v], exact[v], 1e-6) << v;
  }
}

// Returns the nodes of a net with a transposed convolution of `k` voxels along x and stride 2, of 4 voxels.
template <class Change>
std::vector<std::string> nodes_with(std::int64_t k, const Change& change) {
  OnnxModel model(2);
  test::set_integers(model.conv("in", "low", 2, 2, {1, 1, 2}), "strides", {1, 1, 2});
  auto& shape = *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int axis = 2; axis < 5; ++axis) shape.mutable_dim(axis)->set_dim_value(8);
  Bottle bottle;
  bottle.k = {1, 1, k};
  onnx::NodeProto& node = add_transposed(model, bottle, {});
  node.clear_attribute();
  test::set_integers(node, "strides", {1, 1, 2});
  change(node);
  const LoadedNetwork loaded = model.output("out").read();
  return describe(loaded.network);
}

std::vector<std::string> nodes_with_pads(std::int64_t k, std::int64_t begin, std::int64_t end) {
  return nodes_with(k, [&](onnx::NodeProto& node) { test::set_integers(node, "pads", {0, 0, begin, 0, 0, end}); });
}

TEST(OnnxConvTranspose, PadsByAutoPad) {
  const auto nodes = [](std::int64_t k, std::string_view auto_pad) {
    return nodes_with(k, [&](onnx::NodeProto& node) { test::set_text(node, "auto_pad", auto_pad); });
  };
  EXPECT_EQ(nodes(5, "SAME_UPPER"), nodes_with_pads(5, 1, 2));
  EXPECT_EQ(nodes(5, "SAME_LOWER"), nodes_with_pads(5, 2, 1));
  EXPECT_EQ(nodes(4, "SAME_LOWER"), nodes_with_pads(4, 1, 1));
  EXPECT_EQ(nodes(2, "SAME_UPPER"), nodes_with_pads(2, 0, 0));
  EXPECT_NE(nodes_with_pads(5, 1, 2), nodes_with_pads(5, 2, 1));
}

// Of 4 voxels k = 5 makes 11. Which end of an odd number loses more is what ONNX Runtime does.
TEST(OnnxConvTranspose, PadsByOutputShape) {
  const auto nodes = [](std::int64_t k, std::int64_t wanted, std::string_view auto_pad = "") {
    return nodes_with(k, [&](onnx::NodeProto& node) {
      test::set_integers(node, "output_shape", {8, 8, wanted});
      if (!auto_pad.empty()) test::set_text(node, "auto_pad", auto_pad);
    });
  };
  EXPECT_EQ(nodes(5, 8), nodes_with_pads(5, 2, 1));
  EXPECT_EQ(nodes(5, 8, "SAME_UPPER"), nodes_with_pads(5, 1, 2));
  EXPECT_EQ(nodes(5, 7), nodes_with_pads(5, 2, 2));
  const auto added = nodes_with(1, [](onnx::NodeProto& node) {
    test::set_integers(node, "output_padding", {0, 0, 1});
  });
  EXPECT_EQ(nodes(1, 8), added);
}

TEST(OnnxConvTranspose, Refusals) {
  const auto refusal_with = [](const auto& change) {
    OnnxModel model(2);
    test::set_integers(model.conv("in", "low", 2, 2, {2, 2, 3}), "strides", {2, 2, 3});
    onnx::NodeProto& node = add_transposed(model, {}, {});
    node.clear_attribute();
    change(node);
    return model.output("out").refusal();
  };
  EXPECT_THAT(refusal_with([](auto& node) { test::set_integer(node, "group", 3); }),
              HasSubstr("group = 3 does not divide the 2 channels of its input"));
  EXPECT_THAT(refusal_with([](auto& node) {
                test::set_integers(node, "output_shape", {4, 4, 4});
              }),
              HasSubstr("output_shape of an input whose extents the file leaves open is not supported"));
  EXPECT_THAT(refusal_with([](auto& node) {
                test::set_integers(node, "output_shape", {4, 4});
              }),
              HasSubstr("has 2 numbers in output_shape; 3 are right"));
  EXPECT_THAT(refusal_with([](auto& node) {
                test::set_integers(node, "output_padding", {5, 0, 0});
              }),
              HasSubstr("adds voxels that no tap of the kernel reaches"));
  EXPECT_THAT(refusal_with([](auto& node) {
                test::set_text(node, "auto_pad", "SAME_UPPER");
                test::set_integers(node, "strides", {1, 4, 1});
              }),
              HasSubstr("auto_pad = SAME is not supported of a kernel shorter than its stride, of 1x4x1"));
  EXPECT_THAT(refusal_with([](auto& node) { node.set_input(1, "in"); }), HasSubstr("its weights are computed"));
  OnnxModel large(2);
  large.conv("in", "low", 2, 2, {1, 1, 1});
  Bottle bottle;
  bottle.k = Vec3::cube(2);
  bottle.dilation = Vec3::cube(1000);
  add_transposed(large, bottle, {});
  EXPECT_THAT(large.output("out").refusal(), HasSubstr("more than is plausible for a file of this size"));
}

// output_shape depends on extents that are not known there.
TEST(OnnxConvTranspose, BehindARefusedNodeItIsNoBlocker) {
  OnnxModel model(2);
  model.node("Unknown", {"in"}, {"low"});
  test::set_integers(add_transposed(model, {}, {}), "output_shape", {9, 9, 9});
  EXPECT_EQ(model.output("out").blockers().count, 1);
}

}  // namespace
}  // namespace znni
