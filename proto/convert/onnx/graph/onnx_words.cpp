#include "proto/convert/onnx/graph/onnx_words.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

using Text = std::string_view;

constexpr Text normalise = "train with BatchNorm, InstanceNorm or GroupNorm";
constexpr Text constants = "export a scale and a shift that are constants";
constexpr Text activate = "train with ReLU, LeakyReLU, ELU, SiLU, GELU, sigmoid or tanh";
constexpr Text own_module = "use the framework's own module, with its constants";
constexpr Text constant_bounds = "clip by constant bounds";
constexpr Text pad_modes = "pad by zeros, by the edge or by reflection";
constexpr Text fold = "export with static axes and dynamo=True, which folds what is computed from shapes";
constexpr Text evaluate = "call .eval() on the network before it is exported";
constexpr Text resize = "upsample by nearest neighbours, by ConvTranspose, or linearly with align_corners=False";
constexpr Text whole_factors = "upsample by whole factors";
constexpr Text linear = "write a linear layer over channels as a Conv of kernel 1";
constexpr Text float_text = "export the network before it is quantised";
constexpr Text control = "control flow (If, Loop, sequences)";
constexpr Text unrolled = "export with static axes and dynamo=True, which resolves it";

// An operator that is not supported.
struct OperatorRow {
  Text name;
  Text what;  // "": the name
  Text advice;
  bool keeps_form = false;
};
constexpr std::array<OperatorRow, 22> operators = {{
    {"Celu", "CELU", activate, true},
    {"ConvInteger", "quantised Conv", float_text},
    {"DequantizeLinear", "quantisation (DequantizeLinear)", float_text, true},
    {"DynamicQuantizeLinear", "quantisation (DynamicQuantizeLinear)", float_text},
    {"Gelu", "GELU", own_module, true},
    {"Gemm", "linear layer (Gemm)", linear},
    {"HardSwish", "Hardswish", own_module, true},
    {"LRN", "local response normalisation", normalise, true},
    {"MatMul", "linear layer (MatMul)", linear},
    {"Mish", "", own_module, true},
    {"QLinearConv", "quantised Conv", float_text},
    {"QuantizeLinear", "quantisation (QuantizeLinear)", float_text, true},
    {"RMSNormalization", "RMSNorm", normalise, true},
    {"ReduceL2", "lengths of vectors (ReduceL2)", ""},
    {"SequenceAt", control, unrolled},
    {"SequenceConstruct", control, unrolled},
    {"SequenceEmpty", control, unrolled},
    {"Shrink", "", activate, true},
    {"Softsign", "", activate, true},
    {"SpaceToDepth", "pixel unshuffle", ""},
    {"Swish", "SiLU (Swish)", own_module, true},
    {"ThresholdedRelu", "thresholded ReLU", activate, true},
}};

// Something that a supported operator refuses: a part of its message tells what.
struct RefusalRow {
  Text name;
  Text says;
  Text what;
  Text advice;
  bool keeps_form = false;
};
constexpr std::array<RefusalRow, 28> refusals = {{
    {"BatchNormalization", "(training mode)", "BatchNorm in training mode", evaluate, true},
    {"Cast", "to elements", "Cast to whole numbers", "end the network before it", true},
    {"Clip", "is computed", "Clip by computed bounds", constant_bounds, true},
    {"Dropout", "(training mode)", "Dropout in training mode", evaluate, true},
    {"GroupNormalization", "is computed", "GroupNorm by computed numbers", constants, true},
    {"If", "its condition", control, unrolled},
    {"InstanceNormalization", "is computed", "InstanceNorm by computed numbers", constants, true},
    {"LayerNormalization", "from axis", "LayerNorm over space", normalise, true},
    {"Log", "something else", "logarithm", ""},
    {"Loop", "", control, unrolled},
    {"Pad", "are computed", "Pad by computed amounts", fold},
    {"Pad", "hold a number", "Pad by computed amounts", fold},
    {"Pad", "mode = ", "Pad by other than zeros, edges or reflections", pad_modes},
    {"Pad", "pads by", "Pad by other than zeros, edges or reflections", pad_modes},
    {"ReduceMax", "over axes", "maximum over other axes than space (ReduceMax)", ""},
    {"ReduceMean", "over axes", "mean over other axes than space (ReduceMean)", ""},
    {"Reshape", "is computed", "Reshape to a computed shape", fold},
    {"Resize", "a scale of", "Resize by other than whole factors", whole_factors},
    {"Resize", "grows by one voxel", "Resize by other than whole factors", whole_factors},
    {"Resize", "no multiple of the extent", "Resize by other than whole factors", whole_factors},
    {"Resize", "are computed", "Resize to computed sizes", fold},
    {"Resize", "extents open", "Resize to fixed sizes", "export with static axes, or resize by a scale_factor"},
    {"Slice", "are computed", "Slice with computed bounds", fold},
    {"Slice", "the file leaves open", "Slice by an open extent", "export with static axes"},
    {"Upsample", "a scale of", "Upsample by other than whole factors", whole_factors},
    {"Upsample", "are computed", "Upsample by computed scales", fold},
    {"", "are computed together", "outputs of different extents", ""},
    {"", "are read as channels of one", "inputs of different extents", ""},
}};

