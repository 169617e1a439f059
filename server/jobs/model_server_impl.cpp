#include "server/jobs/model_server_impl.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "planner/costs.hpp"
#include "server/jobs/admission.hpp"
#include "server/jobs/memory_shares.hpp"
#include "server/jobs/model_slot.hpp"
#include "server/jobs/transport_budget.hpp"
#include "server/models/model_loader.hpp"
#include "server/volume/volume_statistics.hpp"

namespace znni {
namespace {

// The device of the server with those who want it: jobs, and a model's first run.
struct SharedDevice {
  std::unique_ptr<Device> device;
  TurnQueue turns{"the device", saturated};
};

class ModelServerImpl final : public ModelServer {
 public:
  ModelServerImpl(ServerOptions options, const MemoryShares& shares, std::vector<ModelEntry> entries,
                  std::unique_ptr<Device> device)
      : options_(std::move(options)),
        model_bytes_left_(shares.models),
        transport_(std::make_shared<TransportBudget>(shares.transport)) {
    shared_.device = std::move(device);
    for (ModelEntry& entry : entries) slots_.emplace_back(std::move(entry), options_.limits.max_queue);
    loader_ = std::jthread([this](const std::stop_token& stop) { load_all(stop); });
  }

  std::vector<ModelInfo> models() const override {
    std::vector<ModelInfo> infos;
    for (const ModelSlot& slot : slots_) infos.push_back(slot.info());
    return infos;
  }

  Result<ModelInfo> find(const std::string& name, const std::string& version) const override {
    Result<ModelSlot*> slot = find_slot(name, version);
    if (!slot) return slot.error();
    if (Result<LoadedModel*> model = (*slot)->model(); !model) return model.error();
    return (*slot)->info();
  }

  ModelStatistics statistics(const std::string& name, const std::string& version) const override {
    Result<ModelSlot*> slot = find_slot(name, version);
    return slot ? (*slot)->statistics() : ModelStatistics{};
  }

  bool ready() const override {
    const auto serves = [](const ModelSlot& slot) { return slot.info().state == ModelState::ready; };
    return admission_.open() && std::all_of(slots_.begin(), slots_.end(), serves);
  }

  Result<JobOutlook> outlook(const std::string& name, const std::string& version,
                             const VolumeShape& input) const override {
    Result<ModelSlot*> slot = find_slot(name, version);
    if (!slot) return slot.error();
    Result<LoadedModel*> model = (*slot)->model();
    if (!model) return model.error();
    Result<JobOutlook> outlook = (*model)->engine->outlook(input);
    return outlook ? outlook : outlook.error().within("model '" + name + "'");
  }

  Result<TransportLease> lease(std::int64_t bytes) override { return take_lease(transport_, bytes); }

  Result<JobStatistics> run(const std::string& name, const std::string& version, VolumeJob job,
                            std::stop_token stop) override {
    Result<ModelSlot*> slot = find_slot(name, version);
    if (!slot) return slot.error();
    Result<LoadedModel*> model = (*slot)->model();
    if (!model) return model.error();
    const Result<JobOutlook> outlook = (*model)->engine->outlook(job.input.shape);
    if (!outlook) return outlook.error().within("model '" + name + "'");
    Result<Admission::Entrance> entrance = admission_.enter();
    if (!entrance) return entrance.error();
    const StopOfEither either(stop, admission_.stop_token());
    JobRecord record(**slot);
    Result<JobStatistics> done = run_in_turn(**slot, **model, job, either.token(), record);
    record.ended(done ? nullptr : &done.error(), voxels(outlook->output.n));
    return done ? done : done.error().within("model '" + name + "'");
  }

  void drain(double timeout_seconds) override {
    loader_.request_stop();
    admission_.drain(timeout_seconds);
  }

 private:
  Result<ModelSlot*> find_slot(const std::string& name, const std::string& version) const {
    for (ModelSlot& slot : slots_) {
      if (slot.entry().name != name) continue;
      if (version.empty() || version == slot.entry().version) return &slot;
      return Error{ErrorCode::not_found, "Request for unknown model: '" + name + "' has no version '" + version +
                                             "', it serves version " + slot.entry().version};
    }
    return Error{ErrorCode::not_found, "Request for unknown model: '" + name + "' is not found"};
  }

