#include "tests/planner/random_modes.hpp"

namespace znni::test {

bool has_geometry(const Network& network, const std::vector<PoolingMode>& modes) {
  Vec3 extent;
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<std::int64_t> legal = legal_extents(network, modes, axis, 1000);
    if (legal.empty()) return false;
    extent[axis] = legal.front();
  }
  return make_geometry(network, {extent, 1, modes}).has_value();
}

namespace {

PoolingMode random_mode(const Pooling& pooling, Random& random) {
  if (random.chance(0.3)) return PoolMode::plain;
  if (random.chance(0.3)) return PoolMode::fragments;
  Vec3 groups;
  for (int axis = 0; axis < 3; ++axis) {
    groups[axis] = random.integer(1, pooling.stride[axis]);
    while (pooling.stride[axis] % groups[axis] != 0) --groups[axis];
  }
  return {groups, random.chance(0.6)};
}

}  // namespace

std::vector<PoolingMode> random_modes(const Network& network, Random& random) {
  const std::vector<int> poolings = pooling_nodes(network);
  std::vector<PoolingMode> modes(poolings.size());
  for (int attempt = 0; attempt < 20; ++attempt) {
    for (std::size_t i = 0; i < poolings.size(); ++i) {
      modes[i] = random_mode(std::get<Pooling>(network.nodes[static_cast<std::size_t>(poolings[i])].operation), random);
    }
    if (has_geometry(network, modes)) return modes;
  }
  return std::vector<PoolingMode>(poolings.size(), random.chance(0.5) ? PoolMode::fragments : PoolMode::plain);
}

}  // namespace znni::test
