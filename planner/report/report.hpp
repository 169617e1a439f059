// Works out a plan's first rung for people and programs: shapes, time and memory of every node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/geometry/rounding_reach.hpp"
#include "planner/plan/plan.hpp"
#include "planner/split/split_plan.hpp"

namespace znni {

struct NodeReport {
  int node = 0;  // -1: the reorder of the input
  std::string name;
  const Step* step = nullptr;       // of the plan
  std::optional<PoolingMode> mode;  // of a pooling
  Shape5 shape;                     // of what it writes
  double flops = 0;                 // of the textbook algorithm, in one run: what takes step->seconds
  std::int64_t persistent = 0;      // bytes it keeps
  std::int64_t peak = 0;            // bytes alive in its worst stage, other nodes' tensors included
  Place place = Place::cpu;         // on a GPU the bytes are those of its memory, elsewhere of host RAM
  std::int64_t runs = 1;            // in a patch, micro-batches of a segment counted
  Vec3 spread = {};                 // Estimate::spread, axes swapped as in the geometry
};

// Totals of a plan over several places.
struct PlacesReport {
  int theta = 0;     // nodes before the GPU's own segment
  SpaceBytes bytes;  // of the whole plan, weights included
  SpaceBytes kept;   // of these, as long as the plan is loaded
  Seconds cpu = 0;   // a patch's head; while the GPU computes the rest of the one before
  Seconds gpu = 0;
};

struct PlanReport {
  Geometry geometry;
  Shape5 input;                    // of a whole patch: S x f x patch_input
  Shape5 output;                   // S x f x patch_output, of a stream all phases of a step
  std::int64_t history_bytes = 0;  // of a streamed net, kept from step to step; part of the transient ones
  std::vector<NodeReport> nodes;
  RoundingReach rounding;
  std::optional<PlacesReport> places;  // nothing: all runs on one device
};

// Requires that the plan runs (planner/plan/plan.hpp, check) for this network and catalogue. The plan must outlive
// the report.
[[nodiscard]] Result<PlanReport> make_report(const Network& network, const Plan& plan, const Catalogue& catalogue,
                                             const DeviceSpec& spec);
// Makes the report of a plan over several places, as plan_split() made it.
[[nodiscard]] Result<PlanReport> make_report(const Network& network, const SplitPlan& plan, const Catalogue& catalogue,
                                             const PlaceSpecs& specs);

}  // namespace znni
