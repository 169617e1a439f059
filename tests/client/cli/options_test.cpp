#include "client/cli/options.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace znni::client {
namespace {

Parsed parse(const std::vector<const char*>& arguments) { return parse_options({arguments.begin(), arguments.end()}); }

TEST(ClientOptions, InferTakesItsFlags) {
  const Parsed parsed =
      parse({"infer", "--server", "h:1", "-m", "net", "-i", "a.h5:/raw", "-o", "b.h5:/p", "--padding", "reflect",
             "--dtype", "uint8", "--scale", "2", "--overwrite", "--compress", "--no-progress", "--json"});
  ASSERT_TRUE(parsed.options) << parsed.text;
  EXPECT_EQ(parsed.options->command, Command::infer);
  EXPECT_EQ(parsed.options->padding, Padding::reflect);
  EXPECT_EQ(parsed.options->dtype, VoxelType::u8);
  EXPECT_EQ(parsed.options->scale, 2.0F);
  EXPECT_EQ(parsed.options->offset, 0.0F);
  EXPECT_TRUE(parsed.options->overwrite);
  EXPECT_TRUE(parsed.options->compress);
  EXPECT_FALSE(parsed.options->progress);
  EXPECT_EQ(parsed.options->wait_seconds, 600);
}

TEST(ClientOptions, WaitsAsLongAsItIsTold) {
  const Parsed parsed = parse({"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--wait", "1.5"});
  ASSERT_TRUE(parsed.options) << parsed.text;
  EXPECT_EQ(parsed.options->wait_seconds, 1.5);
  EXPECT_EQ(parse({"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--wait", "-1"}).exit_code, 2);
  for (const char* option : {"--wait", "--scale", "--offset"}) {
    const Parsed refused = parse({"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", option, "nan"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.text.find(option), std::string::npos) << refused.text;
  }
}

TEST(ClientOptions, CredentialsOfBothCommands) {
  const Parsed parsed =
      parse({"status", "--tls-root-cert", "ca", "--tls-cert", "c", "--tls-key", "k", "--token-file", "t"});
  ASSERT_TRUE(parsed.options) << parsed.text;
  EXPECT_EQ(parsed.options->credentials, (CredentialFiles{"ca", "c", "k", "t"}));
  EXPECT_TRUE(parse({"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--token-file", "t"}).options);
  EXPECT_EQ(parse({"status", "--tls-root-cert", "ca", "--tls-cert", "c"}).exit_code, 2);
  EXPECT_EQ(parse({"status", "--tls-cert", "c", "--tls-key", "k"}).exit_code, 2);
}

TEST(ClientOptions, Hdf5IsCompressedUnlessItShallNot) {
  const auto compresses = [](const char* output, const char* more) {
    std::vector<const char*> arguments = {"infer", "-m", "net", "-i", "a.npy", "-o", output};
    if (more != nullptr) arguments.push_back(more);
    const Parsed parsed = parse(arguments);
    EXPECT_TRUE(parsed.options) << parsed.text;
    return parsed.options && parsed.options->compress;
  };
  for (const char* output : {"b.h5:/p", "b.hdf5:/p", "b.h5"}) {
    EXPECT_TRUE(compresses(output, nullptr)) << output;
    EXPECT_TRUE(compresses(output, "--compress")) << output;
    EXPECT_FALSE(compresses(output, "--no-compress")) << output;
  }
  for (const char* output : {"b.npy", "b.tif", "b"}) {
    EXPECT_FALSE(compresses(output, nullptr)) << output;
    EXPECT_FALSE(compresses(output, "--no-compress")) << output;
    EXPECT_TRUE(compresses(output, "--compress")) << output << ": the file is refused later";
  }
}

TEST(ClientOptions, NamesOfThePythonClient) {
  const Parsed parsed =
      parse({"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--pad", "zero", "--roi", "1:2,:,:"});
  ASSERT_TRUE(parsed.options) << parsed.text;
  EXPECT_EQ(parsed.options->padding, Padding::zero);
  EXPECT_EQ(parsed.options->bbox, "1:2,:,:");
}

TEST(ClientOptions, ModelsOwnNormalisationByDefault) {
  const Parsed parsed = parse({"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy"});
  ASSERT_TRUE(parsed.options);
  EXPECT_FALSE(parsed.options->scale);
}

TEST(ClientOptions, WrongUseIsOneLineAndExitCode2) {
  const std::vector<std::vector<const char*>> wrong = {
      {},
      {"infer"},
      {"infer", "-m", "net", "-i", "a.npy"},
      {"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--padding", "mirror"},
      {"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--dtype", "uint16"},
      {"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--resume", "--overwrite"},
      {"infer", "-m", "net", "-i", "a.npy", "-o", "b.h5:/p", "--compress", "--no-compress"},
      {"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--server", "a:1,b:2"},
      {"infer", "-m", "net", "-i", "a.npy", "-o", "b.npy", "--nonsense"},
      {"fly"}};
  for (const auto& arguments : wrong) {
    const Parsed parsed = parse(arguments);
    EXPECT_FALSE(parsed.options);
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_EQ(parsed.text.find('\n'), std::string::npos) << parsed.text;
  }
}

TEST(ClientOptions, HelpIsNoError) {
  const Parsed parsed = parse({"infer", "--help"});
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_NE(parsed.text.find("--padding"), std::string::npos);
  EXPECT_NE(parsed.text.find("Usage: znni infer [OPTIONS]"), std::string::npos) << parsed.text;
  EXPECT_EQ(parsed.text.find("znni run"), std::string::npos);
  EXPECT_NE(parse({"models", "--help"}).text.find("Usage: znni status"), std::string::npos);
  EXPECT_NE(parse({"--help"}).text.find("znni run"), std::string::npos);
}

TEST(ClientOptions, VersionIsNoError) {
  const Parsed parsed = parse({"--version"});
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_TRUE(parsed.text.starts_with("znni ")) << parsed.text;
}

TEST(ClientOptions, ModelsIsStatus) {
  const Parsed parsed = parse({"models", "--server", "h:1"});
  ASSERT_TRUE(parsed.options) << parsed.text;
  EXPECT_EQ(parsed.options->command, Command::status);
  EXPECT_EQ(parsed.options->server, "h:1");
  for (const char* word : {"infer", "status", "models"}) EXPECT_TRUE(is_own_command(word)) << word;
  EXPECT_FALSE(is_own_command("run"));
}

}  // namespace
}  // namespace znni::client
