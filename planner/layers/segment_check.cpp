#include "planner/layers/segment_check.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace znni {
namespace {

// Fails if the places do not rise, or all is on the CPU.
Result<void> check_places(const std::vector<SegmentDesign>& segments) {
  std::string found;
  bool in_order = segments.back().place != Place::cpu;
  std::ptrdiff_t last = -1;
  for (const SegmentDesign& segment : segments) {
    constexpr std::array order = {Place::cpu, Place::gpu_host_ram, Place::gpu};
    const std::ptrdiff_t place = std::find(order.begin(), order.end(), segment.place) - order.begin();
    in_order = in_order && place > last;
    last = place;
    found += (found.empty() ? "" : ", ") + std::string(to_string(segment.place));
  }
  if (in_order) return {};
  return Error{ErrorCode::unsupported, "segments on " + found +
                                           "; a pipeline runs at most one each on cpu, gpu_host_ram and gpu, in this "
                                           "order, and not the first alone"};
}

Result<void> check_workers(const std::vector<SegmentDesign>& segments) {
  const bool both = segments.size() > 1 && segments[0].place == Place::cpu &&
                    segments[1].place == Place::gpu_host_ram && uses_cpu(segments[1]);
  if (!both) return {};
  return Error{
      ErrorCode::unsupported,
      "a segment on 'gpu_host_ram' leaves layers to the CPU, which computes the head at the same time; behind a "
      "head it may hold divided convolutions only"};
}

}  // namespace

bool uses_cpu(const SegmentDesign& segment) {
  return segment.place != Place::gpu && std::any_of(segment.steps.begin(), segment.steps.end(),
                                                    [](const Step& step) { return step.division.empty(); });
}

Result<void> check_segments(const std::vector<SegmentDesign>& segments) {
  if (Result<void> checked = check_places(segments); !checked) return checked;
  return check_workers(segments);
}

}  // namespace znni
