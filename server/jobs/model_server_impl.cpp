#include "server/jobs/model_server_impl.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include "planner/costs/costs.hpp"
#include "planner/costs/recorded_primitives.hpp"
#include "server/jobs/admission.hpp"
#include "server/jobs/job_line.hpp"
#include "server/jobs/load_estimate.hpp"
#include "server/jobs/memory_shares.hpp"
#include "server/jobs/model_slots.hpp"
#include "server/jobs/shared_device.hpp"
#include "server/jobs/transport_budget.hpp"
#include "server/models/model_loader.hpp"
#include "server/models/model_share.hpp"

namespace znni {
namespace {

Error was_reloaded(const std::string& name) {
  return {ErrorCode::unavailable, "model '" + name + "' was loaded again since the request came; try again"};
}

class ModelServerImpl final : public ModelServer {
 public:
  ModelServerImpl(ServerOptions options, const MemoryShares& shares, std::vector<ModelEntry> entries,
                  std::unique_ptr<Device> device)
      : options_(std::move(options)),
        model_bytes_(shares.models),
        model_bytes_left_(shares.models),
        transport_(std::make_shared<TransportBudget>(shares.transport)) {
    shared_.device = std::move(device);
    const std::array<DeviceSpec, 2> specs = {shared_.device->spec(), of_one_socket(shared_.device->spec())};
    options_.timings = with_formulas(options_.timings, specs, options_.catalogue.primitives());
    if (options_.gpu) options_.gpu->offer.pinned_bytes = std::min(options_.gpu->offer.pinned_bytes, shares.models);
    for (ModelEntry& entry : entries) {
      auto slot = std::make_shared<ModelSlot>(std::move(entry), options_.limits.max_queue);
      if (!loads_at_start(slot->entry().name)) {
        slot->set_unloaded();
        slot->set_expected(false);
      }
      slots_.put(std::move(slot));
    }
    loader_ = std::jthread([this](const std::stop_token& stop) { load_all(stop); });
  }

  ~ModelServerImpl() override { ModelServerImpl::retire(); }
  ModelServerImpl(const ModelServerImpl&) = delete;
  ModelServerImpl& operator=(const ModelServerImpl&) = delete;

  std::vector<ModelInfo> models() const override {
    std::vector<ModelInfo> infos;
    for (const auto& slot : slots_.all()) infos.push_back(slot->info());
    return infos;
  }

  Result<ModelInfo> find(const std::string& name, const std::string& version) const override {
    const Result<ModelSlots::Handle> slot = slots_.find(name, version);
    if (!slot) return slot.error();
    if (Result<std::shared_ptr<LoadedModel>> model = (*slot)->model(); !model) return model.error();
    return (*slot)->info();
  }

  ModelStatistics statistics(const std::string& name, const std::string& version) const override {
    const Result<ModelSlots::Handle> slot = slots_.find(name, version);
    return slot ? (*slot)->statistics() : ModelStatistics{};
  }

  bool ready() const override {
    const std::vector<ModelInfo> all = models();
    const auto serves = [](const ModelInfo& model) { return !model.expected || model.state == ModelState::ready; };
    return !retired_ && admission_.open() && std::all_of(all.begin(), all.end(), serves);
  }

  MemoryFacts memory() const override {
    const GpuOffer gpu = options_.gpu ? options_.gpu->offer : GpuOffer();
    const std::int64_t device_used = shared_.gpu.reserved(MemorySpace::device);
    const std::int64_t pinned_used = shared_.gpu.reserved(MemorySpace::pinned);
    const std::lock_guard lock(transport_->mutex);
    return {transport_->limit, transport_->used, transport_->peak, model_bytes_, model_bytes_ - model_bytes_left_,
            gpu.device_bytes,  device_used,      gpu.pinned_bytes, pinned_used};
  }

  Seconds still() const override { return shared_.watch.still(); }