bool contains(Text text, Text part) { return text.find(part) != Text::npos; }

// Returns the text of the node's attribute; `otherwise` if it has none.
std::string text_of(const onnx::NodeProto& node, Text name, Text otherwise) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return on_one_line(attribute.s());
  }
  return std::string(otherwise);
}

// Returns how a Resize or Upsample interpolates.
std::string mode_of(const onnx::NodeProto& node) {
  const std::string mode = text_of(node, "mode", "nearest");
  return mode + " " + text_of(node, "coordinate_transformation_mode", "half_pixel");
}

// Returns the words of a row of `refusals` that this operator and this message have; nullopt if there is none.
std::optional<OnnxWords> find_words(Text name, Text message) {
  const auto row = std::find_if(refusals.begin(), refusals.end(), [&](const RefusalRow& known) {
    return known.name == name && contains(message, known.says);
  });
  if (row == refusals.end()) return std::nullopt;
  return OnnxWords{std::string(row->what), std::string(row->advice), row->keeps_form, true};
}

}  // namespace

OnnxWords words_of_operator(Text name) {
  const auto row =
      std::find_if(operators.begin(), operators.end(), [&](const OperatorRow& known) { return known.name == name; });
  if (row == operators.end()) return {on_one_line(name), "", false, true};
  return {std::string(row->what.empty() ? row->name : row->what), std::string(row->advice), row->keeps_form, true};
}

OnnxWords words_of_excitation() {
  return {"squeeze-and-excitation", "make its factors by convolutions of kernel 1 or linear layers", true, true};
}

OnnxWords words_of_shuffle() {
  return {"pixel or channel shuffle", "instead of a pixel shuffle, upsample by ConvTranspose", false, true};
}

OnnxWords words_of_traced_norm() {
  return {"InstanceNorm as a BatchNorm in training mode",
          "export a batch of 1, or with dynamo=False, which writes it as InstanceNormalization", true, true};
}

OnnxWords words_of_refusal(const onnx::NodeProto& node, Text message) {
  const bool resizes = is_operator(node, "Resize") || is_operator(node, "Upsample");
  if (resizes && contains(message, "mode = ")) {
    return {node.op_type() + " " + mode_of(node), std::string(resize), false, true};
  }
  std::optional<OnnxWords> words = find_words(node.op_type(), message);
  if (words && resizes && text_of(node, "mode", "nearest") != "nearest") words->what += " (" + mode_of(node) + ")";
  return words.value_or(OnnxWords{on_one_line(node.op_type()), ""});
}

OnnxWords words_of_network(Text message) {
  return find_words("", message).value_or(OnnxWords{"the network as a whole", ""});
}

OnnxWords words_of_shapes() { return {"numbers computed from shapes", std::string(fold)}; }

OnnxWords words_of_constants() {
  return {"numbers computed from constants", "export with dynamo=True, which folds them"};
}

}  // namespace znni
