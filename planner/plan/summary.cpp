#include "planner/plan/summary.hpp"

#include "planner/base/text_table.hpp"
#include "planner/geometry/streams.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {
namespace {

// Returns "conv1" for "conv1: conv 1 -> 80, k 4x4x4, relu <- input".
std::string node_name(const PlanKey& key, int node) {
  if (node < 0) return "(input)";
  const auto index = static_cast<std::size_t>(node);
  if (index >= key.nodes.size()) return std::to_string(node);
  return key.nodes[index].substr(0, key.nodes[index].find(": "));
}

std::string primitive_text(const Step& step) {
  std::string text = step.primitive;
  if (!step.variant.empty()) text += " (" + to_string(step.variant) + ")";
  if (!step.reorder.empty()) text += (text.empty() ? "" : " + ") + step.reorder;
  return text;
}

std::string steps_table(const Plan& plan) {
  std::vector<TextRow> rows = {{"node", "name", "primitive", "formats", "predicted", "basis"}};
  for (const Segment& segment : plan.ladder.front().segments) {
    for (const Step& step : segment.steps) {
      const std::string formats = layout_text(step.in) + " -> " + layout_text(step.out);
      rows.push_back({step.node < 0 ? "" : std::to_string(step.node), node_name(plan.key, step.node),
                      primitive_text(step), formats, seconds_text(step.seconds),
                      std::string(to_string(step.basis)) + error_text(step.error)});
    }
  }
  return text_table(rows);
}

std::string ladder_table(const Plan& plan) {
  std::vector<TextRow> rows = {{"pass input", "S", "pooling", "a patch takes", "transient", "persistent"}};
  for (const Rung& rung : plan.ladder) {
    const std::string streamed =
        rung.geometry.streamed ? " a step along " + std::string(axis_name(rung.geometry.axis)) : "";
    const std::string closed = rung.geometry.closed == Vec3{}
                                   ? ""
                                   : ", closed along " + axes_text(swap_axes(rung.geometry.closed, rung.geometry.axis));
    rows.push_back({to_string(rung.geometry.pass_input) + streamed + closed, std::to_string(rung.geometry.S),
                    modes_text(rung.geometry.modes), seconds_text(rung.seconds), bytes_text(rung.memory.transient),
                    bytes_text(rung.memory.persistent)});
  }
  return text_table(rows);
}

}  // namespace

std::string layout_text(Format format) {
  const std::string text = to_string(format);
  return format.type == ElementType::f32 ? text.substr(text.find(':') + 1) : text;
}

std::string modes_text(const std::vector<PoolingMode>& modes) {
  if (modes.empty()) return "none";
  std::string text;
  for (const PoolingMode& mode : modes) text += (text.empty() ? "" : " ") + to_string(mode);
  return text;
}

std::string memory_text(const Plan& plan) {
  return "limit " + bytes_text(plan.key.memory_limit) + ": " + bytes_text(plan.memory.weights) + " weights + " +
         bytes_text(plan.memory.persistent) + " persistent + " + bytes_text(plan.memory.transient) +
         " transient = " + bytes_text(plan.memory.total());
}

std::string error_text(double error) {
  return error > 0 ? ", within " + fixed_text(100 * error, error < 0.1 ? 1 : 0) + " %" : "";
}

std::string patch_seconds_text(const Plan& plan) {
  const Seconds phase = plan.predicted.seconds;
  const std::int64_t phases = plan.ladder.empty() ? 1 : phases_of(plan.ladder.front().geometry);
  if (phases == 1) return seconds_text(phase) + " a patch";
  return seconds_text(phase * static_cast<double>(phases)) + " a patch, in " + std::to_string(phases) + " phases of " +
         seconds_text(phase);
}

std::string predicted_rate_text(const Plan& plan) {
  const std::string rate = rate_text(plan.predicted.voxels_per_second);
  if (plan.key.of_unknown_volume) return rate + " in the volume it was made for, which its file does not name";
  if (!plan.key.volume) return rate + " in an endless volume";
  std::string here = rate + " in a volume of " + to_string(*plan.key.volume);
  const GeometryChoice choice = plan.ladder.empty() ? GeometryChoice{} : plan.ladder.front().geometry;
  const Vec3 open = swap_axes(Vec3::cube(1) - choice.closed, choice.axis);
  if (open == Vec3{}) return here;
  const std::string where = open == Vec3::cube(1) ? "in an endless one" : "in one endless along " + axes_text(open);
  return here + ", " + rate_text(endless_rate(plan.predicted)) + " " + where;
}

std::string pins_text(const Plan& plan) { return plan.key.pins.empty() ? "" : "pinned     " + plan.key.pins + "\n"; }

std::string summary(const Plan& plan) {
  std::string text = plan.key.network + " on " + plan.key.device + ", strategy " + plan.key.strategy + ", precision " +
                     std::string(to_string(plan.key.precision)) + "\n";
  text += pins_text(plan);
  text += "predicted  " + predicted_rate_text(plan) + ", " + patch_seconds_text(plan) + " (" +
          std::string(to_string(plan.predicted.basis)) + error_text(plan.predicted.error) + "), border cost " +
          fixed_text(plan.predicted.border_cost, 2) + "\n";
  if (plan.sockets > 1) text += "sockets    " + std::to_string(plan.sockets) + ", each with patches of its own\n";
  text += "memory     " + memory_text(plan) + "\n";
  if (plan.ladder.empty()) return text;
  return text + "nodes of the first patch\n" + steps_table(plan) + "patches\n" + ladder_table(plan);
}

}  // namespace znni
