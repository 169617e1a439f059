#include "tests/server/pipeline/engine_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "server/volume/plane_ring.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni::test {
namespace {

std::string planes_text(const char* what, std::int64_t first, std::int64_t count) {
  return std::string(what) + " " + std::to_string(first) + "+" + std::to_string(count);
}

// Copies a slab to its planes of the whole output.
void keep(const OutputSlab& slab, JobOutcome& outcome) {
  const std::int64_t bytes = element_bytes(slab.shape.type);
  const Vec3 n = slab.shape.n;
  for (std::int64_t row = 0; row < slab.shape.f * n.z * n.y; ++row) {
    const std::int64_t j = row / (n.z * n.y);
    const Vec3 at = {row / n.y % n.z, row % n.y, 0};
    const Vec3 whole = at + Vec3{slab.first_plane, 0, 0};
    std::copy_n(slab.data + voxel_index(slab.shape, j, at) * bytes, n.x * bytes,
                outcome.output.data() + voxel_index(outcome.shape, j, whole) * bytes);
  }
}

Catalogue catalogue_of(const Backend& backend) {
  const Backend* const rows[] = {&backend};
  Result<Catalogue> catalogue = Catalogue::make(rows);
  ensure(catalogue.has_value(), "a back end makes a catalogue");
  return *catalogue;
}

}  // namespace

EngineBench open_bench(Network network, const std::vector<GeometryChoice>& ladder, const Backend& backend,
                       int sockets) {
  EngineBench made;
  Random random(1);
  made.catalogue = catalogue_of(backend);
  made.device = host_device(std::int64_t{1} << 30, std::byte{0}, sockets);
  made.weights = random_weights(network, 7);
  made.network = std::move(network);
  const DeviceSpec socket = of_one_socket(made.device->spec());
  Result<Plan> plan = hand_plan(made.network, ladder, made.catalogue, socket, random);
  ensure(plan.has_value(), plan ? "" : plan.error().message);
  made.plan = *plan;
  made.plan.sockets = sockets;
  made.plan.memory.persistent *= sockets;
  made.plan.memory.transient *= sockets;
  Result<std::unique_ptr<Engine>> engine =
      Engine::open(made.network, made.weights, made.plan, made.catalogue, *made.device);
  ensure(engine.has_value(), engine ? "" : engine.error().message);
  made.engine = std::move(*engine);
  return made;
}

EngineBench narrow_bench(std::int64_t S) {
  const Network network = simple_network(1);
  EngineBench made = open_bench(network, {choice_of(network, PoolMode::fragments, 0, S)});
  ensure(made.engine->patch() == Vec3::cube(9), "the patch that tests were written for");
  return made;
}

VolumeJob recorded_job(const VolumeView& volume, const Shape5& output, ElementType type, VolumeOrder order,
                       JobOutcome& outcome) {
  outcome.shape = {output.f, output.n, type, order};
  outcome.output.assign(static_cast<std::size_t>(volume_bytes(outcome.shape)), std::byte{0xee});
  // Slabs stand in blocks of their own, so that the address sanitizer sees their ends.
  auto slabs = std::make_shared<std::vector<std::unique_ptr<std::vector<std::byte>>>>();
  VolumeJob job;
  job.input.volume = volume;
  job.sink.slab = [&outcome, slabs](std::int64_t first_plane, std::int64_t count) -> Result<OutputSlab> {
    outcome.calls.push_back(planes_text("slab", first_plane, count));
    OutputSlab slab{first_plane, nullptr, outcome.shape};
    slab.shape.n.z = count;
    slabs->push_back(std::make_unique<std::vector<std::byte>>(static_cast<std::size_t>(volume_bytes(slab.shape))));
    slab.data = slabs->back()->data();
    return slab;
  };
  job.sink.deliver = [&outcome](const OutputSlab& slab) -> Result<void> {
    outcome.calls.push_back(planes_text("deliver", slab.first_plane, slab.shape.n.z));
    keep(slab, outcome);
    return {};
  };
  job.sink.abandon = [&outcome](const OutputSlab& slab) {
    outcome.calls.push_back("abandon " + std::to_string(slab.first_plane));
  };
  job.account.gained = [&outcome](const JobGain& gain) {
    outcome.gained.patches += gain.patches;
    outcome.gained.voxels += gain.voxels;
    outcome.gained.stages += gain.stages;
  };
  job.account.progress = [&outcome](const JobProgress& progress) {
    if (progress.under_way > 0) {
      outcome.under_way.push_back(progress.under_way);
      return;
    }
    outcome.calls.push_back("done " + std::to_string(progress.patches_done) + "/" + std::to_string(progress.patches) +
                            " " + std::to_string(progress.planes_done));
  };
  return job;
}

