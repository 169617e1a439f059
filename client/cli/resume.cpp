#include "client/cli/resume.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "primitives/core/write_atomically.hpp"

namespace znni::client {
namespace {

struct Field {
  const char* name;
  std::string JobIdentity::*member;
};
constexpr std::array<Field, 9> fields = {{{"input", &JobIdentity::input},
                                          {"model", &JobIdentity::model},
                                          {"version", &JobIdentity::version},
                                          {"bbox", &JobIdentity::bbox},
                                          {"padding", &JobIdentity::padding},
                                          {"dtype", &JobIdentity::dtype},
                                          {"normalisation", &JobIdentity::normalisation},
                                          {"input_state", &JobIdentity::input_state},
                                          {"network", &JobIdentity::network}}};

// Returns the field name of the count of planes. Records in parts have another name, so that an older client refuses
// them. It does not know parts, and would take planes of a part for planes of the output.
const char* planes_name(bool in_parts) { return in_parts ? "part_planes_done" : "planes_done"; }

bool is_in_parts(const nlohmann::json& json) { return json.contains("parts_done"); }

bool parse_parts(const nlohmann::json& json, ResumeState& state) {
  if (!is_in_parts(json)) return true;
  for (const char* number : {"parts_done", "part_y", "part_x"}) {
    if (!json.contains(number) || !json[number].is_number_integer()) return false;
  }
  if (!json.contains("model_token") || !json["model_token"].is_string()) return false;
  state.parts_done = json["parts_done"].get<std::int64_t>();
  state.part_y = json["part_y"].get<std::int64_t>();
  state.part_x = json["part_x"].get<std::int64_t>();
  state.model_token = json["model_token"].get<std::string>();
  return state.parts_done >= 0 && state.part_y > 0 && state.part_x > 0;
}

// Returns the text of a field; "" if the record has no such field.
std::string text_of(const nlohmann::json& json, const char* field) {
  return json.contains(field) && json[field].is_string() ? json[field].get<std::string>() : "";
}

std::optional<ResumeState> parse(const nlohmann::json& json) {
  if (!json.is_object()) return std::nullopt;
  ResumeState state;
  for (const Field& field : fields) {
    if (!json.contains(field.name) || !json[field.name].is_string()) return std::nullopt;
    state.job.*field.member = json[field.name].get<std::string>();
  }
  const char* const planes_done = planes_name(is_in_parts(json));
  for (const char* number : {planes_done, "planes"}) {
    if (!json.contains(number) || !json[number].is_number_integer()) return std::nullopt;
  }
  if (!json.contains("token") || !json["token"].is_string()) return std::nullopt;
  state.token = json["token"].get<std::string>();
  state.replaces = text_of(json, "replaces");
  state.planes_done = json[planes_done].get<std::int64_t>();
  state.planes = json["planes"].get<std::int64_t>();
  const bool sound = parse_parts(json, state) && state.planes_done >= 0 && state.planes_done <= state.planes;
  return sound ? std::optional(state) : std::nullopt;
}

}  // namespace

std::string resume_path(const FileName& output) {
  std::string dataset = output.dataset;
  for (char& letter : dataset) letter = letter == '/' ? '.' : letter;
  return output.path + dataset + ".partial.json";
}

Result<std::optional<ResumeState>> read_resume(const FileName& output) {
  const std::string path = resume_path(output);
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return std::optional<ResumeState>();
  std::ifstream file(path);
  const std::optional<ResumeState> state = parse(nlohmann::json::parse(file, nullptr, false));
  if (!state) return Error{ErrorCode::corrupt_file, path + ": not a resume record: delete it and start over"};
  return std::optional<ResumeState>(state);
}

Result<void> write_resume(const FileName& output, const ResumeState& state) {
  nlohmann::json json;
  for (const Field& field : fields) json[field.name] = state.job.*field.member;
  json[planes_name(state.part_y > 0)] = state.planes_done;
  json["planes"] = state.planes;
  json["token"] = state.token;
  json["replaces"] = state.replaces;
  if (state.part_y > 0) {
    json["parts_done"] = state.parts_done;
    json["part_y"] = state.part_y;
    json["part_x"] = state.part_x;
    json["model_token"] = state.model_token;
  }
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  const Result<void> written = write_atomically(resume_path(output), text);
  return written ? written : Error{ErrorCode::device_failure, written.error().message};
}

void remove_resume(const FileName& output) {
  std::error_code ignored;  // a record that stays is harmless: its output is complete
  std::filesystem::remove(resume_path(output), ignored);
}

std::string difference(const JobIdentity& then, const JobIdentity& now) {
  for (const Field& field : fields) {
    const std::string& before = then.*field.member;
    const std::string& after = now.*field.member;
    if (before != after) return std::string(field.name) + ": '" + before + "' then, '" + after + "' now";
  }
  return "";
}

}  // namespace znni::client
