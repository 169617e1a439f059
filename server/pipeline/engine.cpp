#include "server/pipeline/engine.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "planner/exchange.hpp"
#include "planner/patch_grid.hpp"
#include "server/pipeline/input_window.hpp"
#include "server/pipeline/prepared_rung.hpp"
#include "server/pipeline/slab_queue.hpp"
#include "server/pipeline/touch.hpp"
#include "server/volume/reader.hpp"

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;

Seconds seconds_since(Clock::time_point start) { return std::chrono::duration<Seconds>(Clock::now() - start).count(); }

Error cancelled() { return {ErrorCode::cancelled, "the job was cancelled"}; }

// A plan is refused when its own numbers are not those of its steps: what the planner promised is what the
// engine takes.
Result<void> check_memory(const MemoryUse& plan, const MemoryUse& steps) {
  if (plan == steps) return {};
  const auto text = [](const MemoryUse& use) {
    return "weights " + std::to_string(use.weights) + ", persistent " + std::to_string(use.persistent) +
           ", transient " + std::to_string(use.transient) + " bytes";
  };
  return Error{ErrorCode::invalid_argument, "plan memory: found " + text(plan) + ", its steps take " + text(steps)};
}

MemoryUse memory_of(const Network& network, const std::vector<RungDesign>& designs) {
  MemoryUse use;
  use.weights = weight_bytes(network);
  for (const RungDesign& design : designs) {
    use.persistent = add(use.persistent, persistent_bytes(design.schedule.memory));
    use.transient = std::max(use.transient, design.packing.bytes);
  }
  return use;
}

// All rungs, if their memory is what the plan says.
Result<std::vector<RungDesign>> design_rungs(const Network& network, const Plan& plan, const Catalogue& catalogue,
                                             const DeviceSpec& spec) {
  if (plan.ladder.empty()) return Error{ErrorCode::invalid_argument, "plan: the ladder has no rung, it needs one"};
  std::vector<RungDesign> designs;
  for (const Rung& rung : plan.ladder) {
    Result<RungDesign> design = design_rung(network, rung, catalogue, spec);
    if (!design) return design.error().within("plan: rung " + std::to_string(designs.size()));
    designs.push_back(std::move(*design));
  }
  if (Result<void> checked = check_memory(plan.memory, memory_of(network, designs)); !checked) return checked.error();
  return designs;
}

}  // namespace

struct Engine::State {
  Plan plan;
  Device* device = nullptr;
  Vec3 fov;
  std::int64_t f_in = 0;
  std::int64_t f_out = 0;
  Reservation transient;  // shared by all rungs: only one runs at a time
  std::vector<PreparedRung> rungs;
  CallObserver observer;
  std::int64_t slab_bytes = saturated;

  // Planes of an output of this shape that a slab may have.
  [[nodiscard]] std::int64_t most_planes(Vec3 output) const {
    const std::int64_t plane = tensor_bytes({1, f_out, {1, output.y, output.x}}, Format{});
    return std::max<std::int64_t>(1, slab_bytes / plane);
  }
};

namespace {

// The patches of what a job has left of its volume.
PatchGrid grid_of(const VolumeJob& job, const Geometry& geometry, Vec3 fov, std::int64_t most_planes) {
  const Vec3 skipped{job.first_plane, 0, 0};
  PatchGrid grid = make_patch_grid(job.input.shape.n - skipped, geometry, fov, most_planes);
  for (PatchPlace& place : grid.patches) place.start = place.start + exchanged(skipped, geometry.choice.axis);
  for (GridRow& row : grid.rows) row.first_plane += job.first_plane;
  return grid;
}

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
      // Within a column of a stream its histories stand in the engine's memory.
      if (!job_.between_patches || grid_.patches[static_cast<std::size_t>(done_)].continues) continue;
      if (Result<void> went_on = job_.between_patches(); !went_on) return went_on;
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
                                const DeviceSpec& spec) {
  const Result<std::vector<RungDesign>> designs = design_rungs(network, plan, catalogue, spec);
  return designs ? Result<void>() : Result<void>(designs.error());
}

