#include "tests/bench/steps/step_choice.hpp"

#include <utility>

#include "planner/base/text_table.hpp"
#include "primitives/core/index.hpp"

namespace znni::bench {
namespace {

// Tensors of the step. The search keeps tensor 0 planar, so that it is one which nothing reads.
enum Tensor { unused, input, output_gradient, output, input_gradient };

std::int64_t kernel_bytes(const ConvProblem& problem) {
  const auto floats = static_cast<std::int64_t>(sizeof(float));
  return mul(floats, add(mul(problem.f_out, terms_of(problem)), problem.f_out));
}

// Returns the calls of one work of a choice: tensors have its formats, and those that the work reads are there.
std::vector<StepCall> calls_of(const StepGraph& graph, const StepWork& work, const StepChoice& choice,
                               const StepWay& way, Reorders& reorders) {
  StepLine line;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    line.add_tensor(graph.tensors[i].name, graph.tensors[i].shape, choice.formats[i]);
  }
  for (const int tensor : work.reads) line.bring(tensor);
  ensure(append(work, way, reorders, line).has_value(), "a way that was chosen can be appended");
  return line.calls();
}

Error too_little(std::int64_t needs, std::int64_t memory) {
  return {ErrorCode::over_budget, "a step of this layer needs at least " + bytes_text(needs) + ", and --mem is " +
                                      bytes_text(memory) + ": give it more"};
}

}  // namespace

StepGraph step_of_layer(const ConvProblem& problem) {
  const Shape5 out = output_shape(LayerProblem(problem));
  StepGraph graph;
  graph.tensors = {{"unused", {1, 1, Vec3::cube(1)}},
                   {"input", problem.in},
                   {"gradient of the output", out},
                   {"output", out},
                   {"gradient of the input", problem.in}};
  graph.works = {{0, LayerProblem(problem), {input}, output},
                 {1, GradientProblem{problem, GradientOf::weights, 0}, {output_gradient, input}, -1},
                 {1, GradientProblem{problem, GradientOf::input, 0}, {output_gradient}, input_gradient}};
  graph.output = graph.output_gradient = unused;
  return graph;
}

Result<std::vector<StepCall>> plan_layer_step(const ConvProblem& problem, const StepParts& parts, std::int64_t memory) {
  const StepGraph graph = step_of_layer(problem);
  Result<StepSearch> search = StepSearch::make(graph, parts);
  if (!search) return search.error();
  const std::int64_t kept = mul(2, kernel_bytes(problem));
  const std::optional<StepChoice> choice = search->best(memory - kept);
  if (!choice) {
    const std::optional<StepChoice> smallest = search->smallest();
    if (!smallest) return Error{ErrorCode::unsupported, "no formats suit the ways to compute a step of this layer"};
    return too_little(add(smallest->peak, kept), memory);
  }
  Reorders reorders(parts);
  std::vector<StepCall> calls;
  for (const ChosenWay& chosen : choice->calls) {
    const StepWork& work = search->works()[index(chosen.work)];
    const Result<std::vector<StepWay>> ways = step_ways(work, parts);
    if (!ways) return ways.error();
    for (StepCall& call : calls_of(graph, work, *choice, (*ways)[index(chosen.way)], reorders)) {
      call.node = chosen.work;  // works are numbered as parts are
      calls.push_back(std::move(call));
    }
  }
  return calls;
}

Result<std::vector<StepCall>> calls_of_part(const ConvProblem& problem, int part, const StepParts& parts) {
  const StepGraph graph = step_of_layer(problem);
  const bool is_both = index(part) == graph.works.size();
  const StepWork work = is_both ? *both_gradients(graph.works[1], graph.works[2]) : graph.works[index(part)];
  Result<std::vector<StepWay>> ways = step_ways(work, parts);
  if (!ways) return ways.error();
  std::vector<StepCall> calls;
  for (StepWay& way : *ways) {
    StepCall call;
    call.node = part;
    call.layer = way.layer;
    call.gradient = way.gradient;
    call.problem = work.problem;
    call.writes = work.writes;
    call.seconds = way.seconds;
    call.estimate = std::move(way.estimate);
    calls.push_back(std::move(call));
  }
  return calls;
}

std::string_view primitive_of(const StepCall& call) {
  return call.layer != nullptr ? call.layer->name : call.gradient->name;
}

}  // namespace znni::bench
