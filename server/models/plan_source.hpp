// Finds the plan of a model, or makes one. It looks beside the model first, then for plans that `planner` left in the
// plan directory for this network and machine (planner/plan/kept_plans.hpp). It takes those that were made for half to
// twice the memory. The others it reads from the plan directory and, where that cannot be written, from a folder among
// the temporary files: a plan by the model's name, of an older planner or daemon; then the daemon's own for this
// memory, and for other memory. Else it searches, and leaves the plan in the plan directory for the next start, or
// among the temporary files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>

#include "planner/costs/catalogue.hpp"
#include "planner/costs/costs.hpp"
#include "planner/plan/plan.hpp"
#include "server/models/loading_progress.hpp"
#include "server/models/log_sink.hpp"
#include "server/models/model_repository.hpp"
#include "server/models/planned_volume.hpp"
#include "server/models/temporary_plans.hpp"

namespace znni {

// Gives the costs of layers on a device: the machine, or one of its sockets.
using CostsOf = std::function<std::unique_ptr<CostSource>(const DeviceSpec&)>;

// Context that plans are made with and checked against; borrowed but for the costs.
struct PlanContext {
  const Catalogue& catalogue;
  const DeviceSpec& spec;
  CostsOf costs;
  std::filesystem::path plan_directory;  // "": plans are not kept
  LogSink log;
  std::filesystem::path temporary = system_temporary_directory();  // for plans that plan_directory does not take
  const GpuOffer* gpu = nullptr;                                   // where there is one
  PlannedVolume volume = {};                                       // that plans are made for
  LoadingProgress* progress = nullptr;                             // of the model that is planned; nullptr: not told
};

// Returns a plan that runs `network` in `memory` bytes, its weights included. A file that does not fit is passed over
// and the log says why, for the planner's also what to do; but if it places segments on a GPU, that is the error. A
// search would find CPU plans only, which the user did not ask for. Fails with over_budget, with numbers, if no plan
// fits; fails with `cancelled` if `stop` came first.
[[nodiscard]] Result<Plan> find_or_make_plan(const ModelEntry& entry, const Network& network, std::int64_t memory,
                                             const PlanContext& context, const std::stop_token& stop);

}  // namespace znni
