// `znni-bench`: users run it to check the planner's predictions on their machine.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "planner/program/options.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "primitives/cpu/device/openmp_waiting.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "proto/convert/network_file.hpp"
#include "proto/convert/text/plan_text.hpp"
#include "server/signals.hpp"
#include "tests/bench/layers/layer_report.hpp"
#include "tests/bench/layers/onednn_channels_last.hpp"
#include "tests/bench/net_bench.hpp"
#include "tests/bench/options.hpp"
#include "tests/bench/report.hpp"
#include "tests/bench/steps/step_report.hpp"

namespace znni::bench {
namespace {

void say(const std::string& line) { std::fprintf(stderr, "znni-bench: %s\n", line.c_str()); }

int fail(const Error& error) {
  say(error.message);
  return exit_code(error.code);
}

// Makes the first signal stop the program between two layers, the second at once.
std::jthread stop_on_signals(const TerminationSignals& signals, std::stop_source stop) {
  return std::jthread([&signals, stop](const std::stop_token& end) mutable {
    while (!end.stop_requested()) {
      const std::optional<int> signal = signals.wait_for(std::chrono::milliseconds(50));
      if (!signal) continue;
      if (stop.stop_requested()) std::_Exit(128 + *signal);
      say("interrupted: stops after this layer");
      stop.request_stop();
    }
  });
}

Result<void> check_plan(const NetOptions& options, const Plan& plan, const Network& network, const Catalogue& catalogue,
                        const DeviceSpec& spec, std::int64_t memory) {
  const PlanCheck fit = check(plan, network, catalogue, spec, memory);
  if (fit.fit == PlanFit::does_not_run) {
    return Error{ErrorCode::invalid_argument, options.plan + " does not run " + options.model + ": " + fit.reason};
  }
  if (!fit.reason.empty()) say(options.plan + ": " + fit.reason);
  const std::int64_t available = cpu::memory_available();
  if (available == 0 || plan.memory.total() <= available) return {};
  return Error{ErrorCode::over_budget, options.plan + ": needs " + bytes_text(plan.memory.total()) + ", but only " +
                                           bytes_text(available) + " of this machine are free"};
}

Result<NetTimes> measure(const NetOptions& options, const std::stop_token& stop) {
  const Result<Plan> plan = read_plan(options.plan);
  if (!plan) return plan.error();
  const Result<LoadedNetwork> loaded = read_network_file(options.model);
  if (!loaded) return loaded.error();
  const std::array<const Backend*, 1> backends = {&cpu::backend()};
  const Result<Catalogue> catalogue = Catalogue::make(backends, {}, {}, Precision::bf16);
  if (!catalogue) return catalogue.error();
  const DeviceSpec spec = cpu::describe_cpu(options.threads.value_or(plan->key.threads));
  const std::int64_t memory = options.memory.value_or(cpu::default_memory_budget());
  if (Result<void> fits = check_plan(options, *plan, loaded->network, *catalogue, spec, memory); !fits) {
    return fits.error();
  }
  const Result<Plan> part = options.limit ? rung_within(loaded->network, *plan, *options.limit) : plan;
  if (!part) return part.error().within(options.plan);
  const Result<std::unique_ptr<Device>> device = cpu::backend().open(spec, memory, 0, 0);
  if (!device) return device.error();
  return run_net(*loaded, *part, {&*catalogue, device->get(), options.repetitions, stop, say});
}

Result<std::vector<const Primitive*>> find_primitives(const std::vector<std::string>& names) {
  std::vector<const Primitive*> found;
  for (const std::string& name : names) {
    if (name == onednn_channels_last.name) {
      found.push_back(&onednn_channels_last);
      continue;
    }
    std::string known(onednn_channels_last.name);
    const auto before = found.size();
    for (const Primitive* row : cpu::registry()) {
      if (row->name == name) found.push_back(row);
      if (row->name.starts_with("cpu.conv.")) known += ", " + std::string(row->name);
    }
    if (found.size() > before) continue;
    return Error{ErrorCode::invalid_argument, "--primitives: no '" + name + "'; there are " + known};
  }
  return found;
}

// Fails if a name is not that of a primitive of a convolution, or of a gradient.
Result<void> check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string known;
    bool found = false;
    const auto look_at = [&](std::string_view other) {
      found = found || other == name;
      known += (known.empty() ? "" : ", ") + std::string(other);
    };
    for (const Primitive* row : cpu::registry()) {
      if (row->name.starts_with("cpu.conv.")) look_at(row->name);
    }
    for (const GradientPrimitive* row : cpu::gradient_registry()) look_at(row->name);
    if (!found) return Error{ErrorCode::invalid_argument, "--primitives: no '" + name + "'; there are " + known};
  }
  return {};
}

