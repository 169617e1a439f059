#include "tests/support/cases.hpp"

#include <fstream>
#include <sstream>

namespace znni::test {
namespace {

// Reads words of one line; after the first failure it stays failed.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

  // Consumes `text` if it comes next; returns whether it did.
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text) { ok_ = take(text) && ok_; }

  std::int64_t integer() {
    std::size_t length = 0;
    while (length < rest_.size() && rest_[length] >= '0' && rest_[length] <= '9') ++length;
    ok_ = ok_ && length > 0 && length < 10;
    const std::int64_t value = ok_ ? std::stoll(std::string(rest_.substr(0, length))) : 0;
    rest_.remove_prefix(length);
    return value;
  }

  float real() {
    const std::string text(rest_);
    char* end = nullptr;
    const float value = std::strtof(text.c_str(), &end);
    ok_ = ok_ && end != text.c_str();
    rest_.remove_prefix(static_cast<std::size_t>(end - text.c_str()));
    return value;
  }

  Vec3 vec3() {
    Vec3 value;
    value.z = integer();
    expect("x");
    value.y = integer();
    expect("x");
    value.x = integer();
    return value;
  }

  Shape5 shape() {
    Shape5 value;
    value.S = integer();
    expect("x");
    value.f = integer();
    expect("x");
    value.n = vec3();
    return value;
  }

  // Reads ", relu", ", elu 0.5" or nothing.
  Activation activation() {
    // The last ones first, because gelu_tanh begins like gelu.
    for (int kind = static_cast<int>(last_activation_kind); kind > 0; --kind) {
      Activation value{static_cast<ActivationKind>(kind), 0.0F};
      if (!take(std::string(", ").append(to_string(value.kind)))) continue;
      if (take(" ")) value.alpha = real();
      return value;
    }
    return {};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

LayerProblem read_conv(Reader& reader) {
  ConvProblem conv;
  conv.in = reader.shape();
  reader.expect(" -> ");
  conv.f_out = reader.integer();
  reader.expect(", k ");
  conv.k = reader.vec3();
  if (reader.take(", dilation ")) conv.dilation = reader.vec3();
  if (reader.take(", stride ")) conv.stride = reader.vec3();
  if (reader.take(", groups ")) conv.groups = reader.integer();
  conv.residual = reader.take(", residual");
  conv.activation = reader.activation();
  return conv;
}

LayerProblem read_pool(Reader& reader, PoolKind kind) {
  PoolProblem pool;
  pool.kind = kind;
  pool.in = reader.shape();
  reader.expect(", window ");
  pool.window = reader.vec3();
  reader.expect(", stride ");
  pool.stride = reader.vec3();
  if (reader.take(", plain")) return pool;
  pool.mode = PoolMode::fragments;
  reader.expect(", fragments of ");
  pool.fragments = reader.vec3();
  return pool;
}

LayerProblem read_problem(Reader& reader) {
  if (reader.take("max pool ")) return read_pool(reader, PoolKind::max);
  if (reader.take("average pool ")) return read_pool(reader, PoolKind::average);
  reader.expect("conv ");
  return read_conv(reader);
}

Error bad_line(std::string_view text, std::string_view why) {
  std::string message("'");
  message.append(text).append("' ").append(why);
  return {ErrorCode::corrupt_file, std::move(message)};
}

}  // namespace

Result<LayerProblem> parse_problem(std::string_view text) {
  Reader reader(text);
  const LayerProblem problem = read_problem(reader);
  if (!reader.at_end()) return bad_line(text, "is neither 'conv ...' nor 'max pool ...' nor 'average pool ...'");
  if (const Result<void> sound = check(problem); !sound)
    return bad_line(text, std::string("is no problem: ").append(sound.error().message));
  return problem;
}

Result<std::vector<Case>> read_cases(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return Error{ErrorCode::not_found, file.string() + ": cannot be read"};
  std::vector<Case> cases;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) return bad_line(line, "has no 'name: '").within(file.string());
    const Result<LayerProblem> problem = parse_problem(std::string_view(line).substr(colon + 2));
    if (!problem) return problem.error().within(file.string());
    cases.push_back({line.substr(0, colon), *problem});
  }
  return cases;
}

}  // namespace znni::test
