// What a pipeline has open: its stages, the memory between them, and why its GPU failed.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "server/pipeline/pipeline.hpp"
#include "server/pipeline/stage.hpp"
#include "server/volume/stitcher.hpp"

namespace znni {

struct Pipeline::State {
  State(Geometry of, Device& cpu_device, Accelerator& gpu_device)
      : geometry(std::move(of)), stitcher(geometry), cpu(cpu_device), gpu(gpu_device) {}

  Geometry geometry;
  Stitcher stitcher;
  Device& cpu;
  Accelerator& gpu;
  Vec3 fov;
  std::optional<HostStage> head;    // on the CPU
  std::optional<HostStage> middle;  // through host RAM
  std::optional<GpuStage> tail;
  std::optional<Executor> reader;      // of windows, where the CPU's own workers serve the middle
  std::optional<Executor> writer;      // of outputs, where the GPU's own workers serve the middle
  Reservation window;                  // the head's input; none without a head
  std::array<Reservation, 2> between;  // what crosses: one is made or waits, one is consumed; for the middle with room
                                       // for the planes of earlier steps that it reads again
  Reservation middle_output;           // where a tail follows
  std::array<Reservation, 2> output;   // of a whole pass: one is written while the one before is stitched
  std::optional<Error> gpu_failure;
};

}  // namespace znni
