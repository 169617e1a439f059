#include "tests/server/rpc/fake_model_server.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

#include "server/volume/element.hpp"

namespace znni::rpc {
namespace {

std::int64_t element_offset(const VolumeShape& shape, std::int64_t j, Vec3 position) {
  return (j * channel_stride(shape) + position.z * plane_stride(shape) + position.y * shape.n.x + position.x) *
         element_bytes(shape.type);
}

float voxel_of(const PlaneSource& source, std::int64_t j, Vec3 position) {
  const VolumeShape& shape = source.shape();
  float value = 0;
  const std::int64_t index = position.y * shape.n.x + position.x;
  read_row(shape.type, source.plane(j, position.z) + index * element_bytes(shape.type), 1, {}, &value);
  return value;
}

ModelInfo info(const std::string& name, const std::string& version, std::int64_t f_out) {
  ModelInfo model;
  model.name = name;
  model.version = version;
  model.state = ModelState::ready;
  model.spatial_rank = name == "line" ? 1 : name == "flat" ? 2 : 3;
  model.inputs = {{"raw", 1}};
  model.outputs = {{"probability", f_out}};
  model.f_in = 1;
  model.f_out = f_out;
  model.field_of_view = Vec3::cube(3);
  model.patch = Vec3::cube(8);
  for (int axis = 0; axis < 3 - model.spatial_rank; ++axis) model.field_of_view[axis] = model.patch[axis] = 1;
  model.memory = {100, 200, 300};
  model.predicted_voxels_per_second = 1234.4;
  model.plan_summary = "patch 8x8x8";
  model.layers = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"conv1", "pool1"});
  return model;
}

}  // namespace

float voxel(const std::byte* data, const VolumeShape& shape, std::int64_t j, Vec3 position) {
  float value = 0;
  read_row(shape.type, data + element_offset(shape, j, position), 1, {}, &value);
  return value;
}

float input_voxel(Vec3 position) { return static_cast<float>((position.z * 31 + position.y * 7 + position.x) % 100); }

std::string input_bytes(const VolumeShape& shape) {
  std::string bytes(static_cast<std::size_t>(volume_bytes(shape)), '\0');
  auto* data = reinterpret_cast<std::byte*>(bytes.data());
  for (Vec3 v; v.z < shape.n.z; ++v.z) {
    for (v.y = 0; v.y < shape.n.y; ++v.y) {
      for (v.x = 0; v.x < shape.n.x; ++v.x) {
        const float value = input_voxel(v);
        const auto whole = static_cast<std::uint16_t>(value);
        std::byte* to = data + element_offset(shape, 0, v);
        if (shape.type == ElementType::u16) {
          std::memcpy(to, &whole, sizeof(whole));
        } else if (shape.type == ElementType::u8) {
          *to = static_cast<std::byte>(whole);
        } else {
          write_row(shape.type, &value, 1, to, 1);
        }
      }
    }
  }
  return bytes;
}

FakeModelServer::FakeModelServer(std::int64_t transport_bytes)
    : budget_(std::make_shared<TransportBudget>(transport_bytes)) {}

std::vector<ModelInfo> FakeModelServer::models() const {
  ModelInfo broken = info("broken", "1", f_out);
  broken.state = ModelState::unavailable;
  broken.reason = "model.onnx: truncated";
  if (unloaded) broken.state = ModelState::unloaded;
  ModelInfo second = info("twice", "2", f_out);
  second.gpu_lost = fallback;
  std::vector<ModelInfo> all = {info("twice", "1", f_out), second, info("flat", "1", f_out), info("line", "1", f_out),
                                broken};
  for (ModelInfo& model : all) {
    if (two_inputs) model.inputs = {{"raw", 1}, {"mask", 1}};
    model.f_in = two_inputs ? 2 : 1;
    if (two_outputs) model.outputs = {{"first", 1}, {"rest", f_out - 1}};
    model.identity = retrained ? "other weights" : "made up";
    model.number = retrained ? 2 : 1;
    model.whole_input = whole_input;
  }
  return all;
}

Result<ModelInfo> FakeModelServer::find(const std::string& name, const std::string& version) const {
  std::optional<ModelInfo> found;
  for (const ModelInfo& model : models()) {
    if (model.name == name && (version.empty() || model.version == version)) found = model;
  }
  if (!found || found->state == ModelState::unloaded)
    return Error{ErrorCode::not_found, "Request for unknown model: '" + name.substr(0, 99) + "' is not found"};
  if (found->state != ModelState::ready) return Error{ErrorCode::unavailable, found->reason};
  return *found;
}

ModelStatistics FakeModelServer::statistics(const std::string& /*name*/, const std::string& version) const {
  ModelStatistics counted;
  counted.succeeded = version == "2" ? 7 : 0;
  counted.inferences = version == "2" ? 12 : 0;
  counted.executions = version == "2" ? 9 : 0;
  counted.failed = 2;
  counted.cancelled = 1;
  counted.success_ns = 1000;
  counted.fail_ns = 50;
  counted.queue_ns = 100;
  counted.compute_ns = 800;
  counted.last_unix_ms = 5;
  counted.cpu_idle = 0.5;
  counted.gpu_idle = 0.25;
  counted.fell_back = 3;
  counted.replaced = 4;
  counted.stages = {1, 2, 3, 4, {}};
  counted.guests = 5;
  counted.queued_bytes = 4000;
  counted.running_bytes = 300;
  counted.running_voxels = 5000;
  counted.running_voxels_done = 1250;
  return counted;
}

