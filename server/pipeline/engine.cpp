#include "server/pipeline/engine.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/exchange.hpp"
#include "planner/patch_grid.hpp"
#include "server/pipeline/engine_state.hpp"
#include "server/pipeline/input_window.hpp"
#include "server/pipeline/ladder.hpp"
#include "server/pipeline/resumable_job.hpp"
#include "server/pipeline/slab_queue.hpp"
#include "server/pipeline/touch.hpp"
#include "server/volume/reader.hpp"

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;

Seconds seconds_since(Clock::time_point start) { return std::chrono::duration<Seconds>(Clock::now() - start).count(); }

Error cancelled() { return {ErrorCode::cancelled, "the job was cancelled"}; }

// One job on one rung. S patches of the grid form a batch; the last batch repeats its last patch, which then
// owns nothing.
class JobRun {
 public:
  // `predicted`: seconds of a batch.
  JobRun(const VolumeJob& job, PlaneSource& source, PreparedRung& rung, Seconds predicted, const Shape5& output,
         PatchGrid grid, Executor& executor, const CallObserver& observer)
      : job_(job),
        rung_(rung),
        predicted_(predicted),
        executor_(executor),
        observer_([this, observer](const CallTime& call) {
          if (observer) observer(call);
          advance(call.predicted);
        }),
        grid_(std::move(grid)),
        input_(source, grid_, rung.geometry()),
        slabs_(job, grid_, output),
        S_(rung.geometry().choice.S),
        targets_(static_cast<std::size_t>(S_)),
        starts_(static_cast<std::size_t>(S_)) {}

  Result<void> run(const std::stop_token& stop) {
    const auto patches = static_cast<std::int64_t>(grid_.patches.size());
    input_.move_to(0, std::min(S_, patches));
    // Others need not wait with this job for its first planes.
    if (job_.between_patches && !input_.source().here()) {
      if (Result<void> came = job_.between_patches({}); !came) return came;
    }
    for (std::int64_t first = 0; first < patches; first += S_) {
      if (Result<void> came = input_.wait(stop); !came) return came;
      if (Result<void> ran = run_batch(first, stop); !ran) return ran;
      done_ = std::min(first + S_, patches);
      spent_ = 0;
      if (Result<void> delivered = slabs_.deliver(done_); !delivered) return delivered;
      if (job_.progress) job_.progress({done_, patches, slabs_.planes_done()});
      if (done_ == patches) break;
      // Before others have their turn, so that whoever decides knows what this job waits for.
      input_.move_to(done_, std::min(done_ + S_, patches));
      if (!job_.between_patches) continue;
      const Interval interval{grid_.patches[static_cast<std::size_t>(done_)].continues};
      if (Result<void> went_on = job_.between_patches(interval); !went_on) return went_on;
    }
    return {};
  }

 private:
  void advance(Seconds predicted) {
    if (!job_.progress || predicted <= 0) return;
    constexpr double most = 0.99;  // a patch is done when it is stitched
    spent_ += predicted;
    const auto patches = static_cast<std::int64_t>(grid_.patches.size());
    const double share = std::min(spent_ / std::max(predicted_, 1e-9), most);
    job_.progress({done_, patches, slabs_.planes_done(), share * static_cast<double>(std::min(S_, patches - done_))});
  }

  Result<void> run_batch(std::int64_t first, const std::stop_token& stop) {
    if (stop.stop_requested()) return cancelled();
    if (Result<void> aimed = aim(first); !aimed) return aimed;
    if (!targets_.front().place.continues) rung_.forget();
    for (std::size_t pass = 0; pass < rung_.geometry().passes.size(); ++pass) {
      const Pass& now = rung_.geometry().passes[pass];
      if (now.first_node < 0) read_input(now.window);
      if (Result<void> ran = rung_.run_pass(pass, stop, observer_); !ran) return ran;
      rung_.stitcher().stitch(pass, rung_.output(), targets_, executor_);
    }
    return {};
  }

  void read_input(Vec3 window) {
    const Vec3 begin = rung_.geometry().read_begin + window;
    for (std::size_t s = 0; s < starts_.size(); ++s) starts_[s] = targets_[s].place.start + begin;
    read_windows(input_.source(), job_.normalisation, starts_, rung_.input(), executor_, rung_.geometry().choice.axis);
  }

