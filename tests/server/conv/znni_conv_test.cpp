// libznni_conv.so, as other programs link it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "tests/server/conv/conv_data.hpp"

extern "C" {
#include "server/conv/znni_conv.h"
#include "tests/server/conv/from_c.h"
}

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t plenty = std::int64_t{1} << 40;

// Room for a message.
struct Said {
  std::array<char, 400> text = {};
  [[nodiscard]] znni_conv_message room() { return {text.data(), text.size()}; }
  [[nodiscard]] std::string words() const { return text.data(); }
};

struct Destroy {
  void operator()(znni_conv* conv) const { znni_conv_destroy(conv); }
};
using Conv = std::unique_ptr<znni_conv, Destroy>;

znni_conv_shape shape_of(const ConvProblem& conv) {
  return {conv.in.S, conv.in.f, conv.f_out, {conv.in.n.z, conv.in.n.y, conv.in.n.x}, {conv.k.z, conv.k.y, conv.k.x}};
}

Conv create(const ConvProblem& conv, int threads = 2, std::int64_t mem = plenty) {
  Said said;
  znni_conv* made = nullptr;
  const znni_conv_shape shape = shape_of(conv);
  EXPECT_EQ(znni_conv_create(&shape, threads, mem, &made, said.room()), ZNNI_CONV_OK) << said.words();
  return Conv(made);
}

void run_all(const znni_conv* conv, const test::ConvData& data, test::ConvWritten& written) {
  Said said;
  const float* const gradient = data.output_gradient.data() + 1;
  const float* const input = data.input.data() + 1;
  test::Workspace forward(znni_conv_workspace_bytes(conv, ZNNI_CONV_FORWARD));
  EXPECT_EQ(znni_conv_forward(conv, input, data.kernels(), data.weights.bias.data(), written.output.data() + 1,
                              forward.data(), said.room()),
            ZNNI_CONV_OK)
      << said.words();
  test::Workspace of_input(znni_conv_workspace_bytes(conv, ZNNI_CONV_INPUT_GRADIENT));
  EXPECT_EQ(znni_conv_input_gradient(conv, gradient, data.kernels(), written.input_gradient.data() + 1, of_input.data(),
                                     said.room()),
            ZNNI_CONV_OK)
      << said.words();
  test::Workspace of_weights(znni_conv_workspace_bytes(conv, ZNNI_CONV_WEIGHT_GRADIENT));
  EXPECT_EQ(znni_conv_weight_gradient(conv, gradient, input, written.weight_gradient.data() + 1,
                                      written.bias_gradient.data(), of_weights.data(), said.room()),
            ZNNI_CONV_OK)
      << said.words();
  for (test::Workspace* each : {&forward, &of_input, &of_weights}) EXPECT_TRUE(each->is_kept_around());
}

const ConvProblem small{{1, 4, {6, 7, 8}}, 5, {3, 2, 1}, Vec3::cube(1), Vec3::cube(1), {}};

TEST(ZnniConv, ComputesRandomConvolutionsAndTheirGradients) {
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const ConvProblem conv = test::random_valid_conv(random);
    SCOPED_TRACE(to_string(LayerProblem(conv)) + ", ZNNI_TEST_SEED=" + std::to_string(seed));
    const test::ConvData data(conv, random);
    test::ConvWritten written(data);
    const Conv made = create(conv, static_cast<int>(random.integer(1, 3)));
    run_all(made.get(), data, written);
    test::expect_exact(written, data, "from C");
  }
}

TEST(ZnniConv, WithoutBiasItIsZero) {
  test::Random random(3);
  test::ConvData data(small, random);
  test::ConvWritten written(data);
  const Conv conv = create(small);
  test::Workspace workspace(znni_conv_workspace_bytes(conv.get(), ZNNI_CONV_FORWARD));
  Said said;
  ASSERT_EQ(znni_conv_forward(conv.get(), data.input.data() + 1, data.kernels(), nullptr, written.output.data() + 1,
                              workspace.data(), said.room()),
            ZNNI_CONV_OK)
      << said.words();
  const std::vector<float> without = written.output;
  std::fill(data.weights.bias.begin(), data.weights.bias.end(), 0.0F);
  run_all(conv.get(), data, written);
  EXPECT_EQ(without, written.output);
}

TEST(ZnniConv, ASmallerLimitHasASmallerWorkspaceAndTheSameResults) {
  ConvProblem conv = small;
  conv.in = {1, 32, {16, 16, 16}};
  conv.f_out = 32;
  conv.k = Vec3::cube(5);
  const Conv ample = create(conv);
  const std::int64_t bytes = znni_conv_workspace_bytes(ample.get(), ZNNI_CONV_WEIGHT_GRADIENT);
  ASSERT_GT(bytes, 0);
  test::Random random(1);
  const test::ConvData data(conv, random);
  test::ConvWritten written(data);
  const Conv tight = create(conv, 2, bytes - 1);
  EXPECT_LT(znni_conv_workspace_bytes(tight.get(), ZNNI_CONV_WEIGHT_GRADIENT), bytes);
  run_all(tight.get(), data, written);
  test::expect_exact(written, data, "tight");
}

TEST(ZnniConv, TellsHowEachWorkIsComputed) {
  const Conv conv = create(small);
  for (const int work : {ZNNI_CONV_FORWARD, ZNNI_CONV_INPUT_GRADIENT, ZNNI_CONV_WEIGHT_GRADIENT}) {
    Said said;
    EXPECT_EQ(znni_conv_describe(conv.get(), work, said.room()), ZNNI_CONV_OK);
    EXPECT_THAT(said.words(), HasSubstr(work == ZNNI_CONV_FORWARD ? "cpu.conv." : "cpu.grad."));
  }
  EXPECT_EQ(znni_conv_describe(conv.get(), 3, {}), ZNNI_CONV_INVALID);
  EXPECT_EQ(znni_conv_describe(nullptr, 0, {}), ZNNI_CONV_INVALID);
}

