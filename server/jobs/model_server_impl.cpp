#include "server/jobs/model_server_impl.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "planner/costs/recorded_primitives.hpp"
#include "server/jobs/admission.hpp"
#include "server/jobs/job_line.hpp"
#include "server/jobs/load_estimate.hpp"
#include "server/jobs/memory_shares.hpp"
#include "server/jobs/model_loading.hpp"
#include "server/jobs/model_slots.hpp"
#include "server/jobs/shared_device.hpp"
#include "server/jobs/transport_budget.hpp"
#include "server/models/model_share.hpp"
#include "server/models/repository_watch.hpp"

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
        transport_(std::make_shared<TransportBudget>(shares.transport)),
        loading_(options_, shares.models, shared_, retired_),
        watch_(repository_state(entries)) {
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
    return {transport_->limit, transport_->used, transport_->peak, model_bytes_, model_bytes_ - loading_.bytes_left(),
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
    return loading_.free(**slot, ModelState::unloaded, stop);
  }

  void poll(std::stop_token stop) override {
    Result<std::vector<ModelEntry>> entries = scan_repository(options_.repository);
    const std::string before = std::exchange(unfollowed_, why_not_followed(entries));
    if (!unfollowed_.empty() && unfollowed_ != before) log_to(options_.log, "warning", unfollowed_);
    if (!unfollowed_.empty() || retired_) return;
    const StopOfEither either(stop, following_.get_token());
    const RepositoryChanges changes = watch_.look(repository_state(*entries));
    for (const std::string& name : changes.removed) take_out(name, either.token());
    for (ModelEntry& entry : *entries) {
      if (std::ranges::find(changes.changed, entry.name) != changes.changed.end())
        take_in(std::move(entry), either.token());
    }
  }

  void retire() override {
    retired_ = true;
    following_.request_stop();
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

  void load_all(const std::stop_token& stop) {
    const Result<Turn> turn = management_.wait(stop);
    if (!turn) return;
    for (const auto& slot : slots_.all()) {
      if (slot->info().state != ModelState::loading) continue;
      const MemoryWish wish = read_memory_wish(slot->entry());
      const auto share = share_of_model(loading_.bytes_left(), wish, wishes_to_come(*slot));
      static_cast<void>(loading_.load(*slot, share, stop));
    }
    for (const auto& slot : slots_.all()) loading_.finish(*slot, stop);
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
    return put_in_place(std::make_shared<ModelSlot>(std::move(*found), options_.limits.max_queue), std::nullopt, stop,
                        admission_.stop_token());  // a caller who has gone leaves a model that serves
  }

  // Puts a model in the place of the one that has its name, which is freed first; plans it unless it is `planned`.
  // `finishing` stops what is done while the model serves already.
  Result<void> put_in_place(const ModelSlots::Handle& slot, std::optional<PlannedModel> planned,
                            const std::stop_token& stop, const std::stop_token& finishing) {
    const std::string& name = slot->entry().name;
    const Result<ModelSlots::Handle> old = slots_.find(name, "");
    const bool was_expected = old && (*old)->info().expected;
    const Result<void> freed = old ? loading_.free(**old, ModelState::loading, stop) : Result<void>();
    if (!freed) return freed;
    slot->set_expected(false);
    slots_.put(slot);
    Result<PlannedModel> to_serve = planned ? Result<PlannedModel>(std::move(*planned))
                                            : loading_.plan(*slot, share_beside(slot->entry(), 0), stop);
    const Result<void> loaded = loading_.serve(*slot, std::move(to_serve), stop);
    slot->set_expected(loaded.has_value() || was_expected);  // one that served until now is missed
    loading_.finish(*slot, finishing);
    return loaded ? loaded : loaded.error().within("model '" + name + "'");
  }

  // Returns what a model may take beside those that serve, when `freed` bytes more are free: all of it, unless its
  // configuration says less. Who loads models while others serve knows what is to come.
  Result<std::int64_t> share_beside(const ModelEntry& entry, std::int64_t freed) const {
    return share_of_model(loading_.bytes_left() + freed, read_memory_wish(entry), {});
  }

  // Serves what the repository has now. A model that serves does so until the new one is read and planned, unless
  // there is no memory to read it: weights of 16 bits take twice the bytes of their files.
  void take_in(ModelEntry entry, const std::stop_token& stop) {
    const Result<Turn> turn = management_.wait(stop);
    if (!turn) return;
    const std::string title = "model '" + entry.name + "' version " + entry.version;
    log_to(options_.log, "info", title + " is new or has changed in the repository: it is loaded");
    const bool fits_beside = mul(2, bytes_of_files(entry)) <= loading_.bytes_left() + base_bytes / 2;
    const Result<ModelSlots::Handle> old = slots_.find(entry.name, "");
    const ModelInfo served = old ? (*old)->info() : ModelInfo{};
    const auto slot = std::make_shared<ModelSlot>(std::move(entry), options_.limits.max_queue);
    std::optional<PlannedModel> planned;
    const Result<std::int64_t> share = share_beside(slot->entry(), served.memory.total());
    if (served.state == ModelState::ready && (fits_beside || !share)) {
      Result<PlannedModel> made = loading_.plan(*slot, share, stop);
      if (!made) return tell_kept(title, served.version, made.error(), stop);
      planned = std::move(*made);
    }
    static_cast<void>(put_in_place(slot, std::move(planned), stop, stop));
  }

  void tell_kept(const std::string& title, const std::string& version, const Error& error,
                 const std::stop_token& stop) const {
    if (stop.stop_requested()) return;
    log_to(options_.log, "error",
           title + " cannot be served, version " + version + " as it was serves on: " + error.message);
  }

  // Unloads a model that the repository has no longer.
  void take_out(const std::string& name, const std::stop_token& stop) {
    const Result<Turn> turn = management_.wait(stop);
    const Result<ModelSlots::Handle> slot = slots_.find(name, "");
    if (!turn || !slot) return;
    log_to(options_.log, "info", "model '" + name + "' is gone from the repository: it is unloaded");
    if (loading_.free(**slot, ModelState::unloaded, stop)) slots_.remove(name);
  }

  // Returns why a scan is not to be followed. An empty folder may be a volume that is not mounted.
  std::string why_not_followed(const Result<std::vector<ModelEntry>>& entries) const {
    if (!entries) return entries.error().message;
    return entries->empty() && !slots_.all().empty() ? "model repository: " + options_.repository.string() +
                                                           ": has no model any more; those that were there serve on"
                                                     : "";
  }

  ServerOptions options_;  // as they came, but for the GPU's share of pinned memory
  const std::int64_t model_bytes_;
  std::shared_ptr<TransportBudget> transport_;
  SharedDevice shared_;
  ModelSlots slots_;
  std::atomic<bool> retired_ = false;
  ModelLoading loading_;  // loads and frees in the turn of:
  TurnQueue management_{"loading and unloading", 8};
  RepositoryWatch watch_;       // as the next, for poll() alone
  std::string unfollowed_;      // why the last scan was not followed
  std::stop_source following_;  // ends poll()
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
               ": no model there, expected <model>/model.onnx or <model>/<version>/model.onnx, or model.prototxt "
               "there: ready, with nothing to serve");
  }
  Result<std::unique_ptr<Device>> device = options.open_device(shares->models);
  if (!device) return device.error();
  return std::unique_ptr<ModelServer>(
      std::make_unique<ModelServerImpl>(std::move(options), *shares, std::move(*entries), std::move(*device)));
}

}  // namespace znni
