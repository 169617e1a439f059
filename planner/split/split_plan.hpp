// Plans over several places: the strategies "gpu", "gpu-host-ram" and "cpu-gpu" of ZNNi (sections VI and VII),
// predicted.
//
// The search looks at those of make_candidates() that segments of several places run: whole nets without a head in
// slabs. Every pooling is plain or in fragments, those of the first pooling also in groups for which the net runs
// again; and streams of such nets. If there are more than options.max_through_host_ram, it tries layers through host
// RAM in some of them only: cubes, and streams over squares, of one input and all fragments.
#pragma once

#include <string>

#include "planner/costs/costs.hpp"
#include "planner/layers/places.hpp"
#include "planner/search/search.hpp"
#include "planner/split/split_search.hpp"

namespace znni {

// Places of a plan: all on the GPU; also layers through host RAM before it; also a head on the CPU.
enum class SplitStrategy { gpu, gpu_host_ram, cpu_gpu };
[[nodiscard]] std::string_view to_string(SplitStrategy strategy);  // as --strategy has it

struct SplitPlan {
  // The fastest rung; smaller ones of that kind, each with memory of its own, as far as the first leaves some; then
  // those of the CPU that serve when the GPU fails, where memory is left for them.
  Plan plan;
  SpaceBytes bytes;  // of all rungs with a GPU
  SplitSeconds seconds;
  int theta = 0;            // nodes before the GPU's own segment
  std::string no_fallback;  // why no rung of the CPU stands behind; empty where some do
};

// Plans over CPU and GPU. options.memory_limit bounds host and pinned bytes and the network's weights together, an
// eighth of it aside, which is for rungs of the CPU; the machine's own memories, pinned and device, bound the rest (0
// pinned bytes: as many as the host's). Fails with over_budget and the last reason if nothing fits. `log` gets every
// patch looked at.
[[nodiscard]] Result<SplitPlan> plan_split(const Network& network, const Catalogue& catalogue, CostSource& costs,
                                           const MachinePlaces& places, SplitStrategy strategy,
                                           const SearchOptions& options, SearchLog* log = nullptr);

// Returns, for curves by size, the best of each of up to `count` cubes with all fragments of every pooling. The
// smallest and the largest that fits are among them.
[[nodiscard]] std::vector<Candidate> split_cubes(const Network& network, const Catalogue& catalogue, CostSource& costs,
                                                 const MachinePlaces& places, SplitStrategy strategy,
                                                 const SearchOptions& options, std::size_t count = 24);

// Returns the plan's summary, its places and its bytes per memory.
[[nodiscard]] std::string split_summary(const SplitPlan& plan);

}  // namespace znni
