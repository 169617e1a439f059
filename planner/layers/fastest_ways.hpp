// The fastest ways of one device to compute each layer problem, described and costed once. There is one for every two
// formats that edges of a plan may have, and within every precision.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/costs/costs.hpp"
#include "planner/costs/problem_hash.hpp"
#include "primitives/core/precision.hpp"

namespace znni {

// A way to compute a layer, as a step of node 0, with what it takes of the memory of its device.
struct LayerWay : Step {
  std::int64_t peak = 0;        // bytes of inputs, output and scratch that are alive together
  std::int64_t persistent = 0;  // bytes held as long as the plan is loaded
  bool operator==(const LayerWay&) const = default;
};

class FastestWays {
 public:
  // Keeps references to its arguments, which must outlive it. `coarsest`: the coarsest precision that will be asked
  // for.
  FastestWays(DeviceKind kind, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs,
              Precision coarsest = Precision::fp32);

  // Returns the fastest way from planar to planar in float32 throughout, with seconds, basis and error of its cost; of
  // equals the first. Fails with `unsupported` if no primitive computes it so. On a GPU the formula counts in place of
  // what `costs` says by model, because records that corrected it would be the CPU's. Valid as long as the table.
  const Result<LayerWay>& get(const LayerProblem& problem);

  // Returns one way, no coarser than `precision`, for each two edge formats of it that some primitive reads and writes.
  const std::vector<LayerWay>& in_formats(const LayerProblem& problem, Precision precision);

  // Returns a lower bound on their time; infinite if there is none. Describes by no primitive that tells the least
  // itself.
  [[nodiscard]] Seconds min_seconds(const LayerProblem& problem);

 private:
  struct Source {
    const Primitive* primitive = nullptr;
    bool slow = false;  // to describe: its least time holds
  };
  using Within = std::array<std::vector<LayerWay>, precisions>;  // each precision
  struct Ways {
    Within within;
    Result<LayerWay> planar;
  };
  const Ways& ways_of(const LayerProblem& problem);
  // Returns the ways by source; those of slow sources are empty.
  const std::vector<Within>& quick_ways_of(const LayerProblem& problem);
  [[nodiscard]] Ways find(const LayerProblem& problem);
  [[nodiscard]] bool offers_nothing(const LayerProblem& problem, const Primitive& primitive) const;
  [[nodiscard]] Within described(const LayerProblem& problem, const Primitive& primitive) const;
  [[nodiscard]] LayerWay costed(const LayerProblem& problem, const Primitive& primitive,
                                const Estimate& estimate) const;

  DeviceKind kind_;
  const DeviceSpec& spec_;
  CostSource& costs_;
  Precision coarsest_;
  std::vector<Source> sources_;
  std::unordered_map<LayerProblem, std::vector<Within>, ProblemHash> quick_;  // of those that are not known
  std::unordered_map<LayerProblem, Ways, ProblemHash> known_;
};

// Makes a step of `primitive` as `estimate` describes it; its output is not reordered.
[[nodiscard]] Step make_step(int node, const Primitive& primitive, const Estimate& estimate);
// Returns the strictest precision whose plans may compute a layer so; nothing for formats of other devices.
[[nodiscard]] std::optional<Precision> level_of(const Estimate& estimate);

}  // namespace znni
