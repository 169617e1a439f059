// Measures ways to compute layers on a device and remembers the records.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "planner/base/child.hpp"
#include "planner/costs/costs.hpp"
#include "planner/measure/layer_run.hpp"
#include "primitives/core/device.hpp"

namespace znni {

struct MeasureOptions {
  Seconds time_limit = 600;       // no run starts later than this after the Measurer was made
  double skip_ratio = 3.0;        // ways expected to take over this times the fastest are not run
  std::int64_t memory_limit = 0;  // bytes a measured layer may hold: the smaller of --mem and what there is
  Seconds enough = 0.5;           // of samples of one way, once there are three
  Seconds long_run = 3.0;         // a run this long is a sample from the first; two of them do
  int max_samples = 9;
  int min_samples = 1;         // of a way before it is given up for being slower
  double drop_ratio = 1.5;     // a way this much slower than the best so far is not run again
  std::function<bool()> stop;  // polled between runs; true ends the measuring like time that is up
  // Measures in a child process with a cap on its memory, killed when stopped or when a run does not end. So a fault of
  // a way costs that way alone. The process that measures must have no threads of its own then.
  bool in_child = false;
  bool busy_again = false;  // records of earlier runs that were made on a busy machine are made again
};

// Opens the device that measures, with a hard budget of host bytes.
using OpenDevice = std::function<Result<std::unique_ptr<Device>>(std::int64_t host_budget)>;
// Is told of each record at once; its error ends the measuring.
using OnRecord = std::function<Result<void>(const TimingRecord&)>;

// A way to compute a problem.
struct Way {
  const Primitive* primitive = nullptr;
  Estimate estimate;
  Seconds expected = 0;
};

class Measurer {
 public:
  // Keeps references to its arguments, which must outlive it. Records go into `timings` and to `on_record`.
  Measurer(OpenDevice open, const DeviceSpec& spec, Timings& timings, MeasureOptions options, OnRecord on_record);
  ~Measurer();

  // Runs ways of one problem that have no record yet. Leaves out ways whose expected time is over skip_ratio times the
  // least of all, and those that need more memory than the limit. Ways are interleaved, warmed up, dropped when clearly
  // slower. The error is the device's or on_record's; a way that fails to run is given up alone.
  Result<void> measure(const LayerProblem& problem, std::vector<Way> ways);

  // Returns whether measure() would run this way if it were the only one.
  [[nodiscard]] bool measurable(const LayerProblem& problem, const Way& way) const;

  [[nodiscard]] Seconds time_left() const;  // zero or less when it is up
  [[nodiscard]] bool time_is_up() const { return time_left() <= 0; }
  [[nodiscard]] int records_made() const { return static_cast<int>(fresh_.size()); }
  // Returns how many of those were made while the machine was busy with other things.
  [[nodiscard]] int busy_records() const { return busy_; }
  // Returns the ways that did not run: "cpu.conv.direct on conv ...: why".
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

  // Returns recorded_costs of the records that there are now; Basis::measured for those made here. Times that were not
  // recorded count 5 % more. Ways that did not run count so much that they are chosen only if there is no other.
  [[nodiscard]] std::unique_ptr<CostSource> costs() const;

 private:
  struct Trial;
  using Tell = std::function<void(const ChildMessage&)>;
  Result<void> open_device();
  [[nodiscard]] std::size_t fitting(std::span<const Way> ways) const;
  Result<void> measure_together(const LayerProblem& problem, std::span<const Way> ways);
  Result<void> run_trials(const LayerProblem& problem, std::vector<Trial>& trials, const Tell& tell);
  Result<void> run_in_children(const LayerProblem& problem, std::vector<Trial>& trials);
  [[nodiscard]] std::vector<std::unique_ptr<LayerRun>> prepare(const LayerProblem& problem, std::vector<Trial>& trials,
                                                               const LayerParameters& parameters,
                                                               const Reservation& block, const Tell& tell);
  void sample(std::vector<Trial>& trials, std::vector<std::unique_ptr<LayerRun>>& runs, const Tell& tell) const;
  [[nodiscard]] bool is_over(const Trial& trial, Seconds best) const;
  Result<void> record(const LayerProblem& problem, const Trial& trial);

  OpenDevice open_;
  const DeviceSpec& spec_;
  Timings& timings_;
  MeasureOptions options_;
  OnRecord on_record_;
  std::chrono::steady_clock::time_point end_;
  std::unique_ptr<Device> device_;
  std::set<std::string> fresh_;   // keys measured here
  std::set<std::string> failed_;  // keys that did not run
  std::vector<std::string> failures_;
  int busy_ = 0;
};

}  // namespace znni
