// An engine with everything it borrows, and jobs on it whose output is kept whole.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/pipeline/engine.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/volume/random_volume.hpp"

namespace znni::test {

struct EngineBench {
  Network network;
  NetworkWeights weights;
  Plan plan;
  Catalogue catalogue;
  std::unique_ptr<Device> device;
  std::unique_ptr<Engine> engine;
};

// Opens an engine on the oracle's primitives with a hand-made plan, for each of `sockets` sockets.
[[nodiscard]] EngineBench open_bench(Network network, const std::vector<GeometryChoice>& ladder,
                                     const Backend& backend = oracle_backend(), int sockets = 1);
// Opens one of conv 3, pool 2, conv 3: field of view 8; a patch of 9 gives 2 dense voxels per axis, S of them together.
[[nodiscard]] EngineBench narrow_bench(std::int64_t S);

// The result of a job: the whole output, and every call it made, in words: "slab 0+3", "deliver 0+3", "abandon 3",
// "done 1/4 3".
struct JobOutcome {
  Result<JobStatistics> statistics = Error{};
  VolumeShape shape;
  std::vector<std::byte> output;
  std::vector<double> under_way;  // JobProgress::under_way within patches
  JobGain gained;                 // all of it
  std::vector<std::string> calls;
};

// Returns a job for `volume` whose slabs lie in `outcome`, which must stay where it is.
[[nodiscard]] VolumeJob recorded_job(const VolumeView& volume, const Shape5& output, ElementType type,
                                     VolumeOrder order, JobOutcome& outcome);

[[nodiscard]] JobOutcome run_job(Engine& engine, const VolumeView& volume, const Normalisation& normalisation = {},
                                 ElementType type = ElementType::f32, VolumeOrder order = VolumeOrder::channel_major,
                                 std::int64_t max_held = saturated);

// Runs a job of float32 as its estimate says: its volume comes through a ring of no more planes than that.
void run_flowing(Engine& engine, const RandomVolume& volume, const JobEstimate& estimate, JobOutcome& outcome);

// Expects that every slab of the job was as `estimate` said, by which it was leased: no larger, and no more at a time.
void expect_slabs_as_said(const JobOutcome& outcome, const JobEstimate& estimate);

// Returns the output as float32, [f][z][y][x].
[[nodiscard]] std::vector<float> output_values(const JobOutcome& outcome);

// Returns the largest difference over the largest absolute value of `exact`.
[[nodiscard]] double relative_error(const std::vector<float>& found, const oracle::Values& exact);

// Expects that a job on the volume gives the dense sliding window.
void expect_exact(const EngineBench& made, const RandomVolume& volume, const Normalisation& normalisation = {},
                  std::int64_t max_held = saturated);

}  // namespace znni::test
