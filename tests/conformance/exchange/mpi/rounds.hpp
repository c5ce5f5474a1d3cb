// Rounds: carries out the rounds of a pattern with a method, as class Exchange does, and checks what arrives.
#pragma once

#include <string>
#include <vector>

#include "pattern.hpp"

namespace couplet::exchange::testing {

class Rounds {
 public:
  Rounds(Method& method, const Pattern& pattern, std::int32_t rank, std::int32_t size, std::uint64_t deadline_ns)
      : method_(method),
        pattern_(pattern),
        ports_(pattern.ports_of(rank, size)),
        rank_(rank),
        deadline_ns_(deadline_ns),
        skew_(static_cast<std::uint64_t>(rank) + 1) {}

  // Carries out the next rounds. Returns the first thing that is wrong.
  Status run(std::uint64_t rounds);
  // Begins a round and sends nothing.
  Status begin(std::uint64_t round);
  // Sends the messages of the round that was begun.
  Status send(std::uint64_t round);
  Status close();
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }

 private:
  Status receive(std::uint64_t round);
  Status check(std::uint32_t port, std::uint64_t round);
  Status poll(std::string_view aim);
  void compute();

  Method& method_;
  const Pattern& pattern_;
  std::vector<Port> ports_;
  std::int32_t rank_;
  std::uint64_t deadline_ns_;
  Random skew_;
  std::vector<std::uint32_t> sending_;
  std::vector<std::uint32_t> receiving_;
  std::uint64_t next_round_ = 0;
  std::uint64_t messages_ = 0;  // that have arrived and were right
  std::uint64_t polls_ = 0;
};

}  // namespace couplet::exchange::testing
