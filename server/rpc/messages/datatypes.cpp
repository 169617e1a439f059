#include "server/rpc/messages/datatypes.hpp"

#include <string>

#include "server/rpc/base/client_text.hpp"

namespace znni::rpc {
namespace {

constexpr std::int64_t largest_of_fp16 = 2048;  // of those up to which all whole numbers are exact

}  // namespace

std::optional<ElementType> element_type(std::string_view datatype) {
  if (datatype == "FP32") return ElementType::f32;
  if (datatype == "FP16") return ElementType::f16;
  if (datatype == "UINT8") return ElementType::u8;
  if (datatype == "UINT16") return ElementType::u16;
  return std::nullopt;
}

std::string_view datatype(ElementType type) {
  switch (type) {
    case ElementType::f32: return "FP32";
    case ElementType::f16: return "FP16";
    case ElementType::u16: return "UINT16";
    case ElementType::u8: return "UINT8";
    case ElementType::bf16: return "BF16";
  }
  return "FP32";
}

Result<ElementType> output_type(std::string_view datatype) {
  if (datatype.empty()) return ElementType::f32;
  const std::optional<ElementType> type = element_type(datatype);
  if (type && *type != ElementType::u16) return *type;
  return Error{ErrorCode::invalid_argument,
               "output_datatype is " + in_quotes(datatype) + ", expected " + std::string(output_datatypes)};
}

Result<void> check_holds_numbers(ElementType type, std::int64_t largest) {
  const bool holds =
      type == ElementType::f32 || (type == ElementType::f16 && largest <= largest_of_fp16) || largest == 0;
  if (holds) return {};
  return Error{ErrorCode::invalid_argument,
               "output_datatype is " + in_quotes(datatype(type)) +
                   ", which does not hold the numbers of channels that the model writes, 0 to " +
                   std::to_string(largest) + "; expected " + types_that_hold(largest)};
}

std::string types_that_hold(std::int64_t largest) {
  if (largest == 0) return "FP32,FP16,UINT8";
  return largest <= largest_of_fp16 ? "FP32,FP16" : "FP32";
}

}  // namespace znni::rpc
