// Tensors of transformers that an OnnxBuilder knows besides values: those whose axes lie in another way, and the scores
// between tokens.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "proto/convert/onnx/graph/onnx_layout.hpp"

namespace znni {

// The products of queries and keys, whose last two axes are tokens and channels, times `scale`; or their softmax over
// the keys. Turned ones have the queries last.
struct TokenScores {
  AxisLayout queries;
  AxisLayout keys;
  float scale = 1;
  bool is_softmax = false;
  bool is_turned = false;
};

class OnnxTokenTensors {
 public:
  void lay(const std::string& tensor, AxisLayout layout) { laid_.insert_or_assign(tensor, std::move(layout)); }
  // Returns the layout of the tensor; nullptr for any other.
  [[nodiscard]] const AxisLayout* laid(const std::string& tensor) const {
    const auto found = laid_.find(tensor);
    return found == laid_.end() ? nullptr : &found->second;
  }

  void note(const std::string& tensor, TokenScores scores) { scores_.insert_or_assign(tensor, std::move(scores)); }
  // Returns the scores that the tensor is; nullptr for any other.
  [[nodiscard]] const TokenScores* scores(const std::string& tensor) const {
    const auto found = scores_.find(tensor);
    return found == scores_.end() ? nullptr : &found->second;
  }

  void clear() {
    laid_.clear();
    scores_.clear();
  }

 private:
  std::map<std::string, AxisLayout> laid_;
  std::map<std::string, TokenScores> scores_;
};

}  // namespace znni
