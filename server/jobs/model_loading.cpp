#include "server/jobs/model_loading.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "planner/costs/costs.hpp"

namespace znni {
namespace {

// Waits until no job holds the model. None can come to hold it: the count only falls. Returns false if stopped.
bool wait_for_jobs(const std::shared_ptr<LoadedModel>& model, const std::stop_token& stop) {
  std::mutex mutex;  // guards nothing but the wait
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (model.use_count() > 1) {
    never.wait_for(lock, stop, std::chrono::milliseconds(5), [] { return false; });
    if (stop.stop_requested()) return false;
  }
  return true;
}

void tell_of_files(const ModelEntry& entry, const LogSink& log) {
  for (const std::string& version : entry.passed_over) {
    log_to(log, "info", "model '" + entry.name + "': version " + version + " is not served, a newer one is");
  }
  if (!entry.warning.empty()) log_to(log, "warning", "model '" + entry.name + "': " + entry.warning);
}

}  // namespace

Result<void> ModelLoading::load(ModelSlot& slot, const Result<std::int64_t>& share, const std::stop_token& stop) {
  return serve(slot, plan(slot, share, stop), stop);
}

Result<PlannedModel> ModelLoading::plan(ModelSlot& slot, const Result<std::int64_t>& share,
                                        const std::stop_token& stop) const {
  if (!share) return share.error();
  const ModelEntry& entry = slot.entry();
  tell_of_files(entry, options_.log);
  if (!entry.problem.empty()) return Error{ErrorCode::not_found, entry.problem};
  const CostsOf costs = [this](const DeviceSpec& spec) {
    return options_.timings.records().empty() ? modelled_costs() : recorded_costs(options_.timings, spec);
  };
  PlanContext context{options_.catalogue, shared_.device->spec(), costs, options_.plan_directory, options_.log};
  context.volume = options_.volume;
  if (options_.gpu) context.gpu = &options_.gpu->offer;
  context.progress = &slot.progress();
  return plan_model(entry, *share, context, stop);
}

Result<void> ModelLoading::serve(ModelSlot& slot, Result<PlannedModel> planned, const std::stop_token& stop) {
  if (!planned) {
    if (options_.gpu) tell_notes(*options_.gpu, options_.log);
    return give_up(slot, planned.error());
  }
  Result<std::unique_ptr<LoadedModel>> model = open(slot, *std::move(planned), stop);
  if (options_.gpu) tell_notes(*options_.gpu, options_.log);
  if (!model) return give_up(slot, model.error());
  if (untouched_bytes(**model) <= options_.touched_before_serving) {
    Result<void> finished = finish_model(**model, in_turn(**model, stop), in_turn(**model, stop), options_.log, stop);
    if (!finished) return give_up(slot, finished.error());
  }
  bytes_left_ -= (*model)->planned.plan.memory.total();
  (*model)->number = ++loaded_;
  slot.set_ready(std::move(*model));
  const ModelInfo info = slot.info();
  log_to(options_.log, "info",
         "model '" + info.name + "' version " + info.version + " is ready: " + info.plan_summary + ", memory " +
             bytes_text(info.memory.total()));
  return {};
}

Result<std::unique_ptr<LoadedModel>> ModelLoading::open(ModelSlot& slot, PlannedModel planned,
                                                        const std::stop_token& stop) {
  slot.progress().begin("waiting for the jobs of other models");
  const Result<Turn> turn = shared_.turns.wait(stop);
  if (!turn) return turn.error();
  slot.progress().begin("preparing its layers and memory");
  if (options_.gpu && needs_gpu(planned.plan)) shared_.gpu.open(*options_.gpu, options_.log);
  const PlaceDevices devices(*shared_.device, shared_.gpu.accelerator(), shared_.gpu.lacking());
  auto model = open_model(std::move(planned), options_.catalogue, devices, options_.log, stop);
  const Engine* const engine = model ? (*model)->engine.get() : nullptr;
  shared_.gpu.look_for_loss(engine, model ? nullptr : &model.error(), true, options_.log);
  return model;
}

void ModelLoading::finish(ModelSlot& slot, const std::stop_token& stop) {
  const Result<std::shared_ptr<LoadedModel>> model = slot.model();
  if (!model || (*model)->engine->first_touched() == 0) return;
  const auto finished = finish_model(**model, in_turn(**model, stop), if_idle(slot, **model, stop), options_.log, stop);
  if (finished || finished.error().code == ErrorCode::cancelled) return;
  static_cast<void>(give_up(slot, finished.error()));
}

Result<void> ModelLoading::free(ModelSlot& slot, ModelState state, const std::stop_token& stop) {
  const std::string& name = slot.entry().name;
  const bool expected = slot.info().expected;
  slot.set_expected(false);
  std::shared_ptr<LoadedModel> model = slot.take_model(state);
  if (!model) return {};
  if (!wait_for_jobs(model, stop)) {
    slot.put_back(std::move(model));
    slot.set_expected(expected);
    return Error{ErrorCode::cancelled, "stopped before the last job of model '" + name + "' had ended: it serves on"};
  }
  const std::int64_t bytes = model->planned.plan.memory.total();
  {
    // The model gives its memory of the GPU back while no job gives work to the GPU.
    const Result<Turn> turn = shared_.turns.wait(std::stop_token());
    model.reset();
  }
  bytes_left_ += bytes;
  log_to(options_.log, "info", "model '" + name + "' is unloaded: " + bytes_text(bytes) + " are free again");
  return {};
}

Error ModelLoading::give_up(ModelSlot& slot, const Error& error) const {
  slot.set_unavailable(error.message);
  // A loading that the end of the server broke off is not worth a line.
  const bool is_news = error.code != ErrorCode::cancelled || !retired_;
  if (is_news) log_to(options_.log, "error", "model '" + slot.entry().name + "' is unavailable: " + error.message);
  return error;
}

// Returns a runner of work that waits in line with jobs of usual urgency: neither side waits for more than a turn.
InTurn ModelLoading::in_turn(const LoadedModel& model, const std::stop_token& stop) {
  return [this, &model, stop](const std::function<Result<void>()>& work) -> Result<void> {
    const Result<Turn> turn = shared_.turns.come_back(stop, rank_of_priority(0));
    if (!turn) return turn.error();
    Result<void> done = work();
    shared_.gpu.look_for_loss(model.engine.get(), done ? nullptr : &done.error(), true, options_.log);
    return done;
  };
}

// Returns a function that does work if the model is idle: a job under way shows as well that the model runs.
InTurn ModelLoading::if_idle(ModelSlot& slot, const LoadedModel& model, const std::stop_token& stop) {
  return [this, &slot, &model, stop](const std::function<Result<void>()>& work) -> Result<void> {
    const std::optional<Turn> alone = slot.queue().take_if_free();
    return alone ? in_turn(model, stop)(work) : Result<void>();
  };
}

}  // namespace znni