Result<std::unique_ptr<Engine>> Engine::open(const Network& network, const NetworkWeights& weights, const Plan& plan,
                                             const Catalogue& catalogue, Device& device) {
  if (Result<void> checked = check(network); !checked) return checked.error();
  if (Result<void> checked = check_weights(network, weights); !checked) return checked.error();
  Result<std::vector<RungDesign>> designs = design_rungs(network, plan, catalogue, device.spec());
  if (!designs) return designs.error();
  Result<Reservation> transient = device.reserve(MemorySpace::host, plan.memory.transient, "activations and scratch");
  if (!transient) return transient.error();

  auto state = std::make_unique<State>();
  state->plan = plan;
  state->device = &device;
  state->fov = reaches(network).back().fov;
  state->f_in = network.f_in;
  state->f_out = images(network).back();
  state->transient = std::move(*transient);
  for (RungDesign& design : *designs) {
    Result<PreparedRung> rung = PreparedRung::open(std::move(design), weights, state->transient.data(), device);
    if (!rung) return rung.error().within("rung " + std::to_string(state->rungs.size()));
    state->rungs.push_back(std::move(*rung));
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
  JobOutlook best;
  best.output = {1, state_->f_out, input.n - state_->fov + Vec3::cube(1)};
  const std::int64_t most_planes = state_->most_planes(best.output.n);
  for (std::size_t i = 0; i < state_->rungs.size(); ++i) {
    const Geometry& geometry = state_->rungs[i].geometry();
    const std::int64_t patches = patch_count(input.n, geometry, state_->fov, most_planes);
    const Seconds seconds = static_cast<double>(div_up(patches, geometry.choice.S)) * state_->plan.ladder[i].seconds;
    if (i > 0 && seconds >= best.predicted_seconds) continue;
    best.rung = i;
    best.patch = exchanged(geometry.patch_input, geometry.choice.axis);
    best.patch.z = state_->fov.z - 1 + row_planes(input.n, geometry, state_->fov, most_planes);
    best.patches = patches;
    best.input_planes = input_planes(input.n, geometry, state_->fov, most_planes);
    best.predicted_seconds = seconds;
  }
  return best;
}

namespace {

// Of the output planes of `whole` those from the job's first on.
Result<VolumeShape> shape_left(const VolumeJob& job, Vec3 fov) {
  VolumeShape left = job.input.shape;
  const std::int64_t planes = left.n.z - fov.z + 1;
  if (planes < 1) return left;  // the outlook says what is too small
  if (job.first_plane >= planes) {
    return Error{ErrorCode::invalid_argument, "the job begins at output plane " + std::to_string(job.first_plane) +
                                                  "; the output has " + std::to_string(planes)};
  }
  if (job.first_plane < 0) {
    return Error{ErrorCode::invalid_argument,
                 "the job begins at output plane " + std::to_string(job.first_plane) + "; 0 or more is right"};
  }
  left.n.z -= job.first_plane;
  return left;
}

}  // namespace

Result<JobStatistics> Engine::run(const VolumeJob& job, std::stop_token stop) {
  const Clock::time_point start = Clock::now();
  const Result<VolumeShape> left = shape_left(job, state_->fov);
  if (!left) return left.error();
  Result<JobOutlook> outlook = this->outlook(*left);
  if (!outlook) return outlook.error();
  WholeVolume whole(job.input);
  PlaneSource& source = job.source != nullptr ? *job.source : whole;
  if (source.shape() != job.input.shape) {
    return Error{ErrorCode::invalid_argument, "the source gives a volume of " + to_string(source.shape().n) +
                                                  " voxels, or other images; the job's is of " +
                                                  to_string(job.input.shape.n)};
  }
  PreparedRung& rung = state_->rungs[outlook->rung];
  PatchGrid grid = grid_of(job, rung.geometry(), state_->fov, state_->most_planes(outlook->output.n));
  JobRun run(job, source, rung, state_->plan.ladder[outlook->rung].seconds, outlook->output, std::move(grid),
             state_->device->executor(), state_->observer);
  if (Result<void> ran = run.run(stop); !ran) return ran.error();
  JobStatistics statistics;
  statistics.seconds = seconds_since(start);
  statistics.patches = outlook->patches;
  statistics.voxels_per_second = static_cast<double>(voxels(outlook->output.n)) / std::max(statistics.seconds, 1e-9);
  return statistics;
}

Result<Seconds> Engine::touch_memory(std::stop_token stop) {
  // Persistent buffers were written when the layers were prepared.
  const Reservation& block = state_->transient;
  return touch({block.data(), static_cast<std::size_t>(block.bytes())}, state_->device->executor(), stop);
}

Result<void> Engine::warm_up(std::size_t rung, std::stop_token stop) {
  ensure(rung < state_->rungs.size(), "a rung of the ladder");
  PreparedRung& prepared = state_->rungs[rung];
  const TensorView& input = prepared.input();
  for (std::int64_t image = 0; image < input.shape.S * input.shape.f; ++image) {
    std::fill_n(input.image(image / input.shape.f, image % input.shape.f), voxels(input.shape.n), 0.0F);
  }
  return prepared.run_pass(0, stop);
}

void Engine::limit_slabs(std::int64_t bytes) { state_->slab_bytes = bytes; }

void Engine::observe(CallObserver observer) { state_->observer = std::move(observer); }

const Plan& Engine::plan() const { return state_->plan; }
Vec3 Engine::field_of_view() const { return state_->fov; }
Vec3 Engine::patch() const {
  const Geometry& geometry = state_->rungs.front().geometry();
  return exchanged(geometry.patch_input, geometry.choice.axis);
}
std::int64_t Engine::f_in() const { return state_->f_in; }
std::int64_t Engine::f_out() const { return state_->f_out; }

std::int64_t Engine::reserved_bytes() const {
  std::int64_t bytes = state_->transient.bytes();
  for (const PreparedRung& rung : state_->rungs) bytes = add(bytes, rung.persistent_bytes());
  return bytes;
}

}  // namespace znni
