#include "proto/convert/text/model_config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "planner/base/sizes.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/base/text_format.hpp"

namespace znni {
namespace {

// Fields of Triton's messages that proto/config.proto leaves out.
struct Ignored {
  std::string_view message;
  std::string_view field;
};
constexpr std::array<Ignored, 22> ignored = {{
    {"inference.ModelConfig", "version_policy"},
    {"inference.ModelConfig", "instance_group"},
    {"inference.ModelConfig", "cc_model_filenames"},
    {"inference.ModelConfig", "metric_tags"},
    {"inference.ModelConfig", "dynamic_batching"},
    {"inference.ModelConfig", "sequence_batching"},
    {"inference.ModelConfig", "ensemble_scheduling"},
    {"inference.ModelConfig", "optimization"},
    {"inference.ModelConfig", "model_warmup"},
    {"inference.ModelConfig", "model_operations"},
    {"inference.ModelConfig", "model_repository_agents"},
    {"inference.ModelConfig", "batch_input"},
    {"inference.ModelConfig", "batch_output"},
    {"inference.ModelConfig", "model_metrics"},
    {"inference.ModelInput", "reshape"},
    {"inference.ModelInput", "is_shape_tensor"},
    {"inference.ModelInput", "allow_ragged_batch"},
    {"inference.ModelInput", "is_non_linear_format_io"},
    {"inference.ModelOutput", "reshape"},
    {"inference.ModelOutput", "label_filename"},
    {"inference.ModelOutput", "is_shape_tensor"},
    {"inference.ModelOutput", "is_non_linear_format_io"},
}};

bool may_skip(const UnknownField& unknown) {
  return std::any_of(ignored.begin(), ignored.end(), [&](const Ignored& known) {
    return known.message == unknown.message && known.field == unknown.field;
  });
}

Error wrong_parameter(std::string_view name, std::string_view found, std::string_view allowed) {
  return {ErrorCode::invalid_argument,
          "parameter " + in_quotes(name) + " is " + in_quotes(found) + "; " + std::string(allowed) + " is right"};
}

// Returns the finite number that is the whole text; nothing if it is another.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = failure == std::errc() && end == text.data() + text.size();
  return is_whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Result<void> read_number(std::string_view name, std::string_view text, float& number) {
  const std::optional<float> value = number_of<float>(text);
  if (!value) return wrong_parameter(name, text, "a finite number");
  number = *value;
  return {};
}

Result<void> read_overlap(std::string_view text, ModelSettings& settings) {
  const std::optional<double> overlap = number_of<double>(text);
  if (!overlap || *overlap < 0 || *overlap >= 1) {
    return wrong_parameter("window_overlap", text, "a share of the window, from 0 to below 1,");
  }
  settings.window_overlap = overlap;
  return {};
}

template <class Word, std::size_t count>
Result<void> read_word(std::string_view name, std::string_view text,
                       const std::array<std::pair<std::string_view, Word>, count>& words, Word& word) {
  std::string allowed;
  for (const auto& [known, value] : words) {
    if (known == text) {
      word = value;
      return {};
    }
    allowed.append(allowed.empty() ? "" : " or ").append(known);
  }
  return wrong_parameter(name, text, allowed);
}

Result<void> read_zscore(std::string_view text, ModelSettings& settings) {
  using Words = std::array<std::pair<std::string_view, InputZscore>, 3>;
  constexpr Words words = {
      {{"none", InputZscore::none}, {"patch", InputZscore::patch}, {"volume", InputZscore::volume}}};
  return read_word("input_zscore", text, words, settings.input_zscore);
}

Result<void> read_output_activation(std::string_view text, ModelSettings& settings) {
  using Words = std::array<std::pair<std::string_view, OutputActivation>, 4>;
  constexpr Words words = {{{"none", OutputActivation::none},
                            {"sigmoid", OutputActivation::sigmoid},
                            {"tanh", OutputActivation::tanh},
                            {"softmax", OutputActivation::softmax}}};
  return read_word("output_activation", text, words, settings.output_activation);
}

Result<void> read_output_grid(std::string_view text, ModelSettings& settings) {
  using Words = std::array<std::pair<std::string_view, OutputGrid>, 2>;
  constexpr Words words = {{{"dense", OutputGrid::dense}, {"network", OutputGrid::network}}};
  return read_word("output_grid", text, words, settings.output_grid);
}

Result<void> read_window_weight(std::string_view text, ModelSettings& settings) {
  using Words = std::array<std::pair<std::string_view, WindowFalloff>, 2>;
  constexpr Words words = {{{"gaussian", WindowFalloff::gaussian}, {"constant", WindowFalloff::constant}}};
  return read_word("window_weight", text, words, settings.window_weight.emplace());
}

// Reads "64,128,128" or "128": as many numbers as the net has axes, or one for all.
Result<void> read_window(std::string_view text, std::vector<std::int64_t>& window) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // far beyond any window; keeps all arithmetic from overflowing
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t extent = 0;
    const auto [rest, failure] = std::from_chars(at, end, extent);
    if (failure != std::errc() || extent < 1 || extent > most) break;
    window.push_back(extent);
    if (rest == end) return {};
    if (*rest != ',' && *rest != 'x') break;
    at = rest + 1;
  }
  return wrong_parameter("window", text, "a number of voxels for each axis, such as 64,128,128, or one for all, 128,");
}

