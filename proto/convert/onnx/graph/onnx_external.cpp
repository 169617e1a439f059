#include "proto/convert/onnx/graph/onnx_external.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "primitives/core/shape.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

// A tensor's entry about the place of its bytes.
struct Reference {
  std::string location;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

Result<std::int64_t> bytes_of(const std::string& key, const std::string& text) {
  std::int64_t value = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return corrupt(key + " of its external data is " + in_quotes(text) + "; a number of bytes is right");
}

Result<Reference> reference_of(const onnx::TensorProto& tensor) {
  Reference reference;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") reference.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;  // checksums and the like are not read
    const Result<std::int64_t> bytes = bytes_of(entry.key(), entry.value());
    if (!bytes) return bytes.error();
    if (entry.key() == "offset") reference.offset = *bytes;
    if (entry.key() == "length") reference.length = *bytes;
  }
  return reference;
}

// Fails unless the location is a relative path that only goes down.
Result<void> check_location(const std::string& location) {
  const fs::path path(location);
  const bool printable = std::none_of(location.begin(), location.end(), [](unsigned char c) { return c < 0x20; });
  const bool down = std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  if (!location.empty() && printable && down && path.is_relative()) return {};
  return unsupported("its external data is in " + in_quotes(location) +
                     "; a file in the model's folder, by a relative path without '..', is right");
}

bool is_below(const fs::path& file, const fs::path& folder) {
  return !folder.empty() && std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

}  // namespace

// The files that tensors refer to, each opened once.
class ExternalData::Files {
 public:
  explicit Files(const fs::path& model_file) {
    std::error_code ignored;  // a root that cannot be resolved is empty, and no file is below it
    const fs::path file = fs::absolute(model_file, ignored);
    folder_ = file.parent_path();
    roots_.push_back(fs::weakly_canonical(folder_, ignored));
    // If the model itself is a link, files beside its target belong to it as well.
    roots_.push_back(fs::weakly_canonical(file, ignored).parent_path());
  }

  // Records the place of the tensor's numbers if they are in another file.
  Result<void> add(const onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return {};
    const Result<std::int64_t> bytes = stored_bytes(tensor);
    if (!bytes) return bytes.error();
    if (*bytes < 0) return {};
    const Result<Place> place = place_of(tensor, *bytes);
    if (!place) return place.error().within("tensor " + in_quotes(tensor.name()));
    places_[&tensor] = *place;
    return {};
  }

  [[nodiscard]] std::int64_t bytes() const { return granted_; }

  Result<std::vector<float>> floats_of(const onnx::TensorProto& tensor) {
    const auto found = places_.find(&tensor);
    if (found == places_.end()) return znni::floats_of(tensor);
    auto& [file, offset, bytes, width] = found->second;
    std::vector<float> values(static_cast<std::size_t>(bytes / width));
    if (read(*file, offset, bytes, width, tensor.data_type(), values.data())) return values;
    return corrupt("cannot read its " + std::to_string(bytes) + " bytes of external data")
        .within("tensor " + in_quotes(tensor.name()));
  }

 private:
  struct File {
    std::ifstream stream;
    std::int64_t bytes = 0;
  };
  struct Place {
    File* file = nullptr;
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::int64_t width = 1;  // bytes of an element
  };

  Result<Place> place_of(const onnx::TensorProto& tensor, std::int64_t bytes) {
    const Result<Reference> reference = reference_of(tensor);
    if (!reference) return reference.error();
    if (reference->length && *reference->length != bytes) {
      return corrupt("has " + std::to_string(*reference->length) + " bytes of external data; its extents ask for " +
                     std::to_string(bytes));
    }
    const Result<File*> file = grant(*reference, bytes);
    if (!file) return file.error();
    onnx::TensorProto one;
    one.set_data_type(tensor.data_type());
    return Place{*file, reference->offset, bytes, *stored_bytes(one)};
  }

