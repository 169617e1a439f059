// ONNX models: a network that can be read passes the network's own checks. So does one with weights in other files,
// which may be the model itself, "model.onnx": any bytes for any offset and length. What lies outside of its folder,
// "../outside.bin", to which "link.bin" leads, is in no weights.
#include <algorithm>
#include <bit>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "proto/convert/onnx/reader/onnx_reader.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/support/temporary.hpp"

namespace {

class Folder {
 public:
  Folder() {
    const std::string_view number(reinterpret_cast<const char*>(&secret_), sizeof(secret_));
    std::string text;
    for (int i = 0; i < 4096; ++i) text += number;
    above_.write("outside.bin", text);
    above_.write("models/model.onnx", "");
    std::filesystem::create_symlink(above_.path() / "outside.bin", above_.path() / "models/link.bin");
  }

  // Writes a model of these bytes and returns its path.
  [[nodiscard]] std::string with(std::string_view bytes) const { return above_.write("models/model.onnx", bytes); }
  // Returns true if `weights` hold the secret: four of its numbers in a row are not chance.
  [[nodiscard]] bool gave(const std::vector<float>& weights) const {
    const auto is_secret = [](float value, std::uint32_t secret) {
      return std::bit_cast<std::uint32_t>(value) == secret;
    };
    return std::search_n(weights.begin(), weights.end(), 4, secret_, is_secret) != weights.end();
  }

 private:
  // A number around one which no input knows.
  const std::uint32_t secret_ = 0x3F800000U | (std::random_device()() >> 9);
  znni::test::TemporaryDirectory above_;
};

void check(const znni::Result<znni::LoadedNetwork>& loaded, const Folder& folder) {
  if (!loaded) return;
  znni::ensure(znni::check(loaded->network).has_value(), "a network that was read passes check()");
  znni::ensure(znni::check_weights(loaded->network, loaded->weights).has_value(), "so do its weights");
  const auto escaped = [&](const znni::NodeWeights& weights) {
    return folder.gave(weights.kernels) || folder.gave(weights.bias);
  };
  znni::ensure(std::none_of(loaded->weights.begin(), loaded->weights.end(), escaped), "weights stay in their folder");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(znni::read_onnx_bytes(bytes), folder);
  const bool names_files = bytes.find("location") != std::string_view::npos;
  if (names_files) check(znni::read_onnx_bytes(bytes, folder.with(bytes)), folder);
  return 0;
}