  Result<void> aim(std::int64_t first) {
    const auto patches = static_cast<std::int64_t>(grid_.patches.size());
    for (std::int64_t s = 0; s < S_; ++s) {
      StitchTarget& target = targets_[static_cast<std::size_t>(s)];
      target.place = grid_.patches[static_cast<std::size_t>(std::min(first + s, patches - 1))];
      if (first + s >= patches) {
        target.place.own_last = target.place.own_first;
        continue;
      }
      Result<OutputSlab> slab = slabs_.open_for(first + s);
      if (!slab) return slab.error();
      target.slab = *slab;
    }
    return {};
  }

  const VolumeJob& job_;
  PreparedRung& rung_;
  Seconds predicted_;
  Seconds spent_ = 0;  // of it, by calls that are done
  std::int64_t done_ = 0;
  Executor& executor_;
  CallObserver observer_;
  PatchGrid grid_;
  InputWindow input_;
  SlabQueue slabs_;
  std::int64_t S_;
  std::vector<StitchTarget> targets_;
  std::vector<Vec3> starts_;
};

}  // namespace

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

Result<void> Engine::check_plan(const Network& network, const Plan& plan, const Catalogue& catalogue,
                                const DeviceSpec& spec, const DeviceSpec* gpu) {
  const Result<std::vector<LadderRung>> designs = design_ladder(network, plan, catalogue, spec, gpu);
  return designs ? Result<void>() : Result<void>(designs.error());
}

namespace {

bool gpu_failed(const Error& error) {
  return error.code == ErrorCode::device_failure || error.code == ErrorCode::over_budget;
}

Result<void> open_cpu_rung(RungDesign design, const NetworkWeights& weights, std::int64_t place, Engine::State& state,
                           Engine::State::OpenRung& to) {
  std::byte* const memory = state.transient.data() + place;
  Result<PreparedRung> rung = PreparedRung::open(std::move(design), weights, memory, *state.device);
  if (!rung) return rung.error();
  to.cpu = *std::move(rung);
  return {};
}

// A GPU that fails here is lost where other rungs can do without it.
Result<void> open_rungs(const Network& network, const NetworkWeights& weights, const Catalogue& catalogue,
                        const PlaceDevices& devices, std::vector<LadderRung> designs, Engine::State& state) {
  std::int64_t most = 0;
  for (const LadderRung& design : designs) most = std::max(most, design.cpu ? design.cpu->packing.bytes : 0);
  Result<Reservation> transient = devices.cpu->reserve(MemorySpace::host, most, "activations and scratch");
  if (!transient) return transient.error();
  state.transient = *std::move(transient);
  state.places = place_rungs(designs);
  std::optional<Error> lost;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    Engine::State::OpenRung& rung = state.rungs.emplace_back();
    const std::string where = "rung " + std::to_string(i);
    if (designs[i].cpu) {
      Result<void> opened =
          open_cpu_rung(*std::move(designs[i].cpu), weights, state.places[i].memory.first, state, rung);
      if (!opened) return opened.error().within(where);
      continue;
    }
    auto split = Pipeline::open(network, weights, state.plan.ladder[i], catalogue, *devices.cpu, *devices.gpu);
    if (!split && !gpu_failed(split.error())) return split.error().within(where);
    if (!split) lost = split.error().within(where);
    if (split) rung = {std::nullopt, *std::move(split), add(designs[i].split.host, designs[i].split.pinned)};
  }
  return !lost || state.lose_gpu(*lost) ? Result<void>() : Result<void>(*lost);
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const Network& network, const NetworkWeights& weights, const Plan& plan,
                                             const Catalogue& catalogue, const PlaceDevices& devices) {
  if (Result<void> checked = check(network); !checked) return checked.error();
  if (Result<void> checked = check_weights(network, weights); !checked) return checked.error();
  const bool lacking = devices.gpu == nullptr && !devices.lacking.empty() && needs_gpu(plan);
  const Plan rest = lacking ? without_gpu(plan) : plan;
  if (rest.ladder.empty() && lacking) return Error{ErrorCode::device_failure, devices.lacking};
  Result<std::vector<LadderRung>> designs = design_ladder(network, rest, catalogue, devices.cpu->spec(),
                                                          devices.gpu == nullptr ? nullptr : &devices.gpu->spec());
  if (!designs) return designs.error();

  auto state = std::make_unique<State>();
  state->plan = rest;
  state->device = devices.cpu;
  state->fov = reaches(network).back().fov;
  state->f_in = network.f_in;
  state->f_out = images(network).back();
  if (lacking) state->gpu_lost = devices.lacking;
  if (Result<void> opened = open_rungs(network, weights, catalogue, devices, *std::move(designs), *state); !opened) {
    return opened.error();
  }
  return std::make_unique<Engine>(std::move(state));
}

