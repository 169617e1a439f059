// The answer of `planner check`: the main numbers of a network that runs here, or all that keeps it from running.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/network/blockers.hpp"
#include "planner/network/network.hpp"

namespace znni {

// Numbers of a network that runs; extents in voxels, of z, y, x.
struct NetworkFacts {
  std::string name;
  int spatial_rank = 3;  // axes that the network has: the last ones
  std::int64_t f_in = 0;
  std::int64_t f_out = 0;            // of all outputs
  std::vector<NamedTensor> outputs;  // at least one
  std::vector<NamedTensor> inputs;   // likewise
  Vec3 field_of_view;  // 0 where a net upsamples and it depends on the voxel, or where it is the whole window
  Vec3 lost;           // by which the output is smaller than the volume
  // Equal voxels of the output for one that the net computes; 1 where several outputs differ in that.
  Vec3 output_stride = Vec3::cube(1);
  Vec3 period;              // extents of a volume, or of a window, are least + any multiple of this
  Vec3 least;               // smallest volume, or window
  bool tile_bound = false;  // volumes are computed window by window, because a node reads all voxels
  bool pads = false;
  Vec3 window;  // 0 where the file leaves it open, or the net needs none
  std::int64_t parameters = 0;
  std::vector<std::pair<std::string, std::int64_t>> layers;  // kind and number, in the order of their first layers
};

// Requires check(network).
[[nodiscard]] NetworkFacts facts_of(const Network& network);

// Returns the answer for the network of `file`: as lines for people, or as JSON with the same facts.
[[nodiscard]] std::string check_text(const std::string& file, const NetworkFacts& facts);
[[nodiscard]] std::string check_json(const std::string& file, const NetworkFacts& facts);
[[nodiscard]] std::string check_text(const std::string& file, const Blockers& blockers);
[[nodiscard]] std::string check_json(const std::string& file, const Blockers& blockers);

}  // namespace znni
