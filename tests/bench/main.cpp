// `znni-bench`: what users run to see whether the planner told the truth on their machine.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "planner/options.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/machine.hpp"
#include "proto/convert/network_file.hpp"
#include "proto/convert/plan_text.hpp"
#include "server/signals.hpp"
#include "tests/bench/net_bench.hpp"
#include "tests/bench/options.hpp"
#include "tests/bench/report.hpp"

namespace znni::bench {
namespace {

void say(const std::string& line) { std::fprintf(stderr, "znni-bench: %s\n", line.c_str()); }

int fail(const Error& error) {
  say(error.message);
  return exit_code(error.code);
}

// The first signal stops between two layers, the second at once.
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
  const Result<Catalogue> catalogue = Catalogue::make(backends);
  if (!catalogue) return catalogue.error();
  const DeviceSpec spec = cpu::describe_cpu(options.threads.value_or(plan->key.threads));
  const std::int64_t memory = options.memory.value_or(cpu::default_memory_budget());
  if (Result<void> fits = check_plan(options, *plan, loaded->network, *catalogue, spec, memory); !fits) {
    return fits.error();
  }
  const Result<std::unique_ptr<Device>> device = cpu::backend().open(spec, memory, 0, 0);
  if (!device) return device.error();
  return run_net(*loaded, *plan, {&*catalogue, device->get(), options.repetitions, stop, say});
}

int run(const NetOptions& options) {
  const TerminationSignals signals;
  std::stop_source stop;
  const std::jthread watch = stop_on_signals(signals, stop);
  const Result<NetTimes> times = measure(options, stop.get_token());
  if (!times) return fail(times.error());
  std::fputs((options.json ? net_json(*times) : net_text(*times)).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace znni::bench

int main(int argc, char** argv) {
  using namespace znni::bench;
  const auto parsed = parse_options({argv + 1, argv + argc});
  if (const auto* end = std::get_if<EarlyEnd>(&parsed)) {
    if (end->exit_code == 0) {
      std::fputs(end->text.c_str(), stdout);
    } else {
      say(end->text);
    }
    return end->exit_code;
  }
  return run(std::get<NetOptions>(parsed));
}
