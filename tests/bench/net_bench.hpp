// Runs the first rung of a plan as the daemon would, on one patch for each socket, and sets what was measured beside
// what was predicted.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/network/graph_passes.hpp"
#include "planner/plan/plan.hpp"

namespace znni::bench {

// Predicted and measured of one node, of a whole patch: all passes, its reorder included.
struct NodeTimes {
  int node = 0;  // -1: the reorder of the input
  std::string name;
  std::string problem;  // in words; "" of the input
  std::string primitive;
  Basis basis = Basis::model;
  Seconds predicted = 0;
  double error = 0;      // the prediction's bar, a share of it; 0: nobody knows
  Seconds measured = 0;  // median of the warm runs; mean of the sockets
};

struct NetTimes {
  std::string network;
  bool seeded_weights = false;  // the file had none
  Vec3 patch;                   // input extent
  std::int64_t S = 1;           // patches at once
  std::int64_t passes = 1;
  std::int64_t steps = 1;  // of a stream, that one run takes: all are the same work, and times are those of one
  double voxels = 0;       // dense output voxels of one run, of a stream of a full step, of all sockets
  MemoryUse memory;        // of the rung that ran
  std::int64_t reserved_bytes = 0;  // what its engine took, and the weights: the sum of the same
  Basis basis = Basis::model;
  Seconds predicted = 0;
  Prediction planned;   // of the plan's own patch, which may be larger than the one that ran
  Seconds touched = 0;  // having the system give the memory, before the cold run
  Seconds cold = 0;
  std::vector<Seconds> warm;
  std::optional<double> joules;  // median of the warm runs, where the machine's counters can be read
  std::vector<NodeTimes> nodes;
  Seconds rest = 0;  // median of the warm runs: reading the input, stitching the output
};

struct NetWork {
  const Catalogue* catalogue = nullptr;
  Device* device = nullptr;
  int repetitions = 1;  // warm
  std::stop_token stop;
  std::function<void(const std::string&)> progress;  // one line at a time; may be empty
};

// The plan with one rung: the first predicted to take at most `limit` seconds a patch. The error names the smallest.
[[nodiscard]] Result<Plan> rung_within(const Network& network, Plan plan, Seconds limit);

// `plan` must run (check() of planner/plan/plan.hpp); weights are made up where `loaded` has none. Reserves the memory
// of the first rung alone, besides the weights; the volume and its output stand outside the device's budget.
// `cancelled` when a stop came first; else the engine's errors.
[[nodiscard]] Result<NetTimes> run_net(const LoadedNetwork& loaded, const Plan& plan, const NetWork& work);

}  // namespace znni::bench
