// A machine with a CPU and a GPU that is known by made-up records alone, for tests of plans over both.
#pragma once

#include "planner/costs/recorded_primitives.hpp"
#include "planner/geometry/cube.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni::test {

inline constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

inline Machine recorded_machine() {
  MachineDevice cpu;
  cpu.spec.name = "cores";
  cpu.spec.threads = 8;
  cpu.bytes[0] = gibibyte;
  MachineDevice gpu;
  gpu.spec.name = "card";
  gpu.spec.kind = DeviceKind::gpu;
  gpu.bytes[1] = gibibyte;
  gpu.bytes[2] = gibibyte;
  return {
      "box",
      {cpu, gpu},
      {{MemorySpace::pinned, MemorySpace::device, 1e10, 1e-6}, {MemorySpace::device, MemorySpace::pinned, 1e10, 1e-6}}};
}

// Returns rows of every node of the chain in cubes of several sizes; the card is `card_rate` times as fast.
inline Timings recorded_rows(const Network& network, double card_rate = 10) {
  Timings all;
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  const std::vector<std::int64_t> edges = legal_extents(network, modes, 2, 40);
  for (const std::int64_t edge : edges) {
    const Result<Geometry> geometry = make_geometry(network, {cube_of(edge, network.spatial_rank), 1, modes});
    if (!geometry) continue;
    for (const LayerProblem& problem : geometry->problems) {
      TimingRecord record;
      record.version = 1;
      record.problem = to_string(problem);
      for (const bool card : {false, true}) {
        record.primitive = card ? "card.any" : "cores.any";
        record.device = card ? "card" : "cores";
        record.threads = card ? 1 : 8;
        record.samples = {1e-6 + direct_flops(problem) * 1e-10 / (card ? card_rate : 1)};
        all.insert(record);
      }
    }
  }
  return all;
}

}  // namespace znni::test
