#include "support/fuzz_seeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace couplet::test {
namespace {

std::filesystem::path folder_of(const std::string& fuzzer) {
  return std::filesystem::path(COUPLET_SOURCE_DIR) / "tests/fuzz/corpus" / fuzzer;
}

}  // namespace

Seeds seeds_of(const std::string& fuzzer) {
  Seeds found;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(fuzzer))) {
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    found[entry.path().filename()] = bytes.str();
  }
  return found;
}

void check_seeds(const std::string& fuzzer, const Seeds& seeds, const std::vector<std::string>& others) {
  if (std::getenv("COUPLET_UPDATE_SEEDS") != nullptr) {
    for (const auto& [name, bytes] : seeds) std::ofstream(folder_of(fuzzer) / name, std::ios::binary) << bytes;
  }
  Seeds found = seeds_of(fuzzer);
  std::erase_if(found,
                [&](const auto& seed) { return std::find(others.begin(), others.end(), seed.first) != others.end(); });
  for (const auto& [name, bytes] : seeds) EXPECT_EQ(found[name] == bytes, true) << fuzzer << "/" << name;
  for (const auto& [name, bytes] : found) EXPECT_TRUE(seeds.contains(name)) << fuzzer << "/" << name;
}

}  // namespace couplet::test
