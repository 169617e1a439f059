// Tensors whose numbers are known while a file is read: its small constants, and what it computes of them and of
// extents.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "proto/convert/onnx/graph/onnx_extents.hpp"

namespace znni {

// Upper bound of a known tensor's elements, and of all together: no file that an exporter writes has more.
inline constexpr std::int64_t max_known_elements = 4096;
inline constexpr std::int64_t max_known_elements_of_all = std::int64_t{1} << 20;
// Upper bound of the elements that are read to compute others: a small file could sum up large tensors again and again.
inline constexpr std::int64_t max_known_elements_read = std::int64_t{1} << 22;

enum class KnownKind { integer, boolean, real };

struct KnownElement {
  VolumeNumber whole;  // an integer; of a boolean 0 or 1
  float real = 0;
};

struct KnownTensor {
  KnownKind kind = KnownKind::integer;
  std::vector<std::int64_t> dims;  // none for a scalar
  std::vector<KnownElement> elements;
};

// Returns an integer scalar.
[[nodiscard]] KnownTensor known_integer(std::int64_t value);

// Returns the elements that the extents imply. Fails if an extent is below 0, if there are more than 8, or if those
// that are not 0 make more than max_known_elements. So no product of them can overflow.
[[nodiscard]] Result<std::int64_t> known_count(const std::vector<std::int64_t>& dims);

// Returns a small tensor of type INT64, INT32, BOOL or FLOAT; nullopt for any other. The numbers must be in the
// message.
[[nodiscard]] std::optional<KnownTensor> known_tensor_of(const onnx::TensorProto& tensor);

// Returns the integers of a list; those that depend on the volume, too. Fails for other kinds.
[[nodiscard]] Result<std::vector<VolumeNumber>> numbers_of(const KnownTensor& tensor);
// Returns the integers; fails if one depends on the volume.
[[nodiscard]] Result<std::vector<std::int64_t>> integers_of(const KnownTensor& tensor);

// Known tensors by name, and sequences of them.
class KnownTensors {
 public:
  // Fails if all tensors together have too many elements, or the name is taken.
  [[nodiscard]] Result<void> set(const std::string& name, KnownTensor tensor);
  [[nodiscard]] Result<void> set_sequence(const std::string& name, std::vector<KnownTensor> sequence);
  // Notes a constant of any size that the file computes of others. Fails if the name is taken.
  [[nodiscard]] Result<void> set_weights(const std::string& name, onnx::TensorProto tensor);
  // Counts numbers of such constants that a node reads or makes, and returns those of all nodes so far.
  [[nodiscard]] std::int64_t count_weights(std::int64_t numbers);
  // Counts elements that a node reads. Fails if all nodes together read too many.
  [[nodiscard]] Result<void> read(std::int64_t elements);
  // Return the tensor or sequence of that name, nullptr if there is none.
  [[nodiscard]] const KnownTensor* find(const std::string& name) const;
  [[nodiscard]] const std::vector<KnownTensor>* sequence(const std::string& name) const;
  // Returns the tensor as a constant of the file; nullptr if there is none or its numbers depend on the volume.
  [[nodiscard]] const onnx::TensorProto* constant(const std::string& name) const;
  void forget(const std::string& name);
  // Returns whether any tensor so far had a number that depends on the volume.
  [[nodiscard]] bool depend_on_volume() const { return depend_on_volume_; }

 private:
  [[nodiscard]] Result<void> charge(const std::string& name, const KnownTensor& tensor);

  std::map<std::string, KnownTensor> tensors_;
  std::map<std::string, std::vector<KnownTensor>> sequences_;
  std::map<std::string, std::unique_ptr<onnx::TensorProto>> constants_;
  std::int64_t elements_ = 0;  // of all tensors so far, forgotten ones as well
  std::int64_t elements_read_ = 0;
  std::int64_t weights_ = 0;  // numbers read and made
  bool depend_on_volume_ = false;
};

}  // namespace znni
