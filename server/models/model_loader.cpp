#include "server/models/model_loader.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "planner/text_table.hpp"

namespace znni {
namespace {

// A predicted pass up to this long is worth a run at start.
constexpr Seconds quick_start = 2.0;

Result<void> warm_up(Engine& engine, const std::stop_token& stop) {
  const std::vector<Rung>& ladder = engine.plan().ladder;
  const std::size_t smallest = ladder.size() - 1;
  if (Result<void> ran = engine.warm_up(smallest, stop); !ran) return ran;
  if (smallest == 0 || ladder.front().seconds > quick_start) return {};
  return engine.warm_up(0, stop);
}

// Primitives of the planned rung, each once, in order.
std::string primitives_of(const Rung& rung) {
  std::vector<std::string> names;
  for (const Segment& segment : rung.segments) {
    for (const Step& step : segment.steps) {
      const bool known = std::find(names.begin(), names.end(), step.primitive) != names.end();
      if (!known && !step.primitive.empty()) names.push_back(step.primitive);
    }
  }
  std::string text;
  for (const std::string& name : names) text += ", " + name;
  return text;
}

}  // namespace

Result<PlannedModel> plan_model(const ModelEntry& entry, std::int64_t memory, const PlanContext& context,
                                const std::stop_token& stop) {
  Result<ModelFiles> files = read_model_files(entry, context.log);
  if (!files) return files.error();
  Result<Plan> plan = find_or_make_plan(entry, files->network, memory, context, stop);
  if (!plan) return plan.error().within("planning within " + bytes_text(memory));
  return PlannedModel{std::move(files->network), std::move(files->weights), files->input, std::move(*plan)};
}

Result<std::unique_ptr<LoadedModel>> open_model(PlannedModel planned, const Catalogue& catalogue,
                                                const PlaceDevices& devices, const LogSink& log,
                                                const std::stop_token& stop) {
  auto model = std::make_unique<LoadedModel>();
  model->planned = std::move(planned);
  const PlannedModel& from = model->planned;
  Result<std::unique_ptr<Engine>> engine = Engine::open(from.network, from.weights, from.plan, catalogue, devices);
  if (!engine) return engine.error();
  model->engine = std::move(*engine);
  const Result<Seconds> touched = model->engine->touch_memory(stop);
  if (!touched) return touched.error();
  log_to(log, "info",
         "network '" + from.network.name + "': touched " + bytes_text(from.plan.memory.transient) + " in " +
             seconds_text(*touched));
  if (Result<void> ran = warm_up(*model->engine, stop); !ran) return ran.error().within("first run");
  if (const std::optional<std::string> lost = model->engine->gpu_lost()) {
    log_to(log, "error", "network '" + from.network.name + "': the CPU takes over, for the GPU failed: " + *lost);
  }
  return model;
}

std::string plan_summary(const Plan& plan, const Vec3& patch) {
  std::array<char, 64> speed{};
  std::snprintf(speed.data(), speed.size(), ": %.3g voxels/s (", plan.predicted.voxels_per_second);
  const std::int64_t S = plan.ladder.front().geometry.S;
  return "patch " + to_string(patch) + (S > 1 ? ", S " + std::to_string(S) : "") + ", " +
         std::to_string(plan.ladder.size()) + " rungs" + primitives_of(plan.ladder.front()) + speed.data() +
         std::string(to_string(plan.predicted.basis)) + ")";
}

}  // namespace znni
