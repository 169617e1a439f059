#include "server/train/validation/validator.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "planner/costs/costs.hpp"
#include "planner/search/search.hpp"
#include "planner/split/socket_search.hpp"
#include "server/train/validation/scored_slabs.hpp"
#include "server/train/validation/volume_planes.hpp"
#include "server/volume/checked_source.hpp"

namespace znni {
namespace {

// More than the sizes of all reservations of an engine are rounded up by.
constexpr std::int64_t bytes_of_rounding = 64 << 10;

VolumeShape output_of(const Network& network, Vec3 input) {
  const Vec3 lost = lost_extent(network);
  return {channels_of(network).back(), input - lost + Vec3::cube(1), ElementType::f32, VolumeOrder::plane_major};
}

// Returns the largest extent of all volumes along each axis.
Vec3 largest(const std::vector<LabelledVolume>& volumes) {
  Vec3 extent;
  for (const LabelledVolume& each : volumes) extent = max(extent, each.extent());
  return extent;
}

// Returns the shape that the engine sees of a volume.
VolumeShape shape_of(const LabelledVolume& volume) {
  std::mutex reading;
  return VolumePlanes(volume.input(), reading).shape();
}

// Returns the bytes that a volume takes beside its planes while one is read.
std::int64_t bytes_beside(const LabelledVolume& volume) { return volume.input().bytes_beside(volume.extent()); }

}  // namespace

Result<std::unique_ptr<Validator>> Validator::make(const ValidationParts& parts, std::vector<LabelledVolume> volumes,
                                                   std::int64_t bytes) {
  const std::array<const Backend*, 1> backends = {&parts.backend};
  Result<Catalogue> catalogue = Catalogue::make(backends);
  if (!catalogue) return catalogue.error();
  std::unique_ptr<Validator> made(new Validator(parts, std::move(volumes), *std::move(catalogue)));
  if (const Result<void> sound = made->check_volumes(); !sound) return sound.error();
  if (const Result<void> planned = made->plan(bytes); !planned) return planned.error().within("validation");
  return made;
}

Result<void> Validator::check_volumes() const {
  const Vec3 fov = lost_extent(network_);
  for (const LabelledVolume& each : volumes_) {
    if (!covers(each.extent(), fov)) {
      return Error{ErrorCode::invalid_argument, each.input().name() + ": has an extent of " + to_string(each.extent()) +
                                                    ", smaller than the field of view, " + to_string(fov) +
                                                    "; take a larger volume"};
    }
    if (Result<void> sound = each.check_weights(); !sound) return sound;
    if (parts_.targets != TargetKind::classes) continue;
    if (Result<void> sound = each.check_classes(parts_.loss.largest_target()); !sound) return sound;
  }
  return {};
}

// A quarter of the memory may be held of a volume and its output; the engine has the rest.
Result<void> Validator::plan(std::int64_t bytes) {
  const Vec3 extent = largest(volumes_);
  memory_.scores = add(ValidationScores::memory_bytes(), ScoredSlabs::working_bytes(output_of(network_, extent)));
  memory_.held = std::max<std::int64_t>(0, bytes - memory_.scores) / 4;
  SearchOptions options;
  const std::int64_t left = bytes - memory_.scores - memory_.held - bytes_of_rounding;
  if (left <= 0) {
    return Error{ErrorCode::over_budget,
                 "takes more than " + bytes_text(memory_.scores + bytes_of_rounding) + " beside its volumes, and " +
                     bytes_text(std::max(bytes, std::int64_t{0})) + " are left of --mem; give it more"};
  }
  options.memory_limit = add(left, weight_bytes(network_));
  options.volume = framed(network_, extent);
  options.threads = parts_.device.threads;
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const SearchOn on = [&](const DeviceSpec& spec, const SearchOptions& own, SearchLog* log) {
    return search(network_, spec, catalogue_, *costs, own, log);
  };
  Result<Plan> plan = search_sockets(network_, parts_.device, options, on);
  if (!plan) return plan.error();
  plan_ = *std::move(plan);
  memory_.engine = plan_.memory.total() - plan_.memory.weights + bytes_of_rounding;
  const Result<Running> running = open();
  if (!running) return running.error();
  patch_ = running->engine->patch();
  for (const LabelledVolume& each : volumes_) {
    const Result<void> fits = check_held(*running->engine, each);
    if (!fits) return fits.error().within(each.input().name());
  }
  return {};
}

std::int64_t Validator::max_held(const LabelledVolume& volume) const {
  return std::max<std::int64_t>(0, memory_.held - bytes_beside(volume));
}

Result<void> Validator::check_held(const Engine& engine, const LabelledVolume& volume) const {
  const VolumeShape input = shape_of(volume);
  const Result<JobEstimate> estimate = engine.estimate(input, ElementType::f32, max_held(volume));
  if (!estimate) return estimate.error();
  const std::int64_t bytes = add(engine.held_bytes(*estimate, input), bytes_beside(volume));
  if (bytes <= memory_.held) return {};
  return Error{ErrorCode::over_budget,
               "a validation holds " + bytes_text(bytes) + " of this volume and its output at a time, and has " +
                   bytes_text(memory_.held) + " of --mem for them; give it more, or a volume of smaller planes"};
}

Result<Validator::Running> Validator::open() const {
  Running running;
  Result<std::unique_ptr<Device>> device = parts_.backend.open(parts_.device, memory_.engine, 0, 0);
  if (!device) return device.error();
  running.device = *std::move(device);
  Result<std::unique_ptr<Engine>> engine = Engine::open(network_, parts_.weights, plan_, catalogue_, *running.device);
  if (!engine) return engine.error();
  running.engine = *std::move(engine);
  return running;
}

Vec3 Validator::patch() const { return patch_; }

Result<std::optional<ValidationScore>> Validator::run(const std::stop_token& stop) const {
  Result<Running> running = open();
  if (!running) return running.error();
  ValidationScores scores(parts_.loss,
                          parts_.targets != TargetKind::classes || parts_.loss.probability() == Probability::sigmoid);
  for (const LabelledVolume& each : volumes_) {
    const Result<void> done = run_volume(*running->engine, each, scores, stop);
    if (done) continue;
    if (done.error().code == ErrorCode::cancelled) return std::optional<ValidationScore>();
    return done.error();
  }
  if (scores.voxels() > 0) return std::optional(scores.score());
  return Error{ErrorCode::invalid_argument,
               volumes_.front().labels().name() +
                   ": no voxel of an output is labelled in the validation volumes; label or unmask some"};
}

Result<void> Validator::run_volume(Engine& engine, const LabelledVolume& volume, ValidationScores& scores,
                                   const std::stop_token& stop) const {
  std::mutex reading;
  VolumePlanes planes(volume.input(), reading);
  CheckedSource checked(planes, std::nullopt);
  const Vec3 fov = engine.field_of_view();
  const ScoredVolume scored = {volume, parts_.targets, (fov - Vec3::cube(1)) / Vec3::cube(2), parts_.loss};
  ScoredSlabs slabs(scored, output_of(network_, volume.extent()), scores, reading);
  VolumeJob job;
  job.input.volume.shape = planes.shape();
  job.input.source = &checked;
  job.input.normalisation = {parts_.input_scale, parts_.input_offset};
  job.sink.slab = [&](std::int64_t first, std::int64_t count) -> Result<OutputSlab> {
    return slabs.take(first, count);
  };
  job.sink.deliver = [&](const OutputSlab& slab) { return slabs.compare(slab); };
  job.sink.abandon = [&](const OutputSlab& slab) { slabs.abandon(slab); };
  job.schedule.max_held = max_held(volume);
  const Result<JobStatistics> ran = engine.run(job, stop);
  return ran ? Result<void>() : ran.error().within(volume.input().name());
}

}  // namespace znni
