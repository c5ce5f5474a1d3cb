// The file `node` of a node directory: which host has made the directory, and for which run. Only a directory with this
// file is one of ours. Used by node_directory. Format: docs/formats/node-directory.md. Tests:
// tests/unit/universe/node_directory_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace couplet::universe {

struct NodeFacts {
  std::uint64_t run_id = 0;
  std::string boot_id;
  std::string host;
  std::string key;
};

inline constexpr int node_facts_version = 1;
inline constexpr const char* node_facts_file = "node";
inline constexpr std::size_t run_id_digits = 16;  // hexadecimal

// Reads the facts of `directory`. Returns not_found if there is no such file, and protocol if it is not a valid file of
// this version or does not belong to this user. Symbolic links are not followed.
Result<NodeFacts> read_node_facts(const std::string& directory);
// Writes the file, so that it appears complete or not at all.
Status write_node_facts(const std::string& directory, const NodeFacts& facts);

}  // namespace couplet::universe