  std::optional<GpuLoss> gpu_loss() const override { return shared_.gpu.loss(); }

  Result<JobEstimate> estimate(const std::string& name, const std::string& version, const VolumeShape& input,
                               ElementType output, std::int64_t alike) const override {
    const Result<ModelSlots::Handle> slot = slots_.find(name, version);
    if (!slot) return slot.error();
    Result<std::shared_ptr<LoadedModel>> model = (*slot)->model();
    if (!model) return model.error();
    const Engine& engine = *(*model)->engine;
    const std::int64_t max_held = usual_share(*transport_);
    Result<JobEstimate> estimate = engine.estimate(input, output, max_held);
    if (!estimate) return estimate.error().within("model '" + name + "'");
    const bool has_own_values = (*model)->planned.input.zscore;  // standardised by itself: no guest
    const QueueLoad queue_load = {(*slot)->queue().taken(), has_own_values ? 0 : alike,
                                  (*slot)->guests().possible_entries()};
    JobEstimate found = estimate_under_load(engine, input, output, *estimate, queue_load);
    found.max_held = max_held;
    return found;
  }

  Result<VolumeCut> cut(const std::string& name, const std::string& version, const VolumeShape& input,
                        ElementType output, const std::stop_token& stop) const override {
    const Result<ModelSlots::Handle> slot = slots_.find(name, version);
    if (!slot) return slot.error();
    const Result<std::shared_ptr<LoadedModel>> model = (*slot)->model();
    if (!model) return model.error();
    const Engine& engine = *(*model)->engine;
    Result<VolumeCut> cut = engine.cut(input, output, idle_share(*transport_), stop);
    // A job alone may take all of it where it cannot do with its share.
    if (!cut && cut.error().code == ErrorCode::over_budget) cut = engine.cut(input, output, transport_->limit, stop);
    return cut ? cut : cut.error().within("model '" + name + "'");
  }

  Result<TransportLease> lease(std::int64_t bytes) override { return take_lease(transport_, bytes); }

  Result<JobStatistics> run_all(const std::string& name, const std::string& version, std::vector<VolumeJob> jobs,
                                std::size_t together, std::stop_token stop) override {
    const Result<ModelSlots::Handle> slot = slots_.find(name, version);
    if (!slot) return slot.error();
    Result<std::shared_ptr<LoadedModel>> model = (*slot)->model();
    if (!model) return model.error();
    for (VolumeJob& job : jobs) {
      if (job.schedule.model != 0 && job.schedule.model != (*model)->number) return was_reloaded(name);
      const Result<JobEstimate> estimate =
          (*model)->engine->estimate(job.input.volume.shape, job.sink.type, job.schedule.max_held);
      if (!estimate) return estimate.error().within("model '" + name + "'");
      if (!job.schedule.rung) job.schedule.rung = estimate->rung;
    }
    Result<Admission::Entrance> entrance = admission_.enter();
    if (!entrance) return entrance.error();
    const StopOfEither either(stop, admission_.stop_token());
    JobLine line(**slot, shared_, **model, options_.log, jobs, together);
    Result<JobStatistics> done = line.run(either.token());
    return done ? done : admission_.reason(done.error(), stop).within("model '" + name + "'");
  }

  Result<void> load(const std::string& name, std::stop_token stop) override {
    if (retired_) return Error{ErrorCode::unavailable, "the server is shutting down; try another one"};
    const Result<Admission::Entrance> entrance = admission_.enter();
    if (!entrance) return entrance.error();
    const StopOfEither either(stop, admission_.stop_token());
    Result<void> loaded = reload(name, either.token());
    return loaded ? loaded : admission_.reason(loaded.error(), stop);
  }

  Result<void> unload(const std::string& name, std::stop_token stop) override {
    const Result<ModelSlots::Handle> slot = slots_.find(name, "");
    if (!slot) return slot.error();
    const Result<Turn> turn = management_.wait(stop);
    if (!turn) return turn.error();
    if (retired_) return Error{ErrorCode::unavailable, "the server is shutting down; what it serves stays until then"};
    return free_model(name, ModelState::unloaded, stop);
  }

