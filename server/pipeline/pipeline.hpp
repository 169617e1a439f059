// A rung on several places (ZNNi sections VII.B and VII.C): a worker of the CPU computes the head of one patch after
// the other, the caller's thread takes each on through the GPU, layers of host RAM first and then the rest, and
// stitches it; a hand-off of depth one stands between them. Without a head the CPU's worker only reads windows of the
// volume. One thread alone gives work to the GPU.
#pragma once

#include <memory>
#include <stop_token>

#include "planner/catalogue.hpp"
#include "primitives/core/accelerator.hpp"
#include "server/pipeline/engine.hpp"
#include "server/pipeline/handoff.hpp"

namespace znni {

struct PipelineStatistics {
  JobStatistics job;
  HandoffIdle idle;  // the CPU's worker and the GPU's, waiting for each other
};

class Pipeline {
 public:
  // Reserves all its memory from both devices, which must outlive it, as must `weights`. `unsupported` for rungs other
  // than at most one segment each on 'cpu', 'gpu_host_ram' and 'gpu', in this order and not the first alone; for layers
  // that a segment on 'gpu_host_ram' leaves to the CPU while the CPU computes a head; and for what take_apart()
  // refuses. `poison` is for the arenas of the GPU; may be empty.
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> open(const Network& network, const NetworkWeights& weights,
                                                              const Rung& rung, const Catalogue& catalogue, Device& cpu,
                                                              Accelerator& gpu, const Arena::Poison& poison = {});
  struct State;
  explicit Pipeline(std::unique_ptr<State> state);  // by open()
  ~Pipeline();

  // As Engine::run. An error on either side ends the job on both, not the pipeline; a failed device stays failed.
  [[nodiscard]] Result<PipelineStatistics> run(const VolumeJob& job, std::stop_token stop);

  [[nodiscard]] const Geometry& geometry() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace znni