  Result<File*> grant(const Reference& from, std::int64_t bytes) {
    if (Result<void> sound = check_location(from.location); !sound) return sound.error();
    const Result<File*> file = open(from.location);
    if (!file) return file.error();
    const std::int64_t available = (*file)->bytes - std::min(from.offset, (*file)->bytes);
    if (bytes > available) {
      return corrupt("needs " + std::to_string(bytes) + " bytes from byte " + std::to_string(from.offset) + " of " +
                     in_quotes(from.location) + ", which has " + std::to_string((*file)->bytes) +
                     "; is the file cut short?");
    }
    granted_ = znni::add(granted_, bytes);
    if (granted_ > max_bytes) {
      return unsupported("takes the external data beyond " + bytes_text(max_bytes) + ", the most that is read");
    }
    if (granted_ > mul(max_sharing, all_bytes_)) return unsupported("is one of too many tensors that share bytes");
    return file;
  }

  // Reads and converts part after part, so that numbers of another type are not in memory twice.
  static bool read(File& file, std::int64_t offset, std::int64_t bytes, std::int64_t width, int type, float* to) {
    constexpr std::int64_t part_bytes = std::int64_t{1} << 20;  // whole elements of any type
    std::string part;
    file.stream.clear();
    file.stream.seekg(offset);
    for (std::int64_t left = bytes; left > 0; left -= std::ssize(part)) {
      part.resize(static_cast<std::size_t>(std::min(left, part_bytes)));
      file.stream.read(part.data(), std::ssize(part));
      if (file.stream.gcount() != std::ssize(part)) return false;
      convert_raw(type, part, to);
      to += std::ssize(part) / width;
    }
    return true;
  }

  // Tensors may share bytes up to this many times, so that a small file cannot fill the memory.
  static constexpr std::int64_t max_sharing = 4;
  // Upper bound of external bytes, that of an ONNX file itself. Sparse files may claim any size.
  static constexpr std::int64_t max_bytes = std::int64_t{2} << 30;

  Result<File*> open(const std::string& location) {
    if (const auto known = open_.find(location); known != open_.end()) return &known->second;
    std::error_code failure;
    const fs::path path = fs::canonical(fs::absolute(folder_ / location, failure), failure);
    if (failure) {
      return Error{ErrorCode::not_found,
                   "its external data is in " + in_quotes(location) + ", which is not beside the model; copy it there"};
    }
    const bool inside = is_below(path, roots_[0]) || is_below(path, roots_[1]);
    if (!inside) return unsupported("its external data is in " + in_quotes(location) + ", a link out of the folder");
    // Opening a pipe would block until a writer opens it.
    if (!fs::is_regular_file(path, failure)) return corrupt(in_quotes(location) + " is no regular file");
    File file{std::ifstream(path, std::ios::binary), 0};
    if (!file.stream) return corrupt(in_quotes(location) + " cannot be opened as a file");
    file.bytes = static_cast<std::int64_t>(fs::file_size(path, failure));
    if (failure) return corrupt(in_quotes(location) + ": " + failure.message());
    all_bytes_ = znni::add(all_bytes_, file.bytes);
    return &open_.emplace(location, std::move(file)).first->second;
  }

  fs::path folder_;
  std::vector<fs::path> roots_;
  std::map<std::string, File> open_;
  std::map<const onnx::TensorProto*, Place> places_;
  std::int64_t all_bytes_ = 0;
  std::int64_t granted_ = 0;
};

ExternalData::ExternalData(std::unique_ptr<Files> files) : files_(std::move(files)) {}
ExternalData::ExternalData(ExternalData&& other) noexcept = default;
ExternalData& ExternalData::operator=(ExternalData&& other) noexcept = default;
ExternalData::~ExternalData() = default;

Result<ExternalData> ExternalData::open(const onnx::ModelProto& model, const fs::path& model_file) {
  auto files = std::make_unique<Files>(model_file);
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (Result<void> added = files->add(tensor); !added) return added.error();
  }
  for (const onnx::NodeProto& node : model.graph().node()) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (!attribute.has_t()) continue;
      if (Result<void> added = files->add(attribute.t()); !added) return added.error();
    }
  }
  return ExternalData(std::move(files));
}

std::int64_t ExternalData::bytes() const { return files_->bytes(); }

Result<std::vector<float>> ExternalData::floats_of(const onnx::TensorProto& tensor) {
  return files_->floats_of(tensor);
}

}  // namespace znni
