// Primitives that only describe: times and memory are drawn from a hash of the problem, so that every
// layer has several ways with different times, formats and memory, and searches can be compared with brute
// force. They refuse to be prepared.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "planner/costs/catalogue.hpp"
#include "planner/geometry/cube.hpp"
#include "planner/network/network.hpp"

namespace znni::drawn {

inline constexpr Format planar = {};
inline constexpr Format blocked = {ElementType::f32, Layout::blocked8};

// Mixes text and a number into [0, 1).
inline double draw(const std::string& text, std::int64_t salt) {
  std::uint64_t hash = 1469598103934665603ULL + static_cast<std::uint64_t>(salt) * 0x9e3779b97f4a7c15ULL;
  for (const char c : text)
    hash = (hash ^ static_cast<std::uint64_t>(static_cast<unsigned char>(c))) * 1099511628211ULL;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9ULL;
  hash ^= hash >> 32;
  return static_cast<double>(hash >> 11) / 9007199254740992.0;
}

// Three stages: inputs end in the first or second, the output begins in the second or third; scratch in each.
inline Estimate make_estimate(const LayerProblem& problem, Format in, Format out, std::int64_t salt) {
  const std::string text = to_string(problem);
  Estimate estimate;
  estimate.variant = {{"salt", salt}};
  estimate.in = in;
  estimate.out = out;
  const auto bytes = static_cast<double>(tensor_bytes(output_shape(problem), out));
  estimate.time = direct_flops(problem) * 1e-9 * (0.5 + draw(text, 10 * salt)) + 1e-6;
  const int input_end = draw(text, 10 * salt + 1) < 0.5 ? 0 : 1;
  const int output_begin = draw(text, 10 * salt + 2) < 0.5 ? 1 : 2;
  for (int i = 0; i < input_count(problem); ++i) {
    const std::int64_t input = tensor_bytes(input_shape(problem, i), input_format(problem, i, in, out));
    estimate.memory.push_back({input_name(i), MemorySpace::host, input, Lifetime::stages(0, i == 0 ? input_end : 2)});
  }
  estimate.memory.push_back({std::string(output_name), MemorySpace::host, tensor_bytes(output_shape(problem), out),
                             Lifetime::stages(output_begin, 2)});
  for (int stage = 0; stage < 3; ++stage) {
    const auto scratch = static_cast<std::int64_t>(2 * bytes * draw(text, 10 * salt + 3 + stage));
    estimate.memory.push_back(
        {"scratch " + std::to_string(stage), MemorySpace::host, scratch / 4 * 4, Lifetime::stages(stage, stage)});
  }
  const auto kept = static_cast<std::int64_t>(bytes * draw(text, 10 * salt + 7));
  estimate.memory.push_back({"kept", MemorySpace::host, kept / 4 * 4, Lifetime::plan()});
  return estimate;
}

inline Result<std::unique_ptr<PreparedLayer>> never_prepared(const LayerProblem&, const Estimate&, const LayerWeights&,
                                                             Arena&, Device&) {
  return Error{ErrorCode::unsupported, "a fake only describes"};
}

// Convolutions, planar to planar and blocked to blocked.
inline Result<std::vector<Estimate>> describe_conv(const LayerProblem& problem, const DeviceSpec&) {
  if (!std::holds_alternative<ConvProblem>(problem)) return Error{ErrorCode::unsupported, "not a convolution"};
  return std::vector<Estimate>{make_estimate(problem, planar, planar, 1), make_estimate(problem, blocked, blocked, 2)};
}

// Convolutions that read planar images only, by a transform; two settings, one of which writes blocks.
inline Result<std::vector<Estimate>> describe_other_conv(const LayerProblem& problem, const DeviceSpec&) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return Error{ErrorCode::unsupported, "not a convolution"};
  if (voxels(conv->k) == 1) return Error{ErrorCode::unsupported, "k = 1x1x1 is not worth a transform"};
  std::vector<Estimate> both = {make_estimate(problem, planar, planar, 3), make_estimate(problem, planar, blocked, 4)};
  for (Estimate& estimate : both) estimate.spread = spread_of_whole(*conv);
  return both;
}

// Everything but convolutions and reorders, in both formats.
inline Result<std::vector<Estimate>> describe_rest(const LayerProblem& problem, const DeviceSpec&) {
  if (std::holds_alternative<ConvProblem>(problem) || std::holds_alternative<ReorderProblem>(problem)) {
    return Error{ErrorCode::unsupported, "not an element-wise or pooling layer"};
  }
  return std::vector<Estimate>{make_estimate(problem, planar, planar, 5), make_estimate(problem, blocked, blocked, 6)};
}

