// Cores, caches and memory nodes, from hwloc: the processor of each worker, the workers that share a chip, and the
// memory near them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni::cpu {

// One processing unit to which a worker may be pinned.
struct Core {
  int os_index = 0;  // processor number of the system
  int chip = 0;      // cores that share a last-level cache (a package if there is none), counted from 0
  int node = 0;      // the system's number of the nearest memory node
  bool operator==(const Core&) const = default;
};

struct Topology {
  std::vector<Core> cores;    // in the order in which workers are pinned: one unit per core first, siblings after
  std::int64_t l2_bytes = 0;  // per core; 0 if unknown
  std::int64_t l3_bytes = 0;  // of one chip; 0 if unknown
  int memory_node = -1;       // node on which memory for these cores must lie; -1: any
};

// Reads the machine's topology; leaves out processors outside this process's affinity mask.
[[nodiscard]] Result<Topology> read_topology();

// Returns the topology of a synthetic machine in hwloc's notation, "package:2 l3:1 core:4 pu:2": for tests.
[[nodiscard]] Result<Topology> synthetic_topology(const std::string& description);

// Returns the unit to which each of `workers` workers is pinned: worker i gets cores[i]. If there are more workers than
// units, no worker is pinned (all os_index -1), because the system does better. Chips are still dealt out in turn.
[[nodiscard]] std::vector<Core> pin_list(const Topology& topology, int workers);

// Returns the same cores without pinning and without a near memory node. Used if a quota of processor time applies;
// otherwise all containers of a machine would be pinned to its first cores.
[[nodiscard]] Topology unpinned(Topology topology);

// Returns the cores of each memory node as a topology of its own, in the order of the nodes. A node is a socket, or a
// part of one in some system settings. If all cores are near one node, returns the whole topology with memory anywhere.
[[nodiscard]] std::vector<Topology> sockets(const Topology& topology);

// Returns the number of sockets of a device with `threads` workers. It is that of the topology if as many workers are
// pinned to each socket; otherwise 1.
[[nodiscard]] int socket_count(const Topology& topology, int threads);

// Requests pages of `block` from memory node `node` while that node has free memory; does nothing for -1. `block` must
// start on a page, and none of its pages may be present yet. A refusal by the system is not an error, because results
// do not depend on it.
void keep_near(std::span<std::byte> block, int node);

// Pins the calling thread to the set of these cores; the system picks a free one. Does nothing if one has no number. A
// refusal by the system is not an error, because results do not depend on it.
void pin_this_thread(std::span<const Core> cores);

}  // namespace znni::cpu
