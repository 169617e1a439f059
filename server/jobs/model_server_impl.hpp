// The ModelServer of a process with one CPU, and one GPU if there is one. It loads the models of a repository one after
// the other in a thread of its own, so that health can answer meanwhile. It lets jobs run one at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/costs/timings.hpp"
#include "server/jobs/model_server.hpp"
#include "server/jobs/server_gpu.hpp"
#include "server/models/log_sink.hpp"
#include "server/models/planned_volume.hpp"

namespace znni {

struct ServerOptions {
  std::filesystem::path repository;
  std::filesystem::path plan_directory;  // "": plans are made again at every start
  // Loaded at the start; nothing: all models. The others wait to be loaded by hand.
  std::optional<std::vector<std::string>> load_at_start;
  ServerLimits limits;
  Catalogue catalogue;
  Timings timings;  // recorded, by whatever formulas; may be empty
  // The device all models share, with a hard budget of bytes of host memory.
  std::function<Result<std::unique_ptr<Device>>(std::int64_t host_budget)> open_device;
  std::optional<ServerGpu> gpu;  // its pinned memory is at most the models' share of `limits`
  LogSink log;                   // called by the thread that loads
  PlannedVolume volume = {};     // that plans are made for
  // A model serves from its first run on while more memory than this is still to be touched.
  std::int64_t touched_before_serving = std::int64_t{1} << 30;
};

// Opens a server of models. It fails only if no model could be served: limits too small, no repository, no device. A
// model that cannot be loaded becomes `unavailable`, with its reason, and the others go on. Jobs of one model run in
// the order they came; models take turns on the device.
[[nodiscard]] Result<std::unique_ptr<ModelServer>> open_model_server(ServerOptions options);

}  // namespace znni
