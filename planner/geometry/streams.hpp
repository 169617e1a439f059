// The planes that a streamed net keeps. Along z it computes, step after step, what the newest planes of its input make
// possible. A convolution reads the k - 1 planes before the new ones (in fragments: of the same fragment), a pooling
// window - 1. A valid layer then writes as many new planes as it reads. Steps are alike, but the first do less
// (`idle`): histories begin as zeros, the first fov - 1 planes of output are no one's. A step's last plane needs its
// newest.
//
//   step s:   [ history | new planes ]  ->  node  ->  [ history | new planes ]  ->  node  ->  ...
//   step s+1:      [ history | new planes ]  ...      the history is the end of what step s had
//
// Dense output planes of a step that brings D planes are [s D - (fov - 1), (s + 1) D - (fov - 1)). In a stem in slabs
// nothing is kept but the network's input: it makes again what one slab and the next share. Shifted windows share
// nothing but the volume. Each has the column for itself, as many columns one after the other (Geometry::phases). So no
// more is kept than one of them reads again.
#pragma once

#include "planner/geometry/geometry.hpp"

namespace znni {

// Returns zeros: the histories of patches that are independent.
[[nodiscard]] Histories no_histories(const Network& network);

// Returns the histories of choice.streamed, the same for every extent; no_histories() otherwise. Fails with
// `unsupported` if a pooling of a stride along z keeps one offset or recomputes the net for its groups along z: another
// step would begin elsewhere. Fails so, too, if a node repeats planes at the border that no reader keeps. Requires as
// many modes as the network has poolings.
[[nodiscard]] Result<Histories> make_histories(const Network& network, const GeometryChoice& choice);

// Returns for each value the planes before the new ones that the node wants which reads most of them. `read`: per node.
[[nodiscard]] std::vector<std::int64_t> kept_planes(const Network& network, const std::vector<std::int64_t>& read);

// Checks that each step can bring so many new planes. `stride`: of all poolings together along z.
[[nodiscard]] Result<void> check_new_planes(std::int64_t planes, std::int64_t stride);
// Returns true if the modes alone allow a stream.
[[nodiscard]] bool can_stream(const Network& network, const std::vector<PoolingMode>& modes);
// Returns Geometry::phases of a stream; 1 for patches. Fragments alone count: poolings that keep one offset are not
// streamed.
[[nodiscard]] std::int64_t phases_of(const GeometryChoice& choice);
// Returns true if the stream of these modes, of stream_modes(), has one phase, so that each step completes planes of
// its column.
[[nodiscard]] bool has_one_phase(const std::vector<PoolingMode>& modes);

}  // namespace znni
