#include "server/rpc/messages/datatypes.hpp"

#include <string>

#include "server/rpc/base/client_text.hpp"

namespace znni::rpc {

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

}  // namespace znni::rpc
