// A pipeline with all it borrows, and jobs on it whose output is kept.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "server/pipeline/split/pipeline.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni::test {

// A pipeline with all it borrows.
struct PipelineBench {
  PipelineBench(Network net, std::uint64_t seed = 0) : network(std::move(net)), weights(random_weights(network, 7)) {
    HostSimOptions options;
    options.seed = seed;
    gpu = std::make_unique<HostSim>(options);
  }

  Result<std::unique_ptr<Pipeline>> open(const GeometryChoice& choice, int theta, std::int64_t micro_batch) {
    const Result<Rung> rung = split_rung(network, choice, theta, micro_batch, cpu->spec(), gpu->spec());
    if (!rung) return rung.error();
    return Pipeline::open(network, weights, *rung, split_catalogue(), *cpu, *gpu, gpu->poison());
  }

  // Returns a job whose slabs lie in `outcome`, which must stay where it is.
  [[nodiscard]] VolumeJob job(const RandomVolume& volume, JobOutcome& outcome) const {
    const Shape5 output{1, channels_of(network).back(), volume.shape.n - reaches(network).back().fov + Vec3::cube(1)};
    return recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::channel_major, outcome);
  }

  Network network;
  NetworkWeights weights;
  std::unique_ptr<Device> cpu = host_device(std::int64_t{1} << 28);
  std::unique_ptr<HostSim> gpu;
};

struct PipelineOutcome {
  JobOutcome job;
  Result<PipelineStatistics> statistics = Error{};
};

// Runs a volume into `outcome`, which must stay where it is.
inline void run(const PipelineBench& bench, Pipeline& pipeline, const RandomVolume& volume, PipelineOutcome& outcome,
                std::stop_token stop = {}) {
  const VolumeJob job = bench.job(volume, outcome.job);
  outcome.statistics = pipeline.run(job, std::move(stop));
}

// One of two stages and a volume for it.
class PipelineOf : public testing::Test {
 protected:
  PipelineOf() : bench_(simple_network(1)), choice_(choice_of(bench_.network, PoolMode::fragments, 1)) {
    Random random(3);
    volume_ = random_volume(1, {15, 16, 24}, ElementType::f32, random);
  }

  // Opens a pipeline, cut behind the first node. `in_tail` is called with every buffer of a layer on the GPU, as often
  // for each patch.
  Result<std::unique_ptr<Pipeline>> open_and_call(std::function<void()> in_tail) {
    const Rung rung = split_rung(bench_.network, choice_, 1, 1, bench_.cpu->spec(), bench_.gpu->spec()).value();
    const Arena::Poison poison = [this, in_tail = std::move(in_tail)](std::span<std::byte> block, MemorySpace space) {
      in_tail();
      bench_.gpu->poison()(block, space);
    };
    return Pipeline::open(bench_.network, bench_.weights, rung, split_catalogue(), *bench_.cpu, *bench_.gpu, poison);
  }

  PipelineBench bench_;
  GeometryChoice choice_;
  RandomVolume volume_;
};

}  // namespace znni::test
