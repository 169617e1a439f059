// Holds what an engine has open: its rungs, prepared, and the memory of those on the CPU. For engine.cpp and
// engine_open.cpp alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "server/pipeline/engine.hpp"
#include "server/pipeline/job_estimates.hpp"
#include "server/pipeline/rung_places.hpp"
#include "server/pipeline/schedule/prepared_schedule.hpp"
#include "server/pipeline/split/gpu_health.hpp"
#include "server/pipeline/split/pipeline.hpp"

namespace znni {

struct Engine::State {
  // A socket of the CPU, or all of it as a whole.
  struct Socket {
    Device* device = nullptr;
    Reservation transient;  // shared by all rungs on the CPU: only one runs at a time
  };
  // Prepared: on the CPU, or with a GPU.
  struct OpenRung {
    std::vector<PreparedSchedule> cpu;  // on each of the sockets
    std::unique_ptr<Pipeline> split;    // neither where the GPU failed before it was open
    std::int64_t split_bytes = 0;       // of the host's memory

    [[nodiscard]] bool on_cpu() const { return !cpu.empty(); }
    [[nodiscard]] bool is_open() const { return on_cpu() || split != nullptr; }
    [[nodiscard]] const Geometry& geometry() const { return on_cpu() ? cpu.front().geometry() : split->geometry(); }
  };

  Plan plan;
  std::vector<Socket> sockets;
  Executor* drivers = nullptr;  // of several sockets
  std::vector<OpenRung> rungs;
  std::vector<RungPlace> places;           // of rungs in each socket's memory
  std::vector<std::atomic<bool>> has_run;  // of rungs: Engine::has_run()
  std::optional<JobEstimates> estimates;   // once the rungs are open
  CallObserver observer;
  GpuHealth gpu;

  [[nodiscard]] const NetworkShape& network() const { return estimates->network(); }

  // Returns whether jobs may go on without a GPU that fails for this reason; notes the failure if so.
  [[nodiscard]] bool lose_gpu(const Error& reason) {
    if (std::none_of(rungs.begin(), rungs.end(), [](const OpenRung& rung) { return rung.on_cpu(); })) return false;
    gpu.failed(reason);
    return true;
  }
  // Asks every rung with a GPU. A GPU that did not open, or had no memory for a rung then, stays lost.
  void retry_gpu(const std::stop_token& stop) {
    Result<void> works = Error{ErrorCode::device_failure, "no rung with a GPU is open"};
    for (OpenRung& rung : rungs) {
      if (rung.on_cpu()) continue;
      if (!rung.split) return;
      works = rung.split->warm_up(stop);
      if (!works) break;
    }
    if (!works && works.error().code == ErrorCode::cancelled) return;
    return works ? gpu.works() : gpu.failed(works.error());
  }
  // Returns the rungs that run now: without those of a GPU that is lost.
  [[nodiscard]] std::vector<std::size_t> rungs_now() const {
    const bool lost = gpu.why_lost().has_value();
    std::vector<std::size_t> now;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      if (rungs[i].on_cpu() || !lost) now.push_back(i);
    }
    ensure(!now.empty(), "a GPU is lost where rungs on the CPU are left");
    return now;
  }
  [[nodiscard]] const OpenRung& front() const { return rungs[rungs_now().front()]; }

  // Returns the best estimate; fails if the input, frame included, does not fit the network.
  [[nodiscard]] Result<JobEstimate> estimate_of(const Work& work) const { return estimates->best(work, rungs_now()); }
};

}  // namespace znni
