// Tensors that an OnnxBuilder knows besides values: those whose axes lie in another way, as tokens.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "proto/convert/onnx/graph/onnx_layout.hpp"

namespace znni {

class OnnxTokenTensors {
 public:
  void lay(const std::string& tensor, AxisLayout layout) { laid_.insert_or_assign(tensor, std::move(layout)); }
  // Returns the layout of the tensor; nullptr for any other.
  [[nodiscard]] const AxisLayout* laid(const std::string& tensor) const {
    const auto found = laid_.find(tensor);
    return found == laid_.end() ? nullptr : &found->second;
  }

  void clear() { laid_.clear(); }

 private:
  std::map<std::string, AxisLayout> laid_;
};

}  // namespace znni
