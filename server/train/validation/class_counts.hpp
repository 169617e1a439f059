// How often a network names the class of a voxel rightly.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace znni {

class ClassCounts {
 public:
  explicit ClassCounts(std::int64_t classes) : counts_(static_cast<std::size_t>(classes)) {}

  // Adds a voxel; both are numbers of a class.
  void add(std::size_t named, std::size_t truth);
  // Returns the share of voxels whose class was named; nothing if there is no voxel.
  [[nodiscard]] std::optional<double> accuracy() const;
  // Returns, per class, twice the voxels that have it and are named so, over those that have it and those that are
  // named so. Nothing for a class that no voxel has or is named.
  [[nodiscard]] std::vector<std::optional<double>> dice() const;
  // Returns the mean over the classes that have one; nothing if there is no voxel.
  [[nodiscard]] std::optional<double> mean_dice() const;

 private:
  struct Count {
    std::int64_t named = 0;
    std::int64_t truth = 0;
    std::int64_t both = 0;
  };
  std::vector<Count> counts_;
};

}  // namespace znni
