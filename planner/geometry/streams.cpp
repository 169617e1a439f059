#include "planner/geometry/streams.hpp"

#include <algorithm>
#include <string>

#include "planner/geometry/stem.hpp"
#include "planner/network/reading.hpp"
#include "primitives/core/index.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

Error no_stream(const std::string& why) { return refused("the net cannot be streamed along z: " + why); }

// Returns true if every offset along z is made from the same window of the input.
bool keeps_all_offsets(const Pooling& pooling, const PoolingMode& mode) {
  if (pooling.stride.z == 1) return true;
  return mode.mode == PoolMode::fragments && (mode.groups.z == 1 || mode.holds());
}

// Returns the first pooling for which keeps_all_offsets() is false, or -1.
int refused_pooling(const Network& network, const std::vector<PoolingMode>& modes) {
  const std::vector<int> poolings = pooling_nodes(network);
  for (std::size_t i = 0; i < poolings.size(); ++i) {
    const Node& node = network.nodes[index(poolings[i])];
    if (!keeps_all_offsets(std::get<Pooling>(node.operation), modes[i])) return poolings[i];
  }
  return -1;
}

// Returns the planes of its first input that a node reads before the new ones; if below 0, the new ones that it passes
// over.
std::int64_t planes_before(const Node& node) {
  const Reading reading = reading_of(node.operation);
  // Planes that it passes over at the begin of its window have gone by.
  return reading.window.z - reading.idle.begin.z - step_of(reading).z;
}

// Returns the first node that repeats or reflects planes at the border of which no reader keeps any, or -1. A plane and
// its copies may come in different steps. What reads reflected planes keeps all between them and their copies.
int forgotten_edges(const Network& network) {
  std::vector<std::int64_t> read;
  for (const Node& node : network.nodes) read.push_back(planes_before(node));
  const std::vector<std::int64_t> kept = kept_planes(network, read);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    const bool beyond = node.outside.begin.z > 0 || node.outside.end.z > 0;
    const bool copies = node.outside_kind == OutsideKind::edge || node.outside_kind == OutsideKind::reflect;
    if (beyond && copies && kept[i + 1] == 0) return static_cast<int>(i);
  }
  return -1;
}

Result<void> check_stream(const Network& network, const GeometryChoice& choice) {
  if (const int node = forgotten_edges(network); node >= 0) {
    return no_stream("node " + network.nodes[index(node)].name +
                     " repeats planes at the border, and what reads it keeps none of them");
  }
  if (const int pooling = refused_pooling(network, choice.modes); pooling >= 0) {
    return no_stream("node " + network.nodes[index(pooling)].name + " does not make all its fragments of one window");
  }
  return {};
}

// Lets the stem read what all its nodes together need of the input; between them nothing is kept.
void join_stem(const Network& network, Histories& histories) {
  const auto last = index(pooling_nodes(network).front());
  std::fill_n(histories.read.begin(), last + 1, 0);
  histories.read.front() = histories.idle[last];
  std::fill_n(histories.idle.begin(), last, histories.idle[last]);
}

}  // namespace

Histories no_histories(const Network& network) {
  const std::size_t nodes = network.nodes.size();
  const std::vector<std::int64_t> none(nodes, 0);
  return {std::vector<std::int64_t>(nodes + 1, 0), none, none};
}

Result<Histories> make_histories(const Network& network, const GeometryChoice& choice) {
  Histories histories = no_histories(network);
  if (!choice.streamed) return histories;
  if (Result<void> sound = check_stream(network, choice); !sound) return sound.error();
  const std::vector<Reach> reach = reaches(network);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    histories.read[i] = planes_before(network.nodes[i]);
    histories.idle[i] = reach[i + 1].fov.z - 1;
    // Behind an upsampling the field is smaller: nothing may read what was not written.
    for (const int input : network.nodes[i].inputs) {
      if (input > 0) histories.idle[i] = std::max(histories.idle[i], histories.idle[index(input) - 1]);
    }
  }
  if (choice.stem_slab != 0) {
    if (Result<void> sound = check_stem(network, choice); !sound) return sound.error();
    join_stem(network, histories);
  }
  histories.kept = kept_planes(network, histories.read);
  return histories;
}

std::vector<std::int64_t> kept_planes(const Network& network, const std::vector<std::int64_t>& read) {
  std::vector<std::int64_t> kept(network.nodes.size() + 1, 0);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    std::int64_t& planes = kept[index(network.nodes[i].inputs.front())];
    planes = std::max(planes, read[i]);
  }
  return kept;
}

Result<void> check_new_planes(std::int64_t planes, std::int64_t stride) {
  if (planes % stride == 0) return {};
  return no_stream(std::to_string(planes) + " new planes a step; a multiple of the stride " + std::to_string(stride) +
                   " is right");
}

bool has_one_phase(const std::vector<PoolingMode>& modes) {
  return std::all_of(modes.begin(), modes.end(), [](const PoolingMode& mode) {
    return mode.mode == PoolMode::fragments && (mode.held || mode.groups == Vec3::cube(1));
  });
}

std::int64_t phases_of(const GeometryChoice& choice) {
  std::int64_t phases = 1;
  for (const PoolingMode& mode : choice.modes) {
    if (choice.streamed && !mode.held) phases = mul(phases, voxels(mode.groups));
  }
  return phases;
}

bool can_stream(const Network& network, const std::vector<PoolingMode>& modes) {
  return refused_pooling(network, modes) < 0 && forgotten_edges(network) < 0;
}

}  // namespace znni
