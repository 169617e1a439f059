// A ModelServer on the oracle's primitives, and jobs that it holds.
#pragma once

#include <atomic>
#include <optional>

#include "tests/server/jobs/served_repository.hpp"
#include "tests/server/pipeline/engine_bench.hpp"

namespace znni::test {

inline constexpr std::int64_t mib = std::int64_t{1} << 20;

class ModelServerTest : public ServedRepository {
 protected:
  Result<std::unique_ptr<ModelServer>> try_open(std::int64_t memory, std::int64_t max_queue = 8) {
    const Backend* const rows[] = {&oracle_backend()};
    ServerOptions given = server_options(memory, Catalogue::make(rows).value());
    given.load_at_start = load_at_start_;
    given.limits.max_queue = max_queue;
    given.timings = timings_;
    return open_model_server(std::move(given));
  }
  std::unique_ptr<ModelServer> open(std::int64_t memory = 75 * mib, std::int64_t max_queue = 8) {
    return settled(try_open(memory, max_queue));
  }

  // Returns a job that stays where it asks for its first slab until it is released: it has its turn and has computed
  // nothing yet.
  VolumeJob held_job(JobOutcome& outcome) { return held_job(volume_, outcome); }
  VolumeJob held_job(const RandomVolume& volume, JobOutcome& outcome) {
    VolumeJob job = recorded_job(volume.view(), {1, 2, volume.shape.n - Vec3::cube(7)}, ElementType::f32,
                                 VolumeOrder::channel_major, outcome);
    job.sink.slab = [this, slab = job.sink.slab](std::int64_t first_plane, std::int64_t planes) {
      ++held_;
      EXPECT_TRUE(wait_until([&] { return released_.load(); }));
      return slab(first_plane, planes);
    };
    return job;
  }

  const RandomVolume volume_ = random_volume(1, {12, 13, 14}, ElementType::f32, random_);
  std::optional<std::vector<std::string>> load_at_start_;
  Timings timings_;
  std::atomic<int> held_ = 0;
  std::atomic<bool> released_ = false;
};

}  // namespace znni::test