  void retire() override {
    retired_ = true;
    loader_.request_stop();
  }

  void drain(double timeout_seconds) override {
    retire();
    admission_.drain(timeout_seconds);
  }

 private:
  bool loads_at_start(const std::string& name) const {
    const auto& wanted = options_.load_at_start;
    return !wanted || std::find(wanted->begin(), wanted->end(), name) != wanted->end();
  }

  // Calls `use` with what plans are made with, which lives as long as the call, and returns its result.
  template <class Use>
  std::invoke_result_t<const Use&, const PlanContext&> with_context(const Use& use) {
    const CostsOf costs = [this](const DeviceSpec& spec) {
      return options_.timings.records().empty() ? modelled_costs() : recorded_costs(options_.timings, spec);
    };
    PlanContext context{options_.catalogue, shared_.device->spec(), costs, options_.plan_directory, options_.log};
    context.volume = options_.volume;
    if (options_.gpu) context.gpu = &options_.gpu->offer;
    return use(context);
  }

  void load_all(const std::stop_token& stop) {
    const Result<Turn> turn = management_.wait(stop);
    if (!turn) return;
    with_context([&](const PlanContext& context) {
      for (const auto& slot : slots_.all()) {
        if (slot->info().state != ModelState::loading) continue;
        const MemoryWish wish = read_memory_wish(slot->entry());
        const auto share = share_of_model(model_bytes_left_, wish, wishes_to_come(*slot));
        static_cast<void>(load(*slot, share, context, stop));
      }
    });
    for (const auto& slot : slots_.all()) finish(*slot, stop);
  }

  // Returns the wishes of the other models that may still want memory, when the server starts.
  std::vector<MemoryWish> wishes_to_come(const ModelSlot& but) const {
    std::vector<MemoryWish> wishes;
    for (const auto& slot : slots_.all()) {
      const ModelState state = slot->info().state;
      const bool starts = state == ModelState::loading && slot->entry().problem.empty();
      const bool rests = state == ModelState::unloaded || state == ModelState::unavailable;
      const bool waits = options_.load_at_start && rests;
      if (slot.get() != &but && (starts || waits)) wishes.push_back(read_memory_wish(slot->entry()));
    }
    return wishes;
  }

  Result<void> reload(const std::string& name, const std::stop_token& stop) {
    const Result<Turn> turn = management_.wait(stop);
    if (!turn) return turn.error();
    Result<std::vector<ModelEntry>> entries = scan_repository(options_.repository);
    if (!entries) return entries.error();
    const auto found =
        std::find_if(entries->begin(), entries->end(), [&](const auto& each) { return each.name == name; });
    if (found == entries->end()) {
      return Error{ErrorCode::not_found, "Request for unknown model: '" + name + "' is not in the repository"};
    }
    const bool was_expected = is_expected(name);
    if (Result<void> freed = free_model(name, ModelState::loading, stop); !freed) return freed;
    auto slot = std::make_shared<ModelSlot>(std::move(*found), options_.limits.max_queue);
    slot->set_expected(false);
    slots_.put(slot);
    Result<void> loaded = with_context([&](const PlanContext& context) { return load_by_hand(*slot, context, stop); });
    slot->set_expected(loaded.has_value() || was_expected);  // one that served until now is missed
    finish(*slot, admission_.stop_token());                  // a caller who has gone leaves a model that serves
    return loaded ? loaded : loaded.error().within("model '" + name + "'");
  }

  bool is_expected(const std::string& name) const {
    const Result<ModelSlots::Handle> slot = slots_.find(name, "");
    return slot && (*slot)->info().expected;
  }

