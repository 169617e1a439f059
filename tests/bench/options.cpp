#include "tests/bench/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "planner/sizes.hpp"

namespace znni::bench {
namespace {

constexpr int wrong_use = 2;

void add_net(CLI::App& app, NetOptions& options, std::string& memory) {
  CLI::App* net = app.add_subcommand("net", "run a plan on one patch, and compare with what it predicts");
  net->add_option("--plan", options.plan, "plan, as planner --output writes it")->required();
  net->add_option("--model", options.model, "its network: FILE.onnx, or FILE.pbtxt with seeded random weights")
      ->required();
  net->add_option("--mem", memory, "host RAM the plan may take: 16G, 512M (default: 0.8 x what is free)");
  net->add_option("--threads", options.threads, "threads that compute (default: those the plan was made for)")
      ->check(CLI::Range(1, 4096));
  net->add_option("--repetitions", options.repetitions, "warm runs after the cold one")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  net->add_flag("--json", options.json, "the figures as JSON on stdout");
  app.require_subcommand(1);
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::variant<NetOptions, EarlyEnd> parse_options(std::vector<std::string> arguments) {
  NetOptions options;
  std::string memory;
  CLI::App app("Whether the planner told the truth: predicted and measured times of a plan on this machine.",
               "znni-bench");
  add_net(app, options, memory);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return EarlyEnd{0, app.help("", CLI::AppFormatMode::All)};
  } catch (const CLI::ParseError& error) {
    return EarlyEnd{wrong_use, one_line(error.what()) + " (znni-bench --help lists all flags)"};
  }
  if (memory.empty()) return options;
  const Result<std::int64_t> bytes = parse_bytes(memory);
  if (!bytes) return EarlyEnd{wrong_use, bytes.error().within("--mem").message};
  options.memory = *bytes;
  return options;
}

}  // namespace znni::bench
