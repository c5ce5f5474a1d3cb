// Runs a fuzz target without libFuzzer: its corpus, and then changed copies of it for a while. It finds less than make
// fuzz, but costs only one more file in the sanitizer tree, so that every make test runs it.
// usage: replay SECONDS CORPUS. The seed is the time and is printed; COUPLET_FUZZ_SEED repeats a run of the same
// length.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t longest = 4096;

std::vector<Input> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus{{}};
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Runs the target as libFuzzer does, with a valid address also for an empty input.
void run(const Input& input) {
  static constexpr std::uint8_t nothing = 0;
  LLVMFuzzerTestOneInput(input.empty() ? &nothing : input.data(), input.size());
}

class Mutator {
 public:
  Mutator(const std::vector<Input>& corpus, std::uint64_t seed) : corpus_(corpus), random_(seed) {}

  Input next() {
    Input input = corpus_[below(corpus_.size())];
    for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
      change(input);
    }
    input.resize(std::min(input.size(), longest));
    return input;
  }

 private:
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(below(256)); }

  void change(Input& input) {
    static constexpr std::uint8_t edges[] = {0, 1, 0x7F, 0x80, 0xFF};
    const std::size_t at = below(input.size() + 1);
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(6)) {
      case 0:  // another byte
      case 1:
        if (at < input.size()) {
          *place = below(2) == 0 ? byte() : edges[below(std::size(edges))];
        }
        break;
      case 2:  // another bit
        if (at < input.size()) {
          *place = static_cast<std::uint8_t>(*place ^ (1U << below(8)));
        }
        break;
      case 3:
        input.insert(place, 1 + below(8), byte());
        break;
      case 4: {
        const auto count = std::min<std::size_t>(below(16), input.size() - at);
        input.erase(place, place + static_cast<std::ptrdiff_t>(count));
        break;
      }
      default: {  // continues as another input
        const Input& other = corpus_[below(corpus_.size())];
        const std::size_t from = below(other.size() + 1);
        input.erase(place, input.end());
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      }
    }
  }

  const std::vector<Input>& corpus_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: replay SECONDS CORPUS\n", stderr);
    return 2;
  }
  const auto corpus = read_corpus(arguments[2]);
  const char* const given = std::getenv("COUPLET_FUZZ_SEED");  // NOLINT(concurrency-mt-unsafe): the only thread
  const auto seed =
      given != nullptr ? std::stoull(given) : static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  std::printf("%zu inputs of the corpus, then changed ones with seed %llu\n", corpus.size(),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  for (const Input& input : corpus) {
    run(input);
  }
  Mutator mutator(corpus, seed);
  const auto end = Clock::now() + std::chrono::duration<double>(std::stod(arguments[1]));
  std::uint64_t inputs = 0;
  while (Clock::now() < end) {
    for (int round = 0; round < 16; ++round, ++inputs) {
      run(mutator.next());
    }
  }
  std::printf("%llu changed inputs, none failed\n", static_cast<unsigned long long>(inputs));
  return 0;
}
