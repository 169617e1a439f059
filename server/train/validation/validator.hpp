// Scores the validation volumes as a whole, with the network as it is then. The engine that serves models computes
// them, on a plan of its own: its patches do not depend on those of the training, and volumes may be of any extent from
// the field of view on.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/network/max_filters.hpp"
#include "planner/network/quotients.hpp"
#include "planner/plan/plan.hpp"
#include "primitives/core/device.hpp"
#include "server/pipeline/engine.hpp"
#include "server/train/samples/labelled_volume.hpp"
#include "server/train/validation/validation_scores.hpp"

namespace znni {

// What is scored, and by what; references outlive the validator.
struct ValidationParts {
  const Network& network;         // writes what `loss` compares
  const NetworkWeights& weights;  // those of the moment
  const Loss& loss;
  const Backend& backend;  // opens `device`
  DeviceSpec device;
  TargetKind targets = TargetKind::classes;
  float input_scale = 1;  // the network sees voxel * input_scale + input_offset
  float input_offset = 0;
};

// Bytes that a validation takes besides its volumes and the weights, which are the caller's.
struct ValidationMemory {
  std::int64_t engine = 0;  // its own memory
  std::int64_t held = 0;    // of a volume and its output, at most
  std::int64_t scores = 0;  // what is counted, and a part of the output with its targets
  [[nodiscard]] std::int64_t total() const { return add(engine, add(held, scores)); }
};

class Validator {
 public:
  // Plans within `bytes`, in all, by the search that plans served models. Takes the memory for a moment, to see that
  // every volume can be computed. Fails with invalid_argument if a volume is smaller than the field of view or has a
  // label that is none of the loss. Fails with over_budget if `bytes` are too few for the network or a volume's planes.
  [[nodiscard]] static Result<std::unique_ptr<Validator>> make(const ValidationParts& parts,
                                                               std::vector<LabelledVolume> volumes, std::int64_t bytes);

  [[nodiscard]] const ValidationMemory& memory() const { return memory_; }
  // Returns the extent of the patches of the input.
  [[nodiscard]] Vec3 patch() const;
  // Computes all volumes. Returns nothing if it was stopped, between two layers. Fails if a file cannot be read, or a
  // voxel of the input or an output is not finite. It also fails if a label is none of the loss, or if no voxel is
  // labelled.
  [[nodiscard]] Result<std::optional<ValidationScore>> run(const std::stop_token& stop) const;

 private:
  // An engine with its device, as long as a validation runs.
  struct Running {
    std::unique_ptr<Device> device;
    std::unique_ptr<Engine> engine;
  };
  Validator(const ValidationParts& parts, std::vector<LabelledVolume> volumes, Catalogue catalogue)
      : parts_(parts), network_(parts.network), volumes_(std::move(volumes)), catalogue_(std::move(catalogue)) {
    // The step may have given the poolings their strides before.
    if (reaches(network_).back().stride == Vec3::cube(1)) pool_for_dilations(network_);
    mark_behind_quotients(network_);
  }
  [[nodiscard]] Result<void> check_volumes() const;
  [[nodiscard]] Result<void> plan(std::int64_t bytes);
  // Returns what a job may hold of a volume and its output.
  [[nodiscard]] std::int64_t max_held(const LabelledVolume& volume) const;
  // Fails with over_budget if the job of the volume holds more than memory_.held.
  [[nodiscard]] Result<void> check_held(const Engine& engine, const LabelledVolume& volume) const;
  [[nodiscard]] Result<Running> open() const;
  [[nodiscard]] Result<void> run_volume(Engine& engine, const LabelledVolume& volume, ValidationScores& scores,
                                        const std::stop_token& stop) const;

  ValidationParts parts_;
  Network network_;  // as it is served: max filters are poolings; a quotient beside the volume reaches no output
  std::vector<LabelledVolume> volumes_;
  Catalogue catalogue_;
  Plan plan_;
  ValidationMemory memory_;
  Vec3 patch_;
};

}  // namespace znni
