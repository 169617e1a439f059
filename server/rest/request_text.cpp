#include "server/rest/request_text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "server/rest/json_walk.hpp"
#include "server/rpc/base/client_text.hpp"

namespace znni::rest {
namespace {

using Parameters = google::protobuf::Map<std::string, inference::InferParameter>;

enum class JsonPlace {
  none,
  request,
  id,
  parameters,
  inputs,
  input,
  input_name,
  datatype,
  shape,
  extent,
  input_parameters,
  data,
  outputs,
  output,
  output_name,
  output_parameters,
  parameter,  // in any of the three kinds of parameters
  other,      // passed over
};

// Says which value a key of an object names.
struct Key {
  JsonPlace object;
  std::string_view name;
  JsonPlace value;
};

constexpr std::array<Key, 11> keys = {{
    {JsonPlace::request, "id", JsonPlace::id},
    {JsonPlace::request, "parameters", JsonPlace::parameters},
    {JsonPlace::request, "inputs", JsonPlace::inputs},
    {JsonPlace::request, "outputs", JsonPlace::outputs},
    {JsonPlace::input, "name", JsonPlace::input_name},
    {JsonPlace::input, "datatype", JsonPlace::datatype},
    {JsonPlace::input, "shape", JsonPlace::shape},
    {JsonPlace::input, "parameters", JsonPlace::input_parameters},
    {JsonPlace::input, "data", JsonPlace::data},
    {JsonPlace::output, "name", JsonPlace::output_name},
    {JsonPlace::output, "parameters", JsonPlace::output_parameters},
}};

bool holds_parameters(JsonPlace place) {
  return place == JsonPlace::parameters || place == JsonPlace::input_parameters ||
         place == JsonPlace::output_parameters;
}

bool is_array(JsonPlace place) {
  return place == JsonPlace::inputs || place == JsonPlace::outputs || place == JsonPlace::shape ||
         place == JsonPlace::data;
}

bool is_object(JsonPlace place) {
  return place == JsonPlace::request || place == JsonPlace::input || place == JsonPlace::output ||
         holds_parameters(place);
}

// Returns what the elements of an array are.
JsonPlace element_of(JsonPlace array) {
  switch (array) {
    case JsonPlace::inputs: return JsonPlace::input;
    case JsonPlace::outputs: return JsonPlace::output;
    case JsonPlace::shape: return JsonPlace::extent;
    case JsonPlace::data: return JsonPlace::data;
    default: return JsonPlace::other;
  }
}

std::string_view expected_at(JsonPlace place) {
  switch (place) {
    case JsonPlace::id:
    case JsonPlace::input_name:
    case JsonPlace::datatype:
    case JsonPlace::output_name: return "a string";
    case JsonPlace::extent: return "whole numbers";
    case JsonPlace::data: return "an array of numbers";
    case JsonPlace::parameter: return "a string, a number, true or false";
    default: return is_array(place) ? "an array" : "an object";
  }
}

Error invalid_text(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::optional<std::int64_t> whole_number(const JsonValue& value) {
  if (const auto* negative = std::get_if<std::int64_t>(&value)) return *negative;
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (number == nullptr || *number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

// Returns false for null.
bool set_parameter(const JsonValue& value, inference::InferParameter& parameter) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    parameter.set_bool_param(*truth);
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    parameter.set_string_param(std::string(*text));
  } else if (const std::optional<std::int64_t> number = whole_number(value)) {
    parameter.set_int64_param(*number);
  } else if (const auto* large = std::get_if<std::uint64_t>(&value)) {
    parameter.set_uint64_param(*large);
  } else if (const auto* real = std::get_if<double>(&value)) {
    parameter.set_double_param(*real);
  } else {
    return false;
  }
  return true;
}

class Reader final : public JsonEvents {
 public:
  Result<void> open(JsonKind kind, std::size_t position) override {
    const JsonPlace place = coming();
    if (place != JsonPlace::other && !(kind == JsonKind::object ? is_object(place) : is_array(place)))
      return wrong(place);
    if (Result<void> begun = begin(place, position); !begun) return begun;
    open_.push_back(place);
    return {};
  }

  Result<void> close(std::size_t position) override {
    const JsonPlace place = open_.back();
    open_.pop_back();
    if (place == JsonPlace::data && open_.back() == JsonPlace::input) text_.inputs.back().end = position;
    return {};
  }

  Result<void> key(std::string_view name) override {
    const JsonPlace object = open_.back();
    key_ = rpc::one_line(name, 80);
    if (holds_parameters(object)) {
      parameter_ = name;
      next_ = JsonPlace::parameter;
      return {};
    }
    const auto* const known = std::find_if(keys.begin(), keys.end(),
                                           [&](const Key& key) { return key.object == object && key.name == name; });
    next_ = known == keys.end() ? JsonPlace::other : known->value;
    if (next_ == JsonPlace::other || seen_.insert({object, next_}).second) return {};
    return invalid_text("'" + key_ + "' found twice, expected once");
  }

  Result<void> value(const JsonValue& value) override {
    const JsonPlace place = coming();
    switch (place) {
      case JsonPlace::other: return {};
      case JsonPlace::id: return take_text(value, *text_.message.mutable_id());
      case JsonPlace::input_name: return take_text(value, *input().mutable_name());
      case JsonPlace::datatype: return take_text(value, *input().mutable_datatype());
      case JsonPlace::output_name: return take_text(value, *output().mutable_name());
      case JsonPlace::extent: return take_extent(value);
      case JsonPlace::data: return take_datum(value);
      case JsonPlace::parameter: return take_parameter(value);
      default: return wrong(place);
    }
  }

  [[nodiscard]] RequestText text() && { return std::move(text_); }

 private:
  using Input = inference::ModelInferRequest::InferInputTensor;
  using Output = inference::ModelInferRequest::InferRequestedOutputTensor;

  // Returns what comes next, by the place where it stands.
  [[nodiscard]] JsonPlace coming() const {
    if (open_.empty()) return JsonPlace::request;
    return is_array(open_.back())             ? element_of(open_.back())
           : open_.back() == JsonPlace::other ? JsonPlace::other
                                              : next_;
  }

  [[nodiscard]] Error wrong(JsonPlace place) const {
    return invalid_text((key_.empty() ? std::string("the request") : "'" + key_ + "'") +
                        ": found something else, expected " + std::string(expected_at(place)));
  }

  Result<void> begin(JsonPlace place, std::size_t position) {
    if (place == JsonPlace::input || place == JsonPlace::output) {
      if (Result<void> fits =
              one_more(place == JsonPlace::input ? text_.message.inputs_size() : text_.message.outputs_size());
          !fits) {
        return fits;
      }
      std::erase_if(seen_, [place](const auto& entry) { return entry.first == place; });
    }
    if (place == JsonPlace::input) {
      text_.message.add_inputs();
      text_.inputs.emplace_back();
    } else if (place == JsonPlace::output) {
      text_.message.add_outputs();
      text_.outputs_binary.emplace_back();
    } else if (place == JsonPlace::data && open_.back() == JsonPlace::input) {
      text_.inputs.back().has_data = true;
      text_.inputs.back().begin = position - 1;
    }
    return {};
  }

  // Checks that a list of `listed` may get one more.
  [[nodiscard]] Result<void> one_more(int listed) const {
    if (listed < max_listed) return {};
    return invalid_text("'" + key_ + "': more than " + std::to_string(max_listed) + " found in one list");
  }

  [[nodiscard]] Input& input() { return *text_.message.mutable_inputs(text_.message.inputs_size() - 1); }
  [[nodiscard]] Output& output() { return *text_.message.mutable_outputs(text_.message.outputs_size() - 1); }

  Result<void> take_text(const JsonValue& value, std::string& to) const {
    const auto* const text = std::get_if<std::string_view>(&value);
    if (text == nullptr) return wrong(coming());
    to = *text;
    return {};
  }

  Result<void> take_extent(const JsonValue& value) {
    const std::optional<std::int64_t> extent = whole_number(value);
    if (!extent) return wrong(JsonPlace::extent);
    if (Result<void> fits = one_more(input().shape_size()); !fits) return fits;
    input().add_shape(*extent);
    return {};
  }

  // Refuses a single number where the array should begin, too.
  Result<void> take_datum(const JsonValue& value) {
    const bool is_number = std::holds_alternative<std::int64_t>(value) ||
                           std::holds_alternative<std::uint64_t>(value) || std::holds_alternative<double>(value);
    if (!is_number || open_.back() != JsonPlace::data) return wrong(JsonPlace::data);
    ++text_.inputs.back().values;
    return {};
  }

  Result<void> take_parameter(const JsonValue& value) {
    switch (open_.back()) {
      case JsonPlace::parameters:
        if (parameter_ == "binary_data_output") return take_truth(value, text_.binary_output);
        return add_parameter(value, *text_.message.mutable_parameters());
      case JsonPlace::input_parameters:
        if (parameter_ == "binary_data_size") return take_size(value);
        return add_parameter(value, *input().mutable_parameters());
      default:
        if (parameter_ == "binary_data") return take_truth(value, text_.outputs_binary.back().emplace());
        return add_parameter(value, *output().mutable_parameters());
    }
  }

  Result<void> take_truth(const JsonValue& value, bool& to) const {
    const auto* const truth = std::get_if<bool>(&value);
    if (truth == nullptr) return invalid_text("'" + key_ + "': expected true or false");
    to = *truth;
    return {};
  }

  Result<void> take_size(const JsonValue& value) {
    const std::optional<std::int64_t> size = whole_number(value);
    if (!size || *size < 0) return invalid_text("'" + key_ + "': expected a whole number of at least 0");
    text_.inputs.back().binary_bytes = *size;
    return {};
  }

  Result<void> add_parameter(const JsonValue& value, Parameters& to) const {
    if (Result<void> fits = one_more(static_cast<int>(to.size())); !fits) return fits;
    if (to.contains(parameter_)) return invalid_text("parameter '" + key_ + "' found twice, expected once");
    if (!set_parameter(value, to[parameter_])) return wrong(JsonPlace::parameter);
    return {};
  }

  RequestText text_;
  std::vector<JsonPlace> open_;                     // objects and arrays that have not ended
  JsonPlace next_ = JsonPlace::none;                // what the last key names
  std::string key_;                                 // the last one, for errors
  std::string parameter_;                           // the last one's name
  std::set<std::pair<JsonPlace, JsonPlace>> seen_;  // object and key, until the next object of its kind
};

}  // namespace

Result<RequestText> read_request_text(std::string_view json) {
  Reader reader;
  if (const Result<void> walked = walk_json(json, reader); !walked) return walked.error();
  return std::move(reader).text();
}

}  // namespace znni::rest
