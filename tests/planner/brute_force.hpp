// The search's oracle: every way to run a small network, tried one after the other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/geometry/geometry.hpp"
#include "planner/search/search.hpp"

namespace znni::test {

[[nodiscard]] DeviceSpec drawn_device();

// Tries every assignment of every legal geometry, one after the other, with nothing but the schedule.
class BruteForce {
 public:
  // Tries them all. The limit of `options` counts for nothing.
  BruteForce(const Network& network, const SearchOptions& options);

  // Returns the most voxels per second of all that fit into `memory_limit` bytes; 0 where none does.
  [[nodiscard]] double best_within(std::int64_t memory_limit) const;
  [[nodiscard]] int tried() const { return tried_; }

 private:
  // One way to compute a problem.
  struct Way {
    const Primitive* primitive = nullptr;
    Estimate estimate;
  };

  void try_modes(std::size_t pooling, std::vector<PoolingMode>& modes);
  void try_batches(const std::vector<PoolingMode>& modes);
  [[nodiscard]] std::vector<PoolingMode> modes_of(std::size_t pooling) const;
  void try_extents(const std::vector<PoolingMode>& modes, std::int64_t S);
  [[nodiscard]] bool may_stream(const std::vector<PoolingMode>& modes) const;
  [[nodiscard]] PoolingMode all_across() const;
  [[nodiscard]] bool for_streams_alone(const std::vector<PoolingMode>& modes) const;
  [[nodiscard]] Vec3 stride_of(std::size_t pooling) const;
  [[nodiscard]] bool is_looked_at(const GeometryChoice& choice) const;
  [[nodiscard]] bool satisfies_pins(const Geometry& geometry) const;
  [[nodiscard]] bool is_pinned_patch(const Geometry& geometry) const;
  void try_geometry(const GeometryChoice& choice);
  [[nodiscard]] std::vector<Way> ways_of(const LayerProblem& problem) const;
  void describe_all();
  void try_input(Seconds seconds);
  [[nodiscard]] Seconds reorder_seconds(std::size_t value, Format to) const;
  void try_node(Seconds seconds);
  void try_way(std::size_t node, const Way& way, Seconds seconds);
  void try_pair(std::size_t node, const Way& way, Seconds seconds);
  void judge(Seconds seconds);

  Network network_;
  SearchOptions options_;
  Catalogue catalogue_;
  DeviceSpec spec_;
  int axis_ = 0;  // swapped with z
  Geometry geometry_;
  std::vector<std::vector<Way>> ways_;            // of the geometry's nodes
  std::vector<std::vector<Way>> pairs_;           // of each node and the pooling behind it
  std::vector<std::array<Seconds, 2>> reorders_;  // of its values: to planar, to blocked
  std::vector<Step> steps_;
  std::vector<Format> formats_;
  std::map<std::int64_t, double> best_;  // voxels per second, by bytes
  int tried_ = 0;
};

}  // namespace znni::test
