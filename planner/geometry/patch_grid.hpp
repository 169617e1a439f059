// Overlap-save tiling of a volume: patches of one extent whose outputs cover the dense output exactly. The
// last patch along an axis is moved inward, so that no voxel outside the volume is read; a volume smaller
// than the patch is read as if it continued with zeros, and what depends on those is not written.
//
// Of a streamed net the patches are steps along z of columns, one column after the other. A column begins fov - 1
// planes, and Geometry::lead, before its output, with steps that own nothing. It ends with one that reads zeros beyond
// the volume. Several columns may lie side by side, or one may run in several phases, a window each. Then an output
// plane is complete only when all of them have passed it. Until then their output waits. So it is cut into bands of at
// most as many planes as may wait, and the columns begin again for each band. One of them need not: bands run to and
// fro. The last stream of one band still has what it keeps, and goes on as the first of the next (on one socket; of
// several, each has others). Columns along y or x, whose places have the axes swapped as their geometry has, run row by
// row: a row completes the planes of z that its cross-section has.
#pragma once

#include <vector>

#include "planner/geometry/geometry.hpp"

namespace znni {

// One patch: reads [start, start + patch_input) of the volume and owns the dense outputs [start + own_first, start +
// own_last) of its own patch_output. No other patch writes them; of a column in several phases those among them that
// the passes of its own phase write.
struct GridPatch {
  Vec3 start;
  Vec3 own_first;
  Vec3 own_last;
  bool continues = false;  // the step after the one before it: else what a stream keeps is forgotten first
  int phase = 0;           // Geometry::phases
  bool operator==(const GridPatch&) const = default;
};

// When patches [0, end) are done, and not before, output planes [first_plane, first_plane + planes) are complete.
struct GridRow {
  std::int64_t end = 0;
  std::int64_t first_plane = 0;  // of the volume's z, whatever the axis of a stream
  std::int64_t planes = 0;
  bool operator==(const GridRow&) const = default;
};

// Patches in the order in which they run: along z, in a row y then x; of streams band by band, to and fro, or row by
// row, column by column, phase by phase.
struct PatchGrid {
  std::vector<GridPatch> patches;
  std::vector<GridRow> rows;  // in rising order of planes, without gaps
};

// Makes the grid of patches of a volume. `volume`, `patch_input` in input voxels, `fov` per axis. Requires
// covers(volume, fov) and covers(patch_input, fov). Patches begin at multiples of `period`; volume - patch_input is a
// multiple of it, too, and each patch writes a period at least. Every dense output voxel is owned exactly once.
[[nodiscard]] PatchGrid make_patch_grid(Vec3 volume, Vec3 patch_input, Vec3 fov, Vec3 period = Vec3::cube(1));

// Returns the row of a patch.
[[nodiscard]] const GridRow& row_of(const PatchGrid& grid, std::int64_t patch);

// Returns the number of patches alone; saturates.
[[nodiscard]] std::int64_t patch_count(Vec3 volume, Vec3 patch_input, Vec3 fov, Vec3 period = Vec3::cube(1));

// Makes the grid of the patches of `geometry`, streamed or not. `max_planes`: planes of output that may wait if there
// are several columns or phases, at least 1. `sockets`: those among which columns of a row and their phases are dealt
// out.
[[nodiscard]] PatchGrid make_patch_grid(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes,
                                        int sockets = 1);
[[nodiscard]] std::int64_t patch_count(Vec3 volume, const Geometry& geometry, Vec3 fov,
                                       std::int64_t max_planes = saturated, int sockets = 1);

// Returns how many batches of up to S patches one of `sockets` runs one after the other. Batches are dealt out to all
// sockets; of a stream, columns of the same row and their phases are.
[[nodiscard]] std::int64_t batches_in_turn(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes,
                                           int sockets);

// Returns how many streams, columns and their phases, a socket begins one after the other; 0 for patches.
[[nodiscard]] std::int64_t streams_in_turn(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes,
                                           int sockets);

// Returns the planes of the largest row.
[[nodiscard]] std::int64_t row_planes(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes);

// Returns the number of rows to which a batch of S patches may belong; 1 for a stream, which completes a row at a time.
[[nodiscard]] std::int64_t rows_of_batch(Vec3 volume, const Geometry& geometry, Vec3 fov);

// Returns the planes of the input that must be held at a time while up to S patches run together, one row after the
// other. No earlier plane is ever read again. At most the planes of the volume.
[[nodiscard]] std::int64_t input_planes(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes,
                                        int sockets = 1);
// Returns the same for a pipeline: the next S patches are read while S are computed and the S before them are stitched.
// A rung that goes on with what these have not delivered must find all of its input.
[[nodiscard]] std::int64_t input_planes_ahead(Vec3 volume, const Geometry& geometry, Vec3 fov, std::int64_t max_planes);

}  // namespace znni
