// What a plan's first rung means, worked out for people and programs: shapes, time and memory of every node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/catalogue.hpp"
#include "planner/plan.hpp"

namespace znni {

struct NodeReport {
  int node = 0;  // -1: the reorder of the input
  std::string name;
  const Step* step = nullptr;       // of the plan
  std::optional<PoolingMode> mode;  // of a pooling
  Shape5 shape;                     // of what it writes
  double flops = 0;                 // of the textbook algorithm
  std::int64_t persistent = 0;      // bytes it keeps
  std::int64_t peak = 0;            // bytes alive in its worst stage, other nodes' tensors included
};

struct PlanReport {
  Geometry geometry;
  Shape5 input;                    // of a whole patch: S x f x patch_input
  Shape5 output;                   // S x f x patch_output
  std::int64_t history_bytes = 0;  // of a streamed net, kept from step to step; part of the transient ones
  std::vector<NodeReport> nodes;
};

// Requires that the plan runs (planner/plan.hpp, check) for this network and catalogue. The plan must outlive
// the report.
[[nodiscard]] Result<PlanReport> make_report(const Network& network, const Plan& plan, const Catalogue& catalogue,
                                             const DeviceSpec& spec);

}  // namespace znni
