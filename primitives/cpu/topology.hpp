// Cores and caches, from hwloc: which processor each worker is pinned to, and which workers share a chip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni::cpu {

// One processing unit a worker may be pinned to.
struct Core {
  int os_index = 0;  // processor number of the system
  int chip = 0;      // what shares a last-level cache (a package where there is none), counted from 0
  bool operator==(const Core&) const = default;
};

struct Topology {
  std::vector<Core> cores;    // in the order workers are pinned: one unit per core first, siblings after
  std::int64_t l2_bytes = 0;  // per core; 0 when unknown
  std::int64_t l3_bytes = 0;  // of one chip; 0 when unknown
};

// The machine as this process may use it: processors outside its affinity mask are left out.
[[nodiscard]] Result<Topology> read_topology();

// The same of a synthetic machine in hwloc's notation, "package:2 l3:1 core:4 pu:2": for tests.
[[nodiscard]] Result<Topology> synthetic_topology(const std::string& description);

// The unit worker 0, 1, ... of `workers` is pinned to: worker i gets cores[i]. With more workers than units
// nobody is pinned (all os_index -1; the system does better), while chips are still dealt out in turn.
[[nodiscard]] std::vector<Core> pin_list(const Topology& topology, int workers);

// The same cores, pinned to by nobody: where a quota of time is shared out, the containers of a machine would all be
// pinned to its first cores.
[[nodiscard]] Topology unpinned(Topology topology);

// Pins the calling thread. A system that refuses is not an error: results do not depend on it.
void pin_this_thread(const Core& core);

}  // namespace znni::cpu