// Reads "affinities" or "affinities,mask": names of outputs, which have no comma.
Result<void> read_outputs(std::string_view text, std::vector<std::string>& outputs) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name(text.substr(begin, end - begin));
    const bool is_new = std::find(outputs.begin(), outputs.end(), name) == outputs.end();
    if (name.empty() || !is_new) return wrong_parameter("outputs", text, "a list of different names, such as a,b,");
    outputs.push_back(name);
    begin = end + 1;
  }
  return {};
}

Result<void> read_memory(std::string_view text, ModelSettings& settings) {
  const Result<std::int64_t> bytes = parse_bytes(text);
  if (!bytes) return wrong_parameter("memory", text, "a size, such as 4G or 512M,");
  settings.memory = *bytes;
  return {};
}

Result<void> read_memory_share(std::string_view text, ModelSettings& settings) {
  constexpr std::int64_t most = 1000;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, settings.memory_share);
  if (failure == std::errc() && rest == end && settings.memory_share >= 1 && settings.memory_share <= most) return {};
  return wrong_parameter("memory_share", text, "a whole number from 1 to 1000");
}

Result<void> read_parameter(const std::string& name, const std::string& text, ModelSettings& settings) {
  if (name == "input_scale") return read_number(name, text, settings.input_scale);
  if (name == "input_offset") return read_number(name, text, settings.input_offset);
  if (name == "input_nonfinite") return read_number(name, text, settings.input_nonfinite.emplace());
  if (name == "input_zscore") return read_zscore(text, settings);
  if (name == "output_activation") return read_output_activation(text, settings);
  if (name == "output_grid") return read_output_grid(text, settings);
  if (name == "outputs") return read_outputs(text, settings.outputs);
  if (name == "window") return read_window(text, settings.window);
  if (name == "window_overlap") return read_overlap(text, settings);
  if (name == "window_weight") return read_window_weight(text, settings);
  if (name == "memory") return read_memory(text, settings);
  if (name == "memory_share") return read_memory_share(text, settings);
  settings.extra.emplace(name, text);
  settings.warnings.push_back(
      "parameter " + in_quotes(name) +
      " has no effect; input_scale, input_offset, input_zscore, input_nonfinite, output_activation, output_grid, "
      "outputs, window, window_overlap, window_weight, memory and memory_share have");
  return {};
}

}  // namespace

Result<ModelSettings> parse_model_config(std::string_view text) {
  ModelSettings settings;
  const Result<std::vector<UnknownField>> skipped = parse_text_skipping(text, settings.config, may_skip);
  if (!skipped) return skipped.error();
  for (const UnknownField& field : *skipped) {
    settings.warnings.push_back("line " + std::to_string(field.line) + ": " + field.field + " has no effect here");
  }
  settings.name = settings.config.name();
  // Sorts the parameters, because a protobuf map has no order and errors should name the same parameter every time.
  std::map<std::string, std::string> parameters;
  for (const auto& [name, value] : settings.config.parameters()) parameters[name] = value.string_value();
  for (const auto& [name, value] : parameters) {
    if (const Result<void> read = read_parameter(name, value, settings); !read) return read.error();
  }
  if (settings.memory && parameters.contains("memory_share")) {
    return Error{ErrorCode::invalid_argument,
                 "parameters 'memory' and 'memory_share' exclude each other: a model has bytes of its own, or a share "
                 "of the rest"};
  }
  return settings;
}

Result<ModelSettings> read_model_config(const std::string& path) {
  const Result<std::string> text = read_file(path, max_text_bytes);
  if (!text) return text.error();
  Result<ModelSettings> settings = parse_model_config(*text);
  if (!settings) return settings.error().within(path);
  for (std::string& warning : settings->warnings) warning.insert(0, path + ": ");
  return settings;
}

}  // namespace znni
