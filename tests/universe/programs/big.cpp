// Sends one message of more than 2^31 bytes between two ranks, each of which checks what it can. usage: big RANK BYTES.
// Prints "whole BYTES" and the output of couplet_universe_explain.
#include <couplet/couplet.hpp>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

namespace {

// Returns words that differ, so that no piece can be taken for another one.
constexpr std::uint64_t word_at(std::uint64_t index) {
  return index * 0x9E3779B97F4A7C15U + 0x1234567U;
}

int run(int rank, std::uint64_t bytes) {
  couplet::Universe universe = couplet::join("big", {.rank = rank, .size = 2});
  const couplet::Group group = universe.group();
  const std::uint64_t words = bytes / sizeof(std::uint64_t);
  const auto data = std::make_unique_for_overwrite<std::uint64_t[]>(words);
  std::uint64_t wrong = 0;
  std::string explained;  // while both are there
  if (rank == 0) {
    for (std::uint64_t index = 0; index < words; ++index) {
      data[index] = word_at(index);
    }
    group.send(std::span<const std::uint64_t>(data.get(), words), 1, 7);
    std::uint64_t taken = 0;
    group.recv(taken, 1, 8);
    wrong = taken == words ? 0 : 1;
    explained = universe.explain();
    group.send(taken, 1, 9);
  } else {
    std::memset(data.get(), 0xFF, words * sizeof(std::uint64_t));
    const couplet::Message message = group.recv(std::span<std::uint64_t>(data.get(), words), 0, 7);
    wrong = message.count == words && message.bytes == bytes ? 0 : 1;
    for (std::uint64_t index = 0; index < words; ++index) {
      wrong += data[index] == word_at(index) ? 0U : 1U;
    }
    explained = universe.explain();
    group.send(static_cast<std::uint64_t>(message.count), 0, 8);
    std::uint64_t end = 0;
    group.recv(end, 0, 9);
  }
  std::cout << (wrong == 0 ? "whole " : "WRONG ") << bytes << " " << explained << std::endl;
  universe.leave();
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc == 3 ? run(std::stoi(argv[1]), std::stoull(argv[2])) : 2;
  } catch (const couplet::Error& error) {
    std::cerr << error.name() << " " << error.what() << std::endl;
    return 1;
  }
}
