// Collects what a model is refused for, grouped by kind, in little memory however many nodes are refused.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "planner/network/blockers.hpp"
#include "proto/convert/onnx/graph/onnx_arithmetic.hpp"
#include "proto/convert/onnx/graph/onnx_modules.hpp"

namespace znni {

// Upper bound of the kinds that are listed.
inline constexpr std::size_t max_listed_blockers = 20;

class OnnxBlockers {
 public:
  // `graph` must outlive the collector.
  explicit OnnxBlockers(const OnnxGraph& graph) : graph_(graph) {}

  // Adds a refusal of the network as a whole.
  void add(const Error& error);
  // Adds a node that convert_node() refused with `error`. Nodes of one module count once. Numbers that the file
  // computes are told of with the node that reads them, if that is refused, too. Returns the tensor whose form the
  // node's output has; "" if that is not known.
  std::string add(const onnx::NodeProto& node, const Error& error);
  // Notes that the rest of the file was not looked at.
  void end_early() { found_.is_whole = false; }

  // Returns the first refusal; it begins with the node's name and operator. nullopt if there is none.
  [[nodiscard]] const std::optional<Error>& first() const { return first_; }
  [[nodiscard]] Blockers result() const;

 private:
  // The graph's structure, which is looked at for the first refusal.
  struct Structure {
    OnnxModules modules;
    OnnxArithmetic arithmetic;
  };
  std::string add_part(const onnx::NodeProto& node, const Error& error);
  void count(const OnnxWords& words, const std::string& reason, const std::string& first);

  const OnnxGraph& graph_;
  std::optional<Structure> structure_;
  std::optional<Error> first_;
  std::set<const OnnxModule*> seen_;
  std::map<std::string, std::size_t> kinds_;  // words and reason -> index
  std::array<Blocker, 2> computed_;           // numbers computed from constants, from shapes
  std::array<bool, 2> is_told_ = {};          // a refused node reads them
  Blockers found_;
};

// Returns the first refusal with the number of all others, and how to list them, of the model at `path`.
[[nodiscard]] Error with_others(const Error& first, const Blockers& all, const std::string& path);

}  // namespace znni