namespace {

// Expects that nothing of a job that succeeded was left out or told twice, whichever rungs ran it.
void expect_gained(const JobOutcome& outcome) {
  if (!outcome.statistics) return;
  EXPECT_EQ(outcome.gained.voxels, voxels(outcome.shape.n));
  EXPECT_GE(outcome.gained.patches, outcome.statistics->patches);
}

}  // namespace

JobOutcome run_job(Engine& engine, const VolumeView& volume, const Normalisation& normalisation, ElementType type,
                   VolumeOrder order, std::int64_t max_held) {
  JobOutcome outcome;
  const Result<JobEstimate> estimate = engine.estimate(volume.shape, type, max_held);
  if (!estimate) {
    outcome.statistics = estimate.error();
    return outcome;
  }
  VolumeJob job = recorded_job(volume, estimate->output, type, order, outcome);
  job.input.normalisation = normalisation;
  job.schedule.max_held = max_held;
  outcome.statistics = engine.run(job, {});
  expect_slabs_as_said(outcome, *estimate);
  expect_gained(outcome);
  return outcome;
}

void run_flowing(Engine& engine, const RandomVolume& volume, const JobEstimate& estimate, JobOutcome& outcome) {
  const std::int64_t bytes = volume_bytes(volume.shape);
  std::vector<std::byte> memory(static_cast<std::size_t>(bytes / volume.shape.n.z * estimate.input_planes));
  PlaneRing ring(memory, volume.shape, 0);
  const std::jthread writer([&](const std::stop_token& stop) {
    static_cast<void>(ring.write({volume.view().data, static_cast<std::size_t>(bytes)}, stop));
  });
  VolumeJob job = recorded_job(volume.view(), estimate.output, ElementType::f32, VolumeOrder::channel_major, outcome);
  job.input.volume.data = nullptr;
  job.input.source = &ring;
  job.schedule.rung = estimate.rung;
  job.schedule.max_held = estimate.max_held;
  outcome.statistics = engine.run(job, {});
  expect_gained(outcome);
}

void expect_slabs_as_said(const JobOutcome& outcome, const JobEstimate& estimate) {
  std::int64_t open = 0;
  for (const std::string& call : outcome.calls) {
    open -= call.starts_with("deliver ") || call.starts_with("abandon ") ? 1 : 0;
    if (!call.starts_with("slab ")) continue;
    EXPECT_LE(std::stoll(call.substr(call.find('+') + 1)), estimate.slab_planes);
    EXPECT_LE(++open, estimate.slabs);
  }
}

std::vector<float> output_values(const JobOutcome& outcome) {
  const auto& [f, n, type, order] = outcome.shape;
  std::vector<float> values(static_cast<std::size_t>(f * voxels(n)));
  float* next = values.data();
  for (std::int64_t j = 0; j < f; ++j) {
    for (Vec3 v; v.z < n.z; ++v.z) {
      for (v.y = 0; v.y < n.y; ++v.y) {
        for (v.x = 0; v.x < n.x; ++v.x) *next++ = voxel(outcome.output.data(), outcome.shape, j, v);
      }
    }
  }
  return values;
}

double relative_error(const std::vector<float>& found, const oracle::Values& exact) {
  if (found.size() != exact.size()) return 1e9;
  double largest = 1e-30;
  double difference = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(exact[i]));
    const double here = std::abs(static_cast<double>(found[i]) - exact[i]);
    difference = here <= difference ? difference : here;  // keeps a NaN
  }
  return difference / largest;
}

void expect_exact(const EngineBench& made, const RandomVolume& volume, const Normalisation& normalisation,
                  std::int64_t max_held) {
  const JobOutcome outcome =
      run_job(*made.engine, volume.view(), normalisation, ElementType::f32, VolumeOrder::channel_major, max_held);
  ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
  const oracle::Values exact =
      dense_oracle(made.network, made.weights, volume.shape.n, volume_values(volume.view(), normalisation));
  EXPECT_LE(relative_error(output_values(outcome), exact), 1e-5) << to_string(volume.shape.n);
}

}  // namespace znni::test
