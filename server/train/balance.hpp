// Where the voxels of each class lie, so that one of a class can be drawn.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "client/files/bbox.hpp"
#include "server/train/counter_random.hpp"
#include "server/train/labelled_volume.hpp"
#include "server/train/targets.hpp"

namespace znni {

// A voxel of one of several volumes.
struct PlaceInVolume {
  std::size_t volume = 0;
  Vec3 voxel;
};

// Returns the class of each voxel of targets: -1 where it is unlabelled.
[[nodiscard]] std::vector<std::int64_t> classes_of(TargetKind kind, const Targets& targets);

// Counts the voxels of each class in rows along x. It keeps 8 bytes a row and class.
class ClassRows {
 public:
  explicit ClassRows(TargetKind kind) : kind_(kind) {}

  // Counts the voxels of a box of one more volume, whose labels are read once. Fails if there are more than 1024
  // classes.
  [[nodiscard]] Result<void> add_volume(const LabelledVolume& volume, const client::Box& box);
  [[nodiscard]] std::int64_t memory_bytes() const;
  // Returns the number of voxels of each class.
  [[nodiscard]] std::map<std::int64_t, std::int64_t> counts() const;

  // Draws a class that there is, each as likely, then a voxel of it, each as likely. `volumes` are those that were
  // added, in order. Requires that a voxel is labelled.
  [[nodiscard]] Result<PlaceInVolume> draw(const std::vector<LabelledVolume>& volumes, CounterRandom& random) const;

 private:
  [[nodiscard]] Result<PlaceInVolume> find(const std::vector<LabelledVolume>& volumes, std::int64_t number,
                                           std::int64_t row, std::int64_t rank) const;
  void add_row(const std::vector<std::int64_t>& classes, std::size_t first, std::int64_t count);

  TargetKind kind_;
  std::vector<client::Box> boxes_;
  std::vector<std::int64_t> first_rows_;  // of each box
  std::int64_t rows_ = 0;
  std::map<std::int64_t, std::vector<std::int64_t>> ends_;  // of each class, its voxels in all rows up to each
};

}  // namespace znni
