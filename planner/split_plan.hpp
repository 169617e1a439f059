// Plans over several places for a machine that a file describes: the strategies "gpu", "gpu-host-ram" and "cpu-gpu" of
// ZNNi (sections VI and VII), predicted. Patches are cubes with all fragments of every pooling, or steps of streams
// (planner/split_streams.hpp).
#pragma once

#include <string>

#include "planner/costs.hpp"
#include "planner/places.hpp"
#include "planner/search.hpp"
#include "planner/split_search.hpp"

namespace znni {

// All on the GPU; also layers through host RAM before it; also a head on the CPU.
enum class SplitStrategy { gpu, gpu_host_ram, cpu_gpu };
[[nodiscard]] std::string_view to_string(SplitStrategy strategy);  // as --strategy has it

struct SplitPlan {
  Plan plan;  // one rung of that kind, then those of the CPU that serve when the GPU fails, where memory is left for
              // them
  SpaceBytes bytes;
  SplitSeconds seconds;
  int theta = 0;  // nodes before the GPU's own segment
};

// The fastest of up to `most_cubes` patch sizes and of the streams. options.memory_limit bounds host and pinned bytes
// and the network's weights together; the machine's own memories, pinned and device, bound the rest (0 pinned bytes: as
// many as the host's). over_budget with the last reason when nothing fits. `log` gets every patch looked at.
[[nodiscard]] Result<SplitPlan> plan_split(const Network& network, const Catalogue& catalogue, CostSource& costs,
                                           const MachinePlaces& places, SplitStrategy strategy,
                                           const SearchOptions& options, std::size_t most_cubes = 12,
                                           SearchLog* log = nullptr);

// The plan's summary, its places and its bytes per memory.
[[nodiscard]] std::string split_summary(const SplitPlan& plan);

}  // namespace znni
