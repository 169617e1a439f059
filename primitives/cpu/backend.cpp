#include "primitives/cpu/backend.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "primitives/cpu/device/cpu_device.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "primitives/cpu/device/processor.hpp"
#include "primitives/cpu/device/topology.hpp"

namespace znni::cpu {
namespace {

// Approximate memory rate of a single core; a few cores saturate the memory.
constexpr double bytes_per_second_and_core = 20e9;
constexpr int cores_that_saturate_memory = 8;

std::vector<DeviceSpec> probe() { return {describe_cpu(default_threads())}; }

// Returns the cores to which workers may be pinned. Returns none if the process has a quota of processor time, because
// that time may come from any core.
Topology cores_to_pin(const Result<Topology>& topology) {
  if (!topology) return {};
  const auto cores = static_cast<double>(topology->cores.size());
  const bool is_quota = read_cgroup_limits().processors.value_or(cores) < cores;
  return is_quota ? unpinned(*topology) : *topology;
}

// Returns the cores of one socket if the machine has several with enough cores; otherwise fails.
Result<Topology> cores_of_socket(const DeviceSpec& spec, const Topology& machine) {
  std::vector<Topology> parts = sockets(machine);
  const std::size_t cores = parts.empty() ? 0 : parts.front().cores.size();
  if (parts.size() > 1 && static_cast<std::size_t>(spec.threads) <= cores) return std::move(parts.front());
  return Error{ErrorCode::invalid_argument, "device '" + spec.name + "' is described as one of several sockets, with " +
                                                std::to_string(spec.threads) + " threads; here the first of " +
                                                std::to_string(parts.size()) + " has " + std::to_string(cores) +
                                                " cores: describe the machine that is here"};
}

Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, std::int64_t host_budget, std::int64_t, std::int64_t) {
  if (spec.kind != DeviceKind::cpu || spec.threads < 1 || host_budget < 0) {
    return Error{ErrorCode::invalid_argument, "device '" + spec.name + "' with " + std::to_string(spec.threads) +
                                                  " threads and a budget of " + std::to_string(host_budget) +
                                                  " bytes is not a CPU: threads must be positive"};
  }
  const Topology cores = cores_to_pin(read_topology());
  const int count = spec.is_socket ? 1 : socket_count(cores, spec.threads);
  if (spec.sockets != 1 && spec.sockets != count) {
    return Error{ErrorCode::invalid_argument, "device '" + spec.name + "' is described with " +
                                                  std::to_string(spec.sockets) + " sockets; here its threads have " +
                                                  std::to_string(count)};
  }
  if (!spec.is_socket) return make_cpu_device(spec, cores, host_budget);
  const Result<Topology> socket = cores_of_socket(spec, cores);
  if (!socket) return socket.error();
  return make_cpu_device(spec, *socket, host_budget);
}

}  // namespace

const Backend& backend() {
  static const Backend cpu{"cpu", &probe, &open, registry()};
  return cpu;
}

DeviceSpec describe_cpu(int threads) {
  const Processor processor = read_processor();
  const Result<Topology> topology = read_topology();
  DeviceSpec spec;
  spec.name = processor.model + ", " + std::to_string(threads) + (threads == 1 ? " thread, " : " threads, ") +
              simd_name(processor.simd_floats);
  spec.kind = DeviceKind::cpu;
  spec.threads = threads;
  spec.sockets = socket_count(cores_to_pin(topology), threads);
  spec.simd_floats = processor.simd_floats;
  spec.flops_per_second = processor.flops_per_cycle * processor.hertz * threads;
  spec.accelerator.bf16_flops_per_second = processor.bf16_flops_per_cycle * processor.hertz * threads;
  spec.hertz = processor.hertz;
  spec.bytes_per_second = bytes_per_second_and_core * std::min(threads, cores_that_saturate_memory * spec.sockets);
  if (topology && topology->l2_bytes > 0) spec.l2_bytes = topology->l2_bytes;
  if (topology && topology->l3_bytes > 0) spec.l3_bytes = topology->l3_bytes;
  return spec;
}

}  // namespace znni::cpu
