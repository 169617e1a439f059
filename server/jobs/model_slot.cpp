#include "server/jobs/model_slot.hpp"

#include <utility>

#include "planner/network/channel_numbers.hpp"
#include "planner/network/named_tensors.hpp"

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
}

std::int64_t unix_milliseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::shared_ptr<const std::vector<std::string>> names_of(const Network& network) {
  auto names = std::make_shared<std::vector<std::string>>();
  for (const Node& node : network.nodes) names->push_back(node.name);
  return names;
}

// Returns the extent of the windows that the plan is for, if the network is bound to its window; else zeros.
Vec3 window_of(const PlannedModel& planned) {
  const Border& frame = planned.network.frame;
  if (!is_tile_bound(planned.network)) return {};
  return planned.plan.ladder.front().geometry.pass_input - frame.begin - frame.end;
}

std::string title(const ModelEntry& entry) { return "model '" + entry.name + "'"; }

Error not_loaded(const ModelEntry& entry) {
  return {ErrorCode::not_found,
          "Request for unknown model: '" + entry.name + "' is not loaded; RepositoryModelLoad loads it"};
}

}  // namespace

ModelSlot::ModelSlot(ModelEntry entry, std::int64_t max_waiting)
    : entry_(std::move(entry)), queue_(title(entry_), max_waiting), between_steps_(title(entry_), max_waiting) {
  info_.name = entry_.name;
  info_.version = entry_.version;
}

ModelInfo ModelSlot::info() const {
  const std::lock_guard lock(mutex_);
  ModelInfo info = info_;
  if (info.state == ModelState::loading) info.reason = progress_.text();
  if (model_) info.gpu_lost = model_->engine->gpu_lost().value_or("");
  return info;
}

ModelStatistics ModelSlot::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

Result<std::shared_ptr<LoadedModel>> ModelSlot::model() const {
  const std::lock_guard lock(mutex_);
  if (info_.state == ModelState::ready) return model_;
  if (info_.state == ModelState::unloaded) return not_loaded(entry_);
  const std::string why =
      info_.state == ModelState::loading ? "is still loading: " + progress_.text() : "is unavailable: " + info_.reason;
  return Error{ErrorCode::unavailable, title(entry_) + " " + why};
}

void ModelSlot::set_ready(std::unique_ptr<LoadedModel> model) {
  const std::lock_guard lock(mutex_);
  model_ = std::move(model);
  const PlannedModel& planned = model_->planned;
  const Engine& engine = *model_->engine;
  info_.spatial_rank = planned.network.spatial_rank;
  info_.inputs = named_inputs(planned.network);
  info_.outputs = named_outputs(planned.network);
  info_.f_in = engine.f_in();
  info_.f_out = engine.f_out();
  info_.field_of_view = engine.field_of_view();
  info_.frame = planned.network.frame;
  info_.padded = padded_axes(planned.network);
  info_.output_stride = planned.network.output_stride;
  info_.period = period(planned.network);
  info_.min_input = min_extent(planned.network) - info_.frame.begin - info_.frame.end;
  info_.window = window_of(planned);
  info_.blend = planned.blend;
  info_.is_dense = is_dense(planned.network);
  info_.largest_channel_number = largest_channel_number(planned.network);
  info_.patch = engine.patch();
  info_.memory = planned.plan.memory;
  info_.predicted_voxels_per_second = endless_rate(planned.plan.predicted);
  info_.precision = planned.plan.key.precision;
  info_.plan_summary = plan_summary(planned.plan, info_.patch);
  info_.layers = names_of(planned.network);
  info_.fingerprint = planned.fingerprint;
  info_.identity = planned.identity;
  info_.whole_input = planned.input.zscore;
  info_.number = model_->number;
  info_.state = ModelState::ready;
}

void ModelSlot::set_unavailable(std::string reason) {
  const std::lock_guard lock(mutex_);
  info_.state = ModelState::unavailable;
  info_.reason = std::move(reason);
}

void ModelSlot::set_unloaded() {
  const std::lock_guard lock(mutex_);
  info_.state = ModelState::unloaded;
  info_.reason = "not loaded";
}