inline Result<std::vector<Estimate>> describe_reorder(const LayerProblem& problem, const DeviceSpec&) {
  const auto* reorder = std::get_if<ReorderProblem>(&problem);
  if (reorder == nullptr) return Error{ErrorCode::unsupported, "not a reorder"};
  Estimate estimate = make_estimate(problem, reorder->from, reorder->to, 7);
  estimate.variant.clear();
  std::erase_if(estimate.memory, [](const Buffer& buffer) { return buffer.lifetime.persistent; });
  return std::vector<Estimate>{estimate};
}

inline constexpr Primitive conv = {"drawn.conv.a", 1, DeviceKind::cpu, describe_conv, never_prepared};
inline constexpr Primitive other_conv = {"drawn.conv.b", 2, DeviceKind::cpu, describe_other_conv, never_prepared};
inline constexpr Primitive rest = {"drawn.rest", 1, DeviceKind::cpu, describe_rest, never_prepared};
inline constexpr Primitive reorder = {"drawn.reorder", 1, DeviceKind::cpu, describe_reorder, never_prepared};
inline constexpr std::array<const Primitive*, 4> all = {&conv, &other_conv, &rest, &reorder};

// The same under three names, "twin.a" last.
inline std::array<Primitive, 3> twins_of(const Primitive& primitive) {
  std::array<Primitive, 3> twins = {primitive, primitive, primitive};
  twins[0].name = "twin.c";
  twins[1].name = "twin.b";
  twins[2].name = "twin.a";
  return twins;
}

inline std::vector<DeviceSpec> probe() { return {DeviceSpec{}}; }
inline Result<std::unique_ptr<Device>> open(const DeviceSpec&, std::int64_t, std::int64_t, std::int64_t) {
  return Error{ErrorCode::unsupported, "a fake has no device"};
}
inline constexpr Backend backend = {"drawn", probe, open, all};

inline Catalogue catalogue() {
  static constexpr std::array<const Backend*, 1> backends = {&backend};
  Result<Catalogue> made = Catalogue::make(backends);
  return std::move(made).value();
}

inline Convolution convolution(std::int64_t f_out, Vec3 k) { return {f_out, k, Vec3::cube(1), {}}; }

// input -> conv -> pool -> conv -> relu -> conv, as far as `nodes` goes.
inline Network chain(std::size_t nodes = 5) {
  Network network;
  network.name = "chain";
  network.nodes = {{"conv1", convolution(5, Vec3::cube(2)), {0}},
                   {"pool1", Pooling{}, {1}},
                   {"conv2", convolution(9, Vec3{1, 2, 2}), {2}},
                   {"relu2", Activate{{ActivationKind::relu, 0.0F}}, {3}},
                   {"conv3", convolution(2, Vec3::cube(1)), {4}}};
  network.nodes.resize(nodes);
  return network;
}

// input -> conv -> pool -> conv, of so many axes.
inline Network chain_of_rank(int rank) {
  Network network = chain(3);
  const Vec3 two = cube_of(2, rank);
  network.spatial_rank = rank;
  network.nodes[0].operation = convolution(5, two);
  network.nodes[1].operation = Pooling{PoolKind::max, two, two};
  network.nodes[2].operation = convolution(9, two);
  return network;
}

// Two branches that meet in an addition whose first input is read again, and a concatenation.
inline Network branches() {
  Network network;
  network.name = "branches";
  network.nodes = {{"conv1", convolution(3, Vec3::cube(2)), {0}},
                   {"left", convolution(3, Vec3::cube(1)), {1}},
                   {"sum", Add{}, {1, 2}},
                   {"all", Concat{}, {3, 1}},
                   {"last", convolution(2, Vec3::cube(1)), {4}}};
  return network;
}

// A convolution that adds what an earlier one wrote, which is read again, and one that adds its own input.
inline Network residuals() {
  Network network;
  network.name = "residuals";
  network.nodes = {{"conv1", convolution(3, Vec3::cube(2)), {0}},
                   {"left", convolution(4, Vec3::cube(1)), {1}},
                   {"sum", convolution(3, Vec3::cube(1)), {2, 1}},
                   {"self", convolution(3, Vec3::cube(1)), {3, 3}},
                   {"all", Concat{}, {4, 1}}};
  return network;
}

}  // namespace znni::drawn
