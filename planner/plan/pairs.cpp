#include "planner/plan/pairs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/geometry/streams.hpp"

namespace znni {
namespace {

const Variant joined = {{"joined", 1}};

Result<void> check_between(const Network& network, const Geometry& geometry, int node) {
  const auto& name = network.nodes[static_cast<std::size_t>(node)].name;
  const auto refused = [&](const char* why) {
    return Error{ErrorCode::unsupported, "what node " + name + " writes cannot be left out: " + why};
  };
  if (last_readers(network)[static_cast<std::size_t>(node) + 1] != node + 1) return refused("others read it, too");
  if (network.nodes[static_cast<std::size_t>(node)].outside != Border{}) return refused("the pooling pads it");
  if (read_beyond(geometry.closed, node + 1, 0, node + 1) != Border{}) return refused("the pooling reads a part of it");
  if (node <= geometry.stem.last) return refused("the stem makes it in slabs");
  if (std::find(geometry.held.begin(), geometry.held.end(), node + 1) != geometry.held.end()) {
    return refused("it is held for later passes");
  }
  return {};
}

}  // namespace

bool is_joined(const Step& step) { return step.variant == joined; }

bool begins_pair(const std::vector<Step>& steps, std::size_t i) {
  return i + 1 < steps.size() && is_joined(steps[i + 1]);
}

Result<ConvPoolProblem> pair_problem(const Network& network, const Geometry& geometry, int node) {
  const auto first = static_cast<std::size_t>(node);
  const bool last = first + 1 >= network.nodes.size();
  const auto* const conv = last ? nullptr : std::get_if<ConvProblem>(&geometry.problems[first]);
  const auto* const pool = last ? nullptr : std::get_if<PoolProblem>(&geometry.problems[first + 1]);
  const bool follows = pool != nullptr && network.nodes[first + 1].inputs.front() == node + 1;
  if (conv == nullptr || !follows || conv->residual) {
    return Error{ErrorCode::unsupported,
                 "node " + network.nodes[first].name +
                     " is not a convolution, without a residual, that a pooling follows at once"};
  }
  if (Result<void> left_out = check_between(network, geometry, node); !left_out) return left_out.error();
  ConvPoolProblem both{*conv, *pool};
  both.conv.in.n.z += pool->in.n.z - output_shape(*conv).n.z;  // planes of a stream that are computed again
  return both;
}

std::vector<bool> left_out_values(const Network& network, const std::vector<Step>& steps) {
  std::vector<bool> absent(network.nodes.size() + 1, false);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].node >= 0 && begins_pair(steps, i)) absent[static_cast<std::size_t>(steps[i].node) + 1] = true;
  }
  return absent;
}

Geometry with_pairs(const Network& network, Geometry geometry, const std::vector<bool>& absent) {
  if (!geometry.choice.streamed) return geometry;
  std::vector<std::int64_t>& read = geometry.histories.read;
  for (std::size_t pooling = 1; pooling < read.size(); ++pooling) {
    if (absent[pooling]) read[pooling - 1] += std::exchange(read[pooling], 0);
  }
  geometry.histories.kept = kept_planes(network, read);
  return geometry;
}

std::vector<std::vector<bool>> subsets_of(const std::vector<std::size_t>& between, std::size_t values) {
  std::vector<std::vector<bool>> all;
  for (std::size_t subset = 1; subset < std::size_t{1} << between.size(); ++subset) {
    all.emplace_back(values, false);
    for (std::size_t i = 0; i < between.size(); ++i) all.back()[between[i]] = (subset >> i & 1U) != 0;
  }
  return all;
}

Network searched_in_pairs(Network network, const std::vector<bool>& absent) {
  for (std::size_t value = 1; value < absent.size(); ++value) {
    if (absent[value]) network.nodes[value].inputs = std::exchange(network.nodes[value - 1].inputs, {});
  }
  return network;
}

Geometry searched_in_pairs(const Network& network, const Geometry& geometry, const std::vector<bool>& absent) {
  Geometry searched = with_pairs(network, geometry, absent);
  for (std::size_t value = 1; value < absent.size(); ++value) {
    if (!absent[value]) continue;
    searched.problems[value] = pair_problem(network, geometry, static_cast<int>(value) - 1).value();
    searched.values[value].n = {};
  }
  return searched;
}

std::array<Step, 2> pair_steps(const Step& first) {
  Step second = first;
  second.node = first.node + 1;
  second.variant = joined;
  second.in = first.native;
  second.seconds = 0;
  Step own = first;
  own.out = first.native;
  own.reorder.clear();
  return {own, second};
}

Result<Step> pair_as_one(const Step& first, const Step& second) {
  const bool belong =
      first.primitive == second.primitive && first.reorder.empty() && first.division.empty() && second.division.empty();
  if (!belong) {
    return Error{ErrorCode::invalid_argument, "is joined to the node behind it, which must name the same primitive (" +
                                                  first.primitive + ", found " + second.primitive +
                                                  "), with no reorder between them and undivided"};
  }
  Step one = first;
  one.native = second.native;
  one.out = second.out;
  one.reorder = second.reorder;
  return one;
}

}  // namespace znni
