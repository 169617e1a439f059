// Finds the plan of a model, or makes one: beside the model, else in the plan directory, else among the temporary
// files, else by a search, whose result is left in the plan directory for the next start, or among the temporary files
// where the plan directory cannot be written. In each of the two one that lies by the model's name comes first: put
// there by hand, or by an older planner or daemon. Those that are made here, and by `planner` for a repository, lie by
// network, machine and memory (planner/plan/kept_plans.hpp). Of these a measured one comes first; one for other memory
// that runs in this is as good as one that lies by a name.
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
#include "server/models/spare_plans.hpp"

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
  LoadingProgress* progress = nullptr;                             // of the model that is planned; nullptr: not told
};

// A plan that runs `network` in `memory` bytes, its weights included. A file that does not fit is passed over
// and the log says why; but if it places segments on a GPU, that is the error: a search would find CPU plans only,
// which the user did not ask for. over_budget, with numbers, when no plan fits; `cancelled` when `stop` came first.
[[nodiscard]] Result<Plan> find_or_make_plan(const ModelEntry& entry, const Network& network, std::int64_t memory,
                                             const PlanContext& context, const std::stop_token& stop);

}  // namespace znni
