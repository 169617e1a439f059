#include "primitives/core/primitive.hpp"

namespace znni {

std::string to_string(const Variant& variant) {
  std::string text;
  for (const Setting& setting : variant) {
    text += (text.empty() ? "" : ",") + setting.name + "=" + std::to_string(setting.value);
  }
  return text;
}

std::int64_t setting(const Variant& variant, std::string_view name, std::int64_t otherwise) {
  for (const Setting& candidate : variant) {
    if (candidate.name == name) return candidate.value;
  }
  return otherwise;
}

Format input_format(const LayerProblem& problem, int index, Format in, Format out) {
  const auto as_output = []<class Own>(const Own&) { return ProblemRules<Own>::others_as_output; };
  return index > 0 && std::visit(as_output, problem) ? out : in;
}

MemoryPlan input_output_buffers(const LayerProblem& problem, Format in, Format out, int last_stage, MemorySpace space) {
  MemoryPlan plan;
  for (int index = 0; index < input_count(problem); ++index) {
    const Format format = input_format(problem, index, in, out);
    plan.push_back(
        {input_name(index), space, tensor_bytes(input_shape(problem, index), format), Lifetime::stages(0, last_stage)});
  }
  plan.push_back(
      {std::string(output_name), space, tensor_bytes(output_shape(problem), out), Lifetime::stages(0, last_stage)});
  return plan;
}

Vec3 spread_of_whole(const ConvProblem& conv) { return conv.in.n - dilated(conv.k, conv.dilation); }

std::string input_name(int index) { return "input " + std::to_string(index); }

}  // namespace znni
