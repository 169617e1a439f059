#include "server/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Command parse(const std::vector<const char*>& arguments) { return parse_options(arguments, "znnid 1.2.3"); }

Command parse_with_repository(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--model-repository", "models"});
  return parse(arguments);
}

void expect_refused(const Command& command, const std::string& part) {
  EXPECT_EQ(command.exit_code, exit_wrong_use);
  EXPECT_THAT(command.text, HasSubstr(part));
  EXPECT_EQ(std::count(command.text.begin(), command.text.end(), '\n'), 1) << command.text;
}

TEST(Options, DefaultsAreThoseOfTheManual) {
  const Command command = parse_with_repository({});
  ASSERT_FALSE(command.exit_code) << command.text;
  const Options& options = command.options;
  EXPECT_EQ(options.model_repository, "models");
  EXPECT_EQ(options.grpc_address, "127.0.0.1");
  EXPECT_EQ(options.grpc_port, 8001);
  EXPECT_EQ(options.memory, std::nullopt);
  EXPECT_EQ(options.threads, std::nullopt);
  EXPECT_EQ(options.max_request_bytes, std::nullopt);
  EXPECT_EQ(options.lame_duck_seconds, 0);
  EXPECT_EQ(options.exit_timeout_seconds, 30);
  EXPECT_EQ(options.metrics_address, "127.0.0.1");
  EXPECT_EQ(options.metrics_port, 8002);
  EXPECT_FALSE(options.allow_client_shm);
  EXPECT_FALSE(options.use_ssl);
  EXPECT_EQ(options.log_format, LogFormat::text);
  EXPECT_FALSE(options.check_config);
}

TEST(Options, PlansAreMadeForAVolumeIfItIsNamed) {
  const Command command = parse_with_repository({"--volume", "30,40,50", "--volume-is-padded"});
  ASSERT_FALSE(command.exit_code) << command.text;
  EXPECT_EQ(command.options.volume.extent, (Vec3{30, 40, 50}));
  EXPECT_TRUE(command.options.volume.is_padded);
  EXPECT_EQ(parse_with_repository({}).options.volume.extent, std::nullopt);
  expect_refused(parse_with_repository({"--volume", "30,40"}), "three numbers Z,Y,X of at least 1");
  expect_refused(parse_with_repository({"--volume-is-padded"}), "--volume");
}

TEST(Options, EveryOptionIsRead) {
  const Command command = parse_with_repository({"--plan-dir",
                                                 "plans",
                                                 "--grpc-address",
                                                 "0.0.0.0",
                                                 "--grpc-port",
                                                 "0",
                                                 "--mem",
                                                 "1.5G",
                                                 "--threads",
                                                 "3",
                                                 "--max-request-bytes",
                                                 "64M",
                                                 "--max-queue",
                                                 "7",
                                                 "--lame-duck-secs",
                                                 "0.5",
                                                 "--exit-timeout-secs",
                                                 "2.5",
                                                 "--log-format",
                                                 "json",
                                                 "--check-config",
                                                 "--gpu-mem",
                                                 "11G",
                                                 "--plugin",
                                                 "a.so",
                                                 "--plugin",
                                                 "b.so"});
  ASSERT_FALSE(command.exit_code) << command.text;
  const Options& options = command.options;
  EXPECT_EQ(options.plan_directory, "plans");
  EXPECT_EQ(options.grpc_address, "0.0.0.0");
  EXPECT_EQ(options.grpc_port, 0);
  EXPECT_EQ(options.memory, std::int64_t{3} << 29);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.max_request_bytes, std::int64_t{64} << 20);
  EXPECT_EQ(options.max_queue, 7);
  EXPECT_EQ(options.lame_duck_seconds, 0.5);
  EXPECT_EQ(options.exit_timeout_seconds, 2.5);
  EXPECT_EQ(options.gpu_memory, std::int64_t{11} << 30);
  EXPECT_EQ(options.plugins, (std::vector<std::filesystem::path>{"a.so", "b.so"}));
  EXPECT_EQ(options.log_format, LogFormat::json);
  EXPECT_TRUE(options.check_config);
}

TEST(Options, ConnectionsAreBoundedByDefaultOrByNumber) {
  EXPECT_EQ(parse_with_repository({}).options.max_connections, std::nullopt);
  const Command command = parse_with_repository({"--max-connections", "70", "--max-connections-per-client", "30"});
  ASSERT_FALSE(command.exit_code) << command.text;
  EXPECT_EQ(command.options.max_connections, 70);
  EXPECT_EQ(command.options.max_connections_per_client, 30);
  expect_refused(parse_with_repository({"--max-connections", "0"}), "--max-connections");
}

