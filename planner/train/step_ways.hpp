// The ways to compute each work of a step, and what one costs between tensors of given formats: if it reads or writes
// another format, reorders before and behind it are part of it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/costs/costs.hpp"
#include "planner/train/step_line.hpp"

namespace znni {

// What steps are made of. The references must outlive what is made of them.
struct StepParts {
  const Catalogue& layers;
  std::span<const GradientPrimitive* const> gradients;
  DeviceSpec device;            // a CPU
  CostSource* costs = nullptr;  // of layers; nullptr: the formulas of describe()
};

// The formulas of layers are fitted to runs of one layer again and again. In a step its tensors come from memory,
// because other layers ran in between: layers of steps of deploy/models/fib25-boundary took 1.25 to 1.5 times as long.
inline constexpr double cold_share = 1.3;

// One way to compute a work.
struct StepWay {
  const Primitive* layer = nullptr;
  const GradientPrimitive* gradient = nullptr;
  Estimate estimate;
  Seconds seconds = 0;  // with preparing
};

// Returns all ways, in the order of the tables. Fails if there is none; the error says what the last primitive of the
// work's kind said. `unsupported` if the parts have none.
[[nodiscard]] Result<std::vector<StepWay>> step_ways(const StepWork& work, const StepParts& parts);

// The reorders of one CPU: each is described once.
class Reorders {
 public:
  explicit Reorders(const StepParts& parts) : parts_(parts) {}
  // Returns the fastest way to reorder, or nullptr if there is none.
  const StepWay* find(const Shape5& shape, Format from, Format to);

 private:
  const StepParts& parts_;
  std::map<ReorderProblem, std::optional<StepWay>> known_;
};

// Appends a work to a line, reorders included: its tensors have the formats that the line has for them. Returns the
// seconds of all calls, or nothing, with the line unfit for use, if a reorder is missing.
[[nodiscard]] std::optional<Seconds> append(const StepWork& work, const StepWay& way, Reorders& reorders,
                                            StepLine& line);

}  // namespace znni
