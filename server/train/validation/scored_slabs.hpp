// The output of a network over a labelled volume, slab by slab, compared with its targets.
#pragma once

#include <mutex>
#include <vector>

#include "server/train/samples/labelled_volume.hpp"
#include "server/train/validation/validation_scores.hpp"
#include "server/volume/volume_view.hpp"

namespace znni {

// Where the targets of an output are.
struct ScoredVolume {
  const LabelledVolume& volume;
  TargetKind targets = TargetKind::classes;
  Vec3 before;  // voxels of the input before that of the output's first
  const Loss& loss;
};

class ScoredSlabs {
 public:
  // `output`: of all, plane_major and float32. Labels are read with `reading` locked. References outlive this.
  ScoredSlabs(const ScoredVolume& scored, const VolumeShape& output, ValidationScores& scores, std::mutex& reading)
      : scored_(scored), output_(output), scores_(scores), reading_(reading) {}

  // Returns the bytes that are taken while a slab of such an output is compared, besides the slab itself.
  [[nodiscard]] static std::int64_t working_bytes(const VolumeShape& output);
  // Returns memory for so many planes; a slab that was compared may be used again.
  [[nodiscard]] OutputSlab take(std::int64_t first_plane, std::int64_t planes);
  // Compares a slab that take() returned, once. Fails if a voxel is not finite, or a target is none of the loss.
  [[nodiscard]] Result<void> compare(const OutputSlab& slab);
  // Gives a slab back that will not be compared.
  void abandon(const OutputSlab& slab);

 private:
  [[nodiscard]] Result<void> compare_band(const OutputSlab& slab, const client::Box& band);

  ScoredVolume scored_;
  VolumeShape output_;
  ValidationScores& scores_;
  std::mutex& reading_;
  std::vector<std::vector<float>> taken_;
};

}  // namespace znni
