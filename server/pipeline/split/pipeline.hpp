// A rung on several places (ZNNi sections VII.B and VII.C). A worker of the CPU computes the head of one patch after
// the other. The GPU's worker takes each on, through layers of host RAM first and then the rest. The caller's thread
// stitches it (server/pipeline/split/stage_line.hpp), while the tail of the next one runs. Without a head the CPU's
// worker only reads windows of the volume. One thread alone gives work to the GPU. Steps of a streamed rung pass in
// their order, and each side keeps the planes of its own nodes.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "planner/costs/catalogue.hpp"
#include "planner/layers/segments.hpp"
#include "primitives/core/accelerator.hpp"
#include "server/pipeline/job/volume_job.hpp"
#include "server/pipeline/split/handoff.hpp"

namespace znni {

struct PipelineStatistics {
  JobStatistics job;
  HandoffIdle idle;  // the CPU's worker and the GPU's, waiting for each other; the GPU's also for an output's room
};

class Pipeline {
 public:
  // Reserves all its memory from both devices, which must outlive it, as must `weights`. Fails with `unsupported` for
  // rungs other than at most one segment each on 'cpu', 'gpu_host_ram' and 'gpu', in this order and not the first
  // alone; for layers that a segment on 'gpu_host_ram' leaves to the CPU while the CPU computes a head; and for what
  // take_apart() refuses. `poison` is for the arenas of the GPU; may be empty.
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> open(const Network& network, const NetworkWeights& weights,
                                                              const Rung& rung, const Catalogue& catalogue, Device& cpu,
                                                              Accelerator& gpu, const Arena::Poison& poison = {});
  struct State;
  explicit Pipeline(std::unique_ptr<State> state);  // by open()
  ~Pipeline();

  // Runs a job as Engine::run does, from the job's first plane on. An error on either side ends the job on both, not
  // the pipeline; a failed device stays failed. What was computed before it is stitched, and delivered if its row is
  // complete. If the job lets others run, both sides come to rest first, with the two patches that may be under way.
  // `max_planes` as make_patch_grid(). Wants no more planes of a source at a time than input_planes_ahead(). Calls the
  // job's functions in the caller's thread.
  [[nodiscard]] Result<PipelineStatistics> run(const VolumeJob& job, std::stop_token stop,
                                               std::int64_t max_planes = saturated);
  // Runs one pass on zeros, head and tail one after the other, to show that it works.
  [[nodiscard]] Result<void> warm_up(const std::stop_token& stop);
  // Returns the error of the last run or warm_up() if it ended because the GPU failed or had too little memory.
  [[nodiscard]] const std::optional<Error>& gpu_failure() const;

  [[nodiscard]] const Geometry& geometry() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace znni
