// What the same bits depend on besides network and configuration: the volumes' files, and how a step was planned. A
// training that goes on compares it with that of its checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/train/step_plan.hpp"
#include "server/train/samples/labelled_volume.hpp"

namespace znni {

struct TrainedWith {
  std::string volumes;  // volumes_state()
  std::string plan;     // plan_fingerprint()
  std::string limits;   // what it was planned for, as options: "--mem 1073741824 --threads 2"
};

// Returns a line for each file of the volumes: its path, and how many bytes it has and when it was changed. Of a folder
// these are the sum and the newest of all files in it.
[[nodiscard]] std::string volumes_state(const std::vector<VolumeNames>& volumes);

// Returns the path of the first file whose line in `now` is another one than in `before`; "" if none is.
[[nodiscard]] std::string changed_file(const std::string& before, const std::string& now);

// Returns a fingerprint of what a step computes, and by which primitives and variants: steps of equal ones round alike.
[[nodiscard]] std::string plan_fingerprint(const StepPlan& plan);

// Returns a line for each thing that has changed since the checkpoint: what it is, what follows, what to do.
[[nodiscard]] std::vector<std::string> changes(const TrainedWith& before, const TrainedWith& now);

}  // namespace znni
