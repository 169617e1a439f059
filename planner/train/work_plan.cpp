#include "planner/train/work_plan.hpp"

#include <algorithm>
#include <utility>

#include "primitives/core/index.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

// What the work reads and writes, without what computes it.
WorkPlan frame_of(const WorkProblem& problem, const DeviceSpec& device) {
  WorkPlan frame;
  frame.problem = problem;
  frame.device = device;
  const auto add = [&](std::string name, const Shape5& shape) {
    frame.tensors.push_back({std::move(name), shape, Format{}, -1});
  };
  if (const auto* layer = std::get_if<LayerProblem>(&problem)) {
    for (int i = 0; i < input_count(*layer); ++i) add(input_name(i), input_shape(*layer, i));
    frame.writes = frame.reads = input_count(*layer);
    add(std::string(output_name), output_shape(*layer));
    return frame;
  }
  const auto& gradient = std::get<GradientProblem>(problem);
  add("gradient of the output", output_shape(gradient.layer));
  if (saved_value(gradient) != SavedValue::none) add("saved value", saved_shape(gradient));
  if (reads_result(gradient)) add("output", output_shape(gradient.layer));
  frame.reads = static_cast<int>(frame.tensors.size());
  if (gradient.of == GradientOf::weights) return frame;
  frame.writes = frame.reads;
  add("gradient", gradient_shape(gradient));
  return frame;
}

StepWork work_of(const WorkPlan& frame) {
  StepWork work;
  work.node = 0;
  std::visit([&](const auto& own) { work.problem = own; }, frame.problem);
  for (int i = 0; i < frame.reads; ++i) work.reads.push_back(i);
  work.writes = frame.writes;
  return work;
}

// Takes the tensors of the caller out of the workspace.
void give_to_caller(WorkPlan& plan) {
  const int own = plan.writes < 0 ? plan.reads : plan.writes + 1;
  for (int i = 0; i < own; ++i) plan.memory[index(plan.tensors[index(i)].buffer)].lifetime = Lifetime::plan();
}

// Returns the plan of one way, or nothing if there is no reorder that it needs.
std::optional<WorkPlan> plan_way(const WorkPlan& frame, const StepWork& work, const StepWay& way, Reorders& reorders) {
  StepLine line;
  for (const PlacedTensor& own : frame.tensors) line.add_tensor(own.name, own.shape, own.format);
  for (int i = 0; i < frame.reads; ++i) line.bring(i);
  const std::optional<Seconds> seconds = append(work, way, reorders, line);
  if (!seconds) return std::nullopt;
  WorkPlan plan = frame;
  plan.calls = line.calls();
  plan.tensors = line.tensors();
  plan.memory = line.memory();
  plan.seconds = *seconds;
  give_to_caller(plan);
  plan.packing = pack(plan.memory);
  return plan;
}

// Refuses gradients of both: no tensor of the caller would hold the part of the weights.
Result<void> check_work(const WorkProblem& problem) {
  const auto* gradient = std::get_if<GradientProblem>(&problem);
  if (gradient != nullptr && gradient->of == GradientOf::both) {
    return invalid_argument("gradients are planned one at a time, not: " + to_string(*gradient));
  }
  return std::visit([](const auto& own) { return check(own); }, problem);
}

std::string text_of(const WorkProblem& problem) {
  return std::visit([](const auto& own) { return to_string(own); }, problem);
}

}  // namespace

Result<WorkPlan> plan_work(const WorkProblem& problem, std::int64_t mem, const StepParts& parts) {
  if (Result<void> sound = check_work(problem); !sound) return sound.error();
  const WorkPlan frame = frame_of(problem, parts.device);
  const StepWork work = work_of(frame);
  const Result<std::vector<StepWay>> ways = step_ways(work, parts);
  if (!ways) return ways.error();
  Reorders reorders(parts);
  std::optional<WorkPlan> fastest;
  std::int64_t least = saturated;
  for (const StepWay& way : *ways) {
    std::optional<WorkPlan> plan = plan_way(frame, work, way, reorders);
    if (!plan) continue;
    least = std::min(least, plan->packing.bytes);
    if (plan->packing.bytes > mem || (fastest && fastest->seconds <= plan->seconds)) continue;
    fastest = std::move(plan);
  }
  if (fastest) return *std::move(fastest);
  if (least == saturated) {
    return refused("no primitive here computes: " + text_of(problem) +
                   "; it lacks a reorder, or needs more memory than can be counted");
  }
  return Error{ErrorCode::over_budget, text_of(problem) + " needs a workspace of at least " + bytes_text(least) +
                                           ", and the limit is " + bytes_text(mem) + ": raise it"};
}

}  // namespace znni