void ModelSlot::set_expected(bool expected) {
  const std::lock_guard lock(mutex_);
  info_.expected = expected;
}

std::shared_ptr<LoadedModel> ModelSlot::take_model(ModelState state) {
  const std::lock_guard lock(mutex_);
  info_.state = state;
  if (state == ModelState::loading) progress_.begin("waiting for its jobs to end");
  info_.reason = state == ModelState::unloaded ? "not loaded" : "";
  info_.memory = {};
  return std::move(model_);
}

void ModelSlot::put_back(std::shared_ptr<LoadedModel> model) {
  const std::lock_guard lock(mutex_);
  model_ = std::move(model);
  info_.state = ModelState::ready;
  info_.reason.clear();
  info_.memory = model_->planned.plan.memory;
}

JobRecord::JobRecord(ModelSlot& slot, std::int64_t held_bytes, std::int64_t asked_voxels)
    : slot_(slot), held_bytes_(held_bytes), asked_voxels_(asked_voxels) {}

JobRecord::~JobRecord() {
  const Error lost{ErrorCode::internal, "the job ended without a result"};
  if (state_ != State::ended) ended(&lost);
}

void JobRecord::enter(State state) {
  count(-1);
  state_ = state;
  count(1);
}

void JobRecord::count(std::int64_t change) {
  ModelStatistics& counters = slot_.statistics_;
  if (state_ == State::in_line) {
    counters.queued_now += change;
    counters.queued_bytes += change * held_bytes_;
  } else if (state_ == State::running) {
    counters.running_now += change;
    counters.running_bytes += change * held_bytes_;
  }
}

void JobRecord::show(bool shown) {
  if (shown == is_shown_) return;
  is_shown_ = shown;
  const std::int64_t change = shown ? 1 : -1;
  slot_.statistics_.running_voxels += change * asked_voxels_;
  slot_.statistics_.running_voxels_done += change * done_voxels_;
}

void JobRecord::in_line() {
  const std::lock_guard lock(slot_.mutex_);
  enter(State::in_line);
}

void JobRecord::started() {
  const std::lock_guard lock(slot_.mutex_);
  started_ = Clock::now();
  enter(State::running);
  show(true);
}

void JobRecord::gained(const JobGain& gain) {
  const std::lock_guard lock(slot_.mutex_);
  slot_.statistics_.stages += gain.stages;
  done_voxels_ += gain.voxels;
  if (is_shown_) slot_.statistics_.running_voxels_done += gain.voxels;
}

void JobRecord::ran(const JobStatistics& job, std::int64_t voxels) {
  const Clock::time_point now = Clock::now();
  ++inferences_;
  executions_ += job.is_guest ? 0 : 1;
  voxels_ += voxels;
  queue_ns_ += nanoseconds(arrived_, started_) + aside_.count();
  compute_ns_ += nanoseconds(started_, now) - aside_.count();
  arrived_ = now;
  aside_ = {};
  const std::lock_guard lock(slot_.mutex_);
  ModelStatistics& counters = slot_.statistics_;
  counters.cpu_idle += job.cpu_idle;
  counters.gpu_idle += job.gpu_idle;
  counters.guests += job.is_guest ? 1 : 0;
  counters.replaced += job.replaced;
  counters.fell_back += job.fallback.empty() ? 0 : 1;
}

void JobRecord::ended(const Error* error) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(slot_.mutex_);
  ModelStatistics& counters = slot_.statistics_;
  enter(State::ended);
  show(false);
  counters.last_unix_ms = unix_milliseconds();
  if (error == nullptr) {
    ++counters.succeeded;
    counters.inferences += inferences_;
    counters.executions += executions_;
    counters.success_ns += queue_ns_ + compute_ns_;
    counters.queue_ns += queue_ns_;
    counters.compute_ns += compute_ns_;
    counters.voxels += voxels_;
  } else if (error->code == ErrorCode::cancelled) {
    ++counters.cancelled;
  } else {
    ++counters.failed;
    counters.fail_ns += nanoseconds(received_, now);
  }
}

}  // namespace znni