// Measures the machine's rates on a separate device, so that the bytes read do not count against --mem.
Result<MachineRates> measure_rates(const DeviceSpec& spec) {
  const Result<std::unique_ptr<Device>> device = cpu::backend().open(spec, read_block_bytes(spec), 0, 0);
  if (!device) return device.error();
  return measure_machine(**device);
}

Result<LayerReport> measure(const LayerOptions& options, const std::stop_token& stop) {
  const Result<std::vector<const Primitive*>> primitives = find_primitives(options.primitives);
  if (!primitives) return primitives.error();
  const DeviceSpec spec = cpu::describe_cpu(options.threads.value_or(cpu::default_threads()));
  const std::int64_t memory = options.memory.value_or(cpu::default_memory_budget());
  const Result<std::unique_ptr<Device>> device = cpu::backend().open(spec, memory, 0, 0);
  if (!device) return device.error();
  const Result<MachineRates> rates = measure_rates(spec);
  if (!rates) return rates.error();
  Result<std::vector<PrimitiveTimes>> times =
      run_layer(options.problem, *primitives, {device->get(), options.repetitions, stop, say});
  if (!times) return times.error();
  return LayerReport{{options.problem, spec.name, spec.threads, *rates}, std::move(*times)};
}

Result<StepReport> measure(const TrainOptions& options, const std::stop_token& stop) {
  if (Result<void> known = check_names(options.primitives); !known) return known.error();
  const std::array<const Backend*, 1> backends = {&cpu::backend()};
  const Result<Catalogue> catalogue = Catalogue::make(backends);
  if (!catalogue) return catalogue.error();
  const DeviceSpec spec = cpu::describe_cpu(options.threads.value_or(cpu::default_threads()));
  const std::int64_t memory = options.memory.value_or(cpu::default_memory_budget());
  const Result<std::unique_ptr<Device>> device = cpu::backend().open(spec, memory, 0, 0);
  if (!device) return device.error();
  const Result<MachineRates> rates = measure_rates(spec);
  if (!rates) return rates.error();
  Result<std::vector<CallTimes>> calls =
      run_step(options.problem, {*catalogue, cpu::gradient_registry(), spec}, memory, {options.primitives, options.all},
               {device->get(), options.repetitions, stop, say});
  if (!calls) return calls.error();
  return StepReport{{options.problem, spec.name, spec.threads, *rates}, memory, std::move(*calls)};
}

std::string text_of(const NetTimes& times, bool json) { return json ? net_json(times) : net_text(times); }
std::string text_of(const LayerReport& report, bool json) { return json ? layer_json(report) : layer_text(report); }
std::string text_of(const StepReport& report, bool json) { return json ? step_json(report) : step_text(report); }

template <class Options>
int run(const Options& options) {
  const TerminationSignals signals;
  std::stop_source stop;
  const std::jthread watch = stop_on_signals(signals, stop);
  const auto found = measure(options, stop.get_token());
  if (!found) return fail(found.error());
  std::fputs(text_of(*found, options.json).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace znni::bench

int main(int argc, char** argv) {
  using namespace znni::bench;
  znni::cpu::let_openmp_sleep(argv);
  const auto parsed = parse_options({argv + 1, argv + argc});
  if (const auto* end = std::get_if<EarlyEnd>(&parsed)) {
    if (end->exit_code == 0) {
      std::fputs(end->text.c_str(), stdout);
    } else {
      say(end->text);
    }
    return end->exit_code;
  }
  if (const auto* layer = std::get_if<LayerOptions>(&parsed)) return run(*layer);
  if (const auto* step = std::get_if<TrainOptions>(&parsed)) return run(*step);
  return run(std::get<NetOptions>(parsed));
}