TEST(Options, SecurityIsRead) {
  const Command command = parse_with_repository(
      {"--grpc-use-ssl-mutual", "--grpc-server-cert", "c", "--grpc-server-key", "k", "--grpc-root-cert", "r",
       "--infer-token-file", "i", "--manage-token-file", "m", "--allow-client-shm", "--metrics-port", "-1",
       "--metrics-address", "0.0.0.0", "--stuck-after-secs", "60"});
  ASSERT_FALSE(command.exit_code) << command.text;
  const Options& options = command.options;
  EXPECT_TRUE(options.use_ssl_mutual);
  EXPECT_EQ(options.server_cert, "c");
  EXPECT_EQ(options.server_key, "k");
  EXPECT_EQ(options.root_cert, "r");
  EXPECT_EQ(options.infer_token_file, "i");
  EXPECT_EQ(options.manage_token_file, "m");
  EXPECT_TRUE(options.allow_client_shm);
  EXPECT_EQ(options.metrics_port, -1);
  EXPECT_EQ(options.metrics_address, "0.0.0.0");
  EXPECT_EQ(options.stuck_after_seconds, 60);
}

TEST(Options, ModelsAreServedOverHttpAsAskedFor) {
  EXPECT_EQ(parse_with_repository({}).options.http_models, HttpModels::automatic);
  EXPECT_EQ(parse_with_repository({"--http-infer", "on"}).options.http_models, HttpModels::on);
  EXPECT_EQ(parse_with_repository({"--http-infer", "off"}).options.http_models, HttpModels::off);
  EXPECT_EQ(parse_with_repository({"--http-infer", "auto"}).options.http_models, HttpModels::automatic);
  expect_refused(parse_with_repository({"--http-infer", "maybe"}), "--http-infer");
}

TEST(Options, ModelsAreLoadedByHandOnlyWhereAskedFor) {
  EXPECT_EQ(parse_with_repository({}).options.control, ModelControl::none);
  const Command command =
      parse_with_repository({"--model-control-mode", "explicit", "--load-model", "a", "--load-model", "b"});
  ASSERT_FALSE(command.exit_code) << command.text;
  EXPECT_EQ(command.options.control, ModelControl::by_hand);
  EXPECT_EQ(command.options.load_models, (std::vector<std::string>{"a", "b"}));
  expect_refused(parse_with_repository({"--load-model", "a"}), "--model-control-mode explicit");
  expect_refused(parse_with_repository({"--model-control-mode", "polling"}), "--model-control-mode");
}

TEST(Options, PollingHasItsTime) {
  const Command command = parse_with_repository({"--model-control-mode", "poll"});
  EXPECT_EQ(command.options.control, ModelControl::poll);
  EXPECT_EQ(command.options.poll_seconds, std::nullopt);
  const Command quick = parse_with_repository({"--model-control-mode", "poll", "--repository-poll-secs", "2.5"});
  EXPECT_EQ(quick.options.poll_seconds, 2.5);
  EXPECT_THAT(describe(quick.options), testing::Contains(testing::Pair("model-control-mode", "poll")));
  EXPECT_THAT(describe(quick.options), testing::Contains(testing::Pair("repository-poll-secs", "2.5")));
  expect_refused(parse_with_repository({"--repository-poll-secs", "5"}), "--model-control-mode poll");
  for (const char* wrong : {"0", "-1", "nan", "inf", "often"}) {
    expect_refused(parse_with_repository({"--model-control-mode", "poll", "--repository-poll-secs", wrong}),
                   "--repository-poll-secs");
  }
  expect_refused(parse_with_repository({"--model-control-mode", "poll", "--load-model", "a"}), "explicit");
}

TEST(Options, HalfATlsIsRefused) {
  expect_refused(parse_with_repository({"--grpc-use-ssl"}), "needs --grpc-server-cert and --grpc-server-key");
  expect_refused(parse_with_repository({"--grpc-use-ssl-mutual", "--grpc-server-cert", "c", "--grpc-server-key", "k"}),
                 "needs --grpc-root-cert");
  expect_refused(parse_with_repository({"--grpc-server-cert", "c"}), "without --grpc-use-ssl");
}

