// Tensors whose numbers an ONNX model keeps in other files (data_location EXTERNAL).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <onnx/onnx_pb.h>

#include "primitives/core/result.hpp"

namespace znni {

// The files and positions of such numbers. They are read one tensor at a time, so that at most one is in memory twice.
class ExternalData {
 public:
  // Opens the files that the model's tensors refer to and checks that they are long enough; reads none of them. Ignores
  // tensors of types that floats_of() does not read. `model_file` is the model's own file; the others must be in its
  // folder or below. Fails if a name leads out of the folder, by "..", from the root or through a link. Fails if a file
  // is missing or too short. The error names tensor and file. `model` must outlive the result and not change.
  [[nodiscard]] static Result<ExternalData> open(const onnx::ModelProto& model,
                                                 const std::filesystem::path& model_file);
  ExternalData(ExternalData&& other) noexcept;
  ExternalData& operator=(ExternalData&& other) noexcept;
  ~ExternalData();

  // Returns the bytes of all tensors in files. Shared bytes count once for each tensor.
  [[nodiscard]] std::int64_t bytes() const;
  // Returns the numbers of a tensor of the model, inside or outside the message, as floats_of() does.
  [[nodiscard]] Result<std::vector<float>> floats_of(const onnx::TensorProto& tensor);

 private:
  class Files;
  explicit ExternalData(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

}  // namespace znni
