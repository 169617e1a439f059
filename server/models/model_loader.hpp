// Makes an engine that has run from the files of a model: reads, plans, reserves, warms up.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "server/models/model_files.hpp"
#include "server/models/plan_source.hpp"
#include "server/pipeline/engine.hpp"

namespace znni {

// Holds what is known of a model before memory is reserved for it.
struct PlannedModel {
  Network network;
  NetworkWeights weights;
  InputRule input;
  WindowBlend blend;
  Plan plan;
  std::string fingerprint;  // of network, weights and rules, whatever the plan
  std::string identity;     // of all of it: other weights, rules or plans have another
};

// A model that serves. The engine borrows the weights: they stand first.
struct LoadedModel {
  PlannedModel planned;
  std::unique_ptr<Engine> engine;
  std::int64_t number = 0;  // ModelInfo::number: given by who serves it
};

// Reads network, weights and configuration of `entry` and finds a plan within `memory` bytes. Touches no
// device. Errors name the file.
[[nodiscard]] Result<PlannedModel> plan_model(const ModelEntry& entry, std::int64_t memory, const PlanContext& context,
                                              const std::stop_token& stop);

// Opens the engine on `devices`, touches the memory of its smallest rung and runs one pass of that. So a model that
// cannot run is found now. It may serve from then on. Jobs on other rungs get their pages as they use them, until
// finish_model() has touched the rest, which takes long for a large memory. It must be the caller's turn on the device.
// Where a GPU fails, the rungs on the CPU serve alone, and the log says so.
[[nodiscard]] Result<std::unique_ptr<LoadedModel>> open_model(PlannedModel planned, const Catalogue& catalogue,
                                                              const PlaceDevices& devices, const LogSink& log,
                                                              const std::stop_token& stop);

// Runs what it is given while it is the caller's turn on the device.
using InTurn = std::function<Result<void>(const std::function<Result<void>()>&)>;

// Touches the rest of the memory in parts of about a tenth of a second, each given to `in_turn`. Jobs may run between
// them, and memory that those have used is soon done. Then gives `if_idle` one pass of the planned rung, if that is
// predicted to be quick and no job has run on it. It must not run while a job stands between the steps of a stream,
// whose memory it overwrites.
[[nodiscard]] Result<void> finish_model(LoadedModel& model, const InTurn& in_turn, const InTurn& if_idle,
                                        const LogSink& log, const std::stop_token& stop);

// Returns the bytes that finish_model() touches.
[[nodiscard]] std::int64_t untouched_bytes(const LoadedModel& model);

// Returns "patch 58x58x58, 4 rungs, cpu.conv.onednn, cpu.pool.mpf: 1.2e+06 voxels/s in an endless volume (model)".
[[nodiscard]] std::string plan_summary(const Plan& plan, const Vec3& patch);

}  // namespace znni
