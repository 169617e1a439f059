// Tensors whose numbers an ONNX model keeps in other files (data_location EXTERNAL).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <onnx/onnx_pb.h>

#include "primitives/core/result.hpp"

namespace znni {

// Where such numbers stand. They are read one tensor at a time, so that no more than that is in memory twice.
class ExternalData {
 public:
  // Opens the files that the model's tensors refer to and checks that they hold what is asked for; reads none of it.
  // Only types that floats_of() reads are looked at. `model_file`: where the model came from. Other files are looked
  // for in its folder or below, by the names the model gives; a name that leads out of it, by "..", from the root or
  // through a link, is an error, as is a file that is missing or too short. The error names tensor and file. `model`
  // must outlive the result and stay as it is.
  [[nodiscard]] static Result<ExternalData> open(const onnx::ModelProto& model,
                                                 const std::filesystem::path& model_file);
  ExternalData(ExternalData&& other) noexcept;
  ExternalData& operator=(ExternalData&& other) noexcept;
  ~ExternalData();

  // Bytes that all tensors have in files, one that tensors share counted for each.
  [[nodiscard]] std::int64_t bytes() const;
  // The numbers of a tensor of the model, wherever they are: as floats_of() gives them.
  [[nodiscard]] Result<std::vector<float>> floats_of(const onnx::TensorProto& tensor);

 private:
  class Files;
  explicit ExternalData(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

}  // namespace znni