Result<JobOutlook> Engine::outlook(const VolumeShape& input) const {
  if (input.f != state_->f_in) {
    return Error{ErrorCode::invalid_argument,
                 "input has " + std::to_string(input.f) + " images; the network takes " + std::to_string(state_->f_in)};
  }
  if (!covers(input.n, state_->fov)) {
    return Error{ErrorCode::invalid_argument, "input extent is " + to_string(input.n) +
                                                  "; it must be at least the field of view, " + to_string(state_->fov)};
  }
  if (Result<void> checked = check_shape({1, std::max(state_->f_in, state_->f_out), input.n}); !checked) {
    return checked.error();
  }
  const bool lost = state_->why_lost().has_value();
  std::optional<JobOutlook> best;
  for (std::size_t i = 0; i < state_->rungs.size(); ++i) {
    if (lost && !state_->rungs[i].cpu) continue;
    const JobOutlook other = state_->outlook_on(i, input);
    if (!best || state_->is_better(other, *best, input)) best = other;
  }
  ensure(best.has_value(), "a GPU is lost where rungs on the CPU are left");
  return *best;
}

std::optional<JobOutlook> Engine::outlook_beside_streams(const VolumeShape& input) const {
  std::optional<JobOutlook> best;
  for (std::size_t i = 0; i < state_->rungs.size(); ++i) {
    if (!beside_streams(i)) continue;
    const JobOutlook other = state_->outlook_on(i, input);
    if (!best || other.predicted_seconds < best->predicted_seconds) best = other;
  }
  return best;
}

namespace {

// On the rung that suits what is left of the volume.
Result<JobStatistics> run_rung(const Engine& engine, Engine::State& state, const VolumeJob& job,
                               const std::stop_token& stop) {
  const Result<VolumeShape> left = shape_left(job, state.fov);
  if (!left) return left.error();
  Result<JobOutlook> outlook = engine.outlook(*left);
  if (!outlook) return outlook.error();
  if (job.rung && *job.rung >= state.rungs.size()) {
    return Error{ErrorCode::unavailable, "the model was loaded anew since the request came; try again"};
  }
  const bool runs = job.rung && (state.rungs[*job.rung].cpu || !state.why_lost());
  if (runs) *outlook = state.outlook_on(*job.rung, *left);
  Engine::State::OpenRung& rung = state.rungs[outlook->rung];
  JobStatistics statistics;
  statistics.patches = outlook->patches;
  if (!rung.cpu) {
    const Result<PipelineStatistics> ran = rung.split->run(job, stop, state.most_planes(outlook->output.n));
    if (!ran) return ran.error();
    statistics.cpu_idle = ran->idle.producer;
    statistics.gpu_idle = ran->idle.consumer;
    return statistics;
  }
  PatchGrid grid = job_grid(job, rung.geometry(), state.fov, state.most_planes(outlook->output.n));
  JobRun run(job, *job.source, *rung.cpu, state.plan.ladder[outlook->rung].seconds, outlook->output, std::move(grid),
             state.device->executor(), state.observer);
  if (Result<void> ran = run.run(stop); !ran) return ran.error();
  return statistics;
}

// Whether the last run of some rung ended because of the GPU, and others can do without it.
bool loses_gpu(Engine::State& state) {
  for (const Engine::State::OpenRung& rung : state.rungs) {
    if (rung.split && rung.split->gpu_failure() && state.lose_gpu(*rung.split->gpu_failure())) return true;
  }
  return false;
}

}  // namespace

