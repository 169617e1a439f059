#include "planner/program/command_checks.hpp"

namespace znni {
namespace {

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

Result<void> check_check(const PlannerOptions& options) {
  if (!options.model.empty() || !options.model_repository.empty()) {
    return wrong("check takes one file, planner check FILE: leave out --model and --model-repository");
  }
  if (options.explain || options.k8s_resources || !options.output.empty() || !options.report.empty()) {
    return wrong("check makes no plan: no --explain, --k8s-resources, --output or --report");
  }
  return {};
}

Result<void> check_draw(const PlannerOptions& options) {
  if (options.model.empty() || options.output.empty()) return wrong("draw needs --model FILE and --output DIR");
  if (!options.machine.empty())
    return wrong("draw is for this machine: what is drawn is meant to run, not --machine's");
  if (options.json || options.explain || options.k8s_resources || !options.report.empty()) {
    return wrong("draw prints a table and writes plans: no --json, --explain, --k8s-resources or --report");
  }
  return {};
}

Result<void> check_show(const PlannerOptions& options) {
  if (options.json || options.explain || options.k8s_resources || !options.report.empty()) {
    return wrong(
        "show prints a plan as text: no --json, --explain, --k8s-resources or --report; planner --model FILE "
        "has them");
  }
  const bool again = !options.timings.empty() || !options.output.empty();
  if (!options.timings.empty() && options.patience == Patience::model) {
    return wrong(
        "show --timings FILE predicts a plan again from the file: leave out --patience model, which uses none");
  }
  if (!again || (!options.model.empty() && !options.timings.empty())) return {};
  return wrong("show predicts a plan again with both --model FILE and --timings FILE");
}

Result<void> check_measure(const PlannerOptions& options) {
  if (!options.output.empty()) return wrong("measure writes timings and no plan: leave out --output");
  if (options.model_repository.empty()) return {};
  return wrong("measure takes one model, or layers of all kinds: leave out --model-repository");
}

}  // namespace

Result<void> check_files(const PlannerOptions& options) {
  const bool reads_one = options.command == Command::check || options.command == Command::show;
  const std::size_t needed = options.command == Command::diff ? 2 : reads_one ? 1 : 0;
  if (options.files.size() >= needed) return {};
  return wrong("FILE: an empty name found, expected that of a file");
}

Result<void> check_weights_used(const PlannerOptions& options) {
  if (options.weights.empty()) return {};
  const std::string& network = options.command == Command::check ? options.files.front() : options.model;
  if (network.ends_with(".prototxt")) return {};
  return wrong("--weights " + options.weights + ": the numbers of a .prototxt; name that, too" +
               (options.command == Command::check ? "" : ": --model FILE.prototxt"));
}

Result<void> check_precision(const PlannerOptions& options, const DeviceSpec& cpu, const DeviceSpec* gpu) {
  const bool searches = options.command != Command::show && options.command != Command::primitives;
  if (options.precision != Precision::bf16 || !searches) return {};
  if (cpu.accelerator.bf16_flops_per_second > 0) return {};
  if (gpu != nullptr && gpu->accelerator.bf16_flops_per_second > 0) return {};
  const std::string nor = gpu == nullptr ? "" : ", and " + gpu->name + " has no rate for it";
  return wrong("--precision bf16: " + cpu.name + " lacks AVX512_BF16" + nor + "; leave out --precision");
}

Result<void> check_options_of_command(const PlannerOptions& options) {
  switch (options.command) {
    case Command::check: return check_check(options);
    case Command::draw: return check_draw(options);
    case Command::measure: return check_measure(options);
    case Command::show: return check_show(options);
    case Command::diff:
    case Command::plan:
    case Command::primitives: return {};
  }
  return {};
}

}  // namespace znni
