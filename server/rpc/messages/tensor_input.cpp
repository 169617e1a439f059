#include "server/rpc/messages/tensor_input.hpp"

#include <cstring>
#include <limits>
#include <string>

#include "server/rpc/messages/datatypes.hpp"

namespace znni::rpc {
namespace {

using Integers = google::protobuf::RepeatedField<std::uint32_t>;

template <class T>
Result<void> narrow(const Integers& from, std::byte* to) {
  for (int i = 0; i < from.size(); ++i) {
    if (from[i] > std::numeric_limits<T>::max()) {
      return Error{ErrorCode::invalid_argument, "uint_contents[" + std::to_string(i) + "] is " +
                                                    std::to_string(from[i]) + ", expected at most " +
                                                    std::to_string(std::numeric_limits<T>::max())};
    }
    const T value = static_cast<T>(from[i]);
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return {};
}

}  // namespace

std::int64_t converted_bytes(const inference::ModelInferRequest& request, const InferRequest& checked) {
  if (request.raw_input_contents_size() > 0) return 0;
  return request.inputs(0).contents().uint_contents_size() * element_bytes(checked.volume.type);
}

Result<std::span<const std::byte>> input_view(const inference::ModelInferRequest& request, const InferRequest& checked,
                                              Bytes& converted) {
  if (request.raw_input_contents_size() > 0) {
    const std::string& raw = request.raw_input_contents(0);
    return std::as_bytes(std::span(raw.data(), raw.size()));
  }
  const auto& contents = request.inputs(0).contents();
  if (checked.volume.type == ElementType::f32) {
    return std::as_bytes(std::span(contents.fp32_contents().data(), contents.fp32_contents_size()));
  }
  Result<Bytes> block = Bytes::allocate(converted_bytes(request, checked));
  if (!block) return block.error();
  converted = *std::move(block);
  const Result<void> narrowed = checked.volume.type == ElementType::u8
                                    ? narrow<std::uint8_t>(contents.uint_contents(), converted.data())
                                    : narrow<std::uint16_t>(contents.uint_contents(), converted.data());
  if (!narrowed) return narrowed.error();
  return std::span<const std::byte>(converted.span());
}

}  // namespace znni::rpc
