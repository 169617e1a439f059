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
[[nodiscard]] double draw(const std::string& text, std::int64_t salt);

// Makes an estimate of three stages: inputs end in the first or second, the output begins in the second or third;
// scratch in each.
[[nodiscard]] Estimate make_estimate(const LayerProblem& problem, Format in, Format out, std::int64_t salt);

[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> never_prepared(const LayerProblem& problem,
                                                                    const Estimate& estimate,
                                                                    const LayerWeights& weights, Arena& arena,
                                                                    Device& device);

// Describes convolutions, planar to planar and blocked to blocked.
[[nodiscard]] Result<std::vector<Estimate>> describe_conv(const LayerProblem& problem, const DeviceSpec& spec);

// Describes convolutions that read planar channels only, by a transform; two settings, one of which writes blocks.
[[nodiscard]] Result<std::vector<Estimate>> describe_other_conv(const LayerProblem& problem, const DeviceSpec& spec);

// Describes everything but convolutions and reorders, in both formats.
[[nodiscard]] Result<std::vector<Estimate>> describe_rest(const LayerProblem& problem, const DeviceSpec& spec);

[[nodiscard]] Result<std::vector<Estimate>> describe_reorder(const LayerProblem& problem, const DeviceSpec& spec);

inline constexpr Primitive conv = {"drawn.conv.a", 1, DeviceKind::cpu, describe_conv, never_prepared};
inline constexpr Primitive other_conv = {"drawn.conv.b", 2, DeviceKind::cpu, describe_other_conv, never_prepared};
inline constexpr Primitive rest = {"drawn.rest", 1, DeviceKind::cpu, describe_rest, never_prepared};
inline constexpr Primitive reorder = {"drawn.reorder", 1, DeviceKind::cpu, describe_reorder, never_prepared};
inline constexpr std::array<const Primitive*, 4> all = {&conv, &other_conv, &rest, &reorder};

// Returns the same primitive under three names, "twin.a" last.
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

// Returns input -> conv -> pool -> conv -> relu -> conv, as far as `nodes` goes.
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

// Returns input -> conv -> pool -> conv, of so many axes.
inline Network chain_of_rank(int rank) {
  Network network = chain(3);
  const Vec3 two = cube_of(2, rank);
  network.spatial_rank = rank;
  network.nodes[0].operation = convolution(5, two);
  network.nodes[1].operation = Pooling{PoolKind::max, two, two};
  network.nodes[2].operation = convolution(9, two);
  return network;
}

// Returns two branches that meet in an addition whose first input is read again, and a concatenation.
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

// Returns a convolution that adds what an earlier one wrote, which is read again, and one that adds its own input.
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
