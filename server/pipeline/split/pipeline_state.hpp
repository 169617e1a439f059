// The parts that a pipeline has open: its stages, the memory between them, and why its GPU failed.
#pragma once

#include <array>
#include <optional>
#include <stop_token>
#include <utility>

#include "server/pipeline/split/pipeline.hpp"
#include "server/pipeline/split/stage.hpp"

namespace znni {

[[nodiscard]] inline float* floats_of(const Reservation& block) { return reinterpret_cast<float*>(block.data()); }

struct Pipeline::State {
  State(Geometry of, Device& cpu_device, Accelerator& gpu_device)
      : geometry(std::move(of)), cpu(cpu_device), gpu(gpu_device) {}

  // The memory between the stages.
  struct Buffers {
    Reservation window;                  // the head's input; none without a head
    std::array<Reservation, 2> between;  // what crosses: one is made or waits, one is consumed; for the middle with
                                         // room for the planes of earlier steps that it reads again
    Reservation middle_output;           // where a tail follows
    std::array<Reservation, 2> output;   // of a whole pass: one is written while the one before is stitched
  };

  // Returns where what crosses to the GPU's side is written, in one of the buffers between.
  [[nodiscard]] TensorView crossing(float* buffer) const;
  // Takes pass `pass` of what crosses through host RAM and the GPU, to `output`. `begins`: a stream. Notes the error of
  // a GPU that failed.
  [[nodiscard]] Result<void> run_gpu(float* input, float* output, std::int64_t pass, bool begins,
                                     const std::stop_token& stop);
  // Lets the GPU's side begin a stream.
  [[nodiscard]] Result<void> forget_on_gpu();

  Geometry geometry;
  Device& cpu;
  Accelerator& gpu;
  Vec3 fov;
  Border frame;                     // of the network, around its volume
  std::optional<HostStage> head;    // on the CPU
  std::optional<HostStage> middle;  // through host RAM
  std::optional<GpuStage> tail;
  std::optional<Executor> reader;  // of windows, where the CPU's own workers serve the middle
  std::optional<Executor> writer;  // of outputs, where the GPU's own workers serve the middle
  Buffers buffers;
  std::optional<Error> gpu_failure;
};

}  // namespace znni
