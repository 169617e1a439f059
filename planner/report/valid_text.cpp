#include "planner/report/valid_text.hpp"

#include <algorithm>
#include <vector>

#include "planner/base/text_table.hpp"
#include "planner/report/json.hpp"
#include "planner/report/network_check.hpp"

namespace znni {
namespace {

// Returns the numbers of the axes that the network has.
std::vector<std::int64_t> along_axes(int rank, Vec3 n) {
  std::vector<std::int64_t> numbers;
  for (int axis = 3 - rank; axis < 3; ++axis) numbers.push_back(n[axis]);
  return numbers;
}

std::string text_along(int rank, Vec3 n) {
  std::string text;
  for (const std::int64_t number : along_axes(rank, n)) {
    text.append(text.empty() ? "" : "x").append(std::to_string(number));
  }
  return text;
}

// Returns the voxels at both ends, in one number where these are equal.
std::string ends_text(int rank, const Border& voxels) {
  const std::string begin = text_along(rank, voxels.begin);
  if (voxels.begin == voxels.end) return begin + " at both ends";
  return begin + " at the begin and " + text_along(rank, voxels.end) + " at the end";
}

std::string change_text(int rank, const ValidChange& change) {
  const std::string ends = ends_text(rank, change.voxels);
  switch (change.kind) {
    case ValidChangeKind::unpadded: return "pads become 0; they were " + ends;
    case ValidChangeKind::removed: return "removed; it padded by " + ends;
    case ValidChangeKind::output_cropped:
      return change.voxels == Border{} ? "removed; what it cropped is not computed" : "crops by " + ends;
    case ValidChangeKind::input_cropped: break;
  }
  const bool is_input = change.node == "input" || change.node == "output";
  return (is_input ? "" : "input " + std::to_string(change.input + 1) + " ") + "cropped by " + ends;
}

std::string_view word_of(ValidChangeKind kind) {
  switch (kind) {
    case ValidChangeKind::unpadded: return "unpadded";
    case ValidChangeKind::removed: return "removed";
    case ValidChangeKind::input_cropped: return "input_cropped";
    case ValidChangeKind::output_cropped: return "output_cropped";
  }
  return "";
}

Vec3 output_of(const Network& network, Vec3 volume) { return volume - lost_extent(network) + Vec3::cube(1); }

// Returns which voxels are equal.
std::string place_text(int rank, const MadeValid& made) {
  std::string text = "voxel 0 of its output is voxel " + text_along(rank, made.first) + " of what " +
                     "the padded net gives for the same volume";
  if (made.step == Vec3::cube(1)) return text + ", and all of its voxels are equal to that one's";
  return text + "; it is dense, and equal to that one at every " + text_along(rank, made.step) +
         "th voxel of the padded net's, which computes no others";
}

// Returns why the network does not take the volume; "" if it does.
std::string refusal_of(const Network& network, Vec3 volume) {
  const Vec3 least = min_extent(network) - network.frame.begin - network.frame.end;
  if (!covers(volume, least)) return "too small, at least " + text_along(network.spatial_rank, least) + " is right";
  const Result<void> fits = check_volume(network, volume);
  return fits ? "" : fits.error().message;
}

// Returns the extent of an output, or why there is none.
std::string extent_text(const Network& network, Vec3 volume) {
  const std::string refusal = refusal_of(network, volume);
  return refusal.empty() ? text_along(network.spatial_rank, output_of(network, volume)) : refusal;
}

Json extent_json(const Network& network, Vec3 volume) {
  const bool fits = refusal_of(network, volume).empty();
  return fits ? Json(along_axes(network.spatial_rank, output_of(network, volume))) : Json(nullptr);
}

Json change_json(int rank, const ValidChange& change) {
  Json json = {{"node", change.node},
               {"change", word_of(change.kind)},
               {"begin", along_axes(rank, change.voxels.begin)},
               {"end", along_axes(rank, change.voxels.end)}};
  if (change.kind == ValidChangeKind::input_cropped) json["input"] = change.input;
  return json;
}

std::string ending(const ValidAnswer& answer) {
  if (!answer.refusal.empty()) return "cannot be written: " + answer.refusal + "\n";
  return answer.written.empty() ? "not written: name a file, --make-valid OUT.onnx\n"
                                : "written to " + answer.written + "\n";
}

}  // namespace

std::string valid_text(const ValidAnswer& answer, const Network& padded, const MadeValid& made) {
  const int rank = padded.spatial_rank;
  if (made.changes.empty()) return answer.file + " is valid as it is: nothing in it pads\n" + ending(answer);
  std::vector<TextRow> rows;
  for (const ValidChange& change : made.changes) rows.push_back({change.node, change_text(rank, change)});
  std::string text = answer.file + " pads; without that\n" + text_table(rows) + place_text(rank, made) + "\n";
  if (answer.volume) {
    text += "a volume of " + text_along(rank, *answer.volume) + ": " +
            extent_text(made.loaded.network, *answer.volume) +
            "; with padding: " + extent_text(padded, *answer.volume) + "\n";
  }
  return text + check_text("the valid net", facts_of(made.loaded.network)) + ending(answer);
}

std::string valid_json(const ValidAnswer& answer, const Network& padded, const MadeValid& made) {
  const int rank = padded.spatial_rank;
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json all = {{"file", answer.file}, {"pads", has_padding(padded)}};
  all["changes"] = json_list(made.changes, [&](const ValidChange& change) { return change_json(rank, change); });
  all["first_voxel"] = along_axes(rank, made.first);
  all["step"] = along_axes(rank, made.step);
  if (answer.volume) {
    all["volume"] = {{"input", along_axes(rank, *answer.volume)},
                     {"output", extent_json(made.loaded.network, *answer.volume)},
                     {"padded_output", extent_json(padded, *answer.volume)}};
  }
  all["valid"] =
      Json::parse(check_json(answer.written.empty() ? answer.file : answer.written, facts_of(made.loaded.network)));
  all["written"] = text_or_null(answer.written);
  all["refusal"] = text_or_null(answer.refusal);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace znni
