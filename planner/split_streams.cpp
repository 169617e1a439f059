#include "planner/split_streams.hpp"

#include <algorithm>
#include <vector>

namespace znni {
namespace {

// In strides of the poolings: a thicker step takes memory from the cross-section and gains little.
constexpr std::int64_t least_strides = 2;
constexpr std::int64_t most_strides = 32;

// Edges of squares across the stream; none beyond the first that covers the volume.
std::vector<std::int64_t> square_edges(const Network& network, const std::vector<PoolingMode>& modes,
                                       const SearchOptions& options) {
  const std::vector<std::int64_t> along_y = legal_extents(network, modes, 1, options.most_extent);
  const std::int64_t wide = options.volume ? std::max(options.volume->y, options.volume->x) : options.most_extent;
  std::vector<std::int64_t> edges;
  for (const std::int64_t edge : legal_extents(network, modes, 2, options.most_extent)) {
    if (std::binary_search(along_y.begin(), along_y.end(), edge)) edges.push_back(edge);
    if (edge >= wide) break;
  }
  return edges;
}

// Ends with the largest edge that fits among those tried.
void try_squares(GeometryChoice choice, const std::vector<std::int64_t>& edges, const TrySplit& fits) {
  std::size_t first = 0;            // those before it fit
  std::size_t last = edges.size();  // those from it on do not
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    choice.pass_input.y = choice.pass_input.x = edges[middle];
    if (fits(choice)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
}

}  // namespace

void try_streams(const Network& network, const SearchOptions& options, const TrySplit& fits) {
  if (options.strategy != Strategy::cpu || network.spatial_rank < 3) return;
  GeometryChoice choice;
  choice.modes.assign(pooling_nodes(network).size(), PoolMode::fragments);
  choice.streamed = true;
  const std::vector<std::int64_t> edges = square_edges(network, choice.modes, options);
  const Reach reach = reaches(network).back();
  std::int64_t most = options.most_extent - reach.fov.z + 1;
  if (options.volume) most = std::min(most, round_up(options.volume->z, reach.stride.z));
  for (std::int64_t strides = least_strides; strides <= most_strides; strides *= 2) {
    choice.pass_input.z = strides * reach.stride.z;
    if (choice.pass_input.z <= most) try_squares(choice, edges, fits);
  }
}

}  // namespace znni