  // The model's own queue first, so that a model with many jobs holds one place on the device like any other.
  Result<JobStatistics> run_in_turn(ModelSlot& slot, LoadedModel& model, VolumeJob& job, const std::stop_token& stop,
                                    JobRecord& record) {
    const Result<Turn> turn = slot.queue().wait(stop);
    if (!turn) return turn.error();
    const Result<Turn> device_turn = shared_.turns.wait(stop);
    if (!device_turn) return device_turn.error();
    record.started();
    normalise_as_the_model_wants(model, job);
    return model.engine->run(job, stop);
  }

  void normalise_as_the_model_wants(const LoadedModel& model, VolumeJob& job) const {
    const InputRule& rule = model.planned.input;
    job.normalisation = job.normalised ? Normalisation{} : rule.normalisation;
    if (!rule.zscore || job.normalised) return;
    job.normalisation = standardising(job.input, rule.normalisation, shared_.device->executor());
  }

  void load_all(const std::stop_token& stop) {
    const std::unique_ptr<CostSource> costs = options_.timings.records().empty()
                                                  ? modelled_costs()
                                                  : recorded_costs(options_.timings, shared_.device->spec());
    const PlanContext context{options_.catalogue, shared_.device->spec(), *costs, options_.plan_directory,
                              options_.log};
    const auto loadable = [](const ModelSlot& slot) { return slot.entry().problem.empty(); };
    std::int64_t models_left = std::count_if(slots_.begin(), slots_.end(), loadable);
    for (ModelSlot& slot : slots_) {
      const std::int64_t share = share_of_model(model_bytes_left_, std::max<std::int64_t>(models_left, 1));
      if (loadable(slot)) --models_left;
      load(slot, share, context, stop);
    }
  }

  void load(ModelSlot& slot, std::int64_t share, const PlanContext& context, const std::stop_token& stop) {
    const ModelEntry& entry = slot.entry();
    for (const std::string& version : entry.passed_over) {
      log_to(options_.log, "info", "model '" + entry.name + "': version " + version + " is not served, a newer one is");
    }
    Result<std::unique_ptr<LoadedModel>> model = load_one(entry, share, context, stop);
    if (!model) {
      slot.set_unavailable(model.error().message);
      return log_to(options_.log, "error", "model '" + entry.name + "' is unavailable: " + model.error().message);
    }
    model_bytes_left_ -= (*model)->planned.plan.memory.total();
    slot.set_ready(std::move(*model));
    const ModelInfo info = slot.info();
    log_to(options_.log, "info",
           "model '" + info.name + "' version " + info.version + " is ready: " + info.plan_summary + ", memory " +
               bytes_text(info.memory.total()));
  }

  Result<std::unique_ptr<LoadedModel>> load_one(const ModelEntry& entry, std::int64_t share, const PlanContext& context,
                                                const std::stop_token& stop) {
    if (!entry.problem.empty()) return Error{ErrorCode::not_found, entry.problem};
    Result<PlannedModel> planned = plan_model(entry, share, context, stop);
    if (!planned) return planned.error();
    const Result<Turn> turn = shared_.turns.wait(stop);
    if (!turn) return turn.error();
    return open_model(std::move(*planned), options_.catalogue, *shared_.device, options_.log, stop);
  }

  const ServerOptions options_;
  std::int64_t model_bytes_left_;  // of the thread that loads
  std::shared_ptr<TransportBudget> transport_;
  SharedDevice shared_;
  mutable std::list<ModelSlot> slots_;  // fixed after construction; each is thread safe by itself
  Admission admission_;
  std::jthread loader_;  // last: stops before what it uses goes
};

}  // namespace

Result<std::unique_ptr<ModelServer>> open_model_server(ServerOptions options) {
  const Result<MemoryShares> shares = split_memory(options.limits);
  if (!shares) return shares.error();
  Result<std::vector<ModelEntry>> entries = scan_repository(options.repository);
  if (!entries) return entries.error();
  Result<std::unique_ptr<Device>> device = options.open_device(shares->models);
  if (!device) return device.error();
  return std::unique_ptr<ModelServer>(
      std::make_unique<ModelServerImpl>(std::move(options), *shares, std::move(*entries), std::move(*device)));
}

}  // namespace znni
