// A rung on two places (ZNNi section VII.C): a worker of the CPU computes the head of one patch after the other, the
// caller's thread takes each through the tail on the GPU and stitches it, a hand-off of depth one between them. Without
// a head the CPU's worker only reads windows of the volume.
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
  HandoffIdle idle;  // head and tail, waiting for each other
};

class Pipeline {
 public:
  // Reserves all its memory from both devices, which must outlive it, as must `weights`. `unsupported` for rungs other
  // than at most one segment on the CPU followed by one on the GPU, and for what take_apart() refuses. `poison` is for
  // the arenas of the GPU; may be empty.
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
