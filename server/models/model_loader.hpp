// From the files of a model to an engine that has run: reads, plans, reserves, warms up.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "server/models/model_files.hpp"
#include "server/models/plan_source.hpp"
#include "server/pipeline/engine.hpp"

namespace znni {

// What is known of a model before memory is reserved for it.
struct PlannedModel {
  Network network;
  NetworkWeights weights;
  InputRule input;
  Plan plan;
};

// A model that serves. The engine borrows the weights: they stand first.
struct LoadedModel {
  PlannedModel planned;
  std::unique_ptr<Engine> engine;
};

// Reads network, weights and configuration of `entry` and finds a plan within `memory` bytes. Touches no
// device. Errors name the file.
[[nodiscard]] Result<PlannedModel> plan_model(const ModelEntry& entry, std::int64_t memory, const PlanContext& context,
                                              const std::stop_token& stop);

// Opens the engine on `devices`, touches its memory, and runs one pass of the smallest rung, and of the planned one too
// where that is predicted to be quick: a model that cannot run is found now. It must be the caller's turn on the
// devices.
[[nodiscard]] Result<std::unique_ptr<LoadedModel>> open_model(PlannedModel planned, const Catalogue& catalogue,
                                                              const PlaceDevices& devices, const LogSink& log,
                                                              const std::stop_token& stop);

// "patch 58x58x58, 4 rungs, cpu.conv.onednn, cpu.pool.mpf: 1.2e+06 voxels/s (model)".
[[nodiscard]] std::string plan_summary(const Plan& plan, const Vec3& patch);

}  // namespace znni
