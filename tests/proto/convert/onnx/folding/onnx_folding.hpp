// Folds the nodes of hand-made models, for tests of what is computed while a file is read.
#pragma once

#include <string>

#include "proto/convert/onnx/graph/onnx_known.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni::test {

// Returns a tensor as text: its extents, then its elements, "[2, 1]: 7, 20+4z", "[]: true", "[1]: 0.5".
[[nodiscard]] std::string text_of(const KnownTensor& tensor);

// Returns the text of tensor "out" after every node is folded, in a net whose input "in" has 2 channels and extents of
// 20 + 4 z, 24 + 2 y and 28 + x. Returns the refusal if there is one, "not folded" if a node is not.
[[nodiscard]] std::string folded(OnnxModel& model);

}  // namespace znni::test
