#include "planner/network/reflections.hpp"

#include <algorithm>
#include <string>

#include "planner/network/network_reach.hpp"
#include "planner/network/operation_traits.hpp"
#include "planner/network/reading.hpp"

namespace znni {
namespace {

// Returns the voxels that the crop puts around its input.
Border reflected_by(const Crop& crop, const Border& pads) { return {pads.begin - crop.begin, pads.end - crop.end}; }

// Returns the convolution that alone reads what the crop reflects, and whose windows hold each voxel and its copy; -1
// if there is none.
int convolution_of(const Network& network, const std::vector<Border>& pads, int crop) {
  const std::vector<int> readers = readers_of(network, crop + 1);
  if (readers.size() != 1) return -1;
  const Node& reader = network.nodes[index(readers.front())];
  if (!std::holds_alternative<Convolution>(reader.operation) || pads[index(readers.front())] != Border{}) return -1;
  if (reader.inputs.front() != crop + 1) return -1;
  const Border around = reflected_by(std::get<Crop>(network.nodes[index(crop)].operation), pads[index(crop)]);
  const Vec3 between = max(around.begin, around.end) * Vec3::cube(2);
  return covers(reading_of(reader.operation).window - Vec3::cube(1), between) ? readers.front() : -1;
}

// Returns whether the node is a crop that reflects some voxels.
bool is_reflection(const Node& node, const Border& pads) {
  const auto* const crop = std::get_if<Crop>(&node.operation);
  return crop != nullptr && crop->reflects && pads != Border{};
}

std::string voxels_text(std::int64_t count) { return std::to_string(count) + (count == 1 ? " voxel" : " voxels"); }

// Returns how many voxels a node of a valid network reflects of its first input, as the borders of both say.
Vec3 reflected_for(const Network& network, const Node& reader) {
  const Reading reading = reading_of(reader.operation);
  const auto* const crop = std::get_if<Crop>(&reader.operation);
  const Border cropped = crop != nullptr ? Border{crop->begin, crop->end} : Border{};
  const Border& in = network.nodes[index(reader.inputs.front() - 1)].beyond;
  return max(in.begin - reading.stride * reader.beyond.begin - cropped.begin,
             in.end - reading.stride * reader.beyond.end - cropped.end);
}

// Returns how many voxels readers of the node reflect along each axis, 1 or more where it says that some do. Fails if a
// window is too narrow for a voxel and its copy.
Result<Vec3> find_reflected(const Network& network, int number) {
  const Node& node = network.nodes[index(number)];
  const Vec3 outside = max(node.outside.begin, node.outside.end);
  Vec3 most = min(outside, Vec3::cube(1));
  for (const int reader : readers_of(network, number + 1)) {
    const Node& own = network.nodes[index(reader)];
    if (own.inputs.front() != number + 1) continue;
    const Vec3 reflected = min(outside, reflected_for(network, own));
    const Vec3 window = reading_of(own.operation).window;
    for (int axis = 0; axis < 3; ++axis) {
      if (reflected[axis] <= 0 || window[axis] > 2 * reflected[axis]) continue;
      return Error{ErrorCode::invalid_argument, "node " + node.name + " reflects " + voxels_text(reflected[axis]) +
                                                    " along " + "zyx"[axis] + ", and node " + own.name + " reads " +
                                                    std::to_string(window[axis]) + " together; " +
                                                    std::to_string(2 * reflected[axis] + 1) + " or more are right"};
    }
    most = max(most, reflected);
  }
  return most;
}

}  // namespace

NodePads take_in_reflections(LoadedNetwork& loaded, std::vector<Border>& pads) {
  NodePads found;
  for (const Node& node : loaded.network.nodes) {
    found.kinds.push_back(traits_of(node.operation).pads_with.value_or(OutsideKind::zero));
    found.names.push_back(node.name);
  }
  for (int node = static_cast<int>(pads.size()) - 1; node >= 0; --node) {
    const Node& own = loaded.network.nodes[index(node)];
    if (!is_reflection(own, pads[index(node)])) continue;
    const int conv = convolution_of(loaded.network, pads, node);
    if (conv < 0) continue;
    pads[index(conv)] = reflected_by(std::get<Crop>(own.operation), pads[index(node)]);
    found.kinds[index(conv)] = OutsideKind::reflect;
    found.names[index(conv)] = own.name;
    remove_node(loaded, node);
    pads.erase(pads.begin() + node);
    found.kinds.erase(found.kinds.begin() + node);
    found.names.erase(found.names.begin() + node);
  }
  return found;
}

// Returns the smallest volume in which all reflections have their voxels. A volume that is smaller by strides of a
// value has as many fewer voxels of that value.
Result<Vec3> find_min_volume(const Network& network, const std::vector<Border>& pads, const NodePads& own,
                             const std::vector<Vec3>& extents, Vec3 declared) {
  Vec3 least = Vec3::cube(1);
  const std::vector<Reach> reach = reaches(network);
  const Vec3 along = period(network);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    if (own.kinds[i] != OutsideKind::reflect) continue;
    const Node& node = network.nodes[i];
    const auto* const crop = std::get_if<Crop>(&node.operation);
    const Border around = crop != nullptr ? reflected_by(*crop, pads[i]) : pads[i];
    const Vec3 reflected = max(around.begin, around.end);
    const std::size_t input = index(node.inputs.front());
    for (int axis = 0; axis < 3; ++axis) {
      if (reflected[axis] == 0) continue;
      const std::int64_t spare = extents[input][axis] - reflected[axis] - 1;
      least[axis] = std::max(least[axis], extents.front()[axis] - spare * reach[input].stride[axis]);
      if (declared[axis] == 0 || declared[axis] >= least[axis]) continue;
      const std::int64_t fitting =
          extents.front()[axis] - (extents.front()[axis] - least[axis]) / along[axis] * along[axis];
      return Error{ErrorCode::unsupported, "node " + own.names[i] + " reflects " + voxels_text(reflected[axis]) +
                                               " along " + "zyx"[axis] + ", and of the declared input of " +
                                               voxels_text(declared[axis]) + " it has too few; " +
                                               std::to_string(fitting) + " or more are right"};
    }
  }
  return least;
}

Result<void> check_reflections(const Network& network) {
  const std::vector<Reach> reach = reaches(network);
  const Vec3 frame = network.frame.begin + network.frame.end;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    if (node.outside_kind != OutsideKind::reflect) continue;
    const Result<Vec3> reflected = find_reflected(network, static_cast<int>(i));
    if (!reflected) return reflected.error();
    const Vec3 before_last = node.outside.begin + node.outside.end + *reflected;
    const Vec3 needed = reach[i + 1].fov + reach[i + 1].stride * before_last - frame;
    const Vec3 least = min_extent(network) - frame;
    for (int axis = 0; axis < 3; ++axis) {
      if ((*reflected)[axis] == 0 || least[axis] >= needed[axis]) continue;
      return Error{ErrorCode::invalid_argument, "node " + node.name + " reflects " + voxels_text((*reflected)[axis]) +
                                                    " along " + "zyx"[axis] + ", and of a volume of " +
                                                    voxels_text(least[axis]) + " it has too few; a min_volume of " +
                                                    std::to_string(needed[axis]) + " or more is right"};
    }
  }
  return {};
}

}  // namespace znni
