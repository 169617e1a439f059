#include "proto/convert/onnx/graph/onnx_known.hpp"

#include <algorithm>
#include <cstring>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {
namespace {

KnownTensor with_dims(KnownKind kind, const onnx::TensorProto& tensor, std::int64_t count) {
  KnownTensor known{kind, {tensor.dims().begin(), tensor.dims().end()}, {}};
  known.elements.resize(static_cast<std::size_t>(count));
  return known;
}

// Returns the elements of a type that is stored in `bytes` bytes each, or in int32_data; nullopt if they are missing.
template <class Stored>
std::optional<KnownTensor> small_integers(KnownKind kind, const onnx::TensorProto& tensor, std::int64_t count) {
  const bool elsewhere = tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.has_segment();
  const auto bytes = static_cast<std::size_t>(count) * sizeof(Stored);
  const bool sound = tensor.has_raw_data() ? tensor.raw_data().size() == bytes : tensor.int32_data_size() == count;
  if (elsewhere || !sound) return std::nullopt;
  KnownTensor known = with_dims(kind, tensor, count);
  for (std::size_t i = 0; i < known.elements.size(); ++i) {
    Stored stored = 0;
    if (tensor.has_raw_data()) std::memcpy(&stored, tensor.raw_data().data() + i * sizeof(Stored), sizeof(Stored));
    if (!tensor.has_raw_data()) stored = static_cast<Stored>(tensor.int32_data(static_cast<int>(i)));
    known.elements[i].whole.least = kind == KnownKind::boolean ? stored != 0 : stored;
  }
  return known;
}

std::optional<KnownTensor> known_integers(const onnx::TensorProto& tensor, std::int64_t count) {
  const Result<std::vector<std::int64_t>> values = integers_of(tensor);
  if (!values) return std::nullopt;
  KnownTensor known = with_dims(KnownKind::integer, tensor, count);
  for (std::size_t i = 0; i < known.elements.size(); ++i) known.elements[i].whole.least = (*values)[i];
  return known;
}

std::optional<KnownTensor> known_reals(const onnx::TensorProto& tensor, std::int64_t count) {
  const Result<std::vector<float>> values = floats_of(tensor);
  if (!values) return std::nullopt;
  KnownTensor known = with_dims(KnownKind::real, tensor, count);
  for (std::size_t i = 0; i < known.elements.size(); ++i) known.elements[i].real = (*values)[i];
  return known;
}

std::unique_ptr<onnx::TensorProto> constant_of(const std::string& name, const KnownTensor& tensor) {
  auto made = std::make_unique<onnx::TensorProto>();
  made->set_name(name);
  for (const std::int64_t extent : tensor.dims) made->add_dims(extent);
  for (const KnownElement& element : tensor.elements) {
    if (tensor.kind == KnownKind::integer) made->add_int64_data(element.whole.least);
    if (tensor.kind == KnownKind::boolean) made->add_int32_data(static_cast<int>(element.whole.least));
    if (tensor.kind == KnownKind::real) made->add_float_data(element.real);
  }
  made->set_data_type(tensor.kind == KnownKind::integer   ? onnx::TensorProto::INT64
                      : tensor.kind == KnownKind::boolean ? onnx::TensorProto::BOOL
                                                          : onnx::TensorProto::FLOAT);
  return made;
}

bool is_of_constants(const KnownTensor& tensor) {
  return std::all_of(tensor.elements.begin(), tensor.elements.end(),
                     [](const KnownElement& element) { return is_constant(element.whole); });
}

template <class Map>
auto find_in(const Map& map, const std::string& name) -> const typename Map::mapped_type* {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

KnownTensor known_integer(std::int64_t value) { return {KnownKind::integer, {}, {{{value, {}}, 0}}}; }

Result<std::int64_t> known_count(const std::vector<std::int64_t>& dims) {
  constexpr std::size_t max_axes = 8;
  if (dims.size() > max_axes) return unsupported("makes a tensor of " + std::to_string(dims.size()) + " axes");
  std::int64_t count = 1;
  bool none = false;
  for (const std::int64_t extent : dims) {
    if (extent < 0) return corrupt("makes a tensor with an extent of " + std::to_string(extent));
    none = none || extent == 0;
    count = mul(count, std::max<std::int64_t>(1, extent));
  }
  if (count <= max_known_elements) return none ? 0 : count;
  return unsupported("makes a tensor of " + std::to_string(count) + " elements; of those that are computed from " +
                     "constants or shapes, at most " + std::to_string(max_known_elements) + " are supported");
}

std::optional<KnownTensor> known_tensor_of(const onnx::TensorProto& tensor) {
  const Result<std::int64_t> count = known_count({tensor.dims().begin(), tensor.dims().end()});
  if (!count) return std::nullopt;
  switch (tensor.data_type()) {
    case onnx::TensorProto::INT64: return known_integers(tensor, *count);
    case onnx::TensorProto::INT32: return small_integers<std::int32_t>(KnownKind::integer, tensor, *count);
    case onnx::TensorProto::BOOL: return small_integers<std::uint8_t>(KnownKind::boolean, tensor, *count);
    case onnx::TensorProto::FLOAT: return known_reals(tensor, *count);
    default: return std::nullopt;
  }
}

Result<std::vector<VolumeNumber>> numbers_of(const KnownTensor& tensor) {
  if (tensor.kind != KnownKind::integer) return unsupported("holds something else than integers");
  std::vector<VolumeNumber> numbers;
  for (const KnownElement& element : tensor.elements) numbers.push_back(element.whole);
  return numbers;
}

Result<std::vector<std::int64_t>> integers_of(const KnownTensor& tensor) {
  const Result<std::vector<VolumeNumber>> numbers = numbers_of(tensor);
  if (!numbers) return numbers.error();
  std::vector<std::int64_t> values;
  for (const VolumeNumber& number : *numbers) {
    if (!is_constant(number)) return unsupported("holds " + to_string(number) + "; only constants are supported here");
    values.push_back(number.least);
  }
  return values;
}

Result<void> KnownTensors::charge(const std::string& name, const KnownTensor& tensor) {
  elements_ += 1 + static_cast<std::int64_t>(tensor.elements.size());
  depend_on_volume_ = depend_on_volume_ || !is_of_constants(tensor);
  if (elements_ > max_known_elements_of_all) {
    return unsupported("computes more than " + std::to_string(max_known_elements_of_all) +
                       " numbers from constants and shapes with those before it");
  }
  if (find(name) == nullptr && sequence(name) == nullptr && constant(name) == nullptr) return {};
  return corrupt("tensor " + in_quotes(name) + " is written twice");
}

Result<void> KnownTensors::set(const std::string& name, KnownTensor tensor) {
  if (Result<void> fits = charge(name, tensor); !fits) return fits;
  if (is_of_constants(tensor)) constants_.insert_or_assign(name, constant_of(name, tensor));
  tensors_.insert_or_assign(name, std::move(tensor));
  return {};
}

Result<void> KnownTensors::set_sequence(const std::string& name, std::vector<KnownTensor> sequence) {
  if (Result<void> fits = charge(name, {}); !fits) return fits;
  for (const KnownTensor& tensor : sequence) {
    if (Result<void> fits = charge(name, tensor); !fits) return fits;
  }
  sequences_.insert_or_assign(name, std::move(sequence));
  return {};
}

Result<void> KnownTensors::set_weights(const std::string& name, onnx::TensorProto tensor) {
  if (Result<void> fits = charge(name, {}); !fits) return fits;
  constants_.insert_or_assign(name, std::make_unique<onnx::TensorProto>(std::move(tensor)));
  return {};
}

std::int64_t KnownTensors::count_weights(std::int64_t numbers) {
  weights_ = add(weights_, numbers);
  return weights_;
}

Result<void> KnownTensors::read(std::int64_t elements) {
  elements_read_ += elements;
  if (elements_read_ <= max_known_elements_read) return {};
  return unsupported("computes from more than " + std::to_string(max_known_elements_read) +
                     " numbers, constants and shapes, with those nodes before it");
}

const KnownTensor* KnownTensors::find(const std::string& name) const { return find_in(tensors_, name); }

const std::vector<KnownTensor>* KnownTensors::sequence(const std::string& name) const {
  return find_in(sequences_, name);
}

const onnx::TensorProto* KnownTensors::constant(const std::string& name) const {
  const std::unique_ptr<onnx::TensorProto>* found = find_in(constants_, name);
  return found == nullptr ? nullptr : found->get();
}

void KnownTensors::forget(const std::string& name) {
  tensors_.erase(name);
  sequences_.erase(name);
  constants_.erase(name);
}

}  // namespace znni