MemoryFacts FakeModelServer::memory() const {
  MemoryFacts facts = {budget_->limit, leased(), leased(), 1000, 600};
  if (!fallback.empty()) facts.device_limit = facts.pinned_limit = 8000;
  if (!fallback.empty()) facts.device_used = 7000;
  return facts;
}

Result<JobEstimate> FakeModelServer::estimate(const std::string& name, const std::string& version,
                                              const VolumeShape& input, ElementType /*output*/,
                                              std::int64_t alike_jobs) const {
  alike = alike_jobs;
  const Result<ModelInfo> model = find(name, version);
  if (!model) return model.error();
  if (!covers(input.n, model->field_of_view)) {
    return Error{ErrorCode::invalid_argument, "model '" + name + "': extent " + to_string(input.n) +
                                                  " is below the field of view " + to_string(model->field_of_view)};
  }
  JobEstimate estimate;
  estimate.output = {1, f_out_of_estimate > 0 ? f_out_of_estimate : f_out,
                     input.n - model->field_of_view + Vec3::cube(1)};
  estimate.patch = min(model->patch, input.n);
  estimate.input_planes = std::min(planes_per_slab + model->field_of_view.z - 1, input.n.z);
  estimate.slab_planes = std::min(estimate.patch.z - model->field_of_view.z + 1, estimate.output.n.z);
  estimate.slab_planes = std::min<std::int64_t>(estimate.slab_planes, max_slab_planes);
  if (bytes_per_slab_plane > 0) {
    const std::int64_t room = (budget_->limit - leased()) / bytes_per_slab_plane;
    estimate.slab_planes = std::clamp<std::int64_t>(room, 1, estimate.slab_planes);
  }
  estimate.patches = div_up(estimate.output.n.z, planes_per_slab);
  estimate.batch = batch;
  estimate.entries = alike_jobs > 0 ? entries.load() : 0;
  estimate.slabs = estimate.entries > 0 ? div_up(estimate.output.n.z, estimate.slab_planes) : slabs.load();
  estimate.predicted_seconds = 0.5;
  estimate.list_bytes = list_bytes;
  after_estimate();
  return estimate;
}

// Returns parts that are one column of the patch wide.
Result<VolumeCut> FakeModelServer::cut(const std::string& name, const std::string& version, const VolumeShape& input,
                                       ElementType output, const std::stop_token& stop) const {
  cut_begins(stop);
  if (stop.stop_requested()) return Error{ErrorCode::cancelled, "stopped while the volume was cut"};
  const Result<JobEstimate> whole = estimate(name, version, input, output, 0);
  if (!whole) return whole.error();
  const Vec3 column = find(name, version)->patch - find(name, version)->field_of_view + Vec3::cube(1);
  const Vec3 n = whole->output.n;
  const Vec3 part = min(n, Vec3{n.z, column.y, column.x});
  return VolumeCut{part, div_up(n.y, part.y) * div_up(n.x, part.x), 0.5, 0.25};
}

Result<TransportLease> FakeModelServer::lease(std::int64_t bytes) {
  Result<TransportLease> lease = take_lease(budget_, bytes);
  if (!lease) after_refusal();
  return lease;
}

std::int64_t FakeModelServer::leased() const {
  const std::scoped_lock lock(budget_->mutex);
  return budget_->used;
}

void FakeModelServer::hold(Hold where) {
  const std::scoped_lock lock(mutex_);
  hold_ = where;
  changed_.notify_all();
}

void FakeModelServer::wait_for_jobs(int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_ >= count; });
}

bool FakeModelServer::pass(Hold where, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return hold_ != where; });
  return !stop.stop_requested();
}

void FakeModelServer::fail_with(std::optional<Error> failure) {
  const std::scoped_lock lock(mutex_);
  failure_ = std::move(failure);
}

std::optional<Error> FakeModelServer::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

Result<JobStatistics> FakeModelServer::run_all(const std::string& name, const std::string& version,
                                               std::vector<VolumeJob> jobs, std::size_t at_a_time,
                                               std::stop_token stop) {
  if (drained) return Error{ErrorCode::unavailable, "the server is shutting down"};
  came_together = jobs.size();
  together = at_a_time;
  held_bytes = std::accumulate(jobs.begin(), jobs.end(), std::int64_t{0},
                               [](std::int64_t sum, const VolumeJob& job) { return sum + job.account.held_bytes; });
  JobStatistics all;
  for (const VolumeJob& job : jobs) {
    const Result<JobStatistics> done = run_one(name, version, job, stop);
    if (!done) return done;
    all += *done;
    all.voxels_per_second = done->voxels_per_second;
  }
  return all;
}

