#include "server/rpc/messages/tensor_input.hpp"

#include <cstring>
#include <limits>
#include <string>

#include "server/rpc/base/client_text.hpp"
#include "server/rpc/messages/datatypes.hpp"

namespace znni::rpc {
namespace {

using Integers = google::protobuf::RepeatedField<std::uint32_t>;

// Writes integers from number `first` on, as many as `to` holds.
template <class T>
Result<void> narrow(const Integers& from, std::int64_t first, std::span<std::byte> to) {
  const auto count = static_cast<std::int64_t>(to.size() / sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t found = from[static_cast<int>(first + i)];
    if (found > std::numeric_limits<T>::max()) {
      return Error{ErrorCode::invalid_argument, "uint_contents[" + std::to_string(first + i) + "] is " +
                                                    std::to_string(found) + ", expected at most " +
                                                    std::to_string(std::numeric_limits<T>::max())};
    }
    const T value = static_cast<T>(found);
    std::memcpy(to.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return {};
}

std::span<const std::byte> raw_of(const inference::ModelInferRequest& request, const GivenInput& input) {
  const std::string& raw = request.raw_input_contents(input.raw);
  return std::as_bytes(std::span(raw.data(), raw.size()));
}

std::span<const std::byte> floats_of(const inference::ModelInferRequest& request, const GivenInput& input) {
  const auto& floats = request.inputs(input.tensor).contents().fp32_contents();
  return std::as_bytes(std::span(floats.data(), static_cast<std::size_t>(floats.size())));
}

// Returns whether the voxels stand in the message as they are computed.
bool stand_in_message(const InferRequest& checked) {
  const GivenInput& first = checked.inputs.front();
  const bool is_dense = first.raw >= 0 || checked.volume.type == ElementType::f32;
  return checked.inputs.size() == 1 && !first.region && is_dense;
}

// Copies the bytes of an input from `at` on, of all that it has, wherever they are.
Result<void> copy_input(const inference::ModelInferRequest& request, const GivenInput& input, ElementType type,
                        const RegionHandle& region, std::int64_t at, std::span<std::byte> to) {
  if (input.region) return region->read(add(input.region->offset, at), to);
  if (input.raw < 0 && type != ElementType::f32) {
    const Integers& integers = request.inputs(input.tensor).contents().uint_contents();
    const std::int64_t first = at / element_bytes(type);
    return type == ElementType::u8 ? narrow<std::uint8_t>(integers, first, to)
                                   : narrow<std::uint16_t>(integers, first, to);
  }
  const std::span<const std::byte> all = input.raw >= 0 ? raw_of(request, input) : floats_of(request, input);
  std::memcpy(to.data(), all.data() + at, to.size());
  return {};
}

// Copies an input to its channels of each job. One input has all channels: its batch is copied at once.
Result<void> place_input(const inference::ModelInferRequest& request, const InferRequest& checked,
                         const GivenInput& input, const RegionHandle& region, std::span<std::byte> to) {
  const bool is_only = checked.inputs.size() == 1;
  const std::int64_t volume = is_only ? static_cast<std::int64_t>(to.size()) : volume_bytes(checked.volume);
  const std::int64_t channel = volume_bytes(checked.volume) / checked.volume.f;
  const std::int64_t step = is_only ? volume : input.channels * channel;
  const std::int64_t jobs = is_only ? 1 : checked.batch;
  for (std::int64_t i = 0; i < jobs; ++i) {
    const auto place = static_cast<std::size_t>(i * volume + input.first_channel * channel);
    const std::span<std::byte> part = to.subspan(place, static_cast<std::size_t>(step));
    const Result<void> copied = copy_input(request, input, checked.volume.type, region, i * step, part);
    if (!copied) return is_only ? copied : copied.error().within("input " + in_quotes(input.name));
  }
  return {};
}

}  // namespace

std::int64_t converted_bytes(const InferRequest& checked) {
  return stand_in_message(checked) ? 0 : mul(checked.batch, volume_bytes(checked.volume));
}

Result<std::span<const std::byte>> input_view(const inference::ModelInferRequest& request, const InferRequest& checked,
                                              std::span<const RegionHandle> regions, Bytes& converted) {
  if (stand_in_message(checked)) {
    const GivenInput& only = checked.inputs.front();
    return only.raw >= 0 ? raw_of(request, only) : floats_of(request, only);
  }
  Result<Bytes> block = Bytes::allocate(converted_bytes(checked));
  if (!block) return block.error();
  converted = *std::move(block);
  for (std::size_t i = 0; i < checked.inputs.size(); ++i) {
    const RegionHandle region = regions.empty() ? nullptr : regions[i];
    const Result<void> placed = place_input(request, checked, checked.inputs[i], region, converted.span());
    if (!placed) return placed.error();
  }
  return std::span<const std::byte>(converted.span());
}

}  // namespace znni::rpc
