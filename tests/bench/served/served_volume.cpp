#include "tests/bench/served/served_volume.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "client/cpp/volume_client.hpp"

namespace znni::bench {
namespace {

constexpr std::int64_t compared_as_a_whole = 16;  // one of this many planes is compared in full

Seconds processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<Seconds>(time.tv_sec) + static_cast<Seconds>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class Stopwatch {
 public:
  // Returns the times since this object was made.
  [[nodiscard]] Spent spent() const {
    return {std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start_).count(),
            processor_seconds() - before_,
            {}};
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Seconds before_ = processor_seconds();
};

}  // namespace

PlaneMaker::PlaneMaker(Vec3 n) : plane_(static_cast<std::size_t>(n.y * n.x)) {
  for (std::size_t i = 0; i < plane_.size(); ++i) plane_[i] = static_cast<std::byte>(i ^ (i >> 8U));
}

void PlaneMaker::make(std::int64_t z, std::span<std::byte> plane) const {
  std::copy(plane_.begin(), plane_.end(), plane.begin());
  plane.front() = plane.back() = static_cast<std::byte>(z);
}

bool PlaneMaker::is_plane(std::int64_t z, std::span<const std::byte> plane) const {
  if (plane.size() != plane_.size()) return false;
  if (plane.front() != static_cast<std::byte>(z) || plane.back() != static_cast<std::byte>(z)) return false;
  return z % compared_as_a_whole != 0 || plane.size() < 3 ||
         std::equal(plane.begin() + 1, plane.end() - 1, plane_.begin() + 1);
}

Result<Spent> stream_volume(const std::string& address, const ServedVolume& volume) {
  const client::Connection connection(address);
  client::VolumeRequest request;
  request.model = volume.model;
  request.datatype = request.output_datatype = "UINT8";
  request.n = volume.n;
  const PlaneMaker planes(volume.n);
  client::VolumeHandlers handlers;
  handlers.read = [&planes](std::int64_t z, std::span<std::byte> plane) -> Result<void> {
    planes.make(z, plane);
    return {};
  };
  handlers.accepted = [&volume](const client::Accepted& accepted) -> Result<void> {
    if (!volume.same || accepted.n == volume.n) return {};
    return Error{ErrorCode::internal, "the output is of " + to_string(accepted.n) + " voxels, not as the input"};
  };
  handlers.write = [&](std::int64_t z, std::span<const std::byte> plane) -> Result<void> {
    if (!volume.same || planes.is_plane(z, plane)) return {};
    return Error{ErrorCode::internal, "plane " + std::to_string(z) + " came back changed"};
  };
  const Stopwatch watch;
  const Result<client::StreamSummary> done = client::infer(connection, request, handlers, {});
  return done ? Result<Spent>(watch.spent()) : done.error();
}

Result<Spent> run_volume(ModelServer& models, const ServedVolume& volume) {
  const PlaneMaker planes(volume.n);
  std::vector<std::byte> input(planes.bytes() * static_cast<std::size_t>(volume.n.z));
  for (std::int64_t z = 0; z < volume.n.z; ++z) {
    planes.make(z, std::span(input).subspan(static_cast<std::size_t>(z) * planes.bytes(), planes.bytes()));
  }
  VolumeJob job;
  job.input.volume = {input.data(), {1, volume.n, ElementType::u8, VolumeOrder::plane_major}};
  job.sink.type = ElementType::u8;
  const Result<JobEstimate> estimate = models.estimate(volume.model, "", job.input.volume.shape, job.sink.type);
  if (!estimate) return estimate.error();
  const VolumeShape whole = {estimate->output.f, estimate->output.n, ElementType::u8, VolumeOrder::plane_major};
  std::vector<std::byte> output(static_cast<std::size_t>(volume_bytes(whole)));
  job.sink.slab = [&](std::int64_t first_plane, std::int64_t count) -> Result<OutputSlab> {
    OutputSlab slab{first_plane, output.data() + first_plane * plane_stride(whole), whole};
    slab.shape.n.z = count;
    return slab;
  };
  job.sink.deliver = [](const OutputSlab&) { return Result<void>(); };
  const Stopwatch watch;
  const Result<JobStatistics> done = models.run(volume.model, "", std::move(job), {});
  if (!done) return done.error();
  Spent spent = watch.spent();
  spent.stages = done->stages;
  return spent;
}

}  // namespace znni::bench