Result<JobStatistics> FakeModelServer::run_one(const std::string& name, const std::string& version,
                                               const VolumeJob& job, const std::stop_token& stop) {
  {
    const std::scoped_lock lock(mutex_);
    ++jobs_;
    last_priority = job.schedule.priority;
    had_source = job.input.source != nullptr;
    changed_.notify_all();
  }
  Result<JobStatistics> done = run_job(name, version, job, stop);
  // Wherever it stood: its planes may not even have come.
  if (!done && done.error().code == ErrorCode::cancelled) ++stopped_jobs;
  return done;
}

Result<JobStatistics> FakeModelServer::run_job(const std::string& name, const std::string& version,
                                               const VolumeJob& job, const std::stop_token& stop) {
  if (host_fails && job.account.in_turn) {
    job.account.in_turn(true);
    job.account.in_turn(false);
  }
  if (!pass(Hold::queue, stop)) return Error{ErrorCode::cancelled, "the job was stopped"};
  if (job.account.in_turn) job.account.in_turn(true);
  after_turn();
  if (const std::optional<Error> failed = failure(); failed) return *failed;
  const Result<ModelInfo> model = find(name, version);
  if (model && job.schedule.model != 0 && job.schedule.model != model->number) {
    return Error{ErrorCode::unavailable, "model '" + name + "' was loaded again"};
  }
  const Result<JobEstimate> outlook_of = estimate(name, version, job.input.volume.shape, job.sink.type, alike);
  if (!outlook_of) return outlook_of.error();
  if (!fallback.empty()) {
    const Result<OutputSlab> slab = job.sink.slab(0, 1);
    if (!slab) return slab.error();
    job.sink.abandon(*slab);
  }
  if (const Result<void> done = compute(job, outlook_of->output, stop); !done) return done.error();
  JobStatistics statistics;
  statistics.fallback = fallback;
  statistics.seconds = 0.25;
  statistics.stages.layers = {0.0, 0.125, 0.0625};
  statistics.voxels_per_second = 4000;
  statistics.patches = outlook_of->patches;
  statistics.replaced = replaced;
  statistics.queued = 0.5;
  statistics.yielded = 0.125;
  return statistics;
}

Result<void> FakeModelServer::compute(const VolumeJob& job, const Shape5& output, const std::stop_token& stop) {
  const Vec3 shift = (job.input.volume.shape.n - output.n) / Vec3::cube(2);
  WholeVolume whole(job.input.volume);
  PlaneSource& source = job.input.source != nullptr ? *job.input.source : whole;
  JobProgress progress{0, div_up(output.n.z - job.sink.first_plane, planes_per_slab), 0};
  for (std::int64_t first = job.sink.first_plane; first < output.n.z; first += planes_per_slab) {
    const std::int64_t planes = std::min(planes_per_slab, output.n.z - first);
    source.want({first, std::min(first + planes + 2 * shift.z, job.input.volume.shape.n.z)});
    while (job.sink.has_room && !job.sink.has_room() && !stop.stop_requested()) std::this_thread::yield();
    if (Result<void> came = source.wait(stop); !came) return came;
    const Result<OutputSlab> slab = job.sink.slab(first, planes);
    if (!slab) return slab.error();
    if (!pass(Hold::patches, stop)) return Error{ErrorCode::cancelled, "the job was stopped"};
    for (std::int64_t j = 0; j < output.f; ++j) {
      for (Vec3 v; v.z < slab->shape.n.z; ++v.z) {
        for (v.y = 0; v.y < output.n.y; ++v.y) {
          for (v.x = 0; v.x < output.n.x; ++v.x) {
            const Vec3 at = v + Vec3{first, 0, 0} + shift;
            const float more = job.input.volume.shape.f > 1 ? voxel_of(source, 1, at) : 0;
            const float value = static_cast<float>(j + 1) * voxel_of(source, 0, at) + more;
            write_row(slab->shape.type, &value, 1, slab->data + element_offset(slab->shape, j, v), 1);
          }
        }
      }
    }
    if (job.account.gained) job.account.gained({1, voxels(slab->shape.n), {}});
    if (const Result<void> delivered = job.sink.deliver(*slab); !delivered) return delivered;
    progress = {progress.patches_done + 1, progress.patches, first + slab->shape.n.z};
    if (job.account.progress) job.account.progress(progress);
  }
  return {};
}

Result<void> FakeModelServer::load(const std::string& name, std::stop_token /*stop*/) {
  if (const Result<ModelInfo> model = find(name, ""); !model) return model.error();
  const std::scoped_lock lock(mutex_);
  managed_ += "+" + name;
  return {};
}

Result<void> FakeModelServer::unload(const std::string& name, std::stop_token /*stop*/) {
  if (const Result<ModelInfo> model = find(name, ""); !model) return model.error();
  const std::scoped_lock lock(mutex_);
  managed_ += "-" + name;
  return {};
}

std::string FakeModelServer::managed() const {
  const std::scoped_lock lock(mutex_);
  return managed_;
}

void FakeModelServer::drain(double /*timeout_seconds*/) {
  drained = true;
  hold(Hold::nothing);
}

}  // namespace znni::rpc
