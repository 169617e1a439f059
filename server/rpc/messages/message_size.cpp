#include "server/rpc/messages/message_size.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <string>

namespace znni::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// Upper bound on the bytes of a message without what its fields point to, with its place in a map or a list.
constexpr std::int64_t message_bytes = 768;
constexpr std::int64_t string_bytes = 96;   // likewise of a string
constexpr std::int64_t unknown_bytes = 96;  // likewise of an unknown field
constexpr int max_depth = 32;

// Returns the bytes of one value of a repeated field, as it is reserved: lists grow by doubling.
std::int64_t scalar_bytes(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return 2;
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_ENUM:
    case FieldDescriptor::CPPTYPE_FLOAT: return 8;
    default: return 16;
  }
}

WireFormatLite::WireType wire_type(const FieldDescriptor& field) {
  return WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()));
}

// Returns the fewest bytes of one value on the wire.
std::int64_t min_wire_bytes(const FieldDescriptor& field) {
  switch (wire_type(field)) {
    case WireFormatLite::WIRETYPE_FIXED32: return 4;
    case WireFormatLite::WIRETYPE_FIXED64: return 8;
    default: return 1;
  }
}

// Returns the field of this tag; nullptr for one with another wire type, which the parser keeps as unknown.
const FieldDescriptor* known_field(const Descriptor& type, std::uint32_t tag) {
  const FieldDescriptor* const field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
  if (field == nullptr) return nullptr;
  const WireFormatLite::WireType found = WireFormatLite::GetTagWireType(tag);
  const bool is_packed = found == WireFormatLite::WIRETYPE_LENGTH_DELIMITED && field->is_packable();
  return is_packed || found == wire_type(*field) ? field : nullptr;
}

class Walk {
 public:
  Walk(google::protobuf::io::ZeroCopyInputStream& wire, std::int64_t most) : in_(&wire), most_(most) {
    in_.SetTotalBytesLimit(std::numeric_limits<int>::max());
  }

  // Measures a message. Returns false if the wire does not hold a message of this type.
  bool message(const Descriptor& type, int depth) {
    bytes_ += message_bytes;
    if (depth > max_depth) return false;
    while (!passed()) {
      const std::uint32_t tag = in_.ReadTag();
      if (tag == 0) return in_.ConsumedEntireMessage();
      if (!field(known_field(type, tag), tag, depth)) return false;
    }
    return true;
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] bool passed() const { return bytes_ > most_; }

  bool field(const FieldDescriptor* known, std::uint32_t tag, int depth) {
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
      case WireFormatLite::WIRETYPE_FIXED32:
      case WireFormatLite::WIRETYPE_FIXED64: {
        bytes_ += known == nullptr ? unknown_bytes : known->is_repeated() ? scalar_bytes(*known) : 0;
        return WireFormatLite::SkipField(&in_, tag);
      }
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: return delimited(known, depth);
      default: return false;
    }
  }

  bool delimited(const FieldDescriptor* known, int depth) {
    std::uint32_t length = 0;
    if (!in_.ReadVarint32(&length) || length > std::numeric_limits<int>::max()) return false;
    if (known != nullptr && known->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const auto outer = in_.PushLimit(static_cast<int>(length));
      const bool is_message = message(*known->message_type(), depth + 1);
      in_.PopLimit(outer);
      return is_message;
    }
    if (known == nullptr || !known->is_packable()) {
      bytes_ += length + (known == nullptr ? unknown_bytes : string_bytes);
    } else {
      bytes_ += length / min_wire_bytes(*known) * scalar_bytes(*known);
    }
    return passed() || in_.Skip(static_cast<int>(length));
  }

  google::protobuf::io::CodedInputStream in_;
  const std::int64_t most_;
  std::int64_t bytes_ = 0;
};

}  // namespace

Result<std::int64_t> parsed_bytes(const Descriptor& type, google::protobuf::io::ZeroCopyInputStream& wire,
                                  std::int64_t most) {
  Walk walk(wire, most);
  if (walk.message(type, 0)) return walk.bytes();
  return Error{ErrorCode::invalid_argument, "the message is not a " + type.name()};
}

}  // namespace znni::rpc
