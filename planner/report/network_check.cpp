#include "planner/report/network_check.hpp"

#include <algorithm>

#include "planner/base/text_table.hpp"
#include "planner/network/made_valid.hpp"
#include "planner/network/named_tensors.hpp"
#include "planner/network/operation_traits.hpp"
#include "planner/network/output_stride.hpp"
#include "planner/report/json.hpp"

namespace znni {
namespace {

std::vector<std::pair<std::string, std::int64_t>> layers_of(const Network& network) {
  std::vector<std::pair<std::string, std::int64_t>> layers;
  for (const Node& node : network.nodes) {
    const std::string kind(traits_of(node.operation).noun);
    const auto known = std::find_if(layers.begin(), layers.end(), [&](const auto& each) { return each.first == kind; });
    if (known == layers.end()) {
      layers.emplace_back(kind, 1);
    } else {
      ++known->second;
    }
  }
  return layers;
}

// Returns the numbers of the axes that the network has.
std::vector<std::int64_t> along_axes(const NetworkFacts& facts, Vec3 n) {
  std::vector<std::int64_t> numbers;
  for (int axis = 3 - facts.spatial_rank; axis < 3; ++axis) numbers.push_back(n[axis]);
  return numbers;
}

std::string text_along(const NetworkFacts& facts, Vec3 n) {
  std::string text;
  for (const std::int64_t number : along_axes(facts, n)) {
    text.append(text.empty() ? "" : "x").append(std::to_string(number));
  }
  return text;
}

std::string tensor_axes(int spatial_rank) {
  constexpr std::string_view names = "Z, Y, X";
  return "[N, C, " + std::string(names.substr(names.size() - static_cast<std::size_t>(3 * spatial_rank - 2))) + "]";
}

std::string channels_text(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " channel" : " channels");
}

std::string repeats_text(const NetworkFacts& facts, Vec3 stride) {
  return "each voxel of the net's own written as " + text_along(facts, stride) + " equal ones";
}

// Returns the names of several inputs or outputs with their channels, and how outputs that differ in it are repeated.
std::string names_text(const NetworkFacts& facts, const std::vector<NamedTensor>& tensors) {
  const bool differ = outputs_differ_in_stride(tensors);
  std::string text;
  for (const NamedTensor& tensor : tensors) {
    text += (text.empty() ? ": " : ", ") + tensor.name + " " + std::to_string(tensor.channels);
    if (differ && tensor.stride != Vec3::cube(1)) text += " (" + repeats_text(facts, tensor.stride) + ")";
  }
  return tensors.size() > 1 ? text : "";
}

// Returns their names and channels, and the strides of outputs that differ in it.
Json tensors_json(const NetworkFacts& facts, const std::vector<NamedTensor>& tensors) {
  const bool differ = outputs_differ_in_stride(tensors);
  Json json = Json::array();
  for (const NamedTensor& tensor : tensors) {
    json.push_back({{"name", tensor.name}, {"channels", tensor.channels}});
    if (differ) json.back()["stride"] = along_axes(facts, tensor.stride);
  }
  return json;
}

std::string output_text(const NetworkFacts& facts) {
  const bool is_whole = facts.lost == Vec3{};
  const bool repeats = facts.output_stride != Vec3::cube(1);
  return channels_text(facts.f_out) + names_text(facts, facts.outputs) + ", " +
         (is_whole ? "as large as the input" : text_along(facts, facts.lost) + " voxels smaller than the input") +
         (repeats ? ", " + repeats_text(facts, facts.output_stride) : "");
}

std::string field_text(const NetworkFacts& facts) {
  if (facts.tile_bound) {
    const auto has = [&](std::string_view kind) {
      return std::any_of(facts.layers.begin(), facts.layers.end(), [&](const auto& own) { return own.first == kind; });
    };
    return std::string("the whole window: the net ") + (has("normalisation")    ? "normalises over all voxels"
                                                        : has("global pooling") ? "pools all voxels"
                                                                                : "aligns corners");
  }
  if (facts.field_of_view == Vec3{}) return "depends on the voxel: the net upsamples";
  return text_along(facts, facts.field_of_view);
}

// Returns the extents that the net itself takes.
std::string extents_text(const NetworkFacts& facts) {
  std::string text = "at least " + text_along(facts, facts.least);
  if (facts.period == Vec3::cube(1)) return text;
  return text.append(", extents of ").append(text_along(facts, facts.least % facts.period)) + " mod " +
         text_along(facts, facts.period);
}

std::string window_text(const NetworkFacts& facts) {
  if (facts.window != Vec3{}) return text_along(facts, facts.window);
  return "of one extent for each plan: --volume, or the parameter 'window'; " + extents_text(facts);
}

std::string volumes_text(const NetworkFacts& facts) {
  if (!facts.tile_bound) return extents_text(facts);
  const std::string which = facts.lost == Vec3{} ? "any" : "of the window's extent or larger";
  return which + ", by overlapping windows";
}

std::string layers_text(const NetworkFacts& facts) {
  std::string text;
  for (const auto& [kind, count] : facts.layers) {
    text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" ").append(kind);
  }
  return text;
}

std::string parameters_text(std::int64_t count) {
  return count < 10 ? std::to_string(count) : count_text(static_cast<double>(count));
}

