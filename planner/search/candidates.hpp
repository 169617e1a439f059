// Enumerates the geometries that a search looks at: pooling modes x pass_input extents (anisotropic too) x S, and
// streams. The list does not depend on the memory limit, so that a larger limit can only find more.
//
// Modes: plain or fragments, in all combinations for up to four poolings; for more, those with all plain poolings
//   before all fragments: of two sets with equally many passes that one repeats less work and needs less memory.
//   If none is plain, every pooling's fragments also in groups (along z first, then y, then x), in all
//   combinations for up to four poolings, one pooling at a time for more. Groups hold the pooling's input; for the
//   first pooling the net may also run again: what comes before a later one costs too much to be repeated.
// Extents: every combination of legal extents where there are few enough. Otherwise up to 192 legal cubes; between
//   two neighbouring cubes, the six patches that mix their edges; and all combinations of a geometric ladder
//   of extents per axis. With a volume: also all combinations of the extents that cut its output into 1 to 8
//   equal parts per axis, and no extent beyond the whole volume. In groups, whose combinations are many: cubes,
//   and what cuts the volume, in up to 4 parts. A net that looks at one plane at a time has patches, and steps,
//   of up to 8 planes. If there are no more, the halves of the largest extents are taken in all combinations, because
//   they cut planes without a rest.
// Streams along z, and along y and x if net or volume differ there: fragments, those of the first pooling also in
//   groups, held, or computed again across the stream (which makes all offsets along itself of one window). If the
//   first is split as far as it goes that way, so is the second: little is kept then. New planes a step: 1 to 32 times
//   the poolings' stride, at finer steps where they are few. Cross-sections: all of them if combinations are few
//   enough; otherwise squares, each 4 % larger than the one before, and with a volume also extents that cut it into up
//   to 4 parts per axis.
// S: powers of two. Beyond 1, where not every combination is taken, cubes alone: a larger patch does better
//   than more patches, unless it runs out of legal extents.
// A network that is bound to its window has that patch alone (planner/network/tile_bound.hpp).
// SearchOptions::max_patches: about as many in all, but for at least 64 of each combination of modes; as many again in
//   groups, and fewer streams. Each that can have a stem in slabs is also made with one.
// SearchOptions::every_extent: all combinations of legal extents for every S, modes and stream, however many.
// Pins (planner/plan/pins.hpp): pinned modes, also such as are not listed above, take the place of all others. A pinned
//   S takes that of the powers of two, enumerated as S of 1 is. A pinned patch has exactly its extents, however large.
#pragma once

#include <vector>

#include "planner/search/extent_combinations.hpp"
#include "planner/search/search.hpp"

namespace znni {

// Streams first; then least repeated work; then by S; then large extents before small. No duplicates. Every candidate
// is a legal geometry. Requires check(network) and, with a volume, one that covers the field of view. Those it came to,
// where options.stop says so: deep networks take long.
[[nodiscard]] std::vector<GeometryChoice> make_candidates(const Network& network, const SearchOptions& options);

// Returns the extents that options.pins.patch may name: for each set of modes that the other pins allow, patches and
// streams apart, up to some strides beyond that patch. Along different axes they combine freely.
[[nodiscard]] std::vector<AxisExtents> patch_extents(const Network& network, const SearchOptions& options);

// Returns the choices between `choice` and what is enumerated beside it. For a stream: steps of up to two strides more
// or less, edges of the cross-section up to 4 % longer. For a patch: all combinations of the three next legal extents
// to either side of its own, and all legal extents along one axis at a time. All are legal and differ from `choice`;
// there are none if the patch is pinned.
[[nodiscard]] std::vector<GeometryChoice> make_neighbours(const Network& network, const SearchOptions& options,
                                                          const GeometryChoice& choice);

}  // namespace znni
