// Runs the first rung of a plan as the daemon would, on one patch for each socket, and compares measured with predicted
// times.
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

// Predicted and measured times of one node for a whole patch: all passes, including its reorder.
struct NodeTimes {
  int node = 0;  // -1: the reorder of the input
  std::string name;
  std::string problem;  // in words; "" for the input
  std::string primitive;
  Basis basis = Basis::model;
  Seconds predicted = 0;
  double error = 0;      // error bar of the prediction, as a share of it; 0: unknown
  Seconds measured = 0;  // median of the warm runs; mean of the sockets
};

struct NetTimes {
  std::string network;
  bool seeded_weights = false;  // the file had none
  Vec3 patch;                   // input extent
  std::int64_t S = 1;           // patches computed together
  std::int64_t passes = 1;
  std::int64_t steps = 1;  // steps of a stream in one run; all are the same work, and times are those of one step
  double voxels = 0;       // dense output voxels of one run (of one full step of a stream), over all sockets
  MemoryUse memory;        // of the rung that ran
  std::int64_t reserved_bytes = 0;  // reserved by the engine and the weights; the sum of `memory`
  Basis basis = Basis::model;
  Seconds predicted = 0;
  Prediction planned;   // for the plan's own patch, which may be larger than the one that ran
  Seconds touched = 0;  // time for touching the memory before the cold run
  Seconds cold = 0;
  std::vector<Seconds> warm;
  std::vector<Seconds> processor;  // of the warm runs, over all threads
  std::optional<double> joules;    // median of the warm runs, if the machine's counters can be read
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

// Returns the plan with one rung: the first that is predicted to take at most `limit` seconds per patch. The error
// names the smallest.
[[nodiscard]] Result<Plan> rung_within(const Network& network, Plan plan, Seconds limit);

// Runs the first rung. `plan` must pass check() of planner/plan/plan.hpp; weights are made up if `loaded` has none.
// Reserves the memory of that rung and the weights; the volume and its output are outside the device's budget. Fails
// with `cancelled` after a stop, and with the engine's errors.
[[nodiscard]] Result<NetTimes> run_net(const LoadedNetwork& loaded, const Plan& plan, const NetWork& work);

}  // namespace znni::bench