Result<JobStatistics> Engine::run(const VolumeJob& job, std::stop_token stop) {
  const Clock::time_point start = Clock::now();
  if (job.source != nullptr && job.source->shape() != job.input.shape) {
    return Error{ErrorCode::invalid_argument, "the source gives a volume of " + to_string(job.source->shape().n) +
                                                  " voxels, or other images; the job's is of " +
                                                  to_string(job.input.shape.n)};
  }
  ResumableJob resumable(job);
  const bool was_lost = state_->why_lost().has_value();
  Result<JobStatistics> ran = run_rung(*this, *state_, resumable.job(), stop);
  if (!ran && !was_lost && loses_gpu(*state_)) {
    resumable.go_back();
    ran = run_rung(*this, *state_, resumable.job(), stop);
  }
  if (!ran) return ran;
  const Vec3 output = job.input.shape.n - Vec3{job.first_plane, 0, 0} - state_->fov + Vec3::cube(1);
  ran->seconds = seconds_since(start);
  ran->voxels_per_second = static_cast<double>(voxels(output)) / std::max(ran->seconds, 1e-9);
  ran->fallback = state_->why_lost().value_or("");
  if (was_lost && state_->is_retry_due()) state_->retry_gpu(stop);
  return ran;
}

Result<Seconds> Engine::touch_memory(const ByteRange& part, std::stop_token stop) {
  const Reservation& block = state_->transient;
  ensure(part.first >= 0 && part.bytes >= 0 && part.bytes <= block.bytes() - part.first, "a part of the memory");
  return touch({block.data() + part.first, static_cast<std::size_t>(part.bytes)}, state_->device->executor(), stop);
}

Result<void> Engine::warm_up(std::size_t rung, std::stop_token stop) {
  ensure(rung < state_->rungs.size(), "a rung of the ladder");
  State::OpenRung& opened = state_->rungs[rung];
  if (!opened.cpu) {
    if (state_->why_lost()) return {};
    const Result<void> ran = opened.split->warm_up(stop);
    return ran || loses_gpu(*state_) ? Result<void>() : ran;
  }
  const TensorView& input = opened.cpu->input();
  for (std::int64_t image = 0; image < input.shape.S * input.shape.f; ++image) {
    std::fill_n(input.image(image / input.shape.f, image % input.shape.f), voxels(input.shape.n), 0.0F);
  }
  return opened.cpu->run_pass(0, stop);
}

void Engine::touched_from(std::size_t rung) {
  ensure(rung < state_->rungs.size(), "a rung of the ladder");
  state_->first_touched = rung;
}

bool Engine::beside_streams(std::size_t rung) const {
  return rung < state_->places.size() && state_->places[rung].beside_streams;
}

void Engine::retry_gpu_after(Seconds wait) {
  const std::lock_guard lock(state_->mutex);
  state_->gpu_retry = GpuRetry(wait);
}

void Engine::limit_slabs(std::int64_t bytes) { state_->slab_bytes = bytes; }

void Engine::observe(CallObserver observer) { state_->observer = std::move(observer); }

ByteRange Engine::memory() const { return {0, state_->transient.bytes()}; }
ByteRange Engine::memory_of(std::size_t rung) const { return state_->places[rung].memory; }
std::size_t Engine::first_touched() const { return state_->first_touched; }
const Plan& Engine::plan() const { return state_->plan; }
Vec3 Engine::field_of_view() const { return state_->fov; }
std::optional<std::string> Engine::gpu_lost() const { return state_->why_lost(); }
Vec3 Engine::patch() const {
  const Geometry& geometry = state_->front().geometry();
  return exchanged(geometry.patch_input, geometry.choice.axis);
}
std::int64_t Engine::f_in() const { return state_->f_in; }
std::int64_t Engine::f_out() const { return state_->f_out; }

std::int64_t Engine::reserved_bytes() const {
  std::int64_t bytes = state_->transient.bytes();
  for (const State::OpenRung& rung : state_->rungs) {
    bytes = add(bytes, rung.cpu ? rung.cpu->persistent_bytes() : rung.split_bytes);
  }
  return bytes;
}

}  // namespace znni
