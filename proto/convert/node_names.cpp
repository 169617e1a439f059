#include "proto/convert/node_names.hpp"

#include <string_view>

#include "proto/convert/errors.hpp"

namespace znni {
namespace {

std::string_view stem_of(text::Node::OpCase operation) {
  switch (operation) {
    case text::Node::kConv: return "conv";
    case text::Node::kMaxPool:
    case text::Node::kAveragePool: return "pool";
    case text::Node::kActivate: return "activation";
    case text::Node::kSoftmax:
    case text::Node::kLogSoftmax: return "softmax";
    case text::Node::kArgMax: return "arg_max";
    case text::Node::kScaleShift: return "scale";
    case text::Node::kAdd: return "add";
    case text::Node::kNorm:
    case text::Node::kChannelNorm: return "norm";
    case text::Node::kGlobalAveragePool:
    case text::Node::kGlobalMaxPool: return "global";
    case text::Node::kMultiply: return "multiply";
    case text::Node::kConcat: return "concat";
    case text::Node::kCrop: return "crop";
    case text::Node::kUpsample: return "upsample";
    case text::Node::OP_NOT_SET: break;
  }
  return "node";
}

}  // namespace

std::string NodeNames::name_of(const text::Node& node) {
  const std::string stem(stem_of(node.op_case()));
  const int number = ++counts_[stem];
  return node.has_name() ? node.name() : stem + std::to_string(number);
}

Result<std::vector<int>> NodeNames::inputs_of(const text::Node& node) const {
  if (node.inputs().empty()) return std::vector<int>{static_cast<int>(values_.size()) - 1};
  std::vector<int> inputs;
  for (const std::string& name : node.inputs()) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      return corrupt("reads " + in_quotes(name) + ", which is neither an earlier node nor the input");
    }
    inputs.push_back(found->second);
  }
  return inputs;
}

bool NodeNames::add(const std::string& name) { return values_.emplace(name, static_cast<int>(values_.size())).second; }

}  // namespace znni
