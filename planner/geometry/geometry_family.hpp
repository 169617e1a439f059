// Geometries that differ in their extents alone. The facts that follow from modes, S, stem and stream are worked out
// once. A search looks at tens of thousands of extents of a few hundred families. The body of make_geometry.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "planner/geometry/geometry.hpp"

namespace znni {

// Checks that there is one mode for each pooling, and that groups divide its stride. The error names the node.
[[nodiscard]] Result<void> check_modes(const Network& network, const std::vector<PoolingMode>& modes);

// Returns the fragments of each value along one axis: those of one pass, or (`whole`) of all passes of one window.
// Fails if branches that meet disagree, because their voxels then lie in different places.
[[nodiscard]] Result<std::vector<AxisFragments>> axis_fragments(const Network& network,
                                                                const std::vector<PoolingMode>& modes, int axis,
                                                                bool whole);

// Choices of one family are equal.
struct FamilyOrder {
  bool operator()(const GeometryChoice& a, const GeometryChoice& b) const;
};

class GeometryFamily {
 public:
  // Makes the family of `like`, of which all but pass_input counts. Requires check(network), which is copied. The error
  // is that of make_geometry, or of make_part_geometry, if no extent would mend it.
  [[nodiscard]] static Result<GeometryFamily> make(const Network& network, const GeometryChoice& like);
  [[nodiscard]] static Result<GeometryFamily> make_part(const Network& part, const GeometryChoice& like);

  // Returns the geometry of this extent, without its passes. Safe from several threads.
  [[nodiscard]] Result<Geometry> at(Vec3 pass_input) const;
  // Returns the geometry of this extent, with its passes.
  [[nodiscard]] Result<Geometry> with_passes(Vec3 pass_input) const;
  // Returns the extent that a patch of this extent writes, legal or not.
  [[nodiscard]] Vec3 patch_output(Vec3 pass_input) const;
  // Returns what is the same for every extent: histories, fragments, windows, what is held, the last node of the stem.
  [[nodiscard]] const Geometry& common() const { return common_; }

 private:
  using Fragments3 = std::array<AxisFragments, 3>;
  struct Shapes {
    std::vector<LayerProblem> problems;
    std::vector<Shape5> values;
  };
  explicit GeometryFamily(Network network) : network_(std::move(network)) {}
  Result<void> find_fragments();
  Result<void> walk(const std::vector<std::int64_t>& planes_read, std::size_t nodes, Shapes& shapes) const;
  void add_padding(int number, std::vector<Shape5>& inputs) const;
  Result<void> cut_stem(Geometry& geometry) const;

  Network network_;  // its axes swapped as the choice says
  Geometry common_;
  Fragments3 whole_;                    // of the output, of all passes of one window
  std::vector<Vec3> fragments_before_;  // per node: of its first input
  std::vector<PoolingMode> modes_;      // per node; plain of what is no pooling
  Vec3 last_window_;
  Vec3 before_;  // voxels of a patch before those that a pass brings: of a stream fov - 1 planes
  Vec3 unread_;  // voxels of a pass's input that no step reads, along closed axes
  Reach reach_;  // of the output
};

}  // namespace znni