std::string number_of(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string line_of(const Blocker& blocker) {
  std::string line = blocker.what + " (" + std::to_string(blocker.count) + "): " + blocker.reason;
  if (!blocker.advice.empty()) line += "; " + blocker.advice;
  if (!blocker.first.empty()) line += "; first '" + blocker.first + "'";
  return line + "\n";
}

Json blocker_json(const Blocker& blocker) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"kind", blocker.what},
          {"count", blocker.count},
          {"reason", blocker.reason},
          {"advice", text_or_null(blocker.advice)},
          {"first_node", text_or_null(blocker.first)}};
}

// Returns the extents that the net itself takes.
Json extents_json(const NetworkFacts& facts) {
  return {{"least", along_axes(facts, facts.least)},
          {"period", along_axes(facts, facts.period)},
          {"remainder", along_axes(facts, facts.least % facts.period)}};
}

// Returns the extents of volumes. The least is null along axes along which it is a window that is not known.
Json volume_json(const NetworkFacts& facts) {
  if (!facts.tile_bound) return extents_json(facts);
  Json least = Json::array();
  for (int axis = 3 - facts.spatial_rank; axis < 3; ++axis) {
    const std::int64_t n = facts.lost[axis] == 0 ? 1 : facts.window[axis];
    least.push_back(n == 0 ? Json(nullptr) : Json(n));
  }
  return {{"least", least}, {"period", along_axes(facts, Vec3::cube(1))}, {"remainder", along_axes(facts, Vec3{})}};
}

// Returns whether make_valid() may have another network for the file.
bool can_be_valid(const std::string& file, const NetworkFacts& facts) {
  return facts.pads && !facts.tile_bound && file.ends_with(".onnx");
}

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

NetworkFacts facts_of(const Network& network) {
  const Vec3 frame = network.frame.begin + network.frame.end;
  NetworkFacts facts;
  facts.name = network.name;
  facts.spatial_rank = network.spatial_rank;
  facts.f_in = network.f_in;
  facts.f_out = channels_of(network).back();
  facts.outputs = named_outputs(network);
  facts.inputs = named_inputs(network);
  facts.tile_bound = is_tile_bound(network);
  facts.pads = has_padding(network);
  facts.window = network.window;
  if (!is_strided(network) && !facts.tile_bound) facts.field_of_view = reaches(network).back().fov;
  facts.lost = lost_extent(network) - Vec3::cube(1);
  facts.output_stride = network.output_stride;
  facts.period = period(network);
  facts.least = min_extent(network) - frame;
  facts.parameters = weight_bytes(network) / static_cast<std::int64_t>(sizeof(float));
  facts.layers = layers_of(network);
  return facts;
}

std::string check_text(const std::string& file, const NetworkFacts& facts) {
  std::vector<TextRow> rows = {
      {"input", channels_text(facts.f_in) + names_text(facts, facts.inputs) + ", " + tensor_axes(facts.spatial_rank)},
      {"output", output_text(facts)},
      {"field of view", field_text(facts)},
      {"volumes", volumes_text(facts)},
      {"parameters", parameters_text(facts.parameters) + " as computed here, batch normalisations folded in"},
      {"layers", layers_text(facts)}};
  if (facts.tile_bound) rows.insert(rows.begin() + 3, TextRow{"window", window_text(facts)});
  if (can_be_valid(file, facts)) {
    rows.push_back({"padding", "without it: planner check " + file + " --make-valid"});
  }
  return file + " runs here\n" + text_table(rows);
}

std::string check_json(const std::string& file, const NetworkFacts& facts) {
  const auto extents = [&](Vec3 n) { return Json(along_axes(facts, n)); };
  Json all = {{"file", file}, {"runs", true}, {"model", facts.name}};
  all["input"] = {{"channels", facts.f_in}, {"spatial_axes", facts.spatial_rank}};
  all["output"] = {
      {"channels", facts.f_out}, {"voxels_smaller", extents(facts.lost)}, {"stride", extents(facts.output_stride)}};
  all["inputs"] = tensors_json(facts, facts.inputs);
  all["outputs"] = tensors_json(facts, facts.outputs);
  all["field_of_view"] = facts.field_of_view == Vec3{} ? Json(nullptr) : extents(facts.field_of_view);
  all["pads"] = facts.pads;
  all["tile_bound"] = facts.tile_bound;
  all["window"] = facts.window == Vec3{} ? Json(nullptr) : extents(facts.window);
  all["windows"] = facts.tile_bound ? extents_json(facts) : Json(nullptr);
  all["volume"] = volume_json(facts);
  all["parameters"] = facts.parameters;
  all["layers"] = Json::object();
  for (const auto& [kind, count] : facts.layers) all["layers"][kind] = count;
  return dumped(all);
}

std::string check_text(const std::string& file, const Blockers& blockers) {
  std::string text = file + " does not run here: " + number_of(blockers.count, "blocker") + " of " +
                     number_of(static_cast<std::int64_t>(blockers.kinds.size()), "kind") + "\n";
  for (const Blocker& blocker : blockers.kinds) text += line_of(blocker);
  if (blockers.unlisted > 0) text += number_of(blockers.unlisted, "blocker") + " of further kinds\n";
  if (!blockers.is_whole) text += "the rest of the file was not looked at\n";
  return text;
}

std::string check_json(const std::string& file, const Blockers& blockers) {
  Json all = {{"file", file}, {"runs", false}, {"blockers", blockers.count}};
  all["kinds"] = Json::array();
  for (const Blocker& blocker : blockers.kinds) all["kinds"].push_back(blocker_json(blocker));
  all["unlisted"] = blockers.unlisted;
  all["whole_file"] = blockers.is_whole;
  return dumped(all);
}

}  // namespace znni
