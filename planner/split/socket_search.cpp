#include "planner/split/socket_search.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/geometry/patch_grid.hpp"

namespace znni {
namespace {

// Returns how many times the voxels of one socket all sockets give. Some may have nothing to do at the end of a volume.
double gain(const Network& network, const Plan& plan, int sockets, const std::optional<Vec3>& volume) {
  if (!volume) return sockets;
  const Result<Geometry> geometry = make_geometry(network, plan.ladder.front().geometry);
  ensure(geometry.has_value(), "a plan's geometry can be made");
  const Vec3 fov = reaches(network).back().fov;
  const auto batches = [&](int count) {
    return static_cast<double>(batches_in_turn(*volume, *geometry, fov, saturated, count));
  };
  return batches(1) / batches(sockets);
}

Result<Plan> search_apart(const Network& network, const DeviceSpec& machine, const SearchOptions& options,
                          const SearchOn& on, SearchLog* log) {
  SearchOptions part = options;
  const std::int64_t weights = weight_bytes(network);
  part.memory_limit = weights + std::max<std::int64_t>(0, options.memory_limit - weights) / machine.sockets;
  Result<Plan> plan = on(of_one_socket(machine), part, log);
  if (!plan) return plan;
  plan->sockets = machine.sockets;
  plan->key.device = machine.name;
  plan->key.threads = machine.threads;
  plan->key.memory_limit = options.memory_limit;
  plan->memory.persistent = mul(plan->memory.persistent, machine.sockets);
  plan->memory.transient = mul(plan->memory.transient, machine.sockets);
  plan->predicted.voxels_per_second *= gain(network, *plan, machine.sockets, options.volume);
  plan->predicted.endless_voxels_per_second *= machine.sockets;
  return plan;
}

// Returns whether records had a part in the prediction.
bool is_known(const Prediction& predicted) { return predicted.basis != Basis::model || predicted.error > 0; }

}  // namespace

Result<Plan> search_sockets(const Network& network, const DeviceSpec& machine, const SearchOptions& options,
                            const SearchOn& on, SearchLog* log) {
  Result<Plan> together = on(machine, options, log);
  if (!together || machine.sockets == 1 || (options.stop && options.stop())) return together;
  SearchLog other;
  Result<Plan> apart = search_apart(network, machine, options, on, log == nullptr ? nullptr : &other);
  const double rate = together->predicted.voxels_per_second;
  const double rate_apart = apart ? apart->predicted.voxels_per_second : 0;
  const bool known = !apart || is_known(apart->predicted) || !is_known(together->predicted);
  const bool is_faster = known && rate_apart > rate;
  if (log != nullptr) {
    if (is_faster) *log = std::move(other);
    log->sockets = SearchLog::Sockets{rate, rate_apart, known};
  }
  return is_faster ? apart : together;
}

}  // namespace znni
