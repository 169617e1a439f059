#include "proto/convert/onnx/reader/onnx_outline.hpp"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>
#include <unistd.h>

#include <onnx/onnx_pb.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "primitives/core/shape.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/onnx/reader/onnx_reader.hpp"

namespace znni {
namespace {

namespace pb = google::protobuf;
using Wire = pb::internal::WireFormatLite;

// The nested messages that lead to a tensor's numbers.
enum class Kind { model, graph, tensor };

// Returns the field of a message that holds the next one of these, or the numbers.
int field_inwards(Kind kind) {
  switch (kind) {
    case Kind::model: return onnx::ModelProto::kGraphFieldNumber;
    case Kind::graph: return onnx::GraphProto::kInitializerFieldNumber;
    case Kind::tensor: return onnx::TensorProto::kRawDataFieldNumber;
  }
  return 0;
}

void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
  out += static_cast<char>(value);
}

void append_bytes(std::uint32_t tag, std::string_view bytes, std::string& out) {
  append_varint(tag, out);
  append_varint(bytes.size(), out);
  out += bytes;
}

// Returns the serialised fields that replace the numbers of a tensor.
std::string reference(const std::string& location, std::int64_t offset, std::int64_t length) {
  onnx::TensorProto tensor;
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&tensor](const char* key, const std::string& value) {
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
  return tensor.SerializeAsString();
}

bool is_readable(std::uint64_t type) {
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE || type == onnx::TensorProto::FLOAT16 ||
         type == onnx::TensorProto::BFLOAT16;
}

class Outliner {
 public:
  Outliner(int file, std::int64_t bytes, std::string location, std::int64_t most)
      : stream_(file), in_(&stream_), file_(file), bytes_(bytes), location_(std::move(location)), left_(most) {}

  // Copies the file's message to `out`. Returns whether the file is a message, as far as it was read.
  bool run(std::string& out) { return copy(Kind::model, bytes_, out); }
  [[nodiscard]] bool is_too_large() const { return left_ < 0; }

 private:
  struct Numbers {
    std::int64_t offset = 0;
    std::int64_t length = 0;
  };

  // Takes `bytes` from what may be kept; false if that is too much.
  bool charge(std::size_t bytes) {
    left_ -= static_cast<std::int64_t>(bytes);
    return !is_too_large();
  }

  // Copies all fields up to byte `end` of the file.
  bool copy(Kind kind, std::int64_t end, std::string& out) {
    std::optional<Numbers> numbers;
    std::uint64_t type = 0;
    while (in_.CurrentPosition() < end) {
      const std::uint32_t tag = in_.ReadTag();
      if (tag == 0) return false;
      if (Wire::GetTagWireType(tag) == Wire::WIRETYPE_LENGTH_DELIMITED) {
        if (!copy_bytes(kind, tag, end, numbers, out)) return false;
        continue;
      }
      std::uint64_t value = 0;
      const std::size_t before = out.size();
      if (!copy_number(tag, value, out) || !charge(out.size() - before)) return false;
      const bool is_type = Wire::GetTagFieldNumber(tag) == onnx::TensorProto::kDataTypeFieldNumber;
      if (kind == Kind::tensor && is_type) type = value;
    }
    if (in_.CurrentPosition() != end) return false;
    return !numbers || replace(*numbers, is_readable(type), out);
  }

  bool copy_number(std::uint32_t tag, std::uint64_t& value, std::string& out) {
    append_varint(tag, out);
    std::uint32_t half = 0;
    switch (Wire::GetTagWireType(tag)) {
      case Wire::WIRETYPE_VARINT:
        if (!in_.ReadVarint64(&value)) return false;
        append_varint(value, out);
        return true;
      case Wire::WIRETYPE_FIXED64:
        if (!in_.ReadLittleEndian64(&value)) return false;
        out.append(reinterpret_cast<const char*>(&value), sizeof(value));
        return true;
      case Wire::WIRETYPE_FIXED32:
        if (!in_.ReadLittleEndian32(&half)) return false;
        out.append(reinterpret_cast<const char*>(&half), sizeof(half));
        return true;
      default: return false;  // groups: ONNX has none
    }
  }

  bool copy_bytes(Kind kind, std::uint32_t tag, std::int64_t end, std::optional<Numbers>& numbers, std::string& out) {
    std::uint32_t length = 0;
    if (!in_.ReadVarint32(&length) || in_.CurrentPosition() + std::int64_t{length} > end) return false;
    const bool inwards = Wire::GetTagFieldNumber(tag) == field_inwards(kind);
    if (inwards && kind == Kind::tensor && length >= min_left_out_bytes) {
      numbers = Numbers{in_.CurrentPosition(), length};
      return in_.Skip(static_cast<int>(length));
    }
    if (!inwards || kind == Kind::tensor) return keep(tag, length, out);
    std::string inner;
    const Kind next = kind == Kind::model ? Kind::graph : Kind::tensor;
    if (!copy(next, in_.CurrentPosition() + std::int64_t{length}, inner)) return false;
    append_bytes(tag, inner, out);
    return true;
  }

  bool keep(std::uint32_t tag, std::uint32_t length, std::string& out) {
    const std::size_t begin = out.size();
    append_varint(tag, out);
    append_varint(length, out);
    if (!charge(out.size() - begin + length)) return false;
    const std::size_t before = out.size();
    out.resize(before + length);
    return in_.ReadRaw(out.data() + before, static_cast<int>(length));
  }

  // Replaces the numbers of a tensor by a reference. Copies them if they are not `readable`, such as integers.
  bool replace(const Numbers& numbers, bool readable, std::string& out) {
    if (readable) {
      out += reference(location_, numbers.offset, numbers.length);
      return true;
    }
    if (!charge(static_cast<std::size_t>(numbers.length))) return false;
    std::string raw(static_cast<std::size_t>(numbers.length), '\0');
    if (pread(file_, raw.data(), raw.size(), numbers.offset) != numbers.length) return false;
    append_bytes(Wire::MakeTag(onnx::TensorProto::kRawDataFieldNumber, Wire::WIRETYPE_LENGTH_DELIMITED), raw, out);
    return true;
  }

  pb::io::FileInputStream stream_;
  pb::io::CodedInputStream in_;
  int file_;
  std::int64_t bytes_;
  std::string location_;
  std::int64_t left_;  // bytes that may still be kept; negative if more were needed
};

}  // namespace

Result<std::string> read_onnx_outline(const std::string& path, std::int64_t max_bytes) {
  const Result<std::int64_t> bytes = bytes_of_regular_file(path, max_model_bytes);
  if (!bytes) return bytes.error();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Error{ErrorCode::invalid_argument, path + ": cannot be opened: " + std::strerror(errno)};
  std::string outline;
  Outliner outliner(file, *bytes, std::filesystem::path(path).filename().string(), max_bytes);
  const bool done = outliner.run(outline);
  close(file);
  if (done) return outline;
  if (outliner.is_too_large()) {
    return Error{ErrorCode::over_budget, path + ": holds more than " + bytes_text(max_bytes) +
                                             " beside its initializers' raw data, and no more may be used"};
  }
  return corrupt("not an ONNX model, or cut short (" + std::to_string(*bytes) + " bytes)").within(path);
}

}  // namespace znni
