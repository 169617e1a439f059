// The time and memory of a job, predicted from its shapes alone, before any work.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/core/primitive.hpp"

namespace znni {

struct JobEstimate {
  Shape5 output;             // S = 1, f of the output, dense extent n - fov + 1
  std::size_t rung = 0;      // of the plan's ladder: least predicted time for this volume
  Vec3 patch;                // input extent behind one slab of the output: of a patch, a step, or a band of columns
  std::int64_t patches = 0;  // steps where the rung is streamed
  std::int64_t batch = 1;    // patches that the rung computes together
  std::int64_t entries = 0;  // of a batch that other jobs may share; 0: the job needs the batch for itself
  // Input planes that a job wants at a time: a PlaneSource must have room for them. For a job that begins at a later
  // plane: from the estimate of the planes from there on.
  std::int64_t input_planes = 0;
  // Planes of the largest slab; `slabs` is how many such slabs are open at a time. These and input_planes also suffice
  // for the rung on the CPU that goes on if the job's own rung fails with its GPU.
  std::int64_t slab_planes = 1;
  std::int64_t slabs = 1;
  std::int64_t list_bytes = 0;        // of the list of its patches while it runs, in addition to the engine's memory
  std::int64_t max_held = saturated;  // that the estimate was asked for: the job must have the same
  Seconds predicted_seconds = 0;
};

}  // namespace znni
