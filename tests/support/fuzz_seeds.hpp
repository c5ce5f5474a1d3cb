// The seeds of a fuzzer (tests/fuzz/corpus/FUZZER) are what this version writes. With other ones a fuzzer does not get
// beyond the decoder. Tests compare them, and with COUPLET_UPDATE_SEEDS=1 they write them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace couplet::test {

using Seeds = std::map<std::string, std::string>;  // by name of file

// Expects that the files of the fuzzer are these seeds, and the files that `others` names.
void check_seeds(const std::string& fuzzer, const Seeds& seeds, const std::vector<std::string>& others = {});
// The files of the fuzzer.
[[nodiscard]] Seeds seeds_of(const std::string& fuzzer);

}  // namespace couplet::test
