#include "primitives/cpu/device/topology.hpp"

#include <hwloc.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace znni::cpu {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using OwnedTopology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

Error failure(const std::string& what) { return {ErrorCode::device_failure, "hwloc: " + what}; }

Result<OwnedTopology> init() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return failure("cannot make a topology");
  return OwnedTopology(raw);
}

// Returns the size of the machine's first cache of `type`; 0 if there is none.
std::int64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
  return cache == nullptr ? 0 : static_cast<std::int64_t>(cache->attr->cache.size);
}

// Returns the chip of a unit: its last-level cache, or its package if it has none.
int chip_of(hwloc_topology_t topology, hwloc_obj_t unit) {
  hwloc_obj_t chip = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L3CACHE, unit);
  if (chip == nullptr) chip = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, unit);
  return chip == nullptr ? 0 : static_cast<int>(chip->logical_index);
}

// Returns the rank of a unit among the siblings of its core.
unsigned sibling_rank(hwloc_topology_t topology, hwloc_obj_t unit) {
  const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
  if (core == nullptr) return 0;
  unsigned rank = 0;
  hwloc_obj_t sibling = nullptr;
  while ((sibling = hwloc_get_next_obj_inside_cpuset_by_type(topology, core->cpuset, HWLOC_OBJ_PU, sibling)) != unit) {
    if (sibling == nullptr) break;
    ++rank;
  }
  return rank;
}

int node_of(hwloc_obj_t unit) { return unit->nodeset == nullptr ? 0 : std::max(0, hwloc_bitmap_first(unit->nodeset)); }

Topology collect(hwloc_topology_t topology) {
  struct Ranked {
    unsigned rank;
    Core core;
  };
  std::vector<Ranked> ranked;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != nullptr) {
    ranked.push_back(
        {sibling_rank(topology, unit), {static_cast<int>(unit->os_index), chip_of(topology, unit), node_of(unit)}});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  Topology result;
  for (const Ranked& one : ranked) result.cores.push_back(one.core);
  result.l2_bytes = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
  result.l3_bytes = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
  return result;
}

// Removes the units on which this process may not run.
Result<void> restrict_to_affinity(hwloc_topology_t topology) {
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  if (allowed == nullptr) return failure("cannot make a processor set");
  const bool known = hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) == 0;
  const bool cut = !known || hwloc_topology_restrict(topology, allowed, 0) == 0;
  hwloc_bitmap_free(allowed);
  if (!cut) return failure("cannot apply the affinity mask of this process");
  return {};
}

}  // namespace

Result<Topology> read_topology() {
  Result<OwnedTopology> topology = init();
  if (!topology) return topology.error();
  if (hwloc_topology_load(topology->get()) != 0) return failure("cannot read the machine's topology");
  if (Result<void> cut = restrict_to_affinity(topology->get()); !cut) return cut.error();
  return collect(topology->get());
}

Result<Topology> synthetic_topology(const std::string& description) {
  Result<OwnedTopology> topology = init();
  if (!topology) return topology.error();
  if (hwloc_topology_set_synthetic(topology->get(), description.c_str()) != 0) {
    return Error{ErrorCode::invalid_argument, "'" + description + "' is not a synthetic topology"};
  }
  if (hwloc_topology_load(topology->get()) != 0) return failure("cannot load '" + description + "'");
  return collect(topology->get());
}

std::vector<Core> pin_list(const Topology& topology, int workers) {
  const auto count = static_cast<std::size_t>(workers);
  std::vector<Core> pins(count, Core{-1, 0});
  if (topology.cores.empty()) return pins;
  const bool all_fit = count <= topology.cores.size();
  for (std::size_t worker = 0; worker < count; ++worker) {
    pins[worker] = topology.cores[worker % topology.cores.size()];
    if (!all_fit) pins[worker].os_index = -1;
  }
  return pins;
}

std::vector<Topology> sockets(const Topology& topology) {
  std::map<int, Topology> of_node;
  for (const Core& core : topology.cores) {
    Topology& socket = of_node[core.node];
    socket.cores.push_back(core);
    socket.l2_bytes = topology.l2_bytes;
    socket.l3_bytes = topology.l3_bytes;
    socket.memory_node = core.node;
  }
  if (of_node.size() < 2) return {topology};
  std::vector<Topology> sockets;
  for (auto& [node, socket] : of_node) sockets.push_back(std::move(socket));
  return sockets;
}

int socket_count(const Topology& topology, int threads) {
  std::map<int, int> workers;  // number of workers near each memory node
  for (const Core& pin : pin_list(topology, threads)) {
    if (pin.os_index < 0) return 1;
    ++workers[pin.node];
  }
  if (workers.size() != sockets(topology).size()) return 1;
  const auto count = static_cast<int>(workers.size());
  const auto has_share = [&](const auto& of_node) { return of_node.second * count == threads; };
  return std::all_of(workers.begin(), workers.end(), has_share) ? count : 1;
}

void keep_near(std::span<std::byte> block, int node) {
  constexpr int preferred = 1;  // MPOL_PREFERRED of the kernel
  constexpr int bits = 8 * sizeof(unsigned long);
  std::array<unsigned long, 16> nodes{};
  constexpr int max_nodes = bits * static_cast<int>(nodes.size());
  if (node < 0 || node >= max_nodes || block.empty()) return;
  nodes[static_cast<std::size_t>(node / bits)] = 1UL << node % bits;
  // The kernel uses one node fewer than the number passed to it.
  static_cast<void>(syscall(SYS_mbind, block.data(), block.size(), preferred, nodes.data(), max_nodes + 1, 0));
}

Topology unpinned(Topology topology) {
  for (Core& core : topology.cores) {
    core.os_index = -1;
    core.node = 0;
  }
  topology.memory_node = -1;
  return topology;
}

void pin_this_thread(std::span<const Core> cores) {
  cpu_set_t only;
  CPU_ZERO(&only);
  for (const Core& core : cores) {
    if (core.os_index < 0 || core.os_index >= CPU_SETSIZE) return;
    CPU_SET(core.os_index, &only);
  }
  static_cast<void>(sched_setaffinity(0, sizeof(only), &only));
}

}  // namespace znni::cpu
