// The devices of a server, and those who want them.
#pragma once

#include <memory>

#include "server/jobs/progress_watch.hpp"
#include "server/jobs/server_gpu.hpp"
#include "server/jobs/turn_queue.hpp"

namespace znni {

struct SharedDevice {
  std::unique_ptr<Device> device;
  OpenGpu gpu;
  TurnQueue turns{"the device", saturated};  // of jobs, and of models that load
  ProgressWatch watch;                       // of the job whose turn it is
};

}  // namespace znni
