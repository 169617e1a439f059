// Counts the voxels of each class row by row, so that one of a class can be drawn.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "client/files/bbox.hpp"
#include "server/train/samples/counter_random.hpp"
#include "server/train/samples/labelled_volume.hpp"
#include "server/train/samples/targets.hpp"

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
  // Counts the voxels of one box of each volume; labels are read once, a band of rows at a time. Fails if there are
  // more than 1024 classes, and with over_budget if memory_bytes() would be above `max_bytes`, before that is
  // allocated.
  [[nodiscard]] static Result<ClassRows> count(TargetKind kind, const std::vector<LabelledVolume>& volumes,
                                               std::vector<client::Box> boxes, std::int64_t max_bytes);
  // Returns the bytes of what is kept, and of the largest band of labels while it is read.
  [[nodiscard]] std::int64_t memory_bytes() const;
  // Returns the number of voxels of each class.
  [[nodiscard]] std::map<std::int64_t, std::int64_t> counts() const;

  // Draws a class that there is, each as likely, then a voxel of it, each as likely. `volumes` are those that were
  // counted. Requires that a voxel is labelled.
  [[nodiscard]] Result<PlaceInVolume> draw(const std::vector<LabelledVolume>& volumes, CounterRandom& random) const;

 private:
  ClassRows(TargetKind kind, std::vector<client::Box> boxes, std::int64_t max_bytes);
  [[nodiscard]] Result<void> add_volume(const LabelledVolume& volume, const client::Box& box);
  [[nodiscard]] Result<void> add_band(const LabelledVolume& volume, const client::Box& rows);
  [[nodiscard]] Result<void> add_row(const LabelledVolume& volume, std::span<const std::int64_t> classes);
  [[nodiscard]] Result<void> check_room(const LabelledVolume& volume) const;
  [[nodiscard]] std::int64_t bytes_with(std::int64_t classes) const;
  [[nodiscard]] Result<PlaceInVolume> find(const std::vector<LabelledVolume>& volumes, std::int64_t number,
                                           std::int64_t row, std::int64_t rank) const;

  TargetKind kind_;
  std::vector<client::Box> boxes_;
  std::vector<std::int64_t> first_rows_;  // of each box
  std::int64_t max_bytes_;
  std::int64_t all_rows_ = 0;                               // of all boxes
  std::int64_t band_voxels_ = 0;                            // of the largest band, with the margin around it
  std::int64_t rows_ = 0;                                   // that are counted
  std::map<std::int64_t, std::vector<std::int64_t>> ends_;  // of each class, its voxels in all rows up to each
};

}  // namespace znni
