#include "proto/convert/onnx/reader/onnx_blockers.hpp"

#include <cctype>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_flatten.hpp"
#include "proto/convert/onnx/reader/onnx_operators.hpp"

namespace znni {
namespace {

constexpr std::string_view not_supported = "not supported";

// Returns the message without its numbers and names, which may differ within a kind.
std::string shape_of(std::string_view message) {
  std::string shape;
  bool quoted = false;
  for (const char c : message) {
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) shape += c;
    if (digit && (shape.empty() || shape.back() != '#')) shape += '#';
  }
  return shape;
}

std::size_t place_of(Arithmetic arithmetic) { return arithmetic == Arithmetic::of_shapes ? 1 : 0; }

OnnxWords words_of(const onnx::NodeProto& node, bool is_known, const Error& error) {
  if (is_known) return words_of_refusal(node, error.message);
  const bool is_own = node.domain().empty() || node.domain() == "ai.onnx";
  return words_of_operator(is_own ? node.op_type() : node.domain() + "." + node.op_type());
}

void add_to(Blockers& found, Blocker blocker) {
  if (blocker.count == 0) return;
  found.count += blocker.count;
  if (found.kinds.size() < max_listed_blockers) {
    found.kinds.push_back(std::move(blocker));
  } else {
    found.unlisted += blocker.count;
  }
}

}  // namespace

void OnnxBlockers::add(const Error& error) {
  if (!first_) first_ = error;
  count(words_of_network(error.message), error.message, "");
}

std::string OnnxBlockers::add(const onnx::NodeProto& node, const Error& error) {
  if (!first_) first_ = error.within(called(node));
  if (!structure_) structure_.emplace(Structure{OnnxModules(graph_), OnnxArithmetic(graph_)});
  const OnnxArithmetic& arithmetic = structure_->arithmetic;
  if (const Arithmetic own = arithmetic.of(node); own != Arithmetic::none) {
    Blocker& computed = computed_[place_of(own)];
    if (computed.count == 0) computed.first = on_one_line(name_of(node));
    ++computed.count;
    return "";
  }
  if (const Arithmetic read = arithmetic.read_by(node); read != Arithmetic::none) is_told_[place_of(read)] = true;
  return add_part(node, error);
}

// Adds a node that reads voxels.
std::string OnnxBlockers::add_part(const onnx::NodeProto& node, const Error& error) {
  if (const OnnxModule* module = structure_->modules.of(node)) {
    const bool is_new = seen_.insert(module).second;
    if (is_new) count(module->words, std::string(not_supported), on_one_line(name_of(*module->first)));
    return module->input;
  }
  const bool is_linear = find_flat_operator(node) != nullptr && !error.message.starts_with(not_an_operator);
  const bool is_known = find_onnx_operator(node) != nullptr || is_linear;
  const OnnxWords words = words_of(node, is_known, error);
  count(words, is_known ? error.message : std::string(not_supported), on_one_line(name_of(node)));
  return words.keeps_form && node.input_size() > 0 ? node.input(0) : "";
}

void OnnxBlockers::count(const OnnxWords& words, const std::string& reason, const std::string& first) {
  ++found_.count;
  const std::string kind = words.is_kind ? words.what : words.what + "\n" + shape_of(reason);
  if (const auto known = kinds_.find(kind); known != kinds_.end()) {
    ++found_.kinds[known->second].count;
    return;
  }
  if (found_.kinds.size() == max_listed_blockers) {
    ++found_.unlisted;
    return;
  }
  kinds_.emplace(kind, found_.kinds.size());
  found_.kinds.push_back({words.what, reason, words.advice, first, 1});
}

Blockers OnnxBlockers::result() const {
  Blockers all = found_;
  for (const Arithmetic arithmetic : {Arithmetic::of_shapes, Arithmetic::of_constants}) {
    Blocker computed = computed_[place_of(arithmetic)];
    if (is_told_[place_of(arithmetic)]) continue;
    const OnnxWords words = arithmetic == Arithmetic::of_shapes ? words_of_shapes() : words_of_constants();
    computed.what = words.what;
    computed.advice = words.advice;
    computed.reason = not_supported;
    add_to(all, std::move(computed));
  }
  return all;
}

Error with_others(const Error& first, const Blockers& all, const std::string& path) {
  if (all.count < 2) return first;
  const std::size_t kinds = all.kinds.size();
  return {first.code, first.message + "; and " + std::to_string(all.count - 1) + " more of " + std::to_string(kinds) +
                          (kinds == 1 ? " kind" : " kinds") + ": planner check " + path + " lists them"};
}

}  // namespace znni
