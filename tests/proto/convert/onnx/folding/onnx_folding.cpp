#include "tests/proto/convert/onnx/folding/onnx_folding.hpp"

#include <sstream>

#include "proto/convert/onnx/folding/onnx_fold.hpp"

namespace znni::test {
namespace {

std::string text_of(KnownKind kind, const KnownElement& element) {
  std::ostringstream text;
  if (kind == KnownKind::real) {
    text << element.real;
    return text.str();
  }
  if (kind == KnownKind::boolean) return element.whole.least != 0 ? "true" : "false";
  text << element.whole.least;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t step = element.whole.step[axis];
    if (step != 0) text << (step > 0 ? "+" : "") << step << "zyx"[axis];
  }
  return text.str();
}

}  // namespace

std::string text_of(const KnownTensor& tensor) {
  std::ostringstream text;
  text << "[";
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) text << (i > 0 ? ", " : "") << tensor.dims[i];
  text << "]:";
  for (std::size_t i = 0; i < tensor.elements.size(); ++i) {
    text << (i > 0 ? ", " : " ") << text_of(tensor.kind, tensor.elements[i]);
  }
  return text.str();
}

std::string folded(OnnxModel& model) {
  model.proto.mutable_graph()->clear_output();
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("out").proto);
  if (!graph) return graph.error().message;
  OnnxBuilder builder(*graph, 3, 2, 1000);
  builder.assume({{20, 24, 28}, {4, 2, 1}});
  for (const onnx::NodeProto* node : graph->nodes) {
    const Result<bool> done = fold_node(*node, builder);
    if (!done) return done.error().message;
    if (!*done) return "not folded";
  }
  const KnownTensor* found = builder.known().find("out");
  return found == nullptr ? "not a tensor" : text_of(*found);
}

}  // namespace znni::test
