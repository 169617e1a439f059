#include "planner/report/explain.hpp"

#include <algorithm>
#include <map>

#include "planner/base/text_table.hpp"
#include "planner/network/operation_traits.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/plan/pairs.hpp"
#include "planner/plan/summary.hpp"

namespace znni {
namespace {

constexpr std::size_t shown_geometries = 5;

std::string network_text(const Network& network) {
  const std::vector<Reach> reach = reaches(network);
  return network.name + ": " + std::to_string(network.nodes.size()) + " nodes, " + std::to_string(network.f_in) +
         " -> " + std::to_string(channels_of(network).back()) + " channels, field of view " +
         to_string(reach.back().fov) + ", pooling stride " + to_string(reach.back().stride) + ", parameters " +
         bytes_text(weight_bytes(network)) + "\n";
}

std::string stem_text(const Network& network, const Geometry& geometry) {
  const Stem& stem = geometry.stem;
  if (stem.last < 0) return "";
  return "stem       up to " + network.nodes[static_cast<std::size_t>(stem.last)].name + " in " +
         std::to_string(stem.begins.size()) + " slabs of " + std::to_string(geometry.choice.stem_slab) +
         " planes each\n";
}

std::string stream_text(const PlanReport& report) {
  if (!report.geometry.choice.streamed) return "";
  const Vec3 section = report.geometry.patch_output;
  const int axis = report.geometry.choice.axis;
  return "stream     along " + std::string(axis_name(axis)) + ", " + std::to_string(section.z) +
         " new planes a step over " + std::to_string(section.y) + "x" + std::to_string(section.x) + " outputs" +
         (axis == 0 ? "; " : " (z and " + std::string(axis_name(axis)) + " are swapped in all extents here); ") +
         bytes_text(report.history_bytes) + " kept from step to step\n";
}

std::string closed_text(const GeometryChoice& choice) {
  if (choice.closed == Vec3{}) return "";
  return "closed     along " + axes_text(swap_axes(choice.closed, choice.axis)) +
         ": the patch has the whole volume, and computes nothing beyond its border\n";
}

std::string passes_text(const Geometry& geometry) {
  const auto passes = static_cast<std::int64_t>(pass_count(geometry));
  const std::int64_t windows = mul(geometry.windows, geometry.phases);
  if (mul(passes, geometry.phases) == 1) return "";
  std::string text = ":";
  if (windows > 1) text += " the net runs on " + std::to_string(windows) + " shifted windows";
  if (geometry.phases > 1) text += ", in phases: a whole column on each, which writes its part of the outputs";
  if (passes == geometry.windows) return text;
  text += windows > 1 ? "," : "";
  return text + " what follows the held pooling runs " + std::to_string(passes / geometry.windows) +
         " times, for a group of fragments each";
}

std::string rounding_text(const RoundingReach& rounding) {
  if (rounding.margin == Vec3{}) return "";
  return "rounding   a voxel's rounding error reaches " + to_string(rounding.voxels()) + " voxels; field of view " +
         to_string(rounding.field_of_view) + "\n";
}

std::string patch_text(const Network& network, const Plan& plan, const PlanReport& report) {
  const std::size_t passes = pass_count(report.geometry);
  std::string text = "patch      " + to_string(report.input.n) + " in, " + to_string(report.output.n) + " out, S " +
                     std::to_string(report.input.S) + ", pooling " + modes_text(report.geometry.choice.modes) + "\n";
  text += "passes     " + std::to_string(passes) + " of " + to_string(report.geometry.choice.pass_input) +
          passes_text(report.geometry) + "\n";
  text += stem_text(network, report.geometry);
  text += stream_text(report);
  text += closed_text(report.geometry.choice);
  text += "predicted  " + predicted_rate_text(plan) + ", " + patch_seconds_text(plan) + ", weakest basis " +
          std::string(to_string(plan.predicted.basis)) + error_text(plan.predicted.error) + "\n";
  text += "border     " + fixed_text(plan.predicted.border_cost, 2) +
          " times the work of an endless patch: larger patches waste less\n";
  return text + rounding_text(report.rounding);
}

// Returns the fastest way of a node by another primitive than the chosen one.
std::string runner_up(const SearchLog& log, int node) {
  const SearchLog::Choice* chosen = nullptr;
  const SearchLog::Choice* other = nullptr;
  for (const SearchLog::Choice& choice : log.choices) {
    if (choice.node == node && choice.chosen) chosen = &choice;
  }
  if (chosen == nullptr) return "";
  for (const SearchLog::Choice& choice : log.choices) {
    if (choice.node != node || choice.primitive == chosen->primitive) continue;
    if (other == nullptr || choice.cost.seconds < other->cost.seconds) other = &choice;
  }
  if (other == nullptr) return "no other";
  std::string text = other->primitive + " takes " + fixed_text(other->cost.seconds / chosen->cost.seconds, 2) + " x";
  if (other->cost.seconds < chosen->cost.seconds) text += ", needs " + bytes_text(other->bytes);
  if (other->in != chosen->in || other->out != chosen->out) {
    text += ", " + layout_text(other->in) + " -> " + layout_text(other->out);
  }
  return text;
}

std::string primitive_text(const Step& step) {
  std::string text = step.primitive;
  if (!step.variant.empty()) text += " (" + to_string(step.variant) + ")";
  if (!step.reorder.empty()) text += (text.empty() ? "" : " + ") + step.reorder;
  return text;
}

// Returns a node's place and sub-layers: "gpu_host_ram in sub-layers of 1 x 20 -> 40, 12 planes".
std::string place_text(const NodeReport& node) {
  std::string text(to_string(node.place));
  if (node.step->division.empty()) return text;
  const Division& sublayer = node.step->division.front();
  return text + " in sub-layers of " + std::to_string(sublayer.S) + " x " + std::to_string(sublayer.f) + " -> " +
         std::to_string(sublayer.f_out) + ", " + std::to_string(sublayer.slab) + " planes";
}

std::string places_text(const PlanReport& report) {
  if (!report.places) return "";
  const PlacesReport& own = *report.places;
  return "places     theta " + std::to_string(own.theta) + "; a patch takes the CPU " + seconds_text(own.cpu) +
         " and, at the same time for the patch before, the GPU " + seconds_text(own.gpu) + "\n" + "bytes      " +
         to_string(own.bytes) + "\n";
}

std::string nodes_table(const PlanReport& report, const SearchLog& log) {
  std::vector<TextRow> rows = {{"node", "name", "writes", "primitive", "formats", "time", "runs", "basis", "GFLOP/s",
                                "keeps", "peak", report.places ? "place" : "runner-up"}};
  for (const NodeReport& node : report.nodes) {
    const Step& step = *node.step;
    const double rate = node.flops / std::max(step.seconds, 1e-12) * 1e-9;
    rows.push_back({node.node < 0 ? "" : std::to_string(node.node), node.name, to_string(node.shape),
                    primitive_text(step), layout_text(step.in) + " -> " + layout_text(step.out),
                    seconds_text(step.seconds), std::to_string(node.runs),
                    std::string(to_string(step.basis)) + error_text(step.error),
                    is_joined(step) ? "" : fixed_text(rate, 1), bytes_text(node.persistent), bytes_text(node.peak),
                    report.places ? place_text(node) : runner_up(log, node.node)});
  }
  return "nodes (time of one run, and how often it runs in a patch; GFLOP/s of the textbook algorithm; peak: all bytes "
         "alive in the worst stage)\n" +
         text_table(rows);
}

bool is_of_kind(std::string_view primitive, std::string_view kind) {
  primitive.remove_prefix(std::min(primitive.find('.') + 1, primitive.size()));
  return primitive.substr(0, primitive.find('.')) == kind;
}

// Returns the reasons, each with the nodes for which it was given. That a pooling does not convolve needs no reason.
std::string refusals_text(const Network& network, const SearchLog& log) {
  std::map<std::pair<std::string, std::string>, std::string> nodes;
  for (const Refusal& refusal : log.refusals) {
    const Operation& operation = network.nodes[static_cast<std::size_t>(refusal.node)].operation;
    if (!is_of_kind(refusal.primitive, traits_of(operation).kind)) continue;
    std::string& names = nodes[{refusal.primitive, refusal.reason}];
    names += (names.empty() ? "" : " ") + network.nodes[static_cast<std::size_t>(refusal.node)].name;
  }
  std::vector<TextRow> rows;
  for (const auto& [why, names] : nodes) rows.push_back({why.first, names, why.second});
  return rows.empty() ? "" : "refused\n" + text_table(rows);
}

std::string geometry_text(const GeometryChoice& choice) {
  return to_string(choice.pass_input) + ", S " + std::to_string(choice.S) + ", " + modes_text(choice.modes) +
         (choice.stem_slab == 0 ? "" : ", stem in slabs") + (choice.streamed ? ", streamed" : "") +
         (choice.axis == 0 ? "" : " along " + std::string(axis_name(choice.axis))) +
         (choice.closed == Vec3{} ? "" : ", closed along " + axes_text(swap_axes(choice.closed, choice.axis)));
}

std::string runners_text(const GeometryChoice& chosen, const SearchLog& log) {
  std::vector<const Candidate*> others;
  for (const Candidate& candidate : log.candidates) {
    if (candidate.voxels_per_second > 0 && candidate.choice != chosen) others.push_back(&candidate);
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const Candidate* a, const Candidate* b) { return a->voxels_per_second > b->voxels_per_second; });
  others.resize(std::min(others.size(), shown_geometries));
  std::vector<TextRow> rows;
  for (const Candidate* other : others) {
    rows.push_back(
        {geometry_text(other->choice), rate_text(other->voxels_per_second), bytes_text(other->memory.total())});
  }
  return rows.empty() ? "" : "next best patches (pass input, S, pooling)\n" + text_table(rows);
}

// Returns the smallest patches with more input than the chosen one that memory ruled out.
std::string too_large_text(const GeometryChoice& chosen, const SearchLog& log) {
  const auto size = [](const GeometryChoice& choice) { return mul(choice.S, voxels(choice.pass_input)); };
  std::vector<const Candidate*> larger;
  for (const Candidate& candidate : log.candidates) {
    const bool memory = candidate.refused.starts_with("needs at least");
    if (memory && candidate.choice.modes == chosen.modes && size(candidate.choice) > size(chosen)) {
      larger.push_back(&candidate);
    }
  }
  std::stable_sort(larger.begin(), larger.end(),
                   [&](const Candidate* a, const Candidate* b) { return size(a->choice) < size(b->choice); });
  larger.resize(std::min(larger.size(), shown_geometries));
  std::vector<TextRow> rows;
  for (const Candidate* other : larger) rows.push_back({geometry_text(other->choice), other->refused});
  return rows.empty() ? "" : "larger patches that do not fit\n" + text_table(rows);
}

std::string sockets_text(const Plan& plan, const SearchLog& log) {
  if (!log.sockets) return "";
  const std::string together = "all on the same patch " + rate_text(log.sockets->together);
  const double rate = log.sockets->apart;
  const std::string doubt = log.sockets->known ? "" : ", by formulas alone: a socket was not measured";
  const std::string apart = "each on its own " + (rate > 0 ? rate_text(rate) + doubt : "does not fit");
  return "sockets    " + (plan.sockets > 1 ? apart + "; " + together : together + "; " + apart) + "\n";
}

std::string considered_text(const PlanReport& report, const SearchLog& log) {
  const auto exact = std::count_if(log.candidates.begin(), log.candidates.end(),
                                   [](const Candidate& candidate) { return candidate.voxels_per_second > 0; });
  const std::string searched = "searched   " + std::to_string(log.candidates.size()) + " patches; ";
  if (report.places) return searched + std::to_string(exact) + " of them fit in some cut\n";
  const std::string rest = ", the rest ruled out by memory or by a bound on their speed\n";
  if (log.cut == 0) return searched + std::to_string(exact) + " combined exactly" + rest;
  return searched + std::to_string(exact) + " combined" + rest + "note       " + std::to_string(log.cut) +
         " times a patch had too many combinations of primitives: the fastest and the leanest were followed, so a " +
         "better plan may exist\n";
}

}  // namespace

std::string explain(const Network& network, const Plan& plan, const PlanReport& report, const SearchLog& log) {
  const GeometryChoice& chosen = plan.ladder.front().geometry;
  return network_text(network) + "device     " + plan.key.device + ", strategy " + plan.key.strategy + ", precision " +
         std::string(to_string(plan.key.precision)) + "\n" + pins_text(plan) + patch_text(network, plan, report) +
         sockets_text(plan, log) + "memory     " + memory_text(plan) + "\n" + places_text(report) +
         considered_text(report, log) + nodes_table(report, log) + refusals_text(network, log) +
         runners_text(chosen, log) + too_large_text(chosen, log);
}

}  // namespace znni
