// Cores, caches and memory nodes, from hwloc: which processor each worker is pinned to, which workers share a chip, and
// which memory is near them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni::cpu {

// One processing unit a worker may be pinned to.
struct Core {
  int os_index = 0;  // processor number of the system
  int chip = 0;      // what shares a last-level cache (a package where there is none), counted from 0
  int node = 0;      // the nearest memory node's number of the system
  bool operator==(const Core&) const = default;
};

struct Topology {
  std::vector<Core> cores;    // in the order workers are pinned: one unit per core first, siblings after
  std::int64_t l2_bytes = 0;  // per core; 0 when unknown
  std::int64_t l3_bytes = 0;  // of one chip; 0 when unknown
  int memory_node = -1;       // where memory for these cores is to lie; -1: anywhere
};

// The machine as this process may use it: processors outside its affinity mask are left out.
[[nodiscard]] Result<Topology> read_topology();

// The same of a synthetic machine in hwloc's notation, "package:2 l3:1 core:4 pu:2": for tests.
[[nodiscard]] Result<Topology> synthetic_topology(const std::string& description);

// The unit worker 0, 1, ... of `workers` is pinned to: worker i gets cores[i]. With more workers than units
// nobody is pinned (all os_index -1; the system does better), while chips are still dealt out in turn.
[[nodiscard]] std::vector<Core> pin_list(const Topology& topology, int workers);

// The same cores, pinned to by nobody and near no memory: where a quota of time is shared out, the containers of a
// machine would all be pinned to its first cores.
[[nodiscard]] Topology unpinned(Topology topology);

// The cores of each memory node, as a topology of its own, in the order of the nodes: a socket, or a part of one that
// was set up so. The whole, with memory anywhere, where all cores are near one node.
[[nodiscard]] std::vector<Topology> sockets(const Topology& topology);

// Sockets that a device of so many workers has: all of the topology's, if as many workers are pinned to each; else 1.
[[nodiscard]] int socket_count(const Topology& topology, int threads);

// Asks that pages of `block`, which starts on one and of which none is present yet, be taken from memory node `node`
// while that has any left; nothing for -1. A system that refuses is not an error: results do not depend on it.
void keep_near(std::span<std::byte> block, int node);

// Pins the calling thread to whichever of the cores is free; to none where one has no number. A system that refuses is
// not an error: results do not depend on it.
void pin_this_thread(std::span<const Core> cores);

}  // namespace znni::cpu