TEST(Options, WrongUseEndsWithOneLine) {
  expect_refused(parse({}), "--model-repository");
  expect_refused(parse_with_repository({"--mem", "lots"}), "--mem");
  expect_refused(parse_with_repository({"--grpc-port", "70000"}), "--grpc-port");
  expect_refused(parse_with_repository({"--threads", "0"}), "--threads");
  expect_refused(parse_with_repository({"--max-queue", "0"}), "--max-queue");
  expect_refused(parse_with_repository({"--log-format", "xml"}), "--log-format");
  expect_refused(parse_with_repository({"--exit-timeout-secs", "-1"}), "--exit-timeout-secs");
  expect_refused(parse_with_repository({"--lame-duck-secs", "-1"}), "--lame-duck-secs");
  for (const char* option : {"--exit-timeout-secs", "--lame-duck-secs", "--stuck-after-secs"}) {
    for (const char* endless : {"nan", "-nan", "NAN", "inf", "-inf"}) {
      expect_refused(parse_with_repository({option, endless}), option);
    }
  }
  expect_refused(parse_with_repository({"--exit-timeout-secs", "nan"}), "'nan' is not a finite number");
  expect_refused(parse_with_repository({"--metrics"}), "--metrics");
  expect_refused(parse_with_repository({"stray"}), "stray");
}

TEST(Options, MessagesHoldAPatchAndStayBelowTheLimitOfTheProtocol) {
  expect_refused(parse_with_repository({"--max-request-bytes", "1025M"}), "at most 1.00 GiB");
  expect_refused(parse_with_repository({"--max-request-bytes", "4095"}), "too small, expected at least 4.00 KiB");
  EXPECT_FALSE(parse_with_repository({"--max-request-bytes", "4K"}).exit_code);
  EXPECT_FALSE(parse_with_repository({"--max-request-bytes", "1G"}).exit_code);
}

TEST(Options, HelpAndVersionEndWell) {
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
  EXPECT_THAT(parse({"--help"}).text, HasSubstr("--max-request-bytes"));
  EXPECT_EQ(parse({"--version"}).exit_code, 0);
  EXPECT_THAT(parse({"--version"}).text, HasSubstr("znnid 1.2.3"));
}

class ConfigFile : public testing::Test {
 protected:
  void write(const std::string& text) { directory_.write("znnid.ini", text); }

  const test::TemporaryDirectory directory_;
  const std::string path_ = directory_.path() / "znnid.ini";
};

TEST_F(ConfigFile, SetsWhatTheCommandLineDoesNot) {
  write("model-repository=\"from file\"\nmem=2G\ngrpc-port=9000\nlog-format=json\n");
  const Command command = parse({"--config", path_.c_str(), "--grpc-port", "9001"});
  ASSERT_FALSE(command.exit_code) << command.text;
  EXPECT_EQ(command.options.model_repository, "from file");
  EXPECT_EQ(command.options.memory, std::int64_t{2} << 30);
  EXPECT_EQ(command.options.grpc_port, 9001);
  EXPECT_EQ(command.options.log_format, LogFormat::json);
}

TEST_F(ConfigFile, EqualsTheFlags) {
  const Command flags =
      parse_with_repository({"--mem", "1G", "--threads", "2", "--plan-dir", "p", "--max-request-bytes", "8M",
                             "--allow-client-shm", "--metrics-port", "0", "--http-infer", "on"});
  std::string text;
  for (const auto& [name, value] : describe(flags.options)) text += name + "=" + value + "\n";
  write(text);
  const Command file = parse({"--config", path_.c_str()});
  ASSERT_FALSE(file.exit_code) << file.text;
  EXPECT_EQ(describe(file.options), describe(flags.options));
}

TEST_F(ConfigFile, UnknownNamesAndBadValuesAreRefused) {
  write("memory=2G\n");
  expect_refused(parse_with_repository({"--config", path_.c_str()}), "memory");
  write("mem=lots\n");
  expect_refused(parse_with_repository({"--config", path_.c_str()}), "lots");
}

TEST_F(ConfigFile, MustExist) { expect_refused(parse_with_repository({"--config", "none.ini"}), "none.ini"); }

TEST(Options, DescriptionCanBeReadBack) {
  Command command = parse_with_repository(
      {"--mem", "1G", "--threads", "2", "--plan-dir", "p", "--log-format", "json", "--max-request-bytes", "8M"});
  std::vector<std::string> words;
  for (const auto& [name, value] : describe(command.options)) words.push_back("--" + name + "=" + value);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const Command again = parse(arguments);
  ASSERT_FALSE(again.exit_code) << again.text;
  EXPECT_EQ(describe(again.options), describe(command.options));
}

}  // namespace
}  // namespace znni