TEST(ZnniConv, ImpossibleShapesAreRefusedInOneLine) {
  const auto said_of = [](const znni_conv_shape& shape, int threads, std::int64_t mem) {
    Said said;
    znni_conv* made = reinterpret_cast<znni_conv*>(&said);
    EXPECT_EQ(znni_conv_create(&shape, threads, mem, &made, said.room()), ZNNI_CONV_INVALID);
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(said.words().find('\n'), std::string::npos);
    return said.words();
  };
  const znni_conv_shape right = shape_of(small);
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 62}) {
    for (int field = 0; field < 9; ++field) {
      znni_conv_shape shape = right;
      std::int64_t* const fields[] = {&shape.batch,     &shape.in_channels, &shape.out_channels,
                                      &shape.input[0],  &shape.input[1],    &shape.input[2],
                                      &shape.kernel[0], &shape.kernel[1],   &shape.kernel[2]};
      *fields[field] = wrong;
      EXPECT_NE(said_of(shape, 1, plenty), "") << field << " = " << wrong;
    }
  }
  EXPECT_EQ(said_of(right, 0, plenty), "threads = 0: at least 1 is needed");
  EXPECT_EQ(said_of(right, 1, -1), "mem = -1 is negative: give bytes, or 0");
}

TEST(ZnniConv, ALimitThatNothingFitsIsRefusedWithBothNumbers) {
  Said said;
  znni_conv* made = nullptr;
  const znni_conv_shape shape = shape_of(small);
  EXPECT_EQ(znni_conv_create(&shape, 1, 1, &made, said.room()), ZNNI_CONV_OVER_BUDGET);
  EXPECT_EQ(made, nullptr);
  EXPECT_THAT(said.words(), StartsWith("conv 1x4x6x7x8 -> 5, k 3x2x1 needs a workspace of at least "));
  EXPECT_THAT(said.words(), HasSubstr("and the limit is 1 B: raise it"));
}

TEST(ZnniConv, PointersThatAreNullOrAskewAreRefused) {
  const Conv conv = create(small);
  std::vector<float> values(4096);
  test::Workspace workspace(znni_conv_workspace_bytes(conv.get(), ZNNI_CONV_WEIGHT_GRADIENT));
  const auto* const askew = reinterpret_cast<const float*>(reinterpret_cast<const char*>(values.data()) + 2);
  const auto refused = [&](int code, const Said& said, std::string_view name) {
    EXPECT_EQ(code, ZNNI_CONV_INVALID);
    EXPECT_THAT(said.words(), StartsWith(std::string(name)));
  };
  float* const at = values.data();
  Said said;
  refused(znni_conv_forward(nullptr, at, at, at, at, nullptr, said.room()), said, "conv is NULL");
  refused(znni_conv_forward(conv.get(), nullptr, at, at, at, nullptr, said.room()), said, "input is NULL");
  refused(znni_conv_forward(conv.get(), at, nullptr, at, at, nullptr, said.room()), said, "weight is NULL");
  refused(znni_conv_forward(conv.get(), at, at, at, nullptr, nullptr, said.room()), said, "output is NULL");
  refused(znni_conv_forward(conv.get(), askew, at, at, at, nullptr, said.room()), said,
          "input does not begin at a multiple of 4 bytes");
  refused(znni_conv_input_gradient(conv.get(), at, at, nullptr, nullptr, said.room()), said, "input_gradient is NULL");
  refused(znni_conv_weight_gradient(conv.get(), at, at, at, nullptr, nullptr, said.room()), said,
          "bias_gradient is NULL");
  EXPECT_EQ(znni_conv_workspace_bytes(nullptr, 0), -1);
  EXPECT_EQ(znni_conv_workspace_bytes(conv.get(), -1), -1);
  EXPECT_EQ(znni_conv_create(nullptr, 1, 0, nullptr, said.room()), ZNNI_CONV_INVALID);
  znni_conv_destroy(nullptr);
}

TEST(ZnniConv, AMissingWorkspaceIsRefused) {
  ConvProblem conv = small;
  conv.in = {1, 32, {16, 16, 16}};
  conv.f_out = 32;
  const Conv made = create(conv);
  ASSERT_GT(znni_conv_workspace_bytes(made.get(), ZNNI_CONV_FORWARD), 0);
  test::Random random(1);
  const test::ConvData data(conv, random);
  test::ConvWritten written(data);
  Said said;
  EXPECT_EQ(znni_conv_forward(made.get(), data.input.data() + 1, data.kernels(), nullptr, written.output.data() + 1,
                              nullptr, said.room()),
            ZNNI_CONV_INVALID);
  EXPECT_THAT(said.words(), HasSubstr("the workspace has 0 B"));
}

TEST(ZnniConv, IsUsedFromCAndCutsOffMessages) {
  std::array<char, 300> text = {};
  EXPECT_EQ(from_c(text.data(), text.size()), ZNNI_CONV_INVALID);
  const std::string whole = text.data();
  EXPECT_NE(whole, "");
  text.fill('x');
  EXPECT_EQ(from_c(text.data(), 5), ZNNI_CONV_INVALID);
  EXPECT_EQ(std::string(text.data()), whole.substr(0, 4));
  EXPECT_EQ(text[5], 'x');
  EXPECT_EQ(from_c(nullptr, 0), ZNNI_CONV_INVALID);
  EXPECT_EQ(znni_conv_interface(), ZNNI_CONV_INTERFACE);
}

}  // namespace
}  // namespace znni
