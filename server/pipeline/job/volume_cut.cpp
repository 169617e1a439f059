#include "server/pipeline/job/volume_cut.hpp"

#include <algorithm>
#include <vector>

namespace znni {
namespace {

constexpr double worth_it = 0.9;  // of the whole's seconds
constexpr double hardly = 1.02;   // of the soonest cut's
constexpr Seconds call = 0.02;    // of a stream, until its first planes are here

struct Candidate {
  Vec3 part;
  PartEstimate estimate;  // of all parts
  std::int64_t parts = 0;
  std::int64_t sent = 0;  // voxels of a plane of each part's input
};

constexpr std::size_t max_extents = 12;  // of parts of a patch, along an axis

// Returns the extents of all, half, a quarter, ... of the patches along an axis, down to one; if those are too many, of
// all patches and of the narrowest.
std::vector<std::int64_t> extents_along(std::int64_t output, std::int64_t patch) {
  std::vector<std::int64_t> extents;
  for (std::int64_t count = div_up(output, patch); count > 1; count = div_up(count, 2)) {
    extents.push_back(std::min(output, mul(count, patch)));
  }
  extents.push_back(std::min(output, patch));
  if (extents.size() > max_extents) extents.erase(extents.begin() + 1, extents.end() - (max_extents - 1));
  return extents;
}

// Parts of one extent along an axis: as many as are whole, and the rest.
struct Run {
  std::int64_t extent = 0;
  std::int64_t count = 0;
};
std::vector<Run> runs_along(std::int64_t output, std::int64_t part) {
  std::vector<Run> runs = {{part, output / part}};
  if (output % part != 0) runs.push_back({output % part, 1});
  return runs;
}

Candidate weigh(Vec3 output, Vec3 fov, Vec3 part, const EstimateOfPart& estimate) {
  Candidate sum{part, {}};
  for (const Run& y : runs_along(output.y, part.y)) {
    for (const Run& x : runs_along(output.x, part.x)) {
      const Vec3 input = Vec3{output.z, y.extent, x.extent} + fov - Vec3::cube(1);
      const std::int64_t count = mul(y.count, x.count);
      const PartEstimate one = estimate(input);
      sum.estimate.seconds += static_cast<double>(count) * (one.seconds + call);
      sum.estimate.fits = sum.estimate.fits && one.fits;
      sum.parts = add(sum.parts, count);
      sum.sent = add(sum.sent, mul(count, mul(input.y, input.x)));
    }
  }
  return sum;
}

std::vector<Candidate> candidates(Vec3 output, Vec3 fov, std::span<const Vec3> patches,
                                  const EstimateOfPart& estimate) {
  std::vector<Candidate> found;
  for (const Vec3 patch : patches) {
    for (const std::int64_t y : extents_along(output.y, patch.y)) {
      for (const std::int64_t x : extents_along(output.x, patch.x)) {
        const Vec3 part{output.z, y, x};
        const auto known = [part](const Candidate& other) { return other.part == part; };
        if (part == output || std::any_of(found.begin(), found.end(), known)) continue;
        found.push_back(weigh(output, fov, part, estimate));
      }
    }
  }
  std::erase_if(found, [](const Candidate& candidate) { return !candidate.estimate.fits; });
  return found;
}

}  // namespace

VolumeCut best_cut(Vec3 output, Vec3 fov, std::span<const Vec3> patches, const EstimateOfPart& estimate) {
  const Candidate whole = weigh(output, fov, output, estimate);
  VolumeCut cut{output, 1, whole.estimate.seconds, whole.estimate.seconds, whole.estimate.fits};
  const std::vector<Candidate> all = candidates(output, fov, patches, estimate);
  if (all.empty()) return cut;
  const auto sooner = [](const Candidate& a, const Candidate& b) { return a.estimate.seconds < b.estimate.seconds; };
  const Seconds soonest = std::min_element(all.begin(), all.end(), sooner)->estimate.seconds;
  if (whole.estimate.fits && soonest > worth_it * whole.estimate.seconds) return cut;
  const Candidate* best = nullptr;
  for (const Candidate& candidate : all) {
    if (candidate.estimate.seconds > hardly * soonest) continue;
    if (best == nullptr || candidate.sent < best->sent) best = &candidate;
  }
  return {best->part, best->parts, whole.estimate.seconds, best->estimate.seconds, true};
}

}  // namespace znni