  // Loads a model within what it wishes, else within all memory that is free: who loads by hand says what runs beside.
  Result<void> load_by_hand(ModelSlot& slot, const PlanContext& context, const std::stop_token& stop) {
    return load(slot, share_of_model(model_bytes_left_, read_memory_wish(slot.entry()), {}), context, stop);
  }

  // Takes the model out of service, into `state`, waits for the jobs that run it, and frees its memory. Only one caller
  // may do so at a time.
  Result<void> free_model(const std::string& name, ModelState state, const std::stop_token& stop) {
    const Result<ModelSlots::Handle> slot = slots_.find(name, "");
    if (!slot) return {};
    const bool expected = (*slot)->info().expected;
    (*slot)->set_expected(false);
    std::shared_ptr<LoadedModel> model = (*slot)->take_model(state);
    if (!model) return {};
    std::mutex mutex;  // guards nothing but the wait
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    // No other job can come to hold it: the count only falls.
    while (model.use_count() > 1) {
      never.wait_for(lock, stop, std::chrono::milliseconds(5), [] { return false; });
      if (!stop.stop_requested()) continue;
      (*slot)->put_back(std::move(model));
      (*slot)->set_expected(expected);
      return Error{ErrorCode::cancelled, "stopped before the last job of model '" + name + "' had ended: it serves on"};
    }
    const std::int64_t bytes = model->planned.plan.memory.total();
    {
      // The model gives its memory of the GPU back while no job gives work to the GPU.
      const Result<Turn> turn = shared_.turns.wait(std::stop_token());
      model.reset();
    }
    model_bytes_left_ += bytes;
    log_to(options_.log, "info", "model '" + name + "' is unloaded: " + bytes_text(bytes) + " are free again");
    return {};
  }

  Result<void> load(ModelSlot& slot, const Result<std::int64_t>& share, const PlanContext& context,
                    const std::stop_token& stop) {
    if (!share) return give_up(slot, share.error());
    const ModelEntry& entry = slot.entry();
    for (const std::string& version : entry.passed_over) {
      log_to(options_.log, "info", "model '" + entry.name + "': version " + version + " is not served, a newer one is");
    }
    if (!entry.warning.empty()) log_to(options_.log, "warning", "model '" + entry.name + "': " + entry.warning);
    PlanContext told = context;
    told.progress = &slot.progress();
    Result<std::unique_ptr<LoadedModel>> model = load_one(entry, *share, told, stop);
    if (options_.gpu) tell_notes(*options_.gpu, options_.log);
    if (!model) return give_up(slot, model.error());
    if (untouched_bytes(**model) <= options_.touched_before_serving) {
      Result<void> finished = finish_model(**model, in_turn(**model, stop), in_turn(**model, stop), options_.log, stop);
      if (!finished) return give_up(slot, finished.error());
    }
    model_bytes_left_ -= (*model)->planned.plan.memory.total();
    (*model)->number = ++loaded_;
    slot.set_ready(std::move(*model));
    const ModelInfo info = slot.info();
    log_to(options_.log, "info",
           "model '" + info.name + "' version " + info.version + " is ready: " + info.plan_summary + ", memory " +
               bytes_text(info.memory.total()));
    return {};
  }

  Error give_up(ModelSlot& slot, const Error& error) {
    slot.set_unavailable(error.message);
    // A loading that the end of the server broke off is not worth a line.
    const bool is_news = error.code != ErrorCode::cancelled || !retired_;
    if (is_news) log_to(options_.log, "error", "model '" + slot.entry().name + "' is unavailable: " + error.message);
    return error;
  }

  // Returns a runner of work that waits in line with jobs of usual urgency: neither side waits for more than a turn.
  InTurn in_turn(const LoadedModel& model, const std::stop_token& stop) {
    return [this, &model, stop](const std::function<Result<void>()>& work) -> Result<void> {
      const Result<Turn> turn = shared_.turns.come_back(stop, rank_of_priority(0));
      if (!turn) return turn.error();
      Result<void> done = work();
      shared_.gpu.look_for_loss(model.engine.get(), done ? nullptr : &done.error(), true, options_.log);
      return done;
    };
  }

