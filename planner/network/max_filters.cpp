#include "planner/network/max_filters.hpp"

#include <algorithm>
#include <numeric>

#include "planner/network/reading.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_stride = 1 << 12;  // of a network

// Returns the distances of the voxels that a window of k voxels reads; 0 along axes of which it reads one.
Vec3 distances(Vec3 k, Vec3 dilation) {
  for (int axis = 0; axis < 3; ++axis) dilation[axis] = k[axis] > 1 ? dilation[axis] : 0;
  return dilation;
}

Vec3 gcd(Vec3 a, Vec3 b) { return {std::gcd(a.z, b.z), std::gcd(a.y, b.y), std::gcd(a.x, b.x)}; }

// Returns a divisor of all distances from voxel to voxel that the operation reads; 0 along axes without any.
Vec3 distances(const Operation& operation) {
  if (const auto* conv = std::get_if<Convolution>(&operation)) return distances(conv->k, conv->dilation);
  if (const auto* pool = std::get_if<Pooling>(&operation)) return distances(pool->window, pool->dilation);
  if (std::holds_alternative<Stack>(operation)) return distances(reading_of(operation).window, Vec3::cube(1));
  if (const auto* crop = std::get_if<Crop>(&operation)) return gcd(crop->begin, crop->end);
  return {};
}

void divide(Operation& operation, Vec3 by) {
  if (auto* conv = std::get_if<Convolution>(&operation)) conv->dilation = max(conv->dilation / by, Vec3::cube(1));
  if (auto* pool = std::get_if<Pooling>(&operation)) pool->dilation = max(pool->dilation / by, Vec3::cube(1));
  if (auto* crop = std::get_if<Crop>(&operation)) *crop = {crop->begin / by, crop->end / by};
}

// Returns whether the nodes behind `node` read nothing before it.
bool separates(const Network& network, std::size_t node) {
  const auto written = static_cast<int>(node) + 1;
  return std::all_of(network.nodes.begin() + written, network.nodes.end(), [&](const Node& behind) {
    return std::all_of(behind.inputs.begin(), behind.inputs.end(), [&](int input) { return input >= written; });
  });
}

// Returns the largest divisor of `number` that is at most `most`.
std::int64_t divisor_up_to(std::int64_t number, std::int64_t most) {
  std::int64_t divisor = std::min(number, most);
  while (divisor > 1 && number % divisor != 0) --divisor;
  return divisor;
}

// Returns the factor, along each axis, by which all windows behind `node` are dilated, and its stride may grow. It is
// no larger than the window: patches of a network with large strides are large.
Vec3 common_dilation(const Network& network, std::size_t node, Vec3 window) {
  Vec3 common;
  for (std::size_t i = node + 1; i < network.nodes.size(); ++i) {
    common = gcd(common, distances(network.nodes[i].operation));
  }
  const Vec3 stride = reaches(network).back().stride;
  for (int axis = 0; axis < 3; ++axis) {
    common[axis] = std::max<std::int64_t>(divisor_up_to(common[axis], window[axis]), 1);
    if (mul(common[axis], stride[axis]) > max_stride) common[axis] = 1;
  }
  return common;
}

}  // namespace

void pool_for_dilations(Network& network) {
  if (!is_dense(network)) return;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    auto* const pool = std::get_if<Pooling>(&network.nodes[i].operation);
    if (pool == nullptr || !separates(network, i)) continue;
    const Vec3 common = common_dilation(network, i, pool->window);
    if (common == Vec3::cube(1)) continue;
    pool->stride = pool->stride * common;
    for (std::size_t behind = i + 1; behind < network.nodes.size(); ++behind) {
      divide(network.nodes[behind].operation, common);
    }
  }
}

}  // namespace znni
