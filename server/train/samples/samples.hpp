// What a step of training learns from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni {

struct Sample {
  std::vector<float> input;   // [f_in][patch]
  std::vector<float> target;  // [targets][output], where the loss compares it
  std::vector<float> weight;  // [output]; 0 where a voxel is unlabelled, else its weight
  std::string labels;         // where the target was read, for errors: "FILE: voxels BOX"
};

class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  // Returns the sample of a step. It depends on the step and what the source was opened with alone. So a run that goes
  // on needs no state of the steps before. At least one voxel of it counts. Not for several threads at once. Fails if a
  // file cannot be read, or if no patch with such a voxel is found.
  [[nodiscard]] virtual Result<Sample> sample(std::uint64_t step) = 0;
};

}  // namespace znni
