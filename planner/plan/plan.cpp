#include "planner/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "planner/network/swap_axes.hpp"

namespace znni {
namespace {

using Lines = std::vector<std::string>;

// Returns `value` with enough digits to tell any two numbers apart.
std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

std::string geometry_text(const GeometryChoice& choice) {
  std::string text = "pass input " + to_string(choice.pass_input) + ", S " + std::to_string(choice.S) + ", poolings";
  for (const PoolingMode& mode : choice.modes) text += " " + to_string(mode);
  if (choice.stem_slab != 0) text += ", stem in slabs of " + std::to_string(choice.stem_slab);
  if (choice.closed != Vec3{}) text += ", closed along " + axes_text(swap_axes(choice.closed, choice.axis));
  if (choice.streamed) text += ", streamed along " + std::string(axis_name(choice.axis));
  return text;
}

std::string division_text(const Division& division) {
  return ", division S " + std::to_string(division.S) + " f " + std::to_string(division.f) + " f_out " +
         std::to_string(division.f_out) + " slab " + std::to_string(division.slab);
}

// Returns ", within 12 %"; "" if the error is unknown.
std::string within_text(double error) { return error > 0 ? ", within " + number(100 * error) + " %" : ""; }

std::string step_text(const Step& step) {
  std::string text = "node " + std::to_string(step.node) + ": " + step.primitive + ":" + std::to_string(step.version);
  if (!step.variant.empty()) text.append(" ").append(to_string(step.variant));
  text += ", " + to_string(step.in) + " -> " + to_string(step.native);
  if (!step.reorder.empty() || step.out != step.native) text += ", " + step.reorder + " -> " + to_string(step.out);
  for (const Division& division : step.division) text += division_text(division);
  return text + ", " + number(step.seconds) + " s " + std::string(to_string(step.basis)) + within_text(step.error);
}

std::string segment_text(const Segment& segment) {
  return "nodes " + std::to_string(segment.first) + " to " + std::to_string(segment.last) + " on " +
         std::string(to_string(segment.place)) + ", micro-batch inputs " + std::to_string(segment.micro_batch.inputs);
}

void add_key(const PlanKey& key, Lines& lines) {
  lines.push_back("network " + key.network);
  lines.push_back("device " + key.device + ", threads " + std::to_string(key.threads));
  lines.push_back("memory limit " + std::to_string(key.memory_limit));
  lines.push_back("strategy " + key.strategy);
  lines.push_back("precision " + std::string(to_string(key.precision)));
  if (!key.pins.empty()) lines.push_back("pinned " + key.pins);
  if (key.volume) lines.push_back("volume " + to_string(*key.volume));
  lines.push_back("search space " + key.search_space);
  for (std::size_t i = 0; i < key.nodes.size(); ++i) {
    lines.push_back("node " + std::to_string(i) + " is " + key.nodes[i]);
  }
}

void add_rung(const Rung& rung, const std::string& name, Lines& lines) {
  lines.push_back(name + geometry_text(rung.geometry));
  lines.push_back(name + number(rung.seconds) + " s, " + to_string(rung.memory));
  for (const Segment& segment : rung.segments) {
    lines.push_back(name + segment_text(segment));
    for (const Step& step : segment.steps) lines.push_back(name + step_text(step));
  }
}

// Returns every field of the plan, each line with enough context to be read alone.
Lines plan_lines(const Plan& plan) {
  Lines lines;
  add_key(plan.key, lines);
  lines.push_back("memory " + to_string(plan.memory));
  if (plan.sockets != 1) lines.push_back("sockets " + std::to_string(plan.sockets));
  lines.push_back("predicted " + number(plan.predicted.voxels_per_second) + " voxels/s, " +
                  number(plan.predicted.seconds) + " s, border cost " + number(plan.predicted.border_cost) + ", " +
                  std::string(to_string(plan.predicted.basis)) + within_text(plan.predicted.error));
  if (plan.predicted.endless_voxels_per_second > 0)
    lines.push_back("predicted endless " + number(plan.predicted.endless_voxels_per_second) + " voxels/s");
  for (std::size_t i = 0; i < plan.ladder.size(); ++i) {
    add_rung(plan.ladder[i], "rung " + std::to_string(i) + ", ", lines);
  }
  return lines;
}

// Returns longest[i][j]: the number of lines that a from i on and b from j on have in common, in order.
std::vector<std::vector<int>> common_lengths(const Lines& a, const Lines& b) {
  std::vector<std::vector<int>> longest(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      longest[i][j] = a[i] == b[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  return longest;
}

}  // namespace

double endless_rate(const Prediction& predicted) {
  return predicted.endless_voxels_per_second > 0 ? predicted.endless_voxels_per_second : predicted.voxels_per_second;
}

Step around_sublayers(Step step) {
  if (step.division.empty() || step.reorder.empty()) return step;
  step.in = step.native = step.out;
  step.reorder.clear();
  return step;
}

Precision precision_of(const Step& step) {
  return std::max(precision_of(step.variant, step.in, step.native), precision_of({}, step.native, step.out));
}

std::string_view to_string(Place place) {
  static constexpr std::array<std::string_view, 3> names = {"cpu", "gpu", "gpu_host_ram"};
  return names[static_cast<std::size_t>(place)];
}

std::string_view to_string(Basis basis) {
  static constexpr std::array<std::string_view, 4> names = {"model", "recorded, smoothed", "recorded", "measured"};
  return names[static_cast<std::size_t>(basis)];
}

std::string to_string(const MemoryUse& memory) {
  return "weights " + std::to_string(memory.weights) + ", persistent " + std::to_string(memory.persistent) +
         ", transient " + std::to_string(memory.transient) + " bytes";
}

std::vector<Step> steps_of(const Rung& rung) {
  std::vector<Step> all;
  for (const Segment& segment : rung.segments) all.insert(all.end(), segment.steps.begin(), segment.steps.end());
  return all;
}

const Segment* first_off_cpu(const Rung& rung) {
  const auto found = std::find_if(rung.segments.begin(), rung.segments.end(),
                                  [](const Segment& segment) { return segment.place != Place::cpu; });
  return found == rung.segments.end() ? nullptr : &*found;
}

std::vector<std::string> diff(const Plan& a, const Plan& b) {
  const Lines lines_a = plan_lines(a);
  const Lines lines_b = plan_lines(b);
  const auto longest = common_lengths(lines_a, lines_b);
  Lines result;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < lines_a.size() || j < lines_b.size()) {
    const bool both = i < lines_a.size() && j < lines_b.size();
    if (both && lines_a[i] == lines_b[j]) {
      ++i;
      ++j;
    } else if (j == lines_b.size() || (i < lines_a.size() && longest[i + 1][j] >= longest[i][j + 1])) {
      result.push_back("- " + lines_a[i++]);
    } else {
      result.push_back("+ " + lines_b[j++]);
    }
  }
  return result;
}

}  // namespace znni