  // Returns a function that does work if the model is idle: a job under way shows as well that the model runs.
  InTurn if_idle(ModelSlot& slot, const LoadedModel& model, const std::stop_token& stop) {
    return [this, &slot, &model, stop](const std::function<Result<void>()>& work) -> Result<void> {
      const std::optional<Turn> alone = slot.queue().take_if_free();
      return alone ? in_turn(model, stop)(work) : Result<void>();
    };
  }

  // Finishes the loading of a model that serves already; makes it unavailable if it turns out not to run.
  void finish(ModelSlot& slot, const std::stop_token& stop) {
    const Result<std::shared_ptr<LoadedModel>> model = slot.model();
    if (!model || (*model)->engine->first_touched() == 0) return;
    const auto finished =
        finish_model(**model, in_turn(**model, stop), if_idle(slot, **model, stop), options_.log, stop);
    if (!finished && finished.error().code != ErrorCode::cancelled) static_cast<void>(give_up(slot, finished.error()));
  }

  Result<std::unique_ptr<LoadedModel>> load_one(const ModelEntry& entry, std::int64_t share, const PlanContext& context,
                                                const std::stop_token& stop) {
    if (!entry.problem.empty()) return Error{ErrorCode::not_found, entry.problem};
    Result<PlannedModel> planned = plan_model(entry, share, context, stop);
    if (!planned) return planned.error();
    context.progress->begin("waiting for the jobs of other models");
    const Result<Turn> turn = shared_.turns.wait(stop);
    if (!turn) return turn.error();
    context.progress->begin("preparing its layers and memory");
    if (options_.gpu && needs_gpu(planned->plan)) shared_.gpu.open(*options_.gpu, options_.log);
    const PlaceDevices devices(*shared_.device, shared_.gpu.accelerator(), shared_.gpu.lacking());
    auto model = open_model(std::move(*planned), options_.catalogue, devices, options_.log, stop);
    const Engine* const engine = model ? (*model)->engine.get() : nullptr;
    shared_.gpu.look_for_loss(engine, model ? nullptr : &model.error(), true, options_.log);
    return model;
  }

  ServerOptions options_;  // as they came, but for the GPU's share of pinned memory
  const std::int64_t model_bytes_;
  std::atomic<std::int64_t> model_bytes_left_;  // changed in the turn to load and unload
  std::shared_ptr<TransportBudget> transport_;
  SharedDevice shared_;
  ModelSlots slots_;
  std::atomic<std::int64_t> loaded_ = 0;  // models, since the start
  TurnQueue management_{"loading and unloading", 8};
  std::atomic<bool> retired_ = false;
  Admission admission_;
  std::jthread loader_;  // last: stops before what it uses goes
};

}  // namespace

Result<std::unique_ptr<ModelServer>> open_model_server(ServerOptions options) {
  const Result<MemoryShares> shares = split_memory(options.limits);
  if (!shares) return shares.error();
  Result<std::vector<ModelEntry>> entries = scan_repository(options.repository, options.log);
  if (!entries) return entries.error();
  const std::vector<std::string> named = options.load_at_start.value_or(std::vector<std::string>());
  if (Result<void> there = check_named(options.repository, *entries, named); !there) return there.error();
  if (entries->empty()) {
    log_to(options.log, "warning",
           options.repository.string() +
               ": no model there, expected <model>/model.onnx or <model>/<version>/model.onnx: ready, with nothing to "
               "serve");
  }
  Result<std::unique_ptr<Device>> device = options.open_device(shares->models);
  if (!device) return device.error();
  return std::unique_ptr<ModelServer>(
      std::make_unique<ModelServerImpl>(std::move(options), *shares, std::move(*entries), std::move(*device)));
}

}  // namespace znni
